/* One element of the result. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long m = dim_M(a), n = dim_N(a);
    put_y(a, unit, get_x(a, unit % m * n + unit / m));
}
