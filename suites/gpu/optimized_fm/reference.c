/* One column of one batch: a column of X^T Y, then X times it. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long features = dim_N(a), depth = dim_D(a), width = dim_K(a), batch = unit / width,
               column = unit % width;
    double *middle = scratch(a);
    for (long d = 0; d < depth; d++)
        middle[d] = 0.0;
    for (long n = 0; n < features; n++) {
        const double y = get_y(a, (batch * features + n) * width + column);
        for (long d = 0; d < depth; d++)
            middle[d] += get_x(a, (batch * features + n) * depth + d) * y;
    }
    for (long n = 0; n < features; n++) {
        double sum = 0.0, squares = 0.0;
        for (long d = 0; d < depth; d++) {
            const double term = get_x(a, (batch * features + n) * depth + d) * middle[d];
            sum += term;
            squares += term * term;
        }
        put_out(a, (batch * features + n) * width + column, sum);
        scale_out(a, (batch * features + n) * width + column, atoll_fabs(sum) + atoll_sqrt(squares));
    }
}
