/* list.c - `atoll list`: the candidates of an archive, a line each. */
#include "scheduler/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/spelling.h"
#include "base/print.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/ask.h"
#include "core/verdict.h"
#include "archive-h5/report/query_name.h"
#include "archive-h5/report/task_summary.h"
#include "base/buffer.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/diagnosis_view.h"
#include "scheduler/cli/task_table.h"

enum list_sort { SORT_TIME, SORT_SPEEDUP, SORT_ORDER, SORT_ID };

struct list_settings {
    const char *task, *verdict, *category, *tag;
    long long level, most;
    int sort, json;
};

#define FIELD(name) offsetof(struct list_settings, name)
#define WORDS_BYTES ((size_t)1 << 20)

static const struct atoll_option list_options[] = {
    {"task", 't', ATOLL_OPT_TEXT, FIELD(task), "TASK", NULL, 0, 0, NULL, "Only candidates of this task."},
    {"level", 0, ATOLL_OPT_INT, FIELD(level), "N", "0", 0, 9, NULL, "Only tasks of this level; 0: all."},
    {"category", 0, ATOLL_OPT_TEXT, FIELD(category), "WORD", NULL, 0, 0, NULL,
     "Only tasks of this category."},
    {"tag", 0, ATOLL_OPT_TEXT, FIELD(tag), "WORD", NULL, 0, 0, NULL, "Only tasks with this tag."},
    {"verdict", 0, ATOLL_OPT_TEXT, FIELD(verdict), "VERDICT", NULL, 0, 0, NULL,
     "Only candidates that ended so: correct, bad_plan, forbidden, compile_error, launch_error, crash, "
     "timeout, wrong, "
     "unstable, impossible, infrastructure, or open for those without a result yet."},
    {"sort", 's', ATOLL_OPT_CHOICE, FIELD(sort), "KEY", "time", 0, 0, "time|speedup|order|id",
     "time: task by task, the fastest first, what was not timed last; speedup: of all tasks together, over "
     "the rival where one was measured, else over the seed; order: as they were "
     "proposed; id: by id."},
    {"most", 'n', ATOLL_OPT_INT, FIELD(most), "N", "0", 0, 1e9, NULL, "At most so many; 0: all."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "A JSON array of candidates."},
    {0}};

static const struct atoll_command list_command = {
    "list",
    "DIR|ARCHIVE",
    "the candidates of a campaign: what was tried, and how it ended",
    "One line per candidate: the start of its id, which `atoll show` and `atoll diff` take, its task, how it "
    "ended, its time "
    "and how many times faster than the task's rival (PyTorch, where it was measured) and its baseline seed "
    "that is, what limits it (with the figure; ~: estimated without counters) or the class of its failure, "
    "how it "
    "was made, and its parameters or, where it failed, why. "
    "Of several evaluations the best one counts. Speedups are quotients of two medians (~); only finals "
    "(`atoll best`) compare kernels side by side. +-: half the 95 % interval, in percent of the time or of "
    "the "
    "speedup, whose interval is made of those of both times.",
    "atoll list my-campaign --task softmax_rows\natoll list my-campaign --verdict wrong\n"
    "atoll list my-campaign --sort speedup --most 10\natoll list my-campaign --level 2 --category matmul",
    list_options,
    NULL};

struct entry {
    uint64_t row; /* in candidates */
    struct atoll_row_candidate candidate;
    int64_t evaluation;                         /* that counts; -1: none yet */
    const char *task;                           /* borrowed */
    const char *verdict;                        /* "open" without an evaluation */
    double time_ns;                             /* 0 where it was not timed */
    double lo_ns, hi_ns;                        /* its 95 % interval, 0 = not known */
    struct atoll_speedup over_rival, over_seed; /* of its task, on its device model */
    const char *detail;                         /* of the verdict; "" */
    char diagnosis[41];                         /* the limiter, or the class of the error; "" */
    const char *category, *tags;                /* of the task; "" */
    unsigned level;
    int has_rival;
    size_t evaluations;
};

#define DISCARDED "discarded" /* as a cheat, by a judge */

static void entry_fill(const struct atoll_archive_view *view, uint64_t row, struct entry *ret)
{
    struct atoll_row_task task;
    int64_t task_row;
    struct atoll_row_evaluation e = {0};

    *ret =
        (struct entry){.row = row, .task = "", .verdict = "open", .detail = "", .category = "", .tags = ""};
    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, row, &ret->candidate);
    ret->evaluations = atoll_query_evaluations(view->query, row).count;
    ret->evaluation = atoll_query_best_evaluation(view->query, row, ATOLL_QUERY_ANY_MODEL);
    if (ret->evaluation >= 0) {
        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)ret->evaluation, &e);
        ret->verdict = atoll_verdict_name((enum atoll_verdict)e.verdict);
        ret->detail = atoll_tables_text(view->tables, e.detail);
        ret->time_ns = e.verdict == ATOLL_V_CORRECT ? e.time_ns : 0;
        ret->lo_ns = e.time_lo_ns;
        ret->hi_ns = e.time_hi_ns;
        atoll_diagnosis_view_label(&e, ret->diagnosis, sizeof(ret->diagnosis));
    }
    struct atoll_row_judgement judgement;
    if (ret->time_ns > 0 && atoll_query_discarded(view->query, &ret->candidate, &judgement)) {
        ret->verdict = DISCARDED;
        ret->detail = atoll_tables_text(view->tables, judgement.reason);
        ret->time_ns = 0;
    }
    task_row = atoll_query_task_row(view->query, ret->candidate.campaign, ret->candidate.task, e.model);
    if (task_row >= 0) {
        atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, (uint64_t)task_row, &task);
        ret->task = atoll_tables_text(view->tables, task.name);
        ret->category = atoll_tables_text(view->tables, task.category);
        ret->tags = atoll_tables_text(view->tables, task.tags);
        ret->level = task.level;
        ret->has_rival = task.rival_ns > 0;
        e.time_ns = ret->time_ns;
        atoll_query_speedup_of(view->query, &task, &e, ATOLL_OVER_RIVAL, &ret->over_rival);
        atoll_query_speedup_of(view->query, &task, &e, ATOLL_OVER_SEED, &ret->over_seed);
    }
}

/* The one that tables show first. */
static const struct atoll_speedup *speedup_of(const struct entry *e)
{
    return e->has_rival ? &e->over_rival : &e->over_seed;
}

/* ---- order ---- */

static int compare_orders(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;

    return (a->row > b->row) - (a->row < b->row);
}

static int compare_ids(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    int order = memcmp(&a->candidate.id, &b->candidate.id, sizeof(a->candidate.id));

    return order ? order : compare_orders(a, b);
}

static int compare_speedups(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    int order = (speedup_of(a)->ratio < speedup_of(b)->ratio) - (speedup_of(a)->ratio > speedup_of(b)->ratio);

    return order ? order : compare_orders(a, b);
}

static int compare_times(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    int order = strcmp(a->task, b->task);

    order = order ? order : (b->time_ns > 0) - (a->time_ns > 0);
    order = order ? order : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
    return order ? order : compare_orders(a, b);
}

static int (*const comparisons[])(const void *, const void *) = {[SORT_TIME] = compare_times,
                                                                 [SORT_SPEEDUP] = compare_speedups,
                                                                 [SORT_ORDER] = compare_orders,
                                                                 [SORT_ID] = compare_ids};

/* ---- what is printed ---- */

#define WHOLE_COLUMNS 140 /* of a line with parameters that are not many */

static const char *ratio_text(const struct atoll_speedup *s, char *ret_text, size_t bytes)
{
    return atoll_ratio_interval_text(!s->is_final, s->ratio, s->lo, s->hi, ret_text, bytes);
}

static json_t *ratio_json(const struct atoll_speedup *s)
{
    return s->hi > 0 ? json_pack("[f, f]", s->lo, s->hi) : json_null();
}

static void print_entries(const struct atoll_archive_view *view, const struct entry *entries, size_t count)
{
    int digits = atoll_query_id_digits(view->query), has_rivals = 0;
    unsigned columns = atoll_print_columns(stdout);
    int is_narrow = columns > 0 && columns < WHOLE_COLUMNS; /* then the last column stands below */

    for (size_t i = 0; i < count; i++)
        has_rivals |= entries[i].has_rival;
    atoll_print(stdout, "%-*s  %-20s %-14s %13s %12s%s%s\n", digits, "id", "task", "verdict", "time +-",
                has_rivals ? "speedup +-" : "over seed +-", has_rivals && !is_narrow ? " over seed +-" : "",
                is_narrow ? "" : "  limited by           made by              parameters, or why it failed");
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = &entries[i];
        int is_good = strcmp(e->verdict, atoll_verdict_name(ATOLL_V_CORRECT)) == 0;
        const char *text =
            is_good || !*e->detail ? atoll_tables_text(view->tables, e->candidate.choice) : e->detail;
        const char *origin = atoll_tables_text(view->tables, e->candidate.origin);
        char id[ATOLL_ID_HEX], time[48], ratio[48], made[64], line[160];

        atoll_id_hex(&e->candidate.id, id);
        snprintf(made, sizeof(made), "%s%s%.40s",
                 atoll_operator_name((enum atoll_operator)e->candidate.operator_), *origin ? " " : "",
                 origin);
        atoll_utf8_line(made, sizeof(made), made, strlen(made));
        atoll_utf8_line(line, sizeof(line), text, strlen(text));
        atoll_print(stdout, "%.*s  %-20s %-14s %13s %12s", digits, id, e->task, e->verdict,
                    atoll_duration_interval_text(e->time_ns, e->lo_ns, e->hi_ns, time, sizeof(time)),
                    ratio_text(has_rivals ? &e->over_rival : &e->over_seed, ratio, sizeof(ratio)));
        if (has_rivals && !is_narrow)
            atoll_print(stdout, " %12s", ratio_text(&e->over_seed, ratio, sizeof(ratio)));
        if (is_narrow) {
            int has_second = has_rivals && e->over_seed.ratio > 0;

            fputc('\n', stdout);
            atoll_print_line(stdout, 6, "    %s%s%s%s%s%s%s",
                             has_second ? ratio_text(&e->over_seed, ratio, sizeof(ratio)) : "",
                             has_second ? " over seed; " : "", made, *line ? ": " : "", line,
                             !*e->diagnosis ? ""
                             : is_good      ? "; limited by "
                                            : "; ",
                             e->diagnosis);
        } else {
            atoll_print(stdout, "  %-20s %-20s %s\n", *e->diagnosis ? e->diagnosis : "-", made, line);
        }
    }
}

static json_t *entry_json(const struct atoll_archive_view *view, const struct entry *e)
{
    const struct atoll_row_candidate *c = &e->candidate;
    char id[ATOLL_ID_HEX], parent[ATOLL_ID_HEX];

    atoll_id_hex(&c->id, id);
    atoll_id_hex(&c->parent, parent);
    return json_pack(
        "{s:s, s:o, s:s, s:o, s:s, s:f, s:o, s:f, s:o, s:s, s:f, s:o, s:s, s:o, s:i, s:i, s:o, s:o, s:i}",
        "candidate", id, "task", atoll_json_text(e->task), "verdict", e->verdict, "detail",
        atoll_json_text(e->detail), "diagnosis", e->diagnosis, "time_ns", e->time_ns, "time_interval_ns",
        e->time_ns > 0 && e->hi_ns > 0 ? json_pack("[f, f]", e->lo_ns, e->hi_ns) : json_null(), "speedup",
        speedup_of(e)->ratio, "speedup_interval", ratio_json(speedup_of(e)), "speedup_over",
        atoll_yardstick_name(e->has_rival ? ATOLL_OVER_RIVAL : ATOLL_OVER_SEED), "speedup_seed",
        e->over_seed.ratio, "speedup_seed_interval", ratio_json(&e->over_seed), "operator",
        atoll_operator_name((enum atoll_operator)c->operator_), "origin",
        atoll_json_text(atoll_tables_text(view->tables, c->origin)), "island", (int)c->island, "generation",
        (int)c->generation, "parent", atoll_id_is_zero(&c->parent) ? json_null() : json_string(parent),
        "choice", atoll_json_text(atoll_tables_text(view->tables, c->choice)), "evaluations",
        (int)e->evaluations);
}

static int check_verdict(const char *verdict, struct atoll_err *err)
{
    const char *known[ATOLL_VERDICT_COUNT + 2];
    char hint[ATOLL_SPELLING_HINT_BYTES];

    for (unsigned v = 0; v < ATOLL_VERDICT_COUNT; v++)
        known[v] = atoll_verdict_name((enum atoll_verdict)v);
    known[ATOLL_VERDICT_COUNT] = "open";
    known[ATOLL_VERDICT_COUNT + 1] = DISCARDED;
    for (unsigned v = 0; v < ATOLL_VERDICT_COUNT + 2; v++)
        if (strcmp(known[v], verdict) == 0)
            return 0;
    return atoll_err_set(
        err, ATOLL_E_USAGE, "--verdict %.40s: no such verdict; %s", verdict,
        atoll_spelling_hint(verdict, known, ATOLL_VERDICT_COUNT + 2, "`atoll list --help` names them", hint));
}

/* Whether one of the words, with blanks between them, is this one. */
static int has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
            return 1;
    return 0;
}

static int is_wanted(const struct list_settings *settings, const struct entry *e)
{
    return (!settings->task || strcmp(settings->task, e->task) == 0) &&
           (!settings->verdict || strcmp(settings->verdict, e->verdict) == 0) &&
           (!settings->level || (unsigned)settings->level == e->level) &&
           (!settings->category || strcmp(settings->category, e->category) == 0) &&
           (!settings->tag || has_word(e->tags, settings->tag));
}

/* A category or tag that no task of the archive has is mistyped: the nearest one that one has. */
static int check_word(const struct atoll_archive_view *view, const char *option, const char *word,
                      const char *column, struct atoll_err *err)
{
    const uint32_t *texts = atoll_tables_column_named(view->tables, ATOLL_TABLE_TASKS, column);
    struct atoll_buffer known;
    char hint[ATOLL_SPELLING_HINT_BYTES];
    int is_there = 0;

    atoll_buffer_init(&known, WORDS_BYTES);
    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_TASKS); i++) {
        is_there |= has_word(atoll_tables_text(view->tables, texts[i]), word);
        atoll_buffer_printf(&known, "%s ", atoll_tables_text(view->tables, texts[i]));
    }
    atoll_buffer_put_u8(&known, 0);
    atoll_spelling_hint_in(word, known.failed ? "" : (const char *)known.data,
                           "`atoll best --json` prints those of every task", hint);
    atoll_buffer_fini(&known);
    return is_there ? 0
                    : atoll_err_set(err, ATOLL_E_NOTFOUND, "--%s %.40s: no task of the archive has it; %s",
                                    option, word, hint);
}

static int list_view(const struct atoll_archive_view *view, const struct list_settings *settings,
                     struct atoll_err *err)
{
    uint64_t candidate_count = atoll_tables_count(view->tables, ATOLL_TABLE_CANDIDATES);
    struct entry *entries = malloc((size_t)(candidate_count + 1) * sizeof(*entries));
    json_t *array = settings->json ? json_array() : NULL;
    size_t count = 0;

    if (!entries) {
        json_decref(array);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a list of %llu candidates",
                             (unsigned long long)candidate_count);
    }
    for (uint64_t i = 0; i < candidate_count; i++) {
        entry_fill(view, i, &entries[count]);
        count += (size_t)is_wanted(settings, &entries[count]);
    }
    qsort(entries, count, sizeof(*entries), comparisons[settings->sort]);
    if (settings->most > 0 && (size_t)settings->most < count)
        count = (size_t)settings->most;
    for (size_t i = 0; array && i < count; i++)
        json_array_append_new(array, entry_json(view, &entries[i]));
    if (array)
        atoll_json_print(array, JSON_INDENT(2), stdout);
    else
        print_entries(view, entries, count);
    free(entries);
    return 0;
}

static int run_list(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct list_settings *settings = given;
    struct atoll_archive_view view;
    int status;

    if ((settings->verdict && check_verdict(settings->verdict, err) != 0) ||
        atoll_archive_view_open(arguments[0], &view, err) != 0) {
        return -1;
    }
    status = (settings->task && atoll_query_task_named(view.query, settings->task, err) < 0) ||
                     (settings->category &&
                      check_word(&view, "category", settings->category, "category", err) != 0) ||
                     (settings->tag && check_word(&view, "tag", settings->tag, "tags", err) != 0)
                 ? -1
                 : list_view(&view, settings, err);
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_list = {.command = &list_command,
                                                    .settings_bytes = sizeof(struct list_settings),
                                                    .least = 1,
                                                    .most = 1,
                                                    .missing = "name a campaign or an archive",
                                                    .run = run_list};
