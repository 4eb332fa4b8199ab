/* atoll-plan {
  "version": 1,
  "launch": [{"function": "matmul", "units": "M", "args": ["a", "b", "c", "i64:N", "i64:K"]}]
} */
/* The definition as three loops; a bf16 is the upper half of a float. */
#include <stdint.h>
#include <string.h>

static float from_bf16(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static uint16_t to_bf16(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

void matmul(long begin, long end, const uint16_t *a, const uint16_t *b, uint16_t *c, long n, long depth)
{
    for (long i = begin; i < end; i++) {
        for (long j = 0; j < n; j++) {
            float sum = 0.0f;
            for (long k = 0; k < depth; k++)
                sum += from_bf16(a[i * depth + k]) * from_bf16(b[k * n + j]);
            c[i * n + j] = to_bf16(sum);
        }
    }
}
