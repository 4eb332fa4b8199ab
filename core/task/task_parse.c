/* task_parse.c - task.yaml into struct atoll_task: the tables say which key may stand where and who reads it.
 * Every failure names file, line and remedy. */
#include "core/task/task_parse.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/spelling.h"
#include "core/plan/plan.h"

#define TASK_NAME_LIMIT 63
#define SUMMARY_LIMIT   500
#define PATH_LIMIT      255

#define TASK(m)   offsetof(struct atoll_task, m)
#define TOL(m)    offsetof(struct atoll_tolerance, m)
#define TENSOR(m) offsetof(struct atoll_tensor, m)
#define INIT(m)   offsetof(struct atoll_init, m)

static struct atoll_task_parse *parse_of(const struct atoll_yaml_walk *w)
{
    return w->owner;
}

static struct atoll_task *task_of(const struct atoll_yaml_walk *w)
{
    return parse_of(w)->task;
}

/* An error of another part under the node's place. */
static int pass(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const struct atoll_err *inner)
{
    return inner->code == ATOLL_E_MEMORY ? atoll_yaml_pass(w, node, inner)
                                         : atoll_yaml_fail(w, node, "%s", inner->text);
}

/* A copy in the arena. */
static int copy(struct atoll_yaml_walk *w, const char *text, const char **ret)
{
    *ret = atoll_arena_text(w->arena, text, strlen(text), w->err);
    return *ret ? 0 : -1;
}

/* Whether a path may be named inside a task: relative, plain characters, no empty, "." or ".." part. */
static int path_ok(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
    size_t length = strlen(path);
    if (length == 0 || length > PATH_LIMIT || strspn(path, plain) != length || path[length - 1] == '/')
        return 0;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return 0;
    }
    return 1;
}

/* Text of a file of the task, remembered for its bytes; path must live as long as the arena.  NULL and err. */
static const char *take(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *path,
                        size_t limit)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const struct atoll_task_store *store = parse_of(w)->store;
    struct atoll_task_owner *o = parse_of(w)->owner;
    if (!path_ok(path)) {
        atoll_yaml_fail(w, node,
                        "path '%.80s' must stay inside the task's folder; write a plain relative path", path);
        return NULL;
    }
    for (size_t i = 0; i < o->text_count; i++)
        if (strcmp(o->texts[i].path, path) == 0)
            return o->texts[i].text;
    if (o->text_count == ATOLL_TASK_SEED_LIMIT + 1) {
        atoll_yaml_fail(w, node, "more than %d baselines and seeds; remove some", ATOLL_TASK_SEED_LIMIT);
        return NULL;
    }
    const char *text = store->read(store->context, w->arena, path, limit, &inner);
    if (!text) {
        pass(w, node, &inner);
        return NULL;
    }
    o->texts[o->text_count++] = (struct atoll_task_text){path, text};
    return text;
}

/* ---- values ---- */

/* 0, or -1 when text is not a decimal integer of 64 bits. */
static int parse_integer(const char *text, int64_t *ret)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text || strspn(text, "-0123456789") != strlen(text))
        return -1;
    *ret = value;
    return 0;
}

static int read_integer_number(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    int64_t value = 0;
    const char *text = atoll_yaml_scalar(node);
    if (!text || parse_integer(text, &value) || value > ATOLL_DIM_MAX || value < -ATOLL_DIM_MAX)
        return atoll_yaml_fail(w, node, "'%.40s' is not an integer between -2^40 and 2^40", text ? text : "");
    *(double *)target = (double)value;
    return 0;
}

static int is_dim(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->dim_count; i++)
        if (strcmp(task->dims[i], name) == 0)
            return 1;
    return 0;
}

static int read_expression(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text = atoll_yaml_scalar(node);
    if (!text)
        return atoll_yaml_fail(w, node, "an expression over dims is expected here, like \"cdiv(N, 4)\"");
    const struct atoll_expression *e = atoll_expression_parse(w->arena, text, &inner);
    if (!e)
        return pass(w, node, &inner);
    for (size_t i = 0; i < atoll_expression_name_count(e); i++) {
        const char *name = atoll_expression_name(e, i);
        const char *near = atoll_spelling_nearest(name, task_of(w)->dims, task_of(w)->dim_count);
        if (is_dim(task_of(w), name))
            continue;
        if (near) {
            return atoll_yaml_fail(w, node, "unknown name '%s' in '%.80s'; did you mean '%s'?", name, text,
                                   near);
        }
        return atoll_yaml_fail(w, node, "unknown name '%s' in '%.80s'; use names listed in dims", name, text);
    }
    *(const struct atoll_expression **)target = e;
    return 0;
}

static int read_name(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > ATOLL_NAME_LIMIT || strspn(text, letters) != strlen(text) ||
        (text[0] >= '0' && text[0] <= '9')) {
        return atoll_yaml_fail(w, node,
                               "name '%.40s' must match [A-Za-z_][A-Za-z0-9_]* with at most %d characters",
                               text ? text : "", ATOLL_NAME_LIMIT);
    }
    return copy(w, text, target);
}

static int read_path(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    return text ? copy(w, text, target)
                : atoll_yaml_fail(w, node, "a file name is expected here, like seeds/naive.c");
}

/* ---- dims and tensors ---- */

static int name_free(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *name)
{
    static const char *const reserved[] = {"min", "max", "cdiv", "ilog2", "weight", "backend", "tensormap"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (strcmp(name, reserved[i]) == 0)
            return atoll_yaml_fail(w, node, "name '%s' is reserved; take another", name);
    if (is_dim(task_of(w), name) || atoll_task_find_tensor(task_of(w), name) >= 0)
        return atoll_yaml_fail(w, node, "name '%s' is used twice among dims and tensors; rename one", name);
    return 0;
}

static int read_dim(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *name = NULL;
    if (read_name(w, node, &name) || name_free(w, node, name))
        return -1;
    task_of(w)->dims[task_of(w)->dim_count++] = name;
    return 0;
}

static int read_dims(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
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
    return read_expression(w, node, (void *)&t->shape[t->rank++]);
}

static int read_shape(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_RANK_LIMIT, "extents", read_extent, target);
}

/* ---- inits ---- */

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
    if (!text || parse_integer(text, &value))
        return read_expression(w, node, (void *)&init->bound);
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

static const struct atoll_yaml_row init_rows[] = {
    {"normal", ATOLL_YAML_OPTIONAL, read_normal, 0},
    {"uniform", ATOLL_YAML_OPTIONAL, read_uniform, 0},
    {"integer", ATOLL_YAML_OPTIONAL, read_integer, 0},
    {"index", ATOLL_YAML_OPTIONAL, read_index, 0},
    {"permutation", ATOLL_YAML_OPTIONAL, read_permutation, 0},
    {"ragged", ATOLL_YAML_OPTIONAL, read_ragged, 0},
    {"constant", ATOLL_YAML_OPTIONAL, read_constant, 0},
};
static const struct atoll_yaml_section init = {init_rows, sizeof(init_rows) / sizeof(*init_rows)};

static int read_init(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    if (atoll_yaml_count(node) != 1 || atoll_yaml_scalar(node)) {
        return atoll_yaml_fail(
            w, node, "init must name exactly one kind, like {normal: {mean: 0, std: 1}} or {index: {}}");
    }
    return atoll_yaml_map(w, &init, node, target);
}

static const struct atoll_yaml_row tensor_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_name, TENSOR(name)},
    {"dtype", ATOLL_YAML_REQUIRED, read_dtype, TENSOR(dtype)},
    {"shape", ATOLL_YAML_REQUIRED, read_shape, 0},
    {"role", ATOLL_YAML_REQUIRED, read_role, TENSOR(role)},
    {"init", ATOLL_YAML_OPTIONAL, read_init, TENSOR(init)},
};
static const struct atoll_yaml_section tensor = {tensor_rows, sizeof(tensor_rows) / sizeof(*tensor_rows)};

static int read_tensor(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_tensor *t = &task_of(w)->tensors[task_of(w)->tensor_count];
    if (atoll_yaml_map(w, &tensor, node, t) || name_free(w, node, t->name))
        return -1;
    int has_init = atoll_yaml_find(node, "init") != NULL;
    if (t->role == ATOLL_ROLE_OUT && has_init)
        return atoll_yaml_fail(w, node, "tensor '%s' of role out has an init; remove it", t->name);
    if (t->role != ATOLL_ROLE_OUT && !has_init) {
        return atoll_yaml_fail(w, node, "tensor '%s' needs an init; add one like {normal: {mean: 0, std: 1}}",
                               t->name);
    }
    parse_of(w)->tensor_nodes[task_of(w)->tensor_count++] = node;
    return 0;
}

static int read_tensors(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_TENSOR_LIMIT, "tensors", read_tensor, NULL);
}

/* ---- variants: the shapes a task is checked and measured at ---- */

static int variant_kind(const char *name, enum atoll_variant_kind *ret)
{
    static const char *const kinds[] = {"check", "bench", "hidden"};
    for (unsigned i = 0; i < 3; i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(name, kinds[i], n) != 0)
            continue;
        size_t rest = strlen(name + n);
        if (rest == 0 || (name[n] == '.' && rest > 1 && rest <= ATOLL_NAME_LIMIT - 6 &&
                          strspn(name + n + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") == rest - 1)) {
            *ret = (enum atoll_variant_kind)i;
            return 0;
        }
    }
    return -1;
}

static int read_backend(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"cpu", "cuda", "opencl"};
    const char *text = atoll_yaml_scalar(node);
    for (size_t i = 0; text && i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(const char **)target = names[i];
            return 0;
        }
    }
    return atoll_yaml_fail(w, node, "unknown backend '%.32s'; known: cpu, cuda, opencl", text ? text : "");
}

/* One pair of a variant: a dim, the weight or the backend. */
static int read_variant_pair(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_variant *v = target;
    const struct atoll_task *task = task_of(w);
    const char *name = atoll_yaml_key(node), *text = atoll_yaml_scalar(node);
    size_t i = 0;
    if (strcmp(name, "weight") == 0) {
        return v->kind == ATOLL_VARIANT_BENCH
                   ? atoll_yaml_read_positive(w, node, &v->weight)
                   : atoll_yaml_fail_key(w, node, "only bench variants have a weight; remove it");
    }
    if (strcmp(name, "backend") == 0)
        return read_backend(w, node, &v->backend);
    while (i < task->dim_count && strcmp(task->dims[i], name) != 0)
        i++;
    if (i == task->dim_count) {
        const char *near = atoll_spelling_nearest(name, task->dims, task->dim_count);
        return atoll_yaml_fail_key(w, node, "unknown key '%.40s' in a variant; %s%s", name,
                                   near ? "did you mean " : "it holds dims, weight and backend",
                                   near ? near : "");
    }
    if (!text || parse_integer(text, &v->dims[i]) || v->dims[i] < 1 || v->dims[i] > ATOLL_DIM_MAX)
        return atoll_yaml_fail(w, node, "dim '%s' must be an integer of at least 1 and at most 2^40", name);
    return 0;
}

static int read_variant(struct atoll_yaml_walk *w, const struct atoll_yaml_node *map, void *target)
{
    struct atoll_task *task = task_of(w);
    struct atoll_variant *v = &task->variants[task->variant_count];
    const char *name = atoll_yaml_key(map);
    if (variant_kind(name, &v->kind)) {
        return atoll_yaml_fail_key(
            w, map,
            "variant '%.40s' must be check, bench or hidden, with a suffix if wanted, like bench.large",
            name);
    }
    v->weight = 1;
    if (copy(w, name, &v->name) ||
        atoll_yaml_pairs(w, map, ATOLL_TASK_DIM_LIMIT + 2, "dims", read_variant_pair, v)) {
        return -1;
    }
    for (size_t i = 0; i < task->dim_count; i++) {
        if (!v->dims[i]) {
            return atoll_yaml_fail_key(w, map, "variant '%s' gives no value for dim '%s'; add it", name,
                                       task->dims[i]);
        }
    }
    task->variant_count++;
    return 0;
}

static int read_variants(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_pairs(w, node, ATOLL_TASK_VARIANT_LIMIT, "variants", read_variant, NULL);
}

/* ---- baselines, and every other file of seeds/ ---- */

static const char *language_of(const char *path)
{
    static const char *const known[][2] = {{".c", "c"}, {".cu", "cuda"}, {".cl", "opencl"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < 3; i++)
        if (strcmp(dot, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

static int add_seed(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *name,
                    const char *path, int is_baseline)
{
    struct atoll_task *task = task_of(w);
    const char *language = language_of(path);
    if (!language) {
        return atoll_yaml_fail(
            w, node, "'%.80s': seeds and baselines end in .c, .cu or .cl; rename or remove it", path);
    }
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].name, name) == 0 && strcmp(task->seeds[i].language, language) == 0)
            return atoll_yaml_fail(w, node, "two %s seeds are called '%s'; rename one", language, name);
    if (task->seed_count == ATOLL_TASK_SEED_LIMIT) {
        return atoll_yaml_fail(w, node, "more than %d baselines and seeds; remove some",
                               ATOLL_TASK_SEED_LIMIT);
    }
    const char *source = take(w, node, path, ATOLL_SOURCE_LIMIT);
    if (!source)
        return -1;
    task->seeds[task->seed_count++] = (struct atoll_seed){name, language, source, is_baseline};
    return 0;
}

struct baseline {
    const char *name, *file;
};

static const struct atoll_yaml_row baseline_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_name, offsetof(struct baseline, name)},
    {"file", ATOLL_YAML_REQUIRED, read_path, offsetof(struct baseline, file)},
};
static const struct atoll_yaml_section baseline = {baseline_rows,
                                                   sizeof(baseline_rows) / sizeof(*baseline_rows)};

static int read_baseline(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct baseline b = {NULL, NULL};
    if (atoll_yaml_map(w, &baseline, node, &b))
        return -1;
    return add_seed(w, node, b.name, b.file, 1);
}

static int read_baselines(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_SEED_LIMIT, "baselines", read_baseline, NULL);
}

static int add_seeds(struct atoll_yaml_walk *w, const struct atoll_yaml_node *root)
{
    const struct atoll_task_store *store = parse_of(w)->store;
    const struct atoll_task_owner *owner = parse_of(w)->owner;
    for (size_t i = 0; i < store->seed_count; i++) {
        const char *path = store->seeds[i], *base = strrchr(path, '/');
        size_t taken = 0;
        base = base ? base + 1 : path;
        while (taken < owner->text_count && strcmp(owner->texts[taken].path, path) != 0)
            taken++;
        if (taken < owner->text_count) /* a baseline, or the reference */
            continue;
        const char *name = atoll_arena_text(w->arena, base, strcspn(base, "."), w->err);
        if (!name || add_seed(w, root, name, path, 0))
            return -1;
    }
    return 0;
}

/* ---- the whole ---- */

static int read_task_name(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *text = atoll_yaml_scalar(node);
    if (!text || text[0] < 'a' || text[0] > 'z' || strspn(text, letters) != strlen(text) ||
        strlen(text) > TASK_NAME_LIMIT) {
        return atoll_yaml_fail(
            w, node, "name '%.80s' must match [a-z][a-z0-9_]* with at most %d characters; rename the task",
            text ? text : "", TASK_NAME_LIMIT);
    }
    return copy(w, text, target);
}

static int read_summary(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > SUMMARY_LIMIT) {
        return atoll_yaml_fail(w, node, "summary must be one text of 1 to %d characters; shorten it",
                               SUMMARY_LIMIT);
    }
    return copy(w, text, target);
}

static int read_reference_file(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *path = atoll_yaml_scalar(node), *name = NULL;
    if (!path)
        return atoll_yaml_fail(w, node, "a file name is expected here, like reference.c");
    if (copy(w, path, &name))
        return -1;
    task_of(w)->reference_source = take(w, node, name, ATOLL_TASK_FILE_LIMIT);
    return task_of(w)->reference_source ? 0 : -1;
}

static const struct atoll_yaml_row reference_rows[] = {
    {"file", ATOLL_YAML_REQUIRED, read_reference_file, 0},
    {"units", ATOLL_YAML_REQUIRED, read_expression, TASK(units)},
    {"scratch", ATOLL_YAML_OPTIONAL, read_expression, TASK(scratch)},
};
static const struct atoll_yaml_section reference = {reference_rows,
                                                    sizeof(reference_rows) / sizeof(*reference_rows)};

static int read_reference(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    parse_of(w)->reference_node = node;
    return atoll_yaml_map(w, &reference, node, task_of(w));
}

static const struct atoll_yaml_row work_rows[] = {
    {"flops", ATOLL_YAML_REQUIRED, read_expression, TASK(flops)},
    {"matrix_flops", ATOLL_YAML_OPTIONAL, read_expression, TASK(matrix_flops)},
    {"reads", ATOLL_YAML_OPTIONAL, read_expression, TASK(reads)},
    {"writes", ATOLL_YAML_OPTIONAL, read_expression, TASK(writes)},
};
static const struct atoll_yaml_section work = {work_rows, sizeof(work_rows) / sizeof(*work_rows)};

static int read_work(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    parse_of(w)->work_node = node;
    return atoll_yaml_map(w, &work, node, task_of(w));
}

static const struct atoll_yaml_row tolerance_rows[] = {
    {"rtol", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, TOL(rtol)},
    {"atol", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, TOL(atol)},
    {"norm", ATOLL_YAML_OPTIONAL, atoll_yaml_read_positive, TOL(norm)},
    {"cosine", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, TOL(cosine)},
    {"wrong_share", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, TOL(wrong_share)},
};
static const struct atoll_yaml_section tolerance = {tolerance_rows,
                                                    sizeof(tolerance_rows) / sizeof(*tolerance_rows)};

static int read_tolerance(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_tolerance *t = target;
    if (atoll_yaml_map(w, &tolerance, node, t))
        return -1;
    if (t->rtol > 0 || t->atol > 0 || t->norm > 0 || t->cosine > 0 || atoll_yaml_find(node, "rtol"))
        return 0;
    return atoll_yaml_fail(
        w, node, "tolerance states no bound; give rtol and atol, norm or cosine (rtol: 0 means exact)");
}

static int read_precision(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    enum atoll_dtype dtype;
    unsigned *bits = target;
    const char *text = atoll_yaml_scalar(node);
    if (text && strcmp(text, "tf32") == 0) {
        *bits |= 1u << ATOLL_DTYPE_COUNT;
    } else if (text && strcmp(text, "f8") == 0) {
        *bits |= 1u << ATOLL_F8E4M3 | 1u << ATOLL_F8E5M2;
    } else if (text && !atoll_dtype_parse(text, &dtype)) {
        *bits |= 1u << dtype;
    } else {
        return atoll_yaml_fail(w, node, "unknown precision '%.32s'; known: tf32, f8, %s", text ? text : "",
                               atoll_dtype_names());
    }
    return 0;
}

static int read_precisions(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_DTYPE_COUNT + 2, "precisions", read_precision, target);
}

static int read_distribution(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[] = {"base", "scaled", "ties", "sparse", "signed"};
    const char *text = atoll_yaml_scalar(node);
    for (unsigned i = 0; text && i < 5; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(unsigned *)target |= 1u << i;
            return 0;
        }
    }
    return atoll_yaml_fail(w, node, "unknown distribution '%.32s'; known: base, scaled, ties, sparse, signed",
                           text ? text : "");
}

static int read_distributions(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    parse_of(w)->distribution_node = node;
    return atoll_yaml_list(w, node, 5, "distributions", read_distribution, target);
}

static const struct atoll_yaml_row task_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"name", ATOLL_YAML_REQUIRED, read_task_name, TASK(name)},
    {"summary", ATOLL_YAML_REQUIRED, read_summary, TASK(summary)},
    {"dims", ATOLL_YAML_REQUIRED, read_dims, 0},
    {"tensors", ATOLL_YAML_REQUIRED, read_tensors, 0},
    {"reference", ATOLL_YAML_REQUIRED, read_reference, 0},
    {"work", ATOLL_YAML_REQUIRED, read_work, 0},
    {"precisions", ATOLL_YAML_OPTIONAL, read_precisions, TASK(precisions)},
    {"precisions_strict", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, TASK(precisions_strict)},
    {"tolerance", ATOLL_YAML_REQUIRED, read_tolerance, TASK(tolerance)},
    {"distributions", ATOLL_YAML_OPTIONAL, read_distributions, TASK(distributions)},
    {"allow_mutable_globals", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, TASK(allow_mutable_globals)},
    {"variants", ATOLL_YAML_REQUIRED, read_variants, 0},
    {"baselines", ATOLL_YAML_OPTIONAL, read_baselines, 0},
};
static const struct atoll_yaml_section task_section = {task_rows, sizeof(task_rows) / sizeof(*task_rows)};

static int identify(struct atoll_task_parse *p)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4 * ATOLL_TASK_FILE_LIMIT);
    atoll_buffer_put_text(&b, p->owner->yaml);
    atoll_buffer_put_text(&b, p->task->reference_source);
    int rc = atoll_buffer_check(&b, p->walk.err);
    if (!rc)
        p->task->id = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
    return rc;
}

int atoll_task_parse(struct atoll_task_owner *owner, const char *file, const char *yaml,
                     const struct atoll_task_store *store, struct atoll_err *err)
{
    struct atoll_yaml *tree = atoll_yaml_parse(file, yaml, strlen(yaml), err);
    if (!tree)
        return -1;
    struct atoll_task_parse p = {.walk = {.yaml = tree, .arena = owner->arena, .err = err},
                                 .owner = owner,
                                 .task = &owner->task,
                                 .store = store};
    const struct atoll_yaml_node *root = atoll_yaml_root(tree);
    p.walk.owner = &p;
    owner->yaml = yaml;
    owner->task.file = file;
    int rc = atoll_yaml_map(&p.walk, &task_section, root, p.task) || add_seeds(&p.walk, root) ||
                     atoll_task_check(&p, root) || identify(&p)
                 ? -1
                 : 0;
    atoll_yaml_destroy(tree);
    return rc;
}
