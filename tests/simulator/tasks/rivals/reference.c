void reference(const struct atoll_reference_args *a, long unit)
{
    put_y(a, unit, get_x(a, unit));
}
