/* atoll-plan {
  "version": 1,
  "params": {"WARPS": [4, 2, 8, 7, 14], "NP": [48, 64], "BLOCKS": [1, 2, 4]},
  "require": ["N <= NP", "WARPS * BLOCKS <= 32"],
  "launch": [{"kernel": "fm", "grid": ["B * cdiv(K, 16 * WARPS)"], "block": ["32 * WARPS"],
              "shared_bytes": "2 * NP * (16 * cdiv(D, 16) + 8 + 16 * WARPS + 8)",
              "args": ["x", "y", "out", "i64:N", "i64:D", "i64:K"]}]
} */
/* Tensor cores, both products in one: a warp has 16 columns of Y.  16 of the depth at a time it multiplies Y^T X, and
 * what comes out is, rounded to bf16, the left factor of the second product, without leaving the registers.  NP is the
 * number of features, padded; registers leave room for BLOCKS blocks.  Results leave through the place of Y in shared
 * memory. */
#define THREADS (32 * WARPS)
#define WIDTH   (16 * WARPS)
#define PITCH_Y (WIDTH + 8)

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
static __device__ void mma_bf16(float *c, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ unsigned pack_bf16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* NP rows of `wide` elements, a multiple of 8; zeros beyond rows and columns. */
static __device__ void load_rows(unsigned short *to, int pitch, int wide, const unsigned short *from,
                                 long long column, long long rows, long long columns)
{
    bool vector = columns % 8 == 0 && (size_t)from % 16 == 0;
    for (int at = threadIdx.x; at < NP * (wide / 8); at += THREADS) {
        int i = at / (wide / 8), j = at % (wide / 8) * 8;
        bool here = i < rows && column + j < columns;
        const unsigned short *own = here ? from + i * columns + column + j : from;
        if (vector)
            copy16(to + i * pitch + j, own, here);
        else
            for (int e = 0; e < 8; e++)
                to[i * pitch + j + e] = here && column + j + e < columns ? own[e] : (unsigned short)0;
    }
}

/* 16 columns of this warp; y: its columns in shared memory. */
static __device__ void multiply(const unsigned short *x, int pitch, int depth, const unsigned short *y,
                                float o[NP / 8][4])
{
    int lane = threadIdx.x % 32;
    unsigned a[NP / 16][4];
#pragma unroll
    for (int n = 0; n < NP / 16; n++)
        load_matrix_turned(a[n], y + (n * 16 + lane % 8 + lane / 16 * 8) * PITCH_Y + lane / 8 % 2 * 8);
    for (int d = 0; d < depth; d += 16) {
        float s[2][4] = {{0.0f}};
#pragma unroll
        for (int n = 0; n < NP / 16; n++) {
            unsigned b[4];
            load_matrix_turned(b, x + (n * 16 + lane % 16) * pitch + d + lane / 16 * 8);
            mma_bf16(s[0], a[n], b[0], b[1]);
            mma_bf16(s[1], a[n], b[2], b[3]);
        }
        unsigned p[4] = {pack_bf16(s[0][0], s[0][1]), pack_bf16(s[0][2], s[0][3]),
                         pack_bf16(s[1][0], s[1][1]), pack_bf16(s[1][2], s[1][3])};
#pragma unroll
        for (int n = 0; n < NP / 16; n++) {
            unsigned b[4];
            load_matrix(b, x + (n * 16 + lane / 16 * 8 + lane % 8) * pitch + d + lane / 8 % 2 * 8);
            mma_bf16(o[2 * n], p, b[0], b[1]);
            mma_bf16(o[2 * n + 1], p, b[2], b[3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    fm(const unsigned short *x, const unsigned short *y, unsigned short *out, long long features,
       long long depth, long long width)
{
    extern __shared__ __align__(16) unsigned short pool[];
    long long across = (width + WIDTH - 1) / WIDTH, batch = blockIdx.x / across,
              column = blockIdx.x % across * WIDTH;
    int wide = (int)((depth + 15) / 16 * 16), pitch = wide + 8, lane = threadIdx.x % 32,
        warp = threadIdx.x / 32;
    unsigned short *tile_y = pool, *tile_x = pool + NP * PITCH_Y, *own = tile_y + warp * 16;
    float o[NP / 8][4] = {{0.0f}};
    load_rows(tile_x, pitch, wide, x + batch * features * depth, 0, features, depth);
    load_rows(tile_y, PITCH_Y, WIDTH, y + batch * features * width, column, features, width);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    multiply(tile_x, pitch, wide, own, o);
    __syncwarp();
#pragma unroll
    for (int n = 0; n < NP / 8; n++) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            own[(n * 8 + lane % 4 * 2 + e % 2) * PITCH_Y + lane / 4 + e / 2 * 8] =
                (unsigned short)pack_bf16(o[n][e], 0.0f);
    }
    __syncthreads();
    out += batch * features * width;
    for (int at = threadIdx.x; at < features * (WIDTH / 2); at += THREADS) {
        int n = at / (WIDTH / 2), k = at % (WIDTH / 2) * 2;
        unsigned pair = *(const unsigned *)(tile_y + n * PITCH_Y + k);
        unsigned short *to = out + n * width + column + k;
        if (column + k >= width)
            continue;
        if (width % 2 == 0 && (size_t)out % 4 == 0) {
            *(unsigned *)to = pair;
            continue;
        }
        to[0] = (unsigned short)pair;
        if (column + k + 1 < width)
            to[1] = (unsigned short)(pair >> 16);
    }
}
