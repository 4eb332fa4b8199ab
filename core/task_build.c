/* task_build.c - task.yaml into struct atoll_task.  One table of rows says which key may stand where and who
 * reads it; a map is read in the table's order, so that what later keys refer to (dims) is known.  Every
 * failure names file, line and remedy.  libyaml is used through its document tree alone. */
#include "core/task_build.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/arena.h"
#include "core/buffer.h"
#include "core/plan.h"
#include "core/spelling.h"

#define NAME_LIMIT      31
#define TASK_NAME_LIMIT 63
#define SUMMARY_LIMIT   500
#define KEY_LIMIT       64 /* pairs of one map */
#define DIM_MAX         ((int64_t)1 << 40)
#define RAGGED_MAX      ((int64_t)1 << 31)
#define SCRATCH_MAX     ((int64_t)1 << 24)

struct loader {
    struct atoll_task_owner *owner;
    struct atoll_task *task;
    struct atoll_arena *arena;
    yaml_document_t *document;
    const struct atoll_task_store *store;
    const yaml_node_t *variant_nodes[ATOLL_TASK_VARIANT_LIMIT], *tensor_nodes[ATOLL_TASK_TENSOR_LIMIT];
    const yaml_node_t *work_node, *reference_node, *distribution_node;
    struct atoll_err *err;
};

enum section {
    AT_ROOT,
    AT_TENSOR,
    AT_REFERENCE,
    AT_WORK,
    AT_TOLERANCE,
    AT_BASELINE,
    AT_INIT,
    AT_NORMAL,
    AT_UNIFORM,
    AT_INTEGER,
    AT_INDEX,
    AT_PERMUTATION,
    AT_RAGGED
};

struct row {
    enum section section;
    const char *key;
    int required;
    int (*read)(struct loader *l, const yaml_node_t *node, void *target);
    size_t offset; /* of what is read inside the section's target */
};

static int fail(struct loader *l, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct loader *l, const yaml_node_t *node, const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return atoll_err_set(l->err, ATOLL_E_INPUT, "%s:%zu: %s", l->task->file, node->start_mark.line + 1, text);
}

/* Passes an error of another part on under the node's place. */
static int fail_from(struct loader *l, const yaml_node_t *node, const struct atoll_err *inner,
                     const char *what)
{
    const char *colon = what[0] ? ": " : "";
    return atoll_err_set(l->err, inner->code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_INPUT,
                         "%s:%zu: %s%s%s", l->task->file, node->start_mark.line + 1, what, colon,
                         inner->text);
}

static const yaml_node_t *node_at(struct loader *l, int index)
{
    return yaml_document_get_node(l->document, index);
}

/* Text of a scalar; NULL when the node is none, is empty or holds a NUL. */
static const char *scalar(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length && text[0] ? text : NULL;
}

static int is_name(const char *text, size_t limit)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strlen(text);
    return length > 0 && length <= limit && strspn(text, letters) == length &&
           strchr(letters, text[0]) < letters + 53;
}

static int copy_text(struct loader *l, const char *text, const char **ret)
{
    *ret = atoll_arena_text(l->arena, text, strlen(text), l->err);
    return *ret ? 0 : -1;
}

/* ---- maps ---- */

static const struct row rows[];
static const size_t row_count;

static size_t section_keys(enum section section, const char **ret_keys)
{
    size_t n = 0;
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].section == section)
            ret_keys[n++] = rows[i].key;
    return n;
}

static int unknown_key(struct loader *l, enum section section, const yaml_node_t *key, const char *text)
{
    const char *keys[KEY_LIMIT];
    char list[512] = "";
    size_t n = section_keys(section, keys), used = 0;
    const char *near = atoll_spelling_nearest(text, keys, n);
    if (near)
        return fail(l, key, "unknown key '%.64s'; did you mean '%s'?", text, near);
    for (size_t i = 0; i < n && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", keys[i]);
    return fail(l, key, "unknown key '%.64s'; known here: %s", text, n ? list : "none");
}

static int check_keys(struct loader *l, enum section section, const yaml_node_t *map)
{
    const char *keys[KEY_LIMIT];
    int seen[KEY_LIMIT] = {0};
    size_t n = section_keys(section, keys);
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (; pair < end; pair++) {
        const yaml_node_t *key = node_at(l, pair->key);
        const char *text = scalar(key);
        size_t i = 0;
        if (!text)
            return fail(l, key, "a key must be a word; write 'key: value'");
        while (i < n && strcmp(keys[i], text) != 0)
            i++;
        if (i == n)
            return unknown_key(l, section, key, text);
        if (seen[i]++)
            return fail(l, key, "key '%s' stands here twice; remove one", text);
    }
    return 0;
}

static const yaml_node_t *find_value(struct loader *l, const yaml_node_t *map, const char *key)
{
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (; pair < end; pair++)
        if (strcmp(scalar(node_at(l, pair->key)), key) == 0)
            return node_at(l, pair->value);
    return NULL;
}

static int read_map(struct loader *l, enum section section, const yaml_node_t *map, void *target)
{
    if (map->type != YAML_MAPPING_NODE)
        return fail(l, map, "a map is expected here; write {key: value, ...}");
    if (check_keys(l, section, map))
        return -1;
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].section != section)
            continue;
        const yaml_node_t *value = find_value(l, map, rows[i].key);
        if (!value && rows[i].required)
            return fail(l, map, "key '%s' is missing here; add it", rows[i].key);
        if (value && rows[i].read(l, value, (char *)target + rows[i].offset))
            return -1;
    }
    return 0;
}

/* Calls item for every element of a list of at most limit. */
static int read_list(struct loader *l, const yaml_node_t *list, size_t limit, const char *what,
                     int (*item)(struct loader *l, const yaml_node_t *node, void *target), void *target)
{
    if (list->type != YAML_SEQUENCE_NODE)
        return fail(l, list, "a list of %s is expected here; write [a, b]", what);
    const yaml_node_item_t *i = list->data.sequence.items.start, *end = list->data.sequence.items.top;
    if ((size_t)(end - i) > limit)
        return fail(l, list, "%zu %s, at most %zu are allowed; remove some", (size_t)(end - i), what, limit);
    for (; i < end; i++)
        if (item(l, node_at(l, *i), target))
            return -1;
    return 0;
}

/* ---- scalars ---- */

static int read_version(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    if (!text || strcmp(text, "1") != 0)
        return fail(l, node, "version '%.32s' is not known; this program reads version 1", text ? text : "");
    return 0;
}

static int read_task_name(struct loader *l, const yaml_node_t *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *text = scalar(node);
    if (!text || text[0] < 'a' || text[0] > 'z' || strspn(text, letters) != strlen(text) ||
        strlen(text) > TASK_NAME_LIMIT)
        return fail(l, node,
                    "name '%.80s' must match [a-z][a-z0-9_]* with at most %d characters; rename the task",
                    text ? text : "", TASK_NAME_LIMIT);
    return copy_text(l, text, target);
}

static int read_summary(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    if (!text || strlen(text) > SUMMARY_LIMIT)
        return fail(l, node, "summary must be one text of 1 to %d characters; shorten it", SUMMARY_LIMIT);
    return copy_text(l, text, target);
}

static int read_flag(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    if (!text || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0))
        return fail(l, node, "'%.32s' is neither true nor false; write one of them", text ? text : "");
    *(int *)target = text[0] == 't';
    return 0;
}

static int read_number(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (!text || *end || !isfinite(value) || strspn(text, "0123456789+-.eE") != strlen(text))
        return fail(l, node, "'%.40s' is not a finite number; write one like 1.0e-4", text ? text : "");
    *(double *)target = value;
    return 0;
}

static int read_positive(struct loader *l, const yaml_node_t *node, void *target)
{
    if (read_number(l, node, target))
        return -1;
    return *(double *)target > 0 ? 0 : fail(l, node, "'%s' must be greater than 0", scalar(node));
}

static int read_nonnegative(struct loader *l, const yaml_node_t *node, void *target)
{
    if (read_number(l, node, target))
        return -1;
    return *(double *)target >= 0 ? 0 : fail(l, node, "'%s' must not be negative", scalar(node));
}

static int read_share(struct loader *l, const yaml_node_t *node, void *target)
{
    if (read_nonnegative(l, node, target))
        return -1;
    return *(double *)target <= 1 ? 0 : fail(l, node, "'%s' must lie between 0 and 1", scalar(node));
}

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

static int read_integer_number(struct loader *l, const yaml_node_t *node, void *target)
{
    int64_t value = 0;
    const char *text = scalar(node);
    if (!text || parse_integer(text, &value) || value > DIM_MAX || value < -DIM_MAX)
        return fail(l, node, "'%.40s' is not an integer between -2^40 and 2^40", text ? text : "");
    *(double *)target = (double)value;
    return 0;
}

static int known_dim(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->dim_count; i++)
        if (strcmp(task->dims[i], name) == 0)
            return 1;
    return 0;
}

static int read_expression(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text = scalar(node);
    if (!text)
        return fail(l, node, "an expression over dims is expected here, like \"cdiv(N, 4)\"");
    const struct atoll_expression *e = atoll_expression_parse(l->arena, text, &inner);
    if (!e)
        return fail_from(l, node, &inner, "");
    for (size_t i = 0; i < atoll_expression_name_count(e); i++) {
        const char *name = atoll_expression_name(e, i);
        const char *near = atoll_spelling_nearest(name, l->task->dims, l->task->dim_count);
        if (known_dim(l->task, name))
            continue;
        if (near)
            return fail(l, node, "unknown name '%s' in '%.80s'; did you mean '%s'?", name, text, near);
        return fail(l, node, "unknown name '%s' in '%.80s'; use names listed in dims", name, text);
    }
    *(const struct atoll_expression **)target = e;
    return 0;
}

/* ---- dims and tensors ---- */

static int name_free(struct loader *l, const yaml_node_t *node, const char *name)
{
    static const char *const reserved[] = {"min", "max", "cdiv", "ilog2", "weight", "backend", "tensormap"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(name, reserved[i]) == 0)
            return fail(l, node, "name '%s' is reserved; take another", name);
    if (known_dim(l->task, name) || atoll_task_find_tensor(l->task, name) >= 0)
        return fail(l, node, "name '%s' is used twice among dims and tensors; rename one", name);
    return 0;
}

static int read_name(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    if (!text || !is_name(text, NAME_LIMIT))
        return fail(l, node, "name '%.40s' must match [A-Za-z_][A-Za-z0-9_]* with at most %d characters",
                    text ? text : "", NAME_LIMIT);
    return copy_text(l, text, target);
}

static int read_dim(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *name = NULL;
    if (read_name(l, node, &name) || name_free(l, node, name))
        return -1;
    l->task->dims[l->task->dim_count++] = name;
    return 0;
}

static int read_dims(struct loader *l, const yaml_node_t *node, void *target)
{
    return read_list(l, node, ATOLL_TASK_DIM_LIMIT, "dims", read_dim, NULL);
}

static int read_dtype(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    if (!text || atoll_dtype_parse(text, target))
        return fail(l, node, "unknown dtype '%.32s'; known: %s", text ? text : "", atoll_dtype_names());
    return 0;
}

static int read_role(struct loader *l, const yaml_node_t *node, void *target)
{
    static const char *const names[] = {"in", "out", "inout", "constant"};
    const char *text = scalar(node);
    for (unsigned i = 0; text && i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(enum atoll_role *)target = (enum atoll_role)i;
            return 0;
        }
    }
    return fail(l, node, "unknown role '%.32s'; known: in, out, inout, constant", text ? text : "");
}

static int read_extent(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_tensor *t = target;
    return read_expression(l, node, (void *)&t->shape[t->rank++]);
}

static int read_shape(struct loader *l, const yaml_node_t *node, void *target)
{
    return read_list(l, node, ATOLL_TASK_RANK_LIMIT, "extents", read_extent, target);
}

static int read_tensor(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_tensor *t = &l->task->tensors[l->task->tensor_count];
    if (read_map(l, AT_TENSOR, node, t) || name_free(l, node, t->name))
        return -1;
    int has_init = find_value(l, node, "init") != NULL;
    if (t->role == ATOLL_ROLE_OUT && has_init)
        return fail(l, node, "tensor '%s' of role out has an init; remove it", t->name);
    if (t->role != ATOLL_ROLE_OUT && !has_init)
        return fail(l, node, "tensor '%s' needs an init; add one like {normal: {mean: 0, std: 1}}", t->name);
    l->tensor_nodes[l->task->tensor_count++] = node;
    return 0;
}

static int read_tensors(struct loader *l, const yaml_node_t *node, void *target)
{
    return read_list(l, node, ATOLL_TASK_TENSOR_LIMIT, "tensors", read_tensor, NULL);
}

/* ---- inits ---- */

static int read_normal(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_NORMAL;
    init->b = 1;
    return read_map(l, AT_NORMAL, node, init);
}

static int read_uniform(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_UNIFORM;
    if (read_map(l, AT_UNIFORM, node, init))
        return -1;
    return init->a < init->b ? 0 : fail(l, node, "uniform: low must be less than high");
}

/* A literal goes to b, anything else becomes the bound. */
static int read_bound(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    const char *text = scalar(node);
    int64_t value = 0;
    if (!text || parse_integer(text, &value))
        return read_expression(l, node, (void *)&init->bound);
    return read_integer_number(l, node, &init->b);
}

static int read_integer(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_INTEGER;
    return read_map(l, AT_INTEGER, node, init);
}

static int read_index(struct loader *l, const yaml_node_t *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_INDEX;
    return read_map(l, AT_INDEX, node, target);
}

static int read_permutation(struct loader *l, const yaml_node_t *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_PERMUTATION;
    return read_map(l, AT_PERMUTATION, node, target);
}

static int read_ragged(struct loader *l, const yaml_node_t *node, void *target)
{
    ((struct atoll_init *)target)->kind = ATOLL_INIT_RAGGED;
    return read_map(l, AT_RAGGED, node, target);
}

static int read_constant(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_init *init = target;
    init->kind = ATOLL_INIT_CONSTANT;
    return read_number(l, node, &init->a);
}

static int read_init(struct loader *l, const yaml_node_t *node, void *target)
{
    if (node->type != YAML_MAPPING_NODE || node->data.mapping.pairs.top - node->data.mapping.pairs.start != 1)
        return fail(l, node,
                    "init must name exactly one kind, like {normal: {mean: 0, std: 1}} or {index: {}}");
    return read_map(l, AT_INIT, node, target);
}

/* ---- reference, work, tolerance ---- */

/* Reads a file of the task and remembers its text for encode. */
static const char *take_text(struct loader *l, const yaml_node_t *node, const char *path, size_t limit)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    struct atoll_task_owner *o = l->owner;
    if (!atoll_task_path_ok(path)) {
        fail(l, node, "path '%.80s' must stay inside the task's folder; write a plain relative path", path);
        return NULL;
    }
    for (size_t i = 0; i < o->text_count; i++)
        if (strcmp(o->texts[i].path, path) == 0)
            return o->texts[i].text;
    if (o->text_count == ATOLL_TASK_SEED_LIMIT + 1) {
        fail(l, node, "more than %d baselines and seeds; remove some", ATOLL_TASK_SEED_LIMIT);
        return NULL;
    }
    const char *text = l->store->read(l->store->context, l->arena, path, limit, &inner);
    if (!text) {
        fail_from(l, node, &inner, "");
        return NULL;
    }
    o->texts[o->text_count++] = (struct atoll_task_text){path, text};
    return text;
}

static int read_reference_file(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *path = scalar(node), *copy = NULL;
    if (!path)
        return fail(l, node, "a file name is expected here, like reference.c");
    if (copy_text(l, path, &copy))
        return -1;
    l->task->reference_source = take_text(l, node, copy, ATOLL_TASK_FILE_LIMIT);
    return l->task->reference_source ? 0 : -1;
}

static int read_reference(struct loader *l, const yaml_node_t *node, void *target)
{
    l->reference_node = node;
    return read_map(l, AT_REFERENCE, node, l->task);
}

static int read_work(struct loader *l, const yaml_node_t *node, void *target)
{
    l->work_node = node;
    return read_map(l, AT_WORK, node, l->task);
}

static int read_tolerance(struct loader *l, const yaml_node_t *node, void *target)
{
    struct atoll_tolerance *t = target;
    if (read_map(l, AT_TOLERANCE, node, t))
        return -1;
    if (t->rtol > 0 || t->atol > 0 || t->norm > 0 || t->cosine > 0 || find_value(l, node, "rtol"))
        return 0;
    return fail(l, node,
                "tolerance states no bound; give rtol and atol, norm or cosine (rtol: 0 means exact)");
}

static int read_precision(struct loader *l, const yaml_node_t *node, void *target)
{
    enum atoll_dtype dtype;
    unsigned *bits = target;
    const char *text = scalar(node);
    if (text && strcmp(text, "tf32") == 0)
        *bits |= 1u << ATOLL_DTYPE_COUNT;
    else if (text && strcmp(text, "f8") == 0)
        *bits |= 1u << ATOLL_F8E4M3 | 1u << ATOLL_F8E5M2;
    else if (text && !atoll_dtype_parse(text, &dtype))
        *bits |= 1u << dtype;
    else
        return fail(l, node, "unknown precision '%.32s'; known: tf32, f8, %s", text ? text : "",
                    atoll_dtype_names());
    return 0;
}

static int read_precisions(struct loader *l, const yaml_node_t *node, void *target)
{
    return read_list(l, node, ATOLL_DTYPE_COUNT + 2, "precisions", read_precision, target);
}

static int read_distribution(struct loader *l, const yaml_node_t *node, void *target)
{
    static const char *const names[] = {"base", "scaled", "ties", "sparse", "signed"};
    const char *text = scalar(node);
    for (unsigned i = 0; text && i < 5; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(unsigned *)target |= 1u << i;
            return 0;
        }
    }
    return fail(l, node, "unknown distribution '%.32s'; known: base, scaled, ties, sparse, signed",
                text ? text : "");
}

static int read_distributions(struct loader *l, const yaml_node_t *node, void *target)
{
    l->distribution_node = node;
    return read_list(l, node, 5, "distributions", read_distribution, target);
}

/* ---- variants ---- */

static int variant_kind(const char *name, enum atoll_variant_kind *ret)
{
    static const char *const kinds[] = {"check", "bench", "hidden"};
    for (unsigned i = 0; i < 3; i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(name, kinds[i], n) != 0)
            continue;
        size_t rest = strlen(name + n);
        if (rest == 0 || (name[n] == '.' && rest > 1 && rest <= NAME_LIMIT - 6 &&
                          strspn(name + n + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") == rest - 1)) {
            *ret = (enum atoll_variant_kind)i;
            return 0;
        }
    }
    return -1;
}

static int read_variant_backend(struct loader *l, const yaml_node_t *node, struct atoll_variant *v)
{
    static const char *const names[] = {"cpu", "cuda", "opencl"};
    const char *text = scalar(node);
    for (size_t i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0)
            v->backend = names[i];
    return v->backend ? 0
                      : fail(l, node, "unknown backend '%.32s'; known: cpu, cuda, opencl", text ? text : "");
}

static int read_variant_dim(struct loader *l, const yaml_node_t *key, const yaml_node_t *node,
                            struct atoll_variant *v)
{
    const char *name = scalar(key), *text = scalar(node);
    size_t i = 0;
    while (i < l->task->dim_count && strcmp(l->task->dims[i], name) != 0)
        i++;
    if (i == l->task->dim_count) {
        const char *near = atoll_spelling_nearest(name, l->task->dims, l->task->dim_count);
        return fail(l, key, "unknown key '%.40s' in a variant; %s%s", name,
                    near ? "did you mean " : "it holds dims, weight and backend", near ? near : "");
    }
    if (v->dims[i])
        return fail(l, key, "dim '%s' stands in this variant twice; remove one", name);
    if (!text || parse_integer(text, &v->dims[i]) || v->dims[i] < 1 || v->dims[i] > DIM_MAX)
        return fail(l, node, "dim '%s' must be an integer of at least 1 and at most 2^40", name);
    return 0;
}

static int read_variant_pair(struct loader *l, const yaml_node_t *key, const yaml_node_t *node,
                             struct atoll_variant *v)
{
    const char *name = scalar(key);
    if (!name)
        return fail(l, key, "a key must be a word; write 'key: value'");
    if (strcmp(name, "weight") == 0)
        return v->kind == ATOLL_VARIANT_BENCH ? read_positive(l, node, &v->weight)
                                              : fail(l, key, "only bench variants have a weight; remove it");
    if (strcmp(name, "backend") == 0)
        return read_variant_backend(l, node, v);
    return read_variant_dim(l, key, node, v);
}

static int read_variant(struct loader *l, const yaml_node_t *key, const yaml_node_t *map)
{
    struct atoll_variant *v = &l->task->variants[l->task->variant_count];
    const char *name = scalar(key);
    if (!name || variant_kind(name, &v->kind))
        return fail(
            l, key,
            "variant '%.40s' must be check, bench or hidden, with a suffix if wanted, like bench.large",
            name ? name : "");
    for (size_t i = 0; i < l->task->variant_count; i++)
        if (strcmp(l->task->variants[i].name, name) == 0)
            return fail(l, key, "variant '%s' stands here twice; give one a suffix, like %s.2", name, name);
    if (map->type != YAML_MAPPING_NODE)
        return fail(l, map, "variant '%s' must be a map of dims, like {N: 1003}", name);
    v->weight = 1;
    if (copy_text(l, name, &v->name))
        return -1;
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (; pair < end; pair++)
        if (read_variant_pair(l, node_at(l, pair->key), node_at(l, pair->value), v))
            return -1;
    for (size_t i = 0; i < l->task->dim_count; i++)
        if (!v->dims[i])
            return fail(l, key, "variant '%s' gives no value for dim '%s'; add it", name, l->task->dims[i]);
    l->variant_nodes[l->task->variant_count++] = key;
    return 0;
}

static int read_variants(struct loader *l, const yaml_node_t *node, void *target)
{
    if (node->type != YAML_MAPPING_NODE)
        return fail(l, node, "variants must be a map, like {check: {N: 7}, bench: {N: 4096}}");
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start, *end = node->data.mapping.pairs.top;
    if (end - pair > ATOLL_TASK_VARIANT_LIMIT)
        return fail(l, node, "%td variants, at most %d are allowed; remove some", end - pair,
                    ATOLL_TASK_VARIANT_LIMIT);
    for (; pair < end; pair++)
        if (read_variant(l, node_at(l, pair->key), node_at(l, pair->value)))
            return -1;
    return 0;
}

/* ---- baselines and seeds ---- */

static const char *language_of(const char *path)
{
    static const char *const known[][2] = {{".c", "c"}, {".cu", "cuda"}, {".cl", "opencl"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < 3; i++)
        if (strcmp(dot, known[i][0]) == 0)
            return known[i][1];
    return NULL;
}

static int add_seed(struct loader *l, const yaml_node_t *node, const char *name, const char *path,
                    int is_baseline)
{
    struct atoll_task *task = l->task;
    const char *language = language_of(path);
    if (!language)
        return fail(l, node, "'%.80s': seeds and baselines end in .c, .cu or .cl; rename or remove it", path);
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].name, name) == 0 && strcmp(task->seeds[i].language, language) == 0)
            return fail(l, node, "two %s seeds are called '%s'; rename one", language, name);
    if (task->seed_count == ATOLL_TASK_SEED_LIMIT)
        return fail(l, node, "more than %d baselines and seeds; remove some", ATOLL_TASK_SEED_LIMIT);
    const char *source = take_text(l, node, path, ATOLL_SOURCE_LIMIT);
    if (!source)
        return -1;
    task->seeds[task->seed_count++] = (struct atoll_seed){name, language, source, is_baseline};
    return 0;
}

struct baseline {
    const char *name, *file;
};

static int read_path(struct loader *l, const yaml_node_t *node, void *target)
{
    const char *text = scalar(node);
    return text ? copy_text(l, text, target)
                : fail(l, node, "a file name is expected here, like seeds/naive.c");
}

static int read_baseline(struct loader *l, const yaml_node_t *node, void *target)
{
    struct baseline b = {NULL, NULL};
    if (read_map(l, AT_BASELINE, node, &b))
        return -1;
    return add_seed(l, node, b.name, b.file, 1);
}

static int read_baselines(struct loader *l, const yaml_node_t *node, void *target)
{
    return read_list(l, node, ATOLL_TASK_SEED_LIMIT, "baselines", read_baseline, NULL);
}

static int is_taken(const struct loader *l, const char *path)
{
    for (size_t i = 0; i < l->owner->text_count; i++)
        if (strcmp(l->owner->texts[i].path, path) == 0)
            return 1;
    return 0;
}

static int add_seeds(struct loader *l, const yaml_node_t *root)
{
    for (size_t i = 0; i < l->store->seed_count; i++) {
        const char *path = l->store->seeds[i], *base = strrchr(path, '/');
        base = base ? base + 1 : path;
        if (is_taken(l, path))
            continue;
        const char *name = atoll_arena_text(l->arena, base, strcspn(base, "."), l->err);
        if (!name || add_seed(l, root, name, path, 0))
            return -1;
    }
    return 0;
}

/* ---- the schema ---- */

#define TASK(m)   offsetof(struct atoll_task, m)
#define TENSOR(m) offsetof(struct atoll_tensor, m)
#define INIT(m)   offsetof(struct atoll_init, m)
#define TOL(m)    offsetof(struct atoll_tolerance, m)

static const struct row rows[] = {
    {AT_ROOT, "version", 1, read_version, 0},
    {AT_ROOT, "name", 1, read_task_name, TASK(name)},
    {AT_ROOT, "summary", 1, read_summary, TASK(summary)},
    {AT_ROOT, "dims", 1, read_dims, 0},
    {AT_ROOT, "tensors", 1, read_tensors, 0},
    {AT_ROOT, "reference", 1, read_reference, 0},
    {AT_ROOT, "work", 1, read_work, 0},
    {AT_ROOT, "precisions", 0, read_precisions, TASK(precisions)},
    {AT_ROOT, "tolerance", 1, read_tolerance, TASK(tolerance)},
    {AT_ROOT, "distributions", 0, read_distributions, TASK(distributions)},
    {AT_ROOT, "allow_mutable_globals", 0, read_flag, TASK(allow_mutable_globals)},
    {AT_ROOT, "variants", 1, read_variants, 0},
    {AT_ROOT, "baselines", 0, read_baselines, 0},
    {AT_TENSOR, "name", 1, read_name, TENSOR(name)},
    {AT_TENSOR, "dtype", 1, read_dtype, TENSOR(dtype)},
    {AT_TENSOR, "shape", 1, read_shape, 0},
    {AT_TENSOR, "role", 1, read_role, TENSOR(role)},
    {AT_TENSOR, "init", 0, read_init, TENSOR(init)},
    {AT_REFERENCE, "file", 1, read_reference_file, 0},
    {AT_REFERENCE, "units", 1, read_expression, TASK(units)},
    {AT_REFERENCE, "scratch", 0, read_expression, TASK(scratch)},
    {AT_WORK, "flops", 1, read_expression, TASK(flops)},
    {AT_WORK, "reads", 0, read_expression, TASK(reads)},
    {AT_WORK, "writes", 0, read_expression, TASK(writes)},
    {AT_TOLERANCE, "rtol", 0, read_nonnegative, TOL(rtol)},
    {AT_TOLERANCE, "atol", 0, read_nonnegative, TOL(atol)},
    {AT_TOLERANCE, "norm", 0, read_positive, TOL(norm)},
    {AT_TOLERANCE, "cosine", 0, read_share, TOL(cosine)},
    {AT_TOLERANCE, "wrong_share", 0, read_share, TOL(wrong_share)},
    {AT_BASELINE, "name", 1, read_name, offsetof(struct baseline, name)},
    {AT_BASELINE, "file", 1, read_path, offsetof(struct baseline, file)},
    {AT_INIT, "normal", 0, read_normal, 0},
    {AT_INIT, "uniform", 0, read_uniform, 0},
    {AT_INIT, "integer", 0, read_integer, 0},
    {AT_INIT, "index", 0, read_index, 0},
    {AT_INIT, "permutation", 0, read_permutation, 0},
    {AT_INIT, "ragged", 0, read_ragged, 0},
    {AT_INIT, "constant", 0, read_constant, 0},
    {AT_NORMAL, "mean", 0, read_number, INIT(a)},
    {AT_NORMAL, "std", 0, read_positive, INIT(b)},
    {AT_UNIFORM, "low", 1, read_number, INIT(a)},
    {AT_UNIFORM, "high", 1, read_number, INIT(b)},
    {AT_INTEGER, "low", 0, read_integer_number, INIT(a)},
    {AT_INTEGER, "high", 1, read_bound, 0},
    {AT_RAGGED, "total", 1, read_bound, 0},
};
static const size_t row_count = sizeof rows / sizeof *rows;

/* ---- what holds between keys ---- */

static int has_floats(const struct atoll_tensor *t)
{
    return t->role != ATOLL_ROLE_OUT &&
           (t->init.kind == ATOLL_INIT_NORMAL || t->init.kind == ATOLL_INIT_UNIFORM);
}

static int is_symmetric(const struct atoll_tensor *t)
{
    const struct atoll_init *i = &t->init;
    return has_floats(t) && (i->kind == ATOLL_INIT_NORMAL ? i->a == 0 : i->a == -i->b);
}

static int settle_distributions(struct loader *l)
{
    struct atoll_task *task = l->task;
    int floats = 0, symmetric = 0;
    for (size_t i = 0; i < task->tensor_count; i++) {
        floats |= has_floats(&task->tensors[i]);
        symmetric |= is_symmetric(&task->tensors[i]);
    }
    if ((task->distributions & ATOLL_DRAW_SIGNED) && !symmetric)
        return fail(l, l->distribution_node,
                    "distribution 'signed' needs an init that is symmetric about 0; remove it from the list");
    if (!l->distribution_node && floats)
        task->distributions = ATOLL_DRAW_SCALED | ATOLL_DRAW_TIES | ATOLL_DRAW_SPARSE;
    if (!l->distribution_node && symmetric)
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

static int check_shape_of_task(struct loader *l, const yaml_node_t *root)
{
    const struct atoll_task *task = l->task;
    int writes = 0, checks = 0, benches = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        writes |= task->tensors[i].role == ATOLL_ROLE_OUT || task->tensors[i].role == ATOLL_ROLE_INOUT;
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        checks |= v->kind == ATOLL_VARIANT_CHECK;
        benches |= v->kind == ATOLL_VARIANT_BENCH;
    }
    if (!writes)
        return fail(l, root, "no tensor has role out or inout; a task must compute something");
    if (!checks || !benches)
        return fail(l, root, "variants holds no %s variant; add one", checks ? "bench" : "check");
    return 0;
}

static int eval_at(struct loader *l, const struct atoll_expression *e, const struct atoll_variant *v,
                   int64_t *ret, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    return atoll_expression_eval(e, bindings, atoll_task_bindings(l->task, v, bindings), ret, err);
}

static int check_range(struct loader *l, const yaml_node_t *node, const char *what,
                       const struct atoll_expression *e, const struct atoll_variant *v, int64_t low,
                       int64_t high)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    int64_t value = 0;
    if (!e)
        return 0;
    if (eval_at(l, e, v, &value, &inner))
        return fail_from(l, node, &inner, what);
    if (value < low || value > high)
        return fail(l, node, "%s '%s' is %lld at variant '%s', must lie between %lld and %lld", what,
                    atoll_expression_text(e), (long long)value, v->name, (long long)low, (long long)high);
    return 0;
}

/* Greatest value an integer-valued init makes at a variant; 0 where that says nothing. */
static int greatest_value(struct loader *l, const struct atoll_tensor *t, const struct atoll_variant *v,
                          size_t count, int64_t *ret, struct atoll_err *err)
{
    int64_t bound = (int64_t)t->init.b, extent = 1;
    if (t->init.bound && eval_at(l, t->init.bound, v, &bound, err))
        return -1;
    if (t->rank && eval_at(l, t->shape[t->rank - 1], v, &extent, err))
        return -1;
    switch (t->init.kind) {
    case ATOLL_INIT_INTEGER: *ret = bound - 1; break;
    case ATOLL_INIT_RAGGED: *ret = bound; break;
    case ATOLL_INIT_INDEX: *ret = (int64_t)count - 1; break;
    case ATOLL_INIT_PERMUTATION: *ret = extent - 1; break;
    default: *ret = 0;
    }
    return 0;
}

static int check_init(struct loader *l, const yaml_node_t *node, const struct atoll_tensor *t,
                      const struct atoll_variant *v, size_t count)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    int64_t greatest = 0, exact = atoll_task_exact_limit(t->dtype);
    if (has_floats(t) && !atoll_dtype_is_float(t->dtype))
        return fail(l, node,
                    "tensor '%s': normal and uniform make fractions, dtype %s holds integers; use integer",
                    t->name, atoll_dtype_name(t->dtype));
    if (greatest_value(l, t, v, count, &greatest, &inner))
        return fail_from(l, node, &inner, "init");
    if (t->init.kind == ATOLL_INIT_INTEGER && greatest < (int64_t)t->init.a)
        return fail(l, node, "tensor '%s': integer init is empty at variant '%s'; low must be less than high",
                    t->name, v->name);
    if (t->init.kind == ATOLL_INIT_RAGGED &&
        (greatest < 0 || greatest > RAGGED_MAX || count > (size_t)RAGGED_MAX))
        return fail(l, node, "tensor '%s': ragged total and size must lie between 0 and 2^31 at variant '%s'",
                    t->name, v->name);
    int negative_ok = t->dtype == ATOLL_U8 ? t->init.a >= 0 : t->init.a >= -(double)exact;
    if (greatest > exact || (t->init.kind == ATOLL_INIT_INTEGER && !negative_ok))
        return fail(l, node,
                    "tensor '%s': init makes integers up to %lld at variant '%s', %s is exact to %lld only; "
                    "use a wider dtype",
                    t->name, (long long)greatest, v->name, atoll_dtype_name(t->dtype), (long long)exact);
    return 0;
}

static int check_at_variant(struct loader *l, size_t index)
{
    const struct atoll_variant *v = &l->task->variants[index];
    struct atoll_err inner = ATOLL_ERR_INIT;
    struct atoll_work work;
    for (size_t i = 0; i < l->task->tensor_count; i++) {
        const struct atoll_tensor *t = &l->task->tensors[i];
        size_t count = 0;
        if (atoll_task_element_count(l->task, i, v, &count, &inner))
            return fail_from(l, l->tensor_nodes[i], &inner, "shape");
        if (t->role != ATOLL_ROLE_OUT && check_init(l, l->tensor_nodes[i], t, v, count))
            return -1;
    }
    if (check_range(l, l->reference_node, "units", l->task->units, v, 1, DIM_MAX) ||
        check_range(l, l->reference_node, "scratch", l->task->scratch, v, 0, SCRATCH_MAX))
        return -1;
    return atoll_task_work(l->task, v, &work, &inner) ? fail_from(l, l->work_node, &inner, "work") : 0;
}

static int identify(struct loader *l)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4 * ATOLL_TASK_FILE_LIMIT);
    atoll_buffer_put_text(&b, l->owner->yaml);
    atoll_buffer_put_text(&b, l->task->reference_source);
    int rc = atoll_buffer_check(&b, l->err);
    if (!rc)
        l->task->id = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
    return rc;
}

static int build_document(struct loader *l)
{
    const yaml_node_t *root = yaml_document_get_root_node(l->document);
    if (!root)
        return atoll_err_set(l->err, ATOLL_E_INPUT, "%s:1: the file is empty; see docs/spec/task.md",
                             l->task->file);
    if (read_map(l, AT_ROOT, root, l->task) || add_seeds(l, root) || check_shape_of_task(l, root) ||
        settle_distributions(l))
        return -1;
    settle_precisions(l->task);
    for (size_t i = 0; i < l->task->variant_count; i++)
        if (check_at_variant(l, i))
            return -1;
    return identify(l);
}

static int syntax_error(struct loader *l, const yaml_parser_t *parser)
{
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_MEMORY_ERROR)
        return atoll_err_set(l->err, ATOLL_E_MEMORY, "%s: no memory for its document", l->task->file);
    return atoll_err_set(l->err, ATOLL_E_INPUT,
                         "%s:%zu: not valid YAML: %s%s%s; check indentation, quotes and brackets",
                         l->task->file, line, parser->context ? parser->context : "",
                         parser->context ? ", " : "", parser->problem ? parser->problem : "unreadable");
}

/* A second document in the stream would be ignored silently. */
static int check_single(struct loader *l, yaml_parser_t *parser)
{
    yaml_document_t more;
    if (!yaml_parser_load(parser, &more))
        return syntax_error(l, parser);
    const yaml_node_t *root = yaml_document_get_root_node(&more);
    int rc = root ? fail(l, root, "a second document starts here; keep one task per file") : 0;
    yaml_document_delete(&more);
    return rc;
}

static int parse_document(struct loader *l, const char *yaml)
{
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser))
        return atoll_err_set(l->err, ATOLL_E_MEMORY, "no memory for a YAML parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, strlen(yaml));
    int rc = -1;
    if (!yaml_parser_load(&parser, &document)) {
        syntax_error(l, &parser);
    } else {
        l->document = &document;
        rc = check_single(l, &parser) || build_document(l) ? -1 : 0;
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
    return rc;
}

int atoll_task_build(struct atoll_task_owner *owner, const char *file, const char *yaml,
                     const struct atoll_task_store *store, struct atoll_err *err)
{
    struct loader l = {
        .owner = owner, .task = &owner->task, .arena = owner->arena, .store = store, .err = err};
    owner->yaml = yaml;
    owner->task.file = file;
    return parse_document(&l, yaml);
}
