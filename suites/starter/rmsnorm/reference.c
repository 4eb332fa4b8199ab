/* One row: y = x / sqrt(mean of x^2 + 1e-5) * gain. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), base = unit * n;
    double squares = 0.0;
    for (long j = 0; j < n; j++)
        squares += get_x(a, base + j) * get_x(a, base + j);
    const double factor = 1.0 / atoll_sqrt(squares / (double)n + 1.0e-5);
    for (long j = 0; j < n; j++)
        put_y(a, base + j, get_x(a, base + j) * factor * get_gain(a, j));
}
