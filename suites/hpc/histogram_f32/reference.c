/* Every 16th bin of a row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), bins = dim_BINS(a), shares = bins < 16 ? bins : 16;
    const long row = unit / shares, own = unit % shares;
    double *count = scratch(a);
    for (long b = own; b < bins; b += shares)
        count[b / shares] = 0.0;
    for (long i = 0; i < n; i++) {
        long b = (long)(get_x(a, row * n + i) * (double)bins);
        b = b < bins ? b : bins - 1;
        if (b % shares == own)
            count[b / shares] += 1.0;
    }
    for (long b = own; b < bins; b += shares)
        put_count(a, row * bins + b, count[b / shares]);
}
