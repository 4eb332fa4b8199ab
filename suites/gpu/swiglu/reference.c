/* One element: s(p) q with p = x G, q = x U, s(p) = p / (1 + exp(-p)).  What an error of p or q does to it is in the
 * scale: |s| <= |p| and the slope of s is at most 1.1. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), depth = dim_K(a), row = unit / n, column = unit % n;
    double p = 0.0, q = 0.0, squares_p = 0.0, squares_q = 0.0;
    for (long k = 0; k < depth; k++) {
        const double x = get_x(a, row * depth + k);
        const double term_p = x * get_g(a, k * n + column), term_q = x * get_u(a, k * n + column);
        p += term_p;
        q += term_q;
        squares_p += term_p * term_p;
        squares_q += term_q * term_q;
    }
    const double s = p / (1.0 + atoll_exp(-p));
    put_y(a, unit, s * q);
    scale_y(a, unit,
            atoll_fabs(s * q) +
                0.01 * (atoll_sqrt(squares_p) * atoll_fabs(q) + atoll_fabs(s) * atoll_sqrt(squares_q)));
}
