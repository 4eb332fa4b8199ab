/* One matrix: lower triangle of a with N + 1 added to the diagonal is L L^T. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), base = unit * n * n;
    double *l = scratch(a);
    for (long i = 0; i < n; i++) {
        const double diagonal = get_a(a, base + i * n + i) + (double)(n + 1);
        for (long j = 0; j <= i; j++) {
            double sum = i == j ? diagonal : get_a(a, base + i * n + j);
            for (long k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? atoll_sqrt(sum) : sum / l[j * n + j];
        }
        for (long j = 0; j < n; j++) {
            put_l(a, base + i * n + j, j <= i ? l[i * n + j] : 0.0);
            scale_l(a, base + i * n + j, j <= i ? atoll_sqrt(diagonal) : 0.0);
        }
    }
}
