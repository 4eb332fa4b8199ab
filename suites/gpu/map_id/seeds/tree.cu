/* atoll-plan {
  "version": 1,
  "params": {"TOP": [4096, 1024, 2048, 8192, 512], "BLOCK": [512, 256, 1024], "PER": [4, 1, 2, 8], "BLOCKS": [528, 132, 264, 1056]},
  "launch": [{"kernel": "map_id", "grid": ["min(BLOCKS, cdiv(B, BLOCK * PER))"], "block": ["BLOCK"],
              "shared_bytes": "8 * TOP", "args": ["value", "key", "y", "i64:B", "i64:K"]}]
} */
/* TOP keys, evenly spread over the list, lie in shared memory; a search goes through them first and through one stretch
 * of the list afterwards.  PER searches of a thread run side by side. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    map_id(const long long *value, const long long *key, long long *y, long long count, long long keys)
{
    extern __shared__ long long top[];
    long long stretch = (keys + TOP - 1) / TOP; /* keys from one entry of top to the next */
    int tops = (int)((keys + stretch - 1) / stretch);
    for (int i = threadIdx.x; i < tops; i += BLOCK)
        top[i] = key[i * stretch];
    __syncthreads();
    for (long long base = (long long)blockIdx.x * BLOCK * PER; base < count;
         base += (long long)gridDim.x * BLOCK * PER) {
        long long v[PER];
        int low[PER];
        long long from[PER];
#pragma unroll
        for (int p = 0; p < PER; p++) {
            long long i = base + p * BLOCK + threadIdx.x;
            v[p] = i < count ? __ldcs(value + i) : 0;
            low[p] = 0;
        }
        /* number of tops below v */
        for (int span = tops; span > 0; span /= 2) {
            int half = (span + 1) / 2;
#pragma unroll
            for (int p = 0; p < PER; p++)
                if (low[p] + half <= tops && top[low[p] + half - 1] < v[p])
                    low[p] += half;
        }
#pragma unroll
        for (int p = 0; p < PER; p++)
            from[p] = low[p] ? (low[p] - 1) * stretch : 0;
        for (long long span = stretch; span > 0; span /= 2) {
            long long half = (span + 1) / 2;
#pragma unroll
            for (int p = 0; p < PER; p++)
                if (from[p] + half <= keys && __ldg(key + from[p] + half - 1) < v[p])
                    from[p] += half;
        }
#pragma unroll
        for (int p = 0; p < PER; p++) {
            long long i = base + p * BLOCK + threadIdx.x;
            if (i < count)
                __stcs(y + i, from[p] < keys && __ldg(key + from[p]) == v[p] ? from[p] + 1 : 0);
        }
    }
}
