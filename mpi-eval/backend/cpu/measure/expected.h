/* expected.h - what the referee remembers of the reference: per input set the fingerprints for good, the whole
 * expected arrays within a memory budget (least recently used go first). Layer: mpi-eval, backend/cpu.  Lifetime:
 * create/destroy; what it gives is borrowed from get to release. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_EXPECTED_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_EXPECTED_H

#include "mpi-eval/backend/cpu/measure/oracle.h"
#include <stddef.h>
#include <stdint.h>
#include "core/task/task.h"
#include "mpi-eval/referee/check.h"

/* ---- fingerprints: what is kept of an expected tensor so that an output can be checked in one pass: secret-weighted
 * sums of blocks with the most they may be off, and sampled elements with their own tolerance (MEASUREMENT.md 2).  Where the tolerance has a
 * norm, so much of each that the norm follows (docs/adr/0060).  A right output matches, but for one that only a norm's
 * share of a bound calls off; a wrong one that matches has no block whose weighted error exceeds its bound and none of the
 * sampled elements wrong.  Lifetime: init by make / fini. ---- */

#define ATOLL_FINGERPRINT_BLOCK   128
#define ATOLL_FINGERPRINT_SAMPLES 384

struct atoll_fingerprint {
    size_t count, block_count, sample_count;
    uint64_t key;
    double *sums, *bounds;       /* per block */
    size_t *indices;             /* ascending */
    double *values, *tolerances; /* per sampled element */
    struct atoll_norm_rule norm;
    int finite; /* 0: the reference has NaN or Inf, only a full comparison decides */
};

/* scale may be NULL.  key: secret.  team: borrowed, may be NULL. */
int atoll_fingerprint_make(struct atoll_fingerprint *ret_print, struct atoll_team *team,
                           const struct atoll_tolerance *tolerance, const double *values, const double *scale,
                           size_t count, uint64_t key, struct atoll_err *err);
void atoll_fingerprint_fini(struct atoll_fingerprint *print);
/* 1 matches; 0 does not, or cannot tell: compare in full. */
int atoll_fingerprint_match(const struct atoll_fingerprint *print, struct atoll_team *team,
                            enum atoll_dtype dtype, const void *data);

/* ---- what is expected of an input set ---- */

#define ATOLL_EXPECTED_KEPT 8 /* whole expected values of one (task, variant), unless more are asked for */

struct atoll_expected {
    uint32_t task;
    struct atoll_input_set input_set;
    int is_full;              /* truth.values and truth.scale are there */
    struct atoll_truth truth; /* counts and hashes always */
    int has_prints;           /* else only a full comparison decides */
    struct atoll_fingerprint prints[ATOLL_TASK_TENSOR_LIMIT];
    /* of the cache */
    void *loan; /* of the oracle: truth is borrowed from it; NULL: truth is its own */
    uint64_t stamp;
    unsigned users;
    size_t bytes, input_bytes;
};

struct atoll_expected_cache;

/* key: secret, of the fingerprints.  team: borrowed, may be NULL. */
struct atoll_expected_cache *atoll_expected_cache_create(size_t limit_bytes, size_t input_limit_bytes,
                                                         uint64_t key, struct atoll_team *team,
                                                         struct atoll_err *err);
void atoll_expected_cache_destroy(struct atoll_expected_cache *cache);

/* What is expected of one input set, asked of the oracle when it is not known (or not in full and need_full).  Release
 * it afterwards; that of a fresh input set is forgotten then: it is in full, and lent by the oracle, which must live so
 * long. */
struct atoll_expected *atoll_expected_cache_get(struct atoll_expected_cache *cache,
                                                struct atoll_oracle *oracle, const struct atoll_task *task,
                                                uint32_t task_number, const struct atoll_input_set *input_set,
                                                int need_full, struct atoll_err *err);
/* How often an oracle was asked so far. */
unsigned long atoll_expected_cache_asked(const struct atoll_expected_cache *cache);
/* Whether what is expected of an input set is known, in full or not. */
int atoll_expected_cache_has(const struct atoll_expected_cache *cache, uint32_t task_number,
                             const struct atoll_input_set *input_set);
/* Whether what is expected of one more input set of a variant finds room without anything being forgotten. */
int atoll_expected_cache_has_room(const struct atoll_expected_cache *cache, const struct atoll_task *task,
                                  uint32_t variant);
void atoll_expected_cache_release(struct atoll_expected_cache *cache, struct atoll_expected *expected);

/* Writes the raw input `tensor` of an input set, from memory or made again. */
int atoll_expected_cache_input(struct atoll_expected_cache *cache, struct atoll_expected *expected,
                               const struct atoll_task *task, size_t tensor, void *ret_data,
                               struct atoll_err *err);

/* Numbers of pool input sets of (task, variant) whose expected values are all held; at most limit of them. */
size_t atoll_expected_cache_kept(const struct atoll_expected_cache *cache, uint32_t task, uint32_t variant,
                                 uint16_t *ret_numbers, size_t limit);
/* Some whole expected values of (task, variant) that are held, of another input set than `number`, with a user added;
 * NULL when there is none. */
struct atoll_expected *atoll_expected_cache_other(struct atoll_expected_cache *cache, uint32_t task,
                                                  uint32_t variant, const struct atoll_input_set *not_this);

#endif
