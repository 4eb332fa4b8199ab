/* task_tensor.c - dims and tensors of task.yaml, and how tensors are filled. */
#include "core/task/task_parse.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"

#define TENSOR(m) offsetof(struct atoll_tensor, m)
#define INIT(m)   offsetof(struct atoll_init, m)

#define PARAMETER_LIMIT 255

/* ---- dims and tensors ---- */

static int name_free(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *name)
{
    static const char *const reserved[] = {"min", "max", "cdiv", "ilog2", "weight", "backend", "tensormap"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (strcmp(name, reserved[i]) == 0)
            return atoll_yaml_fail(w, node, "name '%s' is reserved; take another", name);
    if (atoll_task_is_dim(atoll_task_of(w), name) || atoll_task_find_tensor(atoll_task_of(w), name) >= 0)
        return atoll_yaml_fail(w, node, "name '%s' is used twice among dims and tensors; rename one", name);
    return 0;
}

static int read_dim(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *name = NULL;
    if (atoll_task_read_name(w, node, &name) || name_free(w, node, name))
        return -1;
    atoll_task_of(w)->dims[atoll_task_of(w)->dim_count++] = name;
    return 0;
}

int atoll_task_read_dims(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_DIM_LIMIT, "dims", read_dim, NULL);
}

static int read_dtype(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || atoll_dtype_parse(text, target)) {
        return atoll_yaml_fail(w, node, "unknown dtype '%.32s'; known: %s", text ? text : "",
                               atoll_dtype_names());
    }
    return 0;
}

static int read_role(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"in", "out", "inout", "constant"};
    const char *text = atoll_yaml_scalar(node);
    for (unsigned i = 0; text && i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(enum atoll_role *)target = (enum atoll_role)i;
            return 0;
        }
    }
    return atoll_yaml_fail(w, node, "unknown role '%.32s'; known: in, out, inout, constant",
                           text ? text : "");
}

static int read_extent(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_tensor *t = target;
    return atoll_task_read_expression(w, node, (void *)&t->shape[t->rank++]);
}

static int read_shape(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_RANK_LIMIT, "extents", read_extent, target);
}

/* ---- inits ---- */

static int read_integer_number(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    int64_t value = 0;
    const char *text = atoll_yaml_scalar(node);
    if (!text || atoll_task_parse_integer(text, &value) || value > ATOLL_DIM_MAX || value < -ATOLL_DIM_MAX)
        return atoll_yaml_fail(w, node, "'%.40s' is not an integer between -2^40 and 2^40", text ? text : "");
    *(double *)target = (double)value;
    return 0;
}

static const struct atoll_yaml_row normal_rows[] = {
    {"mean", ATOLL_YAML_OPTIONAL, atoll_yaml_read_signed, INIT(a)},
    {"std", ATOLL_YAML_OPTIONAL, atoll_yaml_read_positive, INIT(b)},
};
static const struct atoll_yaml_section normal = {normal_rows, sizeof(normal_rows) / sizeof(*normal_rows)};

static const struct atoll_yaml_row uniform_rows[] = {
    {"low", ATOLL_YAML_REQUIRED, atoll_yaml_read_signed, INIT(a)},
    {"high", ATOLL_YAML_REQUIRED, atoll_yaml_read_signed, INIT(b)},
};
static const struct atoll_yaml_section uniform = {uniform_rows, sizeof(uniform_rows) / sizeof(*uniform_rows)};

/* A literal goes to b, anything else becomes the bound. */
static int read_bound(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_init *init = target;
    const char *text = atoll_yaml_scalar(node);
    int64_t value = 0;
    if (!text || atoll_task_parse_integer(text, &value))
        return atoll_task_read_expression(w, node, (void *)&init->bound);
    return read_integer_number(w, node, &init->b);
}

static const struct atoll_yaml_row integer_rows[] = {
    {"low", ATOLL_YAML_OPTIONAL, read_integer_number, INIT(a)},
    {"high", ATOLL_YAML_REQUIRED, read_bound, 0},
};
static const struct atoll_yaml_section integer = {integer_rows, sizeof(integer_rows) / sizeof(*integer_rows)};

static const struct atoll_yaml_row ragged_rows[] = {
    {"total", ATOLL_YAML_REQUIRED, read_bound, 0},
};
static const struct atoll_yaml_section ragged = {ragged_rows, sizeof(ragged_rows) / sizeof(*ragged_rows)};

static const struct atoll_yaml_section empty = {NULL, 0}; /* {index: {}} */

static int read_normal(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_NORMAL;
    init->b = 1;
    return atoll_yaml_map(w, &normal, node, init);
}

static int read_uniform(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_UNIFORM;
    if (atoll_yaml_map(w, &uniform, node, init))
        return -1;
    return init->a < init->b ? 0 : atoll_yaml_fail(w, node, "uniform: low must be less than high");
}

static int read_integer(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_INTEGER;
    return atoll_yaml_map(w, &integer, node, init);
}

static int read_index(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_INDEX;
    return atoll_yaml_map(w, &empty, node, target);
}

static int read_permutation(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_PERMUTATION;
    return atoll_yaml_map(w, &empty, node, target);
}

static int read_ragged(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_RAGGED;
    return atoll_yaml_map(w, &ragged, node, target);
}

static int read_constant(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_CONSTANT;
    return atoll_yaml_read_signed(w, node, &init->a);
}

/* Dotted, as Python writes it: layers.0.weight. */
static int read_parameter(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > PARAMETER_LIMIT || strspn(text, letters) != strlen(text)) {
        return atoll_yaml_fail(
            w, node, "parameter '%.40s' must be a dotted name of at most %d characters, like layers.0.weight",
            text ? text : "", PARAMETER_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}

/* Exactly one of the kinds. */
static int read_one_of(struct atoll_yaml_walk *w, const struct atoll_yaml_section *kinds,
                       const struct atoll_yaml_node *node, void *target)
{
    if (atoll_yaml_count(node) != 1 || atoll_yaml_scalar(node)) {
        return atoll_yaml_fail(
            w, node, "init must name exactly one kind, like {normal: {mean: 0, std: 1}} or {index: {}}");
    }
    return atoll_yaml_map(w, kinds, node, target);
}

static const struct atoll_yaml_row piece_rows[] = {
    {"normal", ATOLL_YAML_OPTIONAL, read_normal, 0},
    {"uniform", ATOLL_YAML_OPTIONAL, read_uniform, 0},
    {"integer", ATOLL_YAML_OPTIONAL, read_integer, 0},
    {"constant", ATOLL_YAML_OPTIONAL, read_constant, 0},
};
static const struct atoll_yaml_section piece = {piece_rows, sizeof(piece_rows) / sizeof(*piece_rows)};

static int read_piece(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return read_one_of(w, &piece, node, target);
}

static const struct atoll_yaml_row segment_rows[] = {
    {"parameter", ATOLL_YAML_OPTIONAL, read_parameter, offsetof(struct atoll_segment, parameter)},
    {"count", ATOLL_YAML_REQUIRED, atoll_task_read_expression, offsetof(struct atoll_segment, count)},
    {"init", ATOLL_YAML_REQUIRED, read_piece, offsetof(struct atoll_segment, init)},
};
static const struct atoll_yaml_section segment = {segment_rows, sizeof(segment_rows) / sizeof(*segment_rows)};

struct segments {
    struct atoll_segment *items;
    size_t count;
};

static int read_segment(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct segments *s = target;
    return atoll_yaml_map(w, &segment, node, &s->items[s->count++]);
}

static int read_segments(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_tensor *t = &atoll_task_of(w)->tensors[atoll_task_of(w)->tensor_count];
    struct segments s = {NULL, 0};
    size_t count = atoll_yaml_count(node);
    if (count == 0 || count > ATOLL_TASK_SEGMENT_LIMIT) {
        return atoll_yaml_fail(w, node,
                               "segments must be a list of 1 to %d {parameter: ..., count: ..., init: ...}",
                               ATOLL_TASK_SEGMENT_LIMIT);
    }
    s.items = atoll_arena_alloc(w->arena, count * sizeof(*s.items), w->err);
    if (!s.items || atoll_yaml_list(w, node, ATOLL_TASK_SEGMENT_LIMIT, "segments", read_segment, &s))
        return -1;
    ((struct atoll_init *)target)->kind = ATOLL_INIT_SEGMENTS;
    t->segments = s.items;
    t->segment_count = s.count;
    return 0;
}

static const struct atoll_yaml_row init_rows[] = {
    {"normal", ATOLL_YAML_OPTIONAL, read_normal, 0},
    {"uniform", ATOLL_YAML_OPTIONAL, read_uniform, 0},
    {"integer", ATOLL_YAML_OPTIONAL, read_integer, 0},
    {"index", ATOLL_YAML_OPTIONAL, read_index, 0},
    {"permutation", ATOLL_YAML_OPTIONAL, read_permutation, 0},
    {"ragged", ATOLL_YAML_OPTIONAL, read_ragged, 0},
    {"constant", ATOLL_YAML_OPTIONAL, read_constant, 0},
    {"segments", ATOLL_YAML_OPTIONAL, read_segments, 0},
};
static const struct atoll_yaml_section init = {init_rows, sizeof(init_rows) / sizeof(*init_rows)};

static int read_init(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return read_one_of(w, &init, node, target);
}

/* ---- tensors ---- */

/* A tensor's name, or the number of a result. */
static int read_of(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (text && text[0] >= '0' && text[0] <= '9' && !text[1])
        return atoll_task_copy(w, text, target);
    return atoll_task_read_name(w, node, target);
}

static const struct atoll_yaml_row tensor_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, atoll_task_read_name, TENSOR(name)},
    {"dtype", ATOLL_YAML_REQUIRED, read_dtype, TENSOR(dtype)},
    {"shape", ATOLL_YAML_REQUIRED, read_shape, 0},
    {"role", ATOLL_YAML_REQUIRED, read_role, TENSOR(role)},
    {"init", ATOLL_YAML_OPTIONAL, read_init, TENSOR(init)},
    {"parameter", ATOLL_YAML_OPTIONAL, read_parameter, TENSOR(parameter)},
    {"of", ATOLL_YAML_OPTIONAL, read_of, TENSOR(of)},
};
static const struct atoll_yaml_section tensor = {tensor_rows, sizeof(tensor_rows) / sizeof(*tensor_rows)};

static int read_tensor(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_tensor *t = &atoll_task_of(w)->tensors[atoll_task_of(w)->tensor_count];
    if (atoll_yaml_map(w, &tensor, node, t) || name_free(w, node, t->name))
        return -1;
    int has_init = atoll_yaml_find(node, "init") != NULL;
    if (t->role == ATOLL_ROLE_OUT && has_init)
        return atoll_yaml_fail(w, node, "tensor '%s' of role out has an init; remove it", t->name);
    if (t->role != ATOLL_ROLE_OUT && !has_init) {
        return atoll_yaml_fail(w, node, "tensor '%s' needs an init; add one like {normal: {mean: 0, std: 1}}",
                               t->name);
    }
    atoll_task_parse_of(w)->tensor_nodes[atoll_task_of(w)->tensor_count++] = node;
    return 0;
}

int atoll_task_read_tensors(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_TENSOR_LIMIT, "tensors", read_tensor, NULL);
}
