/* pipeline_state.h - what the sources of the pipeline share: its state, and what each does with it.
 * Layer: mpi-eval, private to the pipeline.
 * States of a work: WAITS_TASK (its task is not known to the referee) -> COMPILES (an object is missing) ->
 * MEASURED (lent to the referee thread) -> ANSWERED.  A verdict of levels 1 to 3 goes from any of the first two to
 * ANSWERED. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_PIPELINE_STATE_H
#define ATOLL_MPI_EVAL_EVALUATOR_PIPELINE_STATE_H

#include "base/arena.h"
#include "mpi-eval/evaluator/pipeline.h"

enum work_state { WORK_WAITS_TASK, WORK_COMPILES, WORK_MEASURED, WORK_ANSWERED };

enum { CANDIDATE, ELITE, SIDES };

struct work {
    enum work_state state;
    struct atoll_arena *arena;
    struct atoll_order order;
    int64_t arrived_unix_ns;
    struct atoll_prepared *prepared[SIDES];
    struct atoll_object *objects[SIDES];
    struct atoll_process process; /* also holds the answer */
    struct work *next;
};

struct task_place {
    struct atoll_task *task;        /* owned */
    int known;                      /* to the referee */
    char *refusal;                  /* owned; why the referee cannot work on it, NULL if it can */
    struct atoll_object *reference; /* one count of it, from its compilation until the task is known */
};

struct atoll_pipeline {
    const struct atoll_backend *backend;
    struct atoll_compiler *compiler;             /* borrowed */
    struct atoll_referee_thread *referee_thread; /* borrowed */
    struct atoll_cache *cache;
    struct task_place *tasks;
    uint32_t task_count;
    struct atoll_process setup;     /* OPEN or TASK: one at a time */
    int busy, lent, open, draining; /* busy: setup is out; lent: the compiler, too */
    struct work *first, **end;
    unsigned work_count;
    uint64_t next_job;
    struct {
        uint64_t job;
        struct atoll_object *object; /* holds a reference: the work that wanted it may be gone before */
        struct atoll_id plan;
    } jobs[3 * ATOLL_PIPELINE_ORDER_LIMIT]; /* two sides and a reference each */
    unsigned job_count;
    struct atoll_pulse pulse;
};

/* ---- pipeline_task.c: tasks, and their references ---- */

/* Posts the one process that opens the device or makes a task known; none may be out.
 * number: the task's; 0 for OPEN. */
void atoll_pipeline_setup_post(struct atoll_pipeline *p, enum atoll_process_kind kind, uint32_t number);
/* It has come back.  -1: the evaluator cannot go on. */
int atoll_pipeline_setup_collect(struct atoll_pipeline *p, struct atoll_err *err);
/* Moves the tasks on that orders wait for; the device is open. */
int atoll_pipeline_tasks_advance(struct atoll_pipeline *p, struct atoll_err *err);
/* The same through the compiler of the referee's thread, for a backend that gives no unit for references. */
void atoll_pipeline_tasks_advance_lending(struct atoll_pipeline *p);

/* ---- pipeline_compile.c: compilations under way ---- */

/* One more, which counts the object up until it has come back.  plan: NULL for what has none. */
int atoll_pipeline_compile_start(struct atoll_pipeline *p, struct atoll_object *object,
                                 const struct atoll_prepared *plan, const char *name, const char *text,
                                 size_t length, struct atoll_err *err);
void atoll_pipeline_compiles_collect(struct atoll_pipeline *p);

/* ---- pipeline_work.c: orders ---- */

void atoll_pipeline_work_destroy(struct atoll_pipeline *p, struct work *work);
void atoll_pipeline_work_advance(struct atoll_pipeline *p, struct work *work);
/* Its process has come back.  -1: the device computes no more. */
int atoll_pipeline_examined_collect(struct atoll_pipeline *p, struct work *work, struct atoll_err *err);

/* ---- pipeline_answer.c: answers ---- */

/* NULL before the device is open. */
const struct atoll_device_info *atoll_pipeline_device_info(const struct atoll_pipeline *p);
/* What the cascade decided before the referee: level 1 to 3, or 0 for trouble of ours. */
void atoll_pipeline_work_conclude(struct atoll_pipeline *p, struct work *work, enum atoll_verdict verdict,
                                  unsigned level, const char *detail);

#endif
