/* One element: the sum over channels and taps of x times w. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long channels = dim_C(a), r = dim_R(a), s = dim_S(a), p = dim_P(a), q = dim_Q(a);
    const long height = p + r - 1, width = q + s - 1;
    const long column = unit % q, row = unit / q % p, filter = unit / (p * q);
    double sum = 0.0, magnitude = 0.0;
    for (long c = 0; c < channels; c++) {
        for (long i = 0; i < r; i++) {
            for (long j = 0; j < s; j++) {
                const double term = get_x(a, (c * height + row + i) * width + column + j) *
                                    get_w(a, ((filter * channels + c) * r + i) * s + j);
                sum += term;
                magnitude += atoll_fabs(term);
            }
        }
    }
    put_y(a, unit, sum);
    scale_y(a, unit, magnitude);
}
