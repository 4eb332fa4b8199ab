/* atoll-plan {
  "version": 1,
  "launch": [{"function": "conv2d", "units": "F",
              "args": ["x", "w", "y", "i64:C", "i64:P", "i64:Q", "i64:R", "i64:S"]}]
} */
/* The definition as loops, one filter per unit. */
void conv2d(long begin, long end, const float *x, const float *w, float *y, long channels, long p, long q,
            long r, long s)
{
    long height = p + r - 1, width = q + s - 1;
    for (long f = begin; f < end; f++) {
        for (long row = 0; row < p; row++) {
            for (long column = 0; column < q; column++) {
                float sum = 0.0f;
                for (long c = 0; c < channels; c++) {
                    for (long i = 0; i < r; i++) {
                        for (long j = 0; j < s; j++)
                            sum += x[(c * height + row + i) * width + column + j] *
                                   w[((f * channels + c) * r + i) * s + j];
                    }
                }
                y[(f * p + row) * q + column] = sum;
            }
        }
    }
}
