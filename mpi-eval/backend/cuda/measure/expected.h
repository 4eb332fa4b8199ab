/* expected.h - what the referee remembers per draw: hashes of its inputs for good, and where its sealed answer lies on the
 * device, within a budget (docs/adr/0007).  Layer: mpi-eval, backend/cuda.  Host side only, no device calls.
 * Lifetime: create/destroy; an answer is borrowed from take to give. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EXPECTED_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EXPECTED_H

#include "mpi-eval/backend/cuda/measure/support.h"
#include "mpi-eval/referee/input_set.h"

enum atoll_expected_kind { ATOLL_EXPECTED_UNKNOWN, ATOLL_EXPECTED_SEALED, ATOLL_EXPECTED_PLAIN };

struct atoll_sealed {
    uint32_t task;
    struct atoll_input_set draw;
    int has_hashes;      /* input_hash was seen once; it never changes */
    uint32_t generation; /* of the device process that made the inputs last */
    uint64_t input_hash[ATOLL_TASK_TENSOR_LIMIT];
    int is_sealed;                                  /* offset and bytes hold an answer */
    uint64_t offset, bytes;                         /* in the sealed memory */
    uint64_t array_offset[ATOLL_TASK_TENSOR_LIMIT]; /* of each output within it */
    enum atoll_expected_kind has_expected;          /* what expected_hash was taken of */
    uint64_t expected_hash[ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_support_key key;
    /* of the store */
    unsigned users;
    uint64_t stamp;
    struct atoll_sealed *next;
};

struct atoll_answer_store;

struct atoll_answer_store *atoll_answer_store_create(struct atoll_err *err);
void atoll_answer_store_destroy(struct atoll_answer_store *store);
/* Sealed memory of `bytes` bytes, empty: all that was sealed is forgotten (another process, another size). */
void atoll_answer_store_reset(struct atoll_answer_store *store, uint64_t bytes);
uint64_t atoll_answer_store_bytes(const struct atoll_answer_store *store);

/* The record of a draw, made when it is new; NULL when there is no memory. */
struct atoll_sealed *atoll_answer_take(struct atoll_answer_store *store, uint32_t task,
                                       const struct atoll_input_set *draw);
/* Gives it back; what belongs to a fresh draw is forgotten with its last user. */
void atoll_answer_give(struct atoll_answer_store *store, struct atoll_sealed *answer);

/* Whether answers of this size are kept: a whole pool of `pool` draws, and one fresh draw, fit. */
int atoll_answer_is_kept(const struct atoll_answer_store *store, uint64_t bytes, size_t pool);
/* Finds room: answers of the (task, variant) that was not asked for longest go first, then this one's own oldest; never
 * one in use.  -1 when there is none. */
int atoll_answer_place(struct atoll_answer_store *store, struct atoll_sealed *answer, uint64_t bytes);
void atoll_answer_unseal(struct atoll_answer_store *store,
                         struct atoll_sealed *answer); /* forgets what was sealed */

/* Pool draws of (task, variant) with a sealed answer; at most limit. */
size_t atoll_answer_kept(const struct atoll_answer_store *store, uint32_t task, uint32_t variant,
                         uint16_t *ret_numbers, size_t limit);
/* Forgets a task. */
void atoll_answer_forget(struct atoll_answer_store *store, uint32_t task);

#endif
