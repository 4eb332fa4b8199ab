/* expected.h - what the referee remembers of the reference: per draw the fingerprints for good, the whole
 * expected arrays within a memory budget (least recently used go first). Layer: mpi-eval, backend/cpu.  Lifetime:
 * create/destroy; an answer is borrowed from get to release. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_EXPECTED_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_EXPECTED_H

#include "mpi-eval/backend/cpu/measure/fingerprint.h"
#include "mpi-eval/backend/cpu/measure/oracle.h"

#define ATOLL_ANSWER_KEPT 8 /* whole answers of one (task, variant), unless more are asked for */

struct atoll_answer {
    uint32_t task;
    struct atoll_input_set draw;
    int is_full;              /* truth.values and truth.scale are there */
    struct atoll_truth truth; /* counts and hashes always */
    struct atoll_fingerprint prints[ATOLL_TASK_TENSOR_LIMIT];
    /* of the cache */
    uint64_t stamp;
    unsigned users;
    size_t bytes, input_bytes;
};

struct atoll_answers;

/* key: secret, of the fingerprints. */
struct atoll_answers *atoll_answers_create(size_t limit_bytes, size_t input_limit_bytes, uint64_t key,
                                           struct atoll_err *err);
void atoll_answers_destroy(struct atoll_answers *answers);

/* The answer to one draw, asked of the oracle when it is not known (or not in full and need_full).  Release
 * it afterwards; a fresh draw's answer is forgotten then. */
struct atoll_answer *atoll_answers_get(struct atoll_answers *answers, struct atoll_oracle *oracle,
                                       const struct atoll_task *task, uint32_t task_number,
                                       const struct atoll_input_set *draw, int need_full,
                                       struct atoll_err *err);
/* Whether the answer to a draw is known, in full or not. */
int atoll_answers_know(const struct atoll_answers *answers, uint32_t task_number,
                       const struct atoll_input_set *draw);
void atoll_answers_release(struct atoll_answers *answers, struct atoll_answer *answer);

/* Writes the raw input `tensor` of an answer's draw, from memory or made again. */
int atoll_answers_input(struct atoll_answers *answers, struct atoll_answer *answer,
                        const struct atoll_task *task, size_t tensor, void *ret_data, struct atoll_err *err);

/* Numbers of pool draws of (task, variant) whose whole answer is held; at most limit of them. */
size_t atoll_answers_kept(const struct atoll_answers *answers, uint32_t task, uint32_t variant,
                          uint16_t *ret_numbers, size_t limit);
/* Some held whole answer of (task, variant) to another draw than `number`, with a user added; NULL when there
 * is none. */
struct atoll_answer *atoll_answers_other(struct atoll_answers *answers, uint32_t task, uint32_t variant,
                                         const struct atoll_input_set *not_this);
size_t atoll_answers_held_bytes(const struct atoll_answers *answers);

#endif
