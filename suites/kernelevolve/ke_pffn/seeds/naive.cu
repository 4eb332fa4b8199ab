/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "pffn", "grid": ["B * N"], "block": ["128"], "shared_bytes": "4 * (2 * D + K)",
              "args": ["x", "w1", "b1", "g1", "w2", "b2", "g2", "y", "i32:N", "i32:D", "i32:K"]}]
} */
/* A block per row, a thread per column. */
static __device__ float from_f16(unsigned short bits)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}

static __device__ unsigned short to_f16(float v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}

static __device__ float block_sum(float v)
{
    __shared__ float shared[128];
    __syncthreads();
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d)
            shared[threadIdx.x] += shared[threadIdx.x + d];
        __syncthreads();
    }
    return shared[0];
}

/* to[j] = from W + bias for all columns, gelu of it where wanted; what comes back is 1 / root mean square. */
static __device__ float layer(const float *from, int depth, const unsigned short *w,
                              const unsigned short *bias, float *to, int width, bool bends)
{
    float squares = 0.0f;
    for (int j = threadIdx.x; j < width; j += 128) {
        float v = from_f16(bias[j]);
        for (int d = 0; d < depth; d++)
            v += from[d] * from_f16(w[d * width + j]);
        if (bends)
            v = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        to[j] = v;
        squares += v * v;
    }
    return rsqrtf(block_sum(squares) / (float)width + 1e-5f);
}

extern "C" __global__ void pffn(const unsigned short *x, const unsigned short *w1, const unsigned short *b1,
                                const unsigned short *g1, const unsigned short *w2, const unsigned short *b2,
                                const unsigned short *g2, unsigned short *y, int rows, int depth, int width)
{
    extern __shared__ float pool[];
    float *row = pool, *hidden = pool + depth, *result = hidden + width;
    long long at = (long long)blockIdx.x * depth, weights = (long long)(blockIdx.x / rows) * depth * width;
    for (int d = threadIdx.x; d < depth; d += 128)
        row[d] = from_f16(x[at + d]);
    __syncthreads();
    float factor = layer(row, depth, w1 + weights, b1, hidden, width, true);
    for (int k = threadIdx.x; k < width; k += 128)
        hidden[k] *= factor * from_f16(g1[k]);
    __syncthreads();
    factor = layer(hidden, width, w2 + weights, b2, result, depth, false);
    for (int d = threadIdx.x; d < depth; d += 128)
        y[at + d] = to_f16(result[d] * factor * from_f16(g2[d]));
}
