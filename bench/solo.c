#include "bench/solo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/candidate.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/coordinator/setup.h"
#include "mpi-eval/torch/interpreter.h"

#define PLAN_BYTES (4u << 20)

/* "interval=0.001,sample-wall=20": options of the campaign, for all processes of a bench. */
static int setup_of_environment(struct atoll_setup *setup, struct atoll_err *err)
{
    const char *given = getenv("ATOLL_BENCH_SETUP");
    char text[512], *rest = text, *pair;
    snprintf(text, sizeof(text), "%s", given ? given : "");
    while ((pair = strsep(&rest, ",")) != NULL) {
        char *value = strchr(pair, '=');
        if (!*pair)
            continue;
        if (value)
            *value++ = '\0';
        if (!value || atoll_setup_option(setup, pair, value, err) != 1)
            return atoll_err_set(err, ATOLL_E_INPUT, "ATOLL_BENCH_SETUP: %.64s is no option, or has no value",
                                 pair);
    }
    return 0;
}

int atoll_solo_open(struct atoll_solo *solo, const char *backend, struct atoll_err *err)
{
    memset(solo, 0, sizeof(*solo));
    if (atoll_bench_setup(&solo->device.setup, err) != 0 ||
        atoll_setup_option(&solo->device.setup, "backend", backend, err) < 0 ||
        atoll_setup_option(&solo->device.setup, "counters", "none", err) < 0 ||
        atoll_setup_option(&solo->device.setup, "python", ATOLL_TORCH_AUTO, err) < 0 ||
        setup_of_environment(&solo->device.setup, err) != 0)
        return -1;
    solo->backend = atoll_backend_find(backend);
    return atoll_bench_device_open(&solo->device, err);
}

void atoll_solo_close(struct atoll_solo *solo)
{
    atoll_bench_device_close(&solo->device);
}

size_t atoll_solo_seeds(const struct atoll_task *task, const char *backend, size_t *ret_seeds)
{
    const struct atoll_backend *b = atoll_backend_find(backend);
    size_t count = 0;
    for (size_t i = 0; b && i < task->seed_count; i++)
        if (strcmp(task->seeds[i].language, b->language) == 0)
            ret_seeds[count++] = i;
    return count;
}

/* Texts of the candidate, its choice (NULL: the first) and its id. */
static int identify(const struct atoll_task *task, const char *language, const struct atoll_choice *choice,
                    struct atoll_kernel *k, struct atoll_err *err)
{
    const char *body;
    struct atoll_arena *arena = atoll_arena_create(PLAN_BYTES, err);
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, task, language, k->source, &body, err) : NULL;
    if (plan) {
        k->candidate.language = language;
        k->candidate.source = k->source;
        if (choice)
            k->candidate.choice = *choice;
        else
            atoll_plan_first_choice(plan, &k->candidate.choice);
        k->candidate.id = atoll_candidate_id(task, language, plan, body, &k->candidate.choice);
    }
    atoll_arena_destroy(arena);
    return plan ? 0 : -1;
}

static int compile(struct atoll_solo *solo, const struct atoll_task *task, struct atoll_kernel *k,
                   struct atoll_err *err)
{
    k->prepared = atoll_prepared_create(task, solo->backend, &k->candidate,
                                        atoll_referee_device(solo->device.referee), err);
    if (!k->prepared)
        return -1;
    if (k->prepared->verdict != ATOLL_V_CORRECT)
        return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: %.1000s", atoll_verdict_name(k->prepared->verdict),
                             k->prepared->detail);
    if (atoll_prepared_compile(k->prepared, solo->device.compiler, &k->compiled, err) != 0)
        return -1;
    if (k->compiled.status != ATOLL_COMPILE_OK)
        return atoll_err_set(err, ATOLL_E_MISMATCH, "it does not compile: %.1000s", k->compiled.diagnostics);
    return 0;
}

int atoll_kernel_build(struct atoll_solo *solo, const struct atoll_task *task, size_t seed,
                       enum atoll_mutant mutant, unsigned number, struct atoll_kernel *ret_kernel,
                       struct atoll_err *err)
{
    struct atoll_kernel k = {0};
    k.source = atoll_mutant_make(task->seeds[seed].source, mutant, number, err);
    if (!k.source || identify(task, solo->backend->language, NULL, &k, err) != 0 ||
        compile(solo, task, &k, err) != 0) {
        atoll_kernel_fini(&k);
        return atoll_err_add(err, "in seed %s of task %s", task->seeds[seed].name, task->name);
    }
    *ret_kernel = k;
    return 0;
}

int atoll_kernel_make(struct atoll_solo *solo, const struct atoll_task *task, const char *language,
                      const char *source, const struct atoll_choice *choice, struct atoll_kernel *ret_kernel,
                      struct atoll_err *err)
{
    struct atoll_kernel k = {0};
    k.source = strdup(source);
    if (!k.source || identify(task, language, choice, &k, err) != 0 || compile(solo, task, &k, err) != 0) {
        atoll_kernel_fini(&k);
        return -1;
    }
    *ret_kernel = k;
    return 0;
}

void atoll_kernel_fini(struct atoll_kernel *kernel)
{
    atoll_prepared_destroy(kernel->prepared);
    atoll_compiled_fini(&kernel->compiled);
    free(kernel->source);
    memset(kernel, 0, sizeof(*kernel));
}

int atoll_kernel_evaluate(struct atoll_solo *solo, uint32_t task, const struct atoll_kernel *kernel,
                          uint64_t evaluation, struct atoll_evaluation *ret_evaluation, struct atoll_err *err)
{
    struct atoll_order order = {.evaluation = evaluation, .task = task, .candidate = kernel->candidate};
    atoll_referee_evaluate(solo->device.referee, task, &order, kernel->prepared, kernel->compiled.object,
                           kernel->compiled.object_length, ret_evaluation);
    if (ret_evaluation->verdict == ATOLL_V_CORRECT && ret_evaluation->timing_count > 0)
        return 0;
    return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: %.1000s", atoll_verdict_name(ret_evaluation->verdict),
                         ret_evaluation->detail);
}
