/* A block has a tile of x W and adds the tile of (x A) B to it, 64 columns of x A at a time. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double left(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_w(a, k * columns + column);
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        put_y(a, row * columns + column, sum);
        scale_y(a, row * columns + column, atoll_fabs(sum) + atoll_sqrt(squares));
    }
};

struct projection : product { /* x A */
    using product::product;
    __device__ double right(long k, long column) const
    {
        return get_a(a, k * columns + column);
    }
};

struct expansion : product { /* (x A) B */
    using product::product;
    __device__ double right(long k, long column) const
    {
        return get_b(a, k * columns + column);
    }
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_product_blocks(product(a, dim_M(a), dim_N(a), dim_K(a))) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const product f(a, dim_M(a), dim_N(a), dim_K(a));
    const projection low(a, dim_M(a), dim_R(a), dim_K(a));
    const expansion high(a, dim_M(a), dim_N(a), dim_R(a));
    const long row = atoll_block_row(f, block), column = atoll_block_column(f, block);
    atoll_tile sum, squares;
    atoll_tile_clear(sum);
    atoll_tile_clear(squares);
    atoll_tile_product<ATOLL_SIZE_SQUARES>(sum, squares, f, row, column);
    for (long r = 0; r < low.columns; r += ATOLL_TILE) {
        atoll_tile part, none;
        atoll_tile_clear(part);
        atoll_tile_product<ATOLL_SIZE_NONE>(part, none, low, row, r);
        atoll_tile_keep(part);
        atoll_tile_chain<ATOLL_SIZE_SQUARES>(sum, squares, high, r, column);
    }
    atoll_tile_put(f, sum, squares, row, column);
}
