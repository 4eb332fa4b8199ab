# atoll-plan {
#   "version": 1,
#   "params": {"BM": [64, 128], "BN": [64, 128], "BK": [32, 16], "WARPS": [4, 8], "STAGES": [3, 2, 4]},
#   "launch": [{"kernel": "matmul", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "args": ["a", "b", "c", "i32:M", "i32:N", "i32:K"],
#               "num_warps": "WARPS", "num_stages": "STAGES"}]
# }
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of the result; programs go through eight rows of tiles at a time, which share what they read."""
    tiles_m, tiles_n, number = tl.cdiv(m, BM), tl.cdiv(n, BN), tl.program_id(0)
    first = number // (8 * tiles_n) * 8
    rows = min(tiles_m - first, 8)
    row = (first + number % (8 * tiles_n) % rows) * BM + tl.arange(0, BM)
    column = number % (8 * tiles_n) // rows * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        left = tl.load(a + row.to(tl.int64)[:, None] * k + depth[None, :], mask=(row[:, None] < m) & (depth[None, :] < k), other=0.0)
        right = tl.load(b + depth.to(tl.int64)[:, None] * n + column[None, :],
                        mask=(depth[:, None] < k) & (column[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row.to(tl.int64)[:, None] * n + column[None, :], total.to(c.dtype.element_ty),
             mask=(row[:, None] < m) & (column[None, :] < n))
