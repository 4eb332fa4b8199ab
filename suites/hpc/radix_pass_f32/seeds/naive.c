/* atoll-plan {
  "version": 1,
  "scratch": {"offset": "4 * 256 * 64"},
  "launch": [{"function": "count", "units": "64", "args": ["key", "offset", "i64:N"]},
             {"function": "scan", "units": "1", "args": ["offset"]},
             {"function": "move", "units": "64", "args": ["key", "value", "moved_key", "moved", "offset", "i64:N"]}]
} */
/* 64 stretches are counted, the counts summed up, and the stretches moved. */
#include <stdint.h>

void count(long begin, long end, const int32_t *key, int32_t *offset, long n)
{
    for (long u = begin; u < end; u++) {
        for (int d = 0; d < 256; d++)
            offset[u * 256 + d] = 0;
        for (long i = n * u / 64; i < n * (u + 1) / 64; i++)
            offset[u * 256 + (key[i] >> 8 & 255)]++;
    }
}

void scan(long begin, long end, int32_t *offset)
{
    int32_t sum = 0;
    for (int d = 0; begin < end && d < 256; d++) {
        for (int u = 0; u < 64; u++) {
            const int32_t own = offset[u * 256 + d];
            offset[u * 256 + d] = sum;
            sum += own;
        }
    }
}

void move(long begin, long end, const int32_t *key, const real *value, int32_t *moved_key, real *moved,
          const int32_t *offset, long n)
{
    for (long u = begin; u < end; u++) {
        int32_t at[256];
        for (int d = 0; d < 256; d++)
            at[d] = offset[u * 256 + d];
        for (long i = n * u / 64; i < n * (u + 1) / 64; i++) {
            const int32_t to = at[key[i] >> 8 & 255]++;
            moved_key[to] = key[i];
            moved[to] = value[i];
        }
    }
}
