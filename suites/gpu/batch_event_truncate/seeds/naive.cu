/* atoll-plan {
  "version": 1,
  "scratch": {"event": "4 * (U + 1)", "start": "4 * F * (U + 1)"},
  "launch": [{"kernel": "place", "grid": ["cdiv(F, 32)"], "block": ["32"],
              "args": ["outer", "inner", "kept", "event", "start", "i32:F", "i32:U", "i32:E", "i32:N"]},
             {"kernel": "move", "grid": ["cdiv(F * U, 128)"], "block": ["128"],
              "args": ["outer", "inner", "value", "event", "start", "length", "y", "i32:F", "i32:U", "i32:E", "i32:V",
                       "i32:N"]}]
} */
/* Where each user goes, one thread per feature; then the moves, one thread per user and feature. */
static __device__ int events(const int *outer, int user, int limit)
{
    return min(outer[user + 1] - outer[user], limit);
}

extern "C" __global__ void place(const int *outer, const int *inner, int *kept, int *event, int *start,
                                 int features, int users, int all, int limit)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x, e = 0, v = 0;
    if (f >= features)
        return;
    const long long row = (long long)f * (all + 1);
    for (int u = 0; u < users; u++) {
        int count = events(outer, u, limit), first = outer[u];
        if (f == 0) {
            kept[u] = count;
            event[u] = e;
        }
        start[f * (users + 1) + u] = v;
        e += count;
        v += inner[row + first + count] - inner[row + first];
    }
    if (f == 0)
        event[users] = e;
    start[f * (users + 1) + users] = v;
}

extern "C" __global__ void move(const int *outer, const int *inner, const float *value, const int *event,
                                const int *start, int *length, float *y, int features, int users, int all,
                                int values, int limit)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x, f = at / users, u = at % users;
    if (f >= features)
        return;
    const int *in = inner + (long long)f * (all + 1);
    const float *from = value + (long long)f * values;
    int *lengths = length + (long long)f * all;
    float *to = y + (long long)f * values;
    int first = outer[u], count = events(outer, u, limit), e = event[u], v = start[f * (users + 1) + u];
    for (int k = 0; k < count; k++)
        lengths[e + k] = in[first + k + 1] - in[first + k];
    for (int k = in[first]; k < in[first + count]; k++)
        to[v + k - in[first]] = from[k];
    for (int k = event[users] + u; k < all; k += users)
        lengths[k] = 0;
    for (int k = start[f * (users + 1) + users] + u; k < values; k += users)
        to[k] = 0.0f;
}
