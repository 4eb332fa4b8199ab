/* task_check.c - what must hold between the keys of a task, and the defaults that follow from several of them.
 * Two pairs are refused while they are read (task_parse.c): an output with an init, a weight on a variant that is no bench. */
#include "core/task/task_parse.h"

#include <string.h>

#define RAGGED_MAX  ((int64_t)1 << 31)
#define SCRATCH_MAX ((int64_t)1 << 24)

/* An error of another part under the node's place; what: a word before it. */
static int pass(struct atoll_task_parse *p, const struct atoll_yaml_node *node, const struct atoll_err *inner,
                const char *what)
{
    return inner->code == ATOLL_E_MEMORY ? atoll_yaml_pass(&p->walk, node, inner)
                                         : atoll_yaml_fail(&p->walk, node, "%s: %s", what, inner->text);
}

static int makes_floats(const struct atoll_init *init)
{
    return init->kind == ATOLL_INIT_NORMAL || init->kind == ATOLL_INIT_UNIFORM;
}

static int has_floats(const struct atoll_tensor *t)
{
    int any = t->role != ATOLL_ROLE_OUT && makes_floats(&t->init);
    for (size_t i = 0; i < t->segment_count; i++)
        any |= makes_floats(&t->segments[i].init);
    return any;
}

static int settle_distributions(struct atoll_task_parse *p)
{
    struct atoll_task *task = p->task;
    int floats = 0, symmetric = 0;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_init *init = &task->tensors[i].init;
        if (has_floats(&task->tensors[i])) {
            floats = 1;
            symmetric |= (init->kind == ATOLL_INIT_NORMAL && init->a == 0) ||
                         (init->kind == ATOLL_INIT_UNIFORM && init->a == -init->b);
        }
    }
    if ((task->distributions & ATOLL_DRAW_SIGNED) && !symmetric) {
        return atoll_yaml_fail(
            &p->walk, p->distribution_node,
            "distribution 'signed' needs an init that is symmetric about 0; remove it from the list");
    }
    if (!p->distribution_node && floats)
        task->distributions = ATOLL_DRAW_SCALED | ATOLL_DRAW_TIES | ATOLL_DRAW_SPARSE;
    if (!p->distribution_node && symmetric)
        task->distributions |= ATOLL_DRAW_SIGNED;
    task->distributions |= ATOLL_DRAW_BASE;
    return 0;
}

static void settle_precisions(struct atoll_task *task)
{
    for (size_t i = 0; !task->precisions && i < task->tensor_count; i++)
        if (atoll_dtype_is_float(task->tensors[i].dtype))
            task->precisions |= 1u << task->tensors[i].dtype;
    for (size_t i = 0; !task->precisions && i < task->tensor_count; i++)
        task->precisions |= 1u << task->tensors[i].dtype;
}

static int check_shape_of_task(struct atoll_task_parse *p, const struct atoll_yaml_node *root)
{
    const struct atoll_task *task = p->task;
    int writes = 0, checks = 0, benches = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        writes |= task->tensors[i].role == ATOLL_ROLE_OUT || task->tensors[i].role == ATOLL_ROLE_INOUT;
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        checks |= v->kind == ATOLL_VARIANT_CHECK;
        benches |= v->kind == ATOLL_VARIANT_BENCH;
    }
    if (!writes) {
        return atoll_yaml_fail(&p->walk, root,
                               "no tensor has role out or inout; a task must compute something");
    }
    if (!checks || !benches) {
        return atoll_yaml_fail(&p->walk, root, "variants holds no %s variant; add one",
                               checks ? "bench" : "check");
    }
    return 0;
}

static int eval_at(struct atoll_task_parse *p, const struct atoll_expression *e,
                   const struct atoll_variant *v, int64_t *ret, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    return atoll_expression_eval(e, bindings, atoll_task_bindings(p->task, v, bindings), ret, err);
}

static int check_range(struct atoll_task_parse *p, const struct atoll_yaml_node *node, const char *what,
                       const struct atoll_expression *e, const struct atoll_variant *v, int64_t low,
                       int64_t high)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    int64_t value = 0;
    if (!e)
        return 0;
    if (eval_at(p, e, v, &value, &inner))
        return pass(p, node, &inner, what);
    if (value < low || value > high) {
        return atoll_yaml_fail(
            &p->walk, node, "%s '%s' is %lld at variant '%s', must lie between %lld and %lld", what,
            atoll_expression_text(e), (long long)value, v->name, (long long)low, (long long)high);
    }
    return 0;
}

/* Greatest value an integer-valued init makes at a variant; 0 where that says nothing. */
static int greatest_value(struct atoll_task_parse *p, const struct atoll_tensor *t,
                          const struct atoll_init *init, const struct atoll_variant *v, size_t count,
                          int64_t *ret, struct atoll_err *err)
{
    int64_t bound = 0, extent = 1;
    if (init->kind == ATOLL_INIT_INTEGER || init->kind == ATOLL_INIT_RAGGED)
        bound = (int64_t)init->b;
    if (init->bound && eval_at(p, init->bound, v, &bound, err))
        return -1;
    if (t->rank && eval_at(p, t->shape[t->rank - 1], v, &extent, err))
        return -1;
    switch (init->kind) {
    case ATOLL_INIT_INTEGER: *ret = bound - 1; break;
    case ATOLL_INIT_RAGGED: *ret = bound; break;
    case ATOLL_INIT_INDEX: *ret = (int64_t)count - 1; break;
    case ATOLL_INIT_PERMUTATION: *ret = extent - 1; break;
    default: *ret = 0;
    }
    return 0;
}

/* Greatest integer a dtype holds exactly together with all below it. */
static int64_t exact_limit(enum atoll_dtype dtype)
{
    static const int64_t limits[ATOLL_DTYPE_COUNT] = {[ATOLL_F64] = (int64_t)1 << 53,
                                                      [ATOLL_F32] = 1 << 24,
                                                      [ATOLL_F16] = 2048,
                                                      [ATOLL_BF16] = 256,
                                                      [ATOLL_F8E4M3] = 16,
                                                      [ATOLL_F8E5M2] = 8,
                                                      [ATOLL_I64] = (int64_t)1 << 53,
                                                      [ATOLL_I32] = INT32_MAX,
                                                      [ATOLL_I16] = INT16_MAX,
                                                      [ATOLL_I8] = INT8_MAX,
                                                      [ATOLL_U8] = UINT8_MAX};
    return limits[dtype];
}

static int check_init(struct atoll_task_parse *p, const struct atoll_yaml_node *node,
                      const struct atoll_tensor *t, const struct atoll_init *init,
                      const struct atoll_variant *v, size_t count)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    int64_t greatest = 0, exact = exact_limit(t->dtype);
    if (makes_floats(init) && !atoll_dtype_is_float(t->dtype)) {
        return atoll_yaml_fail(
            &p->walk, node,
            "tensor '%s': normal and uniform make fractions, dtype %s holds integers; use integer", t->name,
            atoll_dtype_name(t->dtype));
    }
    if (greatest_value(p, t, init, v, count, &greatest, &inner))
        return pass(p, node, &inner, "init");
    if (init->kind == ATOLL_INIT_INTEGER && greatest < (int64_t)init->a) {
        return atoll_yaml_fail(
            &p->walk, node, "tensor '%s': integer init is empty at variant '%s'; low must be less than high",
            t->name, v->name);
    }
    if (init->kind == ATOLL_INIT_RAGGED &&
        (greatest < 0 || greatest > RAGGED_MAX || count > (size_t)RAGGED_MAX)) {
        return atoll_yaml_fail(
            &p->walk, node, "tensor '%s': ragged total and size must lie between 0 and 2^31 at variant '%s'",
            t->name, v->name);
    }
    int negative_ok = t->dtype == ATOLL_U8 ? init->a >= 0 : init->a >= -(double)exact;
    if (greatest > exact || (init->kind == ATOLL_INIT_INTEGER && !negative_ok)) {
        return atoll_yaml_fail(
            &p->walk, node,
            "tensor '%s': init makes integers up to %lld at variant '%s', %s is exact to %lld only; "
            "use a wider dtype",
            t->name, (long long)greatest, v->name, atoll_dtype_name(t->dtype), (long long)exact);
    }
    return 0;
}

/* Segments fill their tensor, no more and no less. */
static int check_segments(struct atoll_task_parse *p, const struct atoll_yaml_node *node,
                          const struct atoll_tensor *t, const struct atoll_variant *v, size_t count)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    size_t sum = 0;
    for (size_t i = 0; i < t->segment_count; i++) {
        size_t each = 0;
        if (atoll_task_segment_count(p->task, &t->segments[i], v, &each, &inner))
            return pass(p, node, &inner, "segments");
        if (check_init(p, node, t, &t->segments[i].init, v, each))
            return -1;
        sum += each;
    }
    if (sum != count) {
        return atoll_yaml_fail(&p->walk, node,
                               "tensor '%s': its segments have %zu elements at variant '%s', its shape has "
                               "%zu; let them be the same",
                               t->name, sum, v->name, count);
    }
    return 0;
}

static int check_at_variant(struct atoll_task_parse *p, size_t index)
{
    const struct atoll_variant *v = &p->task->variants[index];
    struct atoll_err inner = ATOLL_ERR_INIT;
    struct atoll_work work;
    for (size_t i = 0; i < p->task->tensor_count; i++) {
        const struct atoll_tensor *t = &p->task->tensors[i];
        size_t count = 0;
        if (atoll_task_element_count(p->task, i, v, &count, &inner))
            return pass(p, p->tensor_nodes[i], &inner, "shape");
        if (t->segment_count
                ? check_segments(p, p->tensor_nodes[i], t, v, count)
                : t->role != ATOLL_ROLE_OUT && check_init(p, p->tensor_nodes[i], t, &t->init, v, count))
            return -1;
    }
    if (check_range(p, p->reference_node, "units", p->task->units, v, 1, ATOLL_DIM_MAX) ||
        check_range(p, p->reference_node, "scratch", p->task->scratch, v, 0, SCRATCH_MAX)) {
        return -1;
    }
    return atoll_task_work(p->task, v, &work, &inner) ? pass(p, p->work_node, &inner, "work") : 0;
}

/* ---- what a torch reference needs of the tensors ---- */

static int has_parameters(const struct atoll_tensor *t)
{
    int all = t->segment_count > 0;
    for (size_t i = 0; i < t->segment_count; i++)
        all &= t->segments[i].parameter != NULL;
    return t->parameter || all;
}

/* A gradient is that of an input or constant, or flows into a result. */
static int check_gradient(struct atoll_task_parse *p, size_t index)
{
    const struct atoll_task *task = p->task;
    const struct atoll_tensor *t = &task->tensors[index];
    const struct atoll_yaml_node *node = p->tensor_nodes[index];
    int is_number = t->of && t->of[0] >= '0' && t->of[0] <= '9';
    if (!t->of && t->role == ATOLL_ROLE_OUT) {
        return atoll_yaml_fail(&p->walk, node,
                               "tensor '%s': with backward an output is a gradient; add 'of:' with the name "
                               "of the input or constant",
                               t->name);
    }
    if (!t->of)
        return 0;
    if (t->role == ATOLL_ROLE_IN && is_number)
        return 0;
    int other = atoll_task_find_tensor(task, t->of);
    if (t->role != ATOLL_ROLE_OUT || other < 0 ||
        (task->tensors[other].role != ATOLL_ROLE_IN && task->tensors[other].role != ATOLL_ROLE_CONSTANT)) {
        return atoll_yaml_fail(&p->walk, node,
                               "tensor '%s': 'of' names an input or constant where the role is out, and is "
                               "the number of a result (0) where it is in",
                               t->name);
    }
    return 0;
}

static int check_torch_tensor(struct atoll_task_parse *p, size_t index)
{
    const struct atoll_torch_reference *torch = p->task->torch;
    const struct atoll_tensor *t = &p->task->tensors[index];
    const struct atoll_yaml_node *node = p->tensor_nodes[index];
    if (t->parameter && (!torch || t->role != ATOLL_ROLE_CONSTANT)) {
        return atoll_yaml_fail(&p->walk, node,
                               "tensor '%s': parameter is for constants of a torch reference; remove it",
                               t->name);
    }
    if (t->of && !(torch && torch->is_backward)) {
        return atoll_yaml_fail(
            &p->walk, node, "tensor '%s': 'of' is for a torch reference with backward; remove it", t->name);
    }
    if (!torch)
        return 0;
    if (!torch->is_function && t->role == ATOLL_ROLE_CONSTANT && !has_parameters(t)) {
        return atoll_yaml_fail(&p->walk, node,
                               "tensor '%s': a constant of a module needs its parameter, like "
                               "'parameter: conv.weight'",
                               t->name);
    }
    return torch->is_backward ? check_gradient(p, index) : 0;
}

int atoll_task_check(struct atoll_task_parse *p, const struct atoll_yaml_node *root)
{
    if (check_shape_of_task(p, root) || settle_distributions(p))
        return -1;
    settle_precisions(p->task);
    for (size_t i = 0; i < p->task->tensor_count; i++)
        if (check_torch_tensor(p, i))
            return -1;
    for (size_t i = 0; i < p->task->variant_count; i++)
        if (check_at_variant(p, i))
            return -1;
    return 0;
}
