/* atoll-plan {
  "version": 1,
  "params": {"BM": [96, 48, 64, 128], "BL": [112, 64, 208, 128], "BC": [32, 64, 96], "WM": [3, 6, 2, 4, 1],
             "WN": [1, 2, 4]},
  "require": ["BM % (16 * WM) == 0", "BL % (16 * WN) == 0", "WM * WN >= 2", "BM * BL / (32 * WM * WN) <= 128",
              "4 * (BC + 4) * (BL + 2 + 3 * BM) <= 227328"],
  "scratch": {"packed": "48 * F * cdiv(C, 4)"},
  "launch": [{"kernel": "pack", "grid": ["cdiv(3 * F * 4 * cdiv(C, 4), 256)"], "block": ["256"],
              "args": ["w", "packed", "i64:C", "i64:F"]},
             {"kernel": "conv1d", "grid": ["B * cdiv(F, BM) * cdiv(L, BL)"], "block": ["32 * WM * WN"],
              "shared_bytes": "4 * (BC + 4) * (BL + 2 + 3 * BM)",
              "args": ["x", "packed", "bias", "y", "i64:C", "i64:F", "i64:L"]}]
} */
/* Tensor cores in TF32, a product per tap: filters x channels times channels x positions.  The first kernel sorts the weights by
 * taps and pads the channels to vectors.  Positions lie in shared memory turned round, a row of channels each, so that
 * the next tap is the next row. */
#define THREADS (32 * WM * WN)
#define PITCH_X (BC + 4)
#define ROWS    (BM / WM / 16) /* blocks of 16 filters of a warp */
#define COLUMNS (BL / WN / 8)  /* blocks of 8 positions of a warp */

/* 16 bytes past the registers into shared memory, zeros where `here` is false. */
static __device__ void copy16(void *to, const void *from, bool here)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    int bytes = here ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* c += a b, 16 x 8 x 8. */
static __device__ void mma_tf32(float *c, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ unsigned to_tf32(float v)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
}

/* HEIGHT x WIDTH elements of a row-major matrix into shared memory; zeros outside of it. */
template <int HEIGHT, int WIDTH, int PITCH>
static __device__ void load_tile(float *to, const float *from, long long row, long long column,
                                 long long rows, long long columns)
{
    const int per = 4; /* elements of 16 bytes */
    bool vector = columns % per == 0 && (size_t)from % 16 == 0;
#pragma unroll
    for (int at = threadIdx.x; at < HEIGHT * WIDTH / per; at += THREADS) {
        int i = at / (WIDTH / per), j = at % (WIDTH / per) * per;
        bool here = row + i < rows && column + j < columns;
        const float *own = here ? from + (row + i) * columns + column + j : from;
        if (vector)
            copy16(to + i * PITCH + j, own, here);
        else
            for (int e = 0; e < per; e++)
                to[i * PITCH + j + e] = here && column + j + e < columns ? own[e] : 0.0f;
    }
}

extern "C" __global__ void pack(const float *w, float *packed, long long channels, long long filters)
{
    long long pitch = (channels + 3) / 4 * 4, at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long c = at % pitch, f = at / pitch % filters, tap = at / (pitch * filters);
    if (tap < 3)
        packed[at] = c < channels ? __uint_as_float(to_tf32(w[(f * channels + c) * 3 + tap])) : 0.0f;
}

/* Positions first - 1 to first + BL of BC channels, turned. */
static __device__ void load_positions(float *to, const float *x, long long first, long long channel,
                                      long long channels, long long length)
{
    for (int at = threadIdx.x; at < (BL + 2) * BC; at += THREADS) {
        int i = at % (BL + 2), c = at / (BL + 2);
        long long from = first - 1 + i, own = channel + c;
        bool here = from >= 0 && from < length && own < channels;
        to[i * PITCH_X + c] = here ? __uint_as_float(to_tf32(x[own * length + from])) : 0.0f;
    }
}

static __device__ void multiply_tap(const float *weights, const float *positions, int tap,
                                    float sums[ROWS][COLUMNS][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *left = weights + (tap * BM + warp / WN * (BM / WM) + lane / 4) * PITCH_X + lane % 4;
    const float *right = positions + (warp % WN * (BL / WN) + tap + lane / 4) * PITCH_X + lane % 4;
#pragma unroll
    for (int c = 0; c < BC; c += 8) {
        unsigned a[ROWS][4];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                a[i][e] = __float_as_uint(left[(i * 16 + e % 2 * 8) * PITCH_X + c + e / 2 * 4]);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            unsigned low = __float_as_uint(right[j * 8 * PITCH_X + c]),
                     high = __float_as_uint(right[j * 8 * PITCH_X + c + 4]);
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                mma_tf32(sums[i][j], a[i], low, high);
        }
    }
}

/* y starts at the batch. */
static __device__ void store(float *y, const float *bias, long long filter, long long first,
                             long long filters, long long length, float sums[ROWS][COLUMNS][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    bool vector = length % 2 == 0 && (size_t)y % 8 == 0;
#pragma unroll
    for (int i = 0; i < 2 * ROWS; i++) {
        long long f = filter + warp / WN * (BM / WM) + i * 8 + lane / 4;
        float own = f < filters ? bias[f] : 0.0f;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            long long at = first + warp % WN * (BL / WN) + j * 8 + lane % 4 * 2;
            float low = sums[i / 2][j][i % 2 * 2] + own, high = sums[i / 2][j][i % 2 * 2 + 1] + own;
            if (f >= filters || at >= length)
                continue;
            if (vector) {
                *(float2 *)(y + f * length + at) = make_float2(low, high);
                continue;
            }
            y[f * length + at] = low;
            if (at + 1 < length)
                y[f * length + at + 1] = high;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv1d(const float *x, const float *packed, const float *bias, float *y, long long channels,
           long long filters, long long length)
{
    extern __shared__ __align__(16) float pool[];
    float *weights = pool, *positions = pool + 3 * BM * PITCH_X;
    float sums[ROWS][COLUMNS][4] = {{{0.0f}}};
    long long across = (length + BL - 1) / BL, down = (filters + BM - 1) / BM, pitch = (channels + 3) / 4 * 4;
    long long first = blockIdx.x % across * BL, filter = blockIdx.x / across % down * BM;
    long long batch = blockIdx.x / (across * down);
    x += batch * channels * length;
    for (long long c = 0; c < channels; c += BC) {
        __syncthreads();
        for (int tap = 0; tap < 3; tap++)
            load_tile<BM, BC, PITCH_X>(weights + tap * BM * PITCH_X, packed + tap * filters * pitch, filter,
                                       c, filters, pitch);
        copy_commit();
        load_positions(positions, x, first, c, channels, length);
        copy_wait<0>();
        __syncthreads();
        for (int tap = 0; tap < 3; tap++)
            multiply_tap(weights, positions, tap, sums);
    }
    store(y + batch * filters * length, bias, filter, first, filters, length, sums);
}
