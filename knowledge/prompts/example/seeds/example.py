# atoll-plan {
#   "version": 1,
#   "params": {"BLOCK": [2048, 1024, 4096], "CHUNK": [16384, 8192, 32768], "WARPS": [8, 4]},
#   "require": ["CHUNK % BLOCK == 0"],
#   "scratch": {"partial": "4 * B * cdiv(N, CHUNK)"},
#   "launch": [{"kernel": "partial_sums", "grid": ["cdiv(N, CHUNK)", "B"],
#               "args": ["x", "w", "*f32:partial", "i32:N", "i32:cdiv(N, CHUNK)"], "num_warps": "WARPS"},
#              {"kernel": "combine", "grid": ["cdiv(B, 128)"], "args": ["*f32:partial", "y", "i32:B", "i32:cdiv(N, CHUNK)"],
#               "constexprs": {"ROWS": 128}}]
# }
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, w, partial, n, chunks, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    """A program sums CHUNK columns of one row, block by block; one reduction at the end."""
    chunk = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, CHUNK, BLOCK):
        at = chunk * CHUNK + start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + at, mask=at < n, other=0.0)
        total += tl.load(w + at, mask=at < n, other=0.0) * value * value
    tl.store(partial + row * chunks + chunk, tl.sum(total, 0))


@triton.jit
def combine(partial, y, rows, chunks, ROWS: tl.constexpr):
    """Adds the sums of a row; a program does ROWS of them at a time."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), tl.float32)
    for i in range(0, chunks):
        total += tl.load(partial + row * chunks + i, mask=row < rows, other=0.0)
    tl.store(y + row, tl.sqrt_rn(total), mask=row < rows)
