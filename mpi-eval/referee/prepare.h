/* prepare.h - levels 1 and 2 of the cascade (MEASUREMENT.md 1) and what level 3 needs: from an order to a
 * translation unit. Layer: mpi-eval.  Lifetime: create/destroy; owns copies of everything. */
#ifndef ATOLL_MPI_EVAL_REFEREE_PREPARE_H
#define ATOLL_MPI_EVAL_REFEREE_PREPARE_H

#include "core/message.h"
#include "core/plan/plan_cover.h"
#include "core/task/task.h"
#include "mpi-eval/evaluator/compiler.h"

struct atoll_prepared {
    struct atoll_id id;
    const struct atoll_task *task; /* borrowed */
    struct atoll_arena *arena;     /* owns what follows */
    const char *language;
    const struct atoll_plan *plan; /* NULL when verdict is BAD_PLAN */
    const char *body;
    struct atoll_choice choice;
    struct atoll_plan_cover
        cover; /* shapes that the plan's paths need; hidden ones as they would be without a secret */
    struct atoll_behaviour behaviour;
    enum atoll_verdict verdict; /* CORRECT = go on to compile; BAD_PLAN, FORBIDDEN = that is the verdict */
    char detail[ATOLL_DETAIL_BYTES];
    char
        *unit_text; /* params as #define lines, #line, body, what the backend adds (C: one shim per launch) */
    size_t unit_length;
    const char *unit_name; /* what its compiler is told that it is: the backend's for the language */
    const char *symbols[ATOLL_PLAN_LAUNCH_LIMIT]; /* by launch: what the object has for it */
    size_t symbol_count;
    /* Set by who compiled it: the compiler's words on resources (borrowed; NULL none), and the processor time that it had. */
    const char *report;
    double compile_ns;
};

struct atoll_backend;

/* device: NULL when it is not open yet; limits that are not known are not checked then. */
struct atoll_prepared *atoll_prepared_create(const struct atoll_task *task,
                                             const struct atoll_backend *backend,
                                             const struct atoll_order_candidate *candidate,
                                             const struct atoll_device_info *device, struct atoll_err *err);
void atoll_prepared_destroy(struct atoll_prepared *prepared);
/* Compiles the unit and waits.  What loads the object finds the compiler's report in prepared (for Triton: how the images are
 * launched), so ret_compiled, which the caller finishes, must live as long as prepared is used.  -1: the compiler does not
 * work; what it says of the unit is in ret_compiled->status.  prepared->verdict must be CORRECT. */
int atoll_prepared_compile(struct atoll_prepared *prepared, struct atoll_compiler *compiler,
                           struct atoll_compiled *ret_compiled, struct atoll_err *err);

/* ---- for backends: their prepare calls atoll_prepare with what they add to it ---- */

struct atoll_prepare_parts {
    const struct atoll_backend *backend;
    /* A launch of the path taken at a variant of this backend: sizes, argument kinds, limits.  ATOLL_E_INPUT and the like: BAD_PLAN. */
    int (*launch_check)(const struct atoll_prepared *p, const struct atoll_variant *variant, size_t launch,
                        const struct atoll_device_info *device, struct atoll_err *err);
    /* What follows the body in the unit; NULL nothing. */
    void (*unit_end)(const struct atoll_prepared *p, struct atoll_buffer *out);
    /* The unit of the backend's other language, from the whole source, in place of what the body makes; NULL none.
     * ATOLL_E_INPUT: BAD_PLAN. */
    int (*other_unit)(const struct atoll_prepared *p, const char *source, struct atoll_buffer *out,
                      struct atoll_err *err);
    /* The name that the object has for a launch. */
    void (*symbol)(const struct atoll_prepared *p, size_t launch, char *ret_name, size_t name_bytes);
    int64_t scratch_limit_bytes; /* of one scratch block */
};

/* Plan, choice, the variants this backend measures (hidden ones are not looked at) and those made for paths, rules, behaviour, unit.  p has
 * task, arena and id.  -1: a failure of ours; everything else is in p->verdict and p->detail. */
int atoll_prepare(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                  const struct atoll_device_info *device, const struct atoll_prepare_parts *parts,
                  struct atoll_err *err);
/* One expression of the plan at one variant within [low, high]; what: "units", "argument" ... for the text. */
int atoll_prepare_within(const struct atoll_prepared *p, const struct atoll_variant *variant,
                         const struct atoll_expression *expression, const char *what, int64_t low,
                         int64_t high, struct atoll_err *err);

#endif
