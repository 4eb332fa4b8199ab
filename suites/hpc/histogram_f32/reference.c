/* A sixteenth of the bins of a row, or one bin where there are fewer: BINS is a power of two. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), bins = dim_BINS(a), shares = bins < 16 ? bins : 16, size = bins / shares;
    const long row = unit / shares, first = unit % shares * size;
    double *count = scratch(a);
    for (long b = 0; b < size; b++)
        count[b] = 0.0;
    for (long i = 0; i < n; i++) {
        long b = (long)(get_x(a, row * n + i) * (double)bins);
        b = (b < bins ? b : bins - 1) - first;
        if (b >= 0 && b < size)
            count[b] += 1.0;
    }
    for (long b = 0; b < size; b++)
        put_count(a, row * bins + first + b, count[b]);
}
