/* A block has a row. */
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long row)
{
    const long n = dim_N(a), base = row * n;
    double sum = 0.0, magnitude = 0.0;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS) {
        sum += get_x(a, base + j);
        magnitude += atoll_fabs(get_x(a, base + j));
    }
    sum = atoll_block_sum(sum);
    magnitude = atoll_block_sum(magnitude);
    if (atoll_thread() == 0) {
        put_y(a, row, sum);
        scale_y(a, row, magnitude);
    }
}
