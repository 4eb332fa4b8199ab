#include "mpi-eval/referee/fill.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/referee/wide.h"

static void pattern_poison(struct atoll_fill *f, uint64_t key)
{
    size_t bytes = atoll_dtype_bytes(f->dtype);
    unsigned char element[8] = {0};
    if (f->dtype == ATOLL_F64) {
        uint64_t bits = 0x7ff8000000000000ull | (key & 0xffffffffffffull);
        memcpy(element, &bits, 8);
    } else if (f->dtype == ATOLL_F32) {
        uint32_t bits = 0x7fc00000u | (uint32_t)(key & 0x3fffffu);
        memcpy(element, &bits, 4);
    } else {
        atoll_dtype_store(f->dtype, element, 0, atoll_dtype_is_float(f->dtype) ? (double)NAN : 9.0e18);
    }
    for (size_t i = 0; i < ATOLL_FILL_PERIOD; i++)
        memcpy(f->pattern + i * bytes, element, bytes);
}

void atoll_fill_init(struct atoll_fill *fill, enum atoll_dtype dtype, size_t count, const double *stale,
                     uint64_t key)
{
    fill->kind = (enum atoll_fill_kind)(atoll_mix64(key) % ATOLL_FILL_COUNT);
    fill->dtype = dtype;
    fill->count = count;
    fill->stale = stale;
    if (fill->kind == ATOLL_FILL_STALE && !stale)
        fill->kind = ATOLL_FILL_RANDOM;
    memset(fill->pattern, 0, sizeof(fill->pattern));
    if (fill->kind == ATOLL_FILL_POISON)
        pattern_poison(fill, key);
    else if (fill->kind == ATOLL_FILL_RANDOM) {
        for (size_t i = 0; i < ATOLL_FILL_PERIOD; i++) {
            double unit = atoll_random_unit(atoll_random_at(key, i));
            atoll_dtype_store(fill->dtype, fill->pattern, i,
                              atoll_dtype_is_float(fill->dtype) ? 4.0 * unit - 2.0 : floor(100 * unit));
        }
    }
    size_t period = ATOLL_FILL_PERIOD * atoll_dtype_bytes(dtype);
    for (size_t at = 0; at < ATOLL_FILL_AHEAD; at += period)
        memcpy(fill->pattern + period + at, fill->pattern,
               ATOLL_FILL_AHEAD - at < period ? ATOLL_FILL_AHEAD - at : period);
}

struct writing {
    const struct atoll_fill *fill;
    unsigned char *to;
};

/* Pages, each from where its place in the period starts. */
static void write_pages(void *context, size_t begin, size_t end)
{
    const struct writing *w = context;
    const struct atoll_fill *f = w->fill;
    size_t bytes = atoll_dtype_bytes(f->dtype), all = f->count * bytes, period = ATOLL_FILL_PERIOD * bytes;
    for (size_t at = begin * ATOLL_FILL_AHEAD; at < end * ATOLL_FILL_AHEAD && at < all;
         at += ATOLL_FILL_AHEAD) {
        size_t n = all - at < ATOLL_FILL_AHEAD ? all - at : ATOLL_FILL_AHEAD;
        if (f->kind == ATOLL_FILL_STALE)
            atoll_dtype_store_array(f->dtype, w->to + at, n / bytes, f->stale + at / bytes);
        else
            atoll_wide_copy(w->to + at, f->pattern + at % period, n);
    }
}

void atoll_fill_write(const struct atoll_fill *fill, struct atoll_team *team, void *base)
{
    struct writing w = {fill, base};
    size_t pages = (fill->count * atoll_dtype_bytes(fill->dtype) + ATOLL_FILL_AHEAD - 1) / ATOLL_FILL_AHEAD;
    atoll_team_run(team, pages, ATOLL_TEAM_PIECE_BYTES / ATOLL_FILL_AHEAD, write_pages, &w);
}

int atoll_fill_holds(const struct atoll_fill *fill, const void *base, size_t index)
{
    size_t bytes = atoll_dtype_bytes(fill->dtype);
    const unsigned char *element = (const unsigned char *)base + index * bytes;
    unsigned char stale[8];
    if (fill->kind != ATOLL_FILL_STALE)
        return memcmp(element, fill->pattern + index % ATOLL_FILL_PERIOD * bytes, bytes) == 0;
    atoll_dtype_store(fill->dtype, stale, 0, fill->stale[index]);
    return memcmp(element, stale, bytes) == 0;
}
