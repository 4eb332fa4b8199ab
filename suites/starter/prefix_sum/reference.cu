/* A block has a row, each thread a stretch of it. */
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long row)
{
    const long n = dim_N(a), base = row * n, length = (n + ATOLL_TILE_THREADS - 1) / ATOLL_TILE_THREADS;
    const long begin = atoll_thread() * length, end = begin + length < n ? begin + length : n;
    double sum = 0.0, magnitude = 0.0;
    for (long j = begin; j < end; j++) {
        sum += get_x(a, base + j);
        magnitude += atoll_fabs(get_x(a, base + j));
    }
    sum = atoll_block_sum_before(sum);
    magnitude = atoll_block_sum_before(magnitude);
    for (long j = begin; j < end; j++) {
        sum += get_x(a, base + j);
        magnitude += atoll_fabs(get_x(a, base + j));
        put_y(a, base + j, sum);
        scale_y(a, base + j, magnitude);
    }
}
