# atoll-plan {
#   "version": 1,
#   "params": {"BM": [128, 64], "BN": [64, 128], "BK": [64, 32], "WARPS": [8, 4], "STAGES": [3, 2]},
#   "require": ["STAGES * BK * (BM + 2 * BN) <= 98304"],
#   "launch": [{"kernel": "swiglu", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "args": ["x", "g", "u", "y", "i32:M", "i32:N", "i32:K"],
#               "num_warps": "WARPS", "num_stages": "STAGES"}]
# }
import triton
import triton.language as tl


@triton.jit
def swiglu(x, g, u, y, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of both products, which share what is read of x."""
    tiles_n = tl.cdiv(n, BN)
    row = tl.program_id(0) // tiles_n * BM + tl.arange(0, BM)
    column = tl.program_id(0) % tiles_n * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        left = tl.load(x + row.to(tl.int64)[:, None] * k + depth[None, :],
                       mask=(row[:, None] < m) & (depth[None, :] < k), other=0.0)
        at = depth.to(tl.int64)[:, None] * n + column[None, :]
        inside = (depth[:, None] < k) & (column[None, :] < n)
        gate = tl.dot(left, tl.load(g + at, mask=inside, other=0.0), gate, input_precision="ieee")
        up = tl.dot(left, tl.load(u + at, mask=inside, other=0.0), up, input_precision="ieee")
    result = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(y + row.to(tl.int64)[:, None] * n + column[None, :], result.to(y.dtype.element_ty),
             mask=(row[:, None] < m) & (column[None, :] < n))
