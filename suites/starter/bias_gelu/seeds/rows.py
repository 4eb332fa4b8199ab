# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 512], "WARPS": [4, 8]},
#   "launch": [{"kernel": "bias_gelu", "grid": ["cdiv(N, BLOCK)", "B"], "args": ["x", "bias", "y", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def bias_gelu(x, bias, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64) * n
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < n, other=0.0) + tl.load(bias + at, mask=at < n, other=0.0)
    tl.store(y + row + at, 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476)), mask=at < n)
