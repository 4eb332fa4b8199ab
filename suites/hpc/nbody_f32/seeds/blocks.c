/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [16, 8, 32, 64], "BLOCK": [1024, 256, 512, 4096], "LANES": [8, 4, 16]},
  "launch": [{"function": "pull", "units": "cdiv(N, ROWS)", "args": ["pos", "mass", "acc", "i64:N"]}]
} */
/* ROWS bodies stand in vectors; those that pull them come one by one, a block at a time from the nearest cache. */
#include <math.h>

struct group {
    real x[ROWS], y[ROWS], z[ROWS], ax[ROWS], ay[ROWS], az[ROWS];
};

static inline real root(real v)
{
    return sizeof(real) == 4 ? (real)__builtin_sqrtf((float)v) : (real)__builtin_sqrt(v);
}

static inline void one(struct group *restrict g, real x, real y, real z, real mass)
{
#pragma omp simd simdlen(LANES)
    for (int r = 0; r < ROWS; r++) {
        const real dx = x - g->x[r], dy = y - g->y[r], dz = z - g->z[r];
        const real square = dx * dx + (dy * dy + (dz * dz + (real)0.01)), w = mass / (square * root(square));
        g->ax[r] += w * dx;
        g->ay[r] += w * dy;
        g->az[r] += w * dz;
    }
}

void pull(long begin, long end, const real *restrict pos, const real *restrict mass, real *restrict acc,
          long bodies)
{
    for (long u = begin; u < end; u++) {
        struct group g = {{0}, {0}, {0}, {0}, {0}, {0}};
        const long first = u * ROWS, count = bodies - first < ROWS ? bodies - first : ROWS;
        for (long r = 0; r < count; r++) {
            g.x[r] = pos[first + r];
            g.y[r] = pos[bodies + first + r];
            g.z[r] = pos[2 * bodies + first + r];
        }
        for (long b = 0; b < bodies; b += BLOCK) {
            struct group total = g;
            for (int r = 0; r < ROWS; r++)
                total.ax[r] = total.ay[r] = total.az[r] = 0;
            for (long j = b; j < b + BLOCK && j < bodies; j++)
                one(&total, pos[j], pos[bodies + j], pos[2 * bodies + j], mass[j]);
            for (int r = 0; r < ROWS; r++) {
                g.ax[r] += total.ax[r];
                g.ay[r] += total.ay[r];
                g.az[r] += total.az[r];
            }
        }
        for (long r = 0; r < count; r++) {
            acc[first + r] = g.ax[r];
            acc[bodies + first + r] = g.ay[r];
            acc[2 * bodies + first + r] = g.az[r];
        }
    }
}
