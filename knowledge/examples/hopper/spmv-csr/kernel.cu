/* atoll-plan {
  "version": 1,
  "params": {"STREAM": [1, 0], "ENTRIES": [1024, 2048, 4096], "BLOCK": [256, 128, 512], "UNROLL": [2, 1, 4], "SHARE": [4, 2, 8]},
  "launch": [{"kernel": "multiply", "grid": ["STREAM * cdiv(M, max(1, min(BLOCK, ENTRIES * 7 / 8 * M / NNZ))) + (1 - STREAM) * cdiv(M * (1 + (NNZ > SHARE * M) + 2 * (NNZ > 2 * SHARE * M) + 4 * (NNZ > 4 * SHARE * M) + 8 * (NNZ > 8 * SHARE * M)), BLOCK)"],
              "block": ["BLOCK"],
              "args": ["ptr", "col", "val", "x", "y", "i32:M", "i32:NNZ", "i32:max(1, min(BLOCK, ENTRIES * 7 / 8 * M / NNZ))",
                       "i32:1 + (NNZ > SHARE * M) + 2 * (NNZ > 2 * SHARE * M) + 4 * (NNZ > 4 * SHARE * M) + 8 * (NNZ > 8 * SHARE * M)"]}]
} */
/* STREAM: a block takes as many rows as have about 7/8 ENTRIES entries, multiplies these in their order, four to a thread at a time
 * and all of them on their way at once, and sums the products of each row in shared memory: rows differ, loads do not.  Else 1 to
 * 16 lanes share a row, SHARE entries to a lane.  Entries are read once, past the nearest cache's keeping; x stays there. */
struct __align__(16) four
{
    real at[4];
};

static __device__ __forceinline__ four stream(const real *from)
{
    constexpr int kWords = sizeof(four) / 16;
    int4 words[kWords];
    four f;
#pragma unroll
    for (int i = 0; i < kWords; i++)
        words[i] = __ldcs(reinterpret_cast<const int4 *>(from) + i);
    memcpy(&f, words, sizeof(f));
    return f;
}

static __device__ __forceinline__ real sum_of_lanes(real sum, int lanes)
{
    for (int d = lanes / 2; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    return sum;
}

/* Products of the entries from base to end, at most ENTRIES; base is a multiple of four.  Places before a row's first and behind its
 * last entry are written, too, and not read. */
static __device__ __forceinline__ void multiply_chunk(real *products, const int *__restrict__ col,
                                                      const real *__restrict__ val,
                                                      const real *__restrict__ x, int base, int end,
                                                      int entries)
{
    for (int k = base + 4 * threadIdx.x; k < end; k += 4 * UNROLL * BLOCK) {
        int4 at[UNROLL];
        four v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int from = k + 4 * u * BLOCK;
            at[u] = make_int4(0, 0, 0, 0);
            v[u] = {};
            if (from < end && from + 4 <= entries) {
                at[u] = __ldcs(reinterpret_cast<const int4 *>(col + from));
                v[u] = stream(val + from);
            } else if (from < end) {
                at[u] = make_int4(col[from], from + 1 < entries ? col[from + 1] : 0,
                                  from + 2 < entries ? col[from + 2] : 0, 0);
                v[u] = {val[from], from + 1 < entries ? val[from + 1] : 0,
                        from + 2 < entries ? val[from + 2] : 0, 0};
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (k + 4 * u * BLOCK < end) {
                v[u].at[0] *= __ldg(x + at[u].x);
                v[u].at[1] *= __ldg(x + at[u].y);
                v[u].at[2] *= __ldg(x + at[u].z);
                v[u].at[3] *= __ldg(x + at[u].w);
            }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (k + 4 * u * BLOCK < end)
                *reinterpret_cast<four *>(products + (k - base) + 4 * u * BLOCK) = v[u];
    }
}

static __device__ __forceinline__ void
rows_by_blocks(const int *__restrict__ ptr, const int *__restrict__ col, const real *__restrict__ val,
               const real *__restrict__ x, real *__restrict__ y, int rows, int entries, int own)
{
    __shared__ __align__(16) real products[STREAM ? ENTRIES : 4];
    const int first = blockIdx.x * own, behind = min(rows, first + own), end = ptr[behind];
    int lanes = 1, base = ptr[first] & ~3;
    while (lanes < 32 && 2 * lanes * own <= BLOCK)
        lanes *= 2;
    const int i = first + (int)threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const int from = i < behind ? ptr[i] : 0, to = i < behind ? ptr[i + 1] : 0;
    real sum = 0;
    for (; base < end; base += ENTRIES) {
        const int here = min(end, base + ENTRIES);
        multiply_chunk(products, col, val, x, base, here, entries);
        __syncthreads();
        for (int k = max(from, base) + lane; k < min(to, here); k += lanes)
            sum += products[k - base];
        __syncthreads();
    }
    sum = sum_of_lanes(sum, lanes);
    if (lane == 0 && i < behind)
        y[i] = sum;
}

static __device__ __forceinline__ void rows_by_lanes(const int *__restrict__ ptr, const int *__restrict__ col,
                                                     const real *__restrict__ val, const real *__restrict__ x,
                                                     real *__restrict__ y, int rows, int lanes)
{
    const int lane = threadIdx.x % lanes, i = blockIdx.x * (BLOCK / lanes) + threadIdx.x / lanes;
    const int last = i < rows ? ptr[i + 1] : 0;
    int k = (i < rows ? ptr[i] : 0) + lane;
    real sum = 0;
    for (; k + (UNROLL - 1) * lanes < last; k += UNROLL * lanes) {
        int at[UNROLL];
        real v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            at[u] = __ldcs(col + k + u * lanes);
            v[u] = __ldcs(val + k + u * lanes);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            sum += v[u] * __ldg(x + at[u]);
    }
    for (; k < last; k += lanes)
        sum += __ldcs(val + k) * __ldg(x + __ldcs(col + k));
    sum = sum_of_lanes(sum, lanes);
    if (lane == 0 && i < rows)
        y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply(const int *__restrict__ ptr, const int *__restrict__ col, const real *__restrict__ val,
             const real *__restrict__ x, real *__restrict__ y, int rows, int entries, int own, int lanes)
{
    if (STREAM)
        rows_by_blocks(ptr, col, val, x, y, rows, entries, own);
    else
        rows_by_lanes(ptr, col, val, x, y, rows, lanes);
}
