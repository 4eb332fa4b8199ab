/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "rope", "grid": ["cdiv(D * T, 256)"], "block": ["256"],
              "args": ["x", "c", "s", "y", "i64:D * T"]}]
} */
/* One thread per pair. */
extern "C" __global__ void rope(const float *x, const float *c, const float *s, float *y, long long half)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half)
        return;
    y[i] = x[i] * c[i] - x[half + i] * s[i];
    y[half + i] = x[i] * s[i] + x[half + i] * c[i];
}
