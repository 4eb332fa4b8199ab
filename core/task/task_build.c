/* task_build.c - task.yaml into struct atoll_task: the tables say which key may stand where and who reads it.
 * Every failure names file, line and remedy. */
#include "core/task/task_build.h"

#include <stddef.h>
#include <string.h>

#include "base/buffer.h"
#include "core/task/task_check.h"
#include "core/task/task_document.h"
#include "core/task/task_seed.h"
#include "core/task/task_tensor.h"
#include "core/task/task_value.h"
#include "core/task/task_variant.h"

#define TASK_NAME_LIMIT 63
#define SUMMARY_LIMIT   500

#define TASK(m) offsetof(struct atoll_task, m)
#define TOL(m)  offsetof(struct atoll_tolerance, m)

static int read_version(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    if (!text || strcmp(text, "1") != 0) {
        return atoll_document_fail(d, node, "version '%.32s' is not known; this program reads version 1",
                                   text ? text : "");
    }
    return 0;
}

static int read_task_name(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *text = atoll_document_scalar(node);
    if (!text || text[0] < 'a' || text[0] > 'z' || strspn(text, letters) != strlen(text) ||
        strlen(text) > TASK_NAME_LIMIT) {
        return atoll_document_fail(
            d, node, "name '%.80s' must match [a-z][a-z0-9_]* with at most %d characters; rename the task",
            text ? text : "", TASK_NAME_LIMIT);
    }
    return atoll_document_copy(d, text, target);
}

static int read_summary(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *text = atoll_document_scalar(node);
    if (!text || strlen(text) > SUMMARY_LIMIT) {
        return atoll_document_fail(d, node, "summary must be one text of 1 to %d characters; shorten it",
                                   SUMMARY_LIMIT);
    }
    return atoll_document_copy(d, text, target);
}

static int read_reference_file(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    const char *path = atoll_document_scalar(node), *copy = NULL;
    if (!path) {
        return atoll_document_fail(d, node, "a file name is expected here, like reference.c");
    }
    if (atoll_document_copy(d, path, &copy)) {
        return -1;
    }
    d->task->reference_source = atoll_document_take(d, node, copy, ATOLL_TASK_FILE_LIMIT);
    return d->task->reference_source ? 0 : -1;
}

static const struct atoll_document_row reference_rows[] = {
    {"file", 1, read_reference_file, 0},
    {"units", 1, atoll_value_expression, TASK(units)},
    {"scratch", 0, atoll_value_expression, TASK(scratch)},
};
static const struct atoll_document_section reference = {reference_rows,
                                                        sizeof(reference_rows) / sizeof(*reference_rows)};

static int read_reference(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    d->reference_node = node;
    return atoll_document_map(d, &reference, node, d->task);
}

static const struct atoll_document_row work_rows[] = {
    {"flops", 1, atoll_value_expression, TASK(flops)},
    {"reads", 0, atoll_value_expression, TASK(reads)},
    {"writes", 0, atoll_value_expression, TASK(writes)},
};
static const struct atoll_document_section work = {work_rows, sizeof(work_rows) / sizeof(*work_rows)};

static int read_work(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    d->work_node = node;
    return atoll_document_map(d, &work, node, d->task);
}

static const struct atoll_document_row tolerance_rows[] = {
    {"rtol", 0, atoll_value_nonnegative, TOL(rtol)},
    {"atol", 0, atoll_value_nonnegative, TOL(atol)},
    {"norm", 0, atoll_value_positive, TOL(norm)},
    {"cosine", 0, atoll_value_share, TOL(cosine)},
    {"wrong_share", 0, atoll_value_share, TOL(wrong_share)},
};
static const struct atoll_document_section tolerance = {tolerance_rows,
                                                        sizeof(tolerance_rows) / sizeof(*tolerance_rows)};

static int read_tolerance(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct atoll_tolerance *t = target;
    if (atoll_document_map(d, &tolerance, node, t)) {
        return -1;
    }
    if (t->rtol > 0 || t->atol > 0 || t->norm > 0 || t->cosine > 0 || atoll_document_find(d, node, "rtol")) {
        return 0;
    }
    return atoll_document_fail(
        d, node, "tolerance states no bound; give rtol and atol, norm or cosine (rtol: 0 means exact)");
}

static int read_precision(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    enum atoll_dtype dtype;
    unsigned *bits = target;
    const char *text = atoll_document_scalar(node);
    if (text && strcmp(text, "tf32") == 0) {
        *bits |= 1u << ATOLL_DTYPE_COUNT;
    } else if (text && strcmp(text, "f8") == 0) {
        *bits |= 1u << ATOLL_F8E4M3 | 1u << ATOLL_F8E5M2;
    } else if (text && !atoll_dtype_parse(text, &dtype)) {
        *bits |= 1u << dtype;
    } else {
        return atoll_document_fail(d, node, "unknown precision '%.32s'; known: tf32, f8, %s",
                                   text ? text : "", atoll_dtype_names());
    }
    return 0;
}

static int read_precisions(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    return atoll_document_list(d, node, ATOLL_DTYPE_COUNT + 2, "precisions", read_precision, target);
}

static int read_distribution(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    static const char *const names[] = {"base", "scaled", "ties", "sparse", "signed"};
    const char *text = atoll_document_scalar(node);
    for (unsigned i = 0; text && i < 5; i++) {
        if (strcmp(text, names[i]) == 0) {
            *(unsigned *)target |= 1u << i;
            return 0;
        }
    }
    return atoll_document_fail(
        d, node, "unknown distribution '%.32s'; known: base, scaled, ties, sparse, signed", text ? text : "");
}

static int read_distributions(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    d->distribution_node = node;
    return atoll_document_list(d, node, 5, "distributions", read_distribution, target);
}

static const struct atoll_document_row task_rows[] = {
    {"version", 1, read_version, 0},
    {"name", 1, read_task_name, TASK(name)},
    {"summary", 1, read_summary, TASK(summary)},
    {"dims", 1, atoll_task_read_dims, 0},
    {"tensors", 1, atoll_task_read_tensors, 0},
    {"reference", 1, read_reference, 0},
    {"work", 1, read_work, 0},
    {"precisions", 0, read_precisions, TASK(precisions)},
    {"tolerance", 1, read_tolerance, TASK(tolerance)},
    {"distributions", 0, read_distributions, TASK(distributions)},
    {"allow_mutable_globals", 0, atoll_value_flag, TASK(allow_mutable_globals)},
    {"variants", 1, atoll_task_read_variants, 0},
    {"baselines", 0, atoll_task_read_baselines, 0},
};
static const struct atoll_document_section task_section = {task_rows, sizeof(task_rows) / sizeof(*task_rows)};

static int identify(struct atoll_task_document *d)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4 * ATOLL_TASK_FILE_LIMIT);
    atoll_buffer_put_text(&b, d->owner->yaml);
    atoll_buffer_put_text(&b, d->task->reference_source);
    int rc = atoll_buffer_check(&b, d->err);
    if (!rc) {
        d->task->id = atoll_id_of(b.data, b.length);
    }
    atoll_buffer_fini(&b);
    return rc;
}

static int build_document(struct atoll_task_document *d)
{
    const yaml_node_t *node = yaml_document_get_root_node(&d->yaml);
    if (!node) {
        return atoll_err_set(d->err, ATOLL_E_INPUT, "%s:1: the file is empty; see docs/spec/task.md",
                             d->task->file);
    }
    if (atoll_document_map(d, &task_section, node, d->task) || atoll_task_add_seeds(d, node) ||
        atoll_task_check(d, node)) {
        return -1;
    }
    return identify(d);
}

static int syntax_error(struct atoll_task_document *d, const yaml_parser_t *parser)
{
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_MEMORY_ERROR) {
        return atoll_err_set(d->err, ATOLL_E_MEMORY, "%s: no memory for its document", d->task->file);
    }
    return atoll_err_set(d->err, ATOLL_E_INPUT,
                         "%s:%zu: not valid YAML: %s%s%s; check indentation, quotes and brackets",
                         d->task->file, line, parser->context ? parser->context : "",
                         parser->context ? ", " : "", parser->problem ? parser->problem : "unreadable");
}

/* A second document in the stream would be ignored silently. */
static int check_single(struct atoll_task_document *d, yaml_parser_t *parser)
{
    yaml_document_t more;
    if (!yaml_parser_load(parser, &more)) {
        return syntax_error(d, parser);
    }
    const yaml_node_t *root = yaml_document_get_root_node(&more);
    int rc = root ? atoll_document_fail(d, root, "a second document starts here; keep one task per file") : 0;
    yaml_document_delete(&more);
    return rc;
}

static int parse_document(struct atoll_task_document *d, const char *yaml)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return atoll_err_set(d->err, ATOLL_E_MEMORY, "no memory for a YAML parser");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, strlen(yaml));
    int rc = -1;
    if (!yaml_parser_load(&parser, &d->yaml)) {
        syntax_error(d, &parser);
    } else {
        rc = check_single(d, &parser) || build_document(d) ? -1 : 0;
        yaml_document_delete(&d->yaml);
    }
    yaml_parser_delete(&parser);
    return rc;
}

int atoll_task_build(struct atoll_task_owner *owner, const char *file, const char *yaml,
                     const struct atoll_task_store *store, struct atoll_err *err)
{
    struct atoll_task_document d = {
        .owner = owner, .task = &owner->task, .arena = owner->arena, .store = store, .err = err};
    owner->yaml = yaml;
    owner->task.file = file;
    return parse_document(&d, yaml);
}
