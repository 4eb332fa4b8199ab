/* inspect.c - `atoll best` and `atoll show`. */
#include "scheduler/cli/commands.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/behaviour/behaviour.h"
#include "core/decision.h"
#include "base/units.h"
#include "core/verdict.h"
#include "scheduler/cli/archive_view.h"
#include "base/json.h"
#include "scheduler/cli/profile_view.h"
#include "scheduler/cli/prompt_view.h"
#include "scheduler/cli/task_table.h"

struct inspect_settings {
    const char *task;
    int source, samples, prompt, json;
};

#define FIELD(name)   offsetof(struct inspect_settings, name)
#define LINEAGE_LIMIT 64

static int usage(const struct atoll_command *command, const char *what, struct atoll_err *err)
{
    atoll_err_set(err, ATOLL_E_USAGE, "atoll %s: %s; usage: atoll %s %s", command->name, what, command->name,
                  command->synopsis);
    return atoll_code_exit_status(ATOLL_E_USAGE);
}

static const struct atoll_option best_options[] = {
    {"task", 't', ATOLL_OPT_TEXT, FIELD(task), "TASK", NULL, 0, 0, NULL, "Only this task."},
    {"source", 0, ATOLL_OPT_FLAG, FIELD(source), NULL, NULL, 0, 0, NULL,
     "Print the best kernel's source (with --task) and nothing else."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "A JSON array of tasks."},
    {0}};

static const struct atoll_command best_command = {
    "best",
    "DIR|ARCHIVE",
    "the best kernel of every task",
    "One line per task: baseline, best, speedup, share of the floor. With --task and --source the kernel "
    "itself, with the chosen "
    "parameters as a comment.",
    "atoll best my-campaign\natoll best my-campaign --task matmul --source > matmul.c",
    best_options,
    NULL};

static int print_best_source(const struct atoll_archive_view *view, const char *name, struct atoll_err *err)
{
    int64_t row = name ? atoll_query_task(view->query, name) : -1;
    struct atoll_row_task task;
    struct atoll_row_candidate candidate;
    int64_t best;

    if (row < 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%s' in the archive; --source needs --task",
                             name ? name : "");
    }
    atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, (uint64_t)row, &task);
    best = atoll_query_candidate(view->query, task.campaign, &task.best);
    if (best < 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "task %s has no correct kernel yet", name);
    }
    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)best, &candidate);
    printf("/* parameters: %s */\n%s", atoll_tables_text(view->tables, candidate.choice),
           atoll_tables_text(view->tables, candidate.source));
    return 0;
}

static int print_best(const struct atoll_archive_view *view, const struct inspect_settings *settings,
                      struct atoll_err *err)
{
    if (settings->task && atoll_query_task(view->query, settings->task) < 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%s' in the archive", settings->task);
    }
    if (settings->source) {
        return print_best_source(view, settings->task, err);
    }
    if (settings->json) {
        json_t *rows = atoll_task_table_json(view->query, settings->task);

        json_dumpf(rows, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(rows);
    } else {
        atoll_task_table_print(view->query, settings->task, stdout);
    }
    return 0;
}

static int run_best(int argc, char **argv, struct atoll_err *err)
{
    struct inspect_settings settings = {0};
    struct atoll_archive_view view;
    const char *path;
    size_t count;
    int status = atoll_verb_parse(&best_command, argc, argv, &settings, &path, 1, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (count != 1) {
        return usage(&best_command, "name a campaign or an archive", err);
    }
    if (atoll_archive_view_open(path, &view, err) != 0) {
        return atoll_code_exit_status(err->code);
    }
    status = print_best(&view, &settings, err);
    atoll_archive_view_close(&view);
    return status == 0 ? 0 : atoll_code_exit_status(err->code);
}

const struct atoll_verb atoll_verb_best = {&best_command, run_best};

static const struct atoll_option show_options[] = {
    {"samples", 0, ATOLL_OPT_FLAG, FIELD(samples), NULL, NULL, 0, 0, NULL, "Every raw sample too."},
    {"prompt", 0, ATOLL_OPT_FLAG, FIELD(prompt), NULL, NULL, 0, 0, NULL,
     "What was said to the language model that wrote its source, and what it answered, exactly; nothing "
     "else."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object, samples included."},
    {0}};

static const struct atoll_command show_command = {
    "show",
    "DIR|ARCHIVE CANDIDATE",
    "everything about one candidate",
    "Source, plan, parameters, verdict with its evidence, timings, samples, comparisons and lineage. "
    "CANDIDATE is the start of its id, "
    "four digits or more.",
    "atoll show my-campaign 3fa9c1",
    show_options,
    NULL};

static void print_timings(const struct atoll_archive_view *view, uint64_t evaluation, int with_samples)
{
    struct atoll_rows rows = atoll_query_timings(view->query, evaluation);
    struct atoll_rows samples = atoll_query_samples(view->query, evaluation);
    char median[32], low[32], high[32];

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_timing t;

        atoll_tables_get(view->tables, ATOLL_TABLE_TIMINGS, rows.rows[i], &t);
        printf("  %-12s median %s, 95 %% interval %s to %s, %u samples, %u discarded\n",
               atoll_tables_text(view->tables, t.variant_name),
               atoll_duration_text(t.median_ns, median, sizeof(median)),
               atoll_duration_text(t.lo95_ns, low, sizeof(low)),
               atoll_duration_text(t.hi95_ns, high, sizeof(high)), t.sample_count, t.discarded_count);
    }
    for (size_t i = 0; with_samples && i < samples.count; i++) {
        struct atoll_row_sample s;

        atoll_tables_get(view->tables, ATOLL_TABLE_SAMPLES, samples.rows[i], &s);
        printf("  sample %4u.%-4u %12.0f ns\n", s.variant, s.number, s.time_ns);
    }
}

static void print_evaluations(const struct atoll_archive_view *view, uint64_t candidate, int with_samples)
{
    struct atoll_rows rows = atoll_query_evaluations(view->query, candidate);

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_evaluation e;

        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        printf("evaluation %llu: %s (level %u), fitness %.3f, cell %u %u %u, worst error %.3g of the "
               "tolerance, %u draws, "
               "%u fully compared\n",
               (unsigned long long)e.evaluation, atoll_verdict_name((enum atoll_verdict)e.verdict), e.level,
               e.fitness, e.memory, e.algorithm, e.coordination, e.worst_error, e.draw_count,
               e.fully_compared_count);
        if (*atoll_tables_text(view->tables, e.detail)) {
            printf("  %s\n", atoll_tables_text(view->tables, e.detail));
        }
        print_timings(view, rows.rows[i], with_samples);
        atoll_profile_view_print(view, rows.rows[i], stdout);
    }
}

static void print_duels(const struct atoll_archive_view *view, const struct atoll_id *id)
{
    static const char *const purposes[] = {"promotion", "no-op", "final"};

    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_DUELS); i++) {
        struct atoll_row_duel d;
        char other[ATOLL_ID_HEX];
        int challenged;

        atoll_tables_get(view->tables, ATOLL_TABLE_DUELS, i, &d);
        challenged = atoll_id_equal(&d.challenger, id);
        if (!challenged && !atoll_id_equal(&d.elite, id)) {
            continue;
        }
        atoll_id_hex(challenged ? &d.elite : &d.challenger, other);
        printf("%s %s %.12s: ratio %.4f, p %.2g, %u pairs, %s\n",
               d.purpose < 3 ? purposes[d.purpose] : "duel", challenged ? "against" : "defended against",
               other, d.ratio, d.p_value, d.pair_count, d.better ? "challenger confirmed" : "not confirmed");
    }
}

static void print_lineage(const struct atoll_archive_view *view, uint64_t candidate)
{
    uint64_t rows[LINEAGE_LIMIT];
    size_t count = atoll_query_lineage(view->query, candidate, rows, LINEAGE_LIMIT);

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_candidate c;
        char id[ATOLL_ID_HEX];

        atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, rows[i], &c);
        atoll_id_hex(&c.id, id);
        printf("%s%.12s  %s  island %u generation %u  %s\n", i ? "from     " : "lineage  ", id,
               atoll_operator_name((enum atoll_operator)c.operator_), c.island, c.generation,
               atoll_tables_text(view->tables, c.choice));
    }
}

/* How the campaign of a candidate timed: "cold" or "warm". */
static const char *timing_of(const struct atoll_archive_view *view, const struct atoll_row_candidate *c)
{
    struct atoll_row_campaign campaign;

    atoll_tables_get(view->tables, ATOLL_TABLE_CAMPAIGN, c->campaign, &campaign);
    return campaign.timing ? "warm" : "cold";
}

static void print_candidate(const struct atoll_archive_view *view, uint64_t row, int with_samples)
{
    struct atoll_row_candidate c;
    char id[ATOLL_ID_HEX];

    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, row, &c);
    atoll_id_hex(&c.id, id);
    printf("candidate %s\nparameters %s\ntimed with %s caches\n", id,
           atoll_tables_text(view->tables, c.choice), timing_of(view, &c));
    print_evaluations(view, row, with_samples);
    print_duels(view, &c.id);
    print_lineage(view, row);
    printf("\n%s", atoll_tables_text(view->tables, c.source));
}

static json_t *timings_json(const struct atoll_archive_view *view, uint64_t evaluation)
{
    struct atoll_rows rows = atoll_query_timings(view->query, evaluation);
    json_t *array = json_array();

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_timing t;

        atoll_tables_get(view->tables, ATOLL_TABLE_TIMINGS, rows.rows[i], &t);
        json_array_append_new(array, json_pack("{s:s, s:f, s:f, s:f, s:i}", "variant",
                                               atoll_tables_text(view->tables, t.variant_name), "median_ns",
                                               t.median_ns, "lo95_ns", t.lo95_ns, "hi95_ns", t.hi95_ns,
                                               "samples", (int)t.sample_count));
    }
    return array;
}

static json_t *samples_json(const struct atoll_archive_view *view, uint64_t evaluation)
{
    struct atoll_rows rows = atoll_query_samples(view->query, evaluation);
    json_t *array = json_array();

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_sample s;

        atoll_tables_get(view->tables, ATOLL_TABLE_SAMPLES, rows.rows[i], &s);
        json_array_append_new(array,
                              json_pack("{s:i, s:f}", "variant", (int)s.variant, "time_ns", s.time_ns));
    }
    return array;
}

static json_t *evaluations_json(const struct atoll_archive_view *view, uint64_t candidate)
{
    struct atoll_rows rows = atoll_query_evaluations(view->query, candidate);
    json_t *array = json_array();

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_evaluation e;

        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        json_array_append_new(array, json_pack("{s:I, s:s, s:o, s:f, s:f, s:[i,i,i], s:o, s:o, s:o}",
                                               "evaluation", (json_int_t)e.evaluation, "verdict",
                                               atoll_verdict_name((enum atoll_verdict)e.verdict), "detail",
                                               atoll_json_text(atoll_tables_text(view->tables, e.detail)),
                                               "time_ns", e.time_ns, "fitness", e.fitness, "cell",
                                               (int)e.memory, (int)e.algorithm, (int)e.coordination,
                                               "timings", timings_json(view, rows.rows[i]), "samples",
                                               samples_json(view, rows.rows[i]), "profile",
                                               atoll_profile_view_json(view, rows.rows[i])));
    }
    return array;
}

static json_t *lineage_json(const struct atoll_archive_view *view, uint64_t candidate)
{
    uint64_t rows[LINEAGE_LIMIT];
    size_t count = atoll_query_lineage(view->query, candidate, rows, LINEAGE_LIMIT);
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_candidate c;
        char id[ATOLL_ID_HEX];

        atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, rows[i], &c);
        atoll_id_hex(&c.id, id);
        json_array_append_new(array, json_string(id));
    }
    return array;
}

static void print_candidate_json(const struct atoll_archive_view *view, uint64_t row)
{
    struct atoll_row_candidate c;
    char id[ATOLL_ID_HEX];
    json_t *object;

    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, row, &c);
    atoll_id_hex(&c.id, id);
    object =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:o, s:o, s:o}", "candidate", id, "operator",
                  atoll_operator_name((enum atoll_operator)c.operator_), "choice",
                  atoll_tables_text(view->tables, c.choice), "island", (int)c.island, "generation",
                  (int)c.generation, "language", atoll_tables_text(view->tables, c.language), "timing",
                  timing_of(view, &c), "source", atoll_json_text(atoll_tables_text(view->tables, c.source)),
                  "evaluations", evaluations_json(view, row), "lineage", lineage_json(view, row));
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

static int print_prompt(const struct atoll_archive_view *view, uint64_t row, const char *candidate, int json,
                        struct atoll_err *err)
{
    int64_t ask = atoll_prompt_view_find(view, row);
    json_t *object;

    if (ask < 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no model wrote candidate %s: there is no prompt",
                             candidate);
    }
    if (!json) {
        atoll_prompt_view_print(view, (uint64_t)ask, stdout);
        return 0;
    }
    object = atoll_prompt_view_json(view, (uint64_t)ask);
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
    return 0;
}

static int run_show(int argc, char **argv, struct atoll_err *err)
{
    struct inspect_settings settings = {0};
    struct atoll_archive_view view;
    const char *arguments[2];
    uint64_t row;
    size_t count;
    int status = atoll_verb_parse(&show_command, argc, argv, &settings, arguments, 2, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (count != 2) {
        return usage(&show_command, "name an archive and a candidate", err);
    }
    if (atoll_archive_view_open(arguments[0], &view, err) != 0) {
        return atoll_code_exit_status(err->code);
    }
    status = atoll_query_candidate_prefix(view.query, arguments[1], &row, err);
    if (status == 0 && settings.prompt) {
        status = print_prompt(&view, row, arguments[1], settings.json, err);
    } else if (status == 0 && settings.json) {
        print_candidate_json(&view, row);
    } else if (status == 0) {
        print_candidate(&view, row, settings.samples);
    }
    atoll_archive_view_close(&view);
    return status == 0 ? 0 : atoll_code_exit_status(err->code);
}

const struct atoll_verb atoll_verb_show = {&show_command, run_show};
