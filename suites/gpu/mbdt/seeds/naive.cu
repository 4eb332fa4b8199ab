/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "mbdt", "grid": ["cdiv(F * B, 256)"], "block": ["256"],
              "args": ["x", "border", "y", "i64:F", "i64:B", "i64:K"]}]
} */
/* One binary search per thread. */
extern "C" __global__ void mbdt(const float *x, const float *border, long long *y, long long features,
                                long long batch, long long borders)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= features * batch)
        return;
    long long feature = i / batch, low = 0, high = borders;
    while (low < high) {
        long long middle = low + (high - low) / 2;
        if (border[feature * borders + middle] < x[i])
            low = middle + 1;
        else
            high = middle;
    }
    y[i] = low + feature * (borders + 1);
}
