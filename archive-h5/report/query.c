/* query.c - an index of candidates by id and, per candidate, task and evaluation, the rows that belong to it. */
#include "archive-h5/report/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"
#include "core/ask.h"
#include "core/event.h"
#include "core/verdict.h"

/* Rows grouped by owner: rows[begin[o] .. begin[o + 1]). */
struct groups {
    uint32_t *begin, *rows; /* owned */
    size_t owner_count;
};

struct atoll_query {
    const struct atoll_tables *tables;
    struct atoll_index candidates, evaluations, writers; /* writers: of a source, by its id */
    struct groups by_candidate, by_task, rivals, decisions, duels, asks, timings, samples, profiles;
    struct atoll_index tasks, judgements; /* judgements by source */
};

struct candidate_key {
    const struct atoll_id *ids;
    const uint32_t *campaigns;
    uint32_t campaign;
    const struct atoll_id *id;
};

static int candidate_matches(const void *context, uint32_t row)
{
    const struct candidate_key *key = context;
    return key->campaigns[row] == key->campaign && atoll_id_equal(&key->ids[row], key->id);
}

int64_t atoll_query_candidate(const struct atoll_query *q, uint32_t campaign, const struct atoll_id *id)
{
    struct candidate_key key = {atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "id"),
                                atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "campaign"),
                                campaign, id};
    uint32_t row = atoll_index_find(&q->candidates, atoll_id_u64(id), candidate_matches, &key);
    return row == ATOLL_NONE ? -1 : (int64_t)row;
}

struct source_key {
    const struct atoll_id *sources;
    const uint32_t *campaigns;
    uint32_t campaign;
    const struct atoll_id *source;
};

static int source_matches(const void *context, uint32_t row)
{
    const struct source_key *key = context;
    return key->campaigns[row] == key->campaign && atoll_id_equal(&key->sources[row], key->source);
}

int64_t atoll_query_writer(const struct atoll_query *q, uint32_t campaign, const struct atoll_id *source)
{
    struct source_key key = {atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "source_id"),
                             atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "campaign"),
                             campaign, source};
    uint32_t row = atoll_index_find(&q->writers, atoll_id_u64(source), source_matches, &key);
    return row == ATOLL_NONE ? -1 : (int64_t)row;
}

/* The first of each source. */
static int index_writers(struct atoll_query *q, struct atoll_err *err)
{
    const struct atoll_id *sources =
        atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "source_id");
    const uint32_t *campaigns = atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "campaign");
    const uint8_t *operators = atoll_tables_column_named(q->tables, ATOLL_TABLE_CANDIDATES, "operator");
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_CANDIDATES); i++)
        if (operators[i] != ATOLL_OPERATOR_TUNE && operators[i] != ATOLL_OPERATOR_NULL_CONTROL &&
            atoll_query_writer(q, campaigns[i], &sources[i]) < 0 &&
            atoll_index_add(&q->writers, atoll_id_u64(&sources[i]), (uint32_t)i, err) != 0)
            return -1;
    return 0;
}

struct event_key {
    const uint64_t *events;
    const uint32_t *campaigns;
    uint64_t event;
    uint32_t campaign;
};

static int event_matches(const void *context, uint32_t row)
{
    const struct event_key *key = context;
    return key->campaigns[row] == key->campaign && key->events[row] == key->event;
}

struct task_key {
    const uint32_t *campaigns, *tasks, *models;
    uint32_t campaign, task, model;
};

static int task_matches(const void *context, uint32_t row)
{
    const struct task_key *key = context;
    return key->campaigns[row] == key->campaign && key->tasks[row] == key->task &&
           key->models[row] == key->model;
}

static uint64_t task_hash(uint32_t campaign, uint32_t task, uint32_t model)
{
    return (uint64_t)campaign << 40 ^ (uint64_t)task << 8 ^ model;
}

static int64_t find_task(const struct atoll_query *q, uint32_t campaign, uint32_t task, uint32_t model)
{
    struct task_key key = {atoll_tables_column_named(q->tables, ATOLL_TABLE_TASKS, "campaign"),
                           atoll_tables_column_named(q->tables, ATOLL_TABLE_TASKS, "task"),
                           atoll_tables_column_named(q->tables, ATOLL_TABLE_TASKS, "model"),
                           campaign,
                           task,
                           model};
    uint32_t row = atoll_index_find(&q->tasks, task_hash(campaign, task, model), task_matches, &key);
    return row == ATOLL_NONE ? -1 : (int64_t)row;
}

int64_t atoll_query_task_row(const struct atoll_query *q, uint32_t campaign, uint32_t task, uint32_t model)
{
    int64_t row = find_task(q, campaign, task, model);
    for (uint32_t other = 0; row < 0 && other < ATOLL_MODEL_LIMIT; other++)
        row = find_task(q, campaign, task, other);
    return row;
}

/* Row in tasks of the population that a row of a table belongs to; -1. */
static int64_t task_of(const struct atoll_query *q, enum atoll_table table, uint64_t of)
{
    const uint32_t *campaigns = atoll_tables_column_named(q->tables, table, "campaign"),
                   *tasks = atoll_tables_column_named(q->tables, table, "task"),
                   *models = atoll_tables_column_named(q->tables, table, "model");
    return find_task(q, campaigns[of], tasks[of], models[of]);
}

/* The rows of a table by owner: evaluations by candidate or task, rivals, decisions, duels and asks by task, the rows of other tables by evaluation.  Counting sort, which
 * keeps the order of rows; rows without owner are left out. */
static int group(struct atoll_query *q, struct groups *g, enum atoll_table table, enum atoll_table owner,
                 struct atoll_err *err)
{
    int by_candidate = owner == ATOLL_TABLE_CANDIDATES;
    const struct atoll_id *ids =
        by_candidate ? atoll_tables_column_named(q->tables, table, "candidate") : NULL;
    const uint64_t *events = atoll_tables_column_named(q->tables, table, "event");
    const uint32_t *campaigns = atoll_tables_column_named(q->tables, table, "campaign");
    const uint64_t *evaluation_events =
        atoll_tables_column_named(q->tables, ATOLL_TABLE_EVALUATIONS, "event");
    const uint32_t *evaluation_campaigns =
        atoll_tables_column_named(q->tables, ATOLL_TABLE_EVALUATIONS, "campaign");
    uint64_t row_count = atoll_tables_count(q->tables, table);
    uint64_t owner_count = atoll_tables_count(q->tables, owner);
    int64_t *owners = malloc((size_t)(row_count + 1) * sizeof(*owners));
    g->owner_count = (size_t)owner_count;
    g->begin = calloc((size_t)owner_count + 2, sizeof(*g->begin));
    g->rows = malloc((size_t)(row_count + 1) * sizeof(*g->rows));
    if (!owners || !g->begin || !g->rows) {
        free(owners);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to index the archive");
    }
    for (uint64_t i = 0; i < row_count; i++) {
        if (by_candidate) {
            owners[i] = atoll_query_candidate(q, campaigns[i], &ids[i]);
        } else if (owner == ATOLL_TABLE_TASKS) {
            owners[i] = task_of(q, table, i);
        } else {
            struct event_key key = {evaluation_events, evaluation_campaigns, events[i], campaigns[i]};
            uint32_t row = atoll_index_find(&q->evaluations, events[i], event_matches, &key);
            owners[i] = row == ATOLL_NONE ? -1 : (int64_t)row;
        }
        if (owners[i] >= 0)
            g->begin[owners[i] + 2]++;
    }
    for (uint64_t o = 2; o < owner_count + 2; o++)
        g->begin[o] += g->begin[o - 1];
    for (uint64_t i = 0; i < row_count; i++)
        if (owners[i] >= 0)
            g->rows[g->begin[owners[i] + 1]++] = (uint32_t)i;
    free(owners);
    return 0;
}

struct atoll_query *atoll_query_create(const struct atoll_tables *t, struct atoll_err *err)
{
    struct atoll_query *q = calloc(1, sizeof(*q));
    if (!q) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to index the archive");
        return NULL;
    }
    q->tables = t;
    const struct atoll_id *ids = atoll_tables_column_named(t, ATOLL_TABLE_CANDIDATES, "id");
    const uint64_t *events = atoll_tables_column_named(t, ATOLL_TABLE_EVALUATIONS, "event");
    int failed = 0;
    for (uint64_t i = 0; !failed && i < atoll_tables_count(t, ATOLL_TABLE_CANDIDATES); i++)
        failed = atoll_index_add(&q->candidates, atoll_id_u64(&ids[i]), (uint32_t)i, err);
    for (uint64_t i = 0; !failed && i < atoll_tables_count(t, ATOLL_TABLE_EVALUATIONS); i++)
        failed = atoll_index_add(&q->evaluations, events[i], (uint32_t)i, err);
    for (uint64_t i = 0; !failed && i < atoll_tables_count(t, ATOLL_TABLE_TASKS); i++) {
        struct atoll_row_task row;
        atoll_tables_get(t, ATOLL_TABLE_TASKS, i, &row);
        failed = atoll_index_add(&q->tasks, task_hash(row.campaign, row.task, row.model), (uint32_t)i, err);
    }
    const struct atoll_id *sources = atoll_tables_column_named(t, ATOLL_TABLE_JUDGEMENTS, "source_id");
    for (uint64_t i = 0; !failed && i < atoll_tables_count(t, ATOLL_TABLE_JUDGEMENTS); i++)
        failed = atoll_index_add(&q->judgements, atoll_id_u64(&sources[i]), (uint32_t)i, err);
    if (failed || index_writers(q, err) != 0 ||
        group(q, &q->by_candidate, ATOLL_TABLE_EVALUATIONS, ATOLL_TABLE_CANDIDATES, err) != 0 ||
        group(q, &q->by_task, ATOLL_TABLE_EVALUATIONS, ATOLL_TABLE_TASKS, err) != 0 ||
        group(q, &q->rivals, ATOLL_TABLE_RIVALS, ATOLL_TABLE_TASKS, err) != 0 ||
        group(q, &q->decisions, ATOLL_TABLE_DECISIONS, ATOLL_TABLE_TASKS, err) != 0 ||
        group(q, &q->duels, ATOLL_TABLE_DUELS, ATOLL_TABLE_TASKS, err) != 0 ||
        group(q, &q->asks, ATOLL_TABLE_ASKS, ATOLL_TABLE_TASKS, err) != 0 ||
        group(q, &q->timings, ATOLL_TABLE_TIMINGS, ATOLL_TABLE_EVALUATIONS, err) != 0 ||
        group(q, &q->samples, ATOLL_TABLE_SAMPLES, ATOLL_TABLE_EVALUATIONS, err) != 0 ||
        group(q, &q->profiles, ATOLL_TABLE_PROFILES, ATOLL_TABLE_EVALUATIONS, err) != 0) {
        atoll_query_destroy(q);
        return NULL;
    }
    return q;
}

void atoll_query_destroy(struct atoll_query *q)
{
    if (!q)
        return;
    atoll_index_fini(&q->candidates);
    atoll_index_fini(&q->evaluations);
    atoll_index_fini(&q->tasks);
    atoll_index_fini(&q->judgements);
    atoll_index_fini(&q->writers);
    struct groups *const groups[] = {&q->by_candidate, &q->by_task, &q->rivals,  &q->decisions, &q->duels,
                                     &q->asks,         &q->timings, &q->samples, &q->profiles};
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        free(groups[i]->begin);
        free(groups[i]->rows);
    }
    free(q);
}

const struct atoll_tables *atoll_query_tables(const struct atoll_query *q)
{
    return q->tables;
}

static struct atoll_rows rows_of(const struct groups *g, uint64_t owner)
{
    if (owner >= g->owner_count)
        return (struct atoll_rows){NULL, 0};
    return (struct atoll_rows){g->rows + g->begin[owner], g->begin[owner + 1] - g->begin[owner]};
}

struct atoll_rows atoll_query_evaluations(const struct atoll_query *q, uint64_t candidate_row)
{
    return rows_of(&q->by_candidate, candidate_row);
}

struct atoll_rows atoll_query_task_evaluations(const struct atoll_query *q, uint64_t task_row)
{
    return rows_of(&q->by_task, task_row);
}

struct atoll_rows atoll_query_task_rivals(const struct atoll_query *q, uint64_t task_row)
{
    return rows_of(&q->rivals, task_row);
}

struct atoll_rows atoll_query_task_decisions(const struct atoll_query *q, uint64_t task_row)
{
    return rows_of(&q->decisions, task_row);
}

struct atoll_rows atoll_query_task_duels(const struct atoll_query *q, uint64_t task_row)
{
    return rows_of(&q->duels, task_row);
}

struct atoll_rows atoll_query_task_asks(const struct atoll_query *q, uint64_t task_row)
{
    return rows_of(&q->asks, task_row);
}

struct atoll_rows atoll_query_timings(const struct atoll_query *q, uint64_t evaluation_row)
{
    return rows_of(&q->timings, evaluation_row);
}

struct atoll_rows atoll_query_samples(const struct atoll_query *q, uint64_t evaluation_row)
{
    return rows_of(&q->samples, evaluation_row);
}

struct judgement_key {
    const struct atoll_tables *tables;
    const struct atoll_row_candidate *of;
    int64_t last; /* row so far, -1 = none */
};

/* Takes no row, so that it is asked for each: the last one counts. */
static int note_judgement(const void *context, uint32_t row)
{
    struct judgement_key *key = *(struct judgement_key *const *)context;
    struct atoll_row_judgement j;
    if ((int64_t)row <= key->last)
        return 0;
    atoll_tables_get(key->tables, ATOLL_TABLE_JUDGEMENTS, row, &j);
    if (j.campaign == key->of->campaign && j.task == key->of->task && j.model == key->of->model &&
        atoll_id_equal(&j.source_id, &key->of->source_id))
        key->last = row;
    return 0;
}

int atoll_query_judgement(const struct atoll_query *q, const struct atoll_row_candidate *c,
                          struct atoll_row_judgement *ret)
{
    struct judgement_key key = {q->tables, c, -1}, *context = &key;
    atoll_index_find(&q->judgements, atoll_id_u64(&c->source_id), note_judgement, &context);
    if (key.last >= 0)
        atoll_tables_get(q->tables, ATOLL_TABLE_JUDGEMENTS, (uint64_t)key.last, ret);
    return key.last >= 0;
}

int atoll_query_discarded(const struct atoll_query *q, const struct atoll_row_candidate *c,
                          struct atoll_row_judgement *ret)
{
    return atoll_query_judgement(q, c, ret) && ret->discarded;
}

/* Correct and timed, then correct, then the rest; faster first. */
static double merit(const struct atoll_row_evaluation *e)
{
    if (e->verdict != ATOLL_V_CORRECT)
        return e->verdict == ATOLL_V_INFRASTRUCTURE ? 0 : 1;
    return e->time_ns > 0 ? 3 + 1 / e->time_ns : 2;
}

int64_t atoll_query_best_evaluation(const struct atoll_query *q, uint64_t candidate_row, uint32_t model)
{
    struct atoll_rows rows = atoll_query_evaluations(q, candidate_row);
    struct atoll_row_evaluation e;
    int64_t best = -1;
    double best_merit = -1;
    for (size_t i = 0; i < rows.count; i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        if ((model == ATOLL_QUERY_ANY_MODEL || e.model == model) && merit(&e) > best_merit) {
            best_merit = merit(&e);
            best = rows.rows[i];
        }
    }
    return best;
}

int64_t atoll_query_profile(const struct atoll_query *q, uint64_t evaluation_row)
{
    struct atoll_rows rows = rows_of(&q->profiles, evaluation_row);
    return rows.count ? (int64_t)rows.rows[rows.count - 1] : -1;
}

static void find_device(const struct atoll_query *q, const struct atoll_row_evaluation *e,
                        struct atoll_device_info *ret)
{
    struct atoll_row_device row;
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_DEVICES); i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_DEVICES, i, &row);
        if (row.key == e->device && row.campaign == e->campaign)
            ret->limits.multiprocessors = row.multiprocessors;
    }
}

void atoll_query_diagnosis(const struct atoll_query *q, uint64_t evaluation_row, struct atoll_diagnosis *ret)
{
    struct atoll_row_evaluation e;
    struct atoll_row_profile row;
    struct atoll_profile profile;
    struct atoll_device_info device = {.key = 0};
    int64_t profile_row = atoll_query_profile(q, evaluation_row);
    atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, evaluation_row, &e);
    atoll_row_diagnosis_get(&e, ret);
    if (profile_row < 0 || ret->error != ATOLL_ERROR_NONE)
        return;
    atoll_tables_get(q->tables, ATOLL_TABLE_PROFILES, (uint64_t)profile_row, &row);
    atoll_profile_init(&profile);
    memcpy(profile.counters, row.counters, sizeof(profile.counters));
    profile.resources.kernel_count = row.kernel_count;
    profile.resources.blocks = row.blocks;
    profile.resources.resident_blocks = row.resident_blocks;
    find_device(q, &e, &device);
    atoll_diagnosis_add_launch(ret, &profile, &device);
}

int64_t atoll_query_candidate_profile(const struct atoll_query *q, uint64_t candidate_row, uint32_t model,
                                      uint64_t *ret_evaluation)
{
    struct atoll_rows rows = atoll_query_evaluations(q, candidate_row);
    struct atoll_row_evaluation e;
    struct atoll_row_profile profile;
    int64_t best = -1;
    double best_merit = -1;
    for (size_t i = 0; i < rows.count; i++) {
        int64_t row = atoll_query_profile(q, rows.rows[i]);
        if (row < 0)
            continue;
        atoll_tables_get(q->tables, ATOLL_TABLE_PROFILES, (uint64_t)row, &profile);
        atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        double worth = 8.0 * profile.tier + merit(&e);
        if ((model == ATOLL_QUERY_ANY_MODEL || e.model == model) && worth > best_merit) {
            best_merit = worth;
            best = row;
            *ret_evaluation = rows.rows[i];
        }
    }
    return best;
}

size_t atoll_query_lineage(const struct atoll_query *q, uint64_t candidate_row, uint64_t *ret_rows,
                           size_t limit)
{
    struct atoll_row_candidate c;
    size_t count = 0;
    int64_t at = (int64_t)candidate_row;
    while (at >= 0 && count < limit) {
        for (size_t i = 0; i < count; i++)
            if (ret_rows[i] == (uint64_t)at)
                return count;
        ret_rows[count++] = (uint64_t)at;
        atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)at, &c);
        at = atoll_id_is_zero(&c.parent) ? -1 : atoll_query_candidate(q, c.campaign, &c.parent);
    }
    return count;
}
