/* export.c - `atoll export`. */
#include "scheduler/cli/command.h"

#include <errno.h>
#include <stdio.h>

#include "archive-h5/report/export.h"
#include "base/spelling.h"
#include "scheduler/cli/archive_view.h"

struct export_settings {
    const char *out, *csv, *jsonl;
};

#define FIELD(name) offsetof(struct export_settings, name)

static const struct atoll_option export_options[] = {
    {"csv", 0, ATOLL_OPT_TEXT, FIELD(csv), "TABLE", NULL, 0, 0, NULL, "Print this table as CSV (RFC 4180)."},
    {"jsonl", 0, ATOLL_OPT_TEXT, FIELD(jsonl), "TABLE", NULL, 0, 0, NULL, "Print this table as JSON lines."},
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "FILE", NULL, 0, 0, NULL,
     "Write to FILE instead of standard output."},
    {0}};

static const struct atoll_command export_command = {
    "export",
    "(--csv TABLE | --jsonl TABLE) DIR|ARCHIVE",
    "print a table of the archive as CSV or JSON lines",
    "Tables: campaign, tasks, devices, candidates, evaluations, timings, samples, profiles, duels, elites, "
    "migrations, decisions. Columns and "
    "units are those of the HDF5 archive. CSV is for people and spreadsheets: bytes that steer a terminal "
    "are "
    "written as \\033, and a "
    "text that begins with = + - @ gets an apostrophe in front. JSON lines and HDF5 hold texts as they are.",
    "atoll export my-campaign --csv evaluations > evaluations.csv",
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

static int run_export(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct export_settings *settings = given;
    const char *name = settings->csv ? settings->csv : settings->jsonl;
    struct atoll_archive_view view;
    enum atoll_table table;
    int status;

    if (!settings->csv == !settings->jsonl) {
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "atoll export: name one archive and one of --csv and --jsonl; usage: atoll export %s",
            export_command.synopsis);
    }
    if (atoll_table_find(name, &table) != 0) {
        char hint[ATOLL_SPELLING_HINT_BYTES];
        atoll_spelling_hint_in(name, atoll_table_names(), "", hint);
        return atoll_err_set(err, ATOLL_E_USAGE, "no table '%.64s'; there are %s%s%s", name,
                             atoll_table_names(), *hint ? "; " : "", hint);
    }
    if (atoll_archive_view_open(arguments[0], &view, err) != 0)
        return -1;
    status = export_to(&view, settings, table, err);
    atoll_archive_view_close(&view);
    return status;
}

const struct atoll_subcommand atoll_command_export = {.command = &export_command,
                                                      .settings_bytes = sizeof(struct export_settings),
                                                      .least = 1,
                                                      .most = 1,
                                                      .missing =
                                                          "name one archive and one of --csv and --jsonl",
                                                      .run = run_export};
