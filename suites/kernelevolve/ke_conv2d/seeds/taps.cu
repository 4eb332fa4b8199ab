/* atoll-plan {
  "version": 1,
  "params": {"BM": [64, 32, 128], "BP": [8, 4, 2, 16], "BQ": [16, 8, 32], "BC": [32, 16, 64], "WM": [2, 4, 1], "WN": [4, 2]},
  "require": ["BM % (16 * WM) == 0", "BP * BQ % (16 * WN) == 0", "BM * BP * BQ / (32 * WM * WN) <= 128",
              "BM * BP * BQ / (32 * WM * WN) >= 16", "2 * (BC + 8) * ((BP + 2) * (BQ + 2) + 9 * BM) <= 227328"],
  "scratch": {"packed": "144 * F * cdiv(C, 8)"},
  "launch": [{"kernel": "pack", "grid": ["cdiv(9 * F * 8 * cdiv(C, 8), 256)"], "block": ["256"],
              "args": ["w", "packed", "i64:C", "i64:F"]},
             {"kernel": "conv2d", "grid": ["B * cdiv(F, BM) * cdiv(P, BP) * cdiv(Q, BQ)"], "block": ["32 * WM * WN"],
              "shared_bytes": "2 * (BC + 8) * ((BP + 2) * (BQ + 2) + 9 * BM)",
              "args": ["x", "packed", "bias", "y", "i64:C", "i64:F", "i64:P", "i64:Q"]}]
} */
/* Tensor cores, a product per tap: filters x channels times channels x pixels.  The first kernel sorts the weights by
 * taps and pads the channels to vectors.  A rectangle of BP x BQ pixels and its rim lie in shared memory turned round, a
 * row of channels each, so that another tap is another row. */
#define THREADS (32 * WM * WN)
#define PITCH_X (BC + 8)
#define RIM     (BQ + 2)           /* pixels of a line, with those beside it */
#define ROWS    (BM / WM / 16)     /* blocks of 16 filters of a warp */
#define COLUMNS (BP * BQ / WN / 8) /* blocks of 8 pixels of a warp */

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

/* Four 8 x 8 blocks of 16-bit elements; lane i gives the address of row i % 8 of block i / 8. */
static __device__ void load_matrix(unsigned *v, const void *from)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(address)
                 : "memory");
}

/* c += a b, 16 x 8 x 16. */
static __device__ void mma_f16(float *c, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ float from_f16(unsigned short bits)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}

static __device__ unsigned short to_f16(float v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}

/* HEIGHT x WIDTH elements of a row-major matrix into shared memory; zeros outside of it. */
template <int HEIGHT, int WIDTH, int PITCH>
static __device__ void load_tile(unsigned short *to, const unsigned short *from, long long row,
                                 long long column, long long rows, long long columns)
{
    const int per = 8; /* elements of 16 bytes */
    bool vector = columns % per == 0 && (size_t)from % 16 == 0;
#pragma unroll
    for (int at = threadIdx.x; at < HEIGHT * WIDTH / per; at += THREADS) {
        int i = at / (WIDTH / per), j = at % (WIDTH / per) * per;
        bool here = row + i < rows && column + j < columns;
        const unsigned short *own = here ? from + (row + i) * columns + column + j : from;
        if (vector)
            copy16(to + i * PITCH + j, own, here);
        else
            for (int e = 0; e < per; e++)
                to[i * PITCH + j + e] = here && column + j + e < columns ? own[e] : (unsigned short)0;
    }
}

extern "C" __global__ void pack(const unsigned short *w, unsigned short *packed, long long channels,
                                long long filters)
{
    long long pitch = (channels + 7) / 8 * 8, at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long c = at % pitch, f = at / pitch % filters, tap = at / (pitch * filters);
    if (tap < 9)
        packed[at] = c < channels ? w[(f * channels + c) * 9 + tap] : (unsigned short)0;
}

/* The rectangle at (row, column) and its rim of BC channels, turned; two channels at a time. */
static __device__ void load_pixels(unsigned short *to, const unsigned short *x, long long row,
                                   long long column, long long channel, long long channels, long long height,
                                   long long width)
{
    for (int at = threadIdx.x; at < (BP + 2) * RIM * (BC / 2); at += THREADS) {
        int p = at % ((BP + 2) * RIM), c = at / ((BP + 2) * RIM) * 2;
        long long i = row - 1 + p / RIM, j = column - 1 + p % RIM, own = channel + c;
        bool here = i >= 0 && i < height && j >= 0 && j < width;
        const unsigned short *from = x + (own * height + i) * width + j;
        unsigned low = here && own < channels ? from[0] : 0;
        unsigned high = here && own + 1 < channels ? from[height * width] : 0;
        *(unsigned *)(to + p * PITCH_X + c) = low | high << 16;
    }
}

static __device__ void multiply_tap(const unsigned short *weights, const unsigned short *pixels, int tap,
                                    float sums[ROWS][COLUMNS][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = warp / WN * (BM / WM), first = warp % WN * (BP * BQ / WN);
#pragma unroll
    for (int c = 0; c < BC; c += 16) {
        unsigned a[ROWS][4];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            load_matrix(a[i], weights + (tap * BM + row + i * 16 + lane % 16) * PITCH_X + c + lane / 16 * 8);
#pragma unroll
        for (int j = 0; j < COLUMNS / 2; j++) {
            int pixel = first + j * 16 + lane / 16 * 8 + lane % 8;
            unsigned b[4];
            load_matrix(b, pixels + ((pixel / BQ + tap / 3) * RIM + pixel % BQ + tap % 3) * PITCH_X + c +
                               lane / 8 % 2 * 8);
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                mma_f16(sums[i][2 * j], a[i], b[0], b[1]);
                mma_f16(sums[i][2 * j + 1], a[i], b[2], b[3]);
            }
        }
    }
}

/* y starts at the batch. */
static __device__ void store(unsigned short *y, const unsigned short *bias, long long filter, long long row,
                             long long column, long long filters, long long height, long long width,
                             float sums[ROWS][COLUMNS][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    bool vector = width % 2 == 0 && (size_t)y % 4 == 0;
#pragma unroll
    for (int i = 0; i < 2 * ROWS; i++) {
        long long f = filter + warp / WN * (BM / WM) + i * 8 + lane / 4;
        float own = f < filters ? from_f16(bias[f]) : 0.0f;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            int pixel = warp % WN * (BP * BQ / WN) + j * 8 + lane % 4 * 2;
            long long line = row + pixel / BQ, at = column + pixel % BQ;
            unsigned low = to_f16(sums[i / 2][j][i % 2 * 2] + own),
                     high = to_f16(sums[i / 2][j][i % 2 * 2 + 1] + own);
            unsigned short *to = y + (f * height + line) * width + at;
            if (f >= filters || line >= height || at >= width)
                continue;
            if (vector) {
                *(unsigned *)to = low | high << 16;
                continue;
            }
            to[0] = (unsigned short)low;
            if (at + 1 < width)
                to[1] = (unsigned short)high;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    conv2d(const unsigned short *x, const unsigned short *packed, const unsigned short *bias,
           unsigned short *y, long long channels, long long filters, long long height, long long width)
{
    extern __shared__ __align__(16) unsigned short pool[];
    unsigned short *weights = pool, *pixels = pool + 9 * BM * PITCH_X;
    float sums[ROWS][COLUMNS][4] = {{{0.0f}}};
    long long across = (width + BQ - 1) / BQ, lines = (height + BP - 1) / BP, down = (filters + BM - 1) / BM;
    long long column = blockIdx.x % across * BQ, row = blockIdx.x / across % lines * BP;
    long long filter = blockIdx.x / (across * lines) % down * BM,
              batch = blockIdx.x / (across * lines * down);
    long long pitch = (channels + 7) / 8 * 8;
    x += batch * channels * height * width;
    for (long long c = 0; c < channels; c += BC) {
        __syncthreads();
        for (int tap = 0; tap < 9; tap++)
            load_tile<BM, BC, PITCH_X>(weights + tap * BM * PITCH_X, packed + tap * filters * pitch, filter,
                                       c, filters, pitch);
        copy_commit();
        load_pixels(pixels, x, row, column, c, channels, height, width);
        copy_wait<0>();
        __syncthreads();
        for (int tap = 0; tap < 9; tap++)
            multiply_tap(weights, pixels, tap, sums);
    }
    store(y + batch * filters * height * width, bias, filter, row, column, filters, height, width, sums);
}
