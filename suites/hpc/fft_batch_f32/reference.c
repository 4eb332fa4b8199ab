/* One row: radix 2, in bit-reversed order, with every twiddle computed. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), base = unit * n * 2;
    double *w = scratch(a), magnitude = 0.0;
    for (long i = 0, r = 0; i < n; i++) {
        w[2 * r] = get_x(a, base + 2 * i);
        w[2 * r + 1] = get_x(a, base + 2 * i + 1);
        magnitude += atoll_fabs(w[2 * r]) + atoll_fabs(w[2 * r + 1]);
        long bit = n / 2;
        while (bit > 0 && (r & bit)) {
            r -= bit;
            bit /= 2;
        }
        r += bit;
    }
    for (long half = 1; half < n; half *= 2) {
        for (long k = 0; k < half; k++) {
            const double angle = -3.14159265358979323846 * (double)k / (double)half;
            const double c = atoll_cos(angle), s = atoll_sin(angle);
            for (long i = k; i < n; i += 2 * half) {
                double *p = w + 2 * i, *q = w + 2 * (i + half);
                const double re = q[0] * c - q[1] * s, im = q[0] * s + q[1] * c;
                q[0] = p[0] - re;
                q[1] = p[1] - im;
                p[0] += re;
                p[1] += im;
            }
        }
    }
    for (long i = 0; i < 2 * n; i++) {
        put_y(a, base + i, w[i]);
        scale_y(a, base + i, magnitude);
    }
}
