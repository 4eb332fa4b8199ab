/* fixture_candidates.h - candidates of the task in tests/fixtures/referee, for tests of what is around the
 * referee. */
#ifndef ATOLL_TEST_MPI_EVAL_FIXTURE_CANDIDATES_H
#define ATOLL_TEST_MPI_EVAL_FIXTURE_CANDIDATES_H

#include <stdio.h>
#include <stdlib.h>

#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/evaluator/referee_thread.h"

#define FIXTURE_TASK ATOLL_SOURCE_DIR "/tests/fixtures/referee"
#define FIXTURE_PLAN                                                                                         \
    "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"4 * N\"}, \"launch\": [{\"function\": \"f\", "    \
    "\"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", \"s\", \"i32:N\"]}]} */\n"
#define FIXTURE_HEAD                                                                                         \
    "void f(long b, long e, float *x, const float *w, float *y, float *s, int n)\n{\n"                       \
    "for (long i = b; i < e; i++) for (int j = 0; j < n; j++) "
#define FIXTURE_VALUE "x[i * n + j] * w[j] + x[i * n + (j + 1) % n]"
#define FIXTURE_RIGHT FIXTURE_PLAN FIXTURE_HEAD "y[i * n + j] = " FIXTURE_VALUE ";\n}\n"
#define FIXTURE_WRONG FIXTURE_PLAN FIXTURE_HEAD "y[i * n + j] = 2 * (" FIXTURE_VALUE ");\n}\n"
#define FIXTURE_ERROR FIXTURE_PLAN FIXTURE_HEAD "y[i * n + j] = no_such_thing;\n}\n"
#define FIXTURE_SLOW                                                                                         \
    FIXTURE_PLAN FIXTURE_HEAD "{ for (volatile int k = 0; k < 20; k++) ; y[i * n + j] = " FIXTURE_VALUE      \
                              "; }\n}\n"

static inline struct atoll_compiler *fixture_compiler(void)
{
    const struct atoll_compiler_settings settings = {.command = "cc",
                                                     .flags = "-O1",
                                                     .slots = 1,
                                                     .deadline_ns = 20e9,
                                                     .memory_bytes = (uint64_t)2 << 30,
                                                     .output_bytes = (uint64_t)16 << 20};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler *compiler = atoll_cc_create(&settings, &err);
    if (!compiler)
        fail_msg("%s", err.text);
    return compiler;
}

static inline struct atoll_setup fixture_setup(void)
{
    struct atoll_setup setup = {.secret = {1, 2, 3},
                                .sample_device_ns = 20e6,
                                .sample_wall_ns = 60e6,
                                .sample_min = 7,
                                .interval_target = 0.005,
                                .full_compares = 5,
                                .compile_deadline_ns = 20e9,
                                .compile_memory_bytes = (uint64_t)2 << 30};
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    setenv("ATOLL_WORKER", ATOLL_BUILD_DIR "/atoll-worker", 1);
    return setup;
}

static inline struct atoll_task *fixture_task(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(FIXTURE_TASK, &err);
    if (!task)
        fail_msg("%s", err.text);
    return task;
}

/* Its variant bench, of 16 GB in x and in y from now on. */
static inline struct atoll_variant *fixture_large_variant(struct atoll_task *task)
{
    struct atoll_variant *v = task->variants;
    while (v->kind != ATOLL_VARIANT_BENCH)
        v++;
    v->dims[0] = 8000000;
    v->dims[1] = 500;
    return v;
}

#endif
