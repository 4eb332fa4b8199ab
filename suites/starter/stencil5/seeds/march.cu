/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [128, 64, 256, 512], "RUN": [8, 2, 4, 16, 32], "AHEAD": [1, 0]},
  "launch": [{"kernel": "stencil", "grid": ["cdiv(W, 4 * BLOCK) * cdiv(H, RUN)"], "block": ["BLOCK"],
              "args": ["x", "y", "i64:H", "i64:W"]}]
} */
/* Four columns per thread, RUN rows downwards: three rows stay in registers, neighbours within a warp come by
 * shuffle.  AHEAD: the row after the next one is loaded before the sums of this one. */
static __device__ float4 load4(const float *x, long long i, long long j, long long height, long long width,
                               int vector)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *from = x + i * width + j;
    if (i < 0 || i >= height || j >= width)
        return v;
    if (vector)
        return *(const float4 *)from;
    v.x = from[0];
    if (j + 1 < width)
        v.y = from[1];
    if (j + 2 < width)
        v.z = from[2];
    if (j + 3 < width)
        v.w = from[3];
    return v;
}

static __device__ void store4(float *y, long long j, long long width, int vector, float4 v)
{
    if (j >= width)
        return;
    if (vector) {
        __stcs((float4 *)y, v);
        return;
    }
    y[0] = v.x;
    if (j + 1 < width)
        y[1] = v.y;
    if (j + 2 < width)
        y[2] = v.z;
    if (j + 3 < width)
        y[3] = v.w;
}

/* Row i: its middle, with the rows above and below. */
static __device__ void row_store(const float *x, float *y, long long i, long long j, long long width,
                                 int vector, float4 up, float4 middle, float4 down)
{
    const float *row = x + i * width;
    float left = __shfl_up_sync(0xffffffffu, middle.w, 1), right = __shfl_down_sync(0xffffffffu, middle.x, 1);
    if (threadIdx.x % 32 == 0)
        left = j > 0 && j - 1 < width ? row[j - 1] : 0.0f;
    if (threadIdx.x % 32 == 31)
        right = j + 4 < width ? row[j + 4] : 0.0f;
    float4 v;
    v.x = (4.0f * middle.x + ((up.x + down.x) + (left + middle.y))) * 0.125f;
    v.y = (4.0f * middle.y + ((up.y + down.y) + (middle.x + middle.z))) * 0.125f;
    v.z = (4.0f * middle.z + ((up.z + down.z) + (middle.y + middle.w))) * 0.125f;
    v.w = (4.0f * middle.w + ((up.w + down.w) + (middle.z + right))) * 0.125f;
    store4(y + i * width + j, j, width, vector, v);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    stencil(const float *x, float *y, long long height, long long width)
{
    long long across = (width + 4 * BLOCK - 1) / (4 * BLOCK);
    long long first = blockIdx.x / across * RUN, j = (blockIdx.x % across * BLOCK + threadIdx.x) * 4;
    int vector = width % 4 == 0 && ((size_t)x | (size_t)y) % 16 == 0;
    float4 up = load4(x, first - 1, j, height, width, vector),
           middle = load4(x, first, j, height, width, vector);
    float4 down = load4(x, first + 1, j, height, width, vector);
#pragma unroll
    for (int r = 0; r < RUN; r++) {
        long long i = first + r;
        float4 next = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (i >= height)
            return;
        if (AHEAD && r + 1 < RUN)
            next = load4(x, i + 2, j, height, width, vector);
        row_store(x, y, i, j, width, vector, up, middle, down);
        if (!AHEAD && r + 1 < RUN)
            next = load4(x, i + 2, j, height, width, vector);
        up = middle;
        middle = down;
        down = next;
    }
}
