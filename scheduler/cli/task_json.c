#include "scheduler/cli/task_json.h"

#include <string.h>

#include "base/json.h"
#include "core/decision.h"
#include "core/stats.h"
#include "scheduler/cli/diagnosis_view.h"
#include "scheduler/cli/rival_view.h"
#include "scheduler/cli/seed_view.h"

#define GROUP_LIMIT 64 /* levels, or categories */

/* The row of the best candidate's evaluation that counts, -1 where there is none. */
static int64_t best_evaluation(const struct atoll_query *query, const struct atoll_row_task *task)
{
    int64_t candidate = atoll_query_candidate(query, task->campaign, &task->best), row = -1;

    if (candidate >= 0)
        row = atoll_query_best_evaluation(query, (uint64_t)candidate, task->model);
    return row;
}

static const char *limiter_of(const struct atoll_query *query, const struct atoll_row_task *task,
                              const struct atoll_row_evaluation *best)
{
    struct atoll_row_profile profile = {.limiter = ATOLL_LIMITER_UNKNOWN};
    uint64_t evaluation;
    int64_t candidate = atoll_query_candidate(query, task->campaign, &task->best), row = -1;

    if (candidate >= 0)
        row = atoll_query_candidate_profile(query, (uint64_t)candidate, task->model, &evaluation);
    if (row >= 0)
        atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_PROFILES, (uint64_t)row, &profile);
    return atoll_limiter_name(atoll_row_limiter(best, &profile));
}

/* [lo, hi]; null where it is not known. */
static json_t *interval_json(double lo, double hi)
{
    return hi > 0 ? json_pack("[f, f]", lo, hi) : json_null();
}

/* What speedups are over, and where it is a rival, which one. */
static json_t *rival_json(const struct atoll_task_summary *s)
{
    const struct atoll_speedup *rival = &s->over[ATOLL_OVER_RIVAL];

    if (!(rival->yardstick_ns > 0))
        return json_null();
    return json_pack("{s:o, s:o, s:f, s:f, s:f, s:f, s:o}", "name", atoll_json_text(s->rival), "mode",
                     atoll_json_text(s->rival_mode), "time_ns", rival->yardstick_ns, "lo_ns",
                     rival->yardstick_lo_ns, "hi_ns", rival->yardstick_hi_ns, "host_ns", s->rival_host_ns,
                     "versions", atoll_json_text(s->rival_versions));
}

/* Speedups over the seed and over eager, which stand behind the one over the rival, and the words of the task. */
static void add_yardsticks(json_t *row, const struct atoll_query *query, const struct atoll_task_summary *s)
{
    const struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED], *eager = &s->over[ATOLL_OVER_EAGER];
    json_t *more = json_pack(
        "{s:s, s:f, s:o, s:b, s:o, s:i, s:f, s:o, s:o, s:i, s:o, s:o}", "speedup_over",
        atoll_yardstick_name(s->headline), "speedup_seed", seed->ratio, "speedup_seed_interval",
        interval_json(seed->lo, seed->hi), "final_seed", seed->is_final, "p_value_seed",
        seed->pair_count ? json_real(seed->p_value) : json_null(), "pairs_seed", (int)seed->pair_count,
        "speedup_eager", eager->ratio, "rival", rival_json(s), "rivals", atoll_rival_view_json(query, s->row),
        "level", (int)s->level, "category", atoll_json_text(s->category), "tags", atoll_json_text(s->tags));

    json_object_update(row, more);
    json_decref(more);
}

/* What the numbers rest on, and who made the best kernel. */
static void add_evidence(json_t *row, const struct atoll_task_summary *s)
{
    const struct atoll_speedup *seed = &s->over[ATOLL_OVER_SEED], *first = &s->over[s->headline];
    json_t *verdicts = json_object(), *more;

    for (unsigned v = 0; v < ATOLL_VERDICT_COUNT; v++)
        if (s->verdicts[v] && v != ATOLL_V_INFRASTRUCTURE)
            json_object_set_new(verdicts, atoll_verdict_name((enum atoll_verdict)v),
                                json_integer((json_int_t)s->verdicts[v]));
    more = json_pack("{s:o, s:o, s:o, s:I, s:b, s:f, s:o, s:I, s:s, s:o, s:f, s:f}", "baseline_interval_ns",
                     interval_json(seed->yardstick_lo_ns, seed->yardstick_hi_ns), "best_interval_ns",
                     interval_json(s->best_lo_ns, s->best_hi_ns), "speedup_interval",
                     interval_json(first->lo, first->hi), "pairs", (json_int_t)first->pair_count,
                     "baseline_is_best", s->is_baseline_best, "correct_rate", s->correct_share, "verdicts",
                     verdicts, "infrastructure", (json_int_t)s->verdicts[ATOLL_V_INFRASTRUCTURE], "made_by",
                     atoll_maker_name(s->made_by), "origin", atoll_json_text(s->origin), "best_seed_ns",
                     s->seed_ns, "gain_over_seeds", s->gain_over_seeds);
    json_object_update(row, more);
    json_decref(more);
}

static json_t *row_json(const struct atoll_query *query, const struct atoll_task_summary *s,
                        const struct atoll_row_task *task)
{
    char names[128], none[512];
    char best[ATOLL_ID_HEX] = "";
    const struct atoll_speedup *first = &s->over[s->headline];
    json_t *row;

    struct atoll_row_evaluation best_row = {.verdict = ATOLL_V_INFRASTRUCTURE};
    int64_t evaluation = best_evaluation(query, task);
    if (evaluation >= 0)
        atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_EVALUATIONS, (uint64_t)evaluation, &best_row);

    if (!atoll_id_is_zero(&task->best))
        atoll_id_hex(&task->best, best);
    row = json_pack(
        "{s:o, s:o, s:s, s:f, s:f, s:f, s:f, s:b, s:o, s:f, s:s, s:s, s:I, s:I, s:s, s:o}", "task",
        atoll_json_text(s->name), "model",
        atoll_json_text(atoll_tables_text(atoll_query_tables(query), task->model_name)), "candidate", best,
        "baseline_ns", s->over[ATOLL_OVER_SEED].yardstick_ns, "best_ns", s->best_ns, "floor_ns", s->floor_ns,
        "speedup", first->ratio, "final", first->is_final, "p_value",
        first->pair_count ? json_real(first->p_value) : json_null(), "floor_share", s->floor_share,
        "floor_model", s->floor_model, "beyond_precisions",
        atoll_mix_names(s->beyond_precisions, names, sizeof(names)), "evaluations", (json_int_t)s->evaluated,
        "correct", (json_int_t)s->correct, "limiter", limiter_of(query, task, &best_row), "ended",
        task->done ? json_string(atoll_reason_name((enum atoll_reason)task->reason)) : json_null());
    json_object_set_new(row, "floor_of_memory",
                        s->floor_ns > 0 ? json_boolean(s->is_memory_floor) : json_null());
    json_object_set_new(row, "diagnosis", atoll_diagnosis_view_json(query, evaluation));
    atoll_seed_view_none(query, s->row, none, sizeof(none));
    json_object_set_new(row, "no_seed", *none ? atoll_json_text(none + strlen("none: ")) : json_null());
    add_yardsticks(row, query, s);
    add_evidence(row, s);
    return row;
}

json_t *atoll_task_json(const struct atoll_query *query, const char *only)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    json_t *rows = json_array();

    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary summary;
        struct atoll_row_task task;

        atoll_query_task_summary(query, i, &summary);
        atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &task);
        if (!only || strcmp(only, summary.name) == 0)
            json_array_append_new(rows, row_json(query, &summary, &task));
    }
    return rows;
}

/* ---- sums ---- */

static json_t *sums_json(const struct atoll_task_sums *s)
{
    json_t *object = json_pack("{s:I, s:I, s:f, s:s}", "tasks", (json_int_t)s->task_count, "correct",
                               (json_int_t)s->solved_count, "correct_rate",
                               s->task_count ? (double)s->solved_count / (double)s->task_count : 0,
                               "speedup_over", atoll_yardstick_name(s->headline));

    json_object_set_new(object, "floor_share", s->floor_count ? json_real(s->floor_mean) : json_null());
    for (int y = 0; y < ATOLL_YARDSTICK_COUNT; y++) {
        const struct atoll_speedup_sums *over = &s->over[y];
        json_t *fast = json_object(), *sums;

        for (size_t k = 0; k < ATOLL_FAST_COUNT; k++) {
            char name[16];

            snprintf(name, sizeof(name), "%g", atoll_fast_thresholds[k]);
            json_object_set_new(fast, name, json_real(over->fast_share[k]));
        }
        sums = json_pack("{s:I, s:I, s:f, s:o, s:f, s:b, s:o}", "tasks", (json_int_t)over->task_count,
                         "timed", (json_int_t)over->timed_count, "geometric_mean", over->geometric_mean,
                         "geometric_mean_interval", interval_json(over->geometric_lo, over->geometric_hi),
                         "arithmetic_mean", over->arithmetic_mean, "final",
                         over->timed_count && over->are_final, "fast", fast);
        json_object_set_new(object, atoll_yardstick_name((enum atoll_yardstick)y),
                            over->task_count ? sums : json_null());
        if (!over->task_count)
            json_decref(sums);
    }
    return object;
}

static json_t *groups_json(const struct atoll_query *query, enum atoll_grouping by)
{
    struct atoll_task_group groups[GROUP_LIMIT];
    size_t count = atoll_query_groups(query, by, groups, GROUP_LIMIT);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *object = sums_json(&groups[i].sums);

        if (by == ATOLL_BY_LEVEL)
            json_object_set_new(object, "level", json_integer(groups[i].level));
        else
            json_object_set_new(object, "category", atoll_json_text(groups[i].category));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *atoll_first_tries_json(const struct atoll_role_sum *s)
{
    double lo, hi;

    if (!s->first_tries)
        return json_null();
    atoll_share_interval(s->first_correct, s->first_tries, &lo, &hi);
    return json_pack("{s:I, s:I, s:f, s:[f, f]}", "tries", (json_int_t)s->first_tries, "correct",
                     (json_int_t)s->first_correct, "share", (double)s->first_correct / (double)s->first_tries,
                     "interval", lo, hi);
}

static json_t *role_json(const char *name, const struct atoll_role_sum *s)
{
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:f}", "role", name, "asks",
                  (json_int_t)s->asks, "answered", (json_int_t)s->answered, "input_tokens",
                  (json_int_t)s->input_tokens, "cached_tokens", (json_int_t)s->cached_tokens, "output_tokens",
                  (json_int_t)s->output_tokens, "reasoning_tokens", (json_int_t)s->reasoning_tokens, "tokens",
                  (json_int_t)s->tokens, "tool_calls", (json_int_t)s->tool_calls, "cost_usd", s->cost_usd,
                  "improvements", (json_int_t)s->improvements, "gain", s->gain);

    json_object_set_new(object, "first_tries", atoll_first_tries_json(s));
    json_object_set_new(object, "tokens_per_improvement",
                        s->improvements ? json_real((double)s->tokens / (double)s->improvements)
                                        : json_null());
    json_object_set_new(object, "cost_per_improvement_usd",
                        s->improvements ? json_real(s->cost_usd / (double)s->improvements) : json_null());
    return object;
}

static json_t *asks_json(const struct atoll_query *query)
{
    struct atoll_role_sum sums[ATOLL_MODEL_ROLE_COUNT], whole;
    struct atoll_section_sum sections[ATOLL_SECTION_SUM_LIMIT];
    json_t *roles = json_array(), *list = json_array();
    size_t count = atoll_query_section_sums(query, sections, ATOLL_SECTION_SUM_LIMIT);

    atoll_query_role_sums(query, sums, &whole);
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++)
        if (sums[i].asks)
            json_array_append_new(roles,
                                  role_json(atoll_model_role_name((enum atoll_model_role)i), &sums[i]));
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:I, s:I, s:I, s:I}", "role", atoll_model_role_name(sections[i].role),
                      "section", atoll_json_text(sections[i].name), "prompts",
                      (json_int_t)sections[i].prompts, "bytes", (json_int_t)sections[i].bytes, "cut_bytes",
                      (json_int_t)sections[i].cut_bytes, "tokens_estimated", (json_int_t)sections[i].tokens));
    }
    return json_pack("{s:o, s:o, s:o}", "all", role_json("all", &whole), "roles", roles, "sections", list);
}

json_t *atoll_task_json_sums(const struct atoll_query *query)
{
    struct atoll_archive_summary summary;

    atoll_query_summary(query, &summary);
    return json_pack("{s:o, s:o, s:o, s:o}", "all", sums_json(&summary.tasks), "levels",
                     groups_json(query, ATOLL_BY_LEVEL), "categories", groups_json(query, ATOLL_BY_CATEGORY),
                     "asks", asks_json(query));
}
