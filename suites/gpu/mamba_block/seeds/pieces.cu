/* atoll-plan {
  "version": 1,
  "params": {"PIECE": [128, 32, 64, 256, 512], "LANES": [128, 32, 64, 256]},
  "scratch": {"state": "4 * C * S * cdiv(M, PIECE)", "factor": "4 * C * S * cdiv(M, PIECE)"},
  "launch": [{"kernel": "gather", "grid": ["cdiv(C * S * cdiv(M, PIECE), LANES)"], "block": ["LANES"],
              "args": ["delta", "u", "a", "b", "state", "factor", "i32:C", "i32:M", "i32:S"]},
             {"kernel": "carry", "grid": ["cdiv(C * S, 64)"], "block": ["64"],
              "args": ["state", "factor", "i32:C * S", "i32:cdiv(M, PIECE)"]},
             {"kernel": "emit", "grid": ["cdiv(C * cdiv(M, PIECE), LANES / 32)"], "block": ["LANES"],
              "args": ["delta", "u", "a", "b", "c", "state", "y", "i32:C", "i32:M", "i32:S"]}]
} */
/* The row is cut into pieces of PIECE positions.  Each piece is scanned from zero, which gives what it adds and by how
 * much it shrinks what came before; a short scan over the pieces gives every piece its first state; then all pieces are
 * scanned again with it, the states on the lanes of a warp. */

/* One thread per piece, channel and state: state, as the piece leaves it, and the factor of what entered. */
extern "C" __global__ void __launch_bounds__(LANES)
    gather(const float *delta, const float *u, const float *a, const float *b, float *state, float *factor,
           int channels, int positions, int states)
{
    int at = blockIdx.x * LANES + threadIdx.x, piece = at / (channels * states),
        own = at % (channels * states);
    int channel = own / states, s = own % states, first = piece * PIECE, last = min(first + PIECE, positions);
    float h = 0.0f, steps = 0.0f, rate = 0.0f;
    if (first >= positions)
        return;
    rate = a[channel * states + s];
    for (int t = first; t < last; t++) {
        float step = delta[(long long)channel * positions + t];
        h = __expf(step * rate) * h +
            step * u[(long long)channel * positions + t] * b[(long long)s * positions + t];
        steps += step;
    }
    state[at] = h;
    factor[at] = __expf(steps * rate);
}

/* One thread per channel and state: state, as each piece finds it. */
extern "C" __global__ void carry(float *state, const float *factor, int own, int pieces)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float h = 0.0f;
    if (at >= own)
        return;
    for (int p = 0; p < pieces; p++) {
        float added = state[p * own + at];
        state[p * own + at] = h;
        h = factor[p * own + at] * h + added;
    }
}

/* One warp per piece and channel; lane s has states s, s + 32 ... */
extern "C" __global__ void __launch_bounds__(LANES)
    emit(const float *delta, const float *u, const float *a, const float *b, const float *c,
         const float *state, float *y, int channels, int positions, int states)
{
    int warp = blockIdx.x * (LANES / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    int piece = warp / channels, channel = warp % channels, first = piece * PIECE,
        last = min(first + PIECE, positions);
    for (int base = 0; base < states; base += 32) {
        int s = base + lane, here = s < states && first < positions;
        float h = here ? state[(piece * channels + channel) * states + s] : 0.0f;
        float rate = here ? a[channel * states + s] : 0.0f;
        for (int t = first; t < last; t++) {
            float step = delta[(long long)channel * positions + t];
            float input = step * u[(long long)channel * positions + t], sum = 0.0f;
            if (here) {
                h = __expf(step * rate) * h + input * b[(long long)s * positions + t];
                sum = c[(long long)s * positions + t] * h;
            }
            for (int d = 16; d; d >>= 1)
                sum += __shfl_xor_sync(0xffffffffu, sum, d);
            if (lane == 0)
                y[(long long)channel * positions + t] =
                    base ? y[(long long)channel * positions + t] + sum : sum;
        }
    }
}
