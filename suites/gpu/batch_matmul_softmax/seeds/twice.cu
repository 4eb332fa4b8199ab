/* atoll-plan {
  "version": 1,
  "params": {"WARPS": [4, 8, 2], "BN": [64, 32, 128], "KP": [64, 128], "STAGES": [2, 3]},
  "require": ["K <= KP", "2 * (16 * WARPS * (KP + 8) + STAGES * KP * (BN + 8)) <= 113664"],
  "launch": [{"kernel": "softmax", "grid": ["B * cdiv(M, 16 * WARPS)"], "block": ["32 * WARPS"],
              "shared_bytes": "2 * (16 * WARPS * (KP + 8) + STAGES * KP * (BN + 8))",
              "args": ["a", "b", "y", "i64:M", "i64:N", "i64:K"]}]
} */
/* Tensor cores, every score twice: the first walk over the columns finds maximum and sum of each row, the second one
 * makes the scores again and writes the result, so that no score ever goes through memory.  A warp has 16 rows; KP is
 * the depth, padded. */
#define THREADS (32 * WARPS)
#define PITCH_A (KP + 8)
#define PITCH_B (BN + 8)

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

static __device__ float exp2_fast(float v)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
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

static __device__ void score(float s[BN / 8][4], const unsigned (*a)[4], const unsigned short *tile_b)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < KP / 16; k++) {
#pragma unroll
        for (int j = 0; j < BN / 16; j++) {
            unsigned b[4];
            load_matrix_turned(b, tile_b + (k * 16 + lane % 16) * PITCH_B + j * 16 + lane / 16 * 8);
            mma_bf16(s[2 * j], a[k], b[0], b[1]);
            mma_bf16(s[2 * j + 1], a[k], b[2], b[3]);
        }
    }
}

/* Column of s[j][0] in its tile. */
static __device__ int column_of(int j)
{
    return j * 8 + threadIdx.x % 4 * 2;
}

/* Maximum and sum of this lane's columns of two rows so far; left: columns from this tile on. */
static __device__ void gather(const float s[BN / 8][4], float *top, float *sum, float factor, long long left)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float high = top[half], part = 0.0f;
#pragma unroll
        for (int j = 0; j < 2 * (BN / 8); j++)
            if (column_of(j / 2) + j % 2 < left)
                high = fmaxf(high, s[j / 2][2 * half + j % 2] * factor);
#pragma unroll
        for (int j = 0; j < 2 * (BN / 8); j++)
            if (column_of(j / 2) + j % 2 < left)
                part += exp2_fast(s[j / 2][2 * half + j % 2] * factor - high);
        sum[half] = sum[half] * exp2_fast(top[half] - high) + part;
        top[half] = high;
    }
}

/* The four lanes of a row agree; sum becomes its inverse. */
static __device__ void agree(float *top, float *sum)
{
    for (int half = 0; half < 2; half++) {
        for (int d = 1; d < 4; d *= 2) {
            float other = __shfl_xor_sync(0xffffffffu, top[half], d),
                  more = __shfl_xor_sync(0xffffffffu, sum[half], d);
            float high = fmaxf(top[half], other);
            sum[half] = sum[half] * exp2_fast(top[half] - high) + more * exp2_fast(other - high);
            top[half] = high;
        }
        sum[half] = 1.0f / sum[half];
    }
}

static __device__ void emit(unsigned short *y, long long row, long long column, long long m, long long n,
                            const float s[BN / 8][4], const float *top, const float *sum, float factor)
{
    bool vector = n % 2 == 0 && (size_t)y % 4 == 0;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        long long to = row + half * 8;
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
            long long at = column + column_of(j);
            unsigned pair = pack_bf16(exp2_fast(s[j][2 * half] * factor - top[half]) * sum[half],
                                      exp2_fast(s[j][2 * half + 1] * factor - top[half]) * sum[half]);
            if (to >= m || at >= n)
                continue;
            if (vector) {
                *(unsigned *)(y + to * n + at) = pair;
                continue;
            }
            y[to * n + at] = (unsigned short)pair;
            if (at + 1 < n)
                y[to * n + at + 1] = (unsigned short)(pair >> 16);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    softmax(const unsigned short *a, const unsigned short *b, unsigned short *y, long long m, long long n,
            long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    unsigned short *tile_a = pool, *tiles = pool + 16 * WARPS * PITCH_A;
    long long blocks = (m + 16 * WARPS - 1) / (16 * WARPS), batch = blockIdx.x / blocks;
    long long row = blockIdx.x % blocks * 16 * WARPS,
              own = row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    int steps = (int)((n + BN - 1) / BN), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float factor = 1.44269504f / 8.0f;
    float top[2] = {-1e30f, -1e30f}, sum[2] = {0.0f, 0.0f};
    unsigned f[KP / 16][4];
    a += batch * m * depth;
    b += batch * depth * n;
    y += batch * m * n;
    load_tile<16 * WARPS, KP, PITCH_A>(tile_a, a, row, 0, m, depth);
    for (int s = 0; s < STAGES - 1; s++) {
        load_tile<KP, BN, PITCH_B>(tiles + s * KP * PITCH_B, b, 0, (long long)(s % steps) * BN, depth, n);
        copy_commit();
    }
    for (int step = 0; step < 2 * steps; step++) {
        float s[BN / 8][4] = {{0.0f}};
        int next = step + STAGES - 1;
        copy_wait<STAGES - 2>();
        __syncthreads();
        if (step == 0) {
#pragma unroll
            for (int k = 0; k < KP / 16; k++)
                load_matrix(f[k], tile_a + (warp * 16 + lane % 16) * PITCH_A + k * 16 + lane / 16 * 8);
        }
        if (next < 2 * steps)
            load_tile<KP, BN, PITCH_B>(tiles + next % STAGES * KP * PITCH_B, b, 0,
                                       (long long)(next % steps) * BN, depth, n);
        copy_commit();
        score(s, f, tiles + step % STAGES * KP * PITCH_B);
        if (step < steps)
            gather(s, top, sum, factor, n - (long long)step * BN);
        if (step == steps - 1)
            agree(top, sum);
        if (step >= steps)
            emit(y, own, (long long)(step - steps) * BN, m, n, s, top, sum, factor);
    }
    copy_wait<0>();
}
