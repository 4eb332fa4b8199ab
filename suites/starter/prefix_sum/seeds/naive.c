/* atoll-plan {
  "version": 1,
  "launch": [{"function": "prefix_sum", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* One running sum per row. */
void prefix_sum(long begin, long end, const float *x, float *y, long n)
{
    for (long i = begin; i < end; i++) {
        float sum = 0.0f;
        for (long j = 0; j < n; j++) {
            sum += x[i * n + j];
            y[i * n + j] = sum;
        }
    }
}
