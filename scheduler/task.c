/* task.c - `atoll task check`: the admission battery, one line a test. */
#include "scheduler/verbs.h"

#include <jansson.h>
#include <stdio.h>

#include "core/task.h"
#include "mpi-eval/setup.h"
#include "scheduler/bench_device.h"
#include "scheduler/json_text.h"

struct check_settings {
    const char *compiler, *flags;
    int json;
};

#define FIELD(name) offsetof(struct check_settings, name)

static const struct atoll_option check_options[] = {
    {"compiler", 0, ATOLL_OPT_TEXT, FIELD(compiler), "COMMAND", "cc", 0, 0, NULL, "C compiler."},
    {"compile-flags", 0, ATOLL_OPT_TEXT, FIELD(flags), "FLAGS", ATOLL_SETUP_COMPILE_FLAGS, 0, 0, NULL,
     "Its flags."},
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
    "and every seed must compile and be correct. Exit status 0 when all tasks pass.",
    "atoll task check suites/starter",
    check_options};

struct check_state {
    struct atoll_bench_device *device;
    const char *task;
    int json;
    unsigned passed, failed;
};

static void print_row(void *context, const char *test, int passed, const char *detail)
{
    struct check_state *state = context;

    if (passed) {
        state->passed++;
    } else {
        state->failed++;
    }
    if (state->json) {
        json_t *row = json_pack("{s:s, s:s, s:b, s:o}", "task", state->task, "test", test, "passed", passed,
                                "detail", atoll_json_text(detail ? detail : ""));

        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(row);
        return;
    }
    printf("  %-4s %-28s %s\n", passed ? "ok" : "FAIL", test, detail ? detail : "");
    fflush(stdout);
}

static int check_task(void *context, const char *dir, struct atoll_err *err)
{
    struct check_state *state = context;
    struct atoll_task *task = atoll_task_load(dir, err);
    int status;

    if (!task) {
        return -1;
    }
    state->task = task->name;
    if (!state->json) {
        printf("%s: %s\n", task->name, task->summary);
    }
    status = atoll_referee_admit(state->device->referee, task, print_row, state, err);
    atoll_task_destroy(task);
    return status < 0 ? -1 : 0;
}

static int run_check(int argc, char **argv, struct atoll_err *err)
{
    struct check_settings settings = {0};
    struct atoll_bench_device device;
    struct check_state state = {.device = &device};
    const char *suites[64];
    size_t count;
    int status = atoll_verb_parse(&check_command, argc, argv, &settings, suites, 64, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (count == 0) {
        atoll_err_set(err, ATOLL_E_USAGE, "atoll task check: name a task or a suite");
        return atoll_code_exit_status(err->code);
    }
    state.json = settings.json;
    if (atoll_bench_setup(&device.setup, err) != 0) {
        return atoll_code_exit_status(err->code);
    }
    snprintf(device.setup.compiler, sizeof(device.setup.compiler), "%s", settings.compiler);
    snprintf(device.setup.compile_flags, sizeof(device.setup.compile_flags), "%s", settings.flags);
    if (atoll_bench_device_open(&device, err) != 0) {
        return atoll_code_exit_status(err->code);
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        status = atoll_suite_visit(suites[i], check_task, &state, err);
    }
    atoll_bench_device_close(&device);
    if (status != 0) {
        return atoll_code_exit_status(err->code);
    }
    if (!settings.json) {
        printf("%u tests passed, %u failed\n", state.passed, state.failed);
    }
    return state.failed ? 1 : 0;
}

const struct atoll_verb atoll_verb_task_check = {&check_command, run_check};
