/* atoll-plan {
  "version": 1,
  "scratch": {"offset": "4 * 256 * cdiv(N, 8192)"},
  "launch": [{"kernel": "count", "grid": ["cdiv(N, 8192)"], "block": ["256"], "args": ["key", "offset", "i32:N"]},
             {"kernel": "scan", "grid": ["1"], "block": ["256"], "args": ["offset", "i32:cdiv(N, 8192)"]},
             {"kernel": "move", "grid": ["cdiv(N, 8192)"], "block": ["256"],
              "args": ["key", "value", "moved_key", "moved", "offset", "i32:N"]}]
} */
/* Tiles of 8192 keys are counted, the counts summed up by one block, and each tile moved by 256 threads, each of which looks
 * for the keys of its digit. */
extern "C" __global__ void count(const int *key, int *offset, int n)
{
    __shared__ int table[256];
    table[threadIdx.x] = 0;
    __syncthreads();
    const int first = blockIdx.x * 8192;
    for (int i = first + threadIdx.x; i < first + 8192 && i < n; i += 256)
        atomicAdd(table + (key[i] >> 8 & 255), 1);
    __syncthreads();
    offset[blockIdx.x * 256 + threadIdx.x] = table[threadIdx.x];
}

extern "C" __global__ void scan(int *offset, int tiles)
{
    __shared__ int totals[256];
    const int d = threadIdx.x;
    int sum = 0;
    for (int t = 0; t < tiles; t++)
        sum += offset[t * 256 + d];
    totals[d] = sum;
    __syncthreads();
    int at = 0;
    for (int before = 0; before < d; before++)
        at += totals[before];
    for (int t = 0; t < tiles; t++) {
        const int own = offset[t * 256 + d];
        offset[t * 256 + d] = at;
        at += own;
    }
}

extern "C" __global__ void move(const int *key, const real *value, int *moved_key, real *moved,
                                const int *offset, int n)
{
    __shared__ int keys[1024];
    const int first = blockIdx.x * 8192, last = min(first + 8192, n), d = threadIdx.x;
    int at = offset[blockIdx.x * 256 + d];
    for (int base = first; base < last; base += 1024) {
        const int held = min(1024, last - base);
        __syncthreads();
        for (int i = threadIdx.x; i < held; i += 256)
            keys[i] = key[base + i];
        __syncthreads();
        for (int i = 0; i < held; i++) {
            if ((keys[i] >> 8 & 255) != d)
                continue;
            moved_key[at] = keys[i];
            moved[at] = value[base + i];
            at++;
        }
    }
}
