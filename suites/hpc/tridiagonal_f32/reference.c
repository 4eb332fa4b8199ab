/* One system, by elimination: a column of the matrices, element i of all systems side by side. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), systems = dim_B(a);
    double *c = scratch(a), *d = c + n, largest = 0.0;
    for (long i = 0; i < n; i++) {
        const long at = i * systems + unit;
        const double low = i > 0 ? get_lower(a, at) : 0.0, rhs = get_rhs(a, at);
        const double pivot = get_diag(a, at) - (i > 0 ? low * c[i - 1] : 0.0);
        c[i] = get_upper(a, at) / pivot;
        d[i] = (rhs - (i > 0 ? low * d[i - 1] : 0.0)) / pivot;
        largest = atoll_fmax(largest, atoll_fabs(rhs));
    }
    for (long i = n - 1; i >= 0; i--) {
        if (i < n - 1)
            d[i] -= c[i] * d[i + 1];
        put_x(a, i * systems + unit, d[i]);
        scale_x(a, i * systems + unit, largest);
    }
}
