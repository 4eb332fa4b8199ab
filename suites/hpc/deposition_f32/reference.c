/* One node: what the particles of the eight cells around it leave there. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long depth = dim_Z(a), height = dim_Y(a), width = dim_X(a), particles = dim_P(a);
    const long i = unit / (height * width), j = unit / width % height, k = unit % width;
    double sum = 0.0, magnitude = 0.0;
    for (long corner = 0; corner < 8; corner++) {
        const long z = corner / 4, y = corner / 2 % 2, x = corner % 2;
        const long cell =
            ((i - z + depth) % depth * height + (j - y + height) % height) * width + (k - x + width) % width;
        for (long p = (long)get_start(a, cell); p < (long)get_start(a, cell + 1); p++) {
            const double fz = get_place(a, p), fy = get_place(a, particles + p),
                         fx = get_place(a, 2 * particles + p);
            const double term =
                get_charge(a, p) * (z ? fz : 1.0 - fz) * (y ? fy : 1.0 - fy) * (x ? fx : 1.0 - fx);
            sum += term;
            magnitude += atoll_fabs(term);
        }
    }
    put_rho(a, unit, sum);
    scale_rho(a, unit, magnitude);
}
