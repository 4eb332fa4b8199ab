/* referee_thread.h - the thread that owns the referee of an evaluator process: requests are posted to it and come
 * back done, so that the process's main thread never waits for a measurement. Layer: mpi-eval.  Lifetime:
 * create/destroy.  Post and collect from one thread. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_REFEREE_THREAD_H
#define ATOLL_MPI_EVAL_EVALUATOR_REFEREE_THREAD_H

#include "core/message.h"
#include "core/rival.h"
#include "mpi-eval/evaluator/object_cache.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/time_account.h"

enum atoll_referee_request_kind {
    ATOLL_REFEREE_REQUEST_OPEN, /* the referee itself: device, calibration; uses the compiler */
    ATOLL_REFEREE_REQUEST_TASK, /* makes a task known; uses the compiler where it needs a reference and comes without */
    ATOLL_REFEREE_REQUEST_EVALUATE,
    ATOLL_REFEREE_REQUEST_DUEL,
    ATOLL_REFEREE_REQUEST_RIVAL,
    ATOLL_REFEREE_REQUEST_RIVAL_DUEL,
    ATOLL_REFEREE_REQUEST_ANSWER, /* one draw of a task, ahead of who needs it */
    ATOLL_REFEREE_REQUEST_CHECK   /* a candidate at the check variants alone, for a model */
};

/* Owned by the poster, lent from post to collect with everything it points to. */
struct atoll_referee_request {
    enum atoll_referee_request_kind kind;
    uint32_t task_number;
    const struct atoll_task *task;        /* TASK */
    const struct atoll_object *reference; /* TASK; NULL: the referee compiles it */
    const struct atoll_order *order;      /* of all that measure */
    const struct atoll_prepared *candidate, *elite;
    const struct atoll_object *candidate_object, *elite_object;
    struct atoll_evaluation evaluation; /* EVALUATE, CHECK; init'ed by the poster */
    struct atoll_duel duel;             /* DUEL, RIVAL_DUEL */
    struct atoll_rival rival;           /* RIVAL; init'ed by the poster */
    int is_ordered;                     /* ANSWER: an order for the task is on its way */
    int has_answered;                   /* ANSWER: there may be another one */
    double answer_ns;                   /* ANSWER: of the device */
    /* 0 or -1 with err.  ANSWER: 0.  EVALUATE, DUEL, RIVAL: -1 when the device fails its known-answer kernel after trouble of ours */
    int rc;
    struct atoll_err err;
    struct atoll_referee_request *next;
};

struct atoll_referee_thread;

/* setup: copied; compiler: borrowed; lent to the thread while a request is out that uses it. */
struct atoll_referee_thread *atoll_referee_thread_create(const struct atoll_setup *setup,
                                                         struct atoll_compiler *compiler,
                                                         struct atoll_err *err);
/* Cancels what runs and waits for the thread, at most wait_ns.  0: all is freed; -1: the thread hangs,
 * nothing is freed and the process should leave. */
int atoll_referee_thread_destroy(struct atoll_referee_thread *referee_thread, double wait_ns);
void atoll_referee_thread_post(struct atoll_referee_thread *referee_thread,
                               struct atoll_referee_request *request);
void atoll_referee_thread_post_first(struct atoll_referee_thread *referee_thread,
                                     struct atoll_referee_request *request); /* ahead of the others */
/* One that is done, NULL when none is; call it until it gives NULL. */
struct atoll_referee_request *atoll_referee_thread_collect(struct atoll_referee_thread *referee_thread);
int atoll_referee_thread_fd(
    const struct atoll_referee_thread *referee_thread); /* readable when some are done */
/* NULL before OPEN came back well. */
const struct atoll_device_info *
atoll_referee_thread_device(const struct atoll_referee_thread *referee_thread);
/* Its address on the PCI bus; "" none, or before OPEN is done.  Borrowed. */
const char *atoll_referee_thread_pci(const struct atoll_referee_thread *referee_thread);
/* Where the device's time goes, from create on; any thread may read it. */
struct atoll_time_account *
atoll_referee_thread_account(const struct atoll_referee_thread *referee_thread); /* borrowed */
/* Of the referee; to be read while no request is out. */
const struct atoll_phases *atoll_referee_thread_phases(const struct atoll_referee_thread *referee_thread);
struct atoll_answer_counts atoll_referee_thread_answers(const struct atoll_referee_thread *referee_thread,
                                                        uint32_t task);

#endif
