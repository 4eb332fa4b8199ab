/* archive_merge.c - `atoll archive merge`. */
#include "scheduler/cli/command.h"

#include <stdio.h>

#include "base/print.h"
#include "archive-h5/hdf5/merge.h"
#include "scheduler/cli/archive_view.h"

struct merge_settings {
    const char *out;
};

#define FIELD(name) offsetof(struct merge_settings, name)

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

static int run_merge(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct merge_settings *settings = given;

    if (atoll_archive_check_output(settings->out, err) != 0 ||
        atoll_merge_files((const char **)(uintptr_t)arguments, count, settings->out, NULL, err) != 0) {
        return -1;
    }
    atoll_print(stdout, "%s: %zu files merged\n", settings->out, count);
    return 0;
}

const struct atoll_subcommand atoll_command_archive_merge = {.command = &merge_command,
                                                             .settings_bytes = sizeof(struct merge_settings),
                                                             .least = 1,
                                                             .most = ATOLL_ARGUMENT_LIMIT,
                                                             .missing = "name the files to merge",
                                                             .run = run_merge};
