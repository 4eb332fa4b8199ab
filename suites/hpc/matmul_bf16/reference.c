/* On a device a thread computes an element.  On a host the unit of every eighth element of a row computes eight, whose sums
 * do not wait for each other.  The scale is what roundings of single terms add up to: |c| and the root of the sum of squares. */
#ifdef ATOLL_DEVICE
#define COLUMNS 1
#else
#define COLUMNS 8
#endif

static void columns(const struct atoll_reference_args *a, long row, long first, const long count)
{
    const long n = dim_N(a), depth = dim_K(a);
    double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    for (long k = 0; k < depth; k++) {
        const double left = get_a(a, row * depth + k);
        for (long d = 0; d < count; d++) {
            const double term = left * get_b(a, k * n + first + d);
            sum[d] += term;
            squares[d] += term * term;
        }
    }
    for (long d = 0; d < count; d++) {
        put_c(a, row * n + first + d, sum[d]);
        scale_c(a, row * n + first + d, atoll_fabs(sum[d]) + atoll_sqrt(squares[d]));
    }
}

void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), row = unit / n, column = unit % n;
    if (column % COLUMNS != 0)
        return;
    if (n - column >= COLUMNS)
        columns(a, row, column, COLUMNS);
    else
        columns(a, row, column, n - column);
}
