/* reuse_choose.c - what becomes of earlier results.  A task's hints are of one device model: times of different devices
 * do not compare. */
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/prior.h"
#include "core/candidate.h"
#include "core/event.h"
#include "scheduler/cli/reuse_state.h"

#define ORIGIN "import"

static int compare_number(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_instance(const struct reuse_result *x, const struct reuse_result *y)
{
    int order = compare_number(x->task, y->task);
    order = order ? order : memcmp(&x->source, &y->source, sizeof x->source);
    order = order ? order : compare_number((double)x->choice.count, (double)y->choice.count);
    for (size_t i = 0; i < x->choice.count && !order; i++)
        order = (x->choice.values[i] > y->choice.values[i]) - (x->choice.values[i] < y->choice.values[i]);
    return order;
}

/* Equal instances lie together, those of the campaign that was named first in front. */
static int by_instance(const void *a, const void *b)
{
    const struct reuse_result *x = a, *y = b;
    int order = compare_instance(x, y);
    return order ? order : compare_number((double)x->sequence, (double)y->sequence);
}

/* Task, template, the fastest first, failures last. */
static int by_merit(const void *a, const void *b)
{
    const struct reuse_result *x = a, *y = b;
    int order = compare_number(x->task, y->task);
    order = order ? order : memcmp(&x->source, &y->source, sizeof x->source);
    order = order                                 ? order
            : (x->time_ns > 0) < (y->time_ns > 0) ? 1
            : (x->time_ns > 0) > (y->time_ns > 0) ? -1
                                                  : 0;
    order = order ? order : compare_number(x->time_ns, y->time_ns);
    return order ? order : by_instance(a, b);
}

/* The new run's own model where a task has results of it, else the one that has most. */
static uint32_t task_model(const struct atoll_reuse *r, uint32_t task)
{
    const struct reuse_result *results = r->results.items;
    size_t counts[ATOLL_REUSE_MODEL_LIMIT] = {0};
    uint32_t best = 0;
    for (size_t i = 0; i < r->results.count; i++)
        if (results[i].task == task)
            counts[results[i].model]++;
    for (uint32_t m = 1; m < r->model_count && !counts[0]; m++)
        if (counts[m] > counts[best])
            best = m;
    return best;
}

/* Results of the one model of each task, every instance once, by merit. */
static int choose_results(struct atoll_reuse *r, struct atoll_reuse_counts *counts, struct atoll_err *err)
{
    struct reuse_result *results = r->results.items;
    size_t kept = 0;
    uint32_t *models = calloc(r->task_count + 1, sizeof *models);
    if (!models)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for earlier results");
    for (uint32_t i = 0; i < r->task_count; i++)
        models[i] = task_model(r, i);
    for (size_t i = 0; i < r->results.count; i++)
        if (results[i].model == models[results[i].task])
            results[kept++] = results[i];
    r->results.count = kept;
    if (kept)
        qsort(results, kept, sizeof *results, by_instance);
    kept = 0;
    for (size_t i = 0; i < r->results.count; i++)
        if (!kept || compare_instance(&results[kept - 1], &results[i]) != 0)
            results[kept++] = results[i];
    r->results.count = kept;
    if (kept)
        qsort(results, kept, sizeof *results, by_merit);
    for (size_t i = 0; i < kept; i++)
        if (i == 0 || results[i - 1].task != results[i].task) {
            counts->tasks++;
            counts->other_models += models[results[i].task] != 0 && r->models[0][0];
        }
    free(models);
    return 0;
}

static int is_seed(const struct atoll_task *task, const struct atoll_id *source)
{
    for (size_t i = 0; i < task->seed_count; i++) {
        struct atoll_id id = atoll_source_id(task->seeds[i].language, task->seeds[i].source);
        if (atoll_id_equal(&id, source))
            return 1;
    }
    return 0;
}

static const struct reuse_text *text_of(const struct atoll_reuse *r, const struct atoll_id *source)
{
    const struct reuse_text *texts = r->texts.items;
    for (size_t i = 0; i < r->texts.count; i++)
        if (atoll_id_equal(&texts[i].id, source))
            return &texts[i];
    return NULL;
}

/* A source's place among a task's results: its first is its fastest. */
static int leads(const struct reuse_result *results, size_t i)
{
    return i == 0 || results[i - 1].task != results[i].task ||
           !atoll_id_equal(&results[i - 1].source, &results[i].source);
}

/* How many sources from outside of the same task are faster. */
static size_t rank_of(const struct atoll_reuse *r, size_t at)
{
    const struct reuse_result *results = r->results.items;
    size_t rank = 0;
    for (size_t i = 0; i < r->results.count; i++)
        rank += results[i].task == results[at].task && leads(results, i) && results[i].time_ns > 0 &&
                results[i].time_ns < results[at].time_ns && text_of(r, &results[i].source) != NULL;
    return rank;
}

/* Of results[at], the fastest of its source: 1 when the new run will know the source, which is written when it is no
 * seed. */
static int take_source(const struct atoll_reuse *r, size_t at, struct atoll_buffer *out,
                       struct atoll_reuse_counts *counts)
{
    const struct reuse_result *result = (const struct reuse_result *)r->results.items + at;
    struct atoll_event e;
    if (is_seed(r->tasks[result->task], &result->source))
        return 1;
    const struct reuse_text *text = text_of(r, &result->source);
    if (!text || !(result->time_ns > 0) || rank_of(r, at) >= ATOLL_REUSE_SOURCE_LIMIT)
        return 0;
    atoll_event_init(&e, ATOLL_EVENT_SOURCE);
    e.task = result->task;
    e.language = text->language;
    e.source = text->source;
    e.origin = ORIGIN;
    atoll_prior_put(out, &e);
    counts->sources++;
    return 1;
}

static void put_hint(const struct reuse_result *result, struct atoll_buffer *out)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_HINT);
    e.task = result->task;
    e.hint = (struct atoll_hint){result->source, result->choice, result->time_ns};
    atoll_prior_put(out, &e);
}

int atoll_reuse_write(struct atoll_reuse *r, struct atoll_buffer *out, struct atoll_reuse_counts *ret_counts,
                      struct atoll_err *err)
{
    struct atoll_reuse_counts counts = {0};
    struct atoll_buffer hints;
    if (choose_results(r, &counts, err) != 0)
        return -1;
    const struct reuse_result *results = r->results.items;
    size_t of_template = 0;
    int is_known = 0;
    atoll_buffer_init(&hints, ATOLL_PRIOR_LIMIT_BYTES);
    for (size_t i = 0; i < r->results.count; i++) {
        if (leads(results, i)) {
            is_known = take_source(r, i, out, &counts);
            of_template = 0;
        }
        if (!is_known || results[i].choice.count == 0 || of_template++ >= ATOLL_REUSE_HINT_LIMIT)
            continue;
        put_hint(&results[i], &hints);
        counts.hints++;
    }
    atoll_buffer_put_bytes(out, hints.data, hints.length);
    int rc = atoll_buffer_check(&hints, err) != 0 ? -1 : atoll_buffer_check(out, err);
    atoll_buffer_fini(&hints);
    if (rc == 0)
        *ret_counts = counts;
    return rc;
}
