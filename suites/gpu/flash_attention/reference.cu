/* A block has 64 rows of one head.  What keys a row sees, and whose, reference.c says. */
#define ATOLL_RESIDENT 1
struct head : atoll_product { /* queries times keys */
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 0, SCORE_SIZE = ATOLL_SIZE_NONE };
    long query, key; /* first row of this head's */
    __device__ head(const struct atoll_reference_args *args, long number)
        : atoll_product(args, dim_L(args), dim_L(args), dim_D(args)), query(number * rows),
          key(first_key(args, number))
    {
    }
    __device__ long keys(long row) const
    {
        return key_count(a, row);
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
    __device__ void put(long row, long column, double value, double size, double) const
    {
        put_y(a, (query + row) * depth + column, value);
        scale_y(a, (query + row) * depth + column, atoll_fabs(value) + size);
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

/* The last rows, which see most keys where there is a mask, come first. */
static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const long tile = atoll_tiles(dim_L(a)) - 1 - block / heads(a);
    atoll_attention_block<ATOLL_SIZE_SQUARES>(head(a, block % heads(a)), tile * ATOLL_TILE);
}
