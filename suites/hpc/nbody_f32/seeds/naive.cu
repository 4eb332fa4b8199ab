/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "pull", "grid": ["cdiv(N, 128)"], "block": ["128"], "args": ["pos", "mass", "acc", "i32:N"]}]
} */
/* One thread per body.  Pulls of PART bodies are added up before they are added to the rest: in f32 one long sum of many like terms
 * loses a bit of each to the size of the sum. */
#define PART 256
extern "C" __global__ void pull(const real *pos, const real *mass, real *acc, int bodies)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bodies)
        return;
    const real x = pos[i], y = pos[bodies + i], z = pos[2 * bodies + i];
    real ax = 0, ay = 0, az = 0;
    for (int first = 0; first < bodies; first += PART) {
        real px = 0, py = 0, pz = 0;
        for (int j = first; j < bodies && j < first + PART; j++) {
            const real dx = pos[j] - x, dy = pos[bodies + j] - y, dz = pos[2 * bodies + j] - z;
            const real square = dx * dx + dy * dy + dz * dz + (real)0.01, w = mass[j] * rsqrt(square) / square;
            px += w * dx;
            py += w * dy;
            pz += w * dz;
        }
        ax += px;
        ay += py;
        az += pz;
    }
    acc[i] = ax;
    acc[bodies + i] = ay;
    acc[2 * bodies + i] = az;
}
