/* One site: what eight neighbours bring through their links.  Link [axis][row][column][re, im] and vector [colour][re, im]
 * stand site by site; axes are T, Z, Y, X, all periodic. */
static long neighbour(const struct atoll_reference_args *a, long site, int axis, int step)
{
    const long extents[4] = {dim_T(a), dim_Z(a), dim_Y(a), dim_X(a)};
    long stride = 1;
    for (int d = 3; d > axis; d--)
        stride *= extents[d];
    const long n = extents[axis], at = site / stride % n, to = (at + step + n) % n;
    return site + (to - at) * stride;
}

void reference(const struct atoll_reference_args *a, long unit)
{
    const long sites = dim_T(a) * dim_Z(a) * dim_Y(a) * dim_X(a);
    double sum[6] = {0, 0, 0, 0, 0, 0}, magnitude[6] = {0, 0, 0, 0, 0, 0};
    for (int axis = 0; axis < 4; axis++) {
        const long front = neighbour(a, unit, axis, 1), back = neighbour(a, unit, axis, -1);
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 3; column++) {
                const long u = axis * 9 + row * 3 + column, v = axis * 9 + column * 3 + row;
                const double ur = get_u(a, 2 * u * sites + unit), ui = get_u(a, (2 * u + 1) * sites + unit);
                const double vr = get_u(a, 2 * v * sites + back), vi = get_u(a, (2 * v + 1) * sites + back);
                const double fr = get_psi(a, 2 * column * sites + front),
                             fi = get_psi(a, (2 * column + 1) * sites + front);
                const double br = get_psi(a, 2 * column * sites + back),
                             bi = get_psi(a, (2 * column + 1) * sites + back);
                sum[2 * row] += ur * fr - ui * fi - (vr * br + vi * bi);
                sum[2 * row + 1] += ur * fi + ui * fr - (vr * bi - vi * br);
                magnitude[2 * row] +=
                    atoll_fabs(ur * fr) + atoll_fabs(ui * fi) + atoll_fabs(vr * br) + atoll_fabs(vi * bi);
                magnitude[2 * row + 1] +=
                    atoll_fabs(ur * fi) + atoll_fabs(ui * fr) + atoll_fabs(vr * bi) + atoll_fabs(vi * br);
            }
        }
    }
    for (int c = 0; c < 6; c++) {
        put_y(a, c * sites + unit, sum[c]);
        scale_y(a, c * sites + unit, magnitude[c]);
    }
}
