# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [1024, 2048, 4096], "WARPS": [8, 4]},
#   "launch": [{"kernel": "row_sum", "grid": ["B"], "args": ["x", "y", "i32:N"],
#               "num_warps": "WARPS"}]
# }
import triton
import triton.language as tl


@triton.jit
def row_sum(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + at, mask=at < n, other=0.0)
    tl.store(y + row, tl.sum(total, 0))
