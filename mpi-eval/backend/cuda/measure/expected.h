/* expected.h - what the referee remembers per input set: hashes of its inputs for good, and where its sealed expected
 * values and their fingerprint lie on the device, within a budget (docs/adr/0007, 0024).  Layer: mpi-eval, backend/cuda.
 * Host side only, no device calls. Lifetime: create/destroy; a record is borrowed from take to give. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EXPECTED_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_EXPECTED_H

#include "mpi-eval/backend/cuda/measure/support.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/input_set.h"

enum atoll_expected_kind { ATOLL_EXPECTED_UNKNOWN, ATOLL_EXPECTED_SEALED, ATOLL_EXPECTED_PLAIN };

struct atoll_sealed_print {
    int is_sealed;
    uint64_t offset, bytes;                         /* in the sealed memory */
    uint64_t array_offset[ATOLL_TASK_TENSOR_LIMIT]; /* of each output's within it */
    uint64_t hash[ATOLL_TASK_TENSOR_LIMIT];         /* of what was sealed there */
    struct atoll_support_key key;
    struct atoll_norm_rule norm[ATOLL_TASK_TENSOR_LIMIT]; /* of each output */
};

struct atoll_sealed_group;

struct atoll_sealed {
    uint32_t task;
    struct atoll_input_set input_set;
    int has_hashes;      /* input_hash was seen once; it never changes */
    int is_whole_wanted; /* a fresh one: whole comparisons for whoever uses it, whatever that costs */
    int was_answered;    /* it had an answer, which it may have no more */
    uint32_t generation; /* of the device process that made the inputs as they were first made */
    uint64_t input_hash[ATOLL_TASK_TENSOR_LIMIT];
    int is_sealed;                                  /* offset and bytes hold expected values */
    uint64_t offset, bytes;                         /* in the sealed memory */
    uint64_t array_offset[ATOLL_TASK_TENSOR_LIMIT]; /* of each output within it */
    enum atoll_expected_kind has_expected;          /* what expected_hash was taken of */
    uint64_t expected_hash[ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_support_key key;
    struct atoll_sealed_print print;
    /* of the store */
    unsigned users;
    uint64_t stamp;
    struct atoll_sealed_group *group;
    struct atoll_sealed *next;
};

struct atoll_expected_store;

struct atoll_expected_store *atoll_expected_store_create(struct atoll_err *err);
void atoll_expected_store_destroy(struct atoll_expected_store *store);
/* Sealed memory of `bytes` bytes, empty: all that was sealed is forgotten (another process, another size). */
void atoll_expected_store_reset(struct atoll_expected_store *store, uint64_t bytes);
/* Sealed memory of `bytes` bytes, no fewer than before, with all that was sealed at the same offsets. */
void atoll_expected_store_grow(struct atoll_expected_store *store, uint64_t bytes);

/* The record of an input set, made when it is new; NULL when there is no memory. */
struct atoll_sealed *atoll_expected_store_take(struct atoll_expected_store *store, uint32_t task,
                                               const struct atoll_input_set *input_set);
/* Gives it back; what belongs to a fresh input set is forgotten with its last user. */
void atoll_expected_store_give(struct atoll_expected_store *store, struct atoll_sealed *sealed);

/* Whether expected values of this size are kept: a whole pool of `pool` input sets, and one fresh input set, fit. */
int atoll_expected_store_is_kept(const struct atoll_expected_store *store, uint64_t bytes, size_t pool);
/* Whether whole expected values are worth their room beside fingerprints: fewer than `most` pool input sets of the (task,
 * variant) have theirs, and they, this one, a fresh one and the fingerprints fit. */
int atoll_expected_store_has_room(const struct atoll_expected_store *store, const struct atoll_sealed *sealed,
                                  uint64_t bytes, size_t most);
/* Finds room; never of one in use.  -1 when there is none.
 *
 * Whole values beside a fingerprint are spare: they save full comparisons a run of the reference, and nothing else.  For all but
 * spare ones these go first, then what is kept of the (task, variant) that was not asked for longest, then this one's own oldest.
 * For spare ones only what was not asked for in the last ATOLL_EXPECTED_AT_WORK takes makes room, and spare ones whose answers
 * cost less than half as much for their bytes: tasks in turns would push each other's out before they are used again. */
#define ATOLL_EXPECTED_AT_WORK 4096
int atoll_expected_store_reserve(struct atoll_expected_store *store, struct atoll_sealed *sealed,
                                 uint64_t bytes);
int atoll_expected_store_reserve_print(struct atoll_expected_store *store, struct atoll_sealed *sealed,
                                       uint64_t bytes);
/* An answer of `bytes` bytes of its (task, variant) took so long. */
void atoll_expected_store_cost(struct atoll_expected_store *store, struct atoll_sealed *sealed, double ns,
                               uint64_t bytes);
void atoll_expected_store_unseal(struct atoll_expected_store *store,
                                 struct atoll_sealed *sealed); /* forgets whole values that were sealed */
void atoll_expected_store_unseal_print(struct atoll_expected_store *store, struct atoll_sealed *sealed);

/* 1 when that much finds room and nothing has to go for it. */
int atoll_expected_store_has_gap(const struct atoll_expected_store *store, uint64_t bytes);
/* 1 when a fingerprint of so many bytes does, and at most spare values go. */
int atoll_expected_store_has_print_gap(const struct atoll_expected_store *store, uint64_t bytes);
/* The k-th stretch of the sealed memory that holds nothing sealed, from 0, by address; 0: there are no more. */
int atoll_expected_store_gap(const struct atoll_expected_store *store, size_t k, uint64_t *ret_offset,
                             uint64_t *ret_bytes);

/* Pool input sets of (task, variant) whose whole expected values are sealed; at most limit. */
size_t atoll_expected_store_kept(const struct atoll_expected_store *store, uint32_t task, uint32_t variant,
                                 uint16_t *ret_numbers, size_t limit);
/* Forgets a task. */
void atoll_expected_store_forget(struct atoll_expected_store *store, uint32_t task);

#endif
