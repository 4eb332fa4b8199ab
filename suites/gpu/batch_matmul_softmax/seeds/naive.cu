/* atoll-plan {
  "version": 1,
  "scratch": {"scores": "4 * B * M * N"},
  "launch": [{"kernel": "multiply", "grid": ["cdiv(B * M * N, 256)"], "block": ["256"],
              "args": ["a", "b", "scores", "i64:B", "i64:M", "i64:N", "i64:K"]},
             {"kernel": "softmax", "grid": ["cdiv(B * M, 128)"], "block": ["128"],
              "args": ["scores", "y", "i64:B * M", "i64:N"]}]
} */
/* Scores, one thread each; softmax, one thread per row. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void multiply(const unsigned short *a, const unsigned short *b, float *scores,
                                    long long batches, long long m, long long n, long long depth)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= batches * m * n)
        return;
    long long column = at % n, row = at / n, batch = row / m;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(a[row * depth + k]) * from_bf16(b[(batch * depth + k) * n + column]);
    scores[at] = sum / 8.0f;
}

extern "C" __global__ void softmax(float *scores, unsigned short *y, long long rows, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    float *row = scores + i * n;
    float top = row[0], sum = 0.0f;
    for (long long j = 1; j < n; j++)
        top = fmaxf(top, row[j]);
    for (long long j = 0; j < n; j++) {
        row[j] = expf(row[j] - top);
        sum += row[j];
    }
    for (long long j = 0; j < n; j++)
        y[i * n + j] = to_bf16(row[j] / sum);
}
