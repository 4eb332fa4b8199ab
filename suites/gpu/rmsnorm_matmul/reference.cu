/* Tiles of the product of x, gain included, each row divided by its root mean square at the end. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double element(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double left(long row, long k) const
    {
        return element(row, k) * gain_of(a, k);
    }
    __device__ double right(long k, long column) const
    {
        return get_b(a, k * columns + column);
    }
    __device__ void put(long row, long column, double sum, double size) const
    {
        put_y(a, row * columns + column, sum);
        scale_y(a, row * columns + column, size);
    }
};

static __device__ product product_of(const struct atoll_reference_args *a)
{
    return product(a, dim_M(a), dim_N(a), dim_K(a));
}

/* One row of the product becomes one of the result. */
static __device__ void normalise(const struct atoll_reference_args *a, long row)
{
    const product f = product_of(a);
    double squares = 0.0;
    for (long k = atoll_thread(); k < f.depth; k += ATOLL_TILE_THREADS)
        squares += f.element(row, k) * f.element(row, k);
    const double factor = root_of(atoll_block_sum(squares) / (double)f.depth);
    for (long j = atoll_thread(); j < f.columns; j += ATOLL_TILE_THREADS) {
        const long at = row * f.columns + j;
        const double sum = expected_y(a, at), size = atoll_sqrt(expected_scale_y(a, at));
        put_y(a, at, sum * factor);
        scale_y(a, at, (atoll_fabs(sum) + size) * factor);
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
