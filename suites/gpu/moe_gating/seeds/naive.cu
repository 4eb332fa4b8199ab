/* atoll-plan {
  "version": 1,
  "scratch": {"chosen": "4 * T * E"},
  "launch": [{"kernel": "choose", "grid": ["cdiv(T, 128)"], "block": ["128"],
              "args": ["x", "chosen", "i32:T", "i32:E", "i32:K"]},
             {"kernel": "list", "grid": ["cdiv(E, 32)"], "block": ["32"],
              "args": ["chosen", "token", "weight_of", "count", "i32:T", "i32:E", "i32:C"]}]
} */
/* Weights of the chosen experts (-1 of the others), one thread per token; the lists, one thread per expert. */
extern "C" __global__ void choose(const float *x, float *chosen, int tokens, int experts, int limit)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tokens)
        return;
    const float *row = x + (long long)t * experts;
    float top = row[0], sum = 0.0f;
    for (int e = 1; e < experts; e++)
        top = fmaxf(top, row[e]);
    for (int e = 0; e < experts; e++)
        sum += expf(row[e] - top);
    for (int e = 0; e < experts; e++) {
        int before = 0;
        for (int other = 0; other < experts; other++)
            before += row[other] > row[e] || (row[other] == row[e] && other < e) ? 1 : 0;
        chosen[(long long)t * experts + e] = before < limit ? expf(row[e] - top) / sum : -1.0f;
    }
}

extern "C" __global__ void list(const float *chosen, int *token, float *weight_of, int *count, int tokens,
                                int experts, int room)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
    if (e >= experts)
        return;
    for (int t = 0; t < tokens; t++) {
        float v = chosen[(long long)t * experts + e];
        if (v < 0.0f)
            continue;
        if (n < room) {
            token[e * room + n] = t;
            weight_of[e * room + n] = v;
        }
        n++;
    }
    count[e] = n;
    for (; n < room; n++) {
        token[e * room + n] = -1;
        weight_of[e * room + n] = 0.0f;
    }
}
