/* atoll-plan {
  "version": 1,
  "params": {"WINDOW": [16384, 8192, 32768, 4096], "BLOCK": [512, 256, 1024]},
  "launch": [{"kernel": "score", "grid": ["Q * cdiv(D, WINDOW)"], "block": ["BLOCK"], "shared_bytes": "4 * WINDOW",
              "args": ["term", "impact", "offset", "doc", "value", "y", "i32:T", "i32:D"]}]
} */
/* A block has WINDOW documents of a query: their scores are added up in shared memory and written once.  Every window goes through all
 * postings of the query, which the cache holds; a warp has a term. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    score(const int *term, const float *impact, const int *offset, const int *doc, const float *value,
          float *y, int terms, int documents)
{
    extern __shared__ float sums[];
    int across = (documents + WINDOW - 1) / WINDOW, query = blockIdx.x / across,
        first = blockIdx.x % across * WINDOW;
    int count = min(WINDOW, documents - first);
    for (int d = threadIdx.x; d < count; d += BLOCK)
        sums[d] = 0.0f;
    __syncthreads();
    for (int t = threadIdx.x / 32; t < terms; t += BLOCK / 32) {
        int own = term[query * terms + t], last = offset[own + 1];
        float w = impact[query * terms + t];
        for (int p = offset[own] + threadIdx.x % 32; p < last; p += 32) {
            int d = doc[p] - first;
            if (d >= 0 && d < count)
                atomicAdd(sums + d, w * value[p]);
        }
    }
    __syncthreads();
    y += (long long)query * documents + first;
    for (int d = threadIdx.x; d < count; d += BLOCK)
        __stcs(y + d, sums[d]);
}
