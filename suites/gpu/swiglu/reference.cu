/* Two products of the same rows; a block has the same tile of both. */
#define ATOLL_RESIDENT 1
struct product : atoll_product {
    enum { LEFT_BY_ROW = 1, RIGHT_BY_ROW = 1 };
    bool is_gate;
    __device__ product(const struct atoll_reference_args *args, bool gate)
        : atoll_product(args, dim_M(args), dim_N(args), dim_K(args)), is_gate(gate)
    {
    }
    __device__ double left(long row, long k) const
    {
        return get_x(a, row * depth + k);
    }
    __device__ double right(long k, long column) const
    {
        return is_gate ? get_g(a, k * columns + column) : get_u(a, k * columns + column);
    }
};

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? atoll_product_blocks(product(a, true)) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long block)
{
    const product gate(a, true), up(a, false);
    const long row = atoll_block_row(gate, block), column = atoll_block_column(gate, block);
    atoll_tile p, q, squares_p, squares_q;
    atoll_tile_clear(p);
    atoll_tile_clear(q);
    atoll_tile_clear(squares_p);
    atoll_tile_clear(squares_q);
    atoll_tile_product<ATOLL_SIZE_SQUARES>(p, squares_p, gate, row, column);
    atoll_tile_product<ATOLL_SIZE_SQUARES>(q, squares_q, up, row, column);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const long r = row + atoll_tile_row(i), c = column + atoll_tile_column(i), at = r * gate.columns + c;
        if (r >= gate.rows || c >= gate.columns)
            continue;
        const double s = p.v[i] / (1.0 + atoll_exp(-p.v[i])), y = s * q.v[i];
        put_y(a, at, y);
        scale_y(a, at,
                atoll_fabs(y) + 0.01 * (atoll_sqrt(squares_p.v[i]) * atoll_fabs(q.v[i]) +
                                        atoll_fabs(s) * atoll_sqrt(squares_q.v[i])));
    }
}
