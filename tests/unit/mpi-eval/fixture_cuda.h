/* fixture_cuda.h - a candidate of the task in tests/fixtures/referee as the cuda backend prepares it, without a device. */
#ifndef ATOLL_TEST_MPI_EVAL_FIXTURE_CUDA_H
#define ATOLL_TEST_MPI_EVAL_FIXTURE_CUDA_H

#include <string.h>

#include "core/plan/plan.h"
#include "mpi-eval/referee/prepare.h"

#define CUDA_PLAN(rest)                                                                                      \
    "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"4 * N\"}, \"launch\": [" rest "]} */\n"

struct cuda_candidate {
    struct atoll_task *task;
    struct atoll_arena *arena;
    struct atoll_prepared prepared;
};

/* variant 0 is "check" (M 19, N 37), 1 "bench" (M 192, N 512). */
static inline void cuda_candidate_open(struct cuda_candidate *c, const char *source)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body;
    memset(c, 0, sizeof(*c));
    c->task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    c->arena = atoll_arena_create((size_t)8 << 20, &err);
    if (!c->task || !c->arena)
        fail_msg("%s", err.text);
    c->prepared.task = c->task;
    c->prepared.plan = atoll_plan_parse(c->arena, c->task, "cuda", source, &body, &err);
    if (!c->prepared.plan)
        fail_msg("%s", err.text);
    atoll_plan_first_choice(c->prepared.plan, &c->prepared.choice);
}

static inline void cuda_candidate_close(struct cuda_candidate *c)
{
    atoll_arena_destroy(c->arena);
    atoll_task_destroy(c->task);
}

#endif
