/* project_index.c - what a projection remembers beside its rows: sources and candidates by id, dispatches by
 * number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/table/project_state.h"
#include "core/candidate.h"
#include "base/random.h"

#define COMMENT_LIMIT 256 /* what a mutant's text has more than its original's */

void *atoll_projection_list_add(struct atoll_projection_list *l, size_t element, struct atoll_err *err)
{
    if (!l->items || l->count == l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 64;
        void *grown = realloc(l->items, capacity * element);
        if (!grown) {
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a projection");
            return NULL;
        }
        l->items = grown;
        l->capacity = capacity;
    }
    void *item = (char *)l->items + l->count++ * element;
    memset(item, 0, element);
    return item;
}

int atoll_projection_put_text(struct atoll_projection *p, const char *text, uint32_t *ret_text,
                              struct atoll_err *err)
{
    return atoll_tables_add_text(p->tables, text ? text : "", text ? strlen(text) : 0, ret_text, err);
}

struct source_key {
    const struct atoll_projection_list *sources;
    const struct atoll_id *id;
};

static int source_matches(const void *context, uint32_t row)
{
    const struct source_key *key = context;
    return atoll_id_equal(&((const struct atoll_projection_source *)key->sources->items)[row].id, key->id);
}

struct atoll_projection_source *atoll_projection_find_source(const struct atoll_projection *p,
                                                             const struct atoll_id *id)
{
    struct source_key key = {&p->sources, id};
    uint32_t row = atoll_index_find(&p->source_index, atoll_id_u64(id), source_matches, &key);
    return row == ATOLL_NONE ? NULL : &((struct atoll_projection_source *)p->sources.items)[row];
}

int atoll_projection_add_source(struct atoll_projection *p, const char *language, const char *text,
                                const char *origin, struct atoll_err *err)
{
    struct atoll_id id = atoll_source_id(language, text);
    if (atoll_projection_find_source(p, &id))
        return 0;
    struct atoll_projection_source *s = atoll_projection_list_add(&p->sources, sizeof(*s), err);
    if (!s)
        return -1;
    s->id = id;
    if (atoll_projection_put_text(p, language, &s->language, err) != 0 ||
        atoll_projection_put_text(p, text, &s->text, err) != 0 ||
        atoll_projection_put_text(p, origin, &s->origin, err) != 0) {
        return -1;
    }
    return atoll_index_add(&p->source_index, atoll_id_u64(&id), (uint32_t)(p->sources.count - 1), err);
}

struct atoll_projection_task *atoll_projection_find_task(const struct atoll_projection *p, uint32_t number)
{
    return number < p->tasks.count ? &((struct atoll_projection_task *)p->tasks.items)[number] : NULL;
}

int atoll_projection_task_row(struct atoll_projection *p, uint32_t task, uint32_t model, uint64_t *ret_row,
                              struct atoll_err *err)
{
    struct atoll_row_task row, fresh = {.model = model};
    struct atoll_projection_task *t = atoll_projection_find_task(p, task);
    if (!t || model >= ATOLL_MODEL_LIMIT)
        return 0;
    if (t->rows[model] == ATOLL_PROJECTION_NONE) {
        atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->rows[0], &row);
        fresh.task = row.task;
        fresh.id = row.id;
        fresh.name = row.name;
        fresh.summary = row.summary;
        fresh.definition = row.definition;
        fresh.reference = row.reference;
        fresh.category = row.category;
        fresh.tags = row.tags;
        fresh.instructions = row.instructions;
        fresh.origin_suite = row.origin_suite;
        fresh.origin_problem = row.origin_problem;
        fresh.origin_hash = row.origin_hash;
        fresh.level = row.level;
        fresh.reference_kind = row.reference_kind;
        fresh.reference_device = row.reference_device;
        fresh.model_name = model < p->model_count ? p->models[model] : 0;
        t->rows[model] = atoll_tables_count(p->tables, ATOLL_TABLE_TASKS);
        if (atoll_tables_append(p->tables, ATOLL_TABLE_TASKS, &fresh, err) != 0)
            return -1;
    }
    *ret_row = t->rows[model];
    return 1;
}

struct dispatch_key {
    const struct atoll_projection_list *dispatches;
    uint64_t evaluation;
};

static int dispatch_matches(const void *context, uint32_t row)
{
    const struct dispatch_key *key = context;
    return ((const struct atoll_projection_dispatch *)key->dispatches->items)[row].evaluation ==
           key->evaluation;
}

struct atoll_projection_dispatch *atoll_projection_find_dispatch(const struct atoll_projection *p,
                                                                 uint64_t evaluation)
{
    struct dispatch_key key = {&p->dispatches, evaluation};
    uint32_t row = atoll_index_find(&p->dispatch_index, evaluation, dispatch_matches, &key);
    return row == ATOLL_NONE ? NULL : &((struct atoll_projection_dispatch *)p->dispatches.items)[row];
}

int atoll_projection_add_dispatch(struct atoll_projection *p, const struct atoll_decision *d,
                                  struct atoll_err *err)
{
    if (atoll_projection_find_dispatch(p, d->evaluation))
        return 0;
    struct atoll_projection_dispatch *x = atoll_projection_list_add(&p->dispatches, sizeof(*x), err);
    if (!x)
        return -1;
    *x = (struct atoll_projection_dispatch){.evaluation = d->evaluation,
                                            .task = d->task,
                                            .model = d->model,
                                            .island = d->island,
                                            .candidate = d->candidate,
                                            .elite = d->elite,
                                            .ask = d->answers_ask};
    memcpy(x->rivals, d->rivals, sizeof(x->rivals));
    return atoll_index_add(&p->dispatch_index, d->evaluation, (uint32_t)(p->dispatches.count - 1), err);
}

struct candidate_key {
    const struct atoll_id *ids;
    const struct atoll_id *id;
};

static int candidate_matches(const void *context, uint32_t row)
{
    const struct candidate_key *key = context;
    return atoll_id_equal(&key->ids[row], key->id);
}

/* Row in candidates, -1. */
int64_t atoll_projection_find_candidate(const struct atoll_projection *p, const struct atoll_id *id)
{
    struct candidate_key key = {atoll_tables_column(p->tables, ATOLL_TABLE_CANDIDATES, 1), id};
    uint32_t row = atoll_index_find(&p->candidate_index, atoll_id_u64(id), candidate_matches, &key);
    return row == ATOLL_NONE ? -1 : (int64_t)row;
}

static const struct atoll_plan *plan_parse(struct atoll_projection *p, const struct atoll_task *task,
                                           const struct atoll_projection_source *s, struct atoll_err *err)
{
    const char *body;
    return atoll_plan_parse(p->plans, task, atoll_tables_text(p->tables, s->language),
                            atoll_tables_text(p->tables, s->text), &body, err);
}

/* The source's plan for a task into s->plan and s->plan_text.  What took the room may be other plans: then
 * once more without them. */
static int plan_find(struct atoll_projection *p, struct atoll_projection_source *s, uint32_t task,
                     struct atoll_err *err)
{
    const struct atoll_projection_task *t = atoll_projection_find_task(p, task);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (s->parsed_in == p->plan_round && s->task == task)
        return 0;
    const struct atoll_plan *plan = t ? plan_parse(p, t->task, s, &why) : NULL;
    if (!plan && (why.code == ATOLL_E_LIMIT || why.code == ATOLL_E_MEMORY)) {
        atoll_arena_reset(p->plans);
        p->plan_round++;
        plan = plan_parse(p, t->task, s, NULL);
    }
    s->plan = plan;
    s->task = task;
    s->parsed_in = p->plan_round;
    return atoll_projection_put_text(p, plan ? plan->canonical : "", &s->plan_text, err);
}

/* Plan and choice in words; a source that has no valid plan keeps its bare numbers. */
static int describe_plan(struct atoll_projection *p, const struct atoll_decision *d,
                         struct atoll_projection_source *s, struct atoll_row_candidate *row,
                         struct atoll_err *err)
{
    char text[1024];
    const char *choice;
    if (s && plan_find(p, s, d->task, err) != 0)
        return -1;
    if (s && s->plan && s->plan->param_count == d->choice.count) {
        choice = atoll_choice_text(s->plan, &d->choice, text, sizeof(text));
    } else {
        size_t at = 0;
        text[0] = '\0';
        choice = text;
        for (size_t i = 0; i < d->choice.count && i < ATOLL_PLAN_PARAM_LIMIT && at < sizeof(text); i++) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lld", i ? " " : "",
                                   (long long)d->choice.values[i]);
        }
    }
    row->plan = s ? s->plan_text : 0;
    return atoll_projection_put_text(p, choice, &row->choice, err);
}

int atoll_projection_path(struct atoll_projection *p, const struct atoll_id *candidate, uint32_t task,
                          uint32_t variant, uint8_t *ret_path, struct atoll_err *err)
{
    struct atoll_row_candidate row;
    const struct atoll_projection_task *t = atoll_projection_find_task(p, task);
    int64_t at = atoll_projection_find_candidate(p, candidate);
    size_t path = 0;
    *ret_path = 0;
    if (at < 0 || !t || !t->task || variant >= t->task->variant_count)
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)at, &row);
    struct atoll_projection_source *s = atoll_projection_find_source(p, &row.source_id);
    if (s && plan_find(p, s, task, err) != 0)
        return -1;
    if (s && s->plan && s->plan->path_count > 1 &&
        atoll_plan_path_at(t->task, s->plan, &t->task->variants[variant], &path, NULL) == 0)
        *ret_path = (uint8_t)(path + 1);
    return 0;
}

/* No event carries a null control's source: it follows from its original. */
static int add_mutant(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_candidate original;
    struct atoll_buffer text;
    char language[16]; /* a copy, for texts move when one is added */
    int64_t row = atoll_projection_find_candidate(p, &d->parent);
    if (row < 0)
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)row, &original);
    const char *source = atoll_tables_text(p->tables, original.source);
    snprintf(language, sizeof(language), "%s", atoll_tables_text(p->tables, original.language));
    atoll_buffer_init(&text, strlen(source) + COMMENT_LIMIT);
    atoll_null_control_source(language, source, &d->parent, &text);
    int rc = atoll_buffer_check(&text, err);
    if (rc == 0)
        rc = atoll_projection_add_source(p, language, (const char *)text.data, "no-op mutant", err);
    atoll_buffer_fini(&text);
    return rc;
}

int atoll_projection_add_candidate(struct atoll_projection *p, const struct atoll_decision *d,
                                   struct atoll_err *err)
{
    struct atoll_row_candidate row;
    if (atoll_projection_find_candidate(p, &d->candidate) >= 0)
        return 0;
    if (d->op == ATOLL_OPERATOR_NULL_CONTROL && add_mutant(p, d, err) != 0)
        return -1;
    struct atoll_projection_source *s = atoll_projection_find_source(p, &d->source);
    memset(&row, 0, sizeof(row));
    row.id = d->candidate;
    row.event = p->event;
    row.evaluation = d->evaluation;
    row.campaign_ns = p->campaign_ns;
    row.task = d->task;
    row.island = d->island;
    row.model = d->model;
    row.ask = d->answers_ask;
    row.generation = d->generation;
    row.operator_ = (uint8_t)d->op;
    row.parent = d->parent;
    row.source_id = d->source;
    row.language = s ? s->language : 0;
    row.source = s ? s->text : 0;
    row.origin = s ? s->origin : 0;
    if (describe_plan(p, d, s, &row, err) != 0 ||
        !atoll_projection_list_add(&p->floors, sizeof(struct atoll_projection_floor), err) ||
        atoll_tables_append(p->tables, ATOLL_TABLE_CANDIDATES, &row, err) != 0) {
        return -1;
    }
    return atoll_index_add(&p->candidate_index, atoll_id_u64(&row.id),
                           (uint32_t)atoll_tables_count(p->tables, ATOLL_TABLE_CANDIDATES) - 1, err);
}

const struct atoll_device_info *atoll_projection_find_device(const struct atoll_projection *p, uint64_t key)
{
    const struct atoll_device_info *known = p->devices.items;
    for (size_t i = 0; i < p->devices.count; i++)
        if (known[i].key == key)
            return &known[i];
    return NULL;
}

struct ask_key {
    const uint64_t *numbers;
    uint64_t number;
};

static int ask_matches(const void *context, uint32_t row)
{
    const struct ask_key *key = context;
    return key->numbers[row] == key->number;
}

int atoll_projection_find_ask(const struct atoll_projection *p, uint64_t number, uint32_t *ret_row)
{
    struct ask_key key = {atoll_tables_column(p->tables, ATOLL_TABLE_ASKS, 1), number};
    *ret_row = atoll_index_find(&p->ask_index, number, ask_matches, &key);
    return *ret_row != ATOLL_NONE;
}
