/* atoll-plan {
  "version": 1,
  "params": {"WARPS": [8, 4, 16], "ITEMS": [16, 8, 12, 24]},
  "scratch": {"offset": "4 * 256 * cdiv(N, 32 * WARPS * ITEMS)", "total": "4 * 256"},
  "launch": [{"kernel": "count", "grid": ["cdiv(N, 32 * WARPS * ITEMS)"], "block": ["32 * WARPS"],
              "args": ["key", "offset", "i32:N", "i32:cdiv(N, 32 * WARPS * ITEMS)"]},
             {"kernel": "scan", "grid": ["256"], "block": ["256"],
              "args": ["offset", "total", "i32:cdiv(N, 32 * WARPS * ITEMS)"]},
             {"kernel": "move", "grid": ["cdiv(N, 32 * WARPS * ITEMS)"], "block": ["32 * WARPS"],
              "args": ["key", "value", "moved_key", "moved", "offset", "total", "i32:N", "i32:cdiv(N, 32 * WARPS * ITEMS)"]}]
} */
/* Counts of tiles stand digit by digit and are summed up by a block each.  Within a tile a warp takes 32 * ITEMS keys in
 * order: lanes with equal digits find each other, and their rank is what the warp counted so far, plus the lanes before. */
#define TILE (32 * WARPS * ITEMS)
#define ALL  0xffffffffu

static __device__ int digit_of(int key)
{
    return key >> 8 & 255;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    count(const int *__restrict__ key, int *__restrict__ offset, int n, int tiles)
{
    __shared__ int table[256];
    for (int d = threadIdx.x; d < 256; d += 32 * WARPS)
        table[d] = 0;
    __syncthreads();
    const int first = blockIdx.x * TILE;
    for (int i = first + threadIdx.x; i < first + TILE && i < n; i += 32 * WARPS)
        atomicAdd(table + digit_of(key[i]), 1);
    __syncthreads();
    for (int d = threadIdx.x; d < 256; d += 32 * WARPS)
        offset[d * tiles + blockIdx.x] = table[d];
}

/* Sum of the values of all threads of 256 before this one; *all: of all of them. */
static __device__ int before(int own, int *all)
{
    __shared__ int warps[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = own, sum = 0;
    for (int d = 1; d < 32; d *= 2) {
        const int lower = __shfl_up_sync(ALL, v, d);
        v += lane >= d ? lower : 0;
    }
    __syncthreads();
    if (lane == 31)
        warps[warp] = v;
    __syncthreads();
    *all = 0;
    for (int w = 0; w < 8; w++) {
        sum += w < warp ? warps[w] : 0;
        *all += warps[w];
    }
    return sum + v - own;
}

extern "C" __global__ void __launch_bounds__(256)
    scan(int *__restrict__ offset, int *__restrict__ total, int tiles)
{
    int *own = offset + (long long)blockIdx.x * tiles, sum = 0;
    for (int base = 0; base < tiles; base += 256) {
        const int t = base + threadIdx.x, value = t < tiles ? own[t] : 0;
        int all;
        const int at = before(value, &all);
        if (t < tiles)
            own[t] = sum + at;
        sum += all;
    }
    if (threadIdx.x == 0)
        total[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    move(const int *__restrict__ key, const real *__restrict__ value, int *__restrict__ moved_key,
         real *__restrict__ moved, const int *__restrict__ offset, const int *__restrict__ total, int n,
         int tiles)
{
    __shared__ int table[WARPS][256], base[256];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * TILE + warp * 32 * ITEMS;
    int keys[ITEMS], ranks[ITEMS];
    for (int d = threadIdx.x; d < 256; d += 32 * WARPS) {
        for (int w = 0; w < WARPS; w++)
            table[w][d] = 0;
        base[d] = total[d];
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = first + k * 32 + lane;
        keys[k] = i < n ? key[i] : -1;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = first + k * 32 + lane, d = i < n ? digit_of(keys[k]) : 256;
        const unsigned equal = __match_any_sync(ALL, d);
        const int lower = __popc(equal & ((1u << lane) - 1));
        const int sum = d < 256 ? table[warp][d] : 0;
        __syncwarp();
        ranks[k] = sum + lower;
        if (d < 256 && lower == 0)
            table[warp][d] = sum + __popc(equal);
        __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x < 32) { /* where digits begin: 8 of them a lane */
        int sum = 0;
        for (int d = 8 * lane; d < 8 * lane + 8; d++)
            sum += base[d];
        int v = sum;
        for (int s = 1; s < 32; s *= 2) {
            const int lower = __shfl_up_sync(ALL, v, s);
            v += lane >= s ? lower : 0;
        }
        v -= sum;
        for (int d = 8 * lane; d < 8 * lane + 8; d++) {
            const int own = base[d];
            base[d] = v;
            v += own;
        }
    }
    __syncthreads();
    for (int d = threadIdx.x; d < 256; d += 32 * WARPS) {
        int at = base[d] + offset[d * tiles + blockIdx.x];
        for (int w = 0; w < WARPS; w++) {
            const int own = table[w][d];
            table[w][d] = at;
            at += own;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = first + k * 32 + lane;
        if (i >= n)
            continue;
        const int to = table[warp][digit_of(keys[k])] + ranks[k];
        moved_key[to] = keys[k];
        moved[to] = value[i];
    }
}
