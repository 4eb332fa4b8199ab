/* atoll-plan {
  "version": 1,
  "scratch": {"factor": "4 * M"},
  "params": {"BM": [128, 64], "BN": [128, 64], "BK": [16, 8, 32], "TM": [8, 4], "TN": [8, 4]},
  "require": ["BM / TM * (BN / TN) >= 64", "BM / TM * (BN / TN) <= 512", "8 * BK * (BM + BN + 8) <= 49152",
              "BK * BM % (BM / TM * (BN / TN)) == 0", "BK * BN % (BM / TM * (BN / TN)) == 0"],
  "launch": [{"kernel": "roots", "grid": ["M"], "block": ["128"], "args": ["x", "r", "factor", "i32:K"]},
             {"kernel": "gemm", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "block": ["BM / TM * (BN / TN)"],
              "args": ["x", "r", "gain", "b", "factor", "y", "i32:M", "i32:N", "i32:K"]}]
} */
/* Factors of the rows; then the product of rows not yet normalised, times them. */
#define THREADS (BM / TM * (BN / TN))
#define TURN    (BN / TN) /* threads of a row of them */

/* BK x WIDE elements of a factor, f(index, depth); DEEP: the depth lies side by side in memory. */
template <int WIDE, bool DEEP, class F> static __device__ void fetch(float *v, F f, int first, int k)
{
#pragma unroll
    for (int p = 0; p < BK * WIDE / THREADS; p++) {
        int at = threadIdx.x + p * THREADS;
        v[p] = DEEP ? f(first + at / BK, k + at % BK) : f(first + at % WIDE, k + at / WIDE);
    }
}

template <int WIDE, bool DEEP> static __device__ void put(float (*to)[WIDE + 4], const float *v)
{
#pragma unroll
    for (int p = 0; p < BK * WIDE / THREADS; p++) {
        int at = threadIdx.x + p * THREADS;
        if (DEEP)
            to[at % BK][at / BK] = v[p];
        else
            to[at / WIDE][at % WIDE] = v[p];
    }
}

/* Adds a tile of BM x BN of a product; TM x TN of it are this thread's, in groups of four.  The next stretch of the factors is on
 * its way while this one is multiplied. */
template <bool DEEP_A, bool DEEP_B, class A, class B>
static __device__ void multiply(float sums[TM][TN], A left, B right, int row, int column, int depth)
{
    __shared__ __align__(16) float a[2][BK][BM + 4], b[2][BK][BN + 4];
    float u[BK * BM / THREADS], w[BK * BN / THREADS];
    int y = threadIdx.x / TURN * 4, x = threadIdx.x % TURN * 4, half = 0;
    fetch<BM, DEEP_A>(u, left, row, 0);
    fetch<BN, DEEP_B>(w, right, column, 0);
    put<BM, DEEP_A>(a[0], u);
    put<BN, DEEP_B>(b[0], w);
    __syncthreads();
    for (int k = BK; k - BK < depth; k += BK) {
        if (k < depth) {
            fetch<BM, DEEP_A>(u, left, row, k);
            fetch<BN, DEEP_B>(w, right, column, k);
        }
#pragma unroll
        for (int d = 0; d < BK; d++) {
            __align__(16) float p[TM], q[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                *(float4 *)(p + i) = *(const float4 *)&a[half][d][i / 4 * (BM / (TM / 4)) + y];
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                *(float4 *)(q + j) = *(const float4 *)&b[half][d][j / 4 * (BN / (TN / 4)) + x];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sums[i][j] = fmaf(p[i], q[j], sums[i][j]);
        }
        half ^= 1;
        if (k < depth) {
            put<BM, DEEP_A>(a[half], u);
            put<BN, DEEP_B>(b[half], w);
        }
        __syncthreads();
    }
}

/* Calls f(row, column, i, j) for each element i, j of this thread. */
template <class F> static __device__ void each(F f, int row, int column)
{
    int y = threadIdx.x / TURN * 4, x = threadIdx.x % TURN * 4;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
            f(row + i / 4 * (BM / (TM / 4)) + y + i % 4, column + j / 4 * (BN / (TN / 4)) + x + j % 4, i, j);
}

static __device__ float block_sum(float v)
{
    __shared__ float part[32];
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.0f;
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    __syncthreads();
    return v;
}

/* 1 / root mean square of each row of x + r; a block per row. */
extern "C" __global__ void roots(const float *x, const float *r, float *factor, int depth)
{
    float sum = 0.0f;
    for (int k = threadIdx.x; k < depth; k += blockDim.x) {
        float v = (x[(long long)blockIdx.x * depth + k] + r[(long long)blockIdx.x * depth + k]);
        sum += v * v;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        factor[blockIdx.x] = rsqrtf(sum / (float)depth + 1e-5f);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const float *x, const float *r, const float *gain, const float *b, const float *factor, float *out,
         int m, int n, int depth)
{
    int across = (n + BN - 1) / BN, row = blockIdx.x / across * BM, column = blockIdx.x % across * BN;
    float sums[TM][TN] = {{0.0f}};
    multiply<true, false>(
        sums,
        [=](int i, int k) {
            long long at = (long long)i * depth + k;
            return i < m && k < depth ? (x[at] + r[at]) * gain[k] : 0.0f;
        },
        [=](int j, int k) { return j < n && k < depth ? b[(long long)k * n + j] : 0.0f; }, row, column,
        depth);
    each(
        [&](int i, int j, int y, int x) {
            if (i < m && j < n)
                out[(long long)i * n + j] = sums[y][x] * factor[i];
        },
        row, column);
}
