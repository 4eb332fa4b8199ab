void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a);
    double sum = 0.0;
    for (long j = 0; j < n; j++)
        sum += get_w(a, j) * get_x(a, unit * n + j) * get_x(a, unit * n + j);
    put_y(a, unit, atoll_sqrt(sum));
}
