/* atoll-plan {
  "version": 1,
  "launch": [{"function": "stencil", "units": "Z * Y", "args": ["x", "y", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Point by point, the edges decided at each. */
void stencil(long begin, long end, const real *x, real *y, long depth, long height, long width)
{
    static const real weight[4] = {0.125f, 0.0625f, 0.03125f, 0.015625f};
    for (long row = begin; row < end; row++) {
        const long i = row / height, j = row % height;
        for (long k = 0; k < width; k++) {
            real sum = 0;
            for (long p = i > 0 ? i - 1 : i; p <= i + 1 && p < depth; p++)
                for (long q = j > 0 ? j - 1 : j; q <= j + 1 && q < height; q++)
                    for (long r = k > 0 ? k - 1 : k; r <= k + 1 && r < width; r++)
                        sum += weight[(p != i) + (q != j) + (r != k)] * x[(p * height + q) * width + r];
            y[row * width + k] = sum;
        }
    }
}
