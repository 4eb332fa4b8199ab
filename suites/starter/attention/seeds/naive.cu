/* atoll-plan {
  "version": 1,
  "scratch": {"scores": "4 * H * L * L"},
  "launch": [{"kernel": "score", "grid": ["cdiv(H * L * L, 256)"], "block": ["256"],
              "args": ["q", "k", "scores", "i64:H", "i64:L", "i64:D"]},
             {"kernel": "normalise", "grid": ["cdiv(H * L, 128)"], "block": ["128"],
              "args": ["scores", "i64:H", "i64:L"]},
             {"kernel": "weigh", "grid": ["cdiv(H * L * D, 256)"], "block": ["256"],
              "args": ["scores", "v", "y", "i64:H", "i64:L", "i64:D"]}]
} */
/* Scores, one thread each; softmax, one thread per row; weighted sums, one thread per element. */
extern "C" __global__ void score(const float *q, const float *k, float *scores, long long heads,
                                 long long keys, long long depth)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= heads * keys * keys)
        return;
    long long j = at % keys, i = at / keys, head = i / keys * keys;
    float sum = 0.0f;
    for (long long d = 0; d < depth; d++)
        sum += q[i * depth + d] * k[(head + j) * depth + d];
    scores[at] = sum / sqrtf((float)depth);
}

extern "C" __global__ void normalise(float *scores, long long heads, long long keys)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= heads * keys)
        return;
    float *row = scores + i * keys;
    float top = row[0], sum = 0.0f;
    for (long long j = 1; j < keys; j++)
        top = fmaxf(top, row[j]);
    for (long long j = 0; j < keys; j++) {
        row[j] = expf(row[j] - top);
        sum += row[j];
    }
    for (long long j = 0; j < keys; j++)
        row[j] /= sum;
}

extern "C" __global__ void weigh(const float *scores, const float *v, float *y, long long heads,
                                 long long keys, long long depth)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= heads * keys * depth)
        return;
    long long i = at / depth, d = at % depth, head = i / keys * keys;
    float sum = 0.0f;
    for (long long j = 0; j < keys; j++)
        sum += scores[i * keys + j] * v[(head + j) * depth + d];
    y[at] = sum;
}
