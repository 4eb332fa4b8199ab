/* atoll-plan {
  "version": 1,
  "launch": [{"function": "multiply", "units": "cdiv(M, 64)", "args": ["ptr", "col", "val", "x", "y", "i64:M"]}]
} */
/* Row by row, 64 of them a unit. */
#include <stdint.h>

void multiply(long begin, long end, const int32_t *ptr, const int32_t *col, const real *val, const real *x,
              real *y, long rows)
{
    for (long i = begin * 64; i < end * 64 && i < rows; i++) {
        real sum = 0;
        for (long k = ptr[i]; k < ptr[i + 1]; k++)
            sum += val[k] * x[col[k]];
        y[i] = sum;
    }
}
