/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "map_id", "grid": ["cdiv(B, 256)"], "block": ["256"],
              "args": ["value", "key", "y", "i64:B", "i64:K"]}]
} */
/* One binary search per thread. */
extern "C" __global__ void map_id(const long long *value, const long long *key, long long *y, long long count,
                                  long long keys)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    long long v = value[i], low = 0, high = keys;
    while (low < high) {
        long long middle = low + (high - low) / 2;
        if (key[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    y[i] = low < keys && key[low] == v ? low + 1 : 0;
}
