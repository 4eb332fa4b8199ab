/* One value: how many borders of its feature lie below it. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long feature = unit / dim_B(a), borders = dim_K(a);
    const double x = get_x(a, unit);
    long low = 0, high = borders;
    while (low < high) {
        const long middle = low + (high - low) / 2;
        if (get_border(a, feature * borders + middle) < x)
            low = middle + 1;
        else
            high = middle;
    }
    put_y(a, unit, (double)(low + feature * (borders + 1)));
}
