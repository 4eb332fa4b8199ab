/* atoll-plan {
  "version": 1,
  "launch": [{"function": "stencil", "units": "Z * Y", "args": ["x", "y", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Point by point, the edges decided at each. */
void stencil(long begin, long end, const real *x, real *y, long depth, long height, long width)
{
    const long plane = height * width;
    for (long row = begin; row < end; row++) {
        const long i = row / height, j = row % height;
        for (long k = 0; k < width; k++) {
            const long at = row * width + k;
            real sum = 0;
            if (i > 0)
                sum += x[at - plane];
            if (i + 1 < depth)
                sum += x[at + plane];
            if (j > 0)
                sum += x[at - width];
            if (j + 1 < height)
                sum += x[at + width];
            if (k > 0)
                sum += x[at - 1];
            if (k + 1 < width)
                sum += x[at + 1];
            y[at] = (real)0.25 * x[at] + (real)0.125 * sum;
        }
    }
}
