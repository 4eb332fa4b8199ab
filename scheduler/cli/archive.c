/* archive.c - `atoll report`, `atoll export`, `atoll archive merge`. */
#include "scheduler/cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/report/export.h"
#include "archive-h5/hdf5/merge.h"
#include "archive-h5/report/report.h"
#include "scheduler/cli/archive_view.h"

struct archive_settings {
    const char *out, *csv, *jsonl;
};

#define FIELD(name) offsetof(struct archive_settings, name)

static const struct atoll_option report_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "FILE", NULL, 0, 0, NULL,
     "Where to write; report.html beside the archive by default."},
    {0}};

static const struct atoll_command report_command = {
    "report",
    "DIR|ARCHIVE",
    "write report.html: tables, curves, grids, lineage, in one file",
    "One self-contained page: no scripts, nothing loaded from anywhere. From a campaign's folder it shows "
    "the journals as they "
    "are now, also while a run goes on.",
    "atoll report my-campaign",
    report_options,
    NULL};

static int usage(const struct atoll_command *command, const char *what, struct atoll_err *err)
{
    atoll_err_set(err, ATOLL_E_USAGE, "atoll %s: %s; usage: atoll %s %s", command->name, what, command->name,
                  command->synopsis);
    return atoll_code_exit_status(ATOLL_E_USAGE);
}

static int exit_of(int status, const struct atoll_err *err)
{
    return status == 0 ? 0 : atoll_code_exit_status(err->code);
}

/* What is replaced in one step is renamed over: a device or a link would be gone. */
static int check_replaceable(const char *path, struct atoll_err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode)) {
        return 0;
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "%s: is there and is not a regular file; name another file",
                         path);
}

static int run_report(int argc, char **argv, struct atoll_err *err)
{
    struct archive_settings settings = {0};
    struct atoll_archive_view view;
    const char *path;
    char beside[4096];
    size_t count;
    int status = atoll_verb_parse(&report_command, argc, argv, &settings, &path, 1, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : exit_of(-1, err);
    }
    if (count != 1) {
        return usage(&report_command, "name a campaign or an archive", err);
    }
    if (atoll_archive_view_open(path, &view, err) != 0) {
        return exit_of(-1, err);
    }
    if (!settings.out) {
        const char *slash = strrchr(path, '/');

        snprintf(beside, sizeof(beside), "%.*s/report.html",
                 (int)(view.is_folder ? strlen(path)
                       : slash        ? (size_t)(slash - path)
                                      : 1),
                 view.is_folder || slash ? path : ".");
        settings.out = beside;
    }
    status = check_replaceable(settings.out, err);
    status = status == 0 ? atoll_report_write(view.tables, settings.out, NULL, err) : status;
    atoll_archive_view_close(&view);
    if (status == 0) {
        printf("%s\n", settings.out);
    }
    return exit_of(status, err);
}

const struct atoll_verb atoll_verb_report = {&report_command, run_report};

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
    "units are those of the HDF5 archive.",
    "atoll export my-campaign --csv evaluations > evaluations.csv",
    export_options,
    NULL};

static int export_to(const struct atoll_archive_view *view, const struct archive_settings *settings,
                     enum atoll_table table, struct atoll_err *err)
{
    enum atoll_export_format format = settings->csv ? ATOLL_EXPORT_CSV : ATOLL_EXPORT_JSONL;
    FILE *out = settings->out ? fopen(settings->out, "we") : stdout;
    int status;

    if (!out) {
        return atoll_err_errno(err, errno, "cannot write %s", settings->out);
    }
    status = atoll_export_table(view->tables, table, format, out, err);
    if (settings->out && fclose(out) != 0 && status == 0) {
        status = atoll_err_errno(err, errno, "cannot write %s", settings->out);
    }
    return status;
}

static int run_export(int argc, char **argv, struct atoll_err *err)
{
    struct archive_settings settings = {0};
    struct atoll_archive_view view;
    enum atoll_table table;
    const char *path;
    size_t count;
    int status = atoll_verb_parse(&export_command, argc, argv, &settings, &path, 1, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : exit_of(-1, err);
    }
    if (count != 1 || !settings.csv == !settings.jsonl) {
        return usage(&export_command, "name one archive and one of --csv and --jsonl", err);
    }
    if (atoll_table_find(settings.csv ? settings.csv : settings.jsonl, &table) != 0) {
        atoll_err_set(err, ATOLL_E_USAGE, "no table '%s'; there are %s",
                      settings.csv ? settings.csv : settings.jsonl, atoll_table_names());
        return exit_of(-1, err);
    }
    if (atoll_archive_view_open(path, &view, err) != 0) {
        return exit_of(-1, err);
    }
    status = export_to(&view, &settings, table, err);
    atoll_archive_view_close(&view);
    return exit_of(status, err);
}

const struct atoll_verb atoll_verb_export = {&export_command, run_export};

static const struct atoll_option merge_options[] = {{"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "FILE",
                                                     "archive.h5", 0, 0, NULL,
                                                     "The merged archive; replaced in one step."},
                                                    {0}};

static const struct atoll_command merge_command = {
    "archive merge",
    "ARCHIVE...",
    "merge segments or archives into one archive",
    "Rows with equal keys are kept once (the later file wins) and each text once, so merging again changes "
    "nothing.",
    "atoll archive merge -o all.h5 monday/archive.h5 tuesday/archive.h5",
    merge_options,
    NULL};

static int run_merge(int argc, char **argv, struct atoll_err *err)
{
    struct archive_settings settings = {0};
    const char *paths[1024];
    size_t count;
    int status = atoll_verb_parse(&merge_command, argc, argv, &settings, paths, 1024, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : exit_of(-1, err);
    }
    if (count == 0) {
        return usage(&merge_command, "name the files to merge", err);
    }
    status = check_replaceable(settings.out, err);
    status = status == 0 ? atoll_merge_files(paths, count, settings.out, NULL, err) : status;
    if (status == 0) {
        printf("%s: %zu files merged\n", settings.out, count);
    }
    return exit_of(status, err);
}

const struct atoll_verb atoll_verb_merge = {&merge_command, run_merge};
