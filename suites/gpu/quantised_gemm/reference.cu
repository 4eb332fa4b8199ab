/* y = x W, the weights taken apart on their way into a tile. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double left(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        const int byte = (int)get_w(a, (k >> 1) * columns + column), level = k & 1 ? byte >> 4 : byte & 15;
        return (double)(level - 8) * get_s(a, (long)((unsigned)k / (unsigned)dim_G(a)) * columns + column);
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        put_y(a, row * columns + column, sum);
        scale_y(a, row * columns + column, atoll_fabs(sum) + atoll_sqrt(squares));
    }
};

static __device__ product product_of(const struct atoll_reference_args *a)
{
    return product(a, dim_M(a), dim_N(a), 2 * dim_K(a));
}

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_product_blocks(product_of(a)) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    atoll_product_block<ATOLL_SIZE_SQUARES>(product_of(a), block);
}
