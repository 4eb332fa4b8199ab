/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [4, 1, 2, 8], "LANES": [8, 4]},
  "scratch": {"corner": "8 * 8 * Z * Y * X"},
  "launch": [{"function": "cells", "units": "cdiv(Z * Y, ROWS)",
              "args": ["start", "place", "charge", "corner", "i64:Z * Y", "i64:X", "i64:P"]},
             {"function": "nodes", "units": "cdiv(Z * Y, ROWS)", "args": ["corner", "rho", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Each cell's particles are read once and leave eight sums, one per corner; then every node adds the corners of its eight
 * cells. */
#include <stdint.h>

static inline void cell(const real *restrict fz, const real *restrict fy, const real *restrict fx,
                        const real *restrict q, long count, real *restrict to, long stride)
{
    real s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
#pragma omp simd simdlen(LANES) reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7)
    for (long p = 0; p < count; p++) {
        const real far = q[p] * fz[p], near = q[p] * (1 - fz[p]);
        const real far1 = far * fy[p], far0 = far * (1 - fy[p]), near1 = near * fy[p],
                   near0 = near * (1 - fy[p]);
        s0 += near0 * (1 - fx[p]);
        s1 += near0 * fx[p];
        s2 += near1 * (1 - fx[p]);
        s3 += near1 * fx[p];
        s4 += far0 * (1 - fx[p]);
        s5 += far0 * fx[p];
        s6 += far1 * (1 - fx[p]);
        s7 += far1 * fx[p];
    }
    to[0] = s0;
    to[stride] = s1;
    to[2 * stride] = s2;
    to[3 * stride] = s3;
    to[4 * stride] = s4;
    to[5 * stride] = s5;
    to[6 * stride] = s6;
    to[7 * stride] = s7;
}

void cells(long begin, long end, const int32_t *start, const real *place, const real *charge, real *corner,
           long rows, long width, long particles)
{
    const long last = end * ROWS < rows ? end * ROWS : rows;
    for (long c = begin * ROWS * width; c < last * width; c++) {
        const long p = start[c];
        cell(place + p, place + particles + p, place + 2 * particles + p, charge + p, start[c + 1] - p,
             corner + c, rows * width);
    }
}

/* rho of a row += one corner of a row of cells, which lie x before. */
static inline void add(real *restrict rho, const real *restrict from, int x, long width)
{
    if (x)
        rho[0] += from[width - 1];
#pragma omp simd simdlen(LANES)
    for (long k = x; k < width; k++)
        rho[k] += from[k - x];
}

void nodes(long begin, long end, const real *corner, real *rho, long depth, long height, long width)
{
    const long rows = depth * height;
    for (long row = begin * ROWS; row < end * ROWS && row < rows; row++) {
        const long i = row / height, j = row % height;
        for (long k = 0; k < width; k++)
            rho[row * width + k] = 0;
        for (int c = 0; c < 8; c++) {
            const int z = c / 4, y = c / 2 % 2;
            const long from = (i - z + depth) % depth * height + (j - y + height) % height;
            add(rho + row * width, corner + (c * rows + from) * width, c % 2, width);
        }
    }
}
