/* atoll-plan {
  "version": 1,
  "launch": [{"function": "matmul", "units": "M", "args": ["a", "b", "c", "i64:N", "i64:K"]}]
} */
/* The definition as three loops. */
void matmul(long begin, long end, const double *a, const double *b, double *c, long n, long depth)
{
    for (long i = begin; i < end; i++) {
        for (long j = 0; j < n; j++) {
            double sum = 0.0;
            for (long k = 0; k < depth; k++)
                sum += a[i * depth + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    }
}
