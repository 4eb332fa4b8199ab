#define COLUMNS 8 /* of a product at a time: each factor of the row is read once for them */

/* Units first ... of the hidden layer of one row. */
static void hide(const struct atoll_reference_args *a, long row, long first, double *hidden)
{
    const long width = dim_H(a), depth = dim_K(a);
    double sum[COLUMNS] = {0};
    for (long k = 0; k < depth; k++) {
        const double x = get_x(a, row * depth + k);
        for (long j = 0; j < COLUMNS; j++)
            sum[j] += x * get_u(a, k * width + (first + j < width ? first + j : first));
    }
    for (long j = 0; j < COLUMNS; j++) {
        if (first + j < width) {
            const double v = sum[j] + get_c(a, first + j);
            hidden[first + j] = 0.5 * v * (1.0 + atoll_erf(v * 0.70710678118654752440));
        }
    }
}

/* Columns first ... of one row of the result. */
static void finish(const struct atoll_reference_args *a, long row, long first, const double *hidden)
{
    const long n = dim_N(a), width = dim_H(a);
    double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    for (long h = 0; h < width; h++) {
        for (long j = 0; j < COLUMNS; j++) {
            const double term = hidden[h] * get_d(a, h * n + (first + j < n ? first + j : first));
            sum[j] += term;
            squares[j] += term * term;
        }
    }
    for (long j = 0; j < COLUMNS; j++) {
        if (first + j < n) {
            const double e = get_e(a, first + j);
            put_y(a, row * n + first + j, sum[j] + e);
            scale_y(a, row * n + first + j, atoll_fabs(sum[j] + e) + atoll_sqrt(squares[j]));
        }
    }
}

/* One row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    double *hidden = scratch(a);
    for (long first = 0; first < dim_H(a); first += COLUMNS)
        hide(a, unit, first, hidden);
    for (long first = 0; first < dim_N(a); first += COLUMNS)
        finish(a, unit, first, hidden);
}
