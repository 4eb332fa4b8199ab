#define COLUMNS 8 /* of the product at a time: each element of x is read once for them */

/* Columns first ... of one row of x B + r into sums[], the size of their terms into sizes[]. */
static void multiply(const struct atoll_reference_args *a, long row, long first, double *sums, double *sizes)
{
    const long n = dim_N(a), depth = dim_K(a);
    double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    for (long k = 0; k < depth; k++) {
        const double x = get_x(a, row * depth + k);
        for (long j = 0; j < COLUMNS; j++) {
            const double term = x * get_b(a, k * n + (first + j < n ? first + j : first));
            sum[j] += term;
            squares[j] += term * term;
        }
    }
    for (long j = 0; j < COLUMNS; j++) {
        if (first + j < n) {
            const double r = get_r(a, row * n + first + j);
            sums[first + j] = sum[j] + r;
            sizes[first + j] = atoll_sqrt(squares[j] + r * r);
        }
    }
}

/* One row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a);
    double *sums = scratch(a), *sizes = sums + n, mean = 0.0;
    for (long first = 0; first < n; first += COLUMNS)
        multiply(a, unit, first, sums, sizes);
    for (long j = 0; j < n; j++)
        mean += sums[j] * sums[j];
    const double factor = 1.0 / atoll_sqrt(mean / (double)n + 1.0e-5);
    for (long j = 0; j < n; j++) {
        put_y(a, unit * n + j, sums[j] * factor * get_gain(a, j));
        scale_y(a, unit * n + j, (atoll_fabs(sums[j]) + sizes[j]) * factor * atoll_fabs(get_gain(a, j)));
    }
}
