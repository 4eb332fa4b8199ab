/* atoll-plan {
  "version": 1,
  "launch": [{"function": "row_reduce", "units": "B", "args": ["x", "y", "i64:N"]}]
} */
/* One loop per row. */
void row_reduce(long begin, long end, const float *x, float *y, long n)
{
    for (long i = begin; i < end; i++) {
        float sum = 0.0f;
        for (long j = 0; j < n; j++)
            sum += x[i * n + j];
        y[i] = sum;
    }
}
