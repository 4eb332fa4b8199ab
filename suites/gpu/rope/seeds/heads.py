# atoll-plan {
#   "version": 1,
#   "params": {"HEADS": [8, 16, 4, 32], "BLOCK": [64, 128, 32], "WARPS": [4, 2, 8]},
#   "require": ["BLOCK >= D"],
#   "launch": [{"kernel": "rope", "grid": ["cdiv(H, HEADS)", "N", "B"], "args": ["x", "c", "s", "y", "i32:N", "i32:H", "i32:D"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def rope(x, c, s, y, n, heads, half, HEADS: tl.constexpr, BLOCK: tl.constexpr):
    """Several heads of one position: its cosines and sines are read once for them."""
    position = tl.program_id(1)
    token = tl.program_id(2).to(tl.int64) * n + position
    head = tl.program_id(0) * HEADS + tl.arange(0, HEADS)
    at = tl.arange(0, BLOCK)
    inside = (head[:, None] < heads) & (at[None, :] < half)
    cosine = tl.load(c + position * half + at, mask=at < half, other=0.0).to(tl.float32)[None, :]
    sine = tl.load(s + position * half + at, mask=at < half, other=0.0).to(tl.float32)[None, :]
    first = (token * heads + head[:, None]) * 2 * half + at[None, :]
    left = tl.load(x + first, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(x + first + half, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + first, (left * cosine - right * sine).to(y.dtype.element_ty), mask=inside)
    tl.store(y + first + half, (right * cosine + left * sine).to(y.dtype.element_ty), mask=inside)
