static long events(const struct atoll_reference_args *a, long user)
{
    const long count = (long)get_outer(a, user + 1) - (long)get_outer(a, user);
    return count < dim_N(a) ? count : dim_N(a);
}

/* Value offset of event e of a feature. */
static long inner_at(const struct atoll_reference_args *a, long feature, long event)
{
    return (long)get_inner(a, feature * (dim_E(a) + 1) + event);
}

/* Moves what one user keeps in one feature to event `event`, value `value` of the output. */
static void keep(const struct atoll_reference_args *a, long feature, long user, long event, long value)
{
    const long first = (long)get_outer(a, user), count = events(a, user);
    const long begin = inner_at(a, feature, first), end = inner_at(a, feature, first + count);
    for (long e = 0; e < count; e++)
        put_length(a, feature * dim_E(a) + event + e,
                   (double)(inner_at(a, feature, first + e + 1) - inner_at(a, feature, first + e)));
    for (long v = begin; v < end; v++)
        put_y(a, feature * dim_V(a) + value + v - begin, get_value(a, feature * dim_V(a) + v));
}

/* One user in one feature, and its share of the zeros behind all that is kept. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long users = dim_U(a), feature = unit / users, user = unit % users;
    long event = 0, value = 0;
    for (long u = 0; u < users; u++) {
        const long first = (long)get_outer(a, u), count = events(a, u);
        if (u == user)
            keep(a, feature, user, event, value);
        event += count;
        value += inner_at(a, feature, first + count) - inner_at(a, feature, first);
    }
    for (long e = event + user; e < dim_E(a); e += users)
        put_length(a, feature * dim_E(a) + e, 0.0);
    for (long v = value + user; v < dim_V(a); v += users)
        put_y(a, feature * dim_V(a) + v, 0.0);
    if (feature == 0)
        put_kept(a, user, (double)events(a, user));
}
