/* atoll-plan {
  "version": 1,
  "scratch": {"h": "4 * C * S"},
  "launch": [{"kernel": "scan", "grid": ["C"], "block": ["1"],
              "args": ["delta", "u", "a", "b", "c", "y", "h", "i64:M", "i64:S"]}]
} */
/* One thread per channel. */
extern "C" __global__ void scan(const float *delta, const float *u, const float *a, const float *b,
                                const float *c, float *y, float *h, long long positions, long long states)
{
    long long channel = blockIdx.x;
    h += channel * states;
    for (long long s = 0; s < states; s++)
        h[s] = 0.0f;
    for (long long t = 0; t < positions; t++) {
        float step = delta[channel * positions + t], input = step * u[channel * positions + t], sum = 0.0f;
        for (long long s = 0; s < states; s++) {
            h[s] = expf(step * a[channel * states + s]) * h[s] + input * b[s * positions + t];
            sum += c[s * positions + t] * h[s];
        }
        y[channel * positions + t] = sum;
    }
}
