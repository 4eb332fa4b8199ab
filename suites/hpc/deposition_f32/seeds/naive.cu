/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "clear", "grid": ["cdiv(Z * Y * X, 256)"], "block": ["256"], "args": ["rho", "i64:Z * Y * X"]},
             {"kernel": "deposit", "grid": ["cdiv(Z * Y * X, 128)"], "block": ["128"],
              "args": ["start", "place", "charge", "rho", "i32:Z", "i32:Y", "i32:X", "i64:P"]}]
} */
/* One thread per cell: eight sums, added to its corners. */
extern "C" __global__ void clear(real *rho, long long count)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        rho[i] = 0;
}

extern "C" __global__ void deposit(const int *start, const real *place, const real *charge, real *rho,
                                   int depth, int height, int width, long long particles)
{
    const long long cell = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= (long long)depth * height * width)
        return;
    const int i = cell / ((long long)height * width), j = cell / width % height, k = cell % width;
    real sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int p = start[cell]; p < start[cell + 1]; p++) {
        const real fz = place[p], fy = place[particles + p], fx = place[2 * particles + p];
#pragma unroll
        for (int c = 0; c < 8; c++)
            sums[c] += charge[p] * (c / 4 ? fz : 1 - fz) * (c / 2 % 2 ? fy : 1 - fy) * (c % 2 ? fx : 1 - fx);
    }
#pragma unroll
    for (int c = 0; c < 8; c++) {
        const int z = (i + c / 4) % depth, y = (j + c / 2 % 2) % height, x = (k + c % 2) % width;
        atomicAdd(rho + ((long long)z * height + y) * width + x, sums[c]);
    }
}
