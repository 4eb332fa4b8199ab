/* 1 when fewer than K experts of this token come before `expert`: a greater score, or an equal one with a smaller number. */
static int chosen(const struct atoll_reference_args *a, long token, long expert)
{
    const long experts = dim_E(a);
    const double score = get_x(a, token * experts + expert);
    long before = 0;
    for (long e = 0; e < experts; e++) {
        const double other = get_x(a, token * experts + e);
        before += other > score || (other == score && e < expert) ? 1 : 0;
    }
    return before < dim_K(a);
}

static double softmax_of(const struct atoll_reference_args *a, long token, long expert)
{
    const long experts = dim_E(a);
    double top = -ATOLL_INFINITY, sum = 0.0;
    for (long e = 0; e < experts; e++)
        top = atoll_fmax(top, get_x(a, token * experts + e));
    for (long e = 0; e < experts; e++)
        sum += atoll_exp(get_x(a, token * experts + e) - top);
    return atoll_exp(get_x(a, token * experts + expert) - top) / sum;
}

/* One expert. */
void reference(const struct atoll_reference_args *a, long unit)
{
    const long room = dim_C(a);
    long count = 0;
    for (long t = 0; t < dim_T(a); t++) {
        if (!chosen(a, t, unit))
            continue;
        if (count < room) {
            put_token(a, unit * room + count, (double)t);
            put_weight_of(a, unit * room + count, softmax_of(a, t, unit));
        }
        count++;
    }
    put_count(a, unit, (double)count);
    for (long i = count; i < room; i++) {
        put_token(a, unit * room + i, -1.0);
        put_weight_of(a, unit * room + i, 0.0);
    }
}
