/* A block has a digit, each thread a stretch of keys: they are counted first, so that each finds its place. */
static __device__ long reference_blocks(const struct atoll_reference_args *, int phase)
{
    return phase == 0 ? 256 : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int, long digit)
{
    const long n = dim_N(a), length = (n + ATOLL_TILE_THREADS - 1) / ATOLL_TILE_THREADS;
    const long begin = atoll_thread() * length, end = begin + length < n ? begin + length : n;
    double less = 0.0, mine = 0.0;
    for (long i = begin; i < end; i++) {
        const long own = digit_of(get_key(a, i));
        less += own < digit;
        mine += own == digit;
    }
    long at = (long)(atoll_block_sum(less) + atoll_block_sum_before(mine));
    for (long i = begin; i < end; i++) {
        if (digit_of(get_key(a, i)) != digit)
            continue;
        put_moved_key(a, at, get_key(a, i));
        put_moved(a, at, get_value(a, i));
        at++;
    }
}
