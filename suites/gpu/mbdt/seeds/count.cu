/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512], "PER": [2, 1, 4], "COUNT": [16, 0, 32, 64]},
  "launch": [{"kernel": "mbdt", "grid": ["F * cdiv(B, 4 * BLOCK * PER)"], "block": ["BLOCK"], "shared_bytes": "4 * K",
              "args": ["x", "border", "y", "i64:B", "i32:K"]}]
} */
/* A block stays within one feature and keeps its borders in shared memory.  Up to COUNT borders are compared one after
 * the other without a branch, more are searched by halves. */
static __device__ int bin(const float *border, int borders, float x)
{
    int low = 0;
    if (borders <= COUNT) {
        for (int k = 0; k < borders; k++)
            low += border[k] < x ? 1 : 0;
        return low;
    }
    for (int span = borders; span > 0; span /= 2) {
        int half = (span + 1) / 2;
        if (low + half <= borders && border[low + half - 1] < x)
            low += half;
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    mbdt(const float *x, const float *border, long long *y, long long batch, int borders)
{
    extern __shared__ float own[];
    long long across = (batch + 4 * BLOCK * PER - 1) / (4 * BLOCK * PER), feature = blockIdx.x / across;
    long long first = blockIdx.x % across * (4 * BLOCK * PER), start = feature * (borders + 1);
    int vector = batch % 4 == 0 && ((size_t)x | (size_t)y) % 16 == 0;
    for (int k = threadIdx.x; k < borders; k += BLOCK)
        own[k] = border[feature * borders + k];
    __syncthreads();
    x += feature * batch;
    y += feature * batch;
    if (!vector) {
        for (long long i = first + threadIdx.x; i < first + 4 * BLOCK * PER && i < batch; i += BLOCK)
            y[i] = start + bin(own, borders, x[i]);
        return;
    }
#pragma unroll
    for (int p = 0; p < PER; p++) {
        long long i = first + 4 * (p * BLOCK + threadIdx.x);
        if (i >= batch)
            return;
        float4 v = __ldcs((const float4 *)(x + i));
        __stcs((longlong2 *)(y + i),
               make_longlong2(start + bin(own, borders, v.x), start + bin(own, borders, v.y)));
        __stcs((longlong2 *)(y + i) + 1,
               make_longlong2(start + bin(own, borders, v.z), start + bin(own, borders, v.w)));
    }
}
