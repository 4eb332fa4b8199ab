/* One row: y[j] = x[0] + ... + x[j]. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), base = unit * n;
    double sum = 0.0, magnitude = 0.0;
    for (long j = 0; j < n; j++) {
        sum += get_x(a, base + j);
        magnitude += atoll_fabs(get_x(a, base + j));
        put_y(a, base + j, sum);
        scale_y(a, base + j, magnitude);
    }
}
