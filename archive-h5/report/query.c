/* query.c - an index of candidates by id and, per candidate and evaluation, the rows that belong to it. */
#include "archive-h5/report/query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"
#include "core/ask.h"
#include "core/evaluation.h"
#include "core/fitness.h"
#include "base/random.h"
#include "base/spelling.h"

#define ID_DIGITS_LEAST 7 /* as git prints */

#define SOURCES_LOOKED_AT 64 /* of a task, for those none of whose combinations compiles */

/* Rows grouped by owner: rows[begin[o] .. begin[o + 1]). */
struct groups {
    uint32_t *begin, *rows; /* owned */
    size_t owner_count;
};

struct atoll_query {
    const struct atoll_tables *tables;
    struct atoll_index candidates, evaluations;
    struct groups by_candidate, by_task, timings, samples, profiles;
    struct atoll_index tasks;
};

const double atoll_fast_thresholds[5] = {1.0, 1.5, 2.0, 3.0, 5.0};

static const void *column(const struct atoll_tables *t, enum atoll_table table, const char *name)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    for (size_t c = 0; c < schema->column_count; c++)
        if (!strcmp(schema->columns[c].name, name))
            return atoll_tables_column(t, table, c);
    return NULL;
}

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
    struct candidate_key key = {column(q->tables, ATOLL_TABLE_CANDIDATES, "id"),
                                column(q->tables, ATOLL_TABLE_CANDIDATES, "campaign"), campaign, id};
    uint32_t row = atoll_index_find(&q->candidates, atoll_id_u64(id), candidate_matches, &key);
    return row == ATOLL_NONE ? -1 : (int64_t)row;
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

/* Row in tasks of the population an evaluation belongs to; -1. */
static int64_t task_of(const struct atoll_query *q, uint64_t evaluation_row)
{
    const uint32_t *campaigns = column(q->tables, ATOLL_TABLE_EVALUATIONS, "campaign"),
                   *tasks = column(q->tables, ATOLL_TABLE_EVALUATIONS, "task"),
                   *models = column(q->tables, ATOLL_TABLE_EVALUATIONS, "model");
    struct task_key key = {column(q->tables, ATOLL_TABLE_TASKS, "campaign"),
                           column(q->tables, ATOLL_TABLE_TASKS, "task"),
                           column(q->tables, ATOLL_TABLE_TASKS, "model"),
                           campaigns[evaluation_row],
                           tasks[evaluation_row],
                           models[evaluation_row]};
    uint32_t row =
        atoll_index_find(&q->tasks, task_hash(key.campaign, key.task, key.model), task_matches, &key);
    return row == ATOLL_NONE ? -1 : (int64_t)row;
}

/* The rows of a table by owner: evaluations by candidate or task, the rows of other tables by evaluation.  Counting sort, which
 * keeps the order of rows; rows without owner are left out. */
static int group(struct atoll_query *q, struct groups *g, enum atoll_table table, enum atoll_table owner,
                 struct atoll_err *err)
{
    int by_candidate = owner == ATOLL_TABLE_CANDIDATES;
    const struct atoll_id *ids = by_candidate ? column(q->tables, table, "candidate") : NULL;
    const uint64_t *events = column(q->tables, table, "event");
    const uint32_t *campaigns = column(q->tables, table, "campaign");
    const uint64_t *evaluation_events = column(q->tables, ATOLL_TABLE_EVALUATIONS, "event");
    const uint32_t *evaluation_campaigns = column(q->tables, ATOLL_TABLE_EVALUATIONS, "campaign");
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
            owners[i] = task_of(q, i);
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
    const struct atoll_id *ids = column(t, ATOLL_TABLE_CANDIDATES, "id");
    const uint64_t *events = column(t, ATOLL_TABLE_EVALUATIONS, "event");
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
    if (failed || group(q, &q->by_candidate, ATOLL_TABLE_EVALUATIONS, ATOLL_TABLE_CANDIDATES, err) != 0 ||
        group(q, &q->by_task, ATOLL_TABLE_EVALUATIONS, ATOLL_TABLE_TASKS, err) != 0 ||
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
    struct groups *const groups[] = {&q->by_candidate, &q->by_task, &q->timings, &q->samples, &q->profiles};
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

struct atoll_rows atoll_query_timings(const struct atoll_query *q, uint64_t evaluation_row)
{
    return rows_of(&q->timings, evaluation_row);
}

struct atoll_rows atoll_query_samples(const struct atoll_query *q, uint64_t evaluation_row)
{
    return rows_of(&q->samples, evaluation_row);
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

int atoll_query_candidate_prefix(const struct atoll_query *q, const char *prefix, uint64_t *ret_row,
                                 struct atoll_err *err)
{
    const struct atoll_id *ids = column(q->tables, ATOLL_TABLE_CANDIDATES, "id");
    size_t length = strlen(prefix);
    int64_t found = -1;
    if (length < 4 || length > 64 || strspn(prefix, "0123456789abcdef") != length) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "'%.70s' is not the start of a candidate's id; give 4 to 64 of 0-9a-f", prefix);
    }
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_CANDIDATES); i++) {
        char hex[ATOLL_ID_HEX];
        atoll_id_hex(&ids[i], hex);
        if (strncmp(hex, prefix, length) != 0)
            continue;
        if (found >= 0 && !atoll_id_equal(&ids[found], &ids[i])) {
            char first[ATOLL_ID_HEX];
            atoll_id_hex(&ids[found], first);
            return atoll_err_set(err, ATOLL_E_INPUT, "candidate %s could be %.16s or %.16s; give more digits",
                                 prefix, first, hex);
        }
        if (found < 0)
            found = (int64_t)i;
    }
    if (found < 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND,
                             "no candidate %s in this archive; atoll best lists the best ones", prefix);
    }
    *ret_row = (uint64_t)found;
    return 0;
}

static const char *task_hint(const struct atoll_query *q, const char *word,
                             char ret_hint[ATOLL_SPELLING_HINT_BYTES])
{
    size_t count = 0, task_count = (size_t)atoll_tables_count(q->tables, ATOLL_TABLE_TASKS);
    const char **names = calloc(task_count + 1, sizeof(*names));
    struct atoll_row_task task;
    for (; names && count < task_count; count++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_TASKS, count, &task);
        names[count] = atoll_tables_text(q->tables, task.name);
    }
    atoll_spelling_hint(word, names, count, "atoll best and atoll list print both", ret_hint);
    free(names);
    return ret_hint;
}

int64_t atoll_query_task_named(const struct atoll_query *q, const char *name, struct atoll_err *err)
{
    int64_t row = atoll_query_task(q, name);
    char hint[ATOLL_SPELLING_HINT_BYTES];
    return row < 0 ? atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%.70s' in the archive; %s", name,
                                   task_hint(q, name, hint))
                   : row;
}

int atoll_query_find(const struct atoll_query *q, const char *word, uint64_t *ret_row, struct atoll_err *err)
{
    size_t length = strlen(word);
    uint64_t task_count = atoll_tables_count(q->tables, ATOLL_TABLE_TASKS);
    char hint[ATOLL_SPELLING_HINT_BYTES];
    struct atoll_row_task task;
    for (uint64_t i = 0; i < task_count; i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_TASKS, i, &task);
        const char *name = atoll_tables_text(q->tables, task.name), *rest;
        size_t name_length = strlen(name);
        if (strncmp(name, word, name_length) != 0)
            continue;
        rest = word + name_length;
        if (*rest && strcmp(rest, "/baseline") != 0)
            continue;
        int64_t row = atoll_query_candidate(q, task.campaign, *rest ? &task.baseline : &task.best);
        if (row < 0) {
            return atoll_err_set(err, ATOLL_E_NOTFOUND, "task %s has no correct %s yet", name,
                                 *rest ? "baseline" : "kernel");
        }
        *ret_row = (uint64_t)row;
        return 0;
    }
    if (length >= 4 && length <= 64 && strspn(word, "0123456789abcdef") == length)
        return atoll_query_candidate_prefix(q, word, ret_row, err);
    return atoll_err_set(
        err, ATOLL_E_NOTFOUND,
        "'%.70s' is neither a task nor the start of a candidate's id (4 to 64 of 0-9a-f); %s", word,
        task_hint(q, word, hint));
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct atoll_id));
}

int atoll_query_id_digits(const struct atoll_query *q)
{
    uint64_t count = atoll_tables_count(q->tables, ATOLL_TABLE_CANDIDATES);
    struct atoll_id *ids = malloc((size_t)(count + 1) * sizeof(*ids));
    size_t shared = ID_DIGITS_LEAST - 1;
    if (!ids)
        return ATOLL_ID_HEX - 1;
    if (count)
        memcpy(ids, column(q->tables, ATOLL_TABLE_CANDIDATES, "id"), (size_t)count * sizeof(*ids));
    qsort(ids, (size_t)count, sizeof(*ids), compare_ids);
    for (uint64_t i = 1; i < count; i++) {
        char one[ATOLL_ID_HEX], other[ATOLL_ID_HEX];
        size_t same = 0;
        if (atoll_id_equal(&ids[i - 1], &ids[i])) /* of two parts of a campaign, or on two device models */
            continue;
        atoll_id_hex(&ids[i - 1], one);
        atoll_id_hex(&ids[i], other);
        while (one[same] == other[same])
            same++;
        shared = same > shared ? same : shared;
    }
    free(ids);
    return (int)shared + 1;
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

int64_t atoll_query_task(const struct atoll_query *q, const char *name)
{
    struct atoll_row_task row;
    char number[16];
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_TASKS); i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_TASKS, i, &row);
        snprintf(number, sizeof(number), "%u", row.task);
        if (!strcmp(atoll_tables_text(q->tables, row.name), name) || !strcmp(number, name))
            return (int64_t)i;
    }
    return -1;
}

const char *atoll_maker_name(enum atoll_maker maker)
{
    static const char *const names[ATOLL_MAKER_COUNT] = {"none", "seed", "tuner", "model", "migrant"};
    return maker < ATOLL_MAKER_COUNT ? names[maker] : "unknown";
}

static enum atoll_maker maker_of_operator(unsigned op)
{
    switch (op) {
    case ATOLL_OPERATOR_SEED: return ATOLL_MAKER_SEED;
    case ATOLL_OPERATOR_TUNE: return ATOLL_MAKER_TUNER;
    case ATOLL_OPERATOR_IMPORT:
    case ATOLL_OPERATOR_TRANSLATE: return ATOLL_MAKER_MIGRANT;
    case ATOLL_OPERATOR_NULL_CONTROL: return ATOLL_MAKER_NONE;
    default: return ATOLL_MAKER_MODEL;
    }
}

/* An instance of a template is made by who wrote the template, the tuner where that was a seed. */
enum atoll_maker atoll_query_maker(const struct atoll_query *q, uint64_t candidate_row)
{
    struct atoll_row_candidate c, other;
    atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, candidate_row, &c);
    enum atoll_maker maker = maker_of_operator(c.operator_);
    for (uint64_t i = 0; maker == ATOLL_MAKER_TUNER && i < candidate_row; i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, i, &other);
        if (other.campaign != c.campaign || !atoll_id_equal(&other.source_id, &c.source_id))
            continue;
        enum atoll_maker writer = maker_of_operator(other.operator_);
        if (writer == ATOLL_MAKER_SEED)
            break;
        if (writer != ATOLL_MAKER_NONE)
            maker = writer;
    }
    return maker;
}

size_t atoll_query_failures(const struct atoll_query *q, uint64_t task_row, uint64_t *ret_rows, size_t limit)
{
    struct atoll_rows rows = rows_of(&q->by_task, task_row);
    const uint8_t *verdicts = column(q->tables, ATOLL_TABLE_EVALUATIONS, "verdict");
    size_t count = 0;
    for (size_t i = rows.count; i-- > 0 && count < limit;) {
        uint8_t v = verdicts[rows.rows[i]];
        if (v != ATOLL_V_CORRECT && v != ATOLL_V_UNSTABLE && v != ATOLL_V_INFRASTRUCTURE)
            ret_rows[count++] = rows.rows[i];
    }
    return count;
}

/* Refused before anything of it could run. */
static int is_stillborn(uint8_t verdict)
{
    return verdict == ATOLL_V_BAD_PLAN || verdict == ATOLL_V_FORBIDDEN || verdict == ATOLL_V_COMPILE_ERROR;
}

/* How many combinations of a source were judged; 0 when one of them got further than its compiler. */
static uint64_t count_stillborn(const struct atoll_query *q, struct atoll_rows rows,
                                const struct atoll_id *source)
{
    struct atoll_row_evaluation e;
    struct atoll_row_candidate c;
    uint64_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        int64_t row = atoll_query_candidate(q, e.campaign, &e.candidate);
        if (row < 0 || e.verdict == ATOLL_V_INFRASTRUCTURE)
            continue;
        atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)row, &c);
        if (!atoll_id_equal(&c.source_id, source))
            continue;
        if (!is_stillborn(e.verdict))
            return 0;
        count++;
    }
    return count;
}

size_t atoll_query_dead_templates(const struct atoll_query *q, uint64_t task_row,
                                  struct atoll_dead_template *ret_templates, size_t limit)
{
    struct atoll_rows rows = rows_of(&q->by_task, task_row);
    struct atoll_id seen[SOURCES_LOOKED_AT];
    size_t seen_count = 0, count = 0;
    for (size_t i = rows.count; i-- > 0 && count < limit && seen_count < SOURCES_LOOKED_AT;) {
        struct atoll_row_evaluation e;
        struct atoll_row_candidate c;
        atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        int64_t row = is_stillborn(e.verdict) ? atoll_query_candidate(q, e.campaign, &e.candidate) : -1;
        if (row < 0)
            continue;
        atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)row, &c);
        size_t k = 0;
        while (k < seen_count && !atoll_id_equal(&seen[k], &c.source_id))
            k++;
        if (k < seen_count)
            continue;
        seen[seen_count++] = c.source_id;
        uint64_t combinations = count_stillborn(q, rows, &c.source_id);
        if (combinations > 1)
            ret_templates[count++] = (struct atoll_dead_template){(uint64_t)row, rows.rows[i], combinations};
    }
    return count;
}

static void add_verdicts(const struct atoll_query *q, uint64_t task_row, struct atoll_task_summary *s)
{
    struct atoll_rows rows = rows_of(&q->by_task, task_row);
    struct atoll_row_candidate c;
    struct atoll_row_evaluation e;
    uint64_t judged = 0;
    for (size_t i = 0; i < rows.count; i++) {
        atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        if (e.verdict >= ATOLL_VERDICT_COUNT)
            continue;
        s->verdicts[e.verdict]++;
        judged += e.verdict != ATOLL_V_UNSTABLE && e.verdict != ATOLL_V_INFRASTRUCTURE;
        int64_t candidate = e.verdict == ATOLL_V_CORRECT && e.time_ns > 0
                                ? atoll_query_candidate(q, e.campaign, &e.candidate)
                                : -1;
        if (candidate < 0)
            continue;
        atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)candidate, &c);
        if (c.operator_ == ATOLL_OPERATOR_SEED && (s->seed_ns <= 0 || e.time_ns < s->seed_ns))
            s->seed_ns = e.time_ns;
    }
    s->correct_share = judged ? (double)s->verdicts[ATOLL_V_CORRECT] / (double)judged : 0;
}

/* The evaluation that counts of a candidate by its id: 1 and ret. */
static int evaluation_of(const struct atoll_query *q, const struct atoll_row_task *task,
                         const struct atoll_id *id, uint64_t *ret_candidate, struct atoll_row_evaluation *ret)
{
    int64_t candidate = atoll_id_is_zero(id) ? -1 : atoll_query_candidate(q, task->campaign, id);
    int64_t row = candidate < 0 ? -1 : atoll_query_best_evaluation(q, (uint64_t)candidate, task->model);
    if (row < 0)
        return 0;
    *ret_candidate = (uint64_t)candidate;
    atoll_tables_get(q->tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)row, ret);
    return 1;
}

static void add_best(const struct atoll_query *q, const struct atoll_row_task *task,
                     struct atoll_task_summary *s)
{
    struct atoll_row_evaluation e;
    struct atoll_row_candidate c;
    uint64_t candidate;
    if (evaluation_of(q, task, &task->baseline, &candidate, &e) && s->baseline_lo_ns <= 0) {
        s->baseline_lo_ns = e.time_lo_ns;
        s->baseline_hi_ns = e.time_hi_ns;
    }
    if (!evaluation_of(q, task, &task->best, &candidate, &e))
        return;
    if (s->best_lo_ns <= 0) {
        s->best_lo_ns = e.time_lo_ns;
        s->best_hi_ns = e.time_hi_ns;
    }
    atoll_tables_get(q->tables, ATOLL_TABLE_CANDIDATES, candidate, &c);
    s->made_by = atoll_query_maker(q, candidate);
    s->origin = atoll_tables_text(q->tables, c.origin);
    if (s->made_by == ATOLL_MAKER_SEED)
        s->gain_over_seeds = 1;
    else if (s->seed_ns > 0 && e.time_ns > 0)
        s->gain_over_seeds = s->seed_ns / e.time_ns;
}

void atoll_query_task_summary(const struct atoll_query *q, uint64_t task_row, struct atoll_task_summary *ret)
{
    struct atoll_row_task row;
    atoll_tables_get(q->tables, ATOLL_TABLE_TASKS, task_row, &row);
    *ret = (struct atoll_task_summary){.row = task_row,
                                       .name = atoll_tables_text(q->tables, row.name),
                                       .model = "",
                                       .baseline_ns = row.baseline_ns,
                                       .best_ns = row.best_ns,
                                       .floor_ns = row.floor_ns,
                                       .p_value = row.final_p,
                                       .beyond_precisions = row.best_beyond_precisions,
                                       .evaluated = row.evaluated,
                                       .correct = row.correct,
                                       .origin = ""};
    /* Worth showing only where a table has tasks of more than one. */
    const uint32_t *names = column(q->tables, ATOLL_TABLE_TASKS, "model_name");
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_TASKS); i++)
        if (names[i] != row.model_name)
            ret->model = atoll_tables_text(q->tables, row.model_name);
    ret->speedup_is_final = row.final_ratio > 0;
    ret->is_baseline_best = !atoll_id_is_zero(&row.best) && atoll_id_equal(&row.best, &row.baseline);
    if (row.final_ratio > 0) {
        ret->speedup = row.final_ratio;
        ret->pair_count = row.final_pairs;
        ret->speedup_lo = row.final_lo;
        ret->speedup_hi = row.final_hi;
        if (row.final_baseline_ns > 0 && row.final_best_ns > 0) {
            ret->baseline_ns = row.final_baseline_ns;
            ret->best_ns = row.final_best_ns;
            ret->baseline_lo_ns = row.final_baseline_lo_ns;
            ret->baseline_hi_ns = row.final_baseline_hi_ns;
            ret->best_lo_ns = row.final_best_lo_ns;
            ret->best_hi_ns = row.final_best_hi_ns;
        }
    } else if (row.baseline_ns > 0 && row.best_ns > 0) {
        ret->speedup = row.baseline_ns / row.best_ns;
    }
    ret->floor_ns = atoll_floor_trusted_ns(row.floor_ns, ret->best_ns);
    ret->floor_model = atoll_floor_model_name((enum atoll_floor_model)row.floor_model);
    const uint8_t *models = column(q->tables, ATOLL_TABLE_TASKS, "floor_model");
    const double *floors = column(q->tables, ATOLL_TABLE_TASKS, "floor_ns");
    const uint32_t *tasks = column(q->tables, ATOLL_TABLE_TASKS, "name");
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_TASKS); i++)
        if (floors[i] > 0 && row.floor_ns > 0)
            ret->floors_differ |=
                !models[i] != !row.floor_model || (tasks[i] == row.name && models[i] != row.floor_model);
    if (ret->floor_ns > 0 && ret->best_ns > 0 && !ret->floors_differ)
        ret->floor_share = ret->floor_ns / ret->best_ns;
    add_verdicts(q, task_row, ret);
    add_best(q, &row, ret);
}

static void add_times(const struct atoll_query *q, enum atoll_table table, struct atoll_archive_summary *s)
{
    const double *occupied = column(q->tables, table, "occupied_ns"),
                 *candidate = column(q->tables, table, "candidate_ns");
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, table); i++) {
        s->occupied_ns += occupied[i];
        s->candidate_ns += candidate[i];
    }
}

static void add_campaigns(const struct atoll_query *q, struct atoll_archive_summary *s)
{
    struct atoll_row_campaign c;
    const uint32_t *owners = column(q->tables, ATOLL_TABLE_DEVICES, "campaign");
    for (uint64_t i = 0; i < atoll_tables_count(q->tables, ATOLL_TABLE_CAMPAIGN); i++) {
        uint64_t devices = 0;
        atoll_tables_get(q->tables, ATOLL_TABLE_CAMPAIGN, i, &c);
        for (uint64_t d = 0; d < atoll_tables_count(q->tables, ATOLL_TABLE_DEVICES); d++)
            devices += owners[d] == i;
        s->noop_challenges += c.noop_challenges;
        s->noop_promotions += c.noop_promotions;
        s->tokens += c.tokens;
        s->cost_usd += c.cost_usd;
        s->wall_ns += (double)c.campaign_ns;
        s->device_wall_ns += (double)c.campaign_ns * (double)(devices ? devices : 1);
    }
}

void atoll_query_summary(const struct atoll_query *q, struct atoll_archive_summary *ret)
{
    struct atoll_archive_summary s = {.task_count = atoll_tables_count(q->tables, ATOLL_TABLE_TASKS)};
    double logs = 0;
    for (uint64_t i = 0; i < s.task_count; i++) {
        struct atoll_task_summary t;
        atoll_query_task_summary(q, i, &t);
        s.evaluated += t.evaluated;
        s.correct += t.correct;
        s.judged += t.evaluated -
                    (t.verdicts[ATOLL_V_UNSTABLE] < t.evaluated ? t.verdicts[ATOLL_V_UNSTABLE] : t.evaluated);
        if (t.speedup > 0) {
            s.timed_count++;
            logs += log(t.speedup);
        }
        for (size_t k = 0; k < 5; k++)
            s.fast_share[k] += t.speedup > atoll_fast_thresholds[k];
    }
    for (size_t k = 0; k < 5; k++)
        s.fast_share[k] /= s.task_count ? (double)s.task_count : 1;
    s.geometric_mean = s.timed_count ? exp(logs / (double)s.timed_count) : 0;
    add_times(q, ATOLL_TABLE_EVALUATIONS, &s);
    add_times(q, ATOLL_TABLE_DUELS, &s);
    s.asks = atoll_tables_count(q->tables, ATOLL_TABLE_ASKS);
    add_campaigns(q, &s);
    *ret = s;
}
