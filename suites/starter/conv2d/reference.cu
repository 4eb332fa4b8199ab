/* Filters times windows: a row of the left factor is a filter, a column of the right one a position of the result, its
 * depth the channels with their taps. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    unsigned q, s, taps;
    long width, plane;
    __device__ explicit product(const struct atoll_reference_args *args)
        : atoll_product(args, dim_F(args), dim_P(args) * dim_Q(args),
                        dim_C(args) * dim_R(args) * dim_S(args)),
          q((unsigned)dim_Q(args)), s((unsigned)dim_S(args)), taps((unsigned)(dim_R(args) * dim_S(args))),
          width(dim_Q(args) + dim_S(args) - 1), plane((dim_P(args) + dim_R(args) - 1) * width)
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_w(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        const unsigned channel = (unsigned)k / taps, tap = (unsigned)k - channel * taps, i = tap / s,
                       j = tap - i * s;
        const unsigned row = (unsigned)column / q;
        return get_x(a, channel * plane + (row + i) * width + ((unsigned)column - row * q) + j);
    }
    __device__ void put(long row, long column, double sum, double magnitude) const
    {
        put_y(a, row * columns + column, sum);
        scale_y(a, row * columns + column, magnitude);
    }
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_product_blocks(product(a)) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    atoll_product_block<ATOLL_SIZE_MAGNITUDES>(product(a), block);
}
