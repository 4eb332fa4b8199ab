void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a);
    double top = get_x(a, unit * n), sum = 0;
    for (long j = 1; j < n; j++)
        top = atoll_fmax(top, get_x(a, unit * n + j));
    for (long j = 0; j < n; j++)
        sum += atoll_exp(get_x(a, unit * n + j) - top);
    for (long j = 0; j < n; j++)
        put_y(a, unit * n + j, atoll_exp(get_x(a, unit * n + j) - top) / sum);
}
