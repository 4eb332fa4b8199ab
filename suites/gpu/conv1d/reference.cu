/* Filters times windows: a row of the left factor is a filter, a column of the right one a position of some row of x, its
 * depth the channels with their taps. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    long length;
    __device__ explicit product(const struct atoll_reference_args *args)
        : atoll_product(args, dim_F(args), dim_B(args) * dim_L(args), 3 * dim_C(args)), length(dim_L(args))
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_w(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        const unsigned batch = (unsigned)column / (unsigned)length, channel = (unsigned)k / 3u;
        const long from = column - batch * length + (k - 3 * (long)channel) - 1;
        const bool is_inside = from >= 0 && from < length;
        const double x = get_x(a, ((long)batch * (depth / 3) + channel) * length + (is_inside ? from : 0));
        return is_inside ? x : 0.0;
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        const long batch = (unsigned)column / (unsigned)length,
                   at = (batch * rows + row) * length + column - batch * length;
        const double y = sum + get_bias(a, row);
        put_y(a, at, y);
        scale_y(a, at, atoll_fabs(y) + atoll_sqrt(squares));
    }
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_product_blocks(product(a)) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    atoll_product_block<ATOLL_SIZE_SQUARES>(product(a), block);
}
