#include "core/task/task_tensor.h"

#include <stddef.h>
#include <string.h>

#include "core/task/task_value.h"

#define TENSOR(m) offsetof(struct atoll_tensor, m)
#define INIT(m)   offsetof(struct atoll_init, m)

static int name_free(struct atoll_task_document *d, const yaml_node_t *node, const char *name)
{
    static const char *const reserved[] = {"min", "max", "cdiv", "ilog2", "weight", "backend", "tensormap"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
        if (strcmp(name, reserved[i]) == 0) {
            return atoll_document_fail(d, node, "name '%s' is reserved; take another", name);
        }
    }
    if (atoll_value_known_dim(d->task, name) || atoll_task_find_tensor(d->task, name) >= 0) {
        return atoll_document_fail(d, node, "name '%s' is used twice among dims and tensors; rename one",
                                   name);
    }
    return 0;
}

static int read_dim(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *name = NULL;
    if (atoll_value_name(d, node, &name) || name_free(d, node, name)) {
        return -1;
    }
    d->task->dims[d->task->dim_count++] = name;
    return 0;
}

int atoll_task_read_dims(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    return atoll_document_list(d, node, ATOLL_TASK_DIM_LIMIT, "dims", read_dim, NULL);
}

static int read_dtype(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    if (!text || atoll_dtype_parse(text, target)) {
        return atoll_document_fail(d, node, "unknown dtype '%.32s'; known: %s", text ? text : "",
                                   atoll_dtype_names());
    }
    return 0;
}

static int read_role(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    static const char *const names[] = {"in", "out", "inout", "constant"};
    const char *text = atoll_document_scalar(node);
    for (unsigned i = 0; text && i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(enum atoll_role *)target = (enum atoll_role)i;
            return 0;
        }
    }
    return atoll_document_fail(d, node, "unknown role '%.32s'; known: in, out, inout, constant",
                               text ? text : "");
}

static int read_extent(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_tensor *t = target;
    return atoll_value_expression(d, node, (void *)&t->shape[t->rank++]);
}

static int read_shape(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    return atoll_document_list(d, node, ATOLL_TASK_RANK_LIMIT, "extents", read_extent, target);
}

/* ---- inits ---- */

static const struct atoll_document_row normal_rows[] = {
    {"mean", 0, atoll_value_number, INIT(a)},
    {"std", 0, atoll_value_positive, INIT(b)},
};
static const struct atoll_document_section normal = {normal_rows, sizeof(normal_rows) / sizeof(*normal_rows)};

static const struct atoll_document_row uniform_rows[] = {
    {"low", 1, atoll_value_number, INIT(a)},
    {"high", 1, atoll_value_number, INIT(b)},
};
static const struct atoll_document_section uniform = {uniform_rows,
                                                      sizeof(uniform_rows) / sizeof(*uniform_rows)};

/* A literal goes to b, anything else becomes the bound. */
static int read_bound(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    const char *text = atoll_document_scalar(node);
    int64_t value = 0;
    if (!text || atoll_value_parse_integer(text, &value)) {
        return atoll_value_expression(d, node, (void *)&init->bound);
    }
    return atoll_value_integer(d, node, &init->b);
}

static const struct atoll_document_row integer_rows[] = {
    {"low", 0, atoll_value_integer, INIT(a)},
    {"high", 1, read_bound, 0},
};
static const struct atoll_document_section integer = {integer_rows,
                                                      sizeof(integer_rows) / sizeof(*integer_rows)};

static const struct atoll_document_row ragged_rows[] = {
    {"total", 1, read_bound, 0},
};
static const struct atoll_document_section ragged = {ragged_rows, sizeof(ragged_rows) / sizeof(*ragged_rows)};

static const struct atoll_document_section empty = {NULL, 0}; /* {index: {}} */

static int read_normal(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_NORMAL;
    init->b = 1;
    return atoll_document_map(d, &normal, node, init);
}

static int read_uniform(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_UNIFORM;
    if (atoll_document_map(d, &uniform, node, init)) {
        return -1;
    }
    return init->a < init->b ? 0 : atoll_document_fail(d, node, "uniform: low must be less than high");
}

static int read_integer(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_INTEGER;
    return atoll_document_map(d, &integer, node, init);
}

static int read_index(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_INDEX;
    return atoll_document_map(d, &empty, node, target);
}

static int read_permutation(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_PERMUTATION;
    return atoll_document_map(d, &empty, node, target);
}

static int read_ragged(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_RAGGED;
    return atoll_document_map(d, &ragged, node, target);
}

static int read_constant(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_CONSTANT;
    return atoll_value_number(d, node, &init->a);
}

static const struct atoll_document_row init_rows[] = {
    {"normal", 0, read_normal, 0},           {"uniform", 0, read_uniform, 0},
    {"integer", 0, read_integer, 0},         {"index", 0, read_index, 0},
    {"permutation", 0, read_permutation, 0}, {"ragged", 0, read_ragged, 0},
    {"constant", 0, read_constant, 0},
};
static const struct atoll_document_section init = {init_rows, sizeof(init_rows) / sizeof(*init_rows)};

static int read_init(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    if (node->type != YAML_MAPPING_NODE ||
        node->data.mapping.pairs.top - node->data.mapping.pairs.start != 1) {
        return atoll_document_fail(
            d, node, "init must name exactly one kind, like {normal: {mean: 0, std: 1}} or {index: {}}");
    }
    return atoll_document_map(d, &init, node, target);
}

static const struct atoll_document_row tensor_rows[] = {
    {"name", 1, atoll_value_name, TENSOR(name)},
    {"dtype", 1, read_dtype, TENSOR(dtype)},
    {"shape", 1, read_shape, 0},
    {"role", 1, read_role, TENSOR(role)},
    {"init", 0, read_init, TENSOR(init)},
};
static const struct atoll_document_section tensor = {tensor_rows, sizeof(tensor_rows) / sizeof(*tensor_rows)};

static int read_tensor(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_tensor *t = &d->task->tensors[d->task->tensor_count];
    if (atoll_document_map(d, &tensor, node, t) || name_free(d, node, t->name)) {
        return -1;
    }
    int has_init = atoll_document_find(d, node, "init") != NULL;
    if (t->role == ATOLL_ROLE_OUT && has_init) {
        return atoll_document_fail(d, node, "tensor '%s' of role out has an init; remove it", t->name);
    }
    if (t->role != ATOLL_ROLE_OUT && !has_init) {
        return atoll_document_fail(
            d, node, "tensor '%s' needs an init; add one like {normal: {mean: 0, std: 1}}", t->name);
    }
    d->tensor_nodes[d->task->tensor_count++] = node;
    return 0;
}

int atoll_task_read_tensors(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    return atoll_document_list(d, node, ATOLL_TASK_TENSOR_LIMIT, "tensors", read_tensor, NULL);
}
