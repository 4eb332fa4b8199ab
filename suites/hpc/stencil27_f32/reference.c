/* One point: weights 1/8, 1/16, 1/32 and 1/64 for itself, faces, edges and corners. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long depth = dim_Z(a), height = dim_Y(a), width = dim_X(a), plane = height * width;
    const long i = unit / plane, j = unit / width % height, k = unit % width;
    double sum = 0.0, magnitude = 0.0;
    for (long p = i - 1; p <= i + 1; p++) {
        for (long q = j - 1; q <= j + 1; q++) {
            for (long r = k - 1; r <= k + 1; r++) {
                double term = 0.125;
                if (p < 0 || p >= depth || q < 0 || q >= height || r < 0 || r >= width)
                    continue;
                term *= (p == i ? 1.0 : 0.5) * (q == j ? 1.0 : 0.5) * (r == k ? 1.0 : 0.5);
                term *= get_x(a, p * plane + q * width + r);
                sum += term;
                magnitude += atoll_fabs(term);
            }
        }
    }
    put_y(a, unit, sum);
    scale_y(a, unit, magnitude);
}
