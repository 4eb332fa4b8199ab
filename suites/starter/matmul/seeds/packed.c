/* atoll-plan {
  "version": 1,
  "params": {"VW": [16, 8, 4], "NV": [2, 1, 3, 4], "MR": [6, 4, 8, 10, 12, 14], "RB": [1, 2, 4, 8]},
  "require": ["MR * NV <= 28", "MR * NV >= 4"],
  "scratch": {"panels": "4 * cdiv(N, VW * NV) * VW * NV * K"},
  "launch": [
    {"function": "pack", "units": "cdiv(N, VW * NV)", "args": ["b", "panels", "i64:N", "i64:K"]},
    {"function": "multiply", "units": "cdiv(M, MR * RB)",
     "args": ["a", "panels", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* B is packed into zero-padded column panels of NV vectors. A unit computes RB blocks of MR rows; each panel
 * is used for all of them while it is in the nearest cache. MR x NV accumulators stay in registers. */
#include <string.h>

#define NR (VW * NV)

typedef float vec __attribute__((vector_size(4 * VW), aligned(4), may_alias));

void pack(long begin, long end, const float *restrict b, float *restrict panels, long n, long depth)
{
    for (long p = begin; p < end; p++) {
        float *restrict to = panels + p * depth * NR;
        const long width = n - p * NR < NR ? n - p * NR : NR;
        for (long k = 0; k < depth; k++, to += NR) {
            const float *from = b + k * n + p * NR;
            if (width == NR) {
                memcpy(to, from, NR * sizeof *to);
                continue;
            }
            for (long j = 0; j < NR; j++)
                to[j] = j < width ? from[j] : 0.0f;
        }
    }
}

static inline void block(const float *const *rows, const float *restrict panel, long depth,
                         vec (*ret_sums)[NV])
{
    vec sums[MR][NV] = {{{0}}};
    for (long k = 0; k < depth; k++, panel += NR) {
        vec right[NV];
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++)
            right[v] = *(const vec *)(panel + v * VW);
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++) {
            const float left = rows[r][k];
#pragma GCC unroll 16
            for (int v = 0; v < NV; v++)
                sums[r][v] += left * right[v];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) {
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++)
            ret_sums[r][v] = sums[r][v];
    }
}

void multiply(long begin, long end, const float *restrict a, const float *restrict panels, float *restrict c,
              long m, long n, long depth)
{
    for (long u = begin; u < end; u++) {
        for (long j = 0; j < n; j += NR) {
            const size_t bytes = (size_t)(n - j < NR ? n - j : NR) * sizeof *c;
            for (long i = u * MR * RB; i < (u + 1) * MR * RB && i < m; i += MR) {
                const float *rows[MR];
                vec sums[MR][NV];
                for (int r = 0; r < MR; r++)
                    rows[r] = a + (i + r < m ? i + r : m - 1) * depth;
                block(rows, panels + j * depth, depth, sums);
                for (int r = 0; r < MR && i + r < m; r++) {
                    if (bytes == NR * sizeof *c)
                        memcpy(c + (i + r) * n + j, sums[r], NR * sizeof *c);
                    else
                        memcpy(c + (i + r) * n + j, sums[r], bytes);
                }
            }
        }
    }
}
