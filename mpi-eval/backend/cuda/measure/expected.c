/* One list of records, in no order; what is sealed of them is also kept in an array ordered by offset, whose gaps are the
 * free memory.  Sizes of one (task, variant) are equal, so evicting one variant makes room without fragments. */
#include "mpi-eval/backend/cuda/measure/expected.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u
#define ALIGN   256u

/* Whole values or the fingerprint of a record. */
struct place {
    uint64_t offset, bytes;
    struct atoll_sealed *owner;
    int is_print;
};

/* A (task, variant). */
struct atoll_sealed_group {
    uint32_t task, variant;
    uint64_t stamp;     /* when it was asked for last */
    double ns_per_byte; /* of its last answer; 0 unknown */
    struct atoll_sealed_group *next;
};

struct atoll_expected_store {
    uint64_t bytes, clock;
    struct atoll_sealed *buckets[BUCKETS];
    struct atoll_sealed_group *groups;
    struct place *placed; /* by offset */
    size_t placed_count, placed_capacity;
};

struct atoll_expected_store *atoll_expected_store_create(struct atoll_err *err)
{
    struct atoll_expected_store *s = calloc(1, sizeof(*s));
    if (!s)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for expected values");
    return s;
}

void atoll_expected_store_destroy(struct atoll_expected_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while (s->buckets[i]) {
            struct atoll_sealed *a = s->buckets[i];
            s->buckets[i] = a->next;
            free(a);
        }
    while (s->groups) {
        struct atoll_sealed_group *g = s->groups;
        s->groups = g->next;
        free(g);
    }
    free(s->placed);
    free(s);
}

void atoll_expected_store_reset(struct atoll_expected_store *s, uint64_t bytes)
{
    for (size_t i = 0; i < s->placed_count; i++)
        s->placed[i].owner->is_sealed = s->placed[i].owner->print.is_sealed = 0;
    s->placed_count = 0;
    s->bytes = bytes;
}

void atoll_expected_store_grow(struct atoll_expected_store *s, uint64_t bytes)
{
    s->bytes = bytes > s->bytes ? bytes : s->bytes;
}

/* Made when it is new; NULL when there is no memory. */
static struct atoll_sealed_group *group_of(struct atoll_expected_store *s, uint32_t task, uint32_t variant)
{
    struct atoll_sealed_group *g = s->groups;
    while (g && (g->task != task || g->variant != variant))
        g = g->next;
    if (!g && (g = calloc(1, sizeof(*g)))) {
        *g = (struct atoll_sealed_group){.task = task, .variant = variant, .next = s->groups};
        s->groups = g;
    }
    return g;
}

static struct atoll_sealed **bucket_of(struct atoll_expected_store *s, uint32_t task,
                                       const struct atoll_input_set *d)
{
    return &s->buckets[(d->seed ^ task) % BUCKETS];
}

static int is_input_set(const struct atoll_sealed *a, uint32_t task, const struct atoll_input_set *d)
{
    return a->task == task && a->input_set.variant == d->variant && a->input_set.series == d->series &&
           a->input_set.number == d->number && a->input_set.seed == d->seed &&
           a->input_set.distribution == d->distribution;
}

struct atoll_sealed *atoll_expected_store_take(struct atoll_expected_store *s, uint32_t task,
                                               const struct atoll_input_set *input_set)
{
    struct atoll_sealed **bucket = bucket_of(s, task, input_set), *a = *bucket;
    while (a && !is_input_set(a, task, input_set))
        a = a->next;
    if (!a) {
        struct atoll_sealed_group *group = group_of(s, task, input_set->variant);
        a = group ? calloc(1, sizeof(*a)) : NULL;
        if (!a)
            return NULL;
        a->group = group;
        a->task = task;
        a->input_set = *input_set;
        a->next = *bucket;
        *bucket = a;
    }
    a->users++;
    a->stamp = a->group->stamp = ++s->clock;
    return a;
}

static void place_drop(struct atoll_expected_store *s, size_t i)
{
    struct place *p = &s->placed[i];
    *(p->is_print ? &p->owner->print.is_sealed : &p->owner->is_sealed) = 0;
    memmove(p, p + 1, (s->placed_count - i - 1) * sizeof(*p));
    s->placed_count--;
}

static void place_find_and_drop(struct atoll_expected_store *s, const struct atoll_sealed *a, int is_print)
{
    for (size_t i = 0; i < s->placed_count; i++)
        if (s->placed[i].owner == a && s->placed[i].is_print == is_print) {
            place_drop(s, i);
            return;
        }
}

void atoll_expected_store_unseal(struct atoll_expected_store *s, struct atoll_sealed *a)
{
    if (a->is_sealed)
        place_find_and_drop(s, a, 0);
}

void atoll_expected_store_unseal_print(struct atoll_expected_store *s, struct atoll_sealed *a)
{
    if (a->print.is_sealed)
        place_find_and_drop(s, a, 1);
}

static void record_free(struct atoll_expected_store *s, struct atoll_sealed *a)
{
    struct atoll_sealed **place = bucket_of(s, a->task, &a->input_set);
    atoll_expected_store_unseal(s, a);
    atoll_expected_store_unseal_print(s, a);
    while (*place != a)
        place = &(*place)->next;
    *place = a->next;
    free(a);
}

void atoll_expected_store_give(struct atoll_expected_store *s, struct atoll_sealed *a)
{
    if (a && --a->users == 0 && a->input_set.series != 0)
        record_free(s, a);
}

void atoll_expected_store_forget(struct atoll_expected_store *s, uint32_t task)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct atoll_sealed *a = s->buckets[i], *next; a; a = next) {
            next = a->next;
            if (a->task == task)
                record_free(s, a);
        }
    for (struct atoll_sealed_group **g = &s->groups; *g;) {
        struct atoll_sealed_group *old = *g;
        if (old->task != task) {
            g = &old->next;
            continue;
        }
        *g = old->next;
        free(old);
    }
}

static int is_spare(const struct place *p)
{
    return !p->is_print && p->owner->print.is_sealed;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int atoll_expected_store_is_kept(const struct atoll_expected_store *s, uint64_t bytes, size_t pool)
{
    return bytes > 0 && bytes <= s->bytes && padded(bytes) <= s->bytes / (pool + 1);
}

int atoll_expected_store_has_room(const struct atoll_expected_store *s, const struct atoll_sealed *a,
                                  uint64_t bytes, size_t most)
{
    uint64_t used = 2 * padded(bytes); /* this one and a fresh one */
    size_t count = 0;
    if (bytes == 0 || used > s->bytes)
        return 0;
    for (size_t i = 0; i < s->placed_count; i++) {
        const struct place *p = &s->placed[i];
        if (p->owner->group != a->group || p->owner->input_set.series != 0)
            continue;
        used += padded(p->bytes);
        count += !p->is_print;
    }
    return count < most && used <= s->bytes;
}

int atoll_expected_store_gap(const struct atoll_expected_store *s, size_t k, uint64_t *ret_offset,
                             uint64_t *ret_bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i <= s->placed_count; i++) {
        uint64_t until = i < s->placed_count ? s->placed[i].offset : s->bytes;
        if (until > at && k-- == 0) {
            *ret_offset = at;
            *ret_bytes = until - at;
            return 1;
        }
        at = i < s->placed_count ? until + (s->placed[i].bytes + 3) / 4 * 4 : at;
    }
    return 0;
}

/* Where a gap before placed[i] begins, and where it ends. */
static uint64_t gap_begin(const struct atoll_expected_store *s, size_t i)
{
    return i ? s->placed[i - 1].offset + padded(s->placed[i - 1].bytes) : 0;
}

static uint64_t gap_end(const struct atoll_expected_store *s, size_t i)
{
    return i < s->placed_count ? s->placed[i].offset : s->bytes / ALIGN * ALIGN;
}

static int gap_fits(const struct atoll_expected_store *s, size_t i, uint64_t bytes)
{
    return gap_end(s, i) >= gap_begin(s, i) && gap_end(s, i) - gap_begin(s, i) >= padded(bytes);
}

int atoll_expected_store_has_gap(const struct atoll_expected_store *s, uint64_t bytes)
{
    for (size_t i = 0; i <= s->placed_count; i++)
        if (gap_fits(s, i, bytes))
            return 1;
    return 0;
}

int atoll_expected_store_has_print_gap(const struct atoll_expected_store *s, uint64_t bytes)
{
    for (size_t i = 0; i < s->placed_count; i++)
        if (is_spare(&s->placed[i]) && !s->placed[i].owner->users && s->placed[i].bytes >= padded(bytes))
            return 1;
    return atoll_expected_store_has_gap(s, bytes);
}

/* Puts it into a gap that is large enough: whole values into the first one, fingerprints at the end of the last one, so that
 * small things do not break up the room for large ones. */
static int gap_take(struct atoll_expected_store *s, struct atoll_sealed *a, int is_print, uint64_t bytes)
{
    size_t gaps = s->placed_count + 1, k = 0;
    while (k < gaps && !gap_fits(s, is_print ? gaps - 1 - k : k, bytes))
        k++;
    if (k == gaps)
        return -1;
    size_t i = is_print ? gaps - 1 - k : k;
    uint64_t at = is_print ? gap_end(s, i) - padded(bytes) : gap_begin(s, i);
    memmove(&s->placed[i + 1], &s->placed[i], (s->placed_count - i) * sizeof(*s->placed));
    s->placed[i] = (struct place){at, bytes, a, is_print};
    s->placed_count++;
    *(is_print ? &a->print.offset : &a->offset) = at;
    *(is_print ? &a->print.bytes : &a->bytes) = bytes;
    *(is_print ? &a->print.is_sealed : &a->is_sealed) = 1;
    return 0;
}

/* Whether p goes rather than q, for something of this group. */
static int goes_before(const struct place *p, const struct place *q, const struct atoll_sealed_group *group)
{
    const struct atoll_sealed *a = p->owner, *b = q->owner;
    if (is_spare(p) != is_spare(q))
        return is_spare(p);
    if (a->group != b->group) {
        if (a->group == group || b->group == group)
            return b->group == group;
        return a->group->stamp < b->group->stamp;
    }
    return p->is_print != q->is_print ? q->is_print : a->stamp < b->stamp;
}

/* -1: everything is in use. */
static long victim(const struct atoll_expected_store *s, const struct atoll_sealed *for_this)
{
    long best = -1;
    for (size_t i = 0; i < s->placed_count; i++) {
        const struct place *p = &s->placed[i];
        if (p->owner->users || p->owner == for_this)
            continue;
        if (best < 0 || goes_before(p, &s->placed[best], for_this->group))
            best = (long)i;
    }
    return best;
}

/* Whether p may go for spare values of this record. */
static int gives_way(const struct atoll_expected_store *s, const struct place *p,
                     const struct atoll_sealed *for_this)
{
    const struct atoll_sealed_group *g = p->owner->group, *own = for_this->group;
    if (p->owner->users || g == own)
        return 0;
    return s->clock - g->stamp > ATOLL_EXPECTED_AT_WORK ||
           (is_spare(p) && own->ns_per_byte > 0 && 2 * g->ns_per_byte < own->ns_per_byte);
}

/* Makes a gap where that is possible; else nothing goes. */
static int gap_clear(struct atoll_expected_store *s, const struct atoll_sealed *a, uint64_t bytes)
{
    for (size_t first = 0, i = 0; i <= s->placed_count; i++) {
        if (i < s->placed_count && gives_way(s, &s->placed[i], a))
            continue;
        if (gap_end(s, i) >= gap_begin(s, first) && gap_end(s, i) - gap_begin(s, first) >= padded(bytes)) {
            while (!gap_fits(s, first, bytes))
                place_drop(s, first);
            return 0;
        }
        first = i + 1;
    }
    return -1;
}

static int reserve(struct atoll_expected_store *s, struct atoll_sealed *a, int is_print, uint64_t bytes)
{
    if (bytes == 0 || padded(bytes) > s->bytes)
        return -1;
    if (s->placed_count == s->placed_capacity) {
        size_t capacity = s->placed_capacity ? 2 * s->placed_capacity : 64;
        struct place *grown = realloc(s->placed, capacity * sizeof(*grown));
        if (!grown)
            return -1;
        s->placed = grown;
        s->placed_capacity = capacity;
    }
    if (!is_print && a->print.is_sealed)
        return gap_clear(s, a, bytes) == 0 ? gap_take(s, a, is_print, bytes) : -1;
    while (gap_take(s, a, is_print, bytes) != 0) {
        long old = victim(s, a);
        if (old < 0)
            return -1;
        place_drop(s, (size_t)old);
    }
    return 0;
}

int atoll_expected_store_reserve(struct atoll_expected_store *s, struct atoll_sealed *a, uint64_t bytes)
{
    atoll_expected_store_unseal(s, a);
    return reserve(s, a, 0, bytes);
}

int atoll_expected_store_reserve_print(struct atoll_expected_store *s, struct atoll_sealed *a, uint64_t bytes)
{
    atoll_expected_store_unseal_print(s, a);
    return reserve(s, a, 1, bytes);
}

void atoll_expected_store_cost(struct atoll_expected_store *s, struct atoll_sealed *a, double ns,
                               uint64_t bytes)
{
    (void)s;
    a->group->ns_per_byte = bytes && ns > 0 ? ns / (double)bytes : 0;
}

size_t atoll_expected_store_kept(const struct atoll_expected_store *s, uint32_t task, uint32_t variant,
                                 uint16_t *ret_numbers, size_t limit)
{
    size_t n = 0;
    for (size_t i = 0; i < s->placed_count && n < limit; i++) {
        const struct atoll_sealed *a = s->placed[i].owner;
        if (!s->placed[i].is_print && a->task == task && a->input_set.variant == variant &&
            a->input_set.series == 0 && a->input_set.number <= UINT16_MAX)
            ret_numbers[n++] = (uint16_t)a->input_set.number;
    }
    return n;
}
