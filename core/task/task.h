/* task.h - one task: what to compute, on which shapes, how exact (DESIGN.md 4; docs/spec/task.md).
 * Layer: core.  Lifetime: parse/destroy; immutable between, so a const pointer may be shared.
 * Every error of reading names file, line and remedy. */
#ifndef ATOLL_CORE_TASK_TASK_H
#define ATOLL_CORE_TASK_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "core/task/dtype.h"
#include "base/err.h"
#include "core/task/expression.h"
#include "base/id.h"

#define ATOLL_TASK_DIM_LIMIT     32
#define ATOLL_TASK_TENSOR_LIMIT  32
#define ATOLL_TASK_RANK_LIMIT    6
#define ATOLL_TASK_VARIANT_LIMIT 16
#define ATOLL_TASK_SEED_LIMIT    16
#define ATOLL_TASK_TEXT_LIMIT                                                                                \
    (ATOLL_TASK_SEED_LIMIT + 2)       /* files beside task.yaml: seeds, reference.c, reference.cu */
#define ATOLL_TASK_SEGMENT_LIMIT 1024 /* of one packed tensor */
#define ATOLL_TASK_RIVAL_LIMIT   8
#define ATOLL_TASK_TAG_LIMIT     16
#define ATOLL_TASK_FILE_LIMIT    (1u << 20) /* bytes of any file of a task */

enum atoll_role { ATOLL_ROLE_IN, ATOLL_ROLE_OUT, ATOLL_ROLE_INOUT, ATOLL_ROLE_CONSTANT };

enum atoll_init_kind {
    ATOLL_INIT_NORMAL,  /* {normal: {mean: 0, std: 1}} */
    ATOLL_INIT_UNIFORM, /* {uniform: {low: -1, high: 1}} */
    /* {integer: {low: 0, high: "N"}}  low <= v < high, high may be an expression over dims */
    ATOLL_INIT_INTEGER,
    ATOLL_INIT_INDEX,       /* {index: {}}                     v = flat index */
    ATOLL_INIT_PERMUTATION, /* {permutation: {}}               of 0..last extent-1, one per row */
    ATOLL_INIT_RAGGED,      /* {ragged: {total: "T"}}          count+1 ascending offsets from 0 to total */
    ATOLL_INIT_CONSTANT,    /* {constant: 1.0}                 the same in every draw */
    ATOLL_INIT_SEGMENTS     /* {segments: [...]}               tensor.segments, one after the other */
};

struct atoll_init {
    enum atoll_init_kind kind;
    double a, b; /* mean, std | low, high | value */
    /* high of INTEGER, total of RAGGED, when it is an expression; else NULL */
    const struct atoll_expression *bound;
};

/* A part of a packed tensor: many small weights in one, without padding between them. */
struct atoll_segment {
    const char *parameter; /* of the module; NULL = none */
    const struct atoll_expression *count;
    struct atoll_init init; /* normal, uniform, integer or constant */
};

struct atoll_tensor {
    const char *name;
    enum atoll_dtype dtype;
    enum atoll_role role;
    size_t rank;
    const struct atoll_expression *shape[ATOLL_TASK_RANK_LIMIT];
    struct atoll_init init; /* in, inout, constant */
    size_t segment_count;   /* of SEGMENTS */
    const struct atoll_segment *segments;
    const char *parameter; /* constant: dotted name of the torch module's parameter or buffer; NULL = none */
    /* Of a torch reference with backward. out: the tensor whose gradient it is; in: "0", "1" ...: it is the gradient that
     * flows into that result of the forward.  NULL = neither */
    const char *of;
};

enum atoll_variant_kind { ATOLL_VARIANT_CHECK, ATOLL_VARIANT_BENCH, ATOLL_VARIANT_HIDDEN };

struct atoll_variant {
    const char *name; /* "check", "check.2", "bench", "bench.large" ... unique in the task */
    enum atoll_variant_kind kind;
    double weight;                      /* bench only; default 1 */
    int64_t dims[ATOLL_TASK_DIM_LIMIT]; /* in the order of task.dims, each >= 1 */
    const char *backend;                /* NULL = every backend; "cpu", "cuda": only there */
};

struct atoll_tolerance {
    double rtol, atol;  /* |y - r| <= atol + rtol * max(|r|, scale) */
    double norm;        /* > 0: also ||y - r|| <= norm * ||r|| */
    double cosine;      /* > 0: also cos(y, r) >= cosine */
    double wrong_share; /* allowed share of wrong elements, default 0; never for unwritten ones */
};

/* Which draw distributions a task allows; bit set, ATOLL_DRAW_BASE always there.  distributions: [base,
 * scaled, ...] */
enum {
    ATOLL_DRAW_BASE = 1,
    ATOLL_DRAW_SCALED = 2,
    ATOLL_DRAW_TIES = 4,
    ATOLL_DRAW_SPARSE = 8,
    ATOLL_DRAW_SIGNED = 16
};

/* A source that came with the task: a baseline or a seed. */
struct atoll_seed {
    const char *name;     /* file name without directory and suffix unless the task names it */
    const char *language; /* "c", "cuda", "triton", "opencl" from the suffix .c .cu .py .cl */
    const char *source;   /* whole text with the task's definitions, NUL-terminated */
    int is_baseline;
};

/* ---- PyTorch (docs/spec/task.md, "torch") ---- */

/* A definition of correct that a Python with torch executes. */
struct atoll_torch_reference {
    const char *source;  /* text of problem.py */
    const char *file;    /* "problem.py" */
    int is_function;     /* entry(inputs..., constants...); else class entry(*get_init_inputs()) */
    int is_backward;     /* the outputs are gradients */
    const char *entry;   /* "Model" */
    double memory_bytes; /* of one answer at the largest variant, as measured; 0 unknown */
};

enum atoll_torch_mode {
    ATOLL_TORCH_EAGER,
    ATOLL_TORCH_COMPILE,
    ATOLL_TORCH_MAX_AUTOTUNE,
    ATOLL_TORCH_MODE_COUNT
};
const char *atoll_torch_mode_name(enum atoll_torch_mode mode); /* "eager", "compile", "max-autotune" */

/* What PyTorch makes of the task: what kernels are compared with. */
struct atoll_rival_spec {
    const char *name;
    const char *expression; /* NULL: the reference's own module */
    enum atoll_torch_mode mode;
};

/* Where an imported task comes from; NULL where it is not told. */
struct atoll_task_origin {
    const char *suite, *problem;
    const char *hash; /* hexadecimal BLAKE2b of the source text */
};

struct atoll_task {
    const char *name; /* [a-z][a-z0-9_]*, at most 63 characters */
    const char *summary;
    const char *file;   /* path of task.yaml as given, for messages */
    struct atoll_id id; /* hash of task.yaml and the reference's texts */
    size_t dim_count;
    const char *dims[ATOLL_TASK_DIM_LIMIT];
    size_t tensor_count;
    struct atoll_tensor tensors[ATOLL_TASK_TENSOR_LIMIT];
    /* The definition of correct: torch where it is not NULL, else the four that follow, which are NULL then. */
    const struct atoll_torch_reference *torch;
    const char *reference_source; /* text of reference.c */
    const char *device_source;    /* text of reference.cu, the same by tiles on a device; NULL = none */
    const struct atoll_expression *units;   /* independent units */
    const struct atoll_expression *scratch; /* doubles of scratch per unit; NULL = none */
    const struct atoll_expression *
        flops; /* useful operations; with matrix_flops: those that are no matrix products; NULL = not known */
    const struct atoll_expression
        *matrix_flops; /* useful operations of matrix products; NULL = not told apart */
    const struct atoll_expression *reads, *writes; /* compulsory bytes, NULL = from the roles */
    unsigned precisions;   /* bit 1 << enum atoll_dtype; tf32 is bit ATOLL_DTYPE_COUNT */
    int precisions_strict; /* an image that computes less exactly is refused, not only told */
    struct atoll_tolerance tolerance;
    int has_tolerance;          /* 0: of atoll_task_load_draft alone */
    const char *tolerance_from; /* how it was found, where nobody chose it; NULL = nothing is said */
    unsigned distributions;
    int allow_mutable_globals;
    size_t variant_count;
    /* The last place is of no variant of the task: for a shape that somebody makes and looks at as if it were one. */
    struct atoll_variant variants[ATOLL_TASK_VARIANT_LIMIT + 1];
    const char *definitions; /* C declarations that stand behind the plan in every seed; NULL = none */
    size_t seed_count;
    struct atoll_seed seeds[ATOLL_TASK_SEED_LIMIT]; /* baselines first, then seeds/ in name order */
    size_t rival_count;
    struct atoll_rival_spec rivals[ATOLL_TASK_RIVAL_LIMIT]; /* in the order of baselines */
    const char *category;                                   /* one word; NULL = none */
    unsigned level;                                         /* 1..9; 0 = none */
    size_t tag_count;
    const char *tags[ATOLL_TASK_TAG_LIMIT];
    const char *instructions; /* the user's own words for prompts; NULL = none */
    const char *unseeded;     /* why it has no seed in some language, or none; NULL = nothing is said */
    struct atoll_task_origin origin;
};

/* Loads DIR/task.yaml, its reference and every file of DIR/seeds.  Errors: ATOLL_E_INPUT "file:line: what;
 * remedy". */
struct atoll_task *atoll_task_load(const char *dir, struct atoll_err *err);
/* The same, but a task that PyTorch defines may lack its tolerance (has_tolerance). */
struct atoll_task *atoll_task_load_draft(const char *dir, struct atoll_err *err);
/* Canonical bytes of a loaded task, complete (seeds too), and back: how a task travels to evaluators and
 * into the journal.  Hostile input: every bound is checked again. */
struct atoll_buffer;
struct atoll_reader;
int atoll_task_encode(const struct atoll_task *task, struct atoll_buffer *out, struct atoll_err *err);
struct atoll_task *atoll_task_decode(const void *bytes, size_t length, struct atoll_err *err);
/* Its baselines alone stay, also where it travels. */
void atoll_task_drop_seeds(struct atoll_task *task);
void atoll_task_destroy(struct atoll_task *task);

/* Names the tasks of a suite: DIR itself when it holds a task.yaml, else its subfolders that do, in name
 * order. ret_dirs: array of owned strings, freed with atoll_suite_free. */
int atoll_suite_list(const char *dir, char ***ret_dirs, size_t *ret_count, struct atoll_err *err);
void atoll_suite_free(char **dirs, size_t count);
/* Calls visit for every task folder of a suite, until one does not return 0; returns what it returned, or
 * -1 and err when the suite cannot be listed. */
int atoll_suite_visit(const char *dir,
                      int (*visit)(void *context, const char *task_dir, struct atoll_err *err), void *context,
                      struct atoll_err *err);

/* Dims of a variant as bindings; ret_bindings has room for ATOLL_TASK_DIM_LIMIT. */
size_t atoll_task_bindings(const struct atoll_task *task, const struct atoll_variant *variant,
                           struct atoll_binding *ret_bindings);
/* Elements of a tensor at a variant; error beyond 2^40 or when an extent is not positive. */
int atoll_task_element_count(const struct atoll_task *task, size_t tensor,
                             const struct atoll_variant *variant, size_t *ret_count, struct atoll_err *err);
/* Numbers of the roofline floor at a variant: useful operations, compulsory bytes read and written. */
struct atoll_work {
    double flops, read_bytes, write_bytes; /* flops: 0 where they are not known */
    double matrix_flops;                   /* beside flops, where the task tells them apart */
    int is_split;                          /* it does */
};
int atoll_task_work(const struct atoll_task *task, const struct atoll_variant *variant,
                    struct atoll_work *ret_work, struct atoll_err *err);
int atoll_task_find_tensor(const struct atoll_task *task, const char *name); /* index or -1 */
/* Elements of a segment of a packed tensor at a variant. */
int atoll_task_segment_count(const struct atoll_task *task, const struct atoll_segment *segment,
                             const struct atoll_variant *variant, size_t *ret_count, struct atoll_err *err);
/* For parts that know C references alone: ATOLL_E_INPUT "task 'x' is defined by PyTorch (problem.py); <part>", 0 for tasks
 * with a reference.c. */
int atoll_task_needs_c(const struct atoll_task *task, const char *part, struct atoll_err *err);

/* Where the task's definitions go in the text of a seed's file: behind its first comment, the plan, on the same line.  0: nowhere. */
size_t atoll_task_definitions_place(const struct atoll_task *task, const char *text);

#endif
