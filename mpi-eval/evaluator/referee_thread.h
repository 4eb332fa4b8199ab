/* referee_thread.h - the thread that owns the referee of an evaluator process: errands are posted to it and come
 * back done, so that the process's main thread never waits for a measurement. Layer: mpi-eval.  Lifetime:
 * create/destroy.  Post and collect from one thread. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_REFEREE_THREAD_H
#define ATOLL_MPI_EVAL_EVALUATOR_REFEREE_THREAD_H

#include "core/message.h"
#include "mpi-eval/evaluator/object_cache.h"
#include "mpi-eval/referee/referee.h"

enum atoll_errand_kind {
    ATOLL_ERRAND_OPEN, /* the referee itself: device, calibration; uses the compiler */
    ATOLL_ERRAND_TASK, /* makes a task known; uses the compiler unless it comes with a compiled reference */
    ATOLL_ERRAND_EVALUATE,
    ATOLL_ERRAND_DUEL
};

/* Owned by the poster, lent from post to collect with everything it points to. */
struct atoll_errand {
    enum atoll_errand_kind kind;
    uint32_t task_number;
    const struct atoll_task *task;        /* TASK */
    const struct atoll_object *reference; /* TASK; NULL: the referee compiles it */
    const struct atoll_order *order;      /* EVALUATE, DUEL */
    const struct atoll_prepared *candidate, *elite;
    const struct atoll_object *candidate_object, *elite_object;
    struct atoll_evaluation evaluation; /* EVALUATE; init'ed by the poster */
    struct atoll_duel duel;             /* DUEL */
    /* 0 or -1 with err.  EVALUATE, DUEL: -1 when the device fails its known-answer kernel after trouble of ours */
    int rc;
    struct atoll_err err;
    struct atoll_errand *next;
};

struct atoll_examiner;

/* setup: copied; compiler: borrowed; lent to the thread while an errand is out that uses it. */
struct atoll_examiner *atoll_examiner_create(const struct atoll_setup *setup, struct atoll_compiler *compiler,
                                             struct atoll_err *err);
/* Cancels what runs and waits for the thread, at most wait_ns.  0: all is freed; -1: the thread hangs,
 * nothing is freed and the process should leave. */
int atoll_examiner_destroy(struct atoll_examiner *examiner, double wait_ns);
void atoll_examiner_post(struct atoll_examiner *examiner, struct atoll_errand *errand);
void atoll_examiner_post_first(struct atoll_examiner *examiner,
                               struct atoll_errand *errand); /* ahead of the others */
/* One that is done, NULL when none is; call it until it says NULL. */
struct atoll_errand *atoll_examiner_collect(struct atoll_examiner *examiner);
int atoll_examiner_fd(const struct atoll_examiner *examiner); /* readable when some are done */
/* NULL before OPEN came back well. */
const struct atoll_device_info *atoll_examiner_device(const struct atoll_examiner *examiner);
/* Its address on the PCI bus; "" none, or before OPEN is done.  Borrowed. */
const char *atoll_examiner_pci(const struct atoll_examiner *examiner);
/* The same; to be read while no errand is out. */
const struct atoll_phases *atoll_examiner_phases(const struct atoll_examiner *examiner);

#endif
