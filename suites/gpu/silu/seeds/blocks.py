# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 512], "WARPS": [4, 8]},
#   "launch": [{"kernel": "silu", "grid": ["cdiv(M * N, BLOCK)"], "args": ["x", "y", "i64:M * N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def silu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y + at, (value / (1.0 + tl.exp(-value))).to(y.dtype.element_ty), mask=at < n)
