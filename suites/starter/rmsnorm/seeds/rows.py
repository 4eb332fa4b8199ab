# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 4096], "WARPS": [8, 4, 16]},
#   "launch": [{"kernel": "rmsnorm", "grid": ["B"], "args": ["x", "gain", "y", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x, gain, y, n, BLOCK: tl.constexpr):
    """One row: the mean of its squares, then the result; the second pass finds it in a cache."""
    row = tl.program_id(0).to(tl.int64) * n
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=0.0)
        squares += value * value
    factor = 1.0 / tl.sqrt_rn(tl.sum(squares, 0) / n + 1e-5)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=0.0)
        tl.store(y + row + at, value * factor * tl.load(gain + at, mask=at < n, other=0.0), mask=at < n)
