/* pipeline.h - the orders an evaluator process has in hand, from arrival to result: prepared (levels 1 and
 * 2), compiled side by side (level 3), measured one after the other by the referee thread. Layer: mpi-eval.
 * Lifetime: create/destroy.  Single owner; nothing blocks. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_PIPELINE_H
#define ATOLL_MPI_EVAL_EVALUATOR_PIPELINE_H

#include "mpi-eval/evaluator/referee_thread.h"
#include "mpi-eval/referee/backend.h"

#define ATOLL_PIPELINE_ORDER_LIMIT 64 /* in hand; a coordinator that sends more breaks the protocol */

struct atoll_pipeline;

/* compiler (of that backend) and referee thread: borrowed. */
struct atoll_pipeline *atoll_pipeline_create(const struct atoll_backend *backend,
                                             struct atoll_compiler *compiler,
                                             struct atoll_referee_thread *referee_thread,
                                             struct atoll_err *err);
void atoll_pipeline_destroy(struct atoll_pipeline *pipeline); /* after the referee thread's thread ended */
/* task: taken. */
int atoll_pipeline_add_task(struct atoll_pipeline *pipeline, uint32_t number, struct atoll_task *task,
                            struct atoll_err *err);
/* Takes one EVALUATE, DUEL or RIVAL payload in hand. */
int atoll_pipeline_order(struct atoll_pipeline *pipeline, const void *payload, size_t length,
                         struct atoll_err *err);
/* Takes one TOOL payload in hand: compiled when no candidate needs the compile children, checked between measurements. */
int atoll_pipeline_tool(struct atoll_pipeline *pipeline, const void *payload, size_t length,
                        struct atoll_err *err);
/* Moves everything on that can move; the first time it opens the device, when the tasks that are known by then are given.
 * -1: the evaluator cannot go on (no device).  A task whose reference does not compile costs its own orders only. */
int atoll_pipeline_advance(struct atoll_pipeline *pipeline, struct atoll_err *err);
int atoll_pipeline_is_open(const struct atoll_pipeline *pipeline); /* the device is there */
/* 0 while the compiler is lent to the referee thread: then its descriptors are not this thread's to poll. */
int atoll_pipeline_owns_compiler(const struct atoll_pipeline *pipeline);
/* 1: every order in hand has its result, and there is one. */
int atoll_pipeline_is_done(const struct atoll_pipeline *pipeline);
/* 1: one result, type and payload appended to out; 0: none. */
int atoll_pipeline_result(struct atoll_pipeline *pipeline, uint16_t *ret_type, struct atoll_buffer *out);
/* Adds what this pipeline did to a pulse (uptime is the caller's). */
void atoll_pipeline_pulse(const struct atoll_pipeline *pipeline, struct atoll_pulse *pulse);

#endif
