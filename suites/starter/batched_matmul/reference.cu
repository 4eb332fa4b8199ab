/* C[b] = A[b] B[b]. */
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    long batch;
    __device__ product(const struct atoll_reference_args *args, long number)
        : atoll_product(args, dim_M(args), dim_N(args), dim_K(args)), batch(number)
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_a(a, (batch * rows + row) * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return get_b(a, (batch * depth + k) * columns + column);
    }
    __device__ void put(long row, long column, double sum, double magnitude) const
    {
        put_c(a, (batch * rows + row) * columns + column, sum);
        scale_c(a, (batch * rows + row) * columns + column, magnitude);
    }
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_B(a) * atoll_product_blocks(product(a, 0)) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const long blocks = atoll_product_blocks(product(a, 0));
    atoll_product_block<ATOLL_SIZE_MAGNITUDES>(product(a, block / blocks), block % blocks);
}
