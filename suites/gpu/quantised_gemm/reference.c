/* One element; K counts pairs of rows of W. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), pairs = dim_K(a), row = unit / n, column = unit % n;
    double sum = 0.0, squares = 0.0;
    for (long k = 0; k < 2 * pairs; k++) {
        const long byte = (long)get_w(a, k / 2 * n + column), level = k % 2 ? byte / 16 : byte % 16;
        const double scale = get_s(a, k / dim_G(a) * n + column);
        const double term = get_x(a, row * 2 * pairs + k) * ((double)(level - 8) * scale);
        sum += term;
        squares += term * term;
    }
    put_y(a, unit, sum);
    scale_y(a, unit, atoll_fabs(sum) + atoll_sqrt(squares));
}
