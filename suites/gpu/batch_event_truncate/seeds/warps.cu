/* atoll-plan {
  "version": 1,
  "params": {"LANES": [128, 32, 64, 256], "USERS": [1, 2, 4], "BLOCK": [1024, 256, 512]},
  "require": ["LANES * USERS <= 1024", "LANES * USERS >= 64"],
  "scratch": {"event": "4 * (U + 1)", "start": "4 * F * (U + 1)"},
  "launch": [{"kernel": "place", "grid": ["F"], "block": ["BLOCK"],
              "args": ["outer", "inner", "kept", "event", "start", "i32:U", "i32:E", "i32:N"]},
             {"kernel": "move", "grid": ["cdiv(U, USERS)", "F"], "block": ["LANES", "USERS"],
              "args": ["outer", "inner", "value", "event", "start", "length", "y", "i32:U", "i32:E", "i32:V", "i32:N"]}]
} */
/* Where each user goes: a scan by one block per feature.  Then LANES threads move what a user keeps in a feature, and
 * write its share of the zeros. */
static __device__ int events(const int *outer, int user, int limit)
{
    return min(outer[user + 1] - outer[user], limit);
}

/* Sum of the values of all threads before this one, and of all in *whole. */
static __device__ int block_scan(int v, int *whole)
{
    __shared__ int sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own = v;
    for (int d = 1; d < 32; d <<= 1) {
        int before = __shfl_up_sync(0xffffffffu, v, d);
        v += lane >= d ? before : 0;
    }
    __syncthreads();
    if (lane == 31)
        sums[warp] = v;
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < BLOCK / 32; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    *whole = all;
    return before + v - own;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    place(const int *outer, const int *inner, int *kept, int *event, int *start, int users, int all,
          int limit)
{
    int f = blockIdx.x, e = 0, v = 0, whole;
    const int *in = inner + (long long)f * (all + 1);
    for (int base = 0; base < users; base += BLOCK) {
        int u = base + threadIdx.x, count = u < users ? events(outer, u, limit) : 0;
        int first = u < users ? outer[u] : 0, size = in[first + count] - in[first];
        int at = block_scan(count, &whole) + e;
        e += whole;
        int to = block_scan(size, &whole) + v;
        v += whole;
        if (u < users) {
            start[f * (users + 1) + u] = to;
            if (f == 0) {
                kept[u] = count;
                event[u] = at;
            }
        }
    }
    if (threadIdx.x == 0) {
        start[f * (users + 1) + users] = v;
        if (f == 0)
            event[users] = e;
    }
}

extern "C" __global__ void __launch_bounds__(LANES *USERS)
    move(const int *outer, const int *inner, const float *value, const int *event, const int *start,
         int *length, float *y, int users, int all, int values, int limit)
{
    int f = blockIdx.y, u = blockIdx.x * USERS + threadIdx.y;
    if (u >= users)
        return;
    const int *in = inner + (long long)f * (all + 1);
    const float *from = value + (long long)f * values;
    int *lengths = length + (long long)f * all;
    float *to = y + (long long)f * values;
    int first = outer[u], count = events(outer, u, limit), e = event[u], v = start[f * (users + 1) + u];
    int begin = in[first], end = in[first + count];
    for (int k = threadIdx.x; k < count; k += LANES)
        lengths[e + k] = in[first + k + 1] - in[first + k];
    for (int k = begin + threadIdx.x; k < end; k += LANES)
        to[v + k - begin] = __ldcs(from + k);
    int step = gridDim.x * USERS * LANES, own = u * LANES + threadIdx.x;
    for (int k = event[users] + own; k < all; k += step)
        lengths[k] = 0;
    for (int k = start[f * (users + 1) + users] + own; k < values; k += step)
        to[k] = 0.0f;
}
