#include "mpi-eval/backend/cuda/measure/layout.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* One placement with this much guard and shift per buffer.  Whole grains: places begin alike. */
static uint64_t region_bytes(const uint64_t *bytes, size_t count, uint64_t guard, uint64_t shift)
{
    uint64_t all = guard;
    for (size_t i = 0; i < count; i++)
        all += round_up(bytes[i], ATOLL_LAYOUT_ALIGN) + guard + shift;
    return shift ? round_up(all, ATOLL_LAYOUT_GRAIN) : all;
}

uint64_t atoll_layout_need(const uint64_t *bytes, size_t count, unsigned places)
{
    if (places == 0)
        return region_bytes(bytes, count, ATOLL_LAYOUT_GUARD_LEAST, 0);
    return places * region_bytes(bytes, count, ATOLL_LAYOUT_GUARD, ATOLL_LAYOUT_SHIFT);
}

static int is_prime(unsigned n)
{
    for (unsigned d = 2; d * d <= n; d++)
        if (n % d == 0)
            return 0;
    return 1;
}

static unsigned nth_prime(size_t index)
{
    unsigned n = 2;
    while (index > 0)
        if (is_prime(++n))
            index--;
    return n;
}

/* The multiples of an irrational number fill an interval evenly from the first on; roots of different primes are
 * independent (Kronecker sequence; Niederreiter, Random Number Generation and Quasi-Monte Carlo Methods, 1992).  Where
 * they begin is a secret of the series, for each buffer another one (Cranley and Patterson, 1976): as even, and no
 * address tells the turn. */
static uint64_t turn_shift(uint64_t key, size_t buffer, uint64_t shift)
{
    double whole, turn = (double)((key & ATOLL_LAYOUT_TURN_MASK) + 1);
    uint64_t series = key & ~ATOLL_LAYOUT_TURN_MASK;
    double begin = atoll_random_unit(atoll_random_at(series ^ 0x626567696eull, buffer));
    double part = modf(turn * sqrt((double)nth_prime(buffer)) + begin, &whole);
    uint64_t places = shift / ATOLL_LAYOUT_ALIGN + 1;
    return (uint64_t)(part * (double)places) * ATOLL_LAYOUT_ALIGN;
}

int atoll_layout_make(const struct atoll_span *arena, const uint64_t *bytes, size_t count, uint64_t key,
                      int not_place, struct atoll_layout *ret_layout, struct atoll_err *err)
{
    uint64_t guard = ATOLL_LAYOUT_GUARD, shift = ATOLL_LAYOUT_SHIFT, limit = (uint64_t)1 << 48;
    if (count > ATOLL_LAYOUT_BUFFER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%zu buffers, at most %d", count, ATOLL_LAYOUT_BUFFER_LIMIT);
    for (size_t i = 0; i < count; i++)
        if (bytes[i] > limit)
            return atoll_err_set(err, ATOLL_E_LIMIT, "a buffer needs %llu bytes, device has %llu",
                                 (unsigned long long)bytes[i], (unsigned long long)arena->bytes);
    if (region_bytes(bytes, count, guard, shift) > arena->bytes) {
        guard = ATOLL_LAYOUT_GUARD_LEAST;
        shift = 0;
    }
    uint64_t region = region_bytes(bytes, count, guard, shift);
    if (region > arena->bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "needs %llu bytes with guard zones, device has %llu",
                             (unsigned long long)region, (unsigned long long)arena->bytes);
    uint64_t places = arena->bytes / region;
    struct atoll_layout l = {.count = count};
    l.places = places > ATOLL_LAYOUT_PLACES ? ATOLL_LAYOUT_PLACES : (unsigned)places;
    l.place = (unsigned)atoll_random_below(atoll_random_at(key, 0x706c616365ull), l.places);
    if (l.places > 1 && (int)l.place == not_place)
        l.place = (l.place + 1) % l.places;
    uint64_t grain = shift ? ATOLL_LAYOUT_GRAIN : ATOLL_LAYOUT_ALIGN;
    uint64_t share = arena->bytes / l.places / grain * grain;
    uint64_t room = (share - region) / grain + 1;
    uint64_t secret = atoll_random_at(key ^ 0x7368696674ull, ATOLL_LAYOUT_BUFFER_LIMIT);
    uint64_t begin = arena->address + l.place * share + atoll_random_below(secret, room) * grain;
    uint64_t at = begin;
    for (size_t i = 0; i < count; i++) {
        l.buffers[i] = (struct atoll_span){at + guard + turn_shift(key, i, shift), bytes[i]};
        at = l.buffers[i].address + round_up(bytes[i], ATOLL_LAYOUT_ALIGN);
    }
    for (size_t i = 0; i <= count; i++) { /* everything between two buffers is guard */
        uint64_t until = i < count ? l.buffers[i].address : at + guard;
        l.guards[i] = (struct atoll_span){begin, until - begin};
        if (i < count)
            begin = round_up(until + l.buffers[i].bytes, 8);
    }
    *ret_layout = l;
    return 0;
}

size_t atoll_layout_trespass(const struct atoll_layout *layout, size_t guard, uint64_t word,
                             int64_t *ret_distance)
{
    const struct atoll_span *g = &layout->guards[guard];
    uint64_t at = g->address + word * 8;
    if (guard < layout->count && (guard == 0 || word * 8 >= g->bytes / 2)) {
        *ret_distance = -(int64_t)(layout->buffers[guard].address - at);
        return guard;
    }
    const struct atoll_span *b = &layout->buffers[guard - 1];
    *ret_distance = (int64_t)(at - (b->address + b->bytes));
    return guard - 1;
}
