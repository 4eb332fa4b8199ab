/* atoll-plan {
  "version": 1,
  "params": {"WARPS": [8, 4, 2], "DP": [256], "KP": [192]},
  "require": ["D <= DP", "K <= KP",
              "2 * (16 * WARPS * (16 * cdiv(D, 16) + 8) + 256 * cdiv(D, 16) * cdiv(K, 16) + 128 * max(cdiv(D, 16), cdiv(K, 16))) <= 227328"],
  "launch": [{"kernel": "pffn", "grid": ["B * cdiv(N, 16 * WARPS)"], "block": ["32 * WARPS"],
              "shared_bytes": "2 * (16 * WARPS * (16 * cdiv(D, 16) + 8) + 256 * cdiv(D, 16) * cdiv(K, 16) + 128 * max(cdiv(D, 16), cdiv(K, 16)))",
              "args": ["x", "w1", "b1", "g1", "w2", "b2", "g2", "y", "i32:N", "i32:D", "i32:K"]}]
} */
/* Tensor cores, everything in one: a warp has 16 whole rows, so that both norms are within it.  The hidden rows become, rounded to f16,
 * the left factor of the second product without leaving the registers.  The weights of a batch lie in shared memory whole, the second
 * ones in the place of the first.  DP, KP: bounds of depth and width. */
#define THREADS (32 * WARPS)

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

/* The same, each block transposed. */
static __device__ void load_matrix_turned(unsigned *v, const void *from)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
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

static __device__ unsigned pack_f16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
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

/* height rows of `wide` elements, a multiple of 16; zeros beyond rows and columns. */
static __device__ void load_rows(unsigned short *to, int height, int wide, const unsigned short *from,
                                 int rows, int columns)
{
    bool vector = columns % 8 == 0 && (size_t)from % 16 == 0;
    for (int at = threadIdx.x; at < height * (wide / 8); at += THREADS) {
        int i = at / (wide / 8), j = at % (wide / 8) * 8;
        bool here = i < rows && j < columns;
        const unsigned short *own = here ? from + (long long)i * columns + j : from;
        if (vector)
            copy16(to + i * (wide + 8) + j, own, here);
        else
            for (int e = 0; e < 8; e++)
                to[i * (wide + 8) + j + e] = here && j + e < columns ? own[e] : (unsigned short)0;
    }
}

static __device__ float lanes_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

/* c += 16 rows, whose factors of 16 of the depth are in a, times those rows of w. */
template <int WIDTH>
static __device__ void multiply(float c[WIDTH / 8][4], const unsigned *a, const unsigned short *w, int wide)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < WIDTH / 16; j++) {
        if (j * 16 < wide) {
            unsigned b[4];
            load_matrix_turned(b, w + (lane % 16) * (wide + 8) + j * 16 + lane / 16 * 8);
            mma_f16(c[2 * j], a, b[0], b[1]);
            mma_f16(c[2 * j + 1], a, b[2], b[3]);
        }
    }
}

/* Adds the bias, bends what is to be bent, and makes each row's root mean square 1, times the gain. */
template <int WIDTH, bool BENDS>
static __device__ void settle(float c[WIDTH / 8][4], const unsigned short *bias, const unsigned short *gain,
                              int width)
{
    float squares[2] = {0.0f, 0.0f};
#pragma unroll
    for (int j = 0; j < WIDTH / 8; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int column = j * 8 + threadIdx.x % 4 * 2 + e % 2;
            float v = column < width ? c[j][e] + from_f16(bias[column]) : 0.0f;
            if (BENDS)
                v = 0.5f * v * (1.0f + erff(v * 0.70710678f));
            c[j][e] = v;
            squares[e / 2] += v * v;
        }
    }
    squares[0] = rsqrtf(lanes_sum(squares[0]) / (float)width + 1e-5f);
    squares[1] = rsqrtf(lanes_sum(squares[1]) / (float)width + 1e-5f);
#pragma unroll
    for (int j = 0; j < WIDTH / 8; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int column = j * 8 + threadIdx.x % 4 * 2 + e % 2;
            c[j][e] *= squares[e / 2] * (column < width ? from_f16(gain[column]) : 0.0f);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    pffn(const unsigned short *x, const unsigned short *w1, const unsigned short *b1,
         const unsigned short *g1, const unsigned short *w2, const unsigned short *b2,
         const unsigned short *g2, unsigned short *y, int rows, int depth, int width)
{
    extern __shared__ __align__(16) unsigned short pool[];
    int across = (rows + 16 * WARPS - 1) / (16 * WARPS), batch = blockIdx.x / across,
        row = blockIdx.x % across * 16 * WARPS;
    int deep = (depth + 15) / 16 * 16, wide = (width + 15) / 16 * 16, lane = threadIdx.x % 32,
        warp = threadIdx.x / 32;
    unsigned short *tile_x = pool, *tile_w = pool + 16 * WARPS * (deep + 8);
    unsigned p[KP / 16][4];
    load_rows(tile_x, 16 * WARPS, deep, x + ((long long)batch * rows + row) * depth, rows - row, depth);
    load_rows(tile_w, deep, wide, w1 + (long long)batch * depth * width, depth, width);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    {
        float h[KP / 8][4] = {{0.0f}};
        for (int d = 0; d < deep; d += 16) {
            unsigned a[4];
            load_matrix(a, tile_x + (warp * 16 + lane % 16) * (deep + 8) + d + lane / 16 * 8);
            multiply<KP>(h, a, tile_w + d * (wide + 8), wide);
        }
        settle<KP, true>(h, b1, g1, width);
#pragma unroll
        for (int j = 0; j < KP / 16; j++) {
            p[j][0] = pack_f16(h[2 * j][0], h[2 * j][1]);
            p[j][1] = pack_f16(h[2 * j][2], h[2 * j][3]);
            p[j][2] = pack_f16(h[2 * j + 1][0], h[2 * j + 1][1]);
            p[j][3] = pack_f16(h[2 * j + 1][2], h[2 * j + 1][3]);
        }
    }
    __syncthreads();
    load_rows(tile_w, wide, deep, w2 + (long long)batch * depth * width, width, depth);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    float o[DP / 8][4] = {{0.0f}};
#pragma unroll
    for (int k = 0; k < KP / 16; k++)
        if (k * 16 < wide)
            multiply<DP>(o, p[k], tile_w + k * 16 * (deep + 8), deep);
    settle<DP, false>(o, b2, g2, depth);
    y += ((long long)batch * rows + row) * depth;
    bool vector = depth % 2 == 0 && (size_t)y % 4 == 0;
#pragma unroll
    for (int j = 0; j < DP / 8; j++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int to = warp * 16 + lane / 4 + half * 8, column = j * 8 + lane % 4 * 2;
            unsigned pair = pack_f16(o[j][2 * half], o[j][2 * half + 1]);
            if (row + to >= rows || column >= depth)
                continue;
            unsigned short *own = y + (long long)to * depth + column;
            if (vector) {
                *(unsigned *)own = pair;
                continue;
            }
            own[0] = (unsigned short)pair;
            if (column + 1 < depth)
                own[1] = (unsigned short)(pair >> 16);
        }
    }
}
