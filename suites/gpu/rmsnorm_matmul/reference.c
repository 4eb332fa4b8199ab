/* What column k of x is multiplied with. */
static double gain_of(const struct atoll_reference_args *a, long k)
{
    return get_gain(a, k);
}

/* What a row is multiplied with, by its mean square. */
static double root_of(double mean)
{
    return 1.0 / atoll_sqrt(mean + 1.0e-5);
}

/* One element: a row divided by its root mean square, times the gain, times a column. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), depth = dim_K(a), row = unit / n, column = unit % n;
    double mean = 0.0, sum = 0.0, squares = 0.0;
    for (long k = 0; k < depth; k++) {
        const double x = get_x(a, row * depth + k), term = x * gain_of(a, k) * get_b(a, k * n + column);
        mean += x * x;
        sum += term;
        squares += term * term;
    }
    const double factor = root_of(mean / (double)depth);
    put_y(a, unit, sum * factor);
    scale_y(a, unit, (atoll_fabs(sum) + atoll_sqrt(squares)) * factor);
}
