/* One cell.  The 19 directions stand in the order of the three loops: steps of -1, 0, 1 along z, y, x, at most two of them
 * not 0; weights 1/3, 1/18, 1/36 for none, one, two.  What comes from direction d stood one step against d before. */
static long wrap(long i, long n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

void reference(const struct atoll_reference_args *a, long unit)
{
    const long depth = dim_Z(a), height = dim_Y(a), width = dim_X(a), cells = depth * height * width;
    const long i = unit / (height * width), j = unit / width % height, k = unit % width;
    double g[19], rho = 0.0, speed[3] = {0.0, 0.0, 0.0};
    int d = 0;
    for (int z = -1; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
            for (int x = -1; x <= 1; x++) {
                if (z != 0 && y != 0 && x != 0)
                    continue;
                g[d] = get_f(a, d * cells + (wrap(i - z, depth) * height + wrap(j - y, height)) * width +
                                    wrap(k - x, width));
                rho += g[d];
                speed[0] += z * g[d];
                speed[1] += y * g[d];
                speed[2] += x * g[d];
                d++;
            }
        }
    }
    for (int c = 0; c < 3; c++)
        speed[c] /= rho;
    const double square = speed[0] * speed[0] + speed[1] * speed[1] + speed[2] * speed[2];
    d = 0;
    for (int z = -1; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
            for (int x = -1; x <= 1; x++) {
                const int moving = (z != 0) + (y != 0) + (x != 0);
                if (moving == 3)
                    continue;
                const double weight = moving == 0 ? 1.0 / 3.0 : moving == 1 ? 1.0 / 18.0 : 1.0 / 36.0;
                const double along = z * speed[0] + y * speed[1] + x * speed[2];
                const double rest = weight * rho * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square);
                put_out(a, d * cells + unit, g[d] + 1.25 * (rest - g[d]));
                scale_out(a, d * cells + unit, 0.25 * g[d] + 1.25 * weight * rho);
                d++;
            }
        }
    }
}
