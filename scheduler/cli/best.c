/* best.c - `atoll best`. */
#include "scheduler/cli/command.h"

#include <stdio.h>

#include "base/json.h"
#include "base/print.h"
#include "archive-h5/report/query_name.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/curve_view.h"
#include "scheduler/cli/kernel_file.h"
#include "scheduler/cli/task_json.h"
#include "scheduler/cli/task_table.h"

#define FILE_BYTES ((size_t)4 << 20)

struct best_settings {
    const char *task;
    int source, json, sums, curve;
};

#define FIELD(name) offsetof(struct best_settings, name)

static const struct atoll_option best_options[] = {
    {"task", 't', ATOLL_OPT_TEXT, FIELD(task), "TASK", NULL, 0, 0, NULL, "Only this task."},
    {"source", 0, ATOLL_OPT_FLAG, FIELD(source), NULL, NULL, 0, 0, NULL,
     "Print the best kernel of --task as a file that compiles by itself, and nothing else: its parameters "
     "are "
     "#defines, a comment says its launch, shapes, times and id."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "A JSON array of tasks; with --source one object with the kernel, its source among the rest."},
    {"sums", 0, ATOLL_OPT_FLAG, FIELD(sums), NULL, NULL, 0, 0, NULL,
     "With --json: an object of the tasks and their sums, over all, by level and by category, and of asks of "
     "models by role, with the share of first tries that were correct, its 95 % interval and what an "
     "improvement cost, and by role and section the bytes of their prompts and system texts."},
    {"curve", 0, ATOLL_OPT_FLAG, FIELD(curve), NULL, NULL, 0, 0, NULL,
     "CSV (with --json an array) with a line each time that a faster kernel became the best of a task: "
     "number of its evaluation; evaluations of the task until then; seconds of campaign; tokens of the "
     "answers to asks about the task until then, those of turns with tools included; its time; percent of "
     "the floor; speedup over the seed and over the rival (quotients of two times); who made it. Empty "
     "(null): not known. What was found to be wrong or a cheat later is left out, and a slower kernel that "
     "the finals chose."},
    {0}};

static const struct atoll_command best_command = {
    "best",
    "DIR|ARCHIVE",
    "the best kernel of every task",
    "One line per task: the rival (the fastest of what PyTorch makes of the task), its time and the best "
    "kernel's with half their 95 % interval, the speedup over it with its 95 % "
    "interval and the pairs of the final comparison (~: the quotient of two times, there was none), the "
    "speedup "
    "over the seed, the share of the floor, "
    "evaluations, who made the best kernel (seed: as it was given; tuner: its parameters; model; migrant: an "
    "earlier campaign or another device), and the start of its id, which `atoll show` and `atoll diff` take. "
    "Where no rival was measured the share of the floor leads and speedups are over the seed. Tasks with a "
    "level or category are summed up below: correct rate, fast_1, fast_1.5, both means. "
    "Below it what failed, by verdict. With --task and --source the kernel itself, ready for a compiler; a "
    "campaign of "
    "one task "
    "needs no --task.",
    "atoll best my-campaign\natoll best my-campaign --task matmul --source > matmul.c && cc -O3 "
    "-march=native -c matmul.c\natoll best my-campaign --json --sums\n"
    "atoll best my-campaign --curve > curve.csv",
    best_options,
    NULL};

static int print_best_source(const struct atoll_archive_view *view, const struct best_settings *settings,
                             struct atoll_err *err)
{
    uint64_t task_count = atoll_tables_count(view->tables, ATOLL_TABLE_TASKS);
    int64_t row = settings->task ? atoll_query_task(view->query, settings->task) : task_count == 1 ? 0 : -1;
    struct atoll_row_task task;
    struct atoll_buffer file;
    uint64_t best;
    int status;

    if (row < 0) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "the archive has %llu tasks; --source needs --task to say which one",
                             (unsigned long long)task_count);
    }
    atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, (uint64_t)row, &task);
    if (atoll_query_kernel_of_task(view->query, &task, 0, &best, err) != 0)
        return -1;
    if (settings->json) {
        json_t *kernel = atoll_kernel_file_json(view, best, err);

        if (!kernel)
            return -1;
        atoll_json_print(kernel, JSON_INDENT(2), stdout);
        return 0;
    }
    atoll_buffer_init(&file, FILE_BYTES);
    status = atoll_kernel_file_write(view, best, &file, err);
    if (status == 0) {
        atoll_buffer_put_u8(&file, 0);
        status = atoll_buffer_check(&file, err);
    }
    if (status == 0)
        atoll_print_text(stdout, (const char *)file.data);
    atoll_buffer_fini(&file);
    return status;
}

static int print_best(const struct atoll_archive_view *view, const struct best_settings *settings,
                      struct atoll_err *err)
{
    if (settings->task && atoll_query_task_named(view->query, settings->task, err) < 0)
        return -1;
    if (settings->source)
        return print_best_source(view, settings, err);
    if (settings->curve) {
        json_t *points;

        if (!settings->json)
            return atoll_curve_view_csv(view->query, settings->task, stdout, err);
        points = atoll_curve_view_json(view->query, settings->task, err);
        if (!points)
            return -1;
        atoll_json_print(points, JSON_INDENT(2), stdout);
    } else if (settings->json) {
        json_t *rows = atoll_task_json(view->query, settings->task);

        if (settings->sums)
            rows = json_pack("{s:o, s:o}", "tasks", rows, "sums", atoll_task_json_sums(view->query));
        atoll_json_print(rows, JSON_INDENT(2), stdout);
    } else {
        atoll_task_table_print(view->query, settings->task, stdout);
    }
    return 0;
}

static int run_best(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct best_settings *settings = given;
    struct atoll_archive_view view;
    int status;

    if (settings->sums && (!settings->json || settings->source || settings->task)) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--sums goes with --json, and is of all tasks: leave --task and --source out; "
                             "without --json the sums stand below the table");
    }
    if (settings->curve && (settings->source || settings->sums))
        return atoll_err_set(err, ATOLL_E_USAGE, "--curve goes with --task and --json alone");
    if (atoll_archive_view_open(arguments[0], &view, err) != 0)
        return -1;
    status = print_best(&view, settings, err);
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_best = {.command = &best_command,
                                                    .settings_bytes = sizeof(struct best_settings),
                                                    .least = 1,
                                                    .most = 1,
                                                    .missing = "name a campaign or an archive",
                                                    .run = run_best};
