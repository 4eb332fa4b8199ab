/* atoll-plan {
  "version": 1,
  "launch": [{"function": "deposit", "units": "Z * Y",
              "args": ["start", "place", "charge", "rho", "i64:Z", "i64:Y", "i64:X", "i64:P"]}]
} */
/* Node by node: no two threads write the same one, and each particle is read eight times. */
#include <stdint.h>

void deposit(long begin, long end, const int32_t *start, const real *place, const real *charge, real *rho,
             long depth, long height, long width, long particles)
{
    for (long row = begin; row < end; row++) {
        const long i = row / height, j = row % height;
        for (long k = 0; k < width; k++) {
            real sum = 0;
            for (int corner = 0; corner < 8; corner++) {
                const int z = corner / 4, y = corner / 2 % 2, x = corner % 2;
                const long cell = ((i - z + depth) % depth * height + (j - y + height) % height) * width +
                                  (k - x + width) % width;
                for (long p = start[cell]; p < start[cell + 1]; p++) {
                    const real fz = place[p], fy = place[particles + p], fx = place[2 * particles + p];
                    sum += charge[p] * (z ? fz : 1 - fz) * (y ? fy : 1 - fy) * (x ? fx : 1 - fx);
                }
            }
            rho[row * width + k] = sum;
        }
    }
}
