/* All keys of one digit, bits 8 to 15; keys of equal digit keep their order. */
static long digit_of(double key)
{
    return (long)key / 256 % 256;
}

void reference(const struct atoll_reference_args *a, long unit)
{
    const long n = dim_N(a);
    long at = 0;
    for (long i = 0; i < n; i++)
        at += digit_of(get_key(a, i)) < unit;
    for (long i = 0; i < n; i++) {
        if (digit_of(get_key(a, i)) != unit)
            continue;
        put_moved_key(a, at, get_key(a, i));
        put_moved(a, at, get_value(a, i));
        at++;
    }
}
