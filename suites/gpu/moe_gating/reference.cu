/* A block has an expert, each thread a stretch of tokens: they are counted first, so that each finds its place. */
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_E(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long expert)
{
    const long tokens = dim_T(a), room = dim_C(a),
               length = (tokens + ATOLL_TILE_THREADS - 1) / ATOLL_TILE_THREADS;
    const long begin = atoll_thread() * length, end = begin + length < tokens ? begin + length : tokens;
    double mine = 0.0;
    for (long t = begin; t < end; t++)
        mine += chosen(a, t, expert);
    const long total = (long)atoll_block_sum(mine);
    long count = (long)atoll_block_sum_before(mine);
    for (long t = begin; t < end && count < room; t++) {
        if (!chosen(a, t, expert))
            continue;
        put_token(a, expert * room + count, (double)t);
        put_weight_of(a, expert * room + count, softmax_of(a, t, expert));
        count++;
    }
    if (atoll_thread() == 0)
        put_count(a, expert, (double)total);
    for (long i = total + atoll_thread(); i < room; i += ATOLL_TILE_THREADS) {
        put_token(a, expert * room + i, -1.0);
        put_weight_of(a, expert * room + i, 0.0);
    }
}
