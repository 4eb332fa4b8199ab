#define COLUMNS 8 /* of a product at a time: each factor of the row is read once for them */

/* Columns first ... of one hidden row: silu(x gate) * (x up). */
static void hide(const struct atoll_reference_args *a, long row, long first, double *hidden)
{
    const long n = dim_N(a), depth = dim_K(a);
    double p[COLUMNS] = {0}, q[COLUMNS] = {0};
    for (long k = 0; k < depth; k++) {
        const double x = get_x(a, row * depth + k);
        for (long j = 0; j < COLUMNS; j++) {
            const long at = k * n + (first + j < n ? first + j : first);
            p[j] += x * get_gate(a, at);
            q[j] += x * get_up(a, at);
        }
    }
    for (long j = 0; j < COLUMNS; j++)
        if (first + j < n)
            hidden[first + j] = p[j] / (1.0 + atoll_exp(-p[j])) * q[j];
}

/* One row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), depth = dim_K(a);
    double *hidden = scratch(a);
    for (long first = 0; first < n; first += COLUMNS)
        hide(a, unit, first, hidden);
    for (long first = 0; first < depth; first += COLUMNS) {
        double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
        for (long h = 0; h < n; h++) {
            for (long j = 0; j < COLUMNS; j++) {
                const double term =
                    hidden[h] * get_down(a, h * depth + (first + j < depth ? first + j : first));
                sum[j] += term;
                squares[j] += term * term;
            }
        }
        for (long j = 0; j < COLUMNS && first + j < depth; j++) {
            put_y(a, unit * depth + first + j, sum[j]);
            scale_y(a, unit * depth + first + j, atoll_fabs(sum[j]) + atoll_sqrt(squares[j]));
        }
    }
}
