# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 4096], "WARPS": [4, 8]},
#   "launch": [{"kernel": "prefix_sum", "grid": ["B"], "args": ["x", "y", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def prefix_sum(x, y, n, BLOCK: tl.constexpr):
    """One row, block after block: a scan of the block and the sum of those before it."""
    row = tl.program_id(0).to(tl.int64) * n
    before = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=0.0)
        tl.store(y + row + at, tl.cumsum(value, 0) + before, mask=at < n)
        before += tl.sum(value, 0)
