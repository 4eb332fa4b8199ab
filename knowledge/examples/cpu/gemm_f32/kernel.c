/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "NV": [2, 1, 3, 4], "MR": [10, 6, 4, 8, 12, 14], "RB": [1, 2, 4, 8], "KC": [384, 256, 128, 1024]},
  "require": ["MR * NV <= 28", "MR * NV >= 4"],
  "scratch": {"panels": "4 * cdiv(N, VW * NV) * VW * NV * K"},
  "launch": [
    {"function": "pack", "units": "cdiv(N, VW * NV)", "args": ["b", "panels", "i64:N", "i64:K"]},
    {"function": "multiply", "units": "cdiv(M, MR * RB)",
     "args": ["a", "panels", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* B is packed into zero-padded column panels of NV vectors. A unit computes RB blocks of MR rows; the KC rows of a panel
 * that fit the nearest cache are used for all of them. MR x NV accumulators stay in registers. */
#include <string.h>

#define NR (VW * NV)

typedef float real;
typedef real vec __attribute__((vector_size(sizeof(real) * VW), aligned(sizeof(real)), may_alias));

/* Blocks that no machine's registers hold stay loops: unrolled they only take long to compile. */
#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif
enum {
    VECTOR_BYTES = VW * sizeof(real),
    REGISTERS = MR * NV * (VECTOR_BYTES > REGISTER_BYTES ? VECTOR_BYTES / REGISTER_BYTES : 1),
    UNROLL = REGISTERS <= 28 ? 16 : 1
};

void pack(long begin, long end, const real *restrict b, real *restrict panels, long n, long depth)
{
    for (long p = begin; p < end; p++) {
        real *restrict to = panels + p * depth * NR;
        const long width = n - p * NR < NR ? n - p * NR : NR;
        for (long k = 0; k < depth; k++, to += NR) {
            const real *from = b + k * n + p * NR;
            if (width == NR) {
                memcpy(to, from, NR * sizeof(*to));
                continue;
            }
            for (long j = 0; j < NR; j++)
                to[j] = j < width ? from[j] : 0;
        }
    }
}

/* One block of MR rows by one panel over `depth` steps, which is added to what stands in ret_sums. */
static inline void block(const real *const *rows, const real *restrict panel, long depth, vec (*ret_sums)[NV])
{
    vec sums[MR][NV];
#pragma GCC unroll UNROLL
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++)
            sums[r][v] = ret_sums[r][v];
    for (long k = 0; k < depth; k++, panel += NR) {
        vec right[NV];
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++)
            right[v] = *(const vec *)(panel + v * VW);
#pragma GCC unroll UNROLL
        for (int r = 0; r < MR; r++) {
            const real left = rows[r][k];
#pragma GCC unroll 16
            for (int v = 0; v < NV; v++)
                sums[r][v] += left * right[v];
        }
    }
#pragma GCC unroll UNROLL
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++)
            ret_sums[r][v] = sums[r][v];
}

static inline void tile(const real *restrict a, const real *restrict panel, real *restrict c, long i,
                        long first, long last, long m, long n, long depth, size_t bytes)
{
    const real *rows[MR];
    vec sums[MR][NV] = {{{0}}};
    for (int r = 0; r < MR; r++)
        rows[r] = a + (i + r < m ? i + r : m - 1) * depth + first;
    for (int r = 0; first > 0 && r < MR && i + r < m; r++)
        memcpy(sums[r], c + (i + r) * n, bytes);
    block(rows, panel + first * NR, last - first, sums);
    for (int r = 0; r < MR && i + r < m; r++)
        if (bytes == NR * sizeof(*c))
            memcpy(c + (i + r) * n, sums[r], NR * sizeof(*c));
        else
            memcpy(c + (i + r) * n, sums[r], bytes);
}

void multiply(long begin, long end, const real *restrict a, const real *restrict panels, real *restrict c,
              long m, long n, long depth)
{
    for (long u = begin; u < end; u++)
        for (long first = 0; first < depth; first += KC) {
            const long last = first + KC < depth ? first + KC : depth;
            for (long j = 0; j < n; j += NR) {
                const size_t bytes = (size_t)(n - j < NR ? n - j : NR) * sizeof(*c);
                for (long i = u * MR * RB; i < (u + 1) * MR * RB && i < m; i += MR)
                    tile(a, panels + j * depth, c + j, i, first, last, m, n, depth, bytes);
            }
        }
}
