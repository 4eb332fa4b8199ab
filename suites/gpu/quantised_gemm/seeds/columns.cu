/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [16, 8, 4], "BLOCK": [128, 64, 256], "PARTS": [8, 4, 16, 32, 1], "AHEAD": [8, 4, 16]},
  "require": ["ROWS * 4 * BLOCK * 4 <= 65536"],
  "scratch": {"partial": "4 * PARTS * M * N"},
  "launch": [{"kernel": "multiply", "grid": ["cdiv(N, 4 * BLOCK)", "cdiv(M, ROWS)", "PARTS"], "block": ["BLOCK"],
              "args": ["x", "w", "s", "partial", "i64:M", "i64:N", "i64:K", "i64:G"]},
             {"kernel": "combine", "grid": ["cdiv(M * N, 256)"], "block": ["256"],
              "args": ["partial", "y", "i64:M * N"]}]
} */
/* For few rows: four columns per thread, ROWS rows of x at once, the depth in PARTS that blocks share; AHEAD vectors of
 * weights are in flight.  A second kernel adds the parts. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Four columns of one pair of rows of W; what lies beyond the matrix makes level 8, which is 0. */
static __device__ unsigned load_weights(const unsigned char *w, long long k, long long column, long long n,
                                        int vector)
{
    const unsigned char *from = w + k * n + column;
    unsigned v = 0x88888888u;
    if (vector)
        return column < n ? __ldcs((const unsigned *)from) : v;
    for (int j = 0; j < 4; j++)
        if (column + j < n)
            v = (v & ~(255u << 8 * j)) | (unsigned)from[j] << 8 * j;
    return v;
}

static __device__ float scale_at(const unsigned short *s, long long group, long long column, long long n)
{
    return column < n ? from_bf16(s[group * n + column]) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply(const unsigned short *x, const unsigned char *w, const unsigned short *s, float *partial,
             long long m, long long n, long long pairs, long long group)
{
    __shared__ float shared[2 * AHEAD][ROWS];
    long long column = ((long long)blockIdx.x * BLOCK + threadIdx.x) * 4, row = (long long)blockIdx.y * ROWS;
    long long share = (pairs + PARTS - 1) / PARTS, begin = blockIdx.z * share;
    long long end = begin + share < pairs ? begin + share : pairs, known = -1;
    int vector = n % 4 == 0 && (size_t)w % 4 == 0;
    float sums[ROWS][4] = {{0.0f}}, scale[4] = {0.0f};
    for (long long k = begin; k < end; k += AHEAD) {
        unsigned levels[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            levels[i] = k + i < end ? load_weights(w, k + i, column, n, vector) : 0x88888888u;
        __syncthreads();
        for (int i = threadIdx.x; i < 2 * AHEAD * ROWS; i += BLOCK) {
            long long r = row + i % ROWS, d = 2 * k + i / ROWS;
            shared[i / ROWS][i % ROWS] = r < m && d < 2 * end ? from_bf16(x[r * 2 * pairs + d]) : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2 * AHEAD; i++) {
            long long own = (2 * k + i) / group;
            if (own != known && 2 * k + i < 2 * end) {
                for (int j = 0; j < 4; j++)
                    scale[j] = scale_at(s, own, column + j, n);
                known = own;
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float v = (float)((int)(levels[i / 2] >> (8 * j + 4 * (i % 2)) & 15u) - 8) * scale[j];
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    sums[r][j] = fmaf(shared[i][r], v, sums[r][j]);
            }
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < 4; j++)
            if (row + r < m && column + j < n)
                partial[(blockIdx.z * m + row + r) * n + column + j] = sums[r][j];
}

extern "C" __global__ void combine(const float *partial, unsigned short *y, long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (i >= count)
        return;
    for (int p = 0; p < PARTS; p++)
        sum += partial[p * count + i];
    y[i] = to_bf16(sum);
}
