/* One element: the sum over channels and taps; outside of the image are zeros. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long channels = dim_C(a), height = dim_P(a), width = dim_Q(a), filters = dim_F(a);
    const long column = unit % width, row = unit / width % height, filter = unit / (width * height) % filters,
               batch = unit / (width * height * filters);
    double sum = get_bias(a, filter), squares = 0.0;
    for (long c = 0; c < channels; c++) {
        for (long t = 0; t < 9; t++) {
            const long i = row + t / 3 - 1, j = column + t % 3 - 1;
            if (i >= 0 && i < height && j >= 0 && j < width) {
                const double term = get_x(a, ((batch * channels + c) * height + i) * width + j) *
                                    get_w(a, (filter * channels + c) * 9 + t);
                sum += term;
                squares += term * term;
            }
        }
    }
    put_y(a, unit, sum);
    scale_y(a, unit, atoll_fabs(sum) + atoll_sqrt(squares));
}
