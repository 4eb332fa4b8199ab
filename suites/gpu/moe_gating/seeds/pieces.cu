/* atoll-plan {
  "version": 1,
  "params": {"PIECE": [256, 64, 128, 512], "BLOCK": [256, 128, 512]},
  "scratch": {"bits": "8 * cdiv(E, 64) * T", "top": "4 * T", "sum": "4 * T", "counts": "4 * E * cdiv(T, PIECE)"},
  "launch": [{"kernel": "choose", "grid": ["cdiv(T, BLOCK / 32)"], "block": ["BLOCK"],
              "args": ["x", "bits", "top", "sum", "i32:T", "i32:E", "i32:K"]},
             {"kernel": "tally", "grid": ["cdiv(T, PIECE)"], "block": ["BLOCK"],
              "args": ["bits", "counts", "i32:T", "i32:E"]},
             {"kernel": "carry", "grid": ["E"], "block": ["32"], "args": ["counts", "count", "i32:E", "i32:cdiv(T, PIECE)"]},
             {"kernel": "place", "grid": ["cdiv(E * cdiv(T, PIECE), BLOCK / 32)"], "block": ["BLOCK"],
              "args": ["x", "bits", "top", "sum", "counts", "token", "weight_of", "i32:T", "i32:E", "i32:C"]},
             {"kernel": "fill", "grid": ["E"], "block": ["BLOCK"], "args": ["count", "token", "weight_of", "i32:C"]}]
} */
/* A warp per token ranks its experts into a set of bits; the tokens are cut into pieces of PIECE, counted per expert and
 * piece, and a scan over the pieces says where each piece writes. */
#define ALL 0xffffffffu

static __device__ float warp_reduce(float v, bool is_max)
{
    for (int d = 16; d; d >>= 1) {
        float other = __shfl_xor_sync(ALL, v, d);
        v = is_max ? fmaxf(v, other) : v + other;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    choose(const float *x, unsigned *bits, float *top, float *sum, int tokens, int experts, int limit)
{
    int t = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32,
        words = (experts + 63) / 64 * 2;
    if (t >= tokens)
        return;
    const float *row = x + (long long)t * experts;
    float high = -1e38f, total = 0.0f;
    for (int e = lane; e < experts; e += 32)
        high = fmaxf(high, row[e]);
    high = warp_reduce(high, true);
    for (int w = 0; w < words; w++) {
        int e = w * 32 + lane, before = 0;
        float own = e < experts ? row[e] : 0.0f;
        total += e < experts ? __expf(own - high) : 0.0f;
        for (int base = 0; base < experts; base += 32) {
            float others = base + lane < experts ? row[base + lane] : 0.0f;
            for (int k = 0; k < 32; k++) {
                float other = __shfl_sync(ALL, others, k);
                int number = base + k;
                before += number < experts && (other > own || (other == own && number < e)) ? 1 : 0;
            }
        }
        unsigned set = __ballot_sync(ALL, e < experts && before < limit);
        if (lane == 0)
            bits[(long long)t * words + w] = set;
    }
    total = warp_reduce(total, false);
    if (lane == 0) {
        top[t] = high;
        sum[t] = 1.0f / total;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    tally(const unsigned *bits, int *counts, int tokens, int experts)
{
    int first = blockIdx.x * PIECE, last = min(first + PIECE, tokens), words = (experts + 63) / 64 * 2;
    for (int e = threadIdx.x; e < experts; e += BLOCK) {
        int n = 0;
        for (int t = first; t < last; t++)
            n += bits[(long long)t * words + e / 32] >> e % 32 & 1u;
        counts[blockIdx.x * experts + e] = n;
    }
}

/* Counts become places. */
extern "C" __global__ void carry(int *counts, int *count, int experts, int pieces)
{
    int e = blockIdx.x, lane = threadIdx.x, all = 0;
    for (int base = 0; base < pieces; base += 32) {
        int p = base + lane, own = p < pieces ? counts[p * experts + e] : 0, v = own;
        for (int d = 1; d < 32; d <<= 1) {
            int before = __shfl_up_sync(ALL, v, d);
            v += lane >= d ? before : 0;
        }
        if (p < pieces)
            counts[p * experts + e] = all + v - own;
        all += __shfl_sync(ALL, v, 31);
    }
    if (lane == 0)
        count[e] = all;
}

/* A warp per piece and expert. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    place(const float *x, const unsigned *bits, const float *top, const float *sum, const int *counts,
          int *token, float *weight_of, int tokens, int experts, int room)
{
    int warp = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    int piece = warp / experts, e = warp % experts, first = piece * PIECE, words = (experts + 63) / 64 * 2;
    int last = min(first + PIECE, tokens);
    if (first >= tokens)
        return;
    int to = counts[piece * experts + e];
    for (int base = first; base < last; base += 32) {
        int t = base + lane;
        int here = t < last ? bits[(long long)t * words + e / 32] >> e % 32 & 1u : 0;
        unsigned set = __ballot_sync(ALL, here);
        int at = to + __popc(set & ((1u << lane) - 1u));
        if (here && at < room) {
            token[e * room + at] = t;
            weight_of[e * room + at] = __expf(x[(long long)t * experts + e] - top[t]) * sum[t];
        }
        to += __popc(set);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    fill(const int *count, int *token, float *weight_of, int room)
{
    for (int i = count[blockIdx.x] + threadIdx.x; i < room; i += BLOCK) {
        token[blockIdx.x * room + i] = -1;
        weight_of[blockIdx.x * room + i] = 0.0f;
    }
}
