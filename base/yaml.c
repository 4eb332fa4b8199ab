/* yaml.c - the tree is built from libyaml's events, not from its documents: depth, number of nodes and anchors are judged
 * while the text is read, before anything is kept. */
#include "base/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/spelling.h"

enum kind { SCALAR, LIST, MAP };

struct atoll_yaml_node {
    enum kind kind;
    size_t line, count;
    const char *text; /* of a scalar */
    const char *key;  /* where it is a value of a map */
    size_t key_line;
    struct atoll_yaml_node *first, *last, *next;
};

struct atoll_yaml {
    struct atoll_arena *arena;
    const char *file;
    struct atoll_yaml_node *root;
};

/* State of one reading. */
struct builder {
    struct atoll_yaml *yaml;
    yaml_parser_t parser;
    struct atoll_yaml_node *open[ATOLL_YAML_DEPTH_LIMIT]; /* lists and maps that have begun */
    size_t depth, node_count;
    const char *key; /* of a map, whose value is to come */
    size_t key_line;
    struct atoll_err *err;
};

static int fail_at(const char *file, size_t line, struct atoll_err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int fail_at(const char *file, size_t line, struct atoll_err *err, const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return line ? atoll_err_set(err, ATOLL_E_INPUT, "%s:%zu: %s", file, line, text)
                : atoll_err_set(err, ATOLL_E_INPUT, "%s: %s", file, text);
}

/* ---- building ---- */

static const struct atoll_yaml_node *find(const struct atoll_yaml_node *map, const char *key)
{
    const struct atoll_yaml_node *node = map->first;
    while (node && strcmp(node->key, key) != 0)
        node = node->next;
    return node;
}

static struct atoll_yaml_node *add_node(struct builder *b, enum kind kind, size_t line)
{
    if (b->node_count++ == ATOLL_YAML_NODE_LIMIT) {
        fail_at(b->yaml->file, line, b->err, "more than %d values; split the file", ATOLL_YAML_NODE_LIMIT);
        return NULL;
    }
    struct atoll_yaml_node *node = atoll_arena_alloc(b->yaml->arena, sizeof(*node), b->err);
    if (!node)
        return NULL;
    *node = (struct atoll_yaml_node){
        .kind = kind, .line = line, .key = b->key, .key_line = b->key_line, .text = ""};
    struct atoll_yaml_node *parent = b->depth ? b->open[b->depth - 1] : NULL;
    if (!parent)
        b->yaml->root = node;
    else if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    if (parent) {
        parent->last = node;
        parent->count++;
    }
    b->key = NULL;
    return node;
}

static int take_key(struct builder *b, const char *text, size_t line)
{
    const struct atoll_yaml_node *map = b->open[b->depth - 1], *twin = find(map, text);
    if (!text[0])
        return fail_at(b->yaml->file, line, b->err, "a key must be a word; write 'key: value'");
    if (b->open[b->depth - 1]->count == ATOLL_YAML_KEY_LIMIT)
        return fail_at(b->yaml->file, line, b->err, "more than %d keys in one map", ATOLL_YAML_KEY_LIMIT);
    if (twin) {
        return fail_at(b->yaml->file, line, b->err,
                       "key '%.64s' stands here twice, first in line %zu; remove one", text, twin->key_line);
    }
    b->key = text;
    b->key_line = line;
    return 0;
}

static int awaits_key(const struct builder *b)
{
    return b->depth > 0 && b->open[b->depth - 1]->kind == MAP && !b->key;
}

static int take_scalar(struct builder *b, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1, length = event->data.scalar.length;
    const char *value = (const char *)event->data.scalar.value;
    if (strlen(value) != length)
        return fail_at(b->yaml->file, line, b->err, "a text with a NUL inside; remove it");
    char *text = atoll_arena_text(b->yaml->arena, value, length, b->err);
    if (!text)
        return -1;
    if (awaits_key(b))
        return take_key(b, text, line);
    struct atoll_yaml_node *node = add_node(b, SCALAR, line);
    if (node)
        node->text = text;
    return node ? 0 : -1;
}

static int take_start(struct builder *b, enum kind kind, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;
    if (awaits_key(b))
        return fail_at(b->yaml->file, line, b->err, "a key must be a word; write 'key: value'");
    if (b->depth == ATOLL_YAML_DEPTH_LIMIT)
        return fail_at(b->yaml->file, line, b->err, "nested deeper than %d levels", ATOLL_YAML_DEPTH_LIMIT);
    struct atoll_yaml_node *node = add_node(b, kind, line);
    if (!node)
        return -1;
    b->open[b->depth++] = node;
    return 0;
}

static int check_plain(struct builder *b, const yaml_event_t *event, const yaml_char_t *anchor,
                       const yaml_char_t *tag)
{
    if (!anchor && !tag)
        return 0;
    return fail_at(b->yaml->file, event->start_mark.line + 1, b->err,
                   "%s are not read here; write the value itself", anchor ? "anchors" : "tags");
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return check_plain(b, event, event->data.scalar.anchor, event->data.scalar.tag) ||
               take_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return check_plain(b, event, event->data.sequence_start.anchor, event->data.sequence_start.tag) ||
               take_start(b, LIST, event);
    case YAML_MAPPING_START_EVENT:
        return check_plain(b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag) ||
               take_start(b, MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: b->depth--; return 0;
    case YAML_ALIAS_EVENT:
        return fail_at(b->yaml->file, event->start_mark.line + 1, b->err,
                       "aliases are not read here; write the value itself");
    case YAML_DOCUMENT_START_EVENT:
        return b->yaml->root ? fail_at(b->yaml->file, event->start_mark.line + 1, b->err,
                                       "a second document starts here; keep one per file")
                             : 0;
    default: return 0;
    }
}

static int syntax_error(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return atoll_err_set(b->err, ATOLL_E_MEMORY, "%s: no memory to read it", b->yaml->file);
    return fail_at(b->yaml->file, p->problem_mark.line + 1, b->err,
                   "not valid YAML: %s%s%s; check indentation, quotes and brackets",
                   p->context ? p->context : "", p->context ? ", " : "",
                   p->problem ? p->problem : "unreadable");
}

static int read_events(struct builder *b)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event))
            return syntax_error(b);
        int rc = take_event(b, &event), is_over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (rc)
            return -1;
        if (is_over)
            return b->yaml->root ? 0 : fail_at(b->yaml->file, 1, b->err, "the file is empty");
    }
}

static int build(struct atoll_yaml *yaml, const char *text, size_t length, struct atoll_err *err)
{
    struct builder b = {.yaml = yaml, .err = err};
    const char *nul = memchr(text, 0, length);
    if (nul) { /* libyaml would take it for the end */
        size_t line = 1;
        for (const char *c = text; c < nul; c++)
            line += *c == '\n';
        return fail_at(yaml->file, line, err, "a NUL byte; this is no text file");
    }
    if (!yaml_parser_initialize(&b.parser))
        return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to read it", yaml->file);
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, length);
    int rc = read_events(&b);
    yaml_parser_delete(&b.parser);
    return rc;
}

struct atoll_yaml *atoll_yaml_parse(const char *file, const char *text, size_t length, struct atoll_err *err)
{
    if (!file || !text) {
        atoll_err_set(err, ATOLL_E_INTERNAL, "a YAML text needs a name and a text");
        return NULL;
    }
    if (length > ATOLL_YAML_FILE_BYTES) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%s: more than %zu bytes; split it", file, ATOLL_YAML_FILE_BYTES);
        return NULL;
    }
    struct atoll_arena *arena = atoll_arena_create((size_t)24 << 20, err);
    struct atoll_yaml *yaml = arena ? atoll_arena_alloc(arena, sizeof(*yaml), err) : NULL;
    if (yaml) {
        yaml->arena = arena;
        yaml->file = atoll_arena_text(arena, file, strlen(file), err);
        if (yaml->file && !build(yaml, text, length, err))
            return yaml;
    }
    atoll_arena_destroy(arena);
    return NULL;
}

void atoll_yaml_destroy(struct atoll_yaml *yaml)
{
    if (yaml)
        atoll_arena_destroy(yaml->arena);
}

struct atoll_yaml *atoll_yaml_load(const char *path, struct atoll_err *err)
{
    size_t length;
    char *text = atoll_file_read(path, ATOLL_YAML_FILE_BYTES, &length, err);
    struct atoll_yaml *yaml = text ? atoll_yaml_parse(path, text, length, err) : NULL;
    free(text);
    return yaml;
}

/* ---- walking ---- */

const struct atoll_yaml_node *atoll_yaml_root(const struct atoll_yaml *yaml)
{
    return yaml->root;
}

int atoll_yaml_fail(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return fail_at(walk->yaml->file, node ? node->line : 0, walk->err, "%s", text);
}

int atoll_yaml_fail_key(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *value, const char *format,
                        ...)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return fail_at(walk->yaml->file, value->key_line, walk->err, "%s", text);
}

int atoll_yaml_pass(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                    const struct atoll_err *inner)
{
    int is_ours = inner->code == ATOLL_E_MEMORY || inner->code == ATOLL_E_LIMIT;
    enum atoll_code code = is_ours ? inner->code : ATOLL_E_INPUT;
    return node ? atoll_err_set(walk->err, code, "%s:%zu: %s", walk->yaml->file, node->line, inner->text)
                : atoll_err_set(walk->err, code, "%s: %s", walk->yaml->file, inner->text);
}

const char *atoll_yaml_scalar(const struct atoll_yaml_node *node)
{
    return node->kind == SCALAR && node->text[0] ? node->text : NULL;
}

size_t atoll_yaml_line(const struct atoll_yaml_node *node)
{
    return node->line;
}

size_t atoll_yaml_count(const struct atoll_yaml_node *node)
{
    return node->count;
}

const struct atoll_yaml_node *atoll_yaml_find(const struct atoll_yaml_node *map, const char *key)
{
    return map->kind == MAP ? find(map, key) : NULL;
}

static int unknown_key(struct atoll_yaml_walk *walk, const struct atoll_yaml_section *section,
                       const struct atoll_yaml_node *value)
{
    const char *keys[ATOLL_YAML_ROW_LIMIT] = {0};
    char list[640] = "";
    size_t used = 0, known = 0;
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].need != ATOLL_YAML_HIDDEN)
            keys[known++] = section->rows[i].key;
    const char *near = atoll_spelling_nearest(value->key, keys, known);
    if (near) {
        return fail_at(walk->yaml->file, value->key_line, walk->err,
                       "unknown key '%.64s'; did you mean '%s'?", value->key, near);
    }
    for (size_t i = 0; i < known && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", keys[i]);
    return fail_at(walk->yaml->file, value->key_line, walk->err, "unknown key '%.64s'; known here: %s",
                   value->key, known ? list : "none");
}

int atoll_yaml_map(struct atoll_yaml_walk *walk, const struct atoll_yaml_section *section,
                   const struct atoll_yaml_node *map, void *target)
{
    if (map->kind != MAP)
        return atoll_yaml_fail(walk, map, "a map is expected here; write {key: value, ...}");
    for (const struct atoll_yaml_node *value = map->first; value; value = value->next) {
        size_t i = 0;
        while (i < section->row_count && strcmp(section->rows[i].key, value->key) != 0)
            i++;
        if (i == section->row_count)
            return unknown_key(walk, section, value);
    }
    for (size_t i = 0; i < section->row_count; i++) {
        const struct atoll_yaml_row *row = &section->rows[i];
        const struct atoll_yaml_node *value = find(map, row->key);
        if (!value && row->need == ATOLL_YAML_REQUIRED)
            return atoll_yaml_fail(walk, map, "key '%s' is missing here; add it", row->key);
        if (value && row->read(walk, value, target ? (char *)target + row->offset : NULL))
            return -1;
    }
    return 0;
}

static int walk_items(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *list, size_t limit,
                      const char *what, atoll_yaml_reader *item, void *target)
{
    if (list->count > limit) {
        return atoll_yaml_fail(walk, list, "%zu %s, at most %zu are allowed; remove some", list->count, what,
                               limit);
    }
    for (const struct atoll_yaml_node *node = list->first; node; node = node->next)
        if (item(walk, node, target))
            return -1;
    return 0;
}

int atoll_yaml_list(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *list, size_t limit,
                    const char *what, atoll_yaml_reader *item, void *target)
{
    if (list->kind != LIST)
        return atoll_yaml_fail(walk, list, "a list of %s is expected here; write [a, b]", what);
    return walk_items(walk, list, limit, what, item, target);
}

int atoll_yaml_pairs(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *map, size_t limit,
                     const char *what, atoll_yaml_reader *item, void *target)
{
    if (map->kind != MAP)
        return atoll_yaml_fail(walk, map, "a map of %s is expected here; write {NAME: value, ...}", what);
    return walk_items(walk, map, limit, what, item, target);
}

const char *atoll_yaml_key(const struct atoll_yaml_node *value)
{
    return value->key;
}
