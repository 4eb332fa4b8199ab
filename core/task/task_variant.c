#include "core/task/task_variant.h"

#include <string.h>

#include "base/spelling.h"
#include "core/task/task_value.h"

static int variant_kind(const char *name, enum atoll_variant_kind *ret)
{
    static const char *const kinds[] = {"check", "bench", "hidden"};
    for (unsigned i = 0; i < 3; i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(name, kinds[i], n) != 0) {
            continue;
        }
        size_t rest = strlen(name + n);
        if (rest == 0 || (name[n] == '.' && rest > 1 && rest <= ATOLL_NAME_LIMIT - 6 &&
                          strspn(name + n + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") == rest - 1)) {
            *ret = (enum atoll_variant_kind)i;
            return 0;
        }
    }
    return -1;
}

static int read_variant_backend(struct atoll_task_document *d, const yaml_node_t *node,
                                struct atoll_variant *v)
{
    static const char *const names[] = {"cpu", "cuda", "opencl"};
    const char *text = atoll_document_scalar(node);
    for (size_t i = 0; text && i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            v->backend = names[i];
        }
    }
    return v->backend ? 0
                      : atoll_document_fail(d, node, "unknown backend '%.32s'; known: cpu, cuda, opencl",
                                            text ? text : "");
}

static int read_variant_dim(struct atoll_task_document *d, const yaml_node_t *key, const yaml_node_t *node,
                            struct atoll_variant *v)
{
    const char *name = atoll_document_scalar(key), *text = atoll_document_scalar(node);
    size_t i = 0;
    while (i < d->task->dim_count && strcmp(d->task->dims[i], name) != 0) {
        i++;
    }
    if (i == d->task->dim_count) {
        const char *near = atoll_spelling_nearest(name, d->task->dims, d->task->dim_count);
        return atoll_document_fail(d, key, "unknown key '%.40s' in a variant; %s%s", name,
                                   near ? "did you mean " : "it holds dims, weight and backend",
                                   near ? near : "");
    }
    if (v->dims[i]) {
        return atoll_document_fail(d, key, "dim '%s' stands in this variant twice; remove one", name);
    }
    if (!text || atoll_value_parse_integer(text, &v->dims[i]) || v->dims[i] < 1 ||
        v->dims[i] > ATOLL_DIM_MAX) {
        return atoll_document_fail(d, node, "dim '%s' must be an integer of at least 1 and at most 2^40",
                                   name);
    }
    return 0;
}

static int read_variant_pair(struct atoll_task_document *d, const yaml_node_t *key, const yaml_node_t *node,
                             struct atoll_variant *v)
{
    const char *name = atoll_document_scalar(key);
    if (!name) {
        return atoll_document_fail(d, key, "a key must be a word; write 'key: value'");
    }
    if (strcmp(name, "weight") == 0) {
        return v->kind == ATOLL_VARIANT_BENCH
                   ? atoll_value_positive(d, node, &v->weight)
                   : atoll_document_fail(d, key, "only bench variants have a weight; remove it");
    }
    if (strcmp(name, "backend") == 0) {
        return read_variant_backend(d, node, v);
    }
    return read_variant_dim(d, key, node, v);
}

static int read_variant(struct atoll_task_document *d, const yaml_node_t *key, const yaml_node_t *map)
{
    struct atoll_variant *v = &d->task->variants[d->task->variant_count];
    const char *name = atoll_document_scalar(key);
    if (!name || variant_kind(name, &v->kind)) {
        return atoll_document_fail(
            d, key,
            "variant '%.40s' must be check, bench or hidden, with a suffix if wanted, like bench.large",
            name ? name : "");
    }
    for (size_t i = 0; i < d->task->variant_count; i++) {
        if (strcmp(d->task->variants[i].name, name) == 0) {
            return atoll_document_fail(d, key, "variant '%s' stands here twice; give one a suffix, like %s.2",
                                       name, name);
        }
    }
    if (map->type != YAML_MAPPING_NODE) {
        return atoll_document_fail(d, map, "variant '%s' must be a map of dims, like {N: 1003}", name);
    }
    v->weight = 1;
    if (atoll_document_copy(d, name, &v->name)) {
        return -1;
    }
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (; pair < end; pair++) {
        if (read_variant_pair(d, atoll_document_node(d, pair->key), atoll_document_node(d, pair->value), v)) {
            return -1;
        }
    }
    for (size_t i = 0; i < d->task->dim_count; i++) {
        if (!v->dims[i]) {
            return atoll_document_fail(d, key, "variant '%s' gives no value for dim '%s'; add it", name,
                                       d->task->dims[i]);
        }
    }
    d->variant_nodes[d->task->variant_count++] = key;
    return 0;
}

int atoll_task_read_variants(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    if (node->type != YAML_MAPPING_NODE) {
        return atoll_document_fail(d, node, "variants must be a map, like {check: {N: 7}, bench: {N: 4096}}");
    }
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start, *end = node->data.mapping.pairs.top;
    if (end - pair > ATOLL_TASK_VARIANT_LIMIT) {
        return atoll_document_fail(d, node, "%td variants, at most %d are allowed; remove some", end - pair,
                                   ATOLL_TASK_VARIANT_LIMIT);
    }
    for (; pair < end; pair++) {
        if (read_variant(d, atoll_document_node(d, pair->key), atoll_document_node(d, pair->value))) {
            return -1;
        }
    }
    return 0;
}
