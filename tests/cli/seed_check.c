/* seed_check.c - whether the seeds of tasks are candidates, for tests in Python: seed_check TASK... [--compile
 * TASK...] parses every seed's plan, holds it against every variant and against every device, checks the static rules, and
 * compiles what is CUDA of the tasks after --compile for sm_90 where there is NVRTC.  No two tasks have one name, so that a campaign may
 * have suites together.  Prints how many were compiled; the first seed that fails ends it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/message.h"
#include "core/plan/plan.h"
#include "core/rules/rules.h"
#include "core/task/task.h"
#include "mpi-eval/backend/cuda/compile/compile.h"

#define TASK_LIMIT 1000

static void fail(const char *task, const char *seed, const char *what)
{
    fprintf(stderr, "%s: seed %s: %s\n", task, seed, what);
    exit(1);
}

static struct atoll_compiler *open_compiler(void)
{
    static const struct atoll_nvrtc_settings settings = {.compiler = {.command = "nvrtc",
                                                                      .flags = "",
                                                                      .target = "sm_90",
                                                                      .slots = 1,
                                                                      .deadline_ns = 60e9,
                                                                      .memory_bytes = (uint64_t)4 << 30,
                                                                      .output_bytes = (uint64_t)16 << 20},
                                                         .cache = ""};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler *compiler = atoll_nvrtc_create(&settings, &err);

    if (!compiler)
        printf("nothing is compiled: %s\n", err.text);
    return compiler;
}

static void compile(struct atoll_compiler *compiler, const struct atoll_task *task,
                    const struct atoll_seed *seed, const struct atoll_plan *plan, const char *body)
{
    char texts[ATOLL_PLAN_PARAM_LIMIT][64];
    const char *defines[ATOLL_PLAN_PARAM_LIMIT];
    struct atoll_compiled compiled;
    struct atoll_err err = ATOLL_ERR_INIT;

    for (size_t i = 0; i < plan->param_count; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%s=%lld", plan->params[i].name,
                 (long long)plan->params[i].values[0]);
        defines[i] = texts[i];
    }
    if (atoll_compiler_run(compiler, "candidate.cu", body, strlen(body), defines, plan->param_count,
                           &compiled, &err) != 0)
        fail(task->name, seed->name, err.text);
    if (compiled.status != ATOLL_COMPILE_OK)
        fail(task->name, seed->name, compiled.diagnostics);
    atoll_compiled_fini(&compiled);
}

/* 1 when it was compiled. */
static int check(struct atoll_compiler *compiler, struct atoll_arena *arena, const struct atoll_task *task,
                 const struct atoll_seed *seed)
{
    struct atoll_device_limits unknown = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice choice;
    const char *body;
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, seed->language, seed->source, &body, &err);
    unsigned first_line = 1;

    if (!plan)
        fail(task->name, seed->name, err.text);
    for (const char *at = seed->source; at < body; at++)
        first_line += *at == '\n';
    atoll_plan_first_choice(plan, &choice);
    if (atoll_plan_choice_legal(task, plan, &choice, &err) != 1 ||
        atoll_plan_choice_check(task, plan, &choice, &err) != 0 ||
        atoll_plan_limits_check(task, plan, &choice, ATOLL_PLAN_KIND_ALL, &unknown, &err) != 0 ||
        atoll_rules_check(seed->language, body, first_line, &err) != 0)
        fail(task->name, seed->name, err.text);
    if (!compiler || strcmp(seed->language, "cuda") != 0)
        return 0;
    compile(compiler, task, seed, plan, body);
    return 1;
}

static void check_name(const struct atoll_task *task, const char *dir)
{
    static struct {
        char name[64];
        const char *dir;
    } seen[TASK_LIMIT];
    static size_t count;

    for (size_t i = 0; i < count; i++)
        if (strcmp(seen[i].name, task->name) == 0) {
            fprintf(stderr, "%s: a task named %s is already in %s\n", dir, task->name, seen[i].dir);
            exit(1);
        }
    if (count == TASK_LIMIT)
        fail(dir, "", "more tasks than are looked at");
    snprintf(seen[count].name, sizeof(seen[count].name), "%s", task->name);
    seen[count++].dir = dir;
}

int main(int argc, char **argv)
{
    struct atoll_compiler *compiler = NULL;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create((size_t)16 << 20, &err);
    int compiled = 0, checked = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--compile") == 0) {
            compiler = open_compiler();
            continue;
        }
        struct atoll_task *task = atoll_task_load(argv[i], &err);

        if (!arena || !task)
            fail(argv[i], "", err.text);
        check_name(task, argv[i]);
        for (size_t s = 0; s < task->seed_count; s++, checked++)
            compiled += check(compiler, arena, task, &task->seeds[s]);
        atoll_task_destroy(task);
    }
    atoll_arena_destroy(arena);
    atoll_compiler_destroy(compiler);
    printf("%d seeds checked, %d compiled\n", checked, compiled);
    return 0;
}
