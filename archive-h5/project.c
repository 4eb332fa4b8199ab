/* project.c - the state is the tables plus what is needed to fill them: sources by id, dispatches by number,
 * tasks decoded. */
#include "archive-h5/project.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/copy_rows.h"
#include "archive-h5/row_index.h"
#include "archive-h5/task_copy.h"
#include "core/arena.h"
#include "core/candidate.h"
#include "core/random.h"

#define ARENA_LIMIT_BYTES ((size_t)64 << 20)

struct source {
    struct atoll_id id;
    uint32_t language, text, origin; /* texts */
};

/* What was ordered under an evaluation number. */
struct dispatch {
    uint64_t evaluation;
    uint32_t task, island;
    struct atoll_id candidate, elite;
    int answered;
};

struct projection_task {
    struct atoll_task *task; /* owned; NULL when it did not decode */
    uint64_t row;
};

struct list {
    void *items; /* owned */
    size_t count, capacity;
};

struct atoll_projection {
    struct atoll_tables *tables;
    struct atoll_arena *arena; /* of one event or decision */
    enum atoll_fitness_form form;
    struct list sources, dispatches, tasks, floors; /* floors: double per candidate row */
    struct atoll_row_index source_index, dispatch_index, candidate_index;
    uint64_t event; /* being projected */
    int64_t campaign_ns;
    uint32_t ordinal;
    uint64_t marks[ATOLL_TABLE_COUNT];
};

static void *list_add(struct list *l, size_t element, struct atoll_err *err)
{
    if (l->count == l->capacity) {
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

static int add_campaign(struct atoll_projection *p, const struct atoll_campaign_config *c,
                        struct atoll_err *err)
{
    struct atoll_row_campaign row = {.id = c->id,
                                     .engine_version = c->engine_version,
                                     .created_unix_ns = c->created_unix_ns,
                                     .seed = c->search.seed,
                                     .islands = c->search.islands,
                                     .generation_size = c->search.generation_size,
                                     .migration_interval = c->search.migration_interval,
                                     .alpha = c->search.alpha,
                                     .margin = c->search.margin,
                                     .evaluation_budget = c->search.evaluation_budget,
                                     .device_budget_ns = c->search.device_budget_ns,
                                     .wall_budget_ns = c->search.wall_budget_ns};
    p->form = c->search.fitness_form;
    if (atoll_tables_add_text(p->tables, c->atoll_version, strlen(c->atoll_version), &row.atoll_version,
                              err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_CAMPAIGN, &row, err);
}

struct atoll_projection *atoll_projection_create(const struct atoll_campaign_config *config,
                                                 struct atoll_err *err)
{
    struct atoll_projection *p = calloc(1, sizeof *p);
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a projection");
        return NULL;
    }
    if (!(p->tables = atoll_tables_create(ATOLL_TABLES_LIMIT_BYTES, err)) ||
        !(p->arena = atoll_arena_create(ARENA_LIMIT_BYTES, err)) || add_campaign(p, config, err) != 0) {
        atoll_projection_destroy(p);
        return NULL;
    }
    return p;
}

void atoll_projection_destroy(struct atoll_projection *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->tasks.count; i++)
        atoll_task_destroy(((struct projection_task *)p->tasks.items)[i].task);
    free(p->tasks.items);
    free(p->sources.items);
    free(p->dispatches.items);
    free(p->floors.items);
    atoll_row_index_fini(&p->source_index);
    atoll_row_index_fini(&p->dispatch_index);
    atoll_row_index_fini(&p->candidate_index);
    atoll_arena_destroy(p->arena);
    atoll_tables_destroy(p->tables);
    free(p);
}

const struct atoll_tables *atoll_projection_tables(const struct atoll_projection *p)
{
    return p->tables;
}

static int put_text(struct atoll_projection *p, const char *text, uint32_t *ret_text, struct atoll_err *err)
{
    return atoll_tables_add_text(p->tables, text ? text : "", text ? strlen(text) : 0, ret_text, err);
}

int atoll_projection_device(struct atoll_projection *p, const struct atoll_device_info *d,
                            struct atoll_err *err)
{
    struct atoll_row_device row, old;
    memset(&row, 0, sizeof row);
    row.key = d->key;
    row.threads = d->threads;
    row.bandwidth_bytes_per_s = d->bandwidth_bytes_per_s;
    row.peak_f64_flops = d->peak_flops[ATOLL_F64];
    row.peak_f32_flops = d->peak_flops[ATOLL_F32];
    row.peak_f16_flops = d->peak_flops[ATOLL_F16];
    row.peak_bf16_flops = d->peak_flops[ATOLL_BF16];
    row.empty_launch_ns = d->empty_launch_ns;
    row.clock_resolution_ns = d->clock_resolution_ns;
    row.last_level_cache_bytes = d->last_level_cache_bytes;
    if (put_text(p, d->backend, &row.backend, err) != 0 || put_text(p, d->model, &row.model, err) != 0 ||
        put_text(p, d->uuid, &row.uuid, err) != 0 || put_text(p, d->node, &row.node, err) != 0 ||
        put_text(p, d->toolchain, &row.toolchain, err) != 0 ||
        put_text(p, d->isolation, &row.isolation, err) != 0)
        return -1;
    for (uint64_t i = 0; i < atoll_tables_count(p->tables, ATOLL_TABLE_DEVICES); i++) {
        atoll_tables_get(p->tables, ATOLL_TABLE_DEVICES, i, &old);
        if (old.key == row.key) {
            atoll_tables_set(p->tables, ATOLL_TABLE_DEVICES, i, &row);
            return 0;
        }
    }
    return atoll_tables_append(p->tables, ATOLL_TABLE_DEVICES, &row, err);
}

struct source_key {
    const struct list *sources;
    const struct atoll_id *id;
};

static int source_matches(const void *context, uint64_t row)
{
    const struct source_key *key = context;
    return atoll_id_equal(&((const struct source *)key->sources->items)[row].id, key->id);
}

static const struct source *find_source(const struct atoll_projection *p, const struct atoll_id *id)
{
    struct source_key key = {&p->sources, id};
    uint64_t row;
    if (!atoll_row_index_find(&p->source_index, atoll_id_u64(id), source_matches, &key, &row))
        return NULL;
    return &((const struct source *)p->sources.items)[row];
}

static int add_source(struct atoll_projection *p, const char *language, const char *text, const char *origin,
                      struct atoll_err *err)
{
    struct atoll_id id = atoll_source_id(language, text);
    if (find_source(p, &id))
        return 0;
    struct source *s = list_add(&p->sources, sizeof *s, err);
    if (!s)
        return -1;
    s->id = id;
    if (put_text(p, language, &s->language, err) != 0 || put_text(p, text, &s->text, err) != 0 ||
        put_text(p, origin, &s->origin, err) != 0)
        return -1;
    return atoll_row_index_add(&p->source_index, atoll_id_u64(&id), p->sources.count - 1, err);
}

static struct projection_task *find_task(const struct atoll_projection *p, uint32_t number)
{
    return number < p->tasks.count ? &((struct projection_task *)p->tasks.items)[number] : NULL;
}

static int add_task_texts(struct atoll_projection *p, const struct atoll_task *task,
                          struct atoll_row_task *row, struct atoll_err *err)
{
    if (put_text(p, task->name, &row->name, err) != 0 ||
        put_text(p, task->summary, &row->summary, err) != 0 ||
        put_text(p, task->reference_source, &row->reference, err) != 0)
        return -1;
    for (size_t i = 0; i < task->seed_count; i++)
        if (add_source(p, task->seeds[i].language, task->seeds[i].source, task->seeds[i].name, err) != 0)
            return -1;
    return 0;
}

/* Numbers are dense; a task that comes twice (a resume) is known already. */
static int add_task(struct atoll_projection *p, const struct atoll_event *e, struct atoll_err *err)
{
    struct atoll_row_task row;
    if (e->task != p->tasks.count)
        return 0;
    struct projection_task *t = list_add(&p->tasks, sizeof *t, err);
    if (!t)
        return -1;
    t->row = atoll_tables_count(p->tables, ATOLL_TABLE_TASKS);
    memset(&row, 0, sizeof row);
    row.task = e->task;
    if (!(t->task = atoll_task_decode(e->task_bytes, e->task_length, err)))
        return -1;
    row.id = t->task->id;
    if (add_task_texts(p, t->task, &row, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_TASKS, &row, err);
}

int atoll_projection_definition(struct atoll_projection *p, uint32_t task, const char *yaml, size_t length,
                                struct atoll_err *err)
{
    struct atoll_row_task row;
    const struct projection_task *t = find_task(p, task);
    if (!t)
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
    if (atoll_tables_add_text(p->tables, yaml, strnlen(yaml, length), &row.definition, err) != 0)
        return -1;
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
    return 0;
}

struct dispatch_key {
    const struct list *dispatches;
    uint64_t evaluation;
};

static int dispatch_matches(const void *context, uint64_t row)
{
    const struct dispatch_key *key = context;
    return ((const struct dispatch *)key->dispatches->items)[row].evaluation == key->evaluation;
}

static struct dispatch *find_dispatch(const struct atoll_projection *p, uint64_t evaluation)
{
    struct dispatch_key key = {&p->dispatches, evaluation};
    uint64_t row;
    if (!atoll_row_index_find(&p->dispatch_index, atoll_mix64(evaluation), dispatch_matches, &key, &row))
        return NULL;
    return &((struct dispatch *)p->dispatches.items)[row];
}

static int add_dispatch(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    if (find_dispatch(p, d->evaluation))
        return 0;
    struct dispatch *x = list_add(&p->dispatches, sizeof *x, err);
    if (!x)
        return -1;
    *x = (struct dispatch){d->evaluation, d->task, d->island, d->candidate, d->elite, 0};
    return atoll_row_index_add(&p->dispatch_index, atoll_mix64(d->evaluation), p->dispatches.count - 1, err);
}

struct candidate_key {
    const struct atoll_id *ids;
    const struct atoll_id *id;
};

static int candidate_matches(const void *context, uint64_t row)
{
    const struct candidate_key *key = context;
    return atoll_id_equal(&key->ids[row], key->id);
}

/* Row in candidates, -1. */
static int64_t find_candidate(const struct atoll_projection *p, const struct atoll_id *id)
{
    struct candidate_key key = {atoll_tables_column(p->tables, ATOLL_TABLE_CANDIDATES, 1), id};
    uint64_t row;
    return atoll_row_index_find(&p->candidate_index, atoll_id_u64(id), candidate_matches, &key, &row)
               ? (int64_t)row
               : -1;
}

static const char *choice_numbers(const struct atoll_choice *choice, char *ret_text, size_t bytes)
{
    size_t at = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < choice->count && i < ATOLL_PLAN_PARAM_LIMIT && at < bytes; i++)
        at +=
            (size_t)snprintf(ret_text + at, bytes - at, "%s%lld", i ? " " : "", (long long)choice->values[i]);
    return ret_text;
}

/* Plan and choice in words; a source that has no valid plan keeps its bare numbers. */
static int describe_plan(struct atoll_projection *p, const struct atoll_decision *d, const struct source *s,
                         struct atoll_row_candidate *row, struct atoll_err *err)
{
    char text[1024];
    const char *body, *choice;
    const struct projection_task *t = find_task(p, d->task);
    atoll_arena_reset(p->arena);
    const struct atoll_plan *plan =
        t && s ? atoll_plan_parse(p->arena, t->task, atoll_tables_text(p->tables, s->language),
                                  atoll_tables_text(p->tables, s->text), &body, NULL)
               : NULL;
    if (plan && plan->param_count == d->choice.count)
        choice = atoll_choice_text(plan, &d->choice, text, sizeof text);
    else
        choice = choice_numbers(&d->choice, text, sizeof text);
    return put_text(p, plan ? plan->canonical : "", &row->plan, err) != 0
               ? -1
               : put_text(p, choice, &row->choice, err);
}

static int add_candidate(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_candidate row;
    if (find_candidate(p, &d->candidate) >= 0)
        return 0;
    const struct source *s = find_source(p, &d->source);
    memset(&row, 0, sizeof row);
    row.id = d->candidate;
    row.event = p->event;
    row.evaluation = d->evaluation;
    row.campaign_ns = p->campaign_ns;
    row.task = d->task;
    row.island = d->island;
    row.generation = d->generation;
    row.operator_ = (uint8_t)d->op;
    row.parent = d->parent;
    row.source_id = d->source;
    row.language = s ? s->language : 0;
    row.source = s ? s->text : 0;
    row.origin = s ? s->origin : 0;
    if (describe_plan(p, d, s, &row, err) != 0 || !list_add(&p->floors, sizeof(double), err) ||
        atoll_tables_append(p->tables, ATOLL_TABLE_CANDIDATES, &row, err) != 0)
        return -1;
    return atoll_row_index_add(&p->candidate_index, atoll_id_u64(&row.id),
                               atoll_tables_count(p->tables, ATOLL_TABLE_CANDIDATES) - 1, err);
}

static int add_samples(struct atoll_projection *p, const struct atoll_evaluation *e,
                       const struct atoll_timing *t, struct atoll_err *err)
{
    struct atoll_row_sample row = {.event = p->event, .evaluation = e->evaluation, .variant = t->variant};
    for (size_t i = 0; i < t->sample_count; i++) {
        row.number = (uint32_t)i;
        row.time_ns = t->samples_ns[i];
        if (atoll_tables_append(p->tables, ATOLL_TABLE_SAMPLES, &row, err) != 0)
            return -1;
    }
    return 0;
}

static int add_timing(struct atoll_projection *p, const struct atoll_evaluation *e,
                      const struct atoll_timing *t, const struct atoll_task *task, struct atoll_err *err)
{
    const struct atoll_summary *s = &t->summary;
    struct atoll_row_timing row = {.event = p->event,
                                   .evaluation = e->evaluation,
                                   .variant = t->variant,
                                   .flags = t->flags,
                                   .sample_count = (uint32_t)t->sample_count,
                                   .discarded_count = t->discarded_count,
                                   .min_ns = s->min,
                                   .p10_ns = s->p10,
                                   .median_ns = s->median,
                                   .p90_ns = s->p90,
                                   .max_ns = s->max,
                                   .lo95_ns = s->lo95,
                                   .hi95_ns = s->hi95,
                                   .relative_half_width = s->relative_half_width,
                                   .floor_ns = t->floor_ns,
                                   .resolution_ns = t->resolution_ns};
    const char *name = task && t->variant < task->variant_count ? task->variants[t->variant].name : "";
    if (put_text(p, name, &row.variant_name, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_TIMINGS, &row, err) != 0)
        return -1;
    return add_samples(p, e, t, err);
}

static void count_evaluation(struct atoll_projection *p, const struct projection_task *t,
                             const struct atoll_row_evaluation *e)
{
    struct atoll_row_task row;
    int64_t candidate = find_candidate(p, &e->candidate);
    if (candidate >= 0 && e->floor_ns > 0)
        ((double *)p->floors.items)[candidate] = e->floor_ns;
    if (!t || e->verdict == ATOLL_V_INFRASTRUCTURE)
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
    row.evaluated++;
    row.correct += e->verdict == ATOLL_V_CORRECT;
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
}

static double baseline_of(const struct atoll_projection *p, const struct projection_task *t)
{
    struct atoll_row_task row;
    if (!t)
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
    return row.baseline_ns;
}

static int add_evaluation(struct atoll_projection *p, const struct atoll_evaluation *e, struct atoll_err *err)
{
    struct dispatch *order = find_dispatch(p, e->evaluation);
    if (!order || order->answered)
        return 0; /* never ordered, or answered already: the engine ignores it too */
    const struct projection_task *t = find_task(p, order->task);
    struct atoll_row_evaluation row = {.event = p->event,
                                       .evaluation = e->evaluation,
                                       .candidate = e->candidate,
                                       .task = order->task,
                                       .device = e->device,
                                       .verdict = (uint8_t)e->verdict,
                                       .level = (uint8_t)e->level,
                                       .memory = e->behaviour.memory,
                                       .algorithm = e->behaviour.algorithm,
                                       .coordination = e->behaviour.coordination,
                                       .binary = e->binary,
                                       .started_unix_ns = e->started_unix_ns,
                                       .campaign_ns = p->campaign_ns,
                                       .compile_ns = e->compile_ns,
                                       .check_ns = e->check_ns,
                                       .sampling_ns = e->sampling_ns,
                                       .occupied_ns = e->occupied_ns,
                                       .candidate_ns = e->candidate_ns,
                                       .code_bytes = e->code_bytes,
                                       .draw_count = e->draw_count,
                                       .fully_compared_count = e->fully_compared_count,
                                       .worst_error = e->worst_error};
    if (t) {
        row.time_ns = atoll_evaluation_time_ns(e, t->task);
        row.floor_ns = atoll_evaluation_floor_ns(e, t->task);
        row.fitness = atoll_fitness(p->form, e->verdict, row.time_ns, baseline_of(p, t), row.floor_ns);
    }
    order->answered = e->verdict != ATOLL_V_INFRASTRUCTURE;
    if (put_text(p, e->detail, &row.detail, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_EVALUATIONS, &row, err) != 0)
        return -1;
    for (size_t i = 0; i < e->timing_count; i++)
        if (add_timing(p, e, &e->timings[i], t ? t->task : NULL, err) != 0)
            return -1;
    count_evaluation(p, t, &row);
    return 0;
}

/* Promotions, no-ops and finals leave their traces in tasks and campaign. */
static void count_duel(struct atoll_projection *p, const struct atoll_duel *d,
                       const struct projection_task *t)
{
    struct atoll_row_campaign campaign;
    struct atoll_row_task row;
    uint32_t carried_out = d->verdict == ATOLL_V_CORRECT;
    if (d->purpose == ATOLL_DUEL_NOOP && carried_out) {
        atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
        campaign.noop_challenges++;
        campaign.noop_promotions += d->better != 0;
        atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    }
    if (!t || d->purpose == ATOLL_DUEL_NOOP)
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
    if (d->purpose == ATOLL_DUEL_PROMOTION) {
        row.challenges += carried_out;
        row.promotions += d->better ? carried_out : 0;
    } else {
        row.final_ratio = carried_out ? d->ratio : 0;
        row.final_p = d->p_value;
        row.final_baseline_ns = d->elite_ns;
        row.final_best_ns = d->challenger_ns;
        row.final_pairs = d->pair_count;
        row.final_verdict = (uint8_t)d->verdict;
    }
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
}

static int add_duel(struct atoll_projection *p, const struct atoll_duel *d, struct atoll_err *err)
{
    struct dispatch *order = find_dispatch(p, d->evaluation);
    if (!order || order->answered)
        return 0;
    struct atoll_row_duel row = {.event = p->event,
                                 .evaluation = d->evaluation,
                                 .task = order->task,
                                 .island = order->island,
                                 .purpose = (uint8_t)d->purpose,
                                 .verdict = (uint8_t)d->verdict,
                                 .better = d->better != 0,
                                 .challenger = order->candidate,
                                 .elite = order->elite,
                                 .ratio = d->ratio,
                                 .p_value = d->p_value,
                                 .pair_count = d->pair_count,
                                 .elite_ns = d->elite_ns,
                                 .challenger_ns = d->challenger_ns,
                                 .occupied_ns = d->occupied_ns,
                                 .candidate_ns = d->candidate_ns,
                                 .device = d->device,
                                 .campaign_ns = p->campaign_ns};
    order->answered = d->verdict != ATOLL_V_INFRASTRUCTURE;
    if (put_text(p, d->detail, &row.detail, err) != 0)
        return -1;
    count_duel(p, d, find_task(p, order->task));
    return atoll_tables_append(p->tables, ATOLL_TABLE_DUELS, &row, err);
}

int atoll_projection_event(struct atoll_projection *p, uint64_t number, const struct atoll_event *e,
                           struct atoll_err *err)
{
    struct atoll_row_campaign campaign;
    p->event = number;
    p->campaign_ns = e->campaign_ns;
    p->ordinal = 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    campaign.events = number + 1;
    campaign.campaign_ns = e->campaign_ns;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    switch (e->type) {
    case ATOLL_EVENT_TASK: return add_task(p, e, err);
    case ATOLL_EVENT_SOURCE: return add_source(p, e->language, e->source, e->origin, err);
    case ATOLL_EVENT_EVALUATED: return add_evaluation(p, &e->evaluation, err);
    case ATOLL_EVENT_DUELLED: return add_duel(p, &e->duel, err);
    default: return 0;
    }
}

static int add_elite(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_elite row = {.event = p->event,
                                  .ordinal = p->ordinal,
                                  .task = d->task,
                                  .island = d->island,
                                  .memory = d->cell.memory,
                                  .algorithm = d->cell.algorithm,
                                  .coordination = d->cell.coordination,
                                  .candidate = d->candidate,
                                  .replaced = d->elite,
                                  .time_ns = d->time_ns,
                                  .fitness = d->fitness,
                                  .campaign_ns = p->campaign_ns};
    return atoll_tables_append(p->tables, ATOLL_TABLE_ELITES, &row, err);
}

static int add_migration(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_migration row = {.event = p->event,
                                      .ordinal = p->ordinal,
                                      .task = d->task,
                                      .from_island = d->island,
                                      .to_island = d->other_island,
                                      .candidate = d->candidate,
                                      .campaign_ns = p->campaign_ns};
    return atoll_tables_append(p->tables, ATOLL_TABLE_MIGRATIONS, &row, err);
}

static int add_decision(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_decision row = {.event = p->event,
                                     .ordinal = p->ordinal,
                                     .type = (uint8_t)d->type,
                                     .task = d->task,
                                     .evaluation = d->evaluation,
                                     .candidate = d->candidate,
                                     .time_ns = d->time_ns,
                                     .reason = (uint8_t)d->reason,
                                     .campaign_ns = p->campaign_ns};
    return atoll_tables_append(p->tables, ATOLL_TABLE_DECISIONS, &row, err);
}

/* BASELINE, BEST, TASK_DONE. */
static void update_task(struct atoll_projection *p, const struct atoll_decision *d)
{
    struct atoll_row_task row;
    const struct projection_task *t = find_task(p, d->task);
    if (!t)
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
    int64_t candidate = find_candidate(p, &d->candidate);
    if (d->type == ATOLL_DECIDE_TASK_DONE) {
        row.done = 1;
        row.reason = (uint8_t)d->reason;
    } else if (d->type == ATOLL_DECIDE_BASELINE) {
        row.baseline = d->candidate;
        row.baseline_ns = d->time_ns;
    } else {
        row.best = d->candidate;
        row.best_ns = d->time_ns;
        row.best_fitness = d->fitness;
        row.floor_ns = candidate >= 0 ? ((double *)p->floors.items)[candidate] : 0;
    }
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, t->row, &row);
}

static void update_campaign(struct atoll_projection *p, const struct atoll_decision *d)
{
    struct atoll_row_campaign row;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
    row.stop_reason = (uint8_t)d->reason;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
}

static int project_decision(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    switch (d->type) {
    case ATOLL_DECIDE_EVALUATE: return add_dispatch(p, d, err) != 0 ? -1 : add_candidate(p, d, err);
    case ATOLL_DECIDE_DUEL: return add_dispatch(p, d, err);
    case ATOLL_DECIDE_ELITE: return add_elite(p, d, err);
    case ATOLL_DECIDE_MIGRATE: return add_migration(p, d, err);
    case ATOLL_DECIDE_BASELINE:
    case ATOLL_DECIDE_BEST:
    case ATOLL_DECIDE_TASK_DONE: update_task(p, d); return 0;
    case ATOLL_DECIDE_STOP: update_campaign(p, d); return 0;
    default: return 0;
    }
}

int atoll_projection_decision(struct atoll_projection *p, uint64_t event, const struct atoll_decision *d,
                              struct atoll_err *err)
{
    p->event = event;
    if (project_decision(p, d, err) != 0 || add_decision(p, d, err) != 0)
        return -1;
    p->ordinal++;
    return 0;
}

static int project_event_bytes(struct atoll_projection *p, const struct atoll_record *record,
                               struct atoll_err *err)
{
    struct atoll_event e;
    atoll_arena_reset(p->arena);
    atoll_event_init(&e, ATOLL_EVENT_TICK);
    if (atoll_event_decode(record->bytes, record->length, p->arena, &e, err) != 0)
        return -1;
    int failed = atoll_projection_event(p, record->event, &e, err);
    atoll_event_fini(&e);
    return failed;
}

int atoll_projection_record(struct atoll_projection *p, const struct atoll_record *record,
                            struct atoll_err *err)
{
    struct atoll_decision d;
    size_t cursor = 0;
    int got;
    switch (record->type) {
    case ATOLL_RECORD_EVENT: return project_event_bytes(p, record, err);
    case ATOLL_RECORD_DEVICE: return atoll_projection_device(p, &record->device, err);
    case ATOLL_RECORD_DECISIONS:
        while ((got = atoll_record_decision(record, &cursor, &d, err)) == 1)
            if (atoll_projection_decision(p, record->event, &d, err) != 0)
                return -1;
        return got;
    default: return 0;
    }
}

struct atoll_tables *atoll_projection_cut(struct atoll_projection *p, struct atoll_err *err)
{
    struct atoll_row_copier copier;
    union atoll_any_row row;
    struct atoll_tables *cut = atoll_tables_create(ATOLL_TABLES_LIMIT_BYTES, err);
    if (!cut || atoll_row_copier_init(&copier, cut, p->tables, err) != 0) {
        atoll_tables_destroy(cut);
        return NULL;
    }
    int failed = 0;
    for (size_t t = 0; !failed && t < ATOLL_TABLE_COUNT; t++) {
        uint64_t begin = t <= ATOLL_TABLE_DEVICES ? 0 : p->marks[t],
                 end = atoll_tables_count(p->tables, (enum atoll_table)t);
        for (uint64_t i = begin; !failed && i < end; i++)
            failed = atoll_row_copier_get(&copier, (enum atoll_table)t, i, &row, err) != 0 ||
                     atoll_tables_append(cut, (enum atoll_table)t, &row, err) != 0;
    }
    atoll_row_copier_fini(&copier);
    if (failed) {
        atoll_tables_destroy(cut);
        return NULL;
    }
    for (size_t t = 0; t < ATOLL_TABLE_COUNT; t++)
        p->marks[t] = atoll_tables_count(p->tables, (enum atoll_table)t);
    return cut;
}

static int project_visit(void *context, const struct atoll_attempt *attempt,
                         const struct atoll_record *record, struct atoll_err *err)
{
    if (atoll_projection_record(context, record, err) != 0)
        return atoll_err_add(err, "in jobs/%s at offset %llu", attempt->name,
                             (unsigned long long)record->offset);
    return 0;
}

/* task.yaml is not in the journal; the campaign's copy is at hand. */
static int add_definitions(struct atoll_projection *p, const struct atoll_campaign_config *config,
                           struct atoll_err *err)
{
    for (size_t i = 0; i < config->task_count; i++) {
        char path[PATH_MAX];
        size_t length;
        if ((size_t)snprintf(path, sizeof path, "%s/task.yaml", config->tasks[i].dir) >= sizeof path)
            continue;
        char *yaml = atoll_file_read(path, ATOLL_TASK_FILE_LIMIT, &length, NULL);
        int failed = yaml ? atoll_projection_definition(p, (uint32_t)i, yaml, length, err) : 0;
        free(yaml);
        if (failed)
            return -1;
    }
    return 0;
}

struct atoll_projection *atoll_projection_of_campaign(const struct atoll_campaign *campaign,
                                                      struct atoll_replay_report *ret_report,
                                                      struct atoll_err *err)
{
    const struct atoll_campaign_config *config = atoll_campaign_config(campaign);
    struct atoll_projection *p = atoll_projection_create(config, err);
    if (p && (atoll_campaign_replay(campaign, project_visit, p, ret_report, err) != 0 ||
              add_definitions(p, config, err) != 0)) {
        atoll_projection_destroy(p);
        return NULL;
    }
    return p;
}
