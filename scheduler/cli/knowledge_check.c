/* knowledge_check.c - `atoll knowledge check`: whether what models are told is so, one line a fault. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/print.h"
#include "scheduler/cli/command.h"
#include "scheduler/knowledge/check.h"
#include "scheduler/knowledge/overlay.h"

struct check_settings {
    const char *only, *python;
    long long choices;
    int compile, cache, alone, json, verbose;
};

#define FIELD(name) offsetof(struct check_settings, name)

static const struct atoll_option check_options[] = {
    {"compile", 0, ATOLL_OPT_FLAG, FIELD(compile), NULL, NULL, 0, 0, NULL,
     "Compile what code there is; --no-compile looks at the files alone."},
    {"cache", 0, ATOLL_OPT_FLAG, FIELD(cache), NULL, NULL, 0, 0, NULL,
     "Use what compilers said of the same text in earlier checks; --no-cache asks them again."},
    {"choices", 0, ATOLL_OPT_INT, FIELD(choices), "N", "32", 0, 127, NULL,
     "Of a kernel with params compile at most N choices besides the first, which together have every value "
     "of every param."},
    {"python", 0, ATOLL_OPT_TEXT, FIELD(python), "PYTHON", "auto", 0, 0, NULL,
     "The interpreter whose Triton compiles; auto: ATOLL_PYTHON, else python3 where that has one; none."},
    {"alone", 0, ATOLL_OPT_FLAG, FIELD(alone), NULL, NULL, 0, 0, NULL,
     "Look at the given folders alone, not at them laid over what is installed."},
    {"only", 0, ATOLL_OPT_TEXT, FIELD(only), "TEXT", NULL, 0, 0, NULL,
     "Of entries those alone whose id has this text in it."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "A JSON object per finding, one a line."},
    {"verbose", 'v', ATOLL_OPT_FLAG, FIELD(verbose), NULL, NULL, 0, 0, NULL, "Print what is right as well."},
    {0}};

static const struct atoll_command check_command = {
    "knowledge check",
    "[DIR ...]",
    "say whether what models are told is so",
    "Reads what is installed with the given folders laid over it. Every file must parse, every id be there "
    "once, "
    "every task, device, family and class of a diagnosis that is named be there. Then the code is compiled "
    "as "
    "candidates are (C by cc and clang, CUDA by NVRTC, Triton, OpenCL and C for other processors by clang): "
    "every "
    "wrong example must fail with the message it names, everything else must compile. A compiler that is not "
    "here "
    "is said, and what it would have judged is skipped.\n\n"
    "Exit status 0 when nothing failed, else 1.",
    "atoll knowledge check\natoll knowledge check --only wgmma my-knowledge",
    check_options,
    NULL};

struct table {
    const struct check_settings *settings;
    unsigned counts[ATOLL_FINDING_COUNT];
};

static void on_finding(void *context, const struct atoll_finding *f)
{
    static const char *const marks[ATOLL_FINDING_COUNT] = {"ok", "FAIL", "--", "note"};
    struct table *table = context;
    table->counts[f->result]++;
    if (table->settings->json) {
        json_t *row = json_pack("{s:s, s:o, s:o, s:o, s:o}", "result", atoll_finding_result_name(f->result),
                                "place", atoll_json_text(f->place), "id", atoll_json_text(f->id), "what",
                                atoll_json_text(f->what), "text", atoll_json_text(f->text));
        atoll_json_print(row, JSON_COMPACT, stdout);
    } else if (f->result != ATOLL_FINDING_OK || table->settings->verbose) {
        atoll_print(stdout, "%-4s %s%s%s%s%s%s%s\n", marks[f->result], f->place, *f->place ? " " : "", f->id,
                    *f->id ? " " : "", *f->place ? f->what : "", *f->place && *f->text ? ": " : "", f->text);
    }
    fflush(stdout);
}

static int run_check(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct check_settings *s = given;
    const struct atoll_knowledge_check_settings settings = {.only = s->only,
                                                            .compiles = s->compile,
                                                            .cache = s->cache,
                                                            .choices = (unsigned)s->choices,
                                                            .python = s->python};
    struct table table = {.settings = s};
    atoll_log_setup(STDERR_FILENO, ATOLL_LOG_WARNING,
                    ""); /* where compilers spent their time is no finding */
    if (s->alone && count == 0)
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll knowledge check: --alone goes with folders; name one, or take it out");
    struct atoll_knowledge_pack *pack = s->alone ? atoll_knowledge_pack_read(arguments, count, err)
                                                 : atoll_knowledge_overlay_load(arguments, count, err);
    int rc = pack ? atoll_knowledge_check(pack, &settings, on_finding, &table, err) : -1;
    atoll_knowledge_pack_destroy(pack);
    if (rc != 0)
        return -1;
    if (!s->json)
        printf("%u fine, %u failed, %u skipped, %u notes\n", table.counts[ATOLL_FINDING_OK],
               table.counts[ATOLL_FINDING_FAILED], table.counts[ATOLL_FINDING_SKIPPED],
               table.counts[ATOLL_FINDING_NOTE]);
    return table.counts[ATOLL_FINDING_FAILED] > 0;
}

static const struct check_settings defaults = {.compile = 1, .cache = 1};

const struct atoll_subcommand atoll_command_knowledge_check = {.command = &check_command,
                                                               .settings_bytes =
                                                                   sizeof(struct check_settings),
                                                               .defaults = &defaults,
                                                               .most = 64,
                                                               .run = run_check};
