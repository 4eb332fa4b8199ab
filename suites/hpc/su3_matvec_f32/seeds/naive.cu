/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "hop", "grid": ["cdiv(T * Z * Y * X, 128)"], "block": ["128"],
              "args": ["u", "psi", "y", "i32:T", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* One thread per site; neighbours read neighbouring words. */
extern "C" __global__ void hop(const real *u, const real *psi, real *y, int t, int z, int height, int width)
{
    const int extents[4] = {t, z, height, width};
    const long long sites = (long long)t * z * height * width,
                    site = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites)
        return;
    real sum[6] = {0, 0, 0, 0, 0, 0};
    long long stride = sites;
#pragma unroll
    for (int axis = 0; axis < 4; axis++) {
        const int n = extents[axis];
        stride /= n;
        const long long at = site / stride % n;
        const long long front = at + 1 < n ? site + stride : site - at * stride;
        const long long back = at > 0 ? site - stride : site + (n - 1) * stride;
#pragma unroll
        for (int row = 0; row < 3; row++) {
#pragma unroll
            for (int column = 0; column < 3; column++) {
                const real *link = u + 2 * (axis * 9 + row * 3 + column) * sites + site;
                const real *turned = u + 2 * (axis * 9 + column * 3 + row) * sites + back;
                const real *f = psi + 2 * column * sites + front, *b = psi + 2 * column * sites + back;
                sum[2 * row] +=
                    link[0] * f[0] - link[sites] * f[sites] - (turned[0] * b[0] + turned[sites] * b[sites]);
                sum[2 * row + 1] +=
                    link[0] * f[sites] + link[sites] * f[0] - (turned[0] * b[sites] - turned[sites] * b[0]);
            }
        }
    }
    for (int c = 0; c < 6; c++)
        y[c * sites + site] = sum[c];
}
