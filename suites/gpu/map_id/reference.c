/* One value. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const double value = get_value(a, unit);
    long low = 0, high = dim_K(a);
    while (low < high) {
        const long middle = low + (high - low) / 2;
        if (get_key(a, middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    put_y(a, unit, low < dim_K(a) && get_key(a, low) == value ? (double)(low + 1) : 0.0);
}
