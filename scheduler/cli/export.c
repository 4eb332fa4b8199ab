/* export.c - `atoll export`. */
#include "scheduler/cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "archive-h5/report/export.h"
#include "base/file.h"
#include "base/print.h"
#include "base/program.h"
#include "base/spelling.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/model_new.h"

#define FRAME       "torch/model_new.py"
#define FRAME_BYTES ((size_t)1 << 20)
#define MODEL_BYTES ((size_t)256 << 20)

struct export_settings {
    const char *out, *csv, *jsonl;
    int is_kernelbench;
};

#define FIELD(name) offsetof(struct export_settings, name)

static const struct atoll_option export_options[] = {
    {"csv", 0, ATOLL_OPT_TEXT, FIELD(csv), "TABLE", NULL, 0, 0, NULL, "Print this table as CSV (RFC 4180)."},
    {"jsonl", 0, ATOLL_OPT_TEXT, FIELD(jsonl), "TABLE", NULL, 0, 0, NULL, "Print this table as JSON lines."},
    {"kernelbench", 0, ATOLL_OPT_FLAG, FIELD(is_kernelbench), NULL, NULL, 0, 0, NULL,
     "Write each best kernel of a task imported from KernelBench as a Python file with a ModelNew that "
     "KernelBench's own harness takes, into the folder --output: level1/19_ReLU.py."},
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "FILE", NULL, 0, 0, NULL,
     "Write to FILE instead of standard output; with --kernelbench the folder."},
    {0}};

static const struct atoll_command export_command = {
    "export",
    "(--csv TABLE | --jsonl TABLE | --kernelbench -o OUT) DIR|ARCHIVE",
    "print a table of the archive, or write its kernels for KernelBench",
    "Tables: " ATOLL_TABLE_NAMES
    ". Columns and units are those of the HDF5 archive. CSV is for people and spreadsheets: bytes that steer "
    "a terminal are written as \\033, and a text that begins with = + - @ gets an apostrophe in front. JSON "
    "lines and HDF5 hold texts as they are. What the binary of a profile cannot tell, as registers of a "
    "processor's kernel, is null or "
    "empty, in HDF5 0. A file of --kernelbench needs torch and the driver, no nvcc: it "
    "holds the image for the GPU that the kernel was measured on, its source, from which NVRTC makes another "
    "on other GPUs, and the problem's own text, which constructs the parameters and runs with the rights of "
    "whoever imports the file. docs/torch.md tells more.",
    "atoll export my-campaign --csv evaluations > evaluations.csv\natoll export my-campaign --kernelbench "
    "-o kernels",
    export_options,
    NULL};

static int export_to(const struct atoll_archive_view *view, const struct export_settings *settings,
                     enum atoll_table table, struct atoll_err *err)
{
    enum atoll_export_format format = settings->csv ? ATOLL_EXPORT_CSV : ATOLL_EXPORT_JSONL;
    FILE *out = settings->out ? fopen(settings->out, "we") : stdout;
    int status;

    if (!out)
        return atoll_err_errno(err, errno, "cannot write %s", settings->out);
    status = atoll_export_table(view->tables, table, format, out, err);
    if (settings->out && fclose(out) != 0 && status == 0)
        status = atoll_err_errno(err, errno, "cannot write %s", settings->out);
    return status;
}

/* One task's file, or why there is none.  1: written. */
static int export_model(const struct atoll_archive_view *view, uint64_t task, const char *frame,
                        const char *folder, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_model_new model;
    struct atoll_row_task row;
    char path[PATH_MAX];

    atoll_buffer_clear(out);
    if (atoll_model_new_write(view, task, frame, out, &model, err) != 0)
        return -1;
    atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, task, &row);
    atoll_print_text(stdout, atoll_tables_text(view->tables, row.name));
    if (*model.reason) {
        printf(": none, ");
        atoll_print_text(stdout, model.reason);
        printf("\n");
        return 0;
    }
    if (snprintf(path, sizeof(path), "%s/%s", folder, model.path) >= (int)sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of %s is too long; choose a shorter folder",
                             model.path);
    if (atoll_folder_make_parents(path, err) != 0 || atoll_archive_check_output(path, err) != 0 ||
        atoll_file_replace(NULL, path, out->data, out->length, err) != 0)
        return -1;
    printf(": %s", path);
    if (*model.note) {
        printf(" (without an image, NVRTC will make it: ");
        atoll_print_text(stdout, model.note);
        printf(")");
    }
    printf("\n");
    return 1;
}

static int export_models(const struct atoll_archive_view *view, const char *folder, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_buffer out;
    unsigned long long written = 0;
    size_t length;
    char *frame = atoll_program_data(FRAME, path, sizeof(path), err) == 0
                      ? atoll_file_read(path, FRAME_BYTES, &length, err)
                      : NULL;
    int status = frame ? 0 : -1;

    atoll_buffer_init(&out, MODEL_BYTES);
    for (uint64_t i = 0; status >= 0 && i < atoll_tables_count(view->tables, ATOLL_TABLE_TASKS); i++) {
        status = export_model(view, i, frame, folder, &out, err);
        written += status > 0;
    }
    atoll_buffer_fini(&out);
    free(frame);
    if (status >= 0 && written == 0) {
        status = atoll_err_set(
            err, ATOLL_E_NOTFOUND,
            "nothing is written: no task of the archive is KernelBench's and has a kernel for a GPU; "
            "`atoll task import kernelbench` makes such tasks");
    }
    return status < 0 ? -1 : 0;
}

static int table_find(const char *name, enum atoll_table *ret_table, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES];

    if (atoll_table_find(name, ret_table) == 0)
        return 0;
    atoll_spelling_hint_in(name, ATOLL_TABLE_NAMES, "", hint);
    return atoll_err_set(err, ATOLL_E_USAGE, "no table '%.64s'; there are %s%s%s", name, ATOLL_TABLE_NAMES,
                         *hint ? "; " : "", hint);
}

static int run_export(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct export_settings *settings = given;
    struct atoll_archive_view view;
    enum atoll_table table = ATOLL_TABLE_TASKS;
    int status;

    if (!!settings->csv + !!settings->jsonl + !!settings->is_kernelbench != 1) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll export: name one archive and one of --csv, --jsonl and --kernelbench; "
                             "usage: atoll export %s",
                             export_command.synopsis);
    }
    if (settings->is_kernelbench && !settings->out) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll export --kernelbench: say with --output into which folder the files go");
    }
    if (!settings->is_kernelbench &&
        table_find(settings->csv ? settings->csv : settings->jsonl, &table, err) != 0)
        return -1;
    if (atoll_archive_view_open(arguments[0], &view, err) != 0)
        return -1;
    status = settings->is_kernelbench ? export_models(&view, settings->out, err)
                                      : export_to(&view, settings, table, err);
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_export = {
    .command = &export_command,
    .settings_bytes = sizeof(struct export_settings),
    .least = 1,
    .most = 1,
    .missing = "name one archive and one of --csv, --jsonl and --kernelbench",
    .run = run_export};
