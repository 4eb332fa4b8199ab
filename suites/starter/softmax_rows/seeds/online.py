# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 4096], "WARPS": [8, 4, 16]},
#   "launch": [{"kernel": "softmax", "grid": ["B"], "args": ["x", "y", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    """One row: a running maximum and sum, then the quotients; the second pass finds the row in a cache."""
    row = tl.program_id(0).to(tl.int64) * n
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=float("-inf"))
        higher = tl.maximum(top, value)
        total = tl.where(higher == float("-inf"), 0.0, total * tl.exp(top - higher) + tl.exp(value - higher))
        top = higher
    highest = tl.max(top, 0)
    share = 1.0 / tl.sum(tl.where(top == float("-inf"), 0.0, total * tl.exp(top - highest)), 0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=float("-inf"))
        tl.store(y + row + at, tl.exp(value - highest) * share, mask=at < n)
