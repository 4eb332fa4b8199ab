/* best.c - `atoll best`. */
#include "scheduler/cli/command.h"

#include <stdio.h>

#include "base/json.h"
#include "base/print.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/task_table.h"

struct best_settings {
    const char *task;
    int source, json;
};

#define FIELD(name) offsetof(struct best_settings, name)

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
    if (best < 0)
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "task %s has no correct kernel yet", name);
    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)best, &candidate);
    atoll_print(stdout, "/* parameters: %s */\n%s", atoll_tables_text(view->tables, candidate.choice),
                atoll_tables_text(view->tables, candidate.source));
    return 0;
}

static int print_best(const struct atoll_archive_view *view, const struct best_settings *settings,
                      struct atoll_err *err)
{
    if (settings->task && atoll_query_task(view->query, settings->task) < 0)
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%s' in the archive", settings->task);
    if (settings->source)
        return print_best_source(view, settings->task, err);
    if (settings->json) {
        json_t *rows = atoll_task_table_json(view->query, settings->task);

        atoll_json_print(rows, JSON_INDENT(2), stdout);
    } else {
        atoll_task_table_print(view->query, settings->task, stdout);
    }
    return 0;
}

static int run_best(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    struct atoll_archive_view view;
    int status;

    if (atoll_archive_view_open(arguments[0], &view, err) != 0)
        return -1;
    status = print_best(&view, given, err);
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_best = {.command = &best_command,
                                                    .settings_bytes = sizeof(struct best_settings),
                                                    .least = 1,
                                                    .most = 1,
                                                    .missing = "name a campaign or an archive",
                                                    .run = run_best};
