/* source.c - sources by identity; a template is known by its tuner. */
#include "evolution/engine/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PLAN_BYTES ((size_t)1 << 26) /* of one source, which is at most ATOLL_SOURCE_LIMIT long */

static void source_fini(struct atoll_source *s)
{
    atoll_tune_destroy(s->tune);
    free(s->language);
    free(s->text);
}

void atoll_sources_fini(struct atoll_sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++)
        source_fini(&sources->items[i]);
    atoll_index_fini(&sources->index);
    free(sources->items);
    memset(sources, 0, sizeof(*sources));
}

struct query {
    const struct atoll_sources *sources;
    const struct atoll_id *id;
    uint32_t task;
};

static int equal(const void *context, uint32_t position)
{
    const struct query *q = context;
    const struct atoll_source *s = &q->sources->items[position];
    return (q->task == ATOLL_NONE || q->task == s->task) && atoll_id_equal(&s->id, q->id);
}

uint32_t atoll_sources_find(const struct atoll_sources *sources, const struct atoll_id *id, uint32_t task)
{
    struct query q = {sources, id, task};
    return atoll_index_find(&sources->index, atoll_id_u64(id), equal, &q);
}

/* In the arena of the task, for its tuner borrows the plan.  Where that is full, which sources from outside can bring
 * about, it keeps its first instance alone. */
static int read_template(struct atoll_source *s, const struct atoll_task *task, struct atoll_arena *arena,
                         const struct atoll_tune_settings *settings, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    s->plan = atoll_plan_parse(arena, task, s->language, s->text, &s->body, &why);
    if (!s->plan)
        return why.code == ATOLL_E_LIMIT ? 0 : atoll_err_set(err, why.code, "%s", why.text);
    s->tune = atoll_tune_create(task, s->plan, err);
    if (!s->tune)
        return -1;
    atoll_tune_set(s->tune, settings);
    return 0;
}

/* A plan is large: of what is no template only the identity of its one instance is kept. */
static int read_plan(struct atoll_source *s, const struct atoll_task *task, struct atoll_arena *arena,
                     const struct atoll_tune_settings *settings, struct atoll_arena *passing,
                     struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    const char *body = NULL;
    const struct atoll_plan *plan = atoll_plan_parse(passing, task, s->language, s->text, &body, &why);
    s->only = s->id;
    if (!plan)
        return why.code == ATOLL_E_MEMORY ? atoll_err_set(err, why.code, "%s", why.text) : 0;
    atoll_plan_first_choice(plan, &s->first);
    if (plan->param_count) {
        /* A template has more than one legal combination, else the one it has is its only instance. */
        struct atoll_tune *tune = atoll_tune_create(task, plan, err);
        if (!tune)
            return -1;
        int is_template = atoll_tune_first(tune, &s->first) && atoll_tune_legal_count(tune) >= 2;
        atoll_tune_destroy(tune);
        if (is_template && read_template(s, task, arena, settings, err))
            return -1;
    }
    if (!s->tune)
        s->only = atoll_candidate_id(task, s->language, plan, body, &s->first);
    return 0;
}

int atoll_sources_add(struct atoll_sources *sources, uint32_t task_number, const struct atoll_task *task,
                      struct atoll_arena *arena, const char *language, const char *text,
                      enum atoll_operator op, uint32_t *ret_position, struct atoll_err *err)
{
    struct atoll_source s = {
        .id = atoll_source_id(language, text), .task = task_number, .op = (uint8_t)op, .best = ATOLL_NONE};
    uint32_t known = atoll_sources_find(sources, &s.id, task_number);
    if (known != ATOLL_NONE) {
        *ret_position = known;
        return 0;
    }
    if (atoll_array_reserve(&sources->items, &sources->capacity, sources->count + 1, sizeof(s), err))
        return -1;
    struct atoll_arena *passing = NULL;
    int failed = -1;
    s.language = strdup(language);
    s.text = strdup(text);
    if (!s.language || !s.text) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a source of task %s", task->name);
        goto out;
    }
    passing = atoll_arena_create(PLAN_BYTES, err);
    if (!passing || read_plan(&s, task, arena, &sources->tuners, passing, err) ||
        atoll_index_add(&sources->index, atoll_id_u64(&s.id), sources->count, err)) {
        goto out;
    }
    *ret_position = sources->count;
    sources->items[sources->count++] = s;
    failed = 0;
out:
    atoll_arena_destroy(passing);
    if (failed)
        source_fini(&s);
    return failed;
}

struct atoll_id atoll_source_candidate(const struct atoll_source *source, const struct atoll_task *task,
                                       const struct atoll_choice *choice)
{
    if (!source->tune)
        return source->only;
    return atoll_candidate_id(task, source->language, source->plan, source->body, choice);
}
