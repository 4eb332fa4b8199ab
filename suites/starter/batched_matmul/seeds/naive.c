/* atoll-plan {
  "version": 1,
  "launch": [{"function": "multiply", "units": "B", "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* The definition as loops, one product per unit. */
void multiply(long begin, long end, const float *a, const float *b, float *c, long m, long n, long depth)
{
    for (long q = begin; q < end; q++) {
        for (long i = 0; i < m; i++) {
            for (long j = 0; j < n; j++) {
                float sum = 0.0f;
                for (long k = 0; k < depth; k++)
                    sum += a[(q * m + i) * depth + k] * b[(q * depth + k) * n + j];
                c[(q * m + i) * n + j] = sum;
            }
        }
    }
}
