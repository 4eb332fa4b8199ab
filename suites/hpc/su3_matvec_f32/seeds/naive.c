/* atoll-plan {
  "version": 1,
  "launch": [{"function": "hop", "units": "T * Z", "args": ["u", "psi", "y", "i64:T", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Site by site. */
static void site_sum(const real *u, const real *psi, real *y, long site, const long *extents)
{
    const long sites = extents[0] * extents[1] * extents[2] * extents[3];
    real sum[6] = {0};
    long stride = sites;
    for (long axis = 0; axis < 4; axis++) {
        const long n = extents[axis];
        stride /= n;
        const long at = site / stride % n;
        const long front = at + 1 < n ? site + stride : site - at * stride;
        const long back = at > 0 ? site - stride : site + (n - 1) * stride;
        for (int row = 0; row < 3; row++) {
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

void hop(long begin, long end, const real *u, const real *psi, real *y, long t, long z, long height,
         long width)
{
    const long extents[4] = {t, z, height, width}, plane = height * width;
    for (long site = begin * plane; site < end * plane; site++)
        site_sum(u, psi, y, site, extents);
}
