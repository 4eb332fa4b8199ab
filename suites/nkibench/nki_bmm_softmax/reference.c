#define COLUMNS 8 /* scores at a time: each element of A is read once for them */

/* What the softmax takes of a sum. */
static double score_of(double sum)
{
    return sum;
}

/* Scores of columns first ... of one row. */
static void scores(const struct atoll_reference_args *a, long unit, long first, double *score)
{
    const long n = dim_N(a), depth = dim_K(a), batch = unit / dim_M(a);
    double sum[COLUMNS] = {0};
    for (long k = 0; k < depth; k++) {
        const double x = get_a(a, unit * depth + k);
        for (long j = 0; j < COLUMNS; j++)
            sum[j] += x * get_b(a, (batch * depth + k) * n + (first + j < n ? first + j : first));
    }
    for (long j = 0; j < COLUMNS; j++)
        if (first + j < n)
            score[first + j] = score_of(sum[j]);
}

/* One row. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a);
    double *power = scratch(a);
    double top = -ATOLL_INFINITY, sum = 0.0;
    for (long first = 0; first < n; first += COLUMNS)
        scores(a, unit, first, power);
    for (long j = 0; j < n; j++)
        top = atoll_fmax(top, power[j]);
    for (long j = 0; j < n; j++) {
        power[j] = atoll_exp(power[j] - top);
        sum += power[j];
    }
    for (long j = 0; j < n; j++)
        put_y(a, unit * n + j, power[j] / sum);
}
