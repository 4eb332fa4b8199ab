/* A block has 64 rows.  64 columns of the hidden rows at a time are made in a tile and multiplied with what the last product has
 * for them; its sums, too many for a block, wait in the place of the result. */
#define ATOLL_RESIDENT 1
struct gates : atoll_product { /* x gate */
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double left(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_gate(a, k * columns + column);
    }
};

struct values : gates { /* x up */
    using gates::gates;
    __device__ double right(long k, long column) const
    {
        return get_up(a, k * columns + column);
    }
};

struct finish : atoll_product { /* the hidden rows times down */
    enum { RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double right(long k, long column) const
    {
        return get_down(a, k * columns + column);
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        put_y(a, row * columns + column, sum);
        scale_y(a, row * columns + column, is_last ? atoll_fabs(sum) + atoll_sqrt(squares) : squares);
    }
    bool is_last = false; /* nothing is to come */
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_tiles(dim_M(a)) : 0;
}

/* What was put before. */
static __device__ void take(const finish &f, atoll_tile &sum, atoll_tile &squares, long row, long column)
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const long r = row + atoll_tile_row(i), c = column + atoll_tile_column(i), at = r * f.columns + c;
        if (r < f.rows && c < f.columns) {
            sum.v[i] = expected_y(f.a, at);
            squares.v[i] = expected_scale_y(f.a, at);
        }
    }
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const long row = block * ATOLL_TILE;
    const gates gate(a, dim_M(a), dim_N(a), dim_K(a));
    const values value(a, dim_M(a), dim_N(a), dim_K(a));
    finish f(a, dim_M(a), dim_K(a), dim_N(a));
#pragma unroll 1
    for (long h = 0; h < f.depth; h += ATOLL_TILE) {
        atoll_tile hidden, factor, none;
        atoll_tile_clear(hidden);
        atoll_tile_clear(factor);
        atoll_tile_product<ATOLL_SIZE_NONE>(hidden, none, gate, row, h);
        atoll_tile_product<ATOLL_SIZE_NONE>(factor, none, value, row, h);
#pragma unroll
        for (int i = 0; i < 16; i++)
            hidden.v[i] = hidden.v[i] / (1.0 + atoll_exp(-hidden.v[i])) * factor.v[i];
        atoll_tile_keep(hidden);
        f.is_last = h + ATOLL_TILE >= f.depth;
#pragma unroll 1
        for (long column = 0; column < f.columns; column += ATOLL_TILE) {
            atoll_tile sum, squares;
            atoll_tile_clear(sum);
            atoll_tile_clear(squares);
            if (h > 0)
                take(f, sum, squares, row, column);
            atoll_tile_chain<ATOLL_SIZE_SQUARES>(sum, squares, f, h, column);
            atoll_tile_put(f, sum, squares, row, column);
        }
    }
}
