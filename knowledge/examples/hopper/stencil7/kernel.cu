/* atoll-plan {
  "version": 1,
  "params": {"RUN": [32, 16, 8, 4], "BY": [8, 4, 2, 16], "BX": [32, 64], "WIDE": [4, 2], "STREAM": [0, 1]},
  "paths": [{"when": "X % 4 == 0",
             "launch": [{"kernel": "stencil_wide", "grid": ["cdiv(X, BX * WIDE)", "cdiv(Y, BY)", "cdiv(Z, RUN)"], "block": ["BX", "BY"],
                         "args": ["x", "y", "i32:Z", "i32:Y", "i32:X"]}]},
            {"launch": [{"kernel": "stencil_odd", "grid": ["cdiv(X, BX)", "cdiv(Y, BY)", "cdiv(Z, RUN)"], "block": ["BX", "BY"],
                         "args": ["x", "y", "i32:Z", "i32:Y", "i32:X"]}]}]
} */
/* A thread marches through RUN planes with WIDE points side by side: those above and below stay in registers, rows beside come
 * from the caches, which nobody waits for at a barrier, and points beside from the lanes beside.  STREAM: results go past
 * the caches. */
template <int W> struct __align__(W * sizeof(real) < 16 ? W * sizeof(real) : 16) points
{
    real at[W];
};

template <int W> static __device__ __forceinline__ points<W> load(const real *from, bool there)
{
    points<W> p = {};
    if (there)
        p = *reinterpret_cast<const points<W> *>(from);
    return p;
}

template <int W> static __device__ __forceinline__ void store(real *to, const points<W> &p)
{
    constexpr int kWords = W * sizeof(real) / 4;
    int word[kWords];
    memcpy(word, p.at, sizeof(word));
    if (!STREAM)
        *reinterpret_cast<points<W> *>(to) = p;
    else if (kWords % 4 == 0)
        for (int i = 0; i < kWords; i += 4)
            __stcs(reinterpret_cast<int4 *>(to) + i / 4,
                   make_int4(word[i], word[i + 1], word[i + 2], word[i + 3]));
    else if (kWords == 2)
        __stcs(reinterpret_cast<int2 *>(to), make_int2(word[0], word[1]));
    else
        __stcs(to, p.at[0]);
}

template <int W>
static __device__ __forceinline__ void march(const real *__restrict__ x, real *__restrict__ y, int depth,
                                             int height, int width)
{
    const int k = (blockIdx.x * BX + threadIdx.x) * W, j = blockIdx.y * BY + threadIdx.y,
              first = blockIdx.z * RUN;
    const int lane = threadIdx.x % 32, last = min(depth - first, RUN);
    const long long plane = (long long)height * width;
    const bool inside = k < width;
    if (j >= height) /* whole warps: 32 lanes lie in one row */
        return;
    const real *from = x + first * plane + (long long)j * width + k;
    real *to = y + first * plane + (long long)j * width + k;
    points<W> up = load<W>(from - plane, inside && first > 0), here = load<W>(from, inside);
#pragma unroll 4
    for (int r = 0; r < last; r++, from += plane, to += plane) {
        const points<W> down = load<W>(from + plane, inside && first + r + 1 < depth);
        const points<W> north = load<W>(from - width, inside && j > 0);
        const points<W> south = load<W>(from + width, inside && j + 1 < height);
        real left = __shfl_up_sync(0xffffffffu, here.at[W - 1], 1);
        real right = __shfl_down_sync(0xffffffffu, here.at[0], 1);
        if (lane == 0)
            left = inside && k > 0 ? from[-1] : (real)0;
        if (lane == 31)
            right = k + W < width ? from[W] : (real)0;
        points<W> value;
#pragma unroll
        for (int i = 0; i < W; i++) {
            const real west = i > 0 ? here.at[i > 0 ? i - 1 : 0] : left;
            const real east = i < W - 1 ? here.at[i < W - 1 ? i + 1 : 0] : right;
            const real sides = (west + east) + (north.at[i] + south.at[i]);
            value.at[i] = (real)0.25 * here.at[i] + (real)0.125 * ((up.at[i] + down.at[i]) + sides);
        }
        if (inside)
            store<W>(to, value);
        up = here;
        here = down;
    }
}

extern "C" __global__ void __launch_bounds__(BX *BY)
    stencil_wide(const real *__restrict__ x, real *__restrict__ y, int depth, int height, int width)
{
    march<WIDE>(x, y, depth, height, width);
}

extern "C" __global__ void __launch_bounds__(BX *BY)
    stencil_odd(const real *__restrict__ x, real *__restrict__ y, int depth, int height, int width)
{
    march<1>(x, y, depth, height, width);
}
