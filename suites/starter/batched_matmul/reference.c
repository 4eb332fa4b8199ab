/* One element of one product. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), m = dim_M(a), depth = dim_K(a);
    const long column = unit % n, row = unit / n, batch = row / m;
    double sum = 0.0, magnitude = 0.0;
    for (long k = 0; k < depth; k++) {
        const double term = get_a(a, row * depth + k) * get_b(a, (batch * depth + k) * n + column);
        sum += term;
        magnitude += atoll_fabs(term);
    }
    put_c(a, unit, sum);
    scale_c(a, unit, magnitude);
}
