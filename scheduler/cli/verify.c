/* verify.c - `atoll verify`: checks files, or measures again (recheck.h). */
#include "scheduler/cli/command.h"

#include <jansson.h>
#include <stdio.h>

#include "archive-h5/hdf5/verify_file.h"
#include "base/print.h"
#include "base/json.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/recheck.h"

struct verify_settings {
    const char *task;
    int recheck, json;
    double minimum;
};

#define FIELD(name) offsetof(struct verify_settings, name)

static const struct atoll_option verify_options[] = {
    {"recheck", 0, ATOLL_OPT_FLAG, FIELD(recheck), NULL, NULL, 0, 0, NULL,
     "Measure baseline and best of each task again on this machine: new process, new seeds, all variants, "
     "interleaved; and best and rival, where the campaign measured one and there is a Python with torch "
     "here."},
    {"task", 't', ATOLL_OPT_TEXT, FIELD(task), "TASK", NULL, 0, 0, NULL, "With --recheck: only this task."},
    {"minimum", 0, ATOLL_OPT_DOUBLE, FIELD(minimum), "RATIO", "0", 0, 1e6, NULL,
     "With --recheck: a task below this speedup fails, over the rival where it was measured again, else over "
     "the "
     "seed."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "JSON lines."},
    {0}};

static const struct atoll_command verify_command = {
    "verify",
    "DIR|FILE",
    "check files of a campaign, or its results by measuring again",
    "Without --recheck: reads journals, segments and archives and checks every checksum, length, reference "
    "and hash. With --recheck: "
    "compiles the recorded sources again, measures, and says whether the interval of the measured ratio "
    "agrees "
    "with that of the record, and by how much it does not. Exit status 0 when everything holds, 1 when a "
    "result does not: its record disagrees, it is wrong, or not better than its baseline.",
    "atoll verify my-campaign\natoll verify my-campaign --recheck --minimum 1.5",
    verify_options,
    NULL};

static void print_finding(void *context, int is_problem, const char *line)
{
    (void)context;
    atoll_print(stdout, "%-7s %s\n", is_problem ? "PROBLEM" : "ok", line);
}

static int verify_files(const char *path, int json, struct atoll_err *err)
{
    struct atoll_verify_report report;

    if (atoll_verify_path(path, json ? NULL : print_finding, NULL, &report, err) != 0)
        return -1;
    if (json) {
        json_t *object = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "files", (json_int_t)report.files, "records",
            (json_int_t)report.records, "rows", (json_int_t)report.rows, "torn_bytes",
            (json_int_t)report.torn_bytes, "quarantined_records", (json_int_t)report.quarantined_records,
            "problems", (json_int_t)report.problems, "first_problem", atoll_json_text(report.first_problem));

        atoll_json_print(object, JSON_COMPACT, stdout);
    } else {
        printf("%llu files, %llu journal records, %llu rows, %llu torn bytes, %llu quarantined records, %llu "
               "problems\n",
               (unsigned long long)report.files, (unsigned long long)report.records,
               (unsigned long long)report.rows, (unsigned long long)report.torn_bytes,
               (unsigned long long)report.quarantined_records, (unsigned long long)report.problems);
    }
    if (report.problems) {
        atoll_err_set(err, ATOLL_E_CORRUPT, "%s: %llu problems, first: %.400s", path,
                      (unsigned long long)report.problems, report.first_problem);
        return -1;
    }
    return 0;
}

static int verify_one(const char *path, const void *context, struct atoll_err *err)
{
    const struct verify_settings *settings = context;

    const struct atoll_recheck again = {settings->task, settings->minimum, settings->json};

    return settings->recheck ? atoll_recheck(path, &again, err) : verify_files(path, settings->json, err);
}

static int run_verify(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    return atoll_archive_each_part(arguments[0], verify_one, given, err);
}

const struct atoll_subcommand atoll_command_verify = {.command = &verify_command,
                                                      .settings_bytes = sizeof(struct verify_settings),
                                                      .least = 1,
                                                      .most = 1,
                                                      .missing = "name a campaign's folder or a file",
                                                      .run = run_verify};
