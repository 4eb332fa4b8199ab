/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [128, 64, 256], "SPLIT": [4, 1, 2, 8], "PER": [1, 2, 4], "UNROLL": [8, 4, 16]},
  "require": ["BLOCK * SPLIT <= 1024"],
  "launch": [{"kernel": "pull", "grid": ["cdiv(N, BLOCK * PER)"], "block": ["BLOCK", "SPLIT"],
              "args": ["pos", "mass", "acc", "i32:N"]}]
} */
/* Tiles of BLOCK bodies in shared memory pull PER bodies a thread; SPLIT groups of threads take every SPLIT-th tile and
 * their sums are added at the end.  A tile's pulls are added up before they are added to the rest: in f32 one long sum of many
 * like terms loses a bit of each to the size of the sum. */
struct body {
    real x, y, z, mass;
};

static __device__ real root(float v)
{
    return rsqrtf(v);
}

static __device__ real root(double v)
{
    return (real)rsqrt(v);
}

extern "C" __global__ void __launch_bounds__(BLOCK *SPLIT)
    pull(const real *__restrict__ pos, const real *__restrict__ mass, real *__restrict__ acc, int bodies)
{
    __shared__ body tiles[SPLIT][BLOCK];
    const int first = blockIdx.x * (BLOCK * PER) + threadIdx.x;
    real x[PER], y[PER], z[PER], ax[PER] = {}, ay[PER] = {}, az[PER] = {};
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const int i = min(first + p * BLOCK, bodies - 1);
        x[p] = pos[i];
        y[p] = pos[bodies + i];
        z[p] = pos[2 * bodies + i];
    }
    for (int base = 0; base < bodies; base += BLOCK * SPLIT) {
        const int j = base + threadIdx.y * BLOCK + threadIdx.x;
        body own = {0, 0, 0, 0};
        if (j < bodies)
            own = {pos[j], pos[bodies + j], pos[2 * bodies + j], mass[j]};
        tiles[threadIdx.y][threadIdx.x] = own;
        __syncthreads();
        real px[PER] = {}, py[PER] = {}, pz[PER] = {};
#pragma unroll UNROLL
        for (int t = 0; t < BLOCK; t++) {
            const body b = tiles[threadIdx.y][t];
#pragma unroll
            for (int p = 0; p < PER; p++) {
                const real dx = b.x - x[p], dy = b.y - y[p], dz = b.z - z[p];
                const real inverse = root(dx * dx + (dy * dy + (dz * dz + (real)0.01)));
                const real w = b.mass * inverse * (inverse * inverse);
                px[p] += w * dx;
                py[p] += w * dy;
                pz[p] += w * dz;
            }
        }
#pragma unroll
        for (int p = 0; p < PER; p++) {
            ax[p] += px[p];
            ay[p] += py[p];
            az[p] += pz[p];
        }
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const int i = first + p * BLOCK;
        tiles[threadIdx.y][threadIdx.x] = {ax[p], ay[p], az[p], 0};
        __syncthreads();
        if (threadIdx.y == 0 && i < bodies) {
            for (int s = 1; s < SPLIT; s++) {
                ax[p] += tiles[s][threadIdx.x].x;
                ay[p] += tiles[s][threadIdx.x].y;
                az[p] += tiles[s][threadIdx.x].z;
            }
            acc[i] = ax[p];
            acc[bodies + i] = ay[p];
            acc[2 * bodies + i] = az[p];
        }
        __syncthreads();
    }
}
