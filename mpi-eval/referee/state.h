/* state.h - what the referee's parts share; no other folder includes it.
 * Layer: mpi-eval, referee. */
#ifndef ATOLL_MPI_EVAL_REFEREE_STATE_H
#define ATOLL_MPI_EVAL_REFEREE_STATE_H

#include <stdatomic.h>

#include "mpi-eval/referee/counting.h"
#include "mpi-eval/referee/input_set.h"
#include "mpi-eval/referee/referee.h"

struct atoll_backend;
struct atoll_torch_rival;

/* A task the referee knows. */
struct atoll_case {
    uint32_t number;
    const struct atoll_task *task; /* &own */
    struct atoll_task own;         /* what it points to is borrowed; its spare variant is path_check.h's */
    void *oracle;                  /* the backend's, made by case_open */
    size_t pool_size[ATOLL_TASK_VARIANT_LIMIT +
                     1]; /* input sets in use per variant, at least ATOLL_INPUT_SET_POOL_MIN */
    size_t open_count
        [ATOLL_TASK_VARIANT_LIMIT]; /* of the pool, those that candidates see so far (docs/adr/0023) */
    double answer_ns[ATOLL_TASK_VARIANT_LIMIT]; /* what the last answer ahead took */
    int floor_is_wrong
        [ATOLL_TASK_VARIANT_LIMIT]; /* a correct kernel beat it, newly calibrated: it is unknown */
    struct atoll_answer_counts answers;
    double counted_ns; /* the fastest kernel whose counters are known, over all variants; 0 none */
};

struct atoll_referee {
    struct atoll_setup setup;
    const struct atoll_backend *backend;
    void *device_state;              /* the backend's, made by open */
    struct atoll_compiler *compiler; /* borrowed */
    struct atoll_device_info info;
    char pci[16];      /* where the device sits, by open; "" not a PCI device */
    double jitter_ns;  /* of empty launches */
    uint64_t salt;     /* of this process: shifts, fills, guards, hashes */
    uint64_t launches; /* so far; with the salt it keys the next sample */
    struct atoll_phases phases;
    struct atoll_counting_book counting;
    struct atoll_time_account *account; /* borrowed; NULL: nobody keeps one */
    const void *reference; /* borrowed, while a task with a compiled reference is added; else NULL */
    size_t reference_length;
    uint32_t admissions;              /* so far; their cases take numbers from the top */
    struct atoll_torch_rival *rivals; /* NULL before the first one */
    atomic_int cancelled;
    struct atoll_case **cases;
    size_t case_count;
};

struct atoll_case *atoll_referee_case(struct atoll_referee *referee, uint32_t number); /* NULL when unknown */
/* Compiles the reference; owned by the caller, ended by atoll_case_destroy. */
struct atoll_case *atoll_case_create(struct atoll_referee *referee, uint32_t number,
                                     const struct atoll_task *task, struct atoll_err *err);
void atoll_case_destroy(struct atoll_referee *referee, struct atoll_case *known);

/* A pool input set of a variant.  Check variants deal the task's distributions in turn, bench variants as the seed
 * says. */
struct atoll_input_set atoll_case_input_set(const struct atoll_referee *referee,
                                            const struct atoll_case *known, uint32_t variant,
                                            uint64_t number);
/* An input set never used before: of one order. */
struct atoll_input_set atoll_case_fresh_input_set(const struct atoll_referee *referee,
                                                  const struct atoll_case *known, uint32_t variant,
                                                  uint64_t evaluation, uint64_t number);
/* Candidates may see one input set of the pool more from now on: the next order begins with it among those that were seen
 * before. */
void atoll_case_open_next(struct atoll_case *known, uint32_t variant);
uint64_t atoll_referee_placement(struct atoll_referee *referee); /* another one with each call */

double atoll_referee_now_ns(void); /* CLOCK_MONOTONIC_RAW */
double
atoll_referee_deadline_ns(double baseline_ns); /* clamp(20 x baseline, 0.2 s, 10 s); 10 s when unknown */
/* From the start of a candidate's compiler to its verdict, without the time that others let it wait: the compiler's
 * deadline, the wall limit of its samples, and for each of the run_count runs that a verdict needs at least a quarter of
 * what one of them may take (all of it while no baseline is known). */
double atoll_referee_whole_deadline_ns(const struct atoll_setup *setup, unsigned run_count,
                                       double baseline_ns);
/* 1 when a variant is measured by this backend: it names it, or none. */
int atoll_variant_is_here(const struct atoll_backend *backend, const struct atoll_variant *variant);

#endif
