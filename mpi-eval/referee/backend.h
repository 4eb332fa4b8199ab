/* backend.h - what the referee asks of a device API: one struct of functions (DESIGN.md 6).  Search, sampling, input sets,
 * floors, verdict order and comparisons are the referee's; how a sample is made, run and checked is a backend's.
 * Layer: mpi-eval.  Immutable tables; every function is called by the referee's one owner thread, except prepare and
 * compiler_create. */
#ifndef ATOLL_MPI_EVAL_REFEREE_BACKEND_H
#define ATOLL_MPI_EVAL_REFEREE_BACKEND_H

#include <jansson.h>

#include "core/message.h"
#include "mpi-eval/evaluator/compiler.h"
#include "mpi-eval/referee/counting.h"
#include "mpi-eval/referee/input_set.h"
#include "mpi-eval/referee/prepare.h"

struct atoll_referee;
struct atoll_case;
struct atoll_loaded_candidate;
struct atoll_trial_order;
struct atoll_trial;
struct atoll_torch_place;
struct atoll_torch_window;

/* What admission asks a task's reference.  Plain: changed_tensor -1, the rest 0. */
struct atoll_reference_question {
    const struct atoll_input_set *input_set;
    long changed_tensor; /* this input comes from another seed; -1 none */
    unsigned threads;    /* in another process of so many threads; 0: as in measurements */
    int is_unoptimised;  /* and compiled without optimisation */
};

/* What it says, by tensor; owned. */
struct atoll_reference_values {
    size_t counts[ATOLL_TASK_TENSOR_LIMIT];
    double *values[ATOLL_TASK_TENSOR_LIMIT]; /* NULL where nothing is expected */
    double *scale[ATOLL_TASK_TENSOR_LIMIT];  /* NULL where the reference gives none, or nobody knows */
    char precision[8]; /* of a task that PyTorch defines: "f64", or what the module could; else "" */
};

struct atoll_backend {
    const char *name;      /* of plans, variants, device records: "cpu", "cuda" */
    const char *language;  /* of its candidates: "c", "cuda" */
    const char *unit_name; /* what diagnostics call a candidate: "candidate.c", "candidate.cu" */
    /* of another language that it takes as well: "triton", "candidate.py"; NULL none */
    const char *other_language, *other_unit_name;
    int compiles_beside; /* compile children do not disturb what is measured: they may have most cores */

    /* Levels 1 and 2 and the translation unit, into p (prepare.h); any thread.  -1: a failure of ours. */
    int (*prepare)(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                   const struct atoll_device_info *device, struct atoll_err *err);
    struct atoll_compiler *(*compiler_create)(const struct atoll_setup *setup, unsigned slots,
                                              struct atoll_err *err);

    /* Opens the device into referee->device_state, fills referee->info and jitter_ns, qualifies, calibrates. */
    int (*open)(struct atoll_referee *referee, struct atoll_err *err);
    void (*close)(struct atoll_referee *referee);
    /* Known-answer kernel: 0 when the device computes. */
    int (*qualify)(struct atoll_referee *referee, struct atoll_err *err);
    int (*measure)(struct atoll_referee *referee, struct atoll_err *err); /* calibrates (again) */

    /* The unit of a task's reference, which the caller compiles as it compiles candidates, for
     * atoll_referee_add_compiled_task; any thread.  ATOLL_E_INPUT: the reference is wrong. */
    int (*case_unit)(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                     struct atoll_err *err);
    /* Makes known->oracle, from referee->reference where that has an object, else by the compiler. */
    int (*case_open)(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err);
    void (*case_close)(struct atoll_referee *referee, struct atoll_case *known);
    /* "": the task's reference.cu answers for its reference.c; else why it does not.  NULL: it has none.  NULL function: the
     * backend uses none. */
    const char *(*device_reference)(const struct atoll_case *known);
    /* 1: it does at this variant.  NULL function: nowhere. */
    int (*is_tiled)(const struct atoll_case *known, uint32_t variant);

    /* Level 4, load: CORRECT, FORBIDDEN, LAUNCH_ERROR, TIMEOUT or INFRASTRUCTURE with the text in ret_detail
     * (ATOLL_DETAIL_BYTES).  resources: static resources of what was loaded, filled where the backend knows them. */
    enum atoll_verdict (*candidate_open)(struct atoll_referee *referee, const struct atoll_prepared *prepared,
                                         const void *object, size_t object_length,
                                         struct atoll_loaded_candidate *ret_candidate, char *ret_detail);
    void (*candidate_close)(struct atoll_referee *referee, struct atoll_loaded_candidate *candidate);
    /* One run on one input set with every output checked (trial.h). */
    void (*trial)(struct atoll_referee *referee, struct atoll_case *known,
                  struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                  struct atoll_trial *ret_trial);

    /* Pool input sets of a variant whose expected values are all at hand (see atoll_input_set_order_init); at most
     * limit. */
    size_t (*kept)(struct atoll_referee *referee, struct atoll_case *known, uint32_t variant,
                   uint16_t *ret_numbers, size_t limit);
    /* Answers an input set of the pool ahead of who needs it, while nothing is measured: 1; 0 when it is answered, or
     * there is no room for it beside other answers; -1.  NULL: nothing is answered ahead.  Not for tasks that PyTorch
     * defines. */
    int (*answer)(struct atoll_referee *referee, struct atoll_case *known,
                  const struct atoll_input_set *input_set, struct atoll_err *err);
    /* Keeps what is expected of an input set from being forgotten until release; NULL with err when it cannot be had. */
    void *(*hold)(struct atoll_referee *referee, struct atoll_case *known,
                  const struct atoll_input_set *input_set, int need_full, struct atoll_err *err);
    void (*release)(struct atoll_referee *referee, void *held);

    /* Whether tensors and expected values of a variant can find room here at all: 0, or -1 with ATOLL_E_LIMIT (room.h).  What a plan wants
     * besides is its candidate's affair.  NULL: nobody knows. */
    int (*variant_fits)(struct atoll_referee *referee, const struct atoll_task *task,
                        const struct atoll_variant *variant, struct atoll_err *err);

    /* Level 7, a set of counters of one run at a variant, never timed; fills ret_profile, never fails (a tier and a
     * reason say what could not be had).  NULL: the backend has none. */
    void (*profile)(struct atoll_referee *referee, struct atoll_case *known,
                    struct atoll_loaded_candidate *candidate, uint32_t variant, enum atoll_metrics_set set,
                    struct atoll_profile *ret_profile);

    /* Admission of a task (MEASUREMENT.md 7); all NULL: the backend takes no part in it.
     * examine puts outputs (raw, by tensor) through the check that a candidate's get: 1 accepted, 0 refused with the reason
     * in ret_detail (ATOLL_DETAIL_BYTES), -1; ret_worst: largest error in units of the tolerance, or NULL.  expect gives what
     * the reference says. */
    int (*examine)(struct atoll_referee *referee, struct atoll_case *known,
                   const struct atoll_input_set *input_set, const void *const *data, double *ret_worst,
                   char *ret_detail, struct atoll_err *err);
    int (*expect)(struct atoll_referee *referee, struct atoll_case *known,
                  const struct atoll_reference_question *question, struct atoll_reference_values *ret_values,
                  struct atoll_err *err);
    /* 1: it leads a battery.  0: it examines beside a host's; its expect answers plain questions only. */
    int leads_admission;

    /* Rivals (rival.h).  torch_place says where a torch process works on this device: all but python and cancelled.  NULL: none.
     * torch_inputs says how such a process makes the inputs of an input set itself ({tensor: {"fills": ...}}, fill.py); NULL: it
     * is handed their bytes.  let_go: the device is left to another process for a while, with all memory; it is taken again when
     * it is needed.  NULL: nothing to be left.  calm: before such a process times anything, until nothing of ours disturbs it any
     * more: what was given back before, a child that is being set up.  NULL: nothing does. */
    void (*torch_place)(struct atoll_referee *referee, struct atoll_torch_place *place);
    json_t *(*torch_inputs)(const struct atoll_task *task, const struct atoll_input_set *input_set,
                            struct atoll_err *err);
    void (*let_go)(struct atoll_referee *referee);
    void (*calm)(struct atoll_referee *referee);
    /* examine for outputs that a torch process keeps on the device and shows (torch_window.h); 2: they must come by way of the
     * host.  outputs->close was called where show was.  NULL: all come by way of the host. */
    int (*examine_shown)(struct atoll_referee *referee, struct atoll_case *known,
                         const struct atoll_input_set *input_set, const struct atoll_torch_window *outputs,
                         double *ret_worst, char *ret_detail, struct atoll_err *err);
    /* 1: heat or hardware slows the device down (or did since it was asked last): what it was timed with says little.  NULL:
     * nobody tells. */
    int (*is_slowed)(struct atoll_referee *referee);

    /* What a compiled object says of itself, as text for a model: resources, the mix of its instructions, what would keep it
     * from being loaded; any thread.  listing: its instructions, a line each; NULL: nobody wants them. */
    void (*describe)(const struct atoll_prepared *prepared, const void *object, size_t object_length,
                     const struct atoll_device_info *device, struct atoll_buffer *out,
                     struct atoll_buffer *listing);

    /* A finalist under a tool that watches its accesses: WRONG with what it found, CORRECT with what was and was not
     * looked at ("" where nobody asks for it), INFRASTRUCTURE when cancelled; ret_detail has ATOLL_DETAIL_BYTES.
     * NULL: the backend has none. */
    enum atoll_verdict (*sanitize)(struct atoll_referee *referee, struct atoll_case *known,
                                   struct atoll_loaded_candidate *candidate, char *ret_detail);
};

#endif
