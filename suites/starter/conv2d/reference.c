/* On a device a thread computes an element.  On a host the unit of every eighth element of a row computes eight, whose sums
 * do not wait for each other. */
#ifdef ATOLL_DEVICE
#define COLUMNS 1
#else
#define COLUMNS 8
#endif

static void columns(const struct atoll_reference_args *a, long unit, const long count)
{
    const long channels = dim_C(a), r = dim_R(a), s = dim_S(a), p = dim_P(a), q = dim_Q(a);
    const long height = p + r - 1, width = q + s - 1;
    const long column = unit % q, row = unit / q % p, filter = unit / (p * q);
    double sum[COLUMNS] = {0}, magnitude[COLUMNS] = {0};
    for (long c = 0; c < channels; c++) {
        for (long i = 0; i < r; i++) {
            for (long j = 0; j < s; j++) {
                const double weight = get_w(a, ((filter * channels + c) * r + i) * s + j);
                for (long d = 0; d < count; d++) {
                    const double term = get_x(a, (c * height + row + i) * width + column + d + j) * weight;
                    sum[d] += term;
                    magnitude[d] += atoll_fabs(term);
                }
            }
        }
    }
    for (long d = 0; d < count; d++) {
        put_y(a, unit + d, sum[d]);
        scale_y(a, unit + d, magnitude[d]);
    }
}

/* One element: the sum over channels and taps of x times w. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long q = dim_Q(a), column = unit % q;
    if (column % COLUMNS != 0)
        return;
    if (q - column >= COLUMNS)
        columns(a, unit, COLUMNS);
    else
        columns(a, unit, q - column);
}
