/* atoll-plan {
  "version": 1,
  "params": {"RB": [4, 2, 1, 8], "KC": [512, 256, 1024]},
  "scratch": {"left": "2 * cdiv(M, 32) * 32 * cdiv(K, 32) * 32", "right": "2 * cdiv(N, 32) * 32 * cdiv(K, 32) * 32"},
  "launch": [
    {"function": "pack_left", "units": "cdiv(M, 32)", "args": ["a", "left", "i64:M", "i64:K"]},
    {"function": "pack_right", "units": "cdiv(N, 32)", "args": ["b", "right", "i64:N", "i64:K"]},
    {"function": "multiply", "units": "cdiv(M, 32 * RB)", "args": ["left", "right", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* Both factors are packed into tiles of 1 KB, zero-padded, in the order in which they are read: 32 rows or columns are two tiles for
 * each 32 steps of K.  Four tiles of sums take four products for four loads.  KC steps of a panel of B stay in the nearest cache
 * for RB blocks of rows; the sums between two such pieces lie in a buffer.  Compiled for a processor without tiles, the same
 * layout is multiplied in loops. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define SIDE  32            /* rows of A, columns of B and steps of K in a block */
#define BLOCK (SIDE * SIDE) /* elements: two tiles */
#define TILE  (BLOCK / 2)
#define SUMS  (SIDE * SIDE)

/* Rows of 32 steps of K. */
void pack_left(long begin, long end, const uint16_t *restrict a, uint16_t *restrict left, long m, long depth)
{
    const long blocks = (depth + SIDE - 1) / SIDE;
    for (long p = begin; p < end; p++)
        for (long r = 0; r < SIDE; r++) {
            const long row = p * SIDE + r;
            uint16_t *to = left + p * blocks * BLOCK + r * SIDE;
            for (long k = 0; k < blocks; k++, to += BLOCK) {
                const long width = row >= m ? 0 : depth - k * SIDE < SIDE ? depth - k * SIDE : SIDE;
                if (width == SIDE) {
                    memcpy(to, a + row * depth + k * SIDE, SIDE * sizeof(*to));
                    continue;
                }
                for (long i = 0; i < SIDE; i++)
                    to[i] = i < width ? a[row * depth + k * SIDE + i] : 0;
            }
        }
}

/* Two steps of K side by side: a row of a tile is 16 columns of two steps. */
void pack_right(long begin, long end, const uint16_t *restrict b, uint16_t *restrict right, long n,
                long depth)
{
    const long blocks = (depth + SIDE - 1) / SIDE;
    for (long p = begin; p < end; p++) {
        const long width = n - p * SIDE < SIDE ? n - p * SIDE : SIDE;
        for (long k = 0; k < blocks * SIDE; k += 2) {
            const uint16_t *even = b + k * n + p * SIDE, *odd = even + n;
            uint16_t *to = right + (p * blocks + k / SIDE) * BLOCK + k % SIDE / 2 * SIDE;
            if (width == SIDE && k + 1 < depth) {
                uint32_t pairs[SIDE];
                for (long j = 0; j < SIDE; j++)
                    pairs[j] = even[j] | (uint32_t)odd[j] << 16;
                memcpy(to, pairs, TILE / 16 * sizeof(*to));
                memcpy(to + TILE, pairs + SIDE / 2, TILE / 16 * sizeof(*to));
                continue;
            }
            for (long j = 0; j < SIDE; j++) {
                uint16_t *pair = to + j / 16 * TILE + j % 16 * 2;
                pair[0] = j < width && k < depth ? even[j] : 0;
                pair[1] = j < width && k + 1 < depth ? odd[j] : 0;
            }
        }
    }
}

#if defined(__AMX_BF16__)
struct tiles {
    uint8_t palette, start_row, none[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static const struct tiles config = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

static inline void begin_products(void)
{
    _tile_loadconfig(&config);
}

static inline void end_products(void)
{
    _tile_release();
}

/* 32 rows by 32 columns over so many blocks of K; what stands in sums is added to unless is_first. */
static inline void multiply_blocks(const uint16_t *left, const uint16_t *right, long blocks, float *sums,
                                   int is_first)
{
    const long stride = SIDE * sizeof(*sums);
    if (is_first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sums, stride);
        _tile_loadd(1, sums + 16, stride);
        _tile_loadd(2, sums + 16 * SIDE, stride);
        _tile_loadd(3, sums + 16 * SIDE + 16, stride);
    }
    for (long k = 0; k < blocks; k++, left += BLOCK, right += BLOCK) {
        _tile_loadd(4, left, 64);
        _tile_loadd(6, right, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, right + TILE, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, left + TILE, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, stride);
    _tile_stored(1, sums + 16, stride);
    _tile_stored(2, sums + 16 * SIDE, stride);
    _tile_stored(3, sums + 16 * SIDE + 16, stride);
}
#else
static inline float from_bf16(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static inline void begin_products(void)
{
}

static inline void end_products(void)
{
}

static inline void multiply_blocks(const uint16_t *left, const uint16_t *right, long blocks, float *sums,
                                   int is_first)
{
    if (is_first)
        memset(sums, 0, SUMS * sizeof(*sums));
    for (long k = 0; k < blocks * SIDE; k++) {
        const uint16_t *from = right + k / SIDE * BLOCK + k % SIDE / 2 * SIDE + k % 2;
        float column[SIDE];
        for (long j = 0; j < SIDE; j++)
            column[j] = from_bf16(from[j / 16 * TILE + j % 16 * 2]);
        for (long r = 0; r < SIDE; r++) {
            const float value = from_bf16(left[k / SIDE * BLOCK + r * SIDE + k % SIDE]);
            for (long j = 0; j < SIDE; j++)
                sums[r * SIDE + j] += value * column[j];
        }
    }
}
#endif

static inline void put_row(const float *restrict sums, uint16_t *restrict c, long width)
{
    uint32_t words[SIDE];
    memcpy(words, sums, sizeof(words));
    uint16_t out[SIDE];
    for (long j = 0; j < SIDE; j++)
        out[j] = (uint16_t)((words[j] + 0x7fff + (words[j] >> 16 & 1)) >> 16);
    if (width == SIDE)
        memcpy(c, out, sizeof(out));
    else
        memcpy(c, out, (size_t)width * sizeof(*c));
}

void multiply(long begin, long end, const uint16_t *restrict left, const uint16_t *restrict right,
              uint16_t *restrict c, long m, long n, long depth)
{
    float sums[RB][SUMS] __attribute__((aligned(64)));
    const long blocks = (depth + SIDE - 1) / SIDE, row_blocks = (m + SIDE - 1) / SIDE;
    begin_products();
    for (long u = begin; u < end; u++)
        for (long p = 0; p * SIDE < n; p++) {
            const long first = u * RB, count = row_blocks - first < RB ? row_blocks - first : RB;
            for (long k = 0; k < blocks; k += KC / SIDE) {
                const long piece = blocks - k < KC / SIDE ? blocks - k : KC / SIDE;
                for (long r = 0; r < count; r++)
                    multiply_blocks(left + ((first + r) * blocks + k) * BLOCK,
                                    right + (p * blocks + k) * BLOCK, piece, sums[r], k == 0);
            }
            const long width = n - p * SIDE < SIDE ? n - p * SIDE : SIDE;
            for (long i = 0; i < count * SIDE && first * SIDE + i < m; i++)
                put_row(sums[i / SIDE] + i % SIDE * SIDE, c + (first * SIDE + i) * n + p * SIDE, width);
        }
    end_products();
}
