/* First o, 64 rows of one head a block, which lies where the scales will be; then a block has 64 rows of the result, whose
 * columns come 128 at a time, from hidden rows that are made again for each.  Up to 512 columns. */
#define ATOLL_RESIDENT 1
#define TILES          2 /* of the result at a time */
enum { TILE_LIMIT = 8 };

struct head : atoll_product { /* queries times keys */
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 0, SCORE_SIZE = ATOLL_SIZE_NONE };
    long query, key, place; /* first row of this head's; where its first row of o lies */
    __device__ head(const struct atoll_reference_args *args, long number)
        : atoll_product(args, dim_L(args), dim_L(args), dim_D(args)), query(number * rows)
    {
        const long heads = dim_H(args), batch = number / heads, own = number % heads;
        key = (batch * dim_G(args) + own / (heads / dim_G(args))) * rows;
        place = (batch * rows * heads + own) * depth;
    }
    __device__ long keys(long) const
    {
        return columns;
    }
    __device__ double left(long row, long d) const
    {
        return get_q(a, (query + row) * depth + d);
    }
    __device__ double right(long d, long row) const
    {
        return get_k(a, (key + row) * depth + d);
    }
    __device__ double value(long row, long column) const
    {
        return get_v(a, (key + row) * depth + column);
    }
    __device__ void put(long row, long column, double value, double, double) const
    {
        scale_y(a, place + row * dim_H(a) * depth + column, value);
    }
};

struct gates : atoll_product { /* o G */
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double left(long row, long k) const
    {
        return expected_scale_y(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_g(a, k * columns + column);
    }
};

struct values : gates { /* o U */
    using gates::gates;
    __device__ double right(long k, long column) const
    {
        return get_u(a, k * columns + column);
    }
};

struct finish : atoll_product { /* the hidden rows times W */
    enum { RIGHT_BY_ROW = 1 };
    using atoll_product::atoll_product;
    __device__ double right(long k, long column) const
    {
        return get_w(a, k * columns + column);
    }
};

static __device__ long heads(const struct atoll_reference_args *a)
{
    return dim_B(a) * dim_H(a);
}

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    if (phase > 1 || atoll_tiles(dim_H(a) * dim_D(a)) > TILE_LIMIT)
        return 0;
    return phase == 0 ? heads(a) * atoll_tiles(dim_L(a)) : atoll_tiles(dim_B(a) * dim_L(a));
}

/* TILES tiles of the result from `column` on. */
static __device__ void layer(const finish &f, long row, long column, atoll_tile *sum, atoll_tile *squares)
{
    const gates gate(f.a, f.rows, f.depth, f.columns);
    const values value(f.a, f.rows, f.depth, f.columns);
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        atoll_tile_clear(sum[t]);
        atoll_tile_clear(squares[t]);
    }
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
#pragma unroll
        for (int t = 0; t < TILES; t++)
            if (column + t * ATOLL_TILE < f.columns)
                atoll_tile_chain<ATOLL_SIZE_SQUARES>(sum[t], squares[t], f, h, column + t * ATOLL_TILE);
    }
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    if (phase == 0) {
        atoll_attention_block<ATOLL_SIZE_NONE>(head(a, block % heads(a)), block / heads(a) * ATOLL_TILE);
        return;
    }
    const finish f(a, dim_B(a) * dim_L(a), dim_H(a) * dim_D(a), dim_F(a));
    const long row = block * ATOLL_TILE;
    double kept[TILE_LIMIT][16]; /* sums of squares, until nobody reads o any more */
#pragma unroll 1
    for (int tile = 0; tile * ATOLL_TILE < f.columns; tile += TILES) {
        atoll_tile sum[TILES], squares[TILES];
        layer(f, row, tile * ATOLL_TILE, sum, squares);
        for (int t = 0; t < TILES && (tile + t) * ATOLL_TILE < f.columns; t++)
            for (int i = 0; i < 16; i++) {
                const long r = row + atoll_tile_row(i), c = (tile + t) * ATOLL_TILE + atoll_tile_column(i);
                kept[tile + t][i] = squares[t].v[i];
                if (r < f.rows && c < f.columns)
                    put_y(a, r * f.columns + c, sum[t].v[i]);
            }
    }
    __syncthreads();
#pragma unroll 1
    for (int tile = 0; tile * ATOLL_TILE < f.columns; tile++)
        for (int i = 0; i < 16; i++) {
            const long r = row + atoll_tile_row(i), c = tile * ATOLL_TILE + atoll_tile_column(i),
                       at = r * f.columns + c;
            if (r < f.rows && c < f.columns)
                scale_y(a, at, atoll_fabs(expected_y(a, at)) + atoll_sqrt(kept[tile][i]));
        }
}
