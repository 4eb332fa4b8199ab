/* atoll-plan {
  "version": 1,
  "launch": [{"function": "transpose", "units": "M", "args": ["x", "y", "i64:M", "i64:N"]}]
} */
/* Row by row. */
void transpose(long begin, long end, const float *x, float *y, long m, long n)
{
    for (long i = begin; i < end; i++) {
        for (long j = 0; j < n; j++)
            y[j * m + i] = x[i * n + j];
    }
}
