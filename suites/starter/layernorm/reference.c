/* One row: y = (x - mean) / sqrt(variance + 1e-5) * gain + bias. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), base = unit * n;
    double sum = 0.0, magnitude = 0.0, squares = 0.0;
    for (long j = 0; j < n; j++) {
        sum += get_x(a, base + j);
        magnitude += atoll_fabs(get_x(a, base + j));
    }
    const double mean = sum / (double)n;
    for (long j = 0; j < n; j++) {
        const double difference = get_x(a, base + j) - mean;
        squares += difference * difference;
    }
    const double factor = 1.0 / atoll_sqrt(squares / (double)n + 1.0e-5);
    for (long j = 0; j < n; j++) {
        const double x = get_x(a, base + j), slope = factor * get_gain(a, j), bias = get_bias(a, j);
        put_y(a, base + j, (x - mean) * slope + bias);
        scale_y(a, base + j, (atoll_fabs(x) + magnitude / (double)n) * atoll_fabs(slope) + atoll_fabs(bias));
    }
}
