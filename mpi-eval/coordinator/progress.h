/* progress.h - what a run is doing, as JSON lines for a front end (`atoll run`): one about every half second,
 * and a last one. Layer: mpi-eval.  A reader that does not keep up misses lines; it never slows the run.
 *
 * {"type":"progress"|"summary","elapsed_s":..,"budget_s":..,"evaluated":..,"rate":..,"under_way":..,"evaluators":..,
 *  ["asks":{"open":..,"answered":..,"failed":..,"tokens":..,"cost_usd":..,"over":0|1},]
 *  "busy":0..1,"candidate_share":0..1,"finishing":0|1,"stopped":0|1,"reason":"..","tasks":[{"name":"..",["model":"..",]"evaluated":..,
 *  "correct":..,"baseline_ns":..,"best_ns":..,"floor_ns":..,"best_fitness":..,"final_ratio":..,"promotions":..,"done":0|1}]}
 */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_PROGRESS_H
#define ATOLL_MPI_EVAL_COORDINATOR_PROGRESS_H

#include "evolution/engine/engine.h"
#include "mpi-eval/operator/llm_queue.h"

struct atoll_progress_facts {
    const struct atoll_engine *engine;
    double elapsed_ns, budget_ns; /* campaign time; budget 0 = none */
    double attempt_ns;            /* since this attempt's start */
    double rate;                  /* evaluations a second, lately */
    double busy, candidate_share; /* of the evaluators' time, lately */
    unsigned evaluators;          /* ready */
    const char *message;          /* of ours, without quotes or backslashes; NULL = none */
    int has_model;                /* 1: a language model is asked, and this is how that goes */
    struct atoll_llm_queue_counts questions;
};

/* Appends one line with its newline. */
void atoll_progress_line(const struct atoll_progress_facts *facts, int is_last, struct atoll_buffer *out);
/* One write that does not block; is_last: waits for the reader at most a second. */
void atoll_progress_write(int fd, const struct atoll_buffer *line, int is_last);

#endif
