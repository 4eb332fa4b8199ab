/* reuse.c - one pass over the journals of each earlier campaign collects results; then hints and sources are made of them.
 * A task's hints are of one device model: times of different devices do not compare.  Where a task has no results of its own, the best
 * sources of one that computes the same on other shapes stand in, of the nearest shapes that there are; their times say nothing, and are
 * no hints. */
#include "scheduler/campaign/campaign_plan.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/campaign/prior.h"
#include "base/arena.h"
#include "base/word_list.h"
#include "core/candidate.h"
#include "core/event.h"
#include "core/plan/plan.h"
#include "mpi-eval/backend/cpu/measure/device.h"

#define ORIGIN       "import"
#define MODEL_LIMIT  64
#define NONE         UINT32_MAX
#define EVENT_BYTES  ((size_t)256 << 20) /* of one event */
#define SOURCE_BYTES ((size_t)64 << 20)  /* of all sources that are kept */

struct list {
    void *items; /* owned */
    size_t count, capacity;
};

struct result {
    uint32_t task, model;
    uint32_t like;   /* number of its task among those that are like it; NONE: it is the task itself */
    size_t sequence; /* as read */
    struct atoll_id source;
    struct atoll_choice choice;
    double time_ns; /* 0: it failed */
};

/* A task of an earlier campaign that computes what one of the new run does, on other shapes.  Its results are nobody's at first. */
struct like {
    struct atoll_task *task; /* owned */
};

/* What a task of the campaign that is read is to the new run. */
struct known {
    uint32_t number, like; /* of the new run's, NONE; among those that are like it, NONE: the very same */
};

/* Of seeds and of sources from outside. */
struct text {
    struct atoll_id id;
    const char *language, *source; /* in the arena */
};

struct atoll_reuse {
    struct atoll_task *const *tasks;
    size_t task_count;
    const char *backend, *except;
    struct atoll_arena *texts_arena, *event_arena;
    char models[MODEL_LIMIT][96]; /* the first is the new run's own */
    uint32_t model_count;
    struct list results, texts, likes;
    /* of the campaign that is read */
    struct list orders, devices, known; /* known: struct known of each of its tasks */
};

/* ---- what earlier campaigns say ---- */

/* An order of the campaign that is read. */
struct order {
    uint64_t evaluation;
    uint32_t task, like; /* of the new run, NONE; as of a result */
    struct atoll_id source;
    struct atoll_choice choice;
};

struct device {
    uint64_t key;
    uint32_t model;
};

static void *list_add(struct list *l, size_t bytes, struct atoll_err *err)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 64;
        void *items = realloc(l->items, capacity * bytes);
        if (!items) {
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for earlier results");
            return NULL;
        }
        l->items = items;
        l->capacity = capacity;
    }
    return memset((char *)l->items + l->count++ * bytes, 0, bytes);
}

struct atoll_reuse *atoll_reuse_create(struct atoll_task *const *tasks, size_t task_count,
                                       const char *backend, const char *model, const char *except,
                                       struct atoll_err *err)
{
    struct atoll_reuse *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for earlier results");
        return NULL;
    }
    r->tasks = tasks;
    r->task_count = task_count;
    r->backend = backend;
    r->except = except;
    snprintf(r->models[0], sizeof(r->models[0]), "%s", model);
    r->model_count = 1;
    r->texts_arena = atoll_arena_create(SOURCE_BYTES, err);
    r->event_arena = r->texts_arena ? atoll_arena_create(EVENT_BYTES, err) : NULL;
    if (!r->event_arena) {
        atoll_reuse_destroy(r);
        return NULL;
    }
    return r;
}

void atoll_reuse_destroy(struct atoll_reuse *r)
{
    if (!r)
        return;
    atoll_arena_destroy(r->texts_arena);
    atoll_arena_destroy(r->event_arena);
    free(r->results.items);
    free(r->texts.items);
    free(r->orders.items);
    free(r->devices.items);
    for (size_t i = 0; i < r->likes.count; i++)
        atoll_task_destroy(((struct like *)r->likes.items)[i].task);
    free(r->likes.items);
    free(r->known.items);
    free(r);
}

static int are_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int are_like_tensors(const struct atoll_tensor *a, const struct atoll_tensor *b)
{
    int is_like =
        strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->role == b->role && a->rank == b->rank;
    for (size_t i = 0; is_like && i < a->rank; i++)
        is_like = strcmp(atoll_expression_text(a->shape[i]), atoll_expression_text(b->shape[i])) == 0;
    return is_like;
}

/* Whether a source for one is a source for the other: dims, tensors and what is computed are the same. */
static int are_like(const struct atoll_task *a, const struct atoll_task *b)
{
    int is_like = a->dim_count == b->dim_count && a->tensor_count == b->tensor_count &&
                  are_equal(a->reference_source, b->reference_source) &&
                  are_equal(a->definitions, b->definitions) &&
                  are_equal(a->torch ? a->torch->source : NULL, b->torch ? b->torch->source : NULL);
    for (size_t i = 0; is_like && i < a->dim_count; i++)
        is_like = strcmp(a->dims[i], b->dims[i]) == 0;
    for (size_t i = 0; is_like && i < a->tensor_count; i++)
        is_like = are_like_tensors(&a->tensors[i], &b->tensors[i]);
    return is_like;
}

static const struct atoll_variant *first_timed(const struct atoll_task *task)
{
    for (size_t i = 0; i < task->variant_count; i++)
        if (task->variants[i].kind == ATOLL_VARIANT_BENCH)
            return &task->variants[i];
    return &task->variants[0];
}

/* How many times larger or smaller, over all dims. */
static double distance_of(const struct atoll_task *a, const struct atoll_task *b)
{
    double sum = 0;
    for (size_t i = 0; i < a->dim_count; i++)
        sum += fabs(log((double)first_timed(a)->dims[i] / (double)first_timed(b)->dims[i]));
    return sum;
}

static int add_text(struct atoll_reuse *r, const char *language, const char *source, struct atoll_err *err)
{
    struct text *t = list_add(&r->texts, sizeof(*t), err);
    if (!t)
        return -1;
    t->id = atoll_source_id(language, source);
    t->language = atoll_arena_text(r->texts_arena, language, strlen(language), err);
    t->source = t->language ? atoll_arena_text(r->texts_arena, source, strlen(source), err) : NULL;
    return t->source ? 0 : -1;
}

/* Takes the task, where one of the new run is like it. */
static int add_like(struct atoll_reuse *r, struct atoll_task *task, struct known *known,
                    struct atoll_err *err)
{
    uint32_t i = 0;
    while (i < r->task_count && !are_like(r->tasks[i], task))
        i++;
    struct like *like = i < r->task_count ? list_add(&r->likes, sizeof(*like), err) : NULL;
    if (like) {
        *like = (struct like){task};
        known->like = (uint32_t)(r->likes.count - 1);
        for (size_t s = 0; s < task->seed_count; s++)
            if (add_text(r, task->seeds[s].language, task->seeds[s].source, err) != 0)
                return -1;
        return 0;
    }
    atoll_task_destroy(task);
    return i < r->task_count ? -1 : 0;
}

static int read_task(struct atoll_reuse *r, const struct atoll_event *e, struct atoll_err *err)
{
    struct atoll_task *task = atoll_task_decode(e->task_bytes, e->task_length, err);
    struct known *known = task ? list_add(&r->known, sizeof(*known), err) : NULL;
    if (!known) {
        atoll_task_destroy(task);
        return -1;
    }
    *known = (struct known){NONE, NONE};
    for (uint32_t i = 0; i < r->task_count; i++)
        if (atoll_id_equal(&r->tasks[i]->id, &task->id) && !atoll_word_is_in(r->except, task->name))
            known->number = i;
    if (known->number == NONE)
        return add_like(r, task, known, err);
    atoll_task_destroy(task);
    return 0;
}

static struct known known_of(const struct atoll_reuse *r, uint32_t task)
{
    return task < r->known.count ? ((const struct known *)r->known.items)[task] : (struct known){NONE, NONE};
}

static int compare_order(const void *key, const void *item)
{
    uint64_t a = *(const uint64_t *)key, b = ((const struct order *)item)->evaluation;
    return a < b ? -1 : a > b;
}

static uint32_t model_of(const struct atoll_reuse *r, uint64_t device)
{
    const struct device *d = r->devices.items;
    for (size_t i = r->devices.count; i-- > 0;)
        if (d[i].key == device)
            return d[i].model;
    return 0;
}

/* What says nothing of the candidate is no result. */
static int read_evaluation(struct atoll_reuse *r, const struct atoll_evaluation *e, struct atoll_err *err)
{
    const struct order *order = bsearch(&e->evaluation, r->orders.items ? r->orders.items : "",
                                        r->orders.count, sizeof(*order), compare_order);
    int correct = e->verdict == ATOLL_V_CORRECT;
    if (!order || (order->task == NONE && order->like == NONE) || e->verdict == ATOLL_V_INFRASTRUCTURE ||
        e->verdict == ATOLL_V_UNSTABLE) {
        return 0;
    }
    const struct atoll_task *task =
        order->like == NONE ? r->tasks[order->task] : ((const struct like *)r->likes.items)[order->like].task;
    double time_ns = correct ? atoll_evaluation_time_ns(e, task) : 0;
    if (correct && !(time_ns > 0))
        return 0;
    struct result *result = list_add(&r->results, sizeof(*result), err);
    if (!result)
        return -1;
    *result = (struct result){order->task,   model_of(r, e->device), order->like, r->results.count,
                              order->source, order->choice,          time_ns};
    return 0;
}

static int read_event(struct atoll_reuse *r, const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_event e;
    atoll_arena_reset(r->event_arena);
    if (atoll_event_decode(record->bytes, record->length, r->event_arena, &e, err) != 0)
        return -1;
    int rc = 0;
    if (e.type == ATOLL_EVENT_TASK)
        rc = read_task(r, &e, err);
    else if (e.type == ATOLL_EVENT_SOURCE &&
             (known_of(r, e.task).number != NONE || known_of(r, e.task).like != NONE))
        rc = add_text(r, e.language, e.source, err);
    else if (e.type == ATOLL_EVENT_REPLY)
        for (uint32_t i = 0; i < e.reply.source_count && rc == 0; i++)
            rc = add_text(r, e.reply.sources[i].language, e.reply.sources[i].text, err);
    else if (e.type == ATOLL_EVENT_EVALUATED)
        rc = read_evaluation(r, &e.evaluation, err);
    atoll_event_fini(&e);
    return rc;
}

/* A judge called it a cheat: none of its instances is one that is correct. */
static void discard(const struct atoll_reuse *r, struct known of, const struct atoll_id *source)
{
    struct result *results = r->results.items;
    for (size_t i = 0; i < r->results.count; i++)
        if (results[i].task == of.number && results[i].like == of.like &&
            atoll_id_equal(&results[i].source, source))
            results[i].time_ns = 0;
}

/* Numbers ascend; what does not is nobody's order. */
static int read_decisions(struct atoll_reuse *r, const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_decision d;
    size_t cursor = 0;
    int got;
    while ((got = atoll_record_decision(record, &cursor, &d, err)) == 1) {
        const struct order *last = r->orders.items;
        if (d.type == ATOLL_DECIDE_DISCARD)
            discard(r, known_of(r, d.task), &d.source);
        if (d.type != ATOLL_DECIDE_EVALUATE || d.op == ATOLL_OPERATOR_NULL_CONTROL ||
            (r->orders.count && last[r->orders.count - 1].evaluation >= d.evaluation)) {
            continue;
        }
        struct order *order = list_add(&r->orders, sizeof(*order), err);
        if (!order)
            return -1;
        struct known known = known_of(r, d.task);
        *order = (struct order){d.evaluation, known.number, known.like, d.source, d.choice};
    }
    return got;
}

static int read_device(struct atoll_reuse *r, const struct atoll_device_info *info, struct atoll_err *err)
{
    struct device *d = list_add(&r->devices, sizeof(*d), err);
    uint32_t model = 0;
    if (!d)
        return -1;
    while (model < r->model_count && strcmp(r->models[model], info->model) != 0)
        model++;
    if (model == MODEL_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d device models", MODEL_LIMIT - 1);
    if (model == r->model_count)
        snprintf(r->models[r->model_count++], sizeof(r->models[0]), "%s", info->model);
    *d = (struct device){info->key, model};
    return 0;
}

static int read_record(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                       struct atoll_err *err)
{
    struct atoll_reuse *r = context;
    switch (record->type) {
    case ATOLL_RECORD_EVENT: return read_event(r, record, err);
    case ATOLL_RECORD_DECISIONS: return read_decisions(r, record, err);
    case ATOLL_RECORD_DEVICE: return read_device(r, &record->device, err);
    default: return 0;
    }
}

int atoll_reuse_add(struct atoll_reuse *r, const char *dir, struct atoll_err *err)
{
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    if (!campaign)
        return -1;
    const char *backend = atoll_campaign_option(campaign, "backend");
    int rc = 0;
    if (strcmp(backend ? backend : "cpu", r->backend) == 0) {
        r->orders.count = r->devices.count = r->known.count = 0;
        rc = atoll_campaign_replay(campaign, read_record, r, NULL, err);
    }
    atoll_campaign_close(campaign);
    return rc;
}

void atoll_reuse_model(const char *backend, char *ret_model, size_t bytes)
{
    struct atoll_device *device = calloc(1, sizeof(*device));
    struct atoll_device_info *info = calloc(1, sizeof(*info));
    glob_t found;
    char line[256];
    *ret_model = '\0';
    if (strcmp(backend, "cpu") == 0 && device && info && atoll_device_open(0, device, NULL) == 0) {
        atoll_device_describe(device, "", info);
        snprintf(ret_model, bytes, "%s", info->model);
    }
    free(device);
    free(info);
    if (strcmp(backend, "cuda") != 0 || glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found) != 0)
        return;
    FILE *file = fopen(found.gl_pathv[0], "re"); /* the driver says it without a context on the device */
    while (file && !*ret_model && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "Model:", 6) == 0)
            snprintf(ret_model, bytes, "%s", line + 6 + strspn(line + 6, " \t"));
    }
    if (file)
        fclose(file);
    globfree(&found);
}

/* ---- what is made of it ---- */

static int compare_number(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_instance(const struct result *x, const struct result *y)
{
    int order = compare_number(x->task, y->task);
    order = order ? order : memcmp(&x->source, &y->source, sizeof(x->source));
    order = order ? order : compare_number((double)x->choice.count, (double)y->choice.count);
    for (size_t i = 0; i < x->choice.count && !order; i++)
        order = (x->choice.values[i] > y->choice.values[i]) - (x->choice.values[i] < y->choice.values[i]);
    return order;
}

/* Equal instances lie together, those of the campaign that was named first in front. */
static int by_instance(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    int order = compare_instance(x, y);
    return order ? order : compare_number((double)x->sequence, (double)y->sequence);
}

/* Task, template, the fastest first, failures last. */
static int by_merit(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    int order = compare_number(x->task, y->task);
    order = order ? order : memcmp(&x->source, &y->source, sizeof(x->source));
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
    const struct result *results = r->results.items;
    size_t counts[MODEL_LIMIT] = {0};
    uint32_t best = 0;
    for (size_t i = 0; i < r->results.count; i++)
        if (results[i].task == task)
            counts[results[i].model]++;
    for (uint32_t m = 1; m < r->model_count && !counts[0]; m++)
        if (counts[m] > counts[best])
            best = m;
    return best;
}

/* Of those that are like a task and have results, the one whose shapes are nearest; NONE: the task has its own, or there is none. */
static uint32_t stand_in(const struct atoll_reuse *r, uint32_t task)
{
    const struct result *results = r->results.items;
    const struct like *likes = r->likes.items;
    uint32_t best = NONE;
    double least = 0;
    for (size_t i = 0; i < r->results.count; i++) {
        uint32_t like = results[i].like;
        if (like == NONE && results[i].task == task)
            return NONE;
        if (like == NONE || like == best || atoll_word_is_in(r->except, r->tasks[task]->name) ||
            !are_like(r->tasks[task], likes[like].task))
            continue;
        double distance = distance_of(r->tasks[task], likes[like].task);
        if (best == NONE || distance < least) {
            best = like;
            least = distance;
        }
    }
    return best;
}

/* What stands in for tasks without results becomes theirs; what is then nobody's goes. */
static int give_likes(struct atoll_reuse *r, struct atoll_err *err)
{
    size_t read = r->results.count, kept = 0;
    for (uint32_t task = 0; task < r->task_count; task++) {
        uint32_t like = stand_in(r, task);
        for (size_t i = 0; like != NONE && i < read; i++) {
            struct result of = ((const struct result *)r->results.items)[i];
            if (of.like != like || of.task != NONE)
                continue;
            struct result *given = list_add(&r->results, sizeof(*given), err);
            if (!given)
                return -1;
            of.task = task;
            *given = of;
        }
    }
    struct result *results = r->results.items;
    for (size_t i = 0; i < r->results.count; i++)
        if (results[i].task != NONE)
            results[kept++] = results[i];
    r->results.count = kept;
    return 0;
}

/* Results of the one model of each task, every instance once, by merit. */
static int choose_results(struct atoll_reuse *r, struct atoll_reuse_counts *counts, struct atoll_err *err)
{
    size_t kept = 0;
    if (give_likes(r, err) != 0)
        return -1;
    struct result *results = r->results.items;
    uint32_t *models = calloc(r->task_count + 1, sizeof(*models));
    if (!models)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for earlier results");
    for (uint32_t i = 0; i < r->task_count; i++)
        models[i] = task_model(r, i);
    for (size_t i = 0; i < r->results.count; i++)
        if (results[i].model == models[results[i].task])
            results[kept++] = results[i];
    r->results.count = kept;
    if (kept)
        qsort(results, kept, sizeof(*results), by_instance);
    kept = 0;
    for (size_t i = 0; i < r->results.count; i++)
        if (!kept || compare_instance(&results[kept - 1], &results[i]) != 0)
            results[kept++] = results[i];
    r->results.count = kept;
    if (kept)
        qsort(results, kept, sizeof(*results), by_merit);
    for (size_t i = 0; i < kept; i++) {
        if (i == 0 || results[i - 1].task != results[i].task) {
            counts->tasks++;
            counts->like_tasks += results[i].like != NONE;
            counts->other_models += models[results[i].task] != 0 && r->models[0][0];
        }
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

static const struct text *text_of(const struct atoll_reuse *r, const struct atoll_id *source)
{
    const struct text *texts = r->texts.items;
    for (size_t i = 0; i < r->texts.count; i++)
        if (atoll_id_equal(&texts[i].id, source))
            return &texts[i];
    return NULL;
}

/* A source's place among a task's results: its first is its fastest. */
static int leads(const struct result *results, size_t i)
{
    return i == 0 || results[i - 1].task != results[i].task ||
           !atoll_id_equal(&results[i - 1].source, &results[i].source);
}

/* How many sources from outside of the same task are faster. */
static size_t rank_of(const struct atoll_reuse *r, size_t at)
{
    const struct result *results = r->results.items;
    size_t rank = 0;
    for (size_t i = 0; i < r->results.count; i++) {
        rank += results[i].task == results[at].task && leads(results, i) && results[i].time_ns > 0 &&
                results[i].time_ns < results[at].time_ns && text_of(r, &results[i].source) != NULL;
    }
    return rank;
}

/* Of results[at], the fastest of its source: 1 when the new run will know the source, which is written when it is no
 * seed. */
static int take_source(const struct atoll_reuse *r, size_t at, struct atoll_buffer *out,
                       struct atoll_reuse_counts *counts)
{
    const struct result *result = (const struct result *)r->results.items + at;
    struct atoll_event e;
    if (is_seed(r->tasks[result->task], &result->source))
        return 1;
    const struct text *text = text_of(r, &result->source);
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

int atoll_reuse_write(struct atoll_reuse *r, struct atoll_buffer *out, struct atoll_reuse_counts *ret_counts,
                      struct atoll_err *err)
{
    struct atoll_reuse_counts counts = {0};
    struct atoll_buffer hints;
    struct atoll_event e;
    if (choose_results(r, &counts, err) != 0)
        return -1;
    const struct result *results = r->results.items;
    size_t of_template = 0;
    int is_known = 0;
    atoll_buffer_init(&hints, ATOLL_PRIOR_LIMIT_BYTES);
    for (size_t i = 0; i < r->results.count; i++) {
        if (leads(results, i)) {
            is_known = take_source(r, i, out, &counts);
            of_template = 0;
        }
        if (!is_known || results[i].like != NONE || results[i].choice.count == 0 ||
            of_template++ >= ATOLL_REUSE_HINT_LIMIT)
            continue;
        atoll_event_init(&e, ATOLL_EVENT_HINT);
        e.task = results[i].task;
        e.hint = (struct atoll_hint){results[i].source, results[i].choice, results[i].time_ns};
        atoll_prior_put(&hints, &e);
        counts.hints++;
    }
    atoll_buffer_put_bytes(out, hints.data, hints.length);
    int rc = atoll_buffer_check(&hints, err) != 0 ? -1 : atoll_buffer_check(out, err);
    atoll_buffer_fini(&hints);
    if (rc == 0)
        *ret_counts = counts;
    return rc;
}
