/* One list of records, in no order; the sealed ones are also kept in an array ordered by offset, whose gaps are the free
 * memory.  Sizes of one (task, variant) are equal, so evicting one variant makes room without fragments. */
#include "mpi-eval/backend/cuda/measure/expected.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u
#define ALIGN   256u

struct atoll_expected_store {
    uint64_t bytes, clock;
    struct atoll_sealed *buckets[BUCKETS];
    struct atoll_sealed **placed; /* by offset */
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
    free(s->placed);
    free(s);
}

void atoll_expected_store_reset(struct atoll_expected_store *s, uint64_t bytes)
{
    for (size_t i = 0; i < s->placed_count; i++)
        s->placed[i]->is_sealed = 0;
    s->placed_count = 0;
    s->bytes = bytes;
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
        a = calloc(1, sizeof(*a));
        if (!a)
            return NULL;
        a->task = task;
        a->input_set = *input_set;
        a->next = *bucket;
        *bucket = a;
    }
    a->users++;
    a->stamp = ++s->clock;
    return a;
}

void atoll_expected_store_unseal(struct atoll_expected_store *s, struct atoll_sealed *a)
{
    for (size_t i = 0; a->is_sealed && i < s->placed_count; i++) {
        if (s->placed[i] != a)
            continue;
        memmove(&s->placed[i], &s->placed[i + 1], (s->placed_count - i - 1) * sizeof(*s->placed));
        s->placed_count--;
        break;
    }
    a->is_sealed = 0;
}

static void record_free(struct atoll_expected_store *s, struct atoll_sealed *a)
{
    struct atoll_sealed **place = bucket_of(s, a->task, &a->input_set);
    atoll_expected_store_unseal(s, a);
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
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int atoll_expected_store_is_kept(const struct atoll_expected_store *s, uint64_t bytes, size_t pool)
{
    return bytes > 0 && bytes <= s->bytes && padded(bytes) <= s->bytes / (pool + 1);
}

int atoll_expected_store_gap(const struct atoll_expected_store *s, size_t k, uint64_t *ret_offset,
                             uint64_t *ret_bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i <= s->placed_count; i++) {
        uint64_t until = i < s->placed_count ? s->placed[i]->offset : s->bytes;
        if (until > at && k-- == 0) {
            *ret_offset = at;
            *ret_bytes = until - at;
            return 1;
        }
        at = i < s->placed_count ? until + (s->placed[i]->bytes + 3) / 4 * 4 : at;
    }
    return 0;
}

/* Puts the record into the first gap that is large enough. */
static int gap_take(struct atoll_expected_store *s, struct atoll_sealed *a, uint64_t bytes)
{
    uint64_t at = 0;
    size_t i = 0;
    for (; i < s->placed_count; i++) {
        const struct atoll_sealed *p = s->placed[i];
        if (p->offset - at >= bytes)
            break;
        at = p->offset + padded(p->bytes);
    }
    if (i == s->placed_count && (at > s->bytes || s->bytes - at < bytes))
        return -1;
    memmove(&s->placed[i + 1], &s->placed[i], (s->placed_count - i) * sizeof(*s->placed));
    s->placed[i] = a;
    s->placed_count++;
    a->offset = at;
    a->bytes = bytes;
    a->is_sealed = 1;
    return 0;
}

static int same_variant(const struct atoll_sealed *a, const struct atoll_sealed *b)
{
    return a->task == b->task && a->input_set.variant == b->input_set.variant;
}

/* When the (task, variant) of a record was last asked for. */
static uint64_t group_stamp(const struct atoll_expected_store *s, const struct atoll_sealed *a)
{
    uint64_t stamp = 0;
    for (size_t i = 0; i < s->placed_count; i++)
        if (same_variant(s->placed[i], a) && s->placed[i]->stamp > stamp)
            stamp = s->placed[i]->stamp;
    return stamp;
}

/* Another variant's before this one's own; the longest unused first. */
static struct atoll_sealed *victim(const struct atoll_expected_store *s, const struct atoll_sealed *for_this)
{
    struct atoll_sealed *best = NULL;
    uint64_t best_group = 0;
    for (size_t i = 0; i < s->placed_count; i++) {
        struct atoll_sealed *a = s->placed[i];
        if (a->users || a == for_this)
            continue;
        uint64_t group = same_variant(a, for_this) ? UINT64_MAX : group_stamp(s, a);
        if (!best || group < best_group || (group == best_group && a->stamp < best->stamp)) {
            best = a;
            best_group = group;
        }
    }
    return best;
}

int atoll_expected_store_reserve(struct atoll_expected_store *s, struct atoll_sealed *a, uint64_t bytes)
{
    if (a->is_sealed)
        atoll_expected_store_unseal(s, a);
    if (bytes == 0 || bytes > s->bytes)
        return -1;
    if (s->placed_count == s->placed_capacity) {
        size_t capacity = s->placed_capacity ? 2 * s->placed_capacity : 64;
        struct atoll_sealed **grown = realloc(s->placed, capacity * sizeof(*grown));
        if (!grown)
            return -1;
        s->placed = grown;
        s->placed_capacity = capacity;
    }
    while (gap_take(s, a, bytes) != 0) {
        struct atoll_sealed *old = victim(s, a);
        if (!old)
            return -1;
        atoll_expected_store_unseal(s, old);
    }
    return 0;
}

size_t atoll_expected_store_kept(const struct atoll_expected_store *s, uint32_t task, uint32_t variant,
                                 uint16_t *ret_numbers, size_t limit)
{
    size_t n = 0;
    for (size_t i = 0; i < s->placed_count && n < limit; i++) {
        const struct atoll_sealed *a = s->placed[i];
        if (a->task == task && a->input_set.variant == variant && a->input_set.series == 0 &&
            a->input_set.number <= UINT16_MAX)
            ret_numbers[n++] = (uint16_t)a->input_set.number;
    }
    return n;
}
