/* atoll-plan {
  "version": 1,
  "params": {"ASYNC": [1, 0], "BK": [16, 8], "BM": [128, 64, 32], "BN": [128, 64, 256], "TM": [8, 4], "TN": [8, 4], "BLOCKS": [2, 1]},
  "require": ["BM / TM * (BN / TN) % 32 == 0", "BM / TM % 4 == 0", "BN / TN % 8 == 0",
              "BM / TM * (BN / TN) <= 512", "BM / TM * (BN / TN) >= 64",
              "BM * BK % (4 * (BM / TM) * (BN / TN)) == 0", "BM / TM * (BN / TN) % BN == 0",
              "BK * BN % (BM / TM * (BN / TN)) == 0", "8 * BK * (BM + BN) <= 49152",
              "max(C * (P + R - 1) * (Q + S - 1), max(F * P * Q, (F + 3) * C * R * S)) < 2147483648"],
  "scratch": {"packed": "16 * cdiv(F, 4) * C * R * S", "offset": "4 * C * R * S"},
  "paths": [{"when": "F % 128 == 0 || F % 128 > 64",
             "launch": [{"kernel": "pack", "grid": ["cdiv(4 * cdiv(F, 4) * C * R * S, 256)"], "block": ["256"],
                         "args": ["w", "packed", "offset", "i32:C", "i32:F", "i32:P", "i32:Q", "i32:R", "i32:S"]},
                        {"kernel": "conv2d", "grid": ["cdiv(P * Q, BN) * cdiv(F, BM)"], "block": ["BM / TM * (BN / TN)"],
                         "args": ["x", "packed", "offset", "y", "i32:F", "i32:P", "i32:Q", "i32:C * R * S", "i32:Q + S - 1"]}]},
            {"launch": [{"kernel": "pack", "grid": ["cdiv(4 * cdiv(F, 4) * C * R * S, 256)"], "block": ["256"],
                         "args": ["w", "packed", "offset", "i32:C", "i32:F", "i32:P", "i32:Q", "i32:R", "i32:S"]},
                        {"kernel": "conv2d_narrow", "grid": ["cdiv(P * Q, 128) * cdiv(F, 64)"], "block": ["128"],
                         "args": ["x", "packed", "offset", "y", "i32:F", "i32:P", "i32:Q", "i32:C * R * S", "i32:Q + S - 1"]}]}]
} */
/* A product of filters with columns of the image: F x (C R S) times (C R S) x (P Q).  The first kernel turns the
 * filters round (padded to vectors of four) and writes where each tap stands in the image; the second one gathers a
 * pixel per thread and multiplies in registers, the next tiles on their way meanwhile.  Where tiles of 128 filters would leave
 * half of their last one empty, they have 64.  ASYNC: tiles go to shared memory without registers in between. */
#include <cuda_pipeline_primitives.h>

template <int ROWS, int COLUMNS, int PER_ROW, int PER_COLUMN> struct shape {
    static constexpr int M = ROWS, N = COLUMNS, TILE_M = PER_ROW, TILE_N = PER_COLUMN;
    static constexpr int THREADS = M / TILE_M * (N / TILE_N), PA = M * BK / 4 / THREADS,
                         PB = BK * N / THREADS;
};

extern "C" __global__ void pack(const float *w, float *packed, int *offset, int channels, int filters, int p,
                                int q, int r, int s)
{
    int depth = channels * r * s, pitch = (filters + 3) / 4 * 4;
    int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int k = at / pitch, f = at % pitch;
    if (k >= depth)
        return;
    packed[at] = f < filters ? w[f * depth + k] : 0.0f;
    if (f == 0)
        offset[k] = (k / (r * s) * (p + r - 1) + k / s % r) * (q + s - 1) + k % s;
}

template <class T> struct tiles {
    float a[2][BK][T::M];
    float b[2][BK][T::N];
};

template <class T> struct fetched {
    float4 a[T::PA];
    float b[T::PB];
};

/* pixel: this thread's in the image, or NULL outside of it. */
template <class T>
static __device__ __forceinline__ void fetch(struct fetched<T> *f, const float *packed, const int *offset,
                                             const float *pixel, int row, int k, int pitch, int depth)
{
#pragma unroll
    for (int p = 0; p < T::PA; p++) {
        int at = threadIdx.x + p * T::THREADS, i = at / (T::M / 4), q = at % (T::M / 4) * 4;
        f->a[p] = k + i < depth && row + q < pitch ? *(const float4 *)(packed + (k + i) * pitch + row + q)
                                                   : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll
    for (int p = 0; p < T::PB; p++) {
        int i = k + threadIdx.x / T::N + p * (T::THREADS / T::N);
        f->b[p] = pixel && i < depth ? pixel[offset[i]] : 0.0f;
    }
}

template <class T>
static __device__ __forceinline__ void put(struct tiles<T> *t, int half, const struct fetched<T> *f)
{
#pragma unroll
    for (int p = 0; p < T::PA; p++) {
        int at = threadIdx.x + p * T::THREADS;
        *(float4 *)&t->a[half][at / (T::M / 4)][at % (T::M / 4) * 4] = f->a[p];
    }
#pragma unroll
    for (int p = 0; p < T::PB; p++)
        t->b[half][threadIdx.x / T::N + p * (T::THREADS / T::N)][threadIdx.x % T::N] = f->b[p];
}

/* The same without registers in between. */
template <class T>
static __device__ __forceinline__ void copy(struct tiles<T> *t, int half, const float *packed,
                                            const int *offset, const float *x, const float *pixel, int row,
                                            int k, int pitch, int depth)
{
#pragma unroll
    for (int p = 0; p < T::PA; p++) {
        int at = threadIdx.x + p * T::THREADS, i = at / (T::M / 4), q = at % (T::M / 4) * 4;
        bool there = k + i < depth && row + q < pitch;
        __pipeline_memcpy_async(&t->a[half][i][q], there ? packed + (k + i) * pitch + row + q : packed, 16,
                                there ? 0 : 16);
    }
#pragma unroll
    for (int p = 0; p < T::PB; p++) {
        int i = threadIdx.x / T::N + p * (T::THREADS / T::N);
        bool there = pixel && k + i < depth;
        __pipeline_memcpy_async(&t->b[half][i][threadIdx.x % T::N], there ? pixel + offset[k + i] : x, 4,
                                there ? 0 : 4);
    }
    __pipeline_commit();
}

/* Rows of a thread: T::TILE_M / 4 groups of four, T::M / (T::TILE_M / 4) apart; columns in the same way. */
template <class T>
static __device__ __forceinline__ void multiply_tile(const struct tiles<T> *t, int half, int y, int x,
                                                     float sums[T::TILE_M][T::TILE_N])
{
#pragma unroll
    for (int k = 0; k < BK; k++) {
        __align__(16) float a[T::TILE_M], b[T::TILE_N];
#pragma unroll
        for (int i = 0; i < T::TILE_M; i += 4)
            *(float4 *)(a + i) = *(const float4 *)&t->a[half][k][i / 4 * (T::M / (T::TILE_M / 4)) + y * 4];
#pragma unroll
        for (int j = 0; j < T::TILE_N; j += 4)
            *(float4 *)(b + j) = *(const float4 *)&t->b[half][k][j / 4 * (T::N / (T::TILE_N / 4)) + x * 4];
#pragma unroll
        for (int i = 0; i < T::TILE_M; i++)
#pragma unroll
            for (int j = 0; j < T::TILE_N; j++)
                sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
    }
}

template <class T>
static __device__ __forceinline__ void store(float *c, int row, int column, int m, int n,
                                             float sums[T::TILE_M][T::TILE_N])
{
    bool vector = n % 4 == 0 && (size_t)c % 16 == 0;
#pragma unroll
    for (int i = 0; i < T::TILE_M; i++) {
        int to = row + i / 4 * (T::M / (T::TILE_M / 4)) + i % 4;
#pragma unroll
        for (int j = 0; j < T::TILE_N; j += 4) {
            int at = column + j / 4 * (T::N / (T::TILE_N / 4));
            if (to >= m || at >= n)
                continue;
            if (vector) {
                *(float4 *)(c + to * n + at) = *(const float4 *)&sums[i][j];
                continue;
            }
            for (int e = 0; e < 4; e++)
                if (at + e < n)
                    c[to * n + at + e] = sums[i][j + e];
        }
    }
}

template <class T>
static __device__ __forceinline__ void convolve(const float *__restrict__ x, const float *__restrict__ packed,
                                                const int *__restrict__ offset, float *__restrict__ y,
                                                int filters, int p, int q, int depth, int width)
{
    __shared__ __align__(16) struct tiles<T> t;
    struct fetched<T> f;
    __align__(16) float sums[T::TILE_M][T::TILE_N] = {{0.0f}};
    int pixels = p * q, wide = (pixels + T::N - 1) / T::N, pitch = (filters + 3) / 4 * 4;
    int row = blockIdx.x / wide * T::M, column = blockIdx.x % wide * T::N, own = column + threadIdx.x % T::N;
    const float *pixel = own < pixels ? x + own / q * width + own % q : 0;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = T::N / T::TILE_N / 8;
    int i = warp / across * 4 + lane / 8, j = warp % across * 8 + lane % 8, half = 0;
    if (ASYNC) {
        copy<T>(&t, 0, packed, offset, x, pixel, row, 0, pitch, depth);
        __pipeline_wait_prior(0);
    } else {
        fetch<T>(&f, packed, offset, pixel, row, 0, pitch, depth);
        put<T>(&t, 0, &f);
    }
    __syncthreads();
    for (int k = BK; k - BK < depth; k += BK) {
        if (ASYNC && k < depth)
            copy<T>(&t, half ^ 1, packed, offset, x, pixel, row, k, pitch, depth);
        if (!ASYNC && k < depth)
            fetch<T>(&f, packed, offset, pixel, row, k, pitch, depth);
        multiply_tile<T>(&t, half, i, j, sums);
        half ^= 1;
        if (ASYNC)
            __pipeline_wait_prior(0);
        else if (k < depth)
            put<T>(&t, half, &f);
        __syncthreads();
    }
    store<T>(y, row + i * 4, column + j * 4, filters, pixels, sums);
}

extern "C" __global__ void __launch_bounds__(BM / TM * (BN / TN), BLOCKS)
    conv2d(const float *x, const float *packed, const int *offset, float *y, int filters, int p, int q,
           int depth, int width)
{
    convolve<shape<BM, BN, TM, TN>>(x, packed, offset, y, filters, p, q, depth, width);
}

extern "C" __global__ void __launch_bounds__(128, 2 * BLOCKS)
    conv2d_narrow(const float *x, const float *packed, const int *offset, float *y, int filters, int p, int q,
                  int depth, int width)
{
    convolve<shape<64, 128, 8, 8>>(x, packed, offset, y, filters, p, q, depth, width);
}
