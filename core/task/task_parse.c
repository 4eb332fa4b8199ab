/* task_parse.c - task.yaml into struct atoll_task: the tables say which key may stand where and who reads it.
 * Every failure names file, line and remedy. */
#include "core/task/task_parse.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/spelling.h"

#define TASK_NAME_LIMIT    63
#define SUMMARY_LIMIT      500
#define INSTRUCTIONS_LIMIT 4000
#define DEFINITIONS_LIMIT  1000
#define ORIGIN_LIMIT       255
#define UNSEEDED_LIMIT     400

#define TASK(m) offsetof(struct atoll_task, m)
#define TOL(m)  offsetof(struct atoll_tolerance, m)

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
    const struct atoll_task *task = atoll_task_of(w);
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
    if (!text || atoll_task_parse_integer(text, &v->dims[i]) || v->dims[i] < 1 || v->dims[i] > ATOLL_DIM_MAX)
        return atoll_yaml_fail(w, node, "dim '%s' must be an integer of at least 1 and at most 2^40", name);
    return 0;
}

static int read_variant(struct atoll_yaml_walk *w, const struct atoll_yaml_node *map, void *target)
{
    struct atoll_task *task = atoll_task_of(w);
    struct atoll_variant *v = &task->variants[task->variant_count];
    const char *name = atoll_yaml_key(map);
    if (variant_kind(name, &v->kind)) {
        return atoll_yaml_fail_key(
            w, map,
            "variant '%.40s' must be check, bench or hidden, with a suffix if wanted, like bench.large",
            name);
    }
    v->weight = 1;
    if (atoll_task_copy(w, name, &v->name) ||
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
    return atoll_task_copy(w, text, target);
}

static int read_summary(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > SUMMARY_LIMIT) {
        return atoll_yaml_fail(w, node, "summary must be one text of 1 to %d characters; shorten it",
                               SUMMARY_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}

/* One line: what it is put into keeps its line numbers. */
static int read_definitions(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > DEFINITIONS_LIMIT || strpbrk(text, "#\n\r\\")) {
        return atoll_yaml_fail(
            w, node,
            "definitions must be one line of at most %d characters without # and backslash, like "
            "\"typedef double real;\"",
            DEFINITIONS_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}

/* An expression, or the word unknown, which leaves NULL. */
static int read_flops(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    return text && strcmp(text, "unknown") == 0 ? 0 : atoll_task_read_expression(w, node, target);
}

static const struct atoll_yaml_row work_rows[] = {
    {"flops", ATOLL_YAML_REQUIRED, read_flops, TASK(flops)},
    {"matrix_flops", ATOLL_YAML_OPTIONAL, atoll_task_read_expression, TASK(matrix_flops)},
    {"reads", ATOLL_YAML_OPTIONAL, atoll_task_read_expression, TASK(reads)},
    {"writes", ATOLL_YAML_OPTIONAL, atoll_task_read_expression, TASK(writes)},
};
static const struct atoll_yaml_section work = {work_rows, sizeof(work_rows) / sizeof(*work_rows)};

static int read_work(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_task *task = atoll_task_of(w);
    atoll_task_parse_of(w)->work_node = node;
    if (atoll_yaml_map(w, &work, node, task) != 0)
        return -1;
    return task->flops || !task->matrix_flops
               ? 0
               : atoll_yaml_fail(w, node, "where flops are unknown, matrix_flops cannot be told");
}

static int read_origin_text(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (text && strlen(text) > ORIGIN_LIMIT)
        return atoll_yaml_fail(w, node, "at most %d characters may stand here; shorten it", ORIGIN_LIMIT);
    return atoll_yaml_read_text(w, node, target);
}

static int read_tolerance_from(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return read_origin_text(w, node, &atoll_task_of(w)->tolerance_from);
}

static const struct atoll_yaml_row tolerance_rows[] = {
    {"rtol", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, TOL(rtol)},
    {"atol", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, TOL(atol)},
    {"norm", ATOLL_YAML_OPTIONAL, atoll_yaml_read_positive, TOL(norm)},
    {"cosine", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, TOL(cosine)},
    {"wrong_share", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, TOL(wrong_share)},
    {"from", ATOLL_YAML_OPTIONAL, read_tolerance_from, 0},
};
static const struct atoll_yaml_section tolerance = {tolerance_rows,
                                                    sizeof(tolerance_rows) / sizeof(*tolerance_rows)};

static int read_tolerance(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_tolerance *t = target;
    if (atoll_yaml_map(w, &tolerance, node, t))
        return -1;
    atoll_task_of(w)->has_tolerance = 1;
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
    atoll_task_parse_of(w)->distribution_node = node;
    return atoll_yaml_list(w, node, 5, "distributions", read_distribution, target);
}

/* ---- what people sort tasks by, and say of them ---- */

static int read_label(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const char *text = atoll_yaml_scalar(node);
    if (!text || text[0] < 'a' || text[0] > 'z' || strspn(text, letters) != strlen(text) ||
        strlen(text) > ATOLL_NAME_LIMIT) {
        return atoll_yaml_fail(w, node, "'%.40s' must be one word [a-z][a-z0-9_-]* of at most %d characters",
                               text ? text : "", ATOLL_NAME_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}

static int read_level(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || text[0] < '0' || text[0] > '9' || text[1])
        return atoll_yaml_fail(w, node, "level must be a number from 0 (none) to 9");
    *(unsigned *)target = (unsigned)(text[0] - '0');
    return 0;
}

static int read_tag(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_task *task = atoll_task_of(w);
    return read_label(w, node, &task->tags[task->tag_count++]);
}

static int read_tags(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(w, node, ATOLL_TASK_TAG_LIMIT, "tags", read_tag, NULL);
}

static int read_instructions(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > INSTRUCTIONS_LIMIT) {
        return atoll_yaml_fail(w, node, "instructions must be one text of 1 to %d characters; shorten it",
                               INSTRUCTIONS_LIMIT);
    }
    return atoll_task_copy(w, text, target);
}

static int read_unseeded(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > UNSEEDED_LIMIT)
        return atoll_yaml_fail(w, node, "unseeded must be one text of 1 to %d characters; shorten it",
                               UNSEEDED_LIMIT);
    return atoll_task_copy(w, text, target);
}

static int read_hash(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > 128 || strspn(text, "0123456789abcdef") != strlen(text))
        return atoll_yaml_fail(w, node, "hash must be a BLAKE2b in hexadecimal, small letters");
    return atoll_task_copy(w, text, target);
}

static const struct atoll_yaml_row origin_rows[] = {
    {"suite", ATOLL_YAML_REQUIRED, read_origin_text, offsetof(struct atoll_task_origin, suite)},
    {"problem", ATOLL_YAML_OPTIONAL, read_origin_text, offsetof(struct atoll_task_origin, problem)},
    {"hash", ATOLL_YAML_OPTIONAL, read_hash, offsetof(struct atoll_task_origin, hash)},
};
static const struct atoll_yaml_section origin = {origin_rows, sizeof(origin_rows) / sizeof(*origin_rows)};

static int read_origin(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_map(w, &origin, node, target);
}

static const struct atoll_yaml_row task_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"name", ATOLL_YAML_REQUIRED, read_task_name, TASK(name)},
    {"summary", ATOLL_YAML_REQUIRED, read_summary, TASK(summary)},
    {"dims", ATOLL_YAML_REQUIRED, atoll_task_read_dims, 0},
    {"tensors", ATOLL_YAML_REQUIRED, atoll_task_read_tensors, 0},
    {"reference", ATOLL_YAML_REQUIRED, atoll_task_read_reference, 0},
    {"work", ATOLL_YAML_REQUIRED, read_work, 0},
    {"precisions", ATOLL_YAML_OPTIONAL, read_precisions, TASK(precisions)},
    {"precisions_strict", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, TASK(precisions_strict)},
    {"tolerance", ATOLL_YAML_OPTIONAL, read_tolerance, TASK(tolerance)},
    {"distributions", ATOLL_YAML_OPTIONAL, read_distributions, TASK(distributions)},
    {"allow_mutable_globals", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, TASK(allow_mutable_globals)},
    {"variants", ATOLL_YAML_REQUIRED, read_variants, 0},
    {"definitions", ATOLL_YAML_OPTIONAL, read_definitions, TASK(definitions)},
    {"baselines", ATOLL_YAML_OPTIONAL, atoll_task_read_baselines, 0},
    {"category", ATOLL_YAML_OPTIONAL, read_label, TASK(category)},
    {"level", ATOLL_YAML_OPTIONAL, read_level, TASK(level)},
    {"tags", ATOLL_YAML_OPTIONAL, read_tags, 0},
    {"instructions", ATOLL_YAML_OPTIONAL, read_instructions, TASK(instructions)},
    {"unseeded", ATOLL_YAML_OPTIONAL, read_unseeded, TASK(unseeded)},
    {"source", ATOLL_YAML_OPTIONAL, read_origin, TASK(origin)},
};
static const struct atoll_yaml_section task_section = {task_rows, sizeof(task_rows) / sizeof(*task_rows)};

/* PyTorch's own error says it where PyTorch defines the task, but only once: what follows is written down. */
static int check_tolerance(struct atoll_task_parse *p, const struct atoll_yaml_node *root)
{
    if (p->task->has_tolerance || (p->task->torch && p->owner->is_draft))
        return 0;
    if (!p->task->torch)
        return atoll_yaml_fail(&p->walk, root, "key 'tolerance' is missing here; add it");
    return atoll_yaml_fail(&p->walk, root,
                           "key 'tolerance' is missing here; add it, or let `atoll task check` measure what "
                           "PyTorch's own answer is off and write it down");
}

static int identify(struct atoll_task_parse *p)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4 * ATOLL_TASK_FILE_LIMIT);
    atoll_buffer_put_text(&b, p->owner->yaml);
    atoll_buffer_put_text(&b, p->task->torch ? p->task->torch->source : p->task->reference_source);
    if (p->task->device_source)
        atoll_buffer_put_text(&b, p->task->device_source);
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
    int rc = atoll_yaml_map(&p.walk, &task_section, root, p.task) || atoll_task_add_seeds(&p.walk) ||
                     atoll_task_settle_rivals(&p, root) || check_tolerance(&p, root) ||
                     atoll_task_check(&p, root) || identify(&p)
                 ? -1
                 : 0;
    atoll_yaml_destroy(tree);
    return rc;
}
