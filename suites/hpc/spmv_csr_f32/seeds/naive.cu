/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "multiply", "grid": ["cdiv(M, 256)"], "block": ["256"],
              "args": ["ptr", "col", "val", "x", "y", "i32:M"]}]
} */
/* One thread per row. */
extern "C" __global__ void multiply(const int *ptr, const int *col, const real *val, const real *x, real *y,
                                    int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    real sum = 0;
    for (int k = ptr[i]; k < ptr[i + 1]; k++)
        sum += val[k] * x[col[k]];
    y[i] = sum;
}
