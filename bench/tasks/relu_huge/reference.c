/* One element. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const double x = get_x(a, unit);
    put_y(a, unit, x > 0.0 ? x : 0.0);
}
