#include "core/task/task_document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/spelling.h"

#define KEY_LIMIT 64 /* pairs of one map */

int atoll_document_fail(struct atoll_task_document *d, const yaml_node_t *node, const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return atoll_err_set(d->err, ATOLL_E_INPUT, "%s:%zu: %s", d->task->file, node->start_mark.line + 1, text);
}

int atoll_document_pass(struct atoll_task_document *d, const yaml_node_t *node, const struct atoll_err *inner,
                        const char *what)
{
    const char *colon = what[0] ? ": " : "";
    return atoll_err_set(d->err, inner->code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_INPUT,
                         "%s:%zu: %s%s%s", d->task->file, node->start_mark.line + 1, what, colon,
                         inner->text);
}

const yaml_node_t *atoll_document_node(struct atoll_task_document *d, int index)
{
    return yaml_document_get_node(&d->yaml, index);
}

const char *atoll_document_scalar(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE) {
        return NULL;
    }
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length && text[0] ? text : NULL;
}

int atoll_document_copy(struct atoll_task_document *d, const char *text, const char **ret)
{
    *ret = atoll_arena_text(d->arena, text, strlen(text), d->err);
    return *ret ? 0 : -1;
}

const char *atoll_document_take(struct atoll_task_document *d, const yaml_node_t *node, const char *path,
                                size_t limit)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    struct atoll_task_owner *o = d->owner;
    if (!atoll_task_path_ok(path)) {
        atoll_document_fail(
            d, node, "path '%.80s' must stay inside the task's folder; write a plain relative path", path);
        return NULL;
    }
    for (size_t i = 0; i < o->text_count; i++) {
        if (strcmp(o->texts[i].path, path) == 0) {
            return o->texts[i].text;
        }
    }
    if (o->text_count == ATOLL_TASK_SEED_LIMIT + 1) {
        atoll_document_fail(d, node, "more than %d baselines and seeds; remove some", ATOLL_TASK_SEED_LIMIT);
        return NULL;
    }
    const char *text = d->store->read(d->store->context, d->arena, path, limit, &inner);
    if (!text) {
        atoll_document_pass(d, node, &inner, "");
        return NULL;
    }
    o->texts[o->text_count++] = (struct atoll_task_text){path, text};
    return text;
}

/* ---- maps ---- */

static int unknown_key(struct atoll_task_document *d, const struct atoll_document_section *section,
                       const yaml_node_t *key, const char *text)
{
    const char *keys[KEY_LIMIT];
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        keys[i] = section->rows[i].key;
    }
    const char *near = atoll_spelling_nearest(text, keys, section->row_count);
    if (near) {
        return atoll_document_fail(d, key, "unknown key '%.64s'; did you mean '%s'?", text, near);
    }
    for (size_t i = 0; i < section->row_count && used < sizeof(list); i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", keys[i]);
    }
    return atoll_document_fail(d, key, "unknown key '%.64s'; known here: %s", text,
                               section->row_count ? list : "none");
}

static int check_keys(struct atoll_task_document *d, const struct atoll_document_section *section,
                      const yaml_node_t *map)
{
    int seen[KEY_LIMIT] = {0};
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (; pair < end; pair++) {
        const yaml_node_t *key = atoll_document_node(d, pair->key);
        const char *text = atoll_document_scalar(key);
        size_t i = 0;
        if (!text) {
            return atoll_document_fail(d, key, "a key must be a word; write 'key: value'");
        }
        while (i < section->row_count && strcmp(section->rows[i].key, text) != 0) {
            i++;
        }
        if (i == section->row_count) {
            return unknown_key(d, section, key, text);
        }
        if (seen[i]++) {
            return atoll_document_fail(d, key, "key '%s' stands here twice; remove one", text);
        }
    }
    return 0;
}

const yaml_node_t *atoll_document_find(struct atoll_task_document *d, const yaml_node_t *map, const char *key)
{
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start, *end = map->data.mapping.pairs.top;
    for (; pair < end; pair++) {
        if (strcmp(atoll_document_scalar(atoll_document_node(d, pair->key)), key) == 0) {
            return atoll_document_node(d, pair->value);
        }
    }
    return NULL;
}

int atoll_document_map(struct atoll_task_document *d, const struct atoll_document_section *section,
                       const yaml_node_t *map, void *target)
{
    if (map->type != YAML_MAPPING_NODE) {
        return atoll_document_fail(d, map, "a map is expected here; write {key: value, ...}");
    }
    if (check_keys(d, section, map)) {
        return -1;
    }
    for (size_t i = 0; i < section->row_count; i++) {
        const struct atoll_document_row *row = &section->rows[i];
        const yaml_node_t *value = atoll_document_find(d, map, row->key);
        if (!value && row->required) {
            return atoll_document_fail(d, map, "key '%s' is missing here; add it", row->key);
        }
        if (value && row->read(d, value, (char *)target + row->offset)) {
            return -1;
        }
    }
    return 0;
}

int atoll_document_list(struct atoll_task_document *d, const yaml_node_t *list, size_t limit,
                        const char *what, atoll_document_reader *item, void *target)
{
    if (list->type != YAML_SEQUENCE_NODE) {
        return atoll_document_fail(d, list, "a list of %s is expected here; write [a, b]", what);
    }
    const yaml_node_item_t *i = list->data.sequence.items.start, *end = list->data.sequence.items.top;
    if ((size_t)(end - i) > limit) {
        return atoll_document_fail(d, list, "%zu %s, at most %zu are allowed; remove some", (size_t)(end - i),
                                   what, limit);
    }
    for (; i < end; i++) {
        if (item(d, atoll_document_node(d, *i), target)) {
            return -1;
        }
    }
    return 0;
}
