/* atoll-plan {
  "version": 1,
  "scratch": {"middle": "4 * B * D * K"},
  "launch": [{"kernel": "first", "grid": ["cdiv(B * D * K, 256)"], "block": ["256"],
              "args": ["x", "y", "middle", "i64:B", "i64:N", "i64:D", "i64:K"]},
             {"kernel": "second", "grid": ["cdiv(B * N * K, 256)"], "block": ["256"],
              "args": ["x", "middle", "out", "i64:B", "i64:N", "i64:D", "i64:K"]}]
} */
/* X^T Y through memory, one thread per element; then X times it. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void first(const unsigned short *x, const unsigned short *y, float *middle,
                                 long long batches, long long features, long long depth, long long width)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long column = at % width, d = at / width % depth, batch = at / (width * depth);
    if (batch >= batches)
        return;
    float sum = 0.0f;
    for (long long n = 0; n < features; n++)
        sum += from_bf16(x[(batch * features + n) * depth + d]) *
               from_bf16(y[(batch * features + n) * width + column]);
    middle[at] = sum;
}

extern "C" __global__ void second(const unsigned short *x, const float *middle, unsigned short *out,
                                  long long batches, long long features, long long depth, long long width)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long column = at % width, row = at / width, batch = row / features;
    if (batch >= batches)
        return;
    float sum = 0.0f;
    for (long long d = 0; d < depth; d++)
        sum += from_bf16(x[row * depth + d]) * middle[(batch * depth + d) * width + column];
    out[at] = to_bf16(sum);
}
