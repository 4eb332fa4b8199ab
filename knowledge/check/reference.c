/* One element of the products; all inputs are in them. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a), k = dim_K(a), row = unit / n, column = unit % n;
    double sum = 0, narrow = 0;
    for (long i = 0; i < k; i++) {
        sum += get_a(a, row * k + i) * get_b(a, i * n + column);
        sum += get_a8(a, row * k + i) * get_b8(a, column * k + i);
        narrow += (get_a16(a, row * k + i) + get_h16(a, row * k + i)) * get_b16(a, i * n + column);
    }
    put_c(a, unit, sum);
    put_c16(a, unit, narrow);
    if (row == 0)
        put_y(a, column, get_x(a, (long)get_index(a, column)));
}
