/* A block has 64 rows and 128 columns of the result; the hidden layer comes 64 columns at a time. */
#define ATOLL_RESIDENT 1
struct hiding : atoll_product { /* x U */
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double left(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_u(a, k * columns + column);
    }
};

struct finish : atoll_product { /* gelu(x U + c) D */
    enum { RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double right(long k, long column) const
    {
        return get_d(a, k * columns + column);
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        const double y = sum + get_e(a, column);
        put_y(a, row * columns + column, y);
        scale_y(a, row * columns + column, atoll_fabs(y) + atoll_sqrt(squares));
    }
};

#define TILES 2
static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_tiles(dim_M(a)) * ((atoll_tiles(dim_N(a)) + TILES - 1) / TILES) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const hiding in(a, dim_M(a), dim_H(a), dim_K(a));
    const finish out(a, dim_M(a), dim_N(a), dim_H(a));
    const long row = atoll_block_row(out, block), column = atoll_block_column(out, block) * TILES;
    atoll_tile sum[TILES], squares[TILES];
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        atoll_tile_clear(sum[t]);
        atoll_tile_clear(squares[t]);
    }
#pragma unroll 1
    for (long h = 0; h < in.columns; h += ATOLL_TILE) {
        atoll_tile hidden, none;
        atoll_tile_clear(hidden);
        atoll_tile_product<ATOLL_SIZE_NONE>(hidden, none, in, row, h);
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const long unit = h + atoll_tile_column(i);
            const double v = unit < in.columns ? hidden.v[i] + get_c(a, unit) : 0.0;
            hidden.v[i] = 0.5 * v * (1.0 + atoll_erf(v * 0.70710678118654752440));
        }
        atoll_tile_keep(hidden);
#pragma unroll
        for (int t = 0; t < TILES; t++)
            if (column + t * ATOLL_TILE < out.columns)
                atoll_tile_chain<ATOLL_SIZE_SQUARES>(sum[t], squares[t], out, h, column + t * ATOLL_TILE);
    }
#pragma unroll
    for (int t = 0; t < TILES; t++)
        atoll_tile_put(out, sum[t], squares[t], row, column + t * ATOLL_TILE);
}
