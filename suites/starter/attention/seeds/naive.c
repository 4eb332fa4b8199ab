/* atoll-plan {
  "version": 1,
  "scratch": {"scores": "4 * H * L * L"},
  "launch": [{"function": "attention", "units": "H * L",
              "args": ["q", "k", "v", "y", "scores", "i64:L", "i64:D"]}]
} */
/* Row by row: scores, softmax, weighted sum. */
#include <math.h>

void attention(long begin, long end, const float *q, const float *k, const float *v, float *y, float *scores,
               long keys, long depth)
{
    for (long i = begin; i < end; i++) {
        long head = i / keys * keys;
        float *score = scores + i * keys;
        float top = -INFINITY;
        for (long j = 0; j < keys; j++) {
            float sum = 0.0f;
            for (long d = 0; d < depth; d++)
                sum += q[i * depth + d] * k[(head + j) * depth + d];
            score[j] = sum / sqrtf((float)depth);
            top = fmaxf(top, score[j]);
        }
        float total = 0.0f;
        for (long j = 0; j < keys; j++) {
            score[j] = expf(score[j] - top);
            total += score[j];
        }
        for (long d = 0; d < depth; d++) {
            float sum = 0.0f;
            for (long j = 0; j < keys; j++)
                sum += score[j] * v[(head + j) * depth + d];
            y[i * depth + d] = sum / total;
        }
    }
}
