# atoll-plan {
#   "version": 1,
#   "params": {"TILE": [64, 32, 128], "WARPS": [4, 8]},
#   "launch": [{"kernel": "transpose", "grid": ["cdiv(N, TILE)", "cdiv(M, TILE)"], "args": ["x", "y", "i32:M", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def transpose(x, y, m, n, TILE: tl.constexpr):
    """A tile is read along its rows and written along its columns; the compiler turns it in shared memory."""
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = (row[:, None] < m) & (column[None, :] < n)
    tile = tl.load(x + row.to(tl.int64)[:, None] * n + column[None, :], mask=inside)
    tl.store(y + column.to(tl.int64)[:, None] * m + row[None, :], tl.trans(tile), mask=tl.trans(inside))
