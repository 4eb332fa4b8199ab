/* One point of the grid. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long height = dim_H(a), width = dim_W(a);
    const long i = unit / width, j = unit % width;
    const double middle = get_x(a, unit);
    const double up = i > 0 ? get_x(a, unit - width) : 0.0;
    const double down = i + 1 < height ? get_x(a, unit + width) : 0.0;
    const double left = j > 0 ? get_x(a, unit - 1) : 0.0;
    const double right = j + 1 < width ? get_x(a, unit + 1) : 0.0;
    put_y(a, unit, (4.0 * middle + up + down + left + right) / 8.0);
    scale_y(a, unit,
            (4.0 * atoll_fabs(middle) + atoll_fabs(up) + atoll_fabs(down) + atoll_fabs(left) +
             atoll_fabs(right)) /
                8.0);
}
