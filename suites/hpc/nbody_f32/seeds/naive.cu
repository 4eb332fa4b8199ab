/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "pull", "grid": ["cdiv(N, 128)"], "block": ["128"], "args": ["pos", "mass", "acc", "i32:N"]}]
} */
/* One thread per body. */
extern "C" __global__ void pull(const real *pos, const real *mass, real *acc, int bodies)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bodies)
        return;
    const real x = pos[i], y = pos[bodies + i], z = pos[2 * bodies + i];
    real ax = 0, ay = 0, az = 0;
    for (int j = 0; j < bodies; j++) {
        const real dx = pos[j] - x, dy = pos[bodies + j] - y, dz = pos[2 * bodies + j] - z;
        const real square = dx * dx + dy * dy + dz * dz + (real)0.01, w = mass[j] * rsqrt(square) / square;
        ax += w * dx;
        ay += w * dy;
        az += w * dz;
    }
    acc[i] = ax;
    acc[bodies + i] = ay;
    acc[2 * bodies + i] = az;
}
