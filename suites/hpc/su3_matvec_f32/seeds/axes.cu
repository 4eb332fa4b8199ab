/* atoll-plan {
  "version": 1,
  "params": {"SITES": [64, 32, 128], "AXES": [4, 1, 2], "MIN": [2, 1, 4]},
  "require": ["SITES * AXES * MIN <= 2048"],
  "launch": [{"kernel": "hop", "grid": ["cdiv(T * Z * Y * X, SITES)"], "block": ["SITES", "AXES"],
              "args": ["u", "psi", "y", "i32:T", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* AXES threads share a site, each with its part of the four axes, so that more links are on their way; their sums meet in
 * shared memory.  The vector at a neighbour is loaded once for its three rows.  MIN: blocks that must fit a multiprocessor. */
static __device__ void load(const real *from, long long sites, real (&v)[6])
{
#pragma unroll
    for (int c = 0; c < 6; c++)
        v[c] = __ldg(from + c * sites);
}

/* sum += matrix times v, or -= adjoint matrix times v. */
template <bool ADJOINT>
static __device__ void multiply(const real *link, long long sites, const real (&v)[6], real (&sum)[6])
{
    real m[18];
#pragma unroll
    for (int e = 0; e < 18; e++)
        m[e] = link[e * sites];
#pragma unroll
    for (int row = 0; row < 3; row++) {
#pragma unroll
        for (int column = 0; column < 3; column++) {
            const int e = ADJOINT ? 2 * (column * 3 + row) : 2 * (row * 3 + column);
            if (ADJOINT) {
                sum[2 * row] -= m[e] * v[2 * column] + m[e + 1] * v[2 * column + 1];
                sum[2 * row + 1] -= m[e] * v[2 * column + 1] - m[e + 1] * v[2 * column];
            } else {
                sum[2 * row] += m[e] * v[2 * column] - m[e + 1] * v[2 * column + 1];
                sum[2 * row + 1] += m[e] * v[2 * column + 1] + m[e + 1] * v[2 * column];
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(SITES *AXES, MIN)
    hop(const real *__restrict__ u, const real *__restrict__ psi, real *__restrict__ y, int t, int z,
        int height, int width)
{
    __shared__ real parts[AXES][6][SITES];
    const long long sites = (long long)t * z * height * width,
                    site = (long long)blockIdx.x * SITES + threadIdx.x;
    const int strides[4] = {z * height * width, height * width, width, 1}, extents[4] = {t, z, height, width};
    real sum[6] = {0, 0, 0, 0, 0, 0};
    if (site < sites) {
#pragma unroll
        for (int k = 0; k < 4 / AXES; k++) {
            const int axis = threadIdx.y + k * AXES, n = extents[axis];
            const long long stride = strides[axis], at = (int)site / strides[axis] % n;
            const long long front = at + 1 < n ? site + stride : site - at * stride;
            const long long back = at > 0 ? site - stride : site + (n - 1) * stride;
            real v[6];
            load(psi + front, sites, v);
            multiply<false>(u + axis * 18 * sites + site, sites, v, sum);
            load(psi + back, sites, v);
            multiply<true>(u + axis * 18 * sites + back, sites, v, sum);
        }
    }
#pragma unroll
    for (int c = 0; c < 6; c++)
        parts[threadIdx.y][c][threadIdx.x] = sum[c];
    __syncthreads();
    for (int c = threadIdx.y; c < 6 && site < sites; c += AXES) {
        real all = 0;
#pragma unroll
        for (int k = 0; k < AXES; k++)
            all += parts[k][c][threadIdx.x];
        y[c * sites + site] = all;
    }
}
