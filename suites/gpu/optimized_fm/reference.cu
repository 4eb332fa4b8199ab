/* A block has 64 rows and 64 columns of X (X^T Y); 64 rows of X^T Y at a time are made in a tile and are then the right
 * factor. */
struct inner : atoll_product { /* X^T Y of one batch */
    enum { LEFT_BY_ROW = 0, RIGHT_BY_ROW = 1 };
    long batch;
    __device__ inner(const struct atoll_reference_args *args, long number)
        : atoll_product(args, dim_D(args), dim_K(args), dim_N(args)), batch(number)
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_x(a, (batch * depth + k) * rows + row);
    }
    __device__ double right(long k, long column) const
    {
        return get_y(a, (batch * depth + k) * columns + column);
    }
};

struct outer : atoll_product {
    enum { LEFT_BY_ROW = 1 };
    long batch;
    __device__ outer(const struct atoll_reference_args *args, long number)
        : atoll_product(args, dim_N(args), dim_K(args), dim_D(args)), batch(number)
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_x(a, (batch * rows + row) * depth + k);
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        put_out(a, (batch * rows + row) * columns + column, sum);
        scale_out(a, (batch * rows + row) * columns + column, atoll_fabs(sum) + atoll_sqrt(squares));
    }
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) * atoll_product_blocks(outer(a, 0)) : 0;
}

#define STEP       8 /* columns of X at a time, beside the tile */
#define STEP_PITCH (STEP + 4)
static_assert(ATOLL_TILE * STEP_PITCH <= ATOLL_TILE_STEP * ATOLL_TILE_PITCH, "they have room");

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const long blocks = atoll_product_blocks(outer(a, 0));
    const inner middle(a, block / blocks);
    const outer f(a, block / blocks);
    const long row = atoll_block_row(f, block % blocks), column = atoll_block_column(f, block % blocks);
    double *tile = atoll_tile_memory(), *left = tile + ATOLL_TILE * ATOLL_TILE_PITCH;
    atoll_tile sum, squares;
    atoll_tile_clear(sum);
    atoll_tile_clear(squares);
    for (long d = 0; d < f.depth; d += ATOLL_TILE) {
        atoll_tile part, none;
        atoll_tile_clear(part);
        atoll_tile_product<ATOLL_SIZE_NONE>(part, none, middle, d, column);
        atoll_tile_keep(part);
        for (int at = 0; at < ATOLL_TILE && d + at < f.depth; at += STEP) {
            atoll_part<STEP> columns;
            atoll_fetch_left(columns, f, row, d + at);
            __syncthreads();
            atoll_store_left(left, STEP_PITCH, f, columns);
            __syncthreads();
            atoll_tile_multiply<ATOLL_SIZE_SQUARES, STEP>(sum, squares, left, STEP_PITCH,
                                                          tile + at * ATOLL_TILE_PITCH);
        }
    }
    atoll_tile_put(f, sum, squares, row, column);
}
