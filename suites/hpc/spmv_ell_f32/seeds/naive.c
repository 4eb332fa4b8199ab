/* atoll-plan {
  "version": 1,
  "launch": [{"function": "multiply", "units": "cdiv(M, 64)", "args": ["col", "val", "x", "y", "i64:M", "i64:K"]}]
} */
/* Row by row, which strides through the columns of entries. */
#include <stdint.h>

void multiply(long begin, long end, const int32_t *col, const real *val, const real *x, real *y, long rows,
              long width)
{
    for (long i = begin * 64; i < end * 64 && i < rows; i++) {
        real sum = 0;
        for (long k = 0; k < width; k++)
            sum += val[k * rows + i] * x[col[k * rows + i]];
        y[i] = sum;
    }
}
