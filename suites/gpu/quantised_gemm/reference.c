/* One element; K counts pairs of rows of W. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), depth = 2 * dim_K(a), group = dim_G(a), row = unit / n, column = unit % n;
    double sum = 0.0, squares = 0.0;
    for (long first = 0, g = 0; first < depth; first += group, g++) {
        const double scale = get_s(a, g * n + column);
        const long last = first + group < depth ? first + group : depth;
        for (long k = first; k < last; k++) {
            const int byte = (int)get_w(a, (k >> 1) * n + column), level = k & 1 ? byte >> 4 : byte & 15;
            const double term = get_x(a, row * depth + k) * ((double)(level - 8) * scale);
            sum += term;
            squares += term * term;
        }
    }
    put_y(a, unit, sum);
    scale_y(a, unit, atoll_fabs(sum) + atoll_sqrt(squares));
}
