/* The scores by tiles into the place of the result, then the softmax of each row. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    long batch;
    __device__ product(const struct atoll_reference_args *args, long number)
        : atoll_product(args, dim_M(args), dim_N(args), dim_K(args)), batch(number)
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_a(a, (batch * rows + row) * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_b(a, (batch * depth + k) * columns + column);
    }
    __device__ void put(long row, long column, double sum, double) const
    {
        put_y(a, (batch * rows + row) * columns + column, score_of(sum));
    }
};

static __device__ void softmax(const struct atoll_reference_args *a, long row)
{
    const long n = dim_N(a), base = row * n;
    double top = -ATOLL_INFINITY, sum = 0.0;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        top = atoll_fmax(top, expected_y(a, base + j));
    top = atoll_block_max(top);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS) {
        const double power = atoll_exp(expected_y(a, base + j) - top);
        put_y(a, base + j, power);
        sum += power;
    }
    sum = atoll_block_sum(sum);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        put_y(a, base + j, expected_y(a, base + j) / sum);
}

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) * atoll_product_blocks(product(a, 0)) : phase == 1 ? dim_B(a) * dim_M(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const long blocks = atoll_product_blocks(product(a, 0));
    if (phase == 0)
        atoll_product_block<ATOLL_SIZE_NONE>(product(a, block / blocks), block % blocks);
    else
        softmax(a, block);
}
