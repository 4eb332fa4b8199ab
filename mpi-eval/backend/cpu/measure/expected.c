#include "mpi-eval/backend/cpu/measure/expected.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define SPARE_SHARE 8 /* of the limit of expected values */

struct atoll_expected_cache {
    size_t limit_bytes, held_bytes;             /* expected values */
    size_t input_limit_bytes, input_held_bytes; /* raw inputs */
    struct atoll_arrays spare;                  /* of what was dropped */
    uint64_t key, clock;
    unsigned long asked;
    struct atoll_team *team; /* borrowed */
    struct atoll_expected **items;
    size_t count, capacity;
};

struct atoll_expected_cache *atoll_expected_cache_create(size_t limit_bytes, size_t input_limit_bytes,
                                                         uint64_t key, struct atoll_team *team,
                                                         struct atoll_err *err)
{
    struct atoll_expected_cache *a = calloc(1, sizeof(*a));
    if (!a) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for expected values");
        return NULL;
    }
    a->limit_bytes = limit_bytes;
    a->input_limit_bytes = input_limit_bytes;
    a->spare.limit_bytes = limit_bytes / SPARE_SHARE;
    a->key = key;
    a->team = team;
    return a;
}

/* Drops the arrays, keeps fingerprints and hashes. */
static void expected_shrink(struct atoll_expected_cache *a, struct atoll_expected *expected)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        atoll_arrays_give(&a->spare, expected->truth.values[i], expected->truth.counts[i] * sizeof(double));
        atoll_arrays_give(&a->spare, expected->truth.scale[i], expected->truth.counts[i] * sizeof(double));
        expected->truth.values[i] = expected->truth.scale[i] = NULL;
    }
    a->held_bytes -= expected->bytes;
    expected->bytes = 0;
    expected->is_full = 0;
}

static void expected_drop_inputs(struct atoll_expected_cache *a, struct atoll_expected *expected)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        atoll_arrays_give(&a->spare, expected->truth.inputs[i], expected->truth.input_bytes[i]);
        expected->truth.inputs[i] = NULL;
    }
    a->input_held_bytes -= expected->input_bytes;
    expected->input_bytes = 0;
}

static void expected_destroy(struct atoll_expected_cache *a, struct atoll_expected *expected)
{
    if (expected->loan) {
        atoll_oracle_take_back(expected->loan);
    } else {
        expected_shrink(a, expected);
        expected_drop_inputs(a, expected);
    }
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++)
        atoll_fingerprint_fini(&expected->prints[i]);
    free(expected);
}

void atoll_expected_cache_destroy(struct atoll_expected_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        expected_destroy(cache, cache->items[i]);
    free(cache->items);
    atoll_arrays_fini(&cache->spare);
    free(cache);
}

static int same_input_set(const struct atoll_input_set *a, const struct atoll_input_set *b)
{
    return a->variant == b->variant && a->series == b->series && a->number == b->number &&
           a->seed == b->seed && a->distribution == b->distribution;
}

static struct atoll_expected *expected_find(const struct atoll_expected_cache *a, uint32_t task,
                                            const struct atoll_input_set *input_set)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i]->task == task && same_input_set(&a->items[i]->input_set, input_set))
            return a->items[i];
    return NULL;
}

/* The least recently used record nobody holds: with expected values (inputs 0) or with inputs (inputs 1). */
static struct atoll_expected *expected_oldest(const struct atoll_expected_cache *a, int inputs)
{
    struct atoll_expected *oldest = NULL;
    for (size_t i = 0; i < a->count; i++) {
        struct atoll_expected *x = a->items[i];
        if (!x->users && (inputs ? x->input_bytes > 0 : x->is_full) && (!oldest || x->stamp < oldest->stamp))
            oldest = x;
    }
    return oldest;
}

static void make_room(struct atoll_expected_cache *a)
{
    struct atoll_expected *x;
    while (a->held_bytes > a->limit_bytes && (x = expected_oldest(a, 0)))
        expected_shrink(a, x);
    while (a->input_held_bytes > a->input_limit_bytes && (x = expected_oldest(a, 1)))
        expected_drop_inputs(a, x);
}

/* A record with nothing in it. */
static struct atoll_expected *expected_new(struct atoll_expected_cache *a, uint32_t number,
                                           const struct atoll_input_set *input_set, struct atoll_err *err)
{
    struct atoll_expected *expected = calloc(1, sizeof(*expected));
    if (a->count == a->capacity) {
        size_t capacity = a->capacity ? 2 * a->capacity : 64;
        struct atoll_expected **items = realloc(a->items, capacity * sizeof(*items));
        if (items) {
            a->items = items;
            a->capacity = capacity;
        }
    }
    if (!expected || a->count == a->capacity) {
        free(expected);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for expected values");
        return NULL;
    }
    expected->task = number;
    expected->input_set = *input_set;
    a->items[a->count++] = expected;
    return expected;
}

static int prints_make(const struct atoll_expected_cache *a, const struct atoll_task *task,
                       const struct atoll_truth *truth, struct atoll_expected *expected,
                       struct atoll_err *err)
{
    for (size_t i = 0; i < task->tensor_count; i++) {
        uint64_t key = atoll_random_at(a->key ^ expected->input_set.seed, i);
        if (truth->values[i] &&
            atoll_fingerprint_make(&expected->prints[i], a->team, &task->tolerance, truth->values[i],
                                   truth->scale[i], truth->counts[i], key, err) != 0)
            return -1;
    }
    expected->has_prints = 1;
    return 0;
}

/* One question, answered into the cache. */
struct asking {
    struct atoll_expected_cache *cache;
    const struct atoll_task *task;
    uint32_t number;
    const struct atoll_input_set *input_set;
    struct atoll_expected *known; /* NULL: a new one */
    int full;
};

static int visit_expected(void *context, const struct atoll_truth *truth, struct atoll_err *err)
{
    struct asking *q = context;
    struct atoll_truth own;
    if (!q->known)
        q->known = expected_new(q->cache, q->number, q->input_set, err);
    if (!q->known || (!q->known->has_prints && prints_make(q->cache, q->task, truth, q->known, err) != 0) ||
        atoll_truth_copy(truth, q->full, &q->cache->spare, q->cache->team, &own, err) != 0)
        return -1;
    expected_shrink(q->cache, q->known);
    expected_drop_inputs(q->cache, q->known);
    q->known->truth = own;
    q->known->is_full = q->full;
    size_t bytes = 0;
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++)
        bytes += own.counts[i] * sizeof(double) * ((own.values[i] != NULL) + (size_t)(own.scale[i] != NULL));
    q->known->bytes = bytes;
    q->cache->held_bytes += q->known->bytes;
    for (size_t i = 0; i < q->task->tensor_count; i++)
        if (own.inputs[i])
            q->known->input_bytes += own.counts[i] * atoll_dtype_bytes(q->task->tensors[i].dtype);
    q->cache->input_held_bytes += q->known->input_bytes;
    return 0;
}

static void forget(struct atoll_expected_cache *a, struct atoll_expected *expected)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->items[i] != expected)
            continue;
        a->items[i] = a->items[--a->count];
        expected_destroy(a, expected);
        return;
    }
}

/* A fresh input set is used by the sides of one comparison, or once, and forgotten: nothing of it is copied. */
static struct atoll_expected *expected_borrow(struct atoll_expected_cache *a, struct atoll_oracle *oracle,
                                              uint32_t number, const struct atoll_input_set *input_set,
                                              struct atoll_err *err)
{
    struct atoll_expected *x = expected_new(a, number, input_set, err);
    if (!x)
        return NULL;
    x->loan = atoll_oracle_lend(oracle, input_set, &x->truth, err);
    x->is_full = x->loan != NULL;
    if (x->loan)
        return x;
    forget(a, x);
    return NULL;
}

/* Whole expected values beyond what the full comparisons of a candidate need are not worth their memory. */
static struct atoll_expected *expected_ask(struct atoll_expected_cache *a, struct atoll_oracle *oracle,
                                           const struct atoll_task *task, uint32_t number,
                                           const struct atoll_input_set *input_set,
                                           struct atoll_expected *known, int need_full, struct atoll_err *err)
{
    size_t kept = 0;
    a->asked++;
    if (input_set->series && !known && !task->torch) /* PyTorch answers into memory of its own */
        return expected_borrow(a, oracle, number, input_set, err);
    for (size_t i = 0; i < a->count; i++)
        kept += a->items[i]->task == number && a->items[i]->input_set.variant == input_set->variant &&
                a->items[i]->is_full;
    struct asking q = {a, task, number, input_set, known, need_full || kept < ATOLL_EXPECTED_KEPT};
    if (atoll_oracle_visit(oracle, input_set, -1, visit_expected, &q, err) == 0)
        return q.known;
    if (!known && q.known)
        forget(a, q.known);
    return NULL;
}

struct atoll_expected *atoll_expected_cache_get(struct atoll_expected_cache *cache,
                                                struct atoll_oracle *oracle, const struct atoll_task *task,
                                                uint32_t task_number, const struct atoll_input_set *input_set,
                                                int need_full, struct atoll_err *err)
{
    struct atoll_expected *found = expected_find(cache, task_number, input_set);
    if (!found || (need_full && !found->is_full))
        found = expected_ask(cache, oracle, task, task_number, input_set, found, need_full, err);
    if (!found)
        return NULL;
    found->stamp = ++cache->clock;
    found->users++;
    make_room(cache);
    return found;
}

unsigned long atoll_expected_cache_asked(const struct atoll_expected_cache *cache)
{
    return cache->asked;
}

int atoll_expected_cache_has(const struct atoll_expected_cache *cache, uint32_t task_number,
                             const struct atoll_input_set *input_set)
{
    return expected_find(cache, task_number, input_set) != NULL;
}

int atoll_expected_cache_has_room(const struct atoll_expected_cache *cache, const struct atoll_task *task,
                                  uint32_t variant)
{
    size_t bytes = 0, input_bytes = 0, count;
    for (size_t i = 0; i < task->tensor_count; i++) {
        if (atoll_task_element_count(task, i, &task->variants[variant], &count, NULL) != 0)
            return 0;
        if (task->tensors[i].role != ATOLL_ROLE_OUT)
            input_bytes += count * atoll_dtype_bytes(task->tensors[i].dtype);
        if (task->tensors[i].role == ATOLL_ROLE_OUT || task->tensors[i].role == ATOLL_ROLE_INOUT)
            bytes += 2 * count * sizeof(double); /* with a scale */
    }
    return cache->held_bytes + bytes <= cache->limit_bytes &&
           cache->input_held_bytes + input_bytes <= cache->input_limit_bytes;
}

int atoll_expected_cache_input(struct atoll_expected_cache *cache, struct atoll_expected *expected,
                               const struct atoll_task *task, size_t tensor, void *ret_data,
                               struct atoll_err *err)
{
    size_t count = expected->truth.counts[tensor],
           bytes = count * atoll_dtype_bytes(task->tensors[tensor].dtype);
    const struct atoll_input_set *d = &expected->input_set;
    if (expected->truth.inputs[tensor]) {
        struct atoll_team_range range = {ret_data, expected->truth.inputs[tensor], bytes};
        atoll_team_copy(cache->team, &range, 1, ATOLL_TEAM_PIECE_BYTES);
        return 0;
    }
    if (atoll_oracle_make_input(task, tensor, d, d->seed, count, cache->team, ret_data, err) != 0)
        return -1;
    void *copy = atoll_arrays_take(&cache->spare, bytes); /* without memory it is made again next time */
    if (!copy)
        return 0;
    memcpy(copy, ret_data, bytes);
    expected->truth.inputs[tensor] = copy;
    expected->truth.input_bytes[tensor] = bytes;
    expected->input_bytes += bytes;
    cache->input_held_bytes += bytes;
    make_room(cache);
    return 0;
}

void atoll_expected_cache_release(struct atoll_expected_cache *cache, struct atoll_expected *expected)
{
    if (!expected)
        return;
    expected->users--;
    if (!expected->users && expected->input_set.series)
        forget(cache, expected);
}

size_t atoll_expected_cache_kept(const struct atoll_expected_cache *cache, uint32_t task, uint32_t variant,
                                 uint16_t *ret_numbers, size_t limit)
{
    size_t n = 0;
    for (size_t i = 0; i < cache->count && n < limit; i++) {
        const struct atoll_expected *x = cache->items[i];
        if (x->task == task && x->input_set.variant == variant && !x->input_set.series && x->is_full)
            ret_numbers[n++] = (uint16_t)x->input_set.number;
    }
    return n;
}

struct atoll_expected *atoll_expected_cache_other(struct atoll_expected_cache *cache, uint32_t task,
                                                  uint32_t variant, const struct atoll_input_set *not_this)
{
    for (size_t i = 0; i < cache->count; i++) { /* from another place each time */
        struct atoll_expected *x = cache->items[(i + cache->clock) % cache->count];
        if (x->task != task || x->input_set.variant != variant || !x->is_full ||
            same_input_set(&x->input_set, not_this))
            continue;
        x->users++;
        return x;
    }
    return NULL;
}
