/* plan.h - the launch plan: a candidate's declarative half (DESIGN.md 5; docs/spec/plan.md).
 * Layer: core.  Lifetime: parsed into an arena; immutable after.  Hostile input. */
#ifndef ATOLL_CORE_PLAN_PLAN_H
#define ATOLL_CORE_PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/task/expression.h"
#include "core/task/task.h"

#define ATOLL_PLAN_PARAM_LIMIT     16
#define ATOLL_PLAN_VALUE_LIMIT     64
#define ATOLL_PLAN_REQUIRE_LIMIT   32
#define ATOLL_PLAN_SCRATCH_LIMIT   16
#define ATOLL_PLAN_LAUNCH_LIMIT    64
#define ATOLL_PLAN_ARG_LIMIT       64
#define ATOLL_PLAN_CONSTEXPR_LIMIT 32
#define ATOLL_PLAN_PATH_LIMIT      8
#define ATOLL_SOURCE_LIMIT         (256u << 10) /* bytes of one source */

struct atoll_param {
    const char *name; /* a C identifier; becomes -D<name>=<value> */
    size_t value_count;
    int64_t values[ATOLL_PLAN_VALUE_LIMIT]; /* as written, no duplicates */
};

struct atoll_scratch {
    const char *name;
    const struct atoll_expression *bytes;
};

enum atoll_arg_kind {
    ATOLL_ARG_TENSOR,  /* index: of the task */
    ATOLL_ARG_SCRATCH, /* index: of the plan */
    ATOLL_ARG_INTEGER, /* expression over dims and params, or a literal; width says which C type */
    ATOLL_ARG_FLOAT,   /* literal */
    ATOLL_ARG_TENSORMAP
};

#define ATOLL_TENSORMAP_RANK_LIMIT 5

/* A descriptor for the bulk copy engine: "tensormap(a, [K, M], [BK, BM], swizzle=128)".  Extents and box are in
 * elements, the fastest axis first; strides are packed unless given in bytes for axis 1 and up. */
struct atoll_tensormap {
    size_t rank; /* 1..5 */
    const struct atoll_expression *extent[ATOLL_TENSORMAP_RANK_LIMIT];
    const struct atoll_expression *box[ATOLL_TENSORMAP_RANK_LIMIT];
    const struct atoll_expression *stride_bytes[ATOLL_TENSORMAP_RANK_LIMIT - 1]; /* NULL = packed */
    unsigned swizzle;                                                            /* bytes: 0, 32, 64, 128 */
    unsigned l2;            /* promotion in bytes: 0, 64, 128, 256 */
    int is_scratch;         /* arg.index is a scratch, not a tensor */
    enum atoll_dtype dtype; /* of its elements: the tensor's own, or as the plan says */
};

struct atoll_arg {
    enum atoll_arg_kind kind;
    size_t index;
    enum atoll_dtype width; /* I32, I64, F32, F64 */
    const struct atoll_expression *value;
    double number;
    const struct atoll_tensormap *map; /* TENSORMAP */
    const char *text;                  /* as written; of a tensormap its canonical form */
    enum atoll_dtype
        points_to; /* language "triton", SCRATCH: what its pointer points to; U8 without a word */
};

/* Language "triton": a tl.constexpr of a kernel, over params and integers. */
struct atoll_constexpr {
    const char *name;
    const struct atoll_expression *value;
};

struct atoll_launch {
    const char *symbol;                     /* kernel or function */
    const struct atoll_expression *grid[3]; /* device languages; missing = NULL = 1 */
    const struct atoll_expression *block[3];
    const struct atoll_expression *cluster[3];
    const struct atoll_expression *shared_bytes;
    /* language "c": the harness calls symbol(begin, end, args...) over 0..units */
    const struct atoll_expression *units;
    int cooperative;
    size_t arg_count;
    struct atoll_arg *args; /* at most ATOLL_PLAN_ARG_LIMIT */
    /* language "triton", which has no block: its threads are 32 * num_warps of what was compiled */
    const struct atoll_expression *num_warps, *num_stages; /* over params; NULL: Triton's own, 4 and 3 */
    size_t constexpr_count;
    struct atoll_constexpr
        *constexprs; /* at most ATOLL_PLAN_CONSTEXPR_LIMIT; further ones have the names of params */
};

/* One way through a plan: launches[first .. first + count) of it. */
struct atoll_path {
    const struct atoll_expression *when; /* over dims; NULL: whatever no earlier path takes */
    size_t require_count;
    const struct atoll_expression *require[ATOLL_PLAN_REQUIRE_LIMIT]; /* beside the plan's own */
    size_t first, count;
};

struct atoll_plan {
    size_t param_count;
    struct atoll_param params[ATOLL_PLAN_PARAM_LIMIT];
    size_t require_count;
    const struct atoll_expression *require[ATOLL_PLAN_REQUIRE_LIMIT];
    size_t scratch_count;
    struct atoll_scratch scratch[ATOLL_PLAN_SCRATCH_LIMIT];
    size_t launch_count;
    struct atoll_launch *launches; /* of all paths, one after the other; at most ATOLL_PLAN_LAUNCH_LIMIT */
    size_t path_count;             /* 1 where the plan has "launch": a path without condition */
    struct atoll_path paths[ATOLL_PLAN_PATH_LIMIT];
    /* "cpu" for language "c", "cuda" for "cuda" and "triton", "opencl": which variants concern it */
    const char *backend;
    const char *canonical; /* the plan as canonical JSON, one line */
};

/* One value chosen for every param, in the plan's order. */
struct atoll_choice {
    size_t count;
    int64_t values[ATOLL_PLAN_PARAM_LIMIT];
};

/* Takes the first comment of source, "/" "* atoll-plan {...} *" "/" (language "triton": lines that begin with "#", the
 * first one "# atoll-plan {"), parses and validates it against the task. language: "c", "cuda", "opencl", "triton".  Errors: ATOLL_E_INPUT "plan: field 'launch[0].args[2]': unknown
 * name 'q'; ..." On success the source's text after the comment starts at *ret_body. */
const struct atoll_plan *atoll_plan_parse(struct atoll_arena *arena, const struct atoll_task *task,
                                          const char *language, const char *source, const char **ret_body,
                                          struct atoll_err *err);

/* 1 when a variant is there for the plan's backend, 0 when it belongs to another. */
int atoll_plan_concerns(const struct atoll_plan *plan, const struct atoll_variant *variant);
/* Bindings of dims and params together; room for ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT. variant
 * NULL: params only. */
size_t atoll_plan_bindings(const struct atoll_task *task, const struct atoll_variant *variant,
                           const struct atoll_plan *plan, const struct atoll_choice *choice,
                           struct atoll_binding *ret_bindings);
/* The path that runs at a variant: the first whose condition holds.  -1 with ATOLL_E_INPUT where a condition cannot be
 * evaluated there. */
int atoll_plan_path_at(const struct atoll_task *task, const struct atoll_plan *plan,
                       const struct atoll_variant *variant, size_t *ret_path, struct atoll_err *err);
/* 1 when a scratch is there on a path: one of its launches names it, or no launch of the plan does. */
int atoll_plan_path_uses(const struct atoll_plan *plan, size_t path, size_t scratch);
/* "launch[1]", "paths[2].launch[0]": where launch `index` of the flat list stands; returned for printf. */
#define ATOLL_PLAN_FIELD_BYTES 48
const char *atoll_plan_launch_field(const struct atoll_plan *plan, size_t index,
                                    char ret_field[ATOLL_PLAN_FIELD_BYTES]);

/* 1 legal, 0 not, -1 error (a require that overflows, divides by zero ...).  Requirements that use dims are
 * checked at every bench and check variant, those of a path at every one that takes it; with fewer bindings they would
 * be meaningless. */
int atoll_plan_choice_legal(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, struct atoll_err *err);
/* Evaluates units, grid, block, cluster, shared_bytes, scratch and integer args of a choice at every
 * variant of the plan's backend, on the path taken there: extents must be positive, bytes not negative, i32 values fit.  -1 with
 * ATOLL_E_INPUT that names the field. */
int atoll_plan_choice_check(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, struct atoll_err *err);
/* All of it at one variant, whoever's it is: the requirements that hold there, what atoll_plan_choice_check asks, and
 * what holds on every device. */
int atoll_plan_sound_at(const struct atoll_task *task, const struct atoll_plan *plan,
                        const struct atoll_choice *choice, const struct atoll_variant *variant,
                        struct atoll_err *err);
/* Bits of `kinds`. */
#define ATOLL_PLAN_KIND(kind) (1u << (kind))
#define ATOLL_PLAN_KIND_ALL                                                                                  \
    (ATOLL_PLAN_KIND(ATOLL_VARIANT_CHECK) | ATOLL_PLAN_KIND(ATOLL_VARIANT_BENCH) |                           \
     ATOLL_PLAN_KIND(ATOLL_VARIANT_HIDDEN))

struct atoll_device_limits; /* core/message.h */
/* Whether a device can launch a choice (MEASUREMENT.md 1, level 1), at every variant of the given kinds that concerns
 * the plan's backend: threads of a block, extents of grid, block and cluster, cluster divisibility and size, dynamic shared bytes, cooperative launches (support, and
 * an upper bound of what can be resident), scratch and tensors against the memory, and the rules of tensor maps (rank
 * 1..5, box 1..256, box row of whole 16 bytes within the swizzle span, strides of whole 16 bytes, nothing beyond the
 * tensor or scratch).  limits NULL or all 0: an unknown device, only what holds on every one.  Plans of language "c"
 * always pass.  -1 with ATOLL_E_INPUT that names field, value, limit and variant; 0 else.  Sources: CUDA C++
 * Programming Guide, "Compute Capabilities", and the driver API's cuTensorMapEncodeTiled. */
int atoll_plan_limits_check(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, unsigned kinds,
                            const struct atoll_device_limits *limits, struct atoll_err *err);
/* The first value of every param: what a plan means when nobody chose. */
void atoll_plan_first_choice(const struct atoll_plan *plan, struct atoll_choice *ret_choice);
/* "TM=64 TN=32"; "" without params. */
const char *atoll_choice_text(const struct atoll_plan *plan, const struct atoll_choice *choice,
                              char *ret_text, size_t bytes);

#endif
