#define COLUMNS 8 /* of a product at a time: each factor of the row is read once for them */

/* Columns first ... of one hidden row: gelu(x W1 + b1); batch: where its weights begin. */
static void hide(const struct atoll_reference_args *a, long row, long batch, long first, double *hidden)
{
    const long width = dim_K(a), depth = dim_D(a);
    double sum[COLUMNS] = {0};
    for (long d = 0; d < depth; d++) {
        const double x = get_x(a, row * depth + d);
        for (long j = 0; j < COLUMNS; j++)
            sum[j] += x * get_w1(a, (batch * depth + d) * width + (first + j < width ? first + j : first));
    }
    for (long j = 0; j < COLUMNS && first + j < width; j++) {
        const double v = sum[j] + get_b1(a, first + j);
        hidden[first + j] = 0.5 * v * (1.0 + atoll_erf(v * 0.70710678118654752440));
    }
}

/* Columns first ... of h W2 + b2, and the size of their terms. */
static void finish(const struct atoll_reference_args *a, long batch, long first, const double *hidden,
                   double *sums, double *sizes)
{
    const long width = dim_K(a), depth = dim_D(a);
    double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    for (long k = 0; k < width; k++) {
        for (long j = 0; j < COLUMNS; j++) {
            const double term =
                hidden[k] * get_w2(a, (batch * width + k) * depth + (first + j < depth ? first + j : first));
            sum[j] += term;
            squares[j] += term * term;
        }
    }
    for (long j = 0; j < COLUMNS && first + j < depth; j++) {
        const double bias = get_b2(a, first + j);
        sums[first + j] = sum[j] + bias;
        sizes[first + j] = atoll_sqrt(squares[j] + bias * bias);
    }
}

static double root(const double *row, long count)
{
    double mean = 0.0;
    for (long j = 0; j < count; j++)
        mean += row[j] * row[j];
    return 1.0 / atoll_sqrt(mean / (double)count + 1.0e-5);
}

/* One row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long width = dim_K(a), depth = dim_D(a), batch = unit / dim_N(a);
    double *hidden = scratch(a), *sums = hidden + width, *sizes = sums + depth;
    for (long first = 0; first < width; first += COLUMNS)
        hide(a, unit, batch, first, hidden);
    const double inner = root(hidden, width);
    for (long k = 0; k < width; k++)
        hidden[k] *= inner * get_g1(a, k);
    for (long first = 0; first < depth; first += COLUMNS)
        finish(a, batch, first, hidden, sums, sizes);
    const double outer = root(sums, depth);
    for (long d = 0; d < depth; d++) {
        const double factor = outer * get_g2(a, d);
        put_y(a, unit * depth + d, sums[d] * factor);
        scale_y(a, unit * depth + d, (atoll_fabs(sums[d]) + sizes[d]) * atoll_fabs(factor));
    }
}
