/* atoll-plan {
  "version": 1,
  "scratch": {"hidden": "4 * M * N"},
  "params": {"BM": [128, 64], "BN": [128, 64], "BK": [16, 8, 32], "TM": [8, 4], "TN": [4, 8]},
  "require": ["BM / TM * (BN / TN) >= 64", "BM / TM * (BN / TN) <= 512", "8 * BK * (BM + BN + 8) <= 49152",
              "BK * BM % (BM / TM * (BN / TN)) == 0", "BK * BN % (BM / TM * (BN / TN)) == 0"],
  "launch": [{"kernel": "gate", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "block": ["BM / TM * (BN / TN)"],
              "args": ["x", "up", "gate", "hidden", "i32:M", "i32:N", "i32:K"]},
             {"kernel": "gemm", "grid": ["cdiv(M, BM) * cdiv(K, BN)"], "block": ["BM / TM * (BN / TN)"],
              "args": ["hidden", "down", "y", "i32:M", "i32:K", "i32:N"]}]
} */
/* Both products of the hidden rows in one block, which joins them; then the third product. */
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

extern "C" __global__ void __launch_bounds__(THREADS)
    gate(const float *x, const float *up, const float *gates, float *hidden, int m, int n, int depth)
{
    int across = (n + BN - 1) / BN, row = blockIdx.x / across * BM, column = blockIdx.x % across * BN;
    float sums[TM][TN] = {{0.0f}};
    float other[TM][TN] = {{0.0f}};
    auto left = [=](int i, int k) { return i < m && k < depth ? x[(long long)i * depth + k] : 0.0f; };
    multiply<true, false>(
        sums, left, [=](int j, int k) { return j < n && k < depth ? gates[(long long)k * n + j] : 0.0f; },
        row, column, depth);
    multiply<true, false>(
        other, left, [=](int j, int k) { return j < n && k < depth ? up[(long long)k * n + j] : 0.0f; }, row,
        column, depth);
    each(
        [&](int i, int j, int y, int x) {
            float p = sums[y][x];
            if (i < m && j < n)
                hidden[(long long)i * n + j] = p / (1.0f + expf(-p)) * other[y][x];
        },
        row, column);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const float *a, const float *b, float *c, int m, int n, int depth)
{
    int across = (n + BN - 1) / BN, row = blockIdx.x / across * BM, column = blockIdx.x % across * BN;
    float sums[TM][TN] = {{0.0f}};
    multiply<true, false>(
        sums, [=](int i, int k) { return i < m && k < depth ? a[(long long)i * depth + k] : 0.0f; },
        [=](int j, int k) { return j < n && k < depth ? b[(long long)k * n + j] : 0.0f; }, row, column,
        depth);
    each(
        [&](int i, int j, int y, int x) {
            if (i < m && j < n)
                c[(long long)i * n + j] = sums[y][x];
        },
        row, column);
}
