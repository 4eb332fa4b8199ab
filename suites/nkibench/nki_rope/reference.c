/* One pair: elements d and D + d of a column. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long other = dim_D(a) * dim_T(a) + unit;
    const double x0 = get_x(a, unit), x1 = get_x(a, other), c = get_c(a, unit), s = get_s(a, unit);
    put_y(a, unit, x0 * c - x1 * s);
    scale_y(a, unit, atoll_fabs(x0 * c) + atoll_fabs(x1 * s));
    put_y(a, other, x0 * s + x1 * c);
    scale_y(a, other, atoll_fabs(x0 * s) + atoll_fabs(x1 * c));
}
