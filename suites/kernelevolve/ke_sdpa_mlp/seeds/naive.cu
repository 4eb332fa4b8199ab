/* atoll-plan {
  "version": 1,
  "scratch": {"attended": "4 * B * L * H * D", "hidden": "4 * B * L * F"},
  "launch": [{"kernel": "attention", "grid": ["B * H * L"], "block": ["128"], "shared_bytes": "4 * (L + D)",
              "args": ["q", "k", "v", "attended", "i64:H", "i64:G", "i64:L", "i64:D"]},
             {"kernel": "gate", "grid": ["cdiv(B * L * F, 256)"], "block": ["256"],
              "args": ["attended", "g", "u", "hidden", "i64:B * L", "i64:F", "i64:H * D"]},
             {"kernel": "project", "grid": ["cdiv(B * L * H * D, 256)"], "block": ["256"],
              "args": ["hidden", "w", "y", "i64:B * L", "i64:H * D", "i64:F"]}]
} */
/* Attention with a block a row, its scores in shared memory; then a thread per element of the hidden rows, and of the result. */
#include <cuda_bf16.h>

static __device__ float block_sum(float v, bool is_maximum)
{
    __shared__ float shared[128];
    __syncthreads();
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d) {
            float other = shared[threadIdx.x + d];
            shared[threadIdx.x] =
                is_maximum ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
        __syncthreads();
    }
    return shared[0];
}

extern "C" __global__ void attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v,
                                     float *attended, long long heads, long long groups, long long rows,
                                     long long depth)
{
    extern __shared__ float pool[];
    float *power = pool, *query = pool + rows, top = -1e30f, sum = 0.0f;
    long long row = blockIdx.x % rows, head = blockIdx.x / rows % heads, batch = blockIdx.x / (rows * heads);
    long long shared_head = (batch * groups + head / (heads / groups)) * rows * depth;
    for (int d = threadIdx.x; d < depth; d += 128)
        query[d] = __bfloat162float(q[blockIdx.x * depth + d]) * rsqrtf((float)depth);
    __syncthreads();
    for (int j = threadIdx.x; j < rows; j += 128) {
        float score = 0.0f;
        for (int d = 0; d < depth; d++)
            score += query[d] * __bfloat162float(k[shared_head + j * depth + d]);
        power[j] = score;
        top = fmaxf(top, score);
    }
    top = block_sum(top, true);
    for (int j = threadIdx.x; j < rows; j += 128) {
        power[j] = __expf(power[j] - top);
        sum += power[j];
    }
    sum = block_sum(sum, false);
    for (int d = threadIdx.x; d < depth; d += 128) {
        float total = 0.0f;
        for (int j = 0; j < rows; j++)
            total += power[j] * __bfloat162float(v[shared_head + j * depth + d]);
        attended[((batch * rows + row) * heads + head) * depth + d] = total / sum;
    }
}

extern "C" __global__ void gate(const float *attended, const __nv_bfloat16 *g, const __nv_bfloat16 *u,
                                float *hidden, long long rows, long long width, long long depth)
{
    long long unit = (long long)blockIdx.x * blockDim.x + threadIdx.x, row = unit / width,
              column = unit % width;
    if (row >= rows)
        return;
    float gate = 0.0f, value = 0.0f;
    for (int k = 0; k < depth; k++) {
        float left = attended[row * depth + k];
        gate += left * __bfloat162float(g[k * width + column]);
        value += left * __bfloat162float(u[k * width + column]);
    }
    hidden[unit] = gate / (1.0f + __expf(-gate)) * value;
}

extern "C" __global__ void project(const float *hidden, const __nv_bfloat16 *w, __nv_bfloat16 *y,
                                   long long rows, long long width, long long depth)
{
    long long unit = (long long)blockIdx.x * blockDim.x + threadIdx.x, row = unit / width,
              column = unit % width;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += hidden[row * depth + k] * __bfloat162float(w[k * width + column]);
    y[unit] = __float2bfloat16(sum);
}
