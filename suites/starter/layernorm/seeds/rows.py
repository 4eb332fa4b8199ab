# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 4096], "WARPS": [8, 4, 16]},
#   "launch": [{"kernel": "layernorm", "grid": ["B"], "args": ["x", "gain", "bias", "y", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def layernorm(x, gain, bias, y, n, BLOCK: tl.constexpr):
    """One row: its mean, its variance about that mean, then the result; passes after the first find it in a cache."""
    row = tl.program_id(0).to(tl.int64) * n
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row + at, mask=at < n, other=0.0)
    mean = tl.sum(total, 0) / n
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        difference = tl.where(at < n, tl.load(x + row + at, mask=at < n, other=0.0) - mean, 0.0)
        squares += difference * difference
    factor = 1.0 / tl.sqrt_rn(tl.sum(squares, 0) / n + 1e-5)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n, other=0.0)
        scale = tl.load(gain + at, mask=at < n, other=0.0)
        shift = tl.load(bias + at, mask=at < n, other=0.0)
        tl.store(y + row + at, (value - mean) * factor * scale + shift, mask=at < n)
