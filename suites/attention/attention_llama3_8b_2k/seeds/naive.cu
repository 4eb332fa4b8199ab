/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "attention", "grid": ["B * H * L"], "block": ["128"], "shared_bytes": "cdiv(L, 4) * 16",
              "args": ["q", "k", "v", "y", "i64:L", "i64:D"]}]
} */
/* A block per row: all scores in shared memory, their softmax, then a thread per column of the result. */
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

static __device__ float block_reduce(float v, bool is_max)
{
    __shared__ float shared[128];
    __syncthreads();
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d)
            shared[threadIdx.x] = is_max ? fmaxf(shared[threadIdx.x], shared[threadIdx.x + d])
                                         : shared[threadIdx.x] + shared[threadIdx.x + d];
        __syncthreads();
    }
    return shared[0];
}

extern "C" __global__ void attention(const unsigned short *q, const unsigned short *k,
                                     const unsigned short *v, unsigned short *y, long long rows,
                                     long long depth)
{
    extern __shared__ float score[];
    long long i = blockIdx.x, head = i / rows * rows;
    float top = -1e30f, sum = 0.0f;
    for (long long j = threadIdx.x; j < rows; j += 128) {
        float s = 0.0f;
        for (long long d = 0; d < depth; d++)
            s += from_f16(q[i * depth + d]) * from_f16(k[(head + j) * depth + d]);
        score[j] = s * rsqrtf((float)depth);
        top = fmaxf(top, score[j]);
    }
    top = block_reduce(top, true);
    for (long long j = threadIdx.x; j < rows; j += 128) {
        score[j] = expf(score[j] - top);
        sum += score[j];
    }
    sum = block_reduce(sum, false);
    for (long long d = threadIdx.x; d < depth; d += 128) {
        float total = 0.0f;
        for (long long j = 0; j < rows; j++)
            total += score[j] * from_f16(v[(head + j) * depth + d]);
        y[i * depth + d] = to_f16(total / sum);
    }
}
