/* A block has a row. */
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long row)
{
    const long n = dim_N(a), base = row * n;
    double squares = 0.0;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        squares += get_x(a, base + j) * get_x(a, base + j);
    const double factor = 1.0 / atoll_sqrt(atoll_block_sum(squares) / (double)n + 1.0e-5);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        put_y(a, base + j, get_x(a, base + j) * factor * get_gain(a, j));
}
