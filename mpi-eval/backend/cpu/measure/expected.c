#include "mpi-eval/backend/cpu/measure/expected.h"

#include <stdlib.h>
#include <string.h>

#include "core/task/init.h"
#include "base/random.h"
#include "mpi-eval/referee/wide.h"

struct atoll_answers {
    size_t limit_bytes, held_bytes;             /* expected values */
    size_t input_limit_bytes, input_held_bytes; /* raw inputs */
    uint64_t key, clock;
    struct atoll_answer **items;
    size_t count, capacity;
};

struct atoll_answers *atoll_answers_create(size_t limit_bytes, size_t input_limit_bytes, uint64_t key,
                                           struct atoll_err *err)
{
    struct atoll_answers *a = calloc(1, sizeof *a);
    if (!a) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for answers");
        return NULL;
    }
    a->limit_bytes = limit_bytes;
    a->input_limit_bytes = input_limit_bytes;
    a->key = key;
    return a;
}

static size_t expected_bytes(const struct atoll_truth *t)
{
    size_t bytes = 0;
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++)
        bytes += t->counts[i] * sizeof(double) * ((t->values[i] != NULL) + (size_t)(t->scale[i] != NULL));
    return bytes;
}

/* Drops the arrays, keeps fingerprints and hashes. */
static void answer_shrink(struct atoll_answers *a, struct atoll_answer *answer)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        free(answer->truth.values[i]);
        free(answer->truth.scale[i]);
        answer->truth.values[i] = answer->truth.scale[i] = NULL;
    }
    a->held_bytes -= answer->bytes;
    answer->bytes = 0;
    answer->is_full = 0;
}

static void answer_drop_inputs(struct atoll_answers *a, struct atoll_answer *answer)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        free(answer->truth.inputs[i]);
        answer->truth.inputs[i] = NULL;
    }
    a->input_held_bytes -= answer->input_bytes;
    answer->input_bytes = 0;
}

static void answer_destroy(struct atoll_answers *a, struct atoll_answer *answer)
{
    answer_shrink(a, answer);
    answer_drop_inputs(a, answer);
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++)
        atoll_fingerprint_fini(&answer->prints[i]);
    free(answer);
}

void atoll_answers_destroy(struct atoll_answers *answers)
{
    if (!answers)
        return;
    for (size_t i = 0; i < answers->count; i++)
        answer_destroy(answers, answers->items[i]);
    free(answers->items);
    free(answers);
}

size_t atoll_answers_held_bytes(const struct atoll_answers *answers)
{
    return answers->held_bytes;
}

static int same_draw(const struct atoll_input_set *a, const struct atoll_input_set *b)
{
    return a->variant == b->variant && a->series == b->series && a->number == b->number &&
           a->seed == b->seed && a->distribution == b->distribution;
}

static struct atoll_answer *answer_find(const struct atoll_answers *a, uint32_t task,
                                        const struct atoll_input_set *draw)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i]->task == task && same_draw(&a->items[i]->draw, draw))
            return a->items[i];
    return NULL;
}

/* The least recently used answer nobody holds: with expected values (inputs 0) or with inputs (inputs 1). */
static struct atoll_answer *answer_oldest(const struct atoll_answers *a, int inputs)
{
    struct atoll_answer *oldest = NULL;
    for (size_t i = 0; i < a->count; i++) {
        struct atoll_answer *x = a->items[i];
        if (!x->users && (inputs ? x->input_bytes > 0 : x->is_full) && (!oldest || x->stamp < oldest->stamp))
            oldest = x;
    }
    return oldest;
}

static void make_room(struct atoll_answers *a)
{
    struct atoll_answer *x;
    while (a->held_bytes > a->limit_bytes && (x = answer_oldest(a, 0)))
        answer_shrink(a, x);
    while (a->input_held_bytes > a->input_limit_bytes && (x = answer_oldest(a, 1)))
        answer_drop_inputs(a, x);
}

static int prints_make(const struct atoll_answers *a, struct atoll_answer *answer,
                       const struct atoll_task *task, const struct atoll_truth *t, struct atoll_err *err)
{
    for (size_t i = 0; i < task->tensor_count; i++) {
        uint64_t key = atoll_random_at(a->key ^ answer->draw.seed, i);
        if (t->values[i] && atoll_fingerprint_make(&answer->prints[i], &task->tolerance, t->values[i],
                                                   t->scale[i], t->counts[i], key, err) != 0)
            return -1;
    }
    return 0;
}

static int items_grow(struct atoll_answers *a, struct atoll_err *err)
{
    if (a->count < a->capacity)
        return 0;
    size_t capacity = a->capacity ? 2 * a->capacity : 64;
    struct atoll_answer **items = realloc(a->items, capacity * sizeof *items);
    if (!items)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for answers");
    a->items = items;
    a->capacity = capacity;
    return 0;
}

static struct atoll_answer *answer_new(struct atoll_answers *a, const struct atoll_task *task,
                                       uint32_t number, const struct atoll_input_set *draw,
                                       const struct atoll_truth *truth, struct atoll_err *err)
{
    struct atoll_answer *answer = calloc(1, sizeof *answer);
    if (!answer || items_grow(a, err) != 0) {
        free(answer);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an answer");
        return NULL;
    }
    answer->task = number;
    answer->draw = *draw;
    if (prints_make(a, answer, task, truth, err) != 0) {
        answer_destroy(a, answer);
        return NULL;
    }
    a->items[a->count++] = answer;
    return answer;
}

static void answer_refill(struct atoll_answers *a, const struct atoll_task *task, struct atoll_answer *answer,
                          const struct atoll_truth *truth, int is_full)
{
    answer_shrink(a, answer);
    answer_drop_inputs(a, answer);
    answer->truth = *truth;
    answer->is_full = is_full;
    answer->bytes = expected_bytes(truth);
    a->held_bytes += answer->bytes;
    for (size_t i = 0; i < task->tensor_count; i++)
        if (truth->inputs[i])
            answer->input_bytes += truth->counts[i] * atoll_dtype_bytes(task->tensors[i].dtype);
    a->input_held_bytes += answer->input_bytes;
}

static size_t kept_count(const struct atoll_answers *a, uint32_t task, uint32_t variant)
{
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++)
        n += a->items[i]->task == task && a->items[i]->draw.variant == variant && a->items[i]->is_full;
    return n;
}

/* One question, answered into the cache. */
struct asking {
    struct atoll_answers *answers;
    const struct atoll_task *task;
    uint32_t number;
    const struct atoll_input_set *draw;
    struct atoll_answer *known; /* NULL: a new one */
    int full;
};

static int see_answer(void *context, const struct atoll_truth *truth, struct atoll_err *err)
{
    struct asking *q = context;
    struct atoll_truth own;
    if (!q->known)
        q->known = answer_new(q->answers, q->task, q->number, q->draw, truth, err);
    if (!q->known || atoll_truth_copy(truth, q->task, q->full, &own, err) != 0)
        return -1;
    answer_refill(q->answers, q->task, q->known, &own, q->full);
    return 0;
}

static void forget(struct atoll_answers *a, struct atoll_answer *answer)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->items[i] != answer)
            continue;
        a->items[i] = a->items[--a->count];
        answer_destroy(a, answer);
        return;
    }
}

/* Whole answers beyond what the full comparisons of a candidate need are not worth their memory. */
static struct atoll_answer *answer_ask(struct atoll_answers *a, struct atoll_oracle *oracle,
                                       const struct atoll_task *task, uint32_t number,
                                       const struct atoll_input_set *draw, struct atoll_answer *known,
                                       int need_full, struct atoll_err *err)
{
    int full = need_full || kept_count(a, number, draw->variant) < ATOLL_ANSWER_KEPT;
    struct asking q = {a, task, number, draw, known, full};
    if (atoll_oracle_show(oracle, draw, -1, see_answer, &q, err) == 0)
        return q.known;
    if (!known && q.known)
        forget(a, q.known);
    return NULL;
}

struct atoll_answer *atoll_answers_get(struct atoll_answers *answers, struct atoll_oracle *oracle,
                                       const struct atoll_task *task, uint32_t task_number,
                                       const struct atoll_input_set *draw, int need_full,
                                       struct atoll_err *err)
{
    struct atoll_answer *found = answer_find(answers, task_number, draw);
    if (!found || (need_full && !found->is_full))
        found = answer_ask(answers, oracle, task, task_number, draw, found, need_full, err);
    if (!found)
        return NULL;
    found->stamp = ++answers->clock;
    found->users++;
    make_room(answers);
    return found;
}

int atoll_answers_know(const struct atoll_answers *answers, uint32_t task_number,
                       const struct atoll_input_set *draw)
{
    return answer_find(answers, task_number, draw) != NULL;
}

int atoll_answers_input(struct atoll_answers *answers, struct atoll_answer *answer,
                        const struct atoll_task *task, size_t tensor, void *ret_data, struct atoll_err *err)
{
    size_t count = answer->truth.counts[tensor],
           bytes = count * atoll_dtype_bytes(task->tensors[tensor].dtype);
    const struct atoll_input_set *d = &answer->draw;
    if (answer->truth.inputs[tensor]) {
        atoll_wide_copy(ret_data, answer->truth.inputs[tensor], bytes);
        return 0;
    }
    if (atoll_init_fill(task, tensor, &task->variants[d->variant], d->seed, d->distribution, 0, count,
                        ret_data, err) != 0)
        return -1;
    void *copy = atoll_memory_array(bytes); /* without memory it is made again next time */
    if (!copy)
        return 0;
    memcpy(copy, ret_data, bytes);
    answer->truth.inputs[tensor] = copy;
    answer->input_bytes += bytes;
    answers->input_held_bytes += bytes;
    make_room(answers);
    return 0;
}

void atoll_answers_release(struct atoll_answers *answers, struct atoll_answer *answer)
{
    if (!answer)
        return;
    answer->users--;
    if (!answer->users && answer->draw.series)
        forget(answers, answer);
}

size_t atoll_answers_kept(const struct atoll_answers *answers, uint32_t task, uint32_t variant,
                          uint16_t *ret_numbers, size_t limit)
{
    size_t n = 0;
    for (size_t i = 0; i < answers->count && n < limit; i++) {
        const struct atoll_answer *x = answers->items[i];
        if (x->task == task && x->draw.variant == variant && !x->draw.series && x->is_full)
            ret_numbers[n++] = (uint16_t)x->draw.number;
    }
    return n;
}

struct atoll_answer *atoll_answers_other(struct atoll_answers *answers, uint32_t task, uint32_t variant,
                                         const struct atoll_input_set *not_this)
{
    for (size_t i = 0; i < answers->count; i++) { /* from another place each time */
        struct atoll_answer *x = answers->items[(i + answers->clock) % answers->count];
        if (x->task != task || x->draw.variant != variant || !x->is_full || same_draw(&x->draw, not_this))
            continue;
        x->users++;
        return x;
    }
    return NULL;
}
