/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [128, 64, 256, 512], "RUN": [4, 1, 2, 8, 16], "ERROR": [0, 1]},
  "launch": [{"kernel": "bias_gelu", "grid": ["cdiv(N, 4 * BLOCK) * cdiv(B, RUN)"], "block": ["BLOCK"],
              "args": ["x", "bias", "y", "i64:B", "i64:N"]}]
} */
/* Four columns and RUN rows per thread: the bias is read once, RUN vector loads are in flight.  ERROR 0: the error
 * function of the library; 1: 1 - (a1 t + ... + a5 t^5) e^(-z^2), t = 1 / (1 + p z), absolute error 1.5e-7
 * (Abramowitz and Stegun 7.1.26). */
static __device__ float error_function(float v)
{
    if (ERROR == 0)
        return erff(v);
    float z = fabsf(v), t = __fdividef(1.0f, 1.0f + 0.3275911f * z);
    float sum = 1.061405429f;
    sum = sum * t - 1.453152027f;
    sum = sum * t + 1.421413741f;
    sum = sum * t - 0.284496736f;
    sum = sum * t + 0.254829592f;
    return copysignf(1.0f - sum * t * __expf(-z * z), v);
}

static __device__ float gelu(float v)
{
    return 0.5f * v * (1.0f + error_function(v * 0.70710678f));
}

static __device__ void columns_plain(const float *x, const float *bias, float *y, long long row,
                                     long long last, long long column, long long n)
{
    for (; row < last; row++)
        for (int k = 0; k < 4; k++)
            if (column + k < n)
                y[row * n + column + k] = gelu(x[row * n + column + k] + bias[column + k]);
}

static __device__ void columns_vector(const float *x, float4 b, float *y, long long row, long long last,
                                      long long at, long long quads)
{
    float4 v[RUN];
#pragma unroll
    for (int r = 0; r < RUN; r++)
        if (row + r < last)
            v[r] = __ldcs((const float4 *)x + (row + r) * quads + at);
#pragma unroll
    for (int r = 0; r < RUN; r++)
        if (row + r < last)
            __stcs((float4 *)y + (row + r) * quads + at, make_float4(gelu(v[r].x + b.x), gelu(v[r].y + b.y),
                                                                     gelu(v[r].z + b.z), gelu(v[r].w + b.w)));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    bias_gelu(const float *x, const float *bias, float *y, long long rows, long long n)
{
    long long across = (n + 4 * BLOCK - 1) / (4 * BLOCK);
    long long row = blockIdx.x / across * RUN, column = (blockIdx.x % across * BLOCK + threadIdx.x) * 4;
    long long last = row + RUN < rows ? row + RUN : rows;
    if (column >= n)
        return;
    if (n % 4 == 0 && ((size_t)x | (size_t)bias | (size_t)y) % 16 == 0)
        columns_vector(x, *(const float4 *)(bias + column), y, row, last, column / 4, n / 4);
    else
        columns_plain(x, bias, y, row, last, column, n);
}
