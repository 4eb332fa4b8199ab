/* A block has a row. */
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long row)
{
    const long n = dim_N(a), base = row * n;
    double top = -ATOLL_INFINITY, sum = 0.0;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        top = atoll_fmax(top, get_x(a, base + j));
    top = atoll_block_max(top);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        sum += atoll_exp(get_x(a, base + j) - top);
    sum = atoll_block_sum(sum);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        put_y(a, base + j, atoll_exp(get_x(a, base + j) - top) / sum);
}
