#define COLUMNS 8   /* of a product at a time: each element of x is read once for them */
#define STRETCH 512 /* columns of y in a unit */

/* Columns first ... of one row of x A. */
static void project(const struct atoll_reference_args *a, long row, long first, double *low)
{
    const long rank = dim_R(a), depth = dim_K(a);
    double sum[COLUMNS] = {0};
    for (long k = 0; k < depth; k++) {
        const double x = get_x(a, row * depth + k);
        for (long j = 0; j < COLUMNS; j++)
            sum[j] += x * get_a(a, k * rank + (first + j < rank ? first + j : first));
    }
    for (long j = 0; j < COLUMNS; j++)
        if (first + j < rank)
            low[first + j] = sum[j];
}

/* Columns first ... of one row of y; low: that row of x A. */
static void multiply(const struct atoll_reference_args *a, long row, long first, const double *low)
{
    const long n = dim_N(a), depth = dim_K(a), rank = dim_R(a);
    double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    for (long k = 0; k < depth + rank; k++) {
        const double x = k < depth ? get_x(a, row * depth + k) : low[k - depth];
        for (long j = 0; j < COLUMNS; j++) {
            const long column = first + j < n ? first + j : first;
            const double term =
                x * (k < depth ? get_w(a, k * n + column) : get_b(a, (k - depth) * n + column));
            sum[j] += term;
            squares[j] += term * term;
        }
    }
    for (long j = 0; j < COLUMNS; j++) {
        if (first + j < n) {
            put_y(a, row * n + first + j, sum[j]);
            scale_y(a, row * n + first + j, atoll_fabs(sum[j]) + atoll_sqrt(squares[j]));
        }
    }
}

/* A stretch of one row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), stretches = (n + STRETCH - 1) / STRETCH, row = unit / stretches;
    const long begin = unit % stretches * STRETCH, end = begin + STRETCH < n ? begin + STRETCH : n;
    double *low = scratch(a);
    for (long first = 0; first < dim_R(a); first += COLUMNS)
        project(a, row, first, low);
    for (long first = begin; first < end; first += COLUMNS)
        multiply(a, row, first, low);
}
