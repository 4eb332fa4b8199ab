/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "rope", "grid": ["cdiv(B * N * H * D, 256)"], "block": ["256"],
              "args": ["x", "c", "s", "y", "i64:B", "i64:N", "i64:H", "i64:D"]}]
} */
/* One thread per pair. */
extern "C" __global__ void rope(const float *x, const float *c, const float *s, float *y, long long batches,
                                long long positions, long long heads, long long half)
{
    long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= batches * positions * heads * half)
        return;
    long long d = pair % half, head = pair / half, at = head / heads % positions * half + d;
    long long first = head * 2 * half + d, second = first + half;
    float x1 = x[first], x2 = x[second];
    y[first] = x1 * c[at] - x2 * s[at];
    y[second] = x2 * c[at] + x1 * s[at];
}
