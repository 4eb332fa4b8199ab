/* report.c - `atoll report`. */
#include "scheduler/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "archive-h5/report/report.h"
#include "scheduler/cli/archive_view.h"

struct report_settings {
    const char *out;
};

#define FIELD(name) offsetof(struct report_settings, name)

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

static int run_report(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct report_settings *settings = given;
    const char *path = arguments[0], *out = settings->out;
    struct atoll_archive_view view;
    char beside[4096];
    int status;

    if (atoll_archive_view_open(path, &view, err) != 0)
        return -1;
    if (!out) {
        const char *slash = strrchr(path, '/');

        snprintf(beside, sizeof(beside), "%.*s/report.html",
                 (int)(view.is_folder ? strlen(path)
                       : slash        ? (size_t)(slash - path)
                                      : 1),
                 view.is_folder || slash ? path : ".");
        out = beside;
    }
    status = atoll_archive_check_output(out, err);
    status = status == 0 ? atoll_report_write(view.tables, out, NULL, err) : status;
    atoll_archive_view_close(&view);
    if (status == 0)
        atoll_print(stdout, "%s\n", out);
    return status;
}

const struct atoll_subcommand atoll_command_report = {.command = &report_command,
                                                      .settings_bytes = sizeof(struct report_settings),
                                                      .least = 1,
                                                      .most = 1,
                                                      .missing = "name a campaign or an archive",
                                                      .run = run_report};
