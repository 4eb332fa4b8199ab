# atoll-plan {
#   "version": 1,
#   "params": {"BL": [64, 32, 128], "BK": [32, 64], "BD": [64], "WARPS": [4, 8], "STAGES": [2, 1]},
#   "require": ["BD >= D"],
#   "launch": [{"kernel": "attention", "grid": ["cdiv(L, BL)", "H"], "args": ["q", "k", "v", "y", "i32:L", "i32:D"],
#               "constexprs": {"CAUSAL": 0}, "num_warps": "WARPS", "num_stages": "STAGES"}]
# }
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, y, length, depth, BL: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr):
    """A block of queries of one head goes through the keys with a running maximum and sum."""
    head = tl.program_id(1).to(tl.int64) * length * depth
    row = tl.program_id(0) * BL + tl.arange(0, BL)
    at = tl.arange(0, BD)
    scale = 1.0 / tl.sqrt_rn(tl.zeros((), tl.float32) + depth)
    query = tl.load(q + head + row[:, None] * depth + at[None, :],
                    mask=(row[:, None] < length) & (at[None, :] < depth), other=0.0)
    top = tl.full((BL,), float("-inf"), tl.float32)
    total = tl.zeros((BL,), tl.float32)
    result = tl.zeros((BL, BD), tl.float32)
    end = min(length, tl.program_id(0) * BL + BL) if CAUSAL else length
    for start in range(0, end, BK):
        key = start + tl.arange(0, BK)
        keys = tl.load(k + head + key[None, :] * depth + at[:, None],
                       mask=(key[None, :] < length) & (at[:, None] < depth), other=0.0)
        score = tl.dot(query, keys, input_precision="ieee") * scale
        allowed = key[None, :] < length
        if CAUSAL:
            allowed = allowed & (key[None, :] <= row[:, None])
        score = tl.where(allowed, score, float("-inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        power = tl.exp(score - higher[:, None])
        before = tl.exp(top - higher)
        total = total * before + tl.sum(power, 1)
        values = tl.load(v + head + key[:, None] * depth + at[None, :],
                         mask=(key[:, None] < length) & (at[None, :] < depth), other=0.0)
        result = tl.dot(power.to(values.dtype), values, result * before[:, None], input_precision="ieee")
        top = higher
    tl.store(y + head + row[:, None] * depth + at[None, :], (result / total[:, None]).to(y.dtype.element_ty),
             mask=(row[:, None] < length) & (at[None, :] < depth))
