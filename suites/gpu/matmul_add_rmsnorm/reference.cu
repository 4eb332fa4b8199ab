/* Tiles of x B + r, then each row divided by its root mean square. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double left(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_b(a, k * columns + column);
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        const double r = get_r(a, row * columns + column);
        put_y(a, row * columns + column, sum + r);
        scale_y(a, row * columns + column, atoll_sqrt(squares + r * r));
    }
};

static __device__ product product_of(const struct atoll_reference_args *a)
{
    return product(a, dim_M(a), dim_N(a), dim_K(a));
}

static __device__ void normalise(const struct atoll_reference_args *a, long row)
{
    const long n = dim_N(a), base = row * n;
    double squares = 0.0;
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS)
        squares += expected_y(a, base + j) * expected_y(a, base + j);
    const double factor = 1.0 / atoll_sqrt(atoll_block_sum(squares) / (double)n + 1.0e-5);
    for (long j = atoll_thread(); j < n; j += ATOLL_TILE_THREADS) {
        const double sum = expected_y(a, base + j), gain = get_gain(a, j);
        put_y(a, base + j, sum * factor * gain);
        scale_y(a, base + j, (atoll_fabs(sum) + expected_scale_y(a, base + j)) * factor * atoll_fabs(gain));
    }
}

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_product_blocks(product_of(a)) : phase == 1 ? dim_M(a) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    if (phase == 0)
        atoll_product_block<ATOLL_SIZE_SQUARES>(product_of(a), block);
    else
        normalise(a, block);
}
