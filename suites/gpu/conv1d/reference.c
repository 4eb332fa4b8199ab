/* One element: the sum over channels and taps; outside of the row are zeros. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long channels = dim_C(a), length = dim_L(a), filters = dim_F(a);
    const long at = unit % length, filter = unit / length % filters, batch = unit / (length * filters);
    double sum = get_bias(a, filter), squares = 0.0;
    for (long c = 0; c < channels; c++) {
        for (long t = 0; t < 3; t++) {
            const long from = at + t - 1;
            if (from >= 0 && from < length) {
                const double term = get_x(a, (batch * channels + c) * length + from) *
                                    get_w(a, (filter * channels + c) * 3 + t);
                sum += term;
                squares += term * term;
            }
        }
    }
    put_y(a, unit, sum);
    scale_y(a, unit, atoll_fabs(sum) + atoll_sqrt(squares));
}
