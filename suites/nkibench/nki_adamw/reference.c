/* One parameter: the first step, so that the second moment is divided by 1 - 0.999, while the first is taken as it is. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const double p = get_p(a, unit), g = get_g(a, unit), m = get_m(a, unit);
    const double root = atoll_sqrt(1000.0 * (0.999 * get_v(a, unit) + 0.001 * g * g)) + 1.0e-8;
    put_y(a, unit, p - 1.0e-5 * p - 0.01 * (0.9 * m + 0.1 * g) / root);
    scale_y(a, unit, atoll_fabs(p) + 0.01 * (0.9 * atoll_fabs(m) + 0.1 * atoll_fabs(g)) / root);
}
