/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "clear", "grid": ["cdiv(Q * D, 256)"], "block": ["256"], "args": ["y", "i64:Q * D"]},
             {"kernel": "score", "grid": ["Q * T"], "block": ["128"],
              "args": ["term", "impact", "offset", "doc", "value", "y", "i32:T", "i32:D"]}]
} */
/* A block per term of a query adds its postings where they belong. */
extern "C" __global__ void clear(float *y, long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = 0.0f;
}

extern "C" __global__ void score(const int *term, const float *impact, const int *offset, const int *doc,
                                 const float *value, float *y, int terms, int documents)
{
    int own = term[blockIdx.x], last = offset[own + 1];
    float w = impact[blockIdx.x];
    y += (long long)(blockIdx.x / terms) * documents;
    for (int p = offset[own] + threadIdx.x; p < last; p += blockDim.x)
        atomicAdd(y + doc[p], w * value[p]);
}
