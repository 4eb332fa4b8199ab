/* One pair: element d of both halves of one head. D is half of the head. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long half = dim_D(a), heads = dim_H(a), d = unit % half, head = unit / half;
    const long at = head / heads % dim_N(a) * half + d, first = head * 2 * half + d, second = first + half;
    const double x1 = get_x(a, first), x2 = get_x(a, second), c = get_c(a, at), s = get_s(a, at);
    put_y(a, first, x1 * c - x2 * s);
    scale_y(a, first, atoll_fabs(x1 * c) + atoll_fabs(x2 * s));
    put_y(a, second, x2 * c + x1 * s);
    scale_y(a, second, atoll_fabs(x2 * c) + atoll_fabs(x1 * s));
}
