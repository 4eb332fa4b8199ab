/* task_check.c - `atoll task check`: the admission battery, one line a test. */
#include "scheduler/cli/command.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/task.h"
#include "mpi-eval/coordinator/setup.h"
#include "scheduler/campaign/run_tasks.h"
#include "scheduler/doctor/calibrate_device.h"
#include "scheduler/import/tolerance.h"
#include "base/json.h"
#include "base/spelling.h"
#include "base/print.h"

struct check_settings {
    const char *backend, *compiler, *flags, *python;
    long long combinations;
    int json, verbose;
};

#define FIELD(name) offsetof(struct check_settings, name)

static const struct atoll_option check_options[] = {
    {"backend", 'b', ATOLL_OPT_TEXT, FIELD(backend), "NAME", "cpu", 0, 0, NULL,
     "cuda: on the first GPU as well. Its referee must refuse the same outputs, its reference must agree "
     "with the "
     "host's, and the seeds in CUDA are checked."},
    {"compiler", 0, ATOLL_OPT_TEXT, FIELD(compiler), "COMMAND", "cc", 0, 0, NULL, "C compiler."},
    {"compile-flags", 0, ATOLL_OPT_TEXT, FIELD(flags), "FLAGS", ATOLL_SETUP_COMPILE_FLAGS, 0, 0, NULL,
     "Its flags."},
    {"python", 0, ATOLL_OPT_TEXT, FIELD(python), "FILE", "auto", 0, 0, NULL,
     "Python with torch for tasks that PyTorch defines and for rivals, or none; auto: ATOLL_PYTHON, else "
     "python3."},
    {"combinations", 0, ATOLL_OPT_INT, FIELD(combinations), "N", "4", 0, 64, NULL,
     "Of each template: every parameter's least and largest value, and N more combinations at random, must "
     "be right at the "
     "check variants. 0: only the first value of each parameter."},
    {"verbose", 'v', ATOLL_OPT_FLAG, FIELD(verbose), NULL, NULL, 0, 0, NULL, "Print what passed as well."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "One JSON object a test instead of lines."},
    {0}};

static const struct atoll_command check_command = {
    "task check",
    "SUITE|TASK...",
    "say whether a task may be evolved, and what it fails",
    "Runs the admission battery on each task: degenerate outputs (zeros, ones, the mean, a copy of an input, "
    "a stale answer, a "
    "prefix) must be rejected, every input must matter, outputs must have spread, the reference must agree "
    "with itself, "
    "every seed must compile and be correct, a template with a sample of its parameters, and what a torch "
    "baseline says in eager mode is looked at where there is a Python with torch. What failed is printed "
    "first, what passed with -v. Exit status 0 when all tasks pass.\n\n"
    "A task that PyTorch defines (reference: {torch: ...}) may lack its tolerance. It is measured here, from "
    "what PyTorch's own answer in the task's types is off against double precision, and written into its "
    "task.yaml, with how it was found: so it is the same ever after.",
    "atoll task check suites/starter\natoll task check --backend cuda suites/gpu",
    check_options,
    NULL};

struct check_state {
    const struct check_settings *settings;
    struct atoll_bench_device *host, *device; /* device: NULL, the host alone */
    const char *task;
    int json, verbose;
    unsigned combinations, passed, failed;
    FILE *good; /* lines of what passed, until the task's end */
    size_t task_passed;
};

static void print_row(void *context, const char *test, int passed, const char *detail)
{
    struct check_state *state = context;

    if (passed)
        state->passed++;
    else
        state->failed++;
    if (state->json) {
        json_t *row = json_pack("{s:s, s:s, s:b, s:o}", "task", state->task, "test", test, "passed",
                                passed != 0, "detail", atoll_json_text(detail ? detail : ""));

        atoll_json_print(row, JSON_COMPACT, stdout);
        return;
    }
    state->task_passed += passed != 0;
    int is_noted = passed == ATOLL_ADMISSION_NOTED;
    atoll_print(passed && !is_noted ? state->good : stdout, "  %-4s %-28s %s\n",
                is_noted ? "note"
                : passed ? "ok"
                         : "FAIL",
                test, detail ? detail : "");
    fflush(stdout);
}

/* What is no test, but has to be known of a task. */
static void told(struct check_state *state, const char *name, const char *text)
{
    if (state->json)
        print_row(state, name, 1, text);
    else
        atoll_print(stdout, "  %s: %s\n", name, text);
}

/* A task of PyTorch's without a tolerance gets one, for good. */
static struct atoll_task *load(const struct check_state *state, const char *dir, struct atoll_err *err)
{
    struct atoll_task *task = atoll_task_load_draft(dir, err);
    int failed;

    if (!task || task->has_tolerance)
        return task;
    atoll_task_destroy(task);
    failed = atoll_tolerance_settle(dir, state->settings->python, state->device ? "0" : NULL, err);
    return failed ? NULL : atoll_task_load(dir, err);
}

static int check_task(void *context, const char *dir, struct atoll_err *err)
{
    struct check_state *state = context;
    char *good = NULL;
    size_t good_bytes = 0;
    struct atoll_task *task = load(state, dir, err);
    int status;

    if (!task)
        return -1;
    state->task = task->name;
    state->task_passed = 0;
    state->good = open_memstream(&good, &good_bytes);
    if (!state->good) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what passed");
    }
    if (!state->json)
        atoll_print(stdout, "%s: %s\n", task->name, task->summary);
    if (task->tolerance_from) {
        char text[400];
        snprintf(text, sizeof(text), "rtol %g, atol %g: %s", task->tolerance.rtol, task->tolerance.atol,
                 task->tolerance_from);
        told(state, "tolerance", text);
    }
    if (!task->flops)
        told(state, "floor", "of memory alone: how many operations the task needs is not known");
    if (task->seed_count == 0) {
        char why[1100];
        snprintf(why, sizeof(why), "none: %s",
                 task->unseeded      ? task->unseeded
                 : task->rival_count ? "its first kernel, a model's, is compared with PyTorch"
                                     : "nor has it a rival, so it cannot be evolved");
        told(state, "seeds", why);
    }
    fflush(stdout);
    status = atoll_referee_admit(state->host->referee, state->device ? state->device->referee : NULL, task,
                                 state->combinations, print_row, state, err);
    fclose(state->good);
    if (state->verbose && !state->json)
        fwrite(good, 1, good_bytes, stdout);
    else if (!state->json)
        printf("  ok   %zu tests%s\n", state->task_passed, state->task_passed ? " (-v prints them)" : "");
    free(good);
    atoll_task_destroy(task);
    return status < 0 ? -1 : 0;
}

/* host and device: the battery runs on both, and on the host alone where the backend is cpu. */
static int open_devices(const struct check_settings *settings, struct atoll_bench_device *host,
                        struct atoll_bench_device *device, struct atoll_err *err)
{
    if (atoll_bench_setup(&host->setup, err) != 0)
        return -1;
    snprintf(host->setup.compiler, sizeof(host->setup.compiler), "%s", settings->compiler);
    snprintf(host->setup.compile_flags, sizeof(host->setup.compile_flags), "%s", settings->flags);
    snprintf(host->setup.python, sizeof(host->setup.python), "%s", settings->python);
    if (atoll_bench_device_open(host, err) != 0)
        return -1;
    if (device && (atoll_bench_setup(&device->setup, err) != 0 ||
                   atoll_setup_option(&device->setup, "backend", settings->backend, err) < 0 ||
                   atoll_setup_option(&device->setup, "python", settings->python, err) < 0 ||
                   atoll_bench_device_open(device, err) != 0)) {
        atoll_bench_device_close(host);
        return -1;
    }
    return 0;
}

/* A mistyped name is said before the device is measured. */
static int are_there(const char *const *names, size_t count, struct atoll_err *err)
{
    for (size_t i = 0; i < count; i++) {
        char dir[PATH_MAX], **dirs;
        size_t dir_count;

        if (atoll_run_tasks_find_suite(names[i], dir, sizeof(dir), err) != 0 ||
            atoll_suite_list(dir, &dirs, &dir_count, err) != 0)
            return -1;
        atoll_suite_free(dirs, dir_count);
    }
    return 0;
}

static int run_check(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct check_settings *settings = given;
    struct atoll_bench_device host, device;
    struct check_state state = {.settings = settings,
                                .host = &host,
                                .json = settings->json,
                                .verbose = settings->verbose,
                                .combinations = (unsigned)settings->combinations};
    int status = 0;

    if (strcmp(settings->backend, "cuda") == 0) {
        state.device = &device;
    } else if (strcmp(settings->backend, "cpu") != 0) {
        char hint[ATOLL_SPELLING_HINT_BYTES];

        return atoll_err_set(
            err, ATOLL_E_USAGE, "atoll task check: --backend %.40s: %s", settings->backend,
            atoll_spelling_hint_in(settings->backend, "cpu cuda", "there are cpu and cuda", hint));
    }
    if (are_there(arguments, count, err) != 0 || open_devices(settings, &host, state.device, err) != 0)
        return -1;
    for (size_t i = 0; i < count && status == 0; i++) {
        char dir[PATH_MAX];

        status = atoll_run_tasks_find_suite(arguments[i], dir, sizeof(dir), err) != 0
                     ? -1
                     : atoll_suite_visit(dir, check_task, &state, err);
    }
    if (status == 0 && !state.json)
        printf("%u test%s passed, %u failed\n", state.passed, state.passed == 1 ? "" : "s", state.failed);
    if (state.device)
        atoll_bench_device_close(&device);
    atoll_bench_device_close(&host);
    return status != 0 ? -1 : state.failed > 0;
}

const struct atoll_subcommand atoll_command_task_check = {.command = &check_command,
                                                          .settings_bytes = sizeof(struct check_settings),
                                                          .least = 1,
                                                          .most = 64,
                                                          .missing = "name a task or a suite",
                                                          .run = run_check};
