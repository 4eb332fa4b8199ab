/* A block has a row. */
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long row)
{
    const long n = dim_N(a), base = row * n;
    double sum = 0.0, magnitude = 0.0, squares = 0.0;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS) {
        sum += get_x(a, base + j);
        magnitude += atoll_fabs(get_x(a, base + j));
    }
    const double mean = atoll_block_sum(sum) / (double)n;
    magnitude = atoll_block_sum(magnitude) / (double)n;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS) {
        const double difference = get_x(a, base + j) - mean;
        squares += difference * difference;
    }
    const double factor = 1.0 / atoll_sqrt(atoll_block_sum(squares) / (double)n + 1.0e-5);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS) {
        const double x = get_x(a, base + j), slope = factor * get_gain(a, j), bias = get_bias(a, j);
        put_y(a, base + j, (x - mean) * slope + bias);
        scale_y(a, base + j, (atoll_fabs(x) + magnitude) * atoll_fabs(slope) + atoll_fabs(bias));
    }
}
