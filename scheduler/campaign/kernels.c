/* kernels.c - the kernels that first drafts of a campaign may be shown: seeds of the installed suites, and what was best in earlier
 * campaigns that the user names, in the languages that it evolves.  They stand in its knowledge, so that nothing is looked for again. */
#include "scheduler/campaign/campaign_plan.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/table/project.h"
#include "base/program.h"
#include "core/diagnosis.h"
#include "core/event.h"
#include "core/experience/hint.h"
#include "evolution/knowledge/kernel_corpus.h"

#define SUITES      "suites"
#define ARENA_BYTES ((size_t)4 << 20)
#define SUITE_LIMIT 64
#define TASK_LIMIT  1024
#define EVENT_BYTES ((size_t)256 << 20)

struct kernels {
    struct atoll_knowledge_pack *pack;
    enum atoll_language language;
    const char *suite;         /* where they come from */
    struct atoll_arena *arena; /* of a task */
};

/* Tasks of an earlier campaign, by their numbers; owned, NULL: one that did not decode. */
struct earlier {
    struct atoll_task *tasks[TASK_LIMIT];
    uint32_t task_count;
    struct atoll_arena *events; /* of one event */
};

static int add_seed(struct kernels *k, const struct atoll_task *task, const struct atoll_seed *seed,
                    struct atoll_err *err)
{
    struct atoll_kernel_text text;
    char name[2 * ATOLL_KNOWLEDGE_PATH_BYTES];
    snprintf(name, sizeof(name), "%s/%s/%s%s", k->suite, task->name, seed->name,
             atoll_kernel_suffix(seed->language));
    return atoll_kernel_text_of(task, name, seed->language, seed->source, NULL, k->arena, &text, err) != 0
               ? -1
               : atoll_kernel_text_put(&text, k->pack, err);
}

/* One that cannot be read is somebody else's trouble: its kernels are not shown. */
static int add_task(void *context, const char *dir, struct atoll_err *err)
{
    struct kernels *k = context;
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(dir, &why);
    int rc = 0;
    if (!task)
        return 0;
    atoll_arena_reset(k->arena);
    for (size_t i = 0; rc == 0 && i < task->seed_count; i++)
        if (!task->seeds[i].is_baseline && atoll_language_takes(k->language, task->seeds[i].language))
            rc = add_seed(k, task, &task->seeds[i], err);
    atoll_task_destroy(task);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the suites of the installation, in order; owned. */
static size_t list_suites(const char *folder, char *ret_names[SUITE_LIMIT])
{
    DIR *dir = opendir(folder);
    const struct dirent *found;
    size_t count = 0;
    while (dir && count < SUITE_LIMIT && (found = readdir(dir)) != NULL)
        if (found->d_name[0] != '.' && (ret_names[count] = strdup(found->d_name)) != NULL)
            count++;
    if (dir)
        closedir(dir);
    if (count)
        qsort(ret_names, count, sizeof(*ret_names), by_name);
    return count;
}

static int add_suites(struct kernels *k, struct atoll_err *err)
{
    char folder[PATH_MAX], path[PATH_MAX], *names[SUITE_LIMIT];
    int rc = 0;
    if (atoll_program_data(SUITES, folder, sizeof(folder), NULL) != 0)
        return 0;
    size_t count = list_suites(folder, names);
    for (size_t i = 0; i < count; i++) {
        struct atoll_err why = ATOLL_ERR_INIT;
        k->suite = names[i];
        if (rc == 0 && (size_t)snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < sizeof(path) &&
            atoll_suite_visit(path, add_task, k, &why) != 0 &&
            (why.code == ATOLL_E_MEMORY || why.code == ATOLL_E_LIMIT))
            rc = atoll_err_set(err, why.code, "%s", why.text);
        free(names[i]);
    }
    return rc;
}

/* ---- of earlier campaigns ---- */

static int keep_task(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                     struct atoll_err *err)
{
    struct earlier *e = context;
    struct atoll_event event;
    (void)attempt;
    if (record->type != ATOLL_RECORD_EVENT || e->task_count == TASK_LIMIT)
        return 0;
    atoll_arena_reset(e->events);
    if (atoll_event_decode(record->bytes, record->length, e->events, &event, err) != 0)
        return -1;
    if (event.type == ATOLL_EVENT_TASK && event.task == e->task_count)
        e->tasks[e->task_count++] = atoll_task_decode(event.task_bytes, event.task_length, NULL);
    atoll_event_fini(&event);
    return 0;
}

static int find_candidate(const struct atoll_tables *t, const struct atoll_id *id,
                          struct atoll_row_candidate *ret_row)
{
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_CANDIDATES); i++) {
        atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, i, ret_row);
        if (atoll_id_equal(&ret_row->id, id))
            return 1;
    }
    return 0;
}

/* Of a device model, as the first of its devices says it. */
static const char *family_of(const struct atoll_tables *t, const char *model)
{
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        struct atoll_row_device row;
        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, &row);
        if (strcmp(atoll_tables_text(t, row.model), model) != 0)
            continue;
        const struct atoll_device_info device = {.limits = {.compute_capability = row.compute_capability}};
        return atoll_device_family(&device);
    }
    return "";
}

/* Whether kernels in a language are timed at it. */
static int is_timed(const struct atoll_variant *v, const char *language)
{
    return v->kind == ATOLL_VARIANT_BENCH &&
           (!v->backend ||
            atoll_language_takes(atoll_language_of_backend(v->backend, ATOLL_TRITON_BESIDE), language));
}

/* "M=4096 N=4096" of the first timed shape. */
static void put_shape(const struct atoll_task *task, const char *language, char *ret_shape, size_t bytes)
{
    size_t v = 0, used = 0;
    while (v < task->variant_count && !is_timed(&task->variants[v], language))
        v++;
    *ret_shape = '\0';
    for (size_t d = 0; v < task->variant_count && d < task->dim_count && used < bytes; d++)
        used += (size_t)snprintf(ret_shape + used, bytes - used, "%s%s=%lld", d ? " " : "", task->dims[d],
                                 (long long)task->variants[v].dims[d]);
}

/* What limited a candidate on a device model when it was last measured there, as lists say it; "": not known. */
static void put_limit(const struct atoll_tables *t, const struct atoll_id *candidate, uint32_t model,
                      char *ret_text, size_t bytes)
{
    const uint8_t *verdicts = atoll_tables_column_named(t, ATOLL_TABLE_EVALUATIONS, "verdict");
    *ret_text = '\0';
    for (uint64_t i = atoll_tables_count(t, ATOLL_TABLE_EVALUATIONS); i-- > 0;) {
        struct atoll_row_evaluation e;
        struct atoll_diagnosis d;
        if (verdicts[i] != ATOLL_V_CORRECT)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, i, &e);
        if (e.model != model || !atoll_id_equal(&e.candidate, candidate))
            continue;
        atoll_row_diagnosis_get(&e, &d);
        atoll_diagnosis_label(&d, ret_text, bytes);
        return;
    }
}

/* The best kernel of a task on a device model. */
static int add_best(struct kernels *k, const struct atoll_tables *t, const struct atoll_row_task *row,
                    const struct atoll_task *task, struct atoll_err *err)
{
    struct atoll_row_candidate best;
    struct atoll_kernel_text text;
    char name[2 * ATOLL_KNOWLEDGE_PATH_BYTES], shape[512], note[1024] = "", limit[128];
    size_t used = 0;
    if (!(row->best_ns > 0) || !find_candidate(t, &row->best, &best))
        return 0;
    const char *language = atoll_tables_text(t, best.language), *choice = atoll_tables_text(t, best.choice),
               *model = atoll_tables_text(t, row->model_name);
    if (!atoll_language_takes(k->language, language))
        return 0;
    snprintf(name, sizeof(name), "%s/%s/best.%u%s", k->suite, task->name, row->model,
             atoll_kernel_suffix(language));
    atoll_arena_reset(k->arena);
    if (atoll_kernel_text_of(task, name, language, atoll_tables_text(t, best.source), NULL, k->arena, &text,
                             err) != 0)
        return -1;
    put_shape(task, language, shape, sizeof(shape));
    if (*choice && strcmp(choice, "{}") != 0)
        used = (size_t)snprintf(note, sizeof(note), "Its fastest parameters there: %.500s", choice);
    put_limit(t, &row->best, row->model, limit, sizeof(limit));
    if (*limit)
        snprintf(note + used, sizeof(note) - used, "%sWhat limits it there: %s", used ? ". " : "", limit);
    text.device = model;
    text.family = family_of(t, model);
    text.shape = shape;
    text.note = note;
    text.time_us = row->best_ns / 1e3;
    text.gain = row->baseline_ns > 0 ? row->baseline_ns / row->best_ns : 0;
    return atoll_kernel_text_put(&text, k->pack, err);
}

static int add_campaign(struct kernels *k, const char *dir, struct earlier *e, struct atoll_err *err)
{
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    struct atoll_projection *p = NULL;
    int rc = campaign ? atoll_campaign_replay(campaign, keep_task, e, NULL, err) : -1;
    if (rc == 0)
        p = atoll_projection_of_campaign(campaign, NULL, err);
    const struct atoll_tables *t = p ? atoll_projection_tables(p) : NULL;
    rc = t ? 0 : -1;
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(t, ATOLL_TABLE_TASKS); i++) {
        struct atoll_row_task row;
        atoll_tables_get(t, ATOLL_TABLE_TASKS, i, &row);
        if (row.task < e->task_count && e->tasks[row.task])
            rc = add_best(k, t, &row, e->tasks[row.task], err);
    }
    atoll_projection_destroy(p);
    atoll_campaign_close(campaign);
    return rc;
}

static int add_campaigns(struct kernels *k, const struct atoll_option_list *reuse, struct atoll_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < reuse->count; i++) {
        struct earlier e = {.events = atoll_arena_create(EVENT_BYTES, err)};
        char origin[32];
        snprintf(origin, sizeof(origin), "reuse-%zu", i + 1);
        k->suite = origin;
        rc = e.events ? add_campaign(k, reuse->items[i], &e, err) : -1;
        for (size_t t = 0; t < e.task_count; t++)
            atoll_task_destroy(e.tasks[t]);
        atoll_arena_destroy(e.events);
        if (rc != 0)
            atoll_err_add(err, "in --reuse %s", reuse->items[i]);
    }
    k->suite = NULL; /* the last origin lived in the loop */
    return rc;
}

int atoll_plan_kernels_put(const struct atoll_campaign_plan *plan, struct atoll_knowledge_pack *pack,
                           struct atoll_err *err)
{
    struct kernels k = {.pack = pack,
                        .language = atoll_language_of_backend(plan->settings->backend, plan->search.triton),
                        .arena = atoll_arena_create(ARENA_BYTES, err)};
    int rc = k.arena ? add_suites(&k, err) : -1;
    rc = rc == 0 ? add_campaigns(&k, &plan->settings->reuse, err) : rc;
    atoll_arena_destroy(k.arena);
    return rc;
}
