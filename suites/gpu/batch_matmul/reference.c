/* One element of one product; the scale is what roundings of single terms add up to. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), m = dim_M(a), depth = dim_K(a);
    const long column = unit % n, row = unit / n, batch = row / m;
    double sum = 0.0, squares = 0.0;
    for (long k = 0; k < depth; k++) {
        const double term = get_a(a, row * depth + k) * get_b(a, (batch * depth + k) * n + column);
        sum += term;
        squares += term * term;
    }
    put_c(a, unit, sum);
    scale_c(a, unit, atoll_fabs(sum) + atoll_sqrt(squares));
}
