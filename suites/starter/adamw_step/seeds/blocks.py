# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 512], "WARPS": [4, 8]},
#   "launch": [{"kernel": "adamw", "grid": ["cdiv(N, BLOCK)"], "args": ["p", "m", "v", "g", "i64:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def adamw(p, m, v, g, n, BLOCK: tl.constexpr):
    """Step 10: the moments are corrected by 1 - 0.9^10 and 1 - 0.999^10."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    slope = tl.load(g + at, mask=inside, other=0.0).to(tl.float32)
    first = 0.9 * tl.load(m + at, mask=inside, other=0.0) + 0.1 * slope
    second = 0.999 * tl.load(v + at, mask=inside, other=0.0) + 0.001 * slope * slope
    tl.store(m + at, first, mask=inside)
    tl.store(v + at, second, mask=inside)
    step = 1.0e-3 / 0.6513215599 / (tl.sqrt_rn(second / 0.00995511979) + 1.0e-8)
    next = tl.load(p + at, mask=inside, other=0.0) * (1.0 - 1.0e-5) - step * first
    tl.store(p + at, next, mask=inside)
