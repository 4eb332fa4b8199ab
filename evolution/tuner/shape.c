/* shape.c - what a task asks at one shape, and which params are which sizes. */
#include "evolution/tuner/shape.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- roles by name ---- */

#define IN(family) (1u << ATOLL_SHAPE_##family)
#define PRODUCT    (IN(MATRIX) | IN(ATTENTION))
#define OTHERS     (IN(ROWS) | IN(GRID) | IN(STREAM))
#define ANY        (PRODUCT | OTHERS)

/* Where a name means several things the family decides; the first row that fits counts. */
static const struct {
    const char *name;
    unsigned families;
    enum atoll_shape_role role;
} named[] = {
    {"BM", PRODUCT, ATOLL_SHAPE_TILE_M},
    {"BLOCK_M", PRODUCT, ATOLL_SHAPE_TILE_M},
    {"BLOCK_SIZE_M", PRODUCT, ATOLL_SHAPE_TILE_M},
    {"TILE_M", ANY, ATOLL_SHAPE_TILE_M},
    {"BQ", IN(ATTENTION), ATOLL_SHAPE_TILE_M},
    {"BL", IN(ATTENTION), ATOLL_SHAPE_TILE_M},
    {"BK", IN(ATTENTION), ATOLL_SHAPE_TILE_N},
    {"BKV", IN(ATTENTION), ATOLL_SHAPE_TILE_N},
    {"KP", IN(ATTENTION), ATOLL_SHAPE_TILE_N},
    {"BN", PRODUCT, ATOLL_SHAPE_TILE_N},
    {"BLOCK_N", PRODUCT, ATOLL_SHAPE_TILE_N},
    {"BLOCK_SIZE_N", PRODUCT, ATOLL_SHAPE_TILE_N},
    {"TILE_N", ANY, ATOLL_SHAPE_TILE_N},
    {"BL", IN(MATRIX), ATOLL_SHAPE_TILE_N}, /* of a convolution: places along the row */
    {"BK", IN(MATRIX), ATOLL_SHAPE_TILE_K},
    {"BC", IN(MATRIX), ATOLL_SHAPE_TILE_K}, /* of a convolution: channels */
    {"BLOCK_K", IN(MATRIX), ATOLL_SHAPE_TILE_K},
    {"BLOCK_SIZE_K", IN(MATRIX), ATOLL_SHAPE_TILE_K},
    {"TILE_K", PRODUCT, ATOLL_SHAPE_TILE_K},
    {"STAGES", ANY, ATOLL_SHAPE_STAGES},
    {"NUM_STAGES", ANY, ATOLL_SHAPE_STAGES},
    {"WARPS", ANY, ATOLL_SHAPE_WARPS},
    {"NUM_WARPS", ANY, ATOLL_SHAPE_WARPS},
    {"WM", PRODUCT, ATOLL_SHAPE_WARPS_M},
    {"WN", PRODUCT, ATOLL_SHAPE_WARPS_N},
    {"WG", PRODUCT, ATOLL_SHAPE_WARP_GROUPS},
    {"TM", PRODUCT, ATOLL_SHAPE_WORK_M},
    {"TQ", IN(ATTENTION), ATOLL_SHAPE_WORK_M},
    {"TN", PRODUCT, ATOLL_SHAPE_WORK_N},
    {"TK", IN(ATTENTION), ATOLL_SHAPE_WORK_N},
    {"GROUP", PRODUCT, ATOLL_SHAPE_GROUP},
    {"GROUP_M", PRODUCT, ATOLL_SHAPE_GROUP},
    {"GROUP_SIZE_M", PRODUCT, ATOLL_SHAPE_GROUP},
    {"SPLIT", ANY, ATOLL_SHAPE_SPLIT},
    {"SPLIT_K", ANY, ATOLL_SHAPE_SPLIT},
    {"PARTS", PRODUCT, ATOLL_SHAPE_SPLIT},
    {"BLOCKS", IN(ATTENTION), ATOLL_SHAPE_RESIDENT},
    {"MIN", IN(GRID), ATOLL_SHAPE_RESIDENT},
    {"BLOCK", ANY, ATOLL_SHAPE_THREADS},
    {"THREADS", ANY, ATOLL_SHAPE_THREADS},
    {"BLOCK_SIZE", ANY, ATOLL_SHAPE_THREADS},
    {"BX", IN(GRID), ATOLL_SHAPE_THREADS_X},
    {"BY", IN(GRID), ATOLL_SHAPE_THREADS_Y},
    {"BZ", IN(GRID), ATOLL_SHAPE_THREADS_Z},
    {"BLOCK_X", ANY, ATOLL_SHAPE_THREADS_X},
    {"BLOCK_Y", ANY, ATOLL_SHAPE_THREADS_Y},
    {"BLOCK_Z", ANY, ATOLL_SHAPE_THREADS_Z},
    {"BLOCK_SIZE_X", ANY, ATOLL_SHAPE_THREADS_X},
    {"BLOCK_SIZE_Y", ANY, ATOLL_SHAPE_THREADS_Y},
    {"BLOCK_SIZE_Z", ANY, ATOLL_SHAPE_THREADS_Z},
    {"TILE_SIZE_X", ANY, ATOLL_SHAPE_WORK_X},
    {"TILE_SIZE_Y", ANY, ATOLL_SHAPE_WORK_Y},
    {"TILE_SIZE_Z", ANY, ATOLL_SHAPE_WORK_Z},
    {"RUN", IN(GRID), ATOLL_SHAPE_WORK_Z}, /* planes that a block marches through */
    {"RUN", ANY, ATOLL_SHAPE_WORK},
    {"PER", ANY, ATOLL_SHAPE_WORK},
    {"ITEMS", ANY, ATOLL_SHAPE_WORK},
    {"ROWS", IN(ROWS), ATOLL_SHAPE_ROWS_OF_BLOCK},
    {"VECTOR", ANY, ATOLL_SHAPE_VECTOR},
    {"VEC", ANY, ATOLL_SHAPE_VECTOR},
    {"VW", ANY, ATOLL_SHAPE_VECTOR},
    {"UNROLL", ANY, ATOLL_SHAPE_UNROLL},
    {"U", ANY, ATOLL_SHAPE_UNROLL},
};

enum atoll_shape_role atoll_shape_role_of(const struct atoll_shape_problem *problem, const char *param)
{
    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
        if (named[i].families >> problem->family & 1 && strcasecmp(named[i].name, param) == 0)
            return named[i].role;
    return ATOLL_SHAPE_NONE;
}

/* ---- problems ---- */

static enum atoll_shape_family family_of(const struct atoll_task *task)
{
    static const struct {
        const char *category;
        enum atoll_shape_family family;
    } rows[] = {
        {"matmul", ATOLL_SHAPE_MATRIX},       {"convolution", ATOLL_SHAPE_MATRIX},
        {"attention", ATOLL_SHAPE_ATTENTION}, {"norm", ATOLL_SHAPE_ROWS},
        {"normalisation", ATOLL_SHAPE_ROWS},  {"softmax", ATOLL_SHAPE_ROWS},
        {"reduction", ATOLL_SHAPE_ROWS},      {"scan", ATOLL_SHAPE_ROWS},
        {"stencil", ATOLL_SHAPE_GRID},        {"fluid", ATOLL_SHAPE_GRID},
    };
    for (size_t i = 0; task->category && i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].category, task->category) == 0)
            return rows[i].family;
    return ATOLL_SHAPE_STREAM;
}

/* A tensor at a variant: all of its elements, and its last two extents. */
struct sizes {
    double elements, last, before;
    size_t tensor;
};

static int measure(const struct atoll_task *task, const struct atoll_variant *variant, size_t tensor,
                   struct sizes *ret_sizes, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t count = atoll_task_bindings(task, variant, bindings), elements = 0;
    const struct atoll_tensor *t = &task->tensors[tensor];
    double extents[2] = {1, 1};
    if (atoll_task_element_count(task, tensor, variant, &elements, err))
        return -1;
    for (size_t i = 0; i < 2 && i < t->rank; i++) {
        int64_t extent = 1;
        if (atoll_expression_eval(t->shape[t->rank - 1 - i], bindings, count, &extent, err))
            return -1;
        extents[i] = (double)extent;
    }
    *ret_sizes = (struct sizes){(double)elements, extents[0], extents[1], tensor};
    return 0;
}

/* The largest tensor that is read, or that is written. */
static int largest(const struct atoll_task *task, const struct atoll_variant *variant, int is_written,
                   struct sizes *ret_sizes, struct atoll_err *err)
{
    *ret_sizes = (struct sizes){1, 1, 1, 0};
    for (size_t i = 0; i < task->tensor_count; i++) {
        struct sizes one;
        enum atoll_role role = task->tensors[i].role;
        int is_one = is_written ? role == ATOLL_ROLE_OUT || role == ATOLL_ROLE_INOUT : role != ATOLL_ROLE_OUT;
        if (!is_one)
            continue;
        if (measure(task, variant, i, &one, err))
            return -1;
        if (one.elements > ret_sizes->elements)
            *ret_sizes = one;
    }
    return 0;
}

static double dim(const struct atoll_task *task, const struct atoll_variant *variant, const char *name)
{
    for (size_t i = 0; i < task->dim_count; i++)
        if (strcmp(task->dims[i], name) == 0)
            return (double)variant->dims[i];
    return 0;
}

/* By the names that everybody uses, else by what is written and what it costs. */
static void set_matrix(const struct atoll_task *task, const struct atoll_variant *variant,
                       const struct sizes *out, double operations, struct atoll_shape_problem *p)
{
    double m = dim(task, variant, "M"), n = dim(task, variant, "N"), k = dim(task, variant, "K");
    if (m > 0 && n > 0 && k > 0) {
        p->m = m;
        p->n = n;
        p->k = k;
        p->batch = fmax(1, round(out->elements / (m * n)));
        return;
    }
    p->n = out->last;
    p->m = out->elements / out->last;
    p->k = fmax(1, round(operations / (2 * out->elements)));
}

int atoll_shape_problem_of(const struct atoll_task *task, const struct atoll_variant *variant,
                           const char *language, struct atoll_shape_problem *ret_problem,
                           struct atoll_err *err)
{
    struct sizes in, out;
    struct atoll_work work;
    struct atoll_shape_problem p = {.family = family_of(task),
                                    .is_device = strcmp(language, "c") != 0,
                                    .is_triton = strcmp(language, "triton") == 0,
                                    .m = 1,
                                    .n = 1,
                                    .k = 1,
                                    .batch = 1,
                                    .radius = 1};
    if (largest(task, variant, 0, &in, err) || largest(task, variant, 1, &out, err) ||
        atoll_task_work(task, variant, &work, err)) {
        return -1;
    }
    double operations = work.matrix_flops > 0 ? work.matrix_flops
                        : task->flops         ? work.flops
                                              : 2 * out.elements * in.last; /* not known: as of a product */
    p.element_bytes = (double)atoll_dtype_bytes(task->tensors[in.tensor].dtype);
    switch (p.family) {
    case ATOLL_SHAPE_MATRIX: set_matrix(task, variant, &out, operations, &p); break;
    case ATOLL_SHAPE_ATTENTION:
        p.k = out.last;
        p.m = out.elements / out.last;
        p.n = fmax(1, round(operations / (4 * out.elements)));
        break;
    case ATOLL_SHAPE_ROWS:
        p.n = in.last;
        p.m = in.elements / in.last;
        break;
    case ATOLL_SHAPE_GRID:
        p.n = out.last;
        p.m = out.before;
        p.k = out.elements / (out.last * out.before);
        break;
    default: p.n = fmax(in.elements, out.elements);
    }
    *ret_problem = p;
    return 0;
}
