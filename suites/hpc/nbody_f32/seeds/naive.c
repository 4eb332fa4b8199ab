/* atoll-plan {
  "version": 1,
  "launch": [{"function": "pull", "units": "N", "args": ["pos", "mass", "acc", "i64:N"]}]
} */
/* Body by body. */
#include <math.h>

void pull(long begin, long end, const real *pos, const real *mass, real *acc, long bodies)
{
    const real *x = pos, *y = pos + bodies, *z = pos + 2 * bodies;
    for (long i = begin; i < end; i++) {
        real ax = 0, ay = 0, az = 0;
        for (long j = 0; j < bodies; j++) {
            const real dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            const real square = dx * dx + dy * dy + dz * dz + (real)0.01;
            const real w =
                mass[j] / (square * (sizeof(real) == 4 ? (real)sqrtf((float)square) : (real)sqrt(square)));
            ax += w * dx;
            ay += w * dy;
            az += w * dz;
        }
        acc[i] = ax;
        acc[bodies + i] = ay;
        acc[2 * bodies + i] = az;
    }
}
