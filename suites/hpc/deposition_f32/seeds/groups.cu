/* atoll-plan {
  "version": 1,
  "params": {"LANES": [4, 1, 2, 8, 16], "BLOCK": [256, 128, 512], "ATOMIC": [0, 1]},
  "scratch": {"corner": "8 * 8 * Z * Y * X"},
  "launch": [{"kernel": "clear", "grid": ["cdiv(Z * Y * X, BLOCK)"], "block": ["BLOCK"], "args": ["rho", "i64:Z * Y * X"]},
             {"kernel": "cells", "grid": ["cdiv(Z * Y * X, BLOCK / LANES)"], "block": ["BLOCK"],
              "args": ["start", "place", "charge", "rho", "corner", "i32:Z", "i32:Y", "i32:X", "i64:P"]},
             {"kernel": "nodes", "grid": ["cdiv(Z * Y * X, BLOCK)"], "block": ["BLOCK"],
              "args": ["corner", "rho", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* LANES threads share a cell, so that particles are read side by side.  Their eight sums are added to the nodes (ATOMIC), or
 * kept by corner for a third launch in which every node adds the corners of its cells. */
extern "C" __global__ void clear(real *rho, long long count)
{
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (ATOMIC && i < count)
        rho[i] = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    cells(const int *__restrict__ start, const real *__restrict__ place, const real *__restrict__ charge,
          real *rho, real *__restrict__ corner, int depth, int height, int width, long long particles)
{
    const long long count = (long long)depth * height * width;
    const long long cell = (long long)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES, last = cell < count ? start[cell + 1] : 0;
    real sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int p = (cell < count ? start[cell] : 0) + lane; p < last; p += LANES) {
        const real fz = __ldcs(place + p), fy = __ldcs(place + particles + p),
                   fx = __ldcs(place + 2 * particles + p);
        const real q = __ldcs(charge + p), far = q * fz, near = q * (1 - fz);
        const real parts[4] = {near * (1 - fy), near * fy, far * (1 - fy), far * fy};
#pragma unroll
        for (int c = 0; c < 8; c++)
            sums[c] += parts[c / 2] * (c % 2 ? fx : 1 - fx);
    }
#pragma unroll
    for (int c = 0; c < 8; c++)
#pragma unroll
        for (int d = LANES / 2; d > 0; d /= 2)
            sums[c] += __shfl_down_sync(0xffffffffu, sums[c], d, LANES);
    if (lane > 0 || cell >= count)
        return;
    const int i = cell / ((long long)height * width), j = cell / width % height, k = cell % width;
#pragma unroll
    for (int c = 0; c < 8; c++) {
        if (ATOMIC) {
            const int z = i + c / 4 < depth ? i + c / 4 : 0, y = j + c / 2 % 2 < height ? j + c / 2 % 2 : 0;
            const int x = k + c % 2 < width ? k + c % 2 : 0;
            atomicAdd(rho + ((long long)z * height + y) * width + x, sums[c]);
        } else {
            corner[c * count + cell] = sums[c];
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    nodes(const real *__restrict__ corner, real *__restrict__ rho, int depth, int height, int width)
{
    const long long count = (long long)depth * height * width,
                    node = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (ATOMIC || node >= count)
        return;
    const int i = node / ((long long)height * width), j = node / width % height, k = node % width;
    real sum = 0;
#pragma unroll
    for (int c = 0; c < 8; c++) {
        const int z = i >= c / 4 ? i - c / 4 : depth - 1, y = j >= c / 2 % 2 ? j - c / 2 % 2 : height - 1;
        const int x = k >= c % 2 ? k - c % 2 : width - 1;
        sum += corner[c * count + ((long long)z * height + y) * width + x];
    }
    rho[node] = sum;
}
