/* atoll-plan {
  "version": 1,
  "params": {"TQ": [4, 8], "TK": [4, 8], "DP": [128, 64], "BLOCKS": [1, 2]},
  "require": ["D <= DP", "64 * (DP * TQ + 2 * DP * TK + 16 * TK * TQ) + 32 * DP <= 227328 / BLOCKS"],
  "launch": [{"kernel": "attention", "grid": ["B * H * cdiv(L, 16 * TQ)"], "block": ["256"],
              "shared_bytes": "4 * (DP * (16 * TQ + 4) + DP * (16 * TK + 4) + 16 * TK * DP + 16 * TK * 16 * TQ)",
              "args": ["q", "k", "v", "y", "i64:H", "i64:G", "i64:L", "i32:D"]}]
} */
/* A block takes BQ rows of one head and walks over the keys in tiles of BK: scores in registers, running maximum and
 * sum per row, powers through shared memory, results in registers.  DP is the depth, padded.  16 lanes share a row.
 * Heads stand beside each other at each position. */
#define BQ (16 * TQ)
#define BK (16 * TK)
#define TD (DP / 16)

/* Four of row `row`; zeros beyond rows and depth. */
static __device__ float4 load4(const float *p, long long row, int d, long long rows, int depth,
                               long long pitch)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *from = p + row * pitch + d;
    if (row >= rows || d >= depth)
        return v;
    if (pitch % 4 == 0 && depth % 4 == 0 && (size_t)p % 16 == 0)
        return *(const float4 *)from;
    v.x = from[0];
    if (d + 1 < depth)
        v.y = from[1];
    if (d + 2 < depth)
        v.z = from[2];
    if (d + 3 < depth)
        v.w = from[3];
    return v;
}

/* count rows as columns of `to`; four lanes read 64 bytes of a row. */
template <int COUNT>
static __device__ void load_turned(float *to, const float *p, long long row, long long rows, int depth,
                                   long long pitch, float factor)
{
#pragma unroll
    for (int at = threadIdx.x; at < COUNT * DP / 4; at += 256) {
        int d = (at % 4 + at / (4 * COUNT) * 4) * 4, i = at / 4 % COUNT;
        float4 v = load4(p, row + i, d, rows, depth, pitch);
        to[d * (COUNT + 4) + i] = v.x * factor;
        to[(d + 1) * (COUNT + 4) + i] = v.y * factor;
        to[(d + 2) * (COUNT + 4) + i] = v.z * factor;
        to[(d + 3) * (COUNT + 4) + i] = v.w * factor;
    }
}

static __device__ void load_plain(float *to, const float *p, long long row, long long rows, int depth,
                                  long long pitch)
{
#pragma unroll
    for (int at = threadIdx.x; at < BK * DP / 4; at += 256)
        *(float4 *)(to + at * 4) = load4(p, row + at / (DP / 4), at % (DP / 4) * 4, rows, depth, pitch);
}

/* Where four rows of depth k stand in tile_p: spread over the banks for the lanes that write there. */
static __device__ int slot(int k, int row)
{
    return k * BQ + (row ^ (k / 4 % 8 * 4));
}

/* sums += the product of BQ columns of a and columns of b, STEPS deep; columns of a thread: groups of four, 64 apart.
 * SPREAD: a is tile_p. */
template <int STEPS, int PITCH, int WIDE, bool SPREAD>
static __device__ void multiply(const float *a, const float *b, int y, int x, float sums[TQ][WIDE])
{
#pragma unroll 8
    for (int k = 0; k < STEPS; k++) {
        __align__(16) float c[TQ], d[WIDE];
#pragma unroll
        for (int i = 0; i < TQ; i += 4)
            *(float4 *)(c + i) =
                *(const float4 *)(a + (SPREAD ? slot(k, y * TQ + i) : k * (BQ + 4) + y * TQ + i));
#pragma unroll
        for (int j = 0; j < WIDE; j += 4)
            *(float4 *)(d + j) = *(const float4 *)(b + k * PITCH + j * 16 + x * 4);
#pragma unroll
        for (int i = 0; i < TQ; i++)
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                sums[i][j] = fmaf(c[i], d[j], sums[i][j]);
    }
}

static __device__ float lanes_reduce(float v, bool is_max)
{
    for (int d = 8; d; d >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = is_max ? fmaxf(v, other) : v + other;
    }
    return v;
}

/* Scores to powers of two, in place; rescales what was summed before. */
static __device__ void soften(float s[TQ][TK], float o[TQ][TD], float *top, float *sum, long long left, int x)
{
#pragma unroll
    for (int i = 0; i < TQ; i++) {
        float high = top[i], part = 0.0f;
#pragma unroll
        for (int j = 0; j < TK; j++) {
            if (j / 4 * 64 + x * 4 + j % 4 >= left)
                s[i][j] = -1e30f;
            high = fmaxf(high, s[i][j]);
        }
        high = lanes_reduce(high, true);
#pragma unroll
        for (int j = 0; j < TK; j++) {
            s[i][j] = exp2f(s[i][j] - high);
            part += s[i][j];
        }
        float shrink = exp2f(top[i] - high);
        sum[i] = sum[i] * shrink + part;
        top[i] = high;
#pragma unroll
        for (int j = 0; j < TD; j++)
            o[i][j] *= shrink;
    }
}

static __device__ void store(float *out, long long row, long long rows, int depth, int x, float o[TQ][TD],
                             const float *sum)
{
#pragma unroll
    for (int i = 0; i < TQ; i++) {
        float factor = 1.0f / lanes_reduce(sum[i], false);
#pragma unroll
        for (int j = 0; j < TD; j++) {
            int d = j / 4 * 64 + x * 4 + j % 4;
            if (row + i < rows && d < depth)
                out[(row + i) * depth + d] = o[i][j] * factor;
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, BLOCKS)
    attention(const float *q, const float *k, const float *v, float *out, long long heads, long long groups,
              long long keys, int depth)
{
    extern __shared__ __align__(16) float pool[];
    float *tile_q = pool, *tile_k = tile_q + DP * (BQ + 4), *tile_v = tile_k + DP * (BK + 4);
    float *tile_p = tile_v + BK * DP;
    long long blocks = (keys + BQ - 1) / BQ, head = blockIdx.x / blocks, row = blockIdx.x % blocks * BQ;
    int y = threadIdx.x / 16, x = threadIdx.x % 16;
    float o[TQ][TD] = {{0.0f}}, top[TQ], sum[TQ] = {0.0f};
#pragma unroll
    for (int i = 0; i < TQ; i++)
        top[i] = -1e30f;
    long long batch = head / heads, own = head % heads, shared = own / (heads / groups);
    q += (batch * keys * heads + own) * depth;
    k += (batch * keys * groups + shared) * depth;
    v += (batch * keys * groups + shared) * depth;
    load_turned<BQ>(tile_q, q, row, keys, depth, heads * depth, 1.44269504f * rsqrtf((float)depth));
    for (long long j = 0; j < keys; j += BK) {
        float s[TQ][TK] = {{0.0f}};
        load_turned<BK>(tile_k, k, j, keys, depth, groups * depth, 1.0f);
        load_plain(tile_v, v, j, keys, depth, groups * depth);
        __syncthreads();
        multiply<DP, BK + 4, TK, false>(tile_q, tile_k, y, x, s);
        soften(s, o, top, sum, keys - j, x);
#pragma unroll
        for (int c = 0; c < TK; c++)
#pragma unroll
            for (int i = 0; i < TQ; i += 4)
                *(float4 *)(tile_p + slot(c / 4 * 64 + x * 4 + c % 4, y * TQ + i)) =
                    make_float4(s[i][c], s[i + 1][c], s[i + 2][c], s[i + 3][c]);
        __syncthreads();
        multiply<BK, DP, TD, true>(tile_p, tile_v, y, x, o);
        __syncthreads();
    }
    store(out + head * keys * depth, row + y * TQ, keys, depth, x, o, sum);
}
