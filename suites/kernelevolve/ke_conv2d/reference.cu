/* Filters times windows: a row of the left factor is a filter, a column of the right one a pixel of some image, its depth the
 * channels with their taps. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    unsigned height, width;
    __device__ explicit product(const struct atoll_reference_args *args)
        : atoll_product(args, dim_F(args), dim_B(args) * dim_P(args) * dim_Q(args), 9 * dim_C(args)),
          height((unsigned)dim_P(args)), width((unsigned)dim_Q(args))
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_w(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        const unsigned channel = (unsigned)k / 9u, tap = (unsigned)k - 9u * channel;
        const unsigned line = (unsigned)column / width, batch = line / height;
        const long i = (long)(line - batch * height) + tap / 3u - 1,
                   j = column - (long)line * width + tap % 3u - 1;
        const bool is_inside = i >= 0 && i < height && j >= 0 && j < width;
        const double x =
            get_x(a, is_inside ? (((long)batch * (depth / 9) + channel) * height + i) * width + j : 0);
        return is_inside ? x : 0.0;
    }
    __device__ void put(long row, long column, double sum, double squares) const
    {
        const long plane = (long)height * width, batch = column / plane,
                   at = (batch * rows + row) * plane + column - batch * plane;
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
