/* A block has 64 rows of one head. */
#define ATOLL_RESIDENT 1
struct head : atoll_product { /* queries times keys */
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 0, SCORE_SIZE = ATOLL_SIZE_NONE };
    long number, heads, own, batch; /* of all, of a batch, of those here */
    __device__ head(const struct atoll_reference_args *args, long of_all)
        : atoll_product(args, dim_L(args), dim_L(args), dim_D(args)), number(of_all), heads(dim_H(args)),
          own(of_all % heads), batch(of_all / heads)
    {
    }
    __device__ long keys(long) const
    {
        return columns;
    }
    __device__ double left(long row, long d) const
    {
        return get_q(a, ((batch * rows + row) * heads + own) * depth + d);
    }
    __device__ double right(long d, long row) const
    {
        return get_k(a, place(a, batch, own, row, d));
    }
    __device__ double value(long row, long column) const
    {
        return get_v(a, place(a, batch, own, row, column));
    }
    __device__ void put(long row, long column, double value, double size, double) const
    {
        put_y(a, (number * rows + row) * depth + column, value);
        scale_y(a, (number * rows + row) * depth + column, size);
    }
};

static __device__ long heads(const struct atoll_reference_args *a)
{
    return dim_B(a) * dim_H(a);
}

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? heads(a) * atoll_tiles(dim_L(a)) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    atoll_attention_block<ATOLL_SIZE_MAGNITUDES>(head(a, block % heads(a)), block / heads(a) * ATOLL_TILE);
}
