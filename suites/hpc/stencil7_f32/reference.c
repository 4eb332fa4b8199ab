/* One point of the grid. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long depth = dim_Z(a), height = dim_Y(a), width = dim_X(a), plane = height * width;
    const long i = unit / plane, j = unit / width % height, k = unit % width;
    const double middle = get_x(a, unit);
    const double sides[6] = {
        i > 0 ? get_x(a, unit - plane) : 0.0, i + 1 < depth ? get_x(a, unit + plane) : 0.0,
        j > 0 ? get_x(a, unit - width) : 0.0, j + 1 < height ? get_x(a, unit + width) : 0.0,
        k > 0 ? get_x(a, unit - 1) : 0.0,     k + 1 < width ? get_x(a, unit + 1) : 0.0};
    double sum = 0.0, magnitude = 0.0;
    for (int s = 0; s < 6; s++) {
        sum += sides[s];
        magnitude += atoll_fabs(sides[s]);
    }
    put_y(a, unit, 0.25 * middle + 0.125 * sum);
    scale_y(a, unit, 0.25 * atoll_fabs(middle) + 0.125 * magnitude);
}
