/* atoll-plan {
  "version": 1,
  "launch": [{"function": "stencil", "units": "H", "args": ["x", "y", "i64:H", "i64:W"]}]
} */
/* Point by point, the edge decided at each. */
void stencil(long begin, long end, const float *x, float *y, long height, long width)
{
    for (long i = begin; i < end; i++) {
        for (long j = 0; j < width; j++) {
            long at = i * width + j;
            float sum = 4.0f * x[at];
            if (i > 0)
                sum += x[at - width];
            if (i + 1 < height)
                sum += x[at + width];
            if (j > 0)
                sum += x[at - 1];
            if (j + 1 < width)
                sum += x[at + 1];
            y[at] = sum / 8.0f;
        }
    }
}
