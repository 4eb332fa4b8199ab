/* atoll-plan {
  "version": 1,
  "params": {"PARTS": [64, 16, 32, 256], "BUFFER": [16, 8, 32], "COPIES": [4, 1, 2]},
  "scratch": {"offset": "4 * 256 * PARTS"},
  "launch": [{"function": "count", "units": "PARTS", "args": ["key", "offset", "i64:N"]},
             {"function": "scan", "units": "1", "args": ["offset"]},
             {"function": "move", "units": "PARTS", "args": ["key", "value", "moved_key", "moved", "offset", "i64:N"]}]
} */
/* As the naive one, with COPIES tables while counting, and BUFFER keys of each digit gathered in the nearest cache before they
 * are written together: memory sees lines instead of single words. */
#include <stdint.h>

void count(long begin, long end, const int32_t *restrict key, int32_t *restrict offset, long n)
{
    for (long u = begin; u < end; u++) {
        int32_t tables[COPIES][256] = {{0}};
        const long last = n * (u + 1) / PARTS;
        long i = n * u / PARTS;
        for (; i + COPIES <= last; i += COPIES) {
#pragma GCC unroll 4
            for (int c = 0; c < COPIES; c++)
                tables[c][key[i + c] >> 8 & 255]++;
        }
        for (; i < last; i++)
            tables[0][key[i] >> 8 & 255]++;
        for (int d = 0; d < 256; d++) {
            offset[u * 256 + d] = 0;
            for (int c = 0; c < COPIES; c++)
                offset[u * 256 + d] += tables[c][d];
        }
    }
}

void scan(long begin, long end, int32_t *offset)
{
    int32_t sums[256] = {0}, sum = 0;
    for (int u = 0; begin < end && u < PARTS; u++) {
        for (int d = 0; d < 256; d++) {
            const int32_t own = offset[u * 256 + d];
            offset[u * 256 + d] = sums[d];
            sums[d] += own;
        }
    }
    for (int d = 0; d < 256; d++) {
        const int32_t own = sums[d];
        sums[d] = sum;
        sum += own;
    }
    for (int u = 0; begin < end && u < PARTS; u++)
        for (int d = 0; d < 256; d++)
            offset[u * 256 + d] += sums[d];
}

void move(long begin, long end, const int32_t *restrict key, const real *restrict value,
          int32_t *restrict moved_key, real *restrict moved, const int32_t *restrict offset, long n)
{
    for (long u = begin; u < end; u++) {
        int32_t keys[256][BUFFER], at[256], held[256] = {0};
        real values[256][BUFFER];
        for (int d = 0; d < 256; d++)
            at[d] = offset[u * 256 + d];
        for (long i = n * u / PARTS; i < n * (u + 1) / PARTS; i++) {
            const int d = key[i] >> 8 & 255;
            keys[d][held[d]] = key[i];
            values[d][held[d]] = value[i];
            if (++held[d] < BUFFER)
                continue;
            for (int b = 0; b < BUFFER; b++) {
                moved_key[at[d] + b] = keys[d][b];
                moved[at[d] + b] = values[d][b];
            }
            at[d] += BUFFER;
            held[d] = 0;
        }
        for (int d = 0; d < 256; d++) {
            for (int b = 0; b < held[d]; b++) {
                moved_key[at[d] + b] = keys[d][b];
                moved[at[d] + b] = values[d][b];
            }
        }
    }
}
