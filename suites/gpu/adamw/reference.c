/* One parameter with its two moments, at step 10: m and v are corrected by 1 - 0.9^10 and 1 - 0.999^10. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const double p = get_p(a, unit), g = get_g(a, unit);
    const double rate = 1.0e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, decay = 0.01;
    const double correction1 = 1.0 - atoll_pow(beta1, 10.0), correction2 = 1.0 - atoll_pow(beta2, 10.0);
    const double m = beta1 * get_m(a, unit) + (1.0 - beta1) * g;
    const double v = beta2 * get_v(a, unit) + (1.0 - beta2) * g * g;
    const double magnitude = beta1 * atoll_fabs(get_m(a, unit)) + (1.0 - beta1) * atoll_fabs(g);
    const double slope = rate / correction1 / (atoll_sqrt(v / correction2) + epsilon);
    put_m(a, unit, m);
    scale_m(a, unit, magnitude);
    put_v(a, unit, v);
    const double next = p * (1.0 - rate * decay) - slope * m, scale = atoll_fabs(p) + slope * magnitude;
    put_p(a, unit, next);
    scale_p(a, unit, scale);
    put_w(a, unit, next);
    scale_w(a, unit, 300.0 * scale);
}
