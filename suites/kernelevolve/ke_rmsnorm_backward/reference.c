static void row(const struct atoll_reference_args *a, long at)
{
    const long n = dim_N(a);
    const double r = get_rstd(a, at);
    double sum = 0.0, size = 0.0;
    for (long j = 0; j < n; j++) {
        const double term = get_dy(a, at * n + j) * get_gain(a, j) * get_x(a, at * n + j);
        sum += term;
        size += atoll_fabs(term);
    }
    for (long j = 0; j < n; j++) {
        const double p = get_dy(a, at * n + j) * get_gain(a, j), x = get_x(a, at * n + j) * r * r / (double)n;
        put_dx(a, at * n + j, r * (p - x * sum));
        scale_dx(a, at * n + j, r * (atoll_fabs(p) + atoll_fabs(x) * size));
    }
}

/* A row of dx, or, past the rows, an element of dgain. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long m = dim_M(a), n = dim_N(a), column = unit - m;
    if (column < 0) {
        row(a, unit);
        return;
    }
    double sum = 0.0, squares = 0.0;
    for (long i = 0; i < m; i++) {
        const double term = get_dy(a, i * n + column) * get_x(a, i * n + column) * get_rstd(a, i);
        sum += term;
        squares += term * term;
    }
    put_dgain(a, column, sum);
    scale_dgain(a, column, atoll_fabs(sum) + atoll_sqrt(squares));
}
