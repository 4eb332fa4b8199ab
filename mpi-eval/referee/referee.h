/* referee.h - levels 4 to 8 of the cascade on one device: seeds, expected values, samples, verdicts
 * (MEASUREMENT.md). Layer: mpi-eval.  Lifetime: create/destroy.  Blocking; one owner thread (the evaluator's
 * referee thread).  No candidate code ever runs in this process. */
#ifndef ATOLL_MPI_EVAL_REFEREE_REFEREE_H
#define ATOLL_MPI_EVAL_REFEREE_REFEREE_H

#include <signal.h>

#include "core/message.h"
#include "core/task/task.h"
#include "mpi-eval/evaluator/compiler.h"
#include "mpi-eval/referee/prepare.h"

/* Where the wall time of samples goes; for bench/, and for the account of all the device's time (time_account.h). */
enum atoll_phase {
    ATOLL_PHASE_EXPECTED,  /* the reference, or looking up what it said */
    ATOLL_PHASE_INPUTS,    /* buffers, guards, inputs, fills */
    ATOLL_PHASE_FLUSH,     /* caches emptied */
    ATOLL_PHASE_FORK,      /* waiting for a sample's child: forked, buffers mapped, threads spinning */
    ATOLL_PHASE_SPAN,      /* the candidate */
    ATOLL_PHASE_DEATH,     /* the child killed and gone */
    ATOLL_PHASE_UNTOUCHED, /* guards and inputs checked */
    ATOLL_PHASE_OUTPUTS,   /* fingerprints and comparisons */
    ATOLL_PHASE_START,     /* a device's process is started again, or takes more local memory */
    ATOLL_PHASE_CLEARING,  /* waiting until memory that was given back is cleared (docs/adr/0065) */
    ATOLL_PHASE_COUNT
};

/* Sums since the referee began. */
struct atoll_phases {
    double ns[ATOLL_PHASE_COUNT];
    unsigned long trial_count;
};

const char *atoll_phase_name(enum atoll_phase phase);

/* How outputs are looked at: whole, against the reference's own values or kept ones, or by the fingerprint; what does not match
 * that is looked at once more, whole. */
enum atoll_looking {
    ATOLL_LOOKING_REFERENCE,
    ATOLL_LOOKING_VALUES,
    ATOLL_LOOKING_PRINT,
    ATOLL_LOOKING_COUNT
};

/* What the answers to the draws of a task cost so far, for measurements of ours.  A host's looks take no time in it. */
struct atoll_answer_counts {
    unsigned long made
        [2]; /* before a sample or ahead: for the first time; again, since there was no room for it, or its process
                              was lost */
    double made_ns[2];
    unsigned long looked[ATOLL_LOOKING_COUNT]; /* checks, by how */
    double looked_ns[ATOLL_LOOKING_COUNT];
    double hand_over_ns; /* overwriting what the candidate before may have left */
};

struct atoll_backend;
struct atoll_referee;
struct atoll_time_account;

/* Opens the device of a backend (NULL: there is none of the setup's name; cpu: picks cores from the process's affinity
 * mask, all but one for candidates, one for the referee; with one core both share it), qualifies it with a
 * known-answer kernel, calibrates (bandwidth, peaks, empty launch).  compiler: borrowed, of the same backend, used for
 * reference, known-answer and calibration kernels through atoll_compiler_run before orders come, and paused in timing
 * windows.  setup: copied. */
struct atoll_referee *atoll_referee_create(const struct atoll_backend *backend,
                                           const struct atoll_setup *setup, struct atoll_compiler *compiler,
                                           struct atoll_err *err);
void atoll_referee_destroy(struct atoll_referee *referee);
const struct atoll_device_info *
atoll_referee_device(const struct atoll_referee *referee); /* borrowed, complete */
/* Its address on the PCI bus, "0000:65:00.0", or ""; borrowed. */
const char *atoll_referee_pci(const struct atoll_referee *referee);
const struct atoll_phases *
atoll_referee_phases(const struct atoll_referee *referee); /* borrowed, up to date */
/* task: its number, or ATOLL_ANSWERS_OF_ALL: all of them together. */
#define ATOLL_ANSWERS_OF_ALL UINT32_MAX
struct atoll_answer_counts atoll_referee_answers(const struct atoll_referee *referee, uint32_t task);
/* From now on what it does is booked there, samples by their phases.  Borrowed; NULL = nowhere. */
void atoll_referee_set_account(struct atoll_referee *referee, struct atoll_time_account *account);

/* Makes a task known under its number: compiles its reference; input sets are made when first needed.  task:
 * borrowed until the referee goes.  ATOLL_E_INPUT when the reference does not compile, ATOLL_E_LIMIT when a variant does not fit on the
 * device (room.h). */
int atoll_referee_add_task(struct atoll_referee *referee, uint32_t number, const struct atoll_task *task,
                           struct atoll_err *err);
/* The same with the reference compiled by the caller from what the backend's case_unit gave; object: borrowed during the
 * call. */
int atoll_referee_add_compiled_task(struct atoll_referee *referee, uint32_t number,
                                    const struct atoll_task *task, const void *object, size_t length,
                                    struct atoll_err *err);

/* Measures one compiled candidate.  Never fails: an infrastructure trouble is the verdict INFRASTRUCTURE.
 * ret_evaluation is init'ed by the caller; evaluation number, candidate id and compile_ns are filled by the caller, binary
 * before the call: one that was counted before is not counted again (zero: nobody knows). */
void atoll_referee_evaluate(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                            const struct atoll_prepared *prepared, const void *object, size_t object_length,
                            struct atoll_evaluation *ret_evaluation);

/* The same up to the check variants, for a model that asks before it answers: nothing is timed, no times are in the result, and
 * no evaluation is spent.  order: evaluation is a number that no evaluation has. */
void atoll_referee_check(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                         const struct atoll_prepared *prepared, const void *object, size_t object_length,
                         struct atoll_evaluation *ret_evaluation);

/* Answers one draw that evaluations of a task will need, while the device has nothing else to do.  Own time: it is in no
 * candidate's account, and no result depends on it.  is_ordered: an order for the task is on its way: what
 * it is likely to see, whatever that takes; else the whole pool, as far as an answer takes less than a second.  1: there may be another one; 0: none is missing, or there is no room
 * for it; -1 with err, which the evaluation that needs it will meet again. */
int atoll_referee_answer_ahead(struct atoll_referee *referee, uint32_t task, int is_ordered,
                               struct atoll_err *err);

/* Interleaved ABBA comparison with fresh input sets.  FINAL also checks both at the hidden variants. */
void atoll_referee_duel(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                        const struct atoll_prepared *elite, const void *elite_object, size_t elite_length,
                        const struct atoll_prepared *challenger, const void *challenger_object,
                        size_t challenger_length, struct atoll_duel *ret_duel);

/* 0 when the device still passes its known-answer kernel (after a lost worker). */
int atoll_referee_requalify(struct atoll_referee *referee, struct atoll_err *err);

/* The admission battery of MEASUREMENT.md 7 on one loaded task; calls row once per test. 0 when all passed, 1 when
 * some failed.  referee: of a backend that leads a battery (the cpu).  device: another referee, NULL none; the
 * degenerate outputs must be refused there as well, its reference must agree with the host's, and its seeds must be
 * right; names of these tests begin with its backend's.  combinations: of a template's parameters, beside the first choice
 * with which every seed is checked at all variants: 0 none, else every parameter's least and largest value and so many
 * more at random, at the check variants. */
#define ATOLL_ADMISSION_NOTED 2 /* passed, but to be told */
typedef void atoll_admission_row(void *context, const char *test, int passed, const char *detail);
int atoll_referee_admit(struct atoll_referee *referee, struct atoll_referee *device,
                        const struct atoll_task *task, unsigned combinations, atoll_admission_row *row,
                        void *context, struct atoll_err *err);

/* Set to nonzero from another thread to make a running evaluate or duel end soon with INFRASTRUCTURE. */
void atoll_referee_cancel(struct atoll_referee *referee);

#endif
