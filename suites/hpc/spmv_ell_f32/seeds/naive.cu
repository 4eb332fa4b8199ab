/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "multiply", "grid": ["cdiv(M, 256)"], "block": ["256"],
              "args": ["col", "val", "x", "y", "i64:M", "i64:K"]}]
} */
/* One thread per row; neighbours read neighbouring entries. */
extern "C" __global__ void multiply(const int *col, const real *val, const real *x, real *y, long long rows,
                                    long long width)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    real sum = 0;
    for (long long k = 0; k < width; k++)
        sum += val[k * rows + i] * x[col[k * rows + i]];
    y[i] = sum;
}
