/* atoll-plan {
  "version": 1,
  "scratch": {"sums": "4 * M * N"},
  "launch": [{"kernel": "multiply", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "b", "r", "sums", "i64:M", "i64:N", "i64:K"]},
             {"kernel": "normalise", "grid": ["M"], "block": ["128"], "args": ["sums", "gain", "y", "i64:N"]}]
} */
/* The product, one thread per element; the rows, one block each. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void multiply(const unsigned short *x, const unsigned short *b, const unsigned short *r,
                                    float *sums, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = from_bf16(r[row * n + column]);
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(x[row * depth + k]) * from_bf16(b[k * n + column]);
    sums[row * n + column] = sum;
}

extern "C" __global__ void normalise(const float *sums, const unsigned short *gain, unsigned short *y,
                                     long long n)
{
    __shared__ float shared[128];
    long long row = blockIdx.x;
    float squares = 0.0f;
    for (long long j = threadIdx.x; j < n; j += 128)
        squares += sums[row * n + j] * sums[row * n + j];
    shared[threadIdx.x] = squares;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d)
            shared[threadIdx.x] += shared[threadIdx.x + d];
        __syncthreads();
    }
    float factor = rsqrtf(shared[0] / (float)n + 1e-5f);
    for (long long j = threadIdx.x; j < n; j += 128)
        y[row * n + j] = to_bf16(sums[row * n + j] * factor * from_bf16(gain[j]));
}
