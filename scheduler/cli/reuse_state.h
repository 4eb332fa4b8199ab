/* reuse_state.h - what reuse.c reads and reuse_choose.c chooses from.
 * Layer: scheduler, private to the two. */
#ifndef ATOLL_SCHEDULER_CLI_REUSE_STATE_H
#define ATOLL_SCHEDULER_CLI_REUSE_STATE_H

#include "base/arena.h"
#include "core/plan/plan.h"
#include "scheduler/cli/reuse.h"

#define ATOLL_REUSE_MODEL_LIMIT 64

struct reuse_list {
    void *items; /* owned */
    size_t count, capacity;
};

struct reuse_result {
    uint32_t task, model;
    size_t sequence; /* as read */
    struct atoll_id source;
    struct atoll_choice choice;
    double time_ns; /* 0: it failed */
};

/* Of seeds and of sources from outside. */
struct reuse_text {
    struct atoll_id id;
    const char *language, *source; /* in the arena */
};

struct atoll_reuse {
    struct atoll_task *const *tasks;
    size_t task_count;
    const char *backend;
    struct atoll_arena *texts_arena, *event_arena;
    char models[ATOLL_REUSE_MODEL_LIMIT][96]; /* the first is the new run's own */
    uint32_t model_count;
    struct reuse_list results, texts;
    /* of the campaign that is read */
    struct reuse_list orders, devices,
        numbers; /* numbers: uint32_t, its tasks' numbers to those of the new run */
};

#endif
