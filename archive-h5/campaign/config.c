/* config.c - campaign.yaml: one table of fields for writing and reading.
 * The reader takes exactly the block style that the writer makes (DESIGN.md: the file is never edited), plus
 * comments and empty lines, so that no YAML library crosses into this folder. */
#include "archive-h5/campaign/config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum kind { KIND_U32, KIND_U64, KIND_I64, KIND_F64, KIND_ID, KIND_TEXT32 };

struct field {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define TOP(name, kind)                                                                                      \
    {                                                                                                        \
        #name, kind, offsetof(struct atoll_config, name)                                                     \
    }
static const struct field top_fields[] = {
    TOP(schema, KIND_U32),          TOP(id, KIND_ID),
    TOP(engine_version, KIND_U32),  TOP(atoll_version, KIND_TEXT32),
    TOP(created_unix_ns, KIND_I64),
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void put_quoted(struct atoll_buffer *out, const char *text)
{
    atoll_buffer_put_u8(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            atoll_buffer_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            atoll_buffer_printf(out, "\\x%02x", c);
        else
            atoll_buffer_put_u8(out, c);
    }
    atoll_buffer_put_u8(out, '"');
}

static void put_field(struct atoll_buffer *out, const char *indent, const struct field *f, const void *base)
{
    const void *at = (const char *)base + f->offset;
    char hex[ATOLL_ID_HEX];
    atoll_buffer_printf(out, "%s%s: ", indent, f->name);
    switch (f->kind) {
    case KIND_U32: atoll_buffer_printf(out, "%" PRIu32, *(const uint32_t *)at); break;
    case KIND_U64: atoll_buffer_printf(out, "%" PRIu64, *(const uint64_t *)at); break;
    case KIND_I64: atoll_buffer_printf(out, "%" PRId64, *(const int64_t *)at); break;
    case KIND_F64: atoll_buffer_printf(out, "%.17g", *(const double *)at); break;
    case KIND_TEXT32: put_quoted(out, at); break;
    case KIND_ID:
        atoll_id_hex(at, hex);
        atoll_buffer_printf(out, "%s", hex);
        break;
    }
    atoll_buffer_printf(out, "\n");
}

int atoll_config_write(const struct atoll_config *c, struct atoll_buffer *out, struct atoll_err *err)
{
    char hex[ATOLL_ID_HEX];
    atoll_buffer_printf(
        out,
        "# Settings of an Atoll campaign, frozen when it started. Every resume reads them; do not edit.\n");
    for (size_t i = 0; i < COUNT(top_fields); i++)
        put_field(out, "", &top_fields[i], c);
    atoll_buffer_printf(out, "search:\n");
    size_t count;
    const struct atoll_search_field *fields = atoll_search_fields(&count);
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_printf(out, "  %s: ", fields[i].name);
        atoll_search_print(&c->search, &fields[i], out);
        atoll_buffer_printf(out, "\n");
    }
    atoll_buffer_printf(out, "options:\n");
    for (size_t i = 0; i < c->option_count; i++) {
        atoll_buffer_printf(out, "  %s: ", c->options[i].key);
        put_quoted(out, c->options[i].value);
        atoll_buffer_printf(out, "\n");
    }
    atoll_buffer_printf(out, "tasks:\n");
    for (size_t i = 0; i < c->task_count; i++) {
        atoll_id_hex(&c->tasks[i].id, hex);
        atoll_buffer_printf(out, "  - name: %s\n    id: %s\n", c->tasks[i].name, hex);
    }
    return atoll_buffer_check(out, err);
}

enum section { SECTION_TOP, SECTION_SEARCH, SECTION_OPTIONS, SECTION_TASKS };

struct parser {
    const char *file;
    unsigned line;
    enum section section;
    struct atoll_arena *arena;
    struct atoll_config config;
    struct atoll_config_option *options;
    struct atoll_campaign_task *tasks;
    unsigned seen_top;
    struct atoll_err *err;
};

static int complain(struct parser *p, const char *what, const char *value)
{
    return atoll_err_set(p->err, ATOLL_E_INPUT,
                         "%s:%u: %s '%.60s'; the file is written by Atoll and must not be edited, restore it",
                         p->file, p->line, what, value);
}

/* Undoes put_quoted in place; NULL when the quotes are wrong. */
static char *unquote(char *text)
{
    char *to = text, *from = text + 1;
    if (text[0] != '"')
        return NULL;
    for (; *from && *from != '"'; from++) {
        unsigned code;
        if (*from != '\\') {
            *to++ = *from;
        } else if (from[1] == 'x' && sscanf(from + 2, "%2x", &code) == 1 && code) {
            *to++ = (char)code;
            from += 3;
        } else if (from[1] == '"' || from[1] == '\\') {
            *to++ = *++from;
        } else {
            return NULL;
        }
    }
    if (from[0] != '"' || from[1] != '\0')
        return NULL;
    *to = '\0';
    return text;
}

static int take_number(struct parser *p, const struct field *f, char *value, void *at)
{
    char *end = value;
    errno = 0;
    if (f->kind == KIND_F64) {
        double v = strtod(value, &end);
        if (*end || end == value || !isfinite(v))
            return complain(p, "bad number", value);
        *(double *)at = v;
        return 0;
    }
    if (f->kind == KIND_I64) {
        *(int64_t *)at = strtoll(value, &end, 10);
    } else {
        uint64_t v = strtoull(value, &end, 10);
        if (value[0] == '-' || (f->kind == KIND_U32 && v > UINT32_MAX))
            return complain(p, "number out of range", value);
        if (f->kind == KIND_U32)
            *(uint32_t *)at = (uint32_t)v;
        else
            *(uint64_t *)at = v;
    }
    return *end || end == value || errno ? complain(p, "bad number", value) : 0;
}

static int take_field(struct parser *p, const struct field *f, char *value, void *base)
{
    void *at = (char *)base + f->offset;
    char *text;
    switch (f->kind) {
    case KIND_ID: return atoll_id_parse(value, at, NULL) != 0 ? complain(p, "bad id", value) : 0;
    case KIND_TEXT32:
        text = unquote(value);
        if (!text || strlen(text) >= 32)
            return complain(p, "bad text", value);
        memcpy(at, text, strlen(text) + 1);
        return 0;
    default: return take_number(p, f, value, at);
    }
}

static int take_top(struct parser *p, char *key, char *value)
{
    static const char *const sections[] = {"", "search", "options", "tasks"};
    size_t index = 0;
    for (unsigned i = 1; i < COUNT(sections); i++) {
        if (!strcmp(key, sections[i])) {
            p->section = (enum section)i;
            return *value ? complain(p, "unexpected value", value) : 0;
        }
    }
    while (index < COUNT(top_fields) && strcmp(top_fields[index].name, key) != 0)
        index++;
    if (index == COUNT(top_fields))
        return complain(p, "unknown field", key);
    if (take_field(p, &top_fields[index], value, &p->config) != 0)
        return -1;
    p->seen_top |= 1u << index;
    if (index == 0 && p->config.schema > ATOLL_CAMPAIGN_SCHEMA) {
        return atoll_err_set(p->err, ATOLL_E_SCHEMA,
                             "%s: campaign schema %u, this Atoll (" ATOLL_VERSION
                             ") knows up to %u; use the newer Atoll that wrote it",
                             p->file, p->config.schema, ATOLL_CAMPAIGN_SCHEMA);
    }
    return 0;
}

static int take_option(struct parser *p, char *key, char *value)
{
    char *text = unquote(value);
    if (!text || p->config.option_count == ATOLL_CAMPAIGN_OPTION_LIMIT)
        return complain(p, text ? "too many options at" : "bad text", text ? key : value);
    struct atoll_config_option *o = &p->options[p->config.option_count];
    o->key = atoll_arena_text(p->arena, key, strlen(key), p->err);
    o->value = atoll_arena_text(p->arena, text, strlen(text), p->err);
    if (!o->key || !o->value)
        return -1;
    p->config.option_count++;
    return 0;
}

static int take_task(struct parser *p, char *key, char *value)
{
    if (!strcmp(key, "- name")) {
        if (!*value || strlen(value) >= 64 ||
            strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(value) ||
            p->config.task_count == ATOLL_CAMPAIGN_TASK_LIMIT) {
            return complain(p, "bad task name or too many tasks", value);
        }
        struct atoll_campaign_task *t = &p->tasks[p->config.task_count++];
        t->name = atoll_arena_text(p->arena, value, strlen(value), p->err);
        return t->name ? 0 : -1;
    }
    if (strcmp(key, "id") != 0 || p->config.task_count == 0)
        return complain(p, "unknown field", key);
    return atoll_id_parse(value, &p->tasks[p->config.task_count - 1].id, NULL) != 0
               ? complain(p, "bad id", value)
               : 0;
}

/* "key: value" with the value optional; indent decides the section. */
static int take_line(struct parser *p, char *line)
{
    size_t indent = strspn(line, " ");
    struct atoll_err why = ATOLL_ERR_INIT;
    const struct atoll_search_field *field;
    char *key = line + indent, *colon = strstr(key, ":");
    if (*key == '\0' || *key == '#')
        return 0;
    if (!colon || (colon[1] != ' ' && colon[1] != '\0'))
        return complain(p, "not a field", key);
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " ");
    if (indent == 0) {
        p->section = SECTION_TOP;
        return take_top(p, key, value);
    }
    switch (p->section) {
    case SECTION_OPTIONS: return take_option(p, key, value);
    case SECTION_TASKS: return take_task(p, key, value);
    case SECTION_SEARCH:
        if (!(field = atoll_search_field(key)))
            return complain(p, "unknown field", key);
        return atoll_search_set(&p->config.search, field, value, &why) ? complain(p, why.text, value) : 0;
    default: return complain(p, "unexpected indent before", key);
    }
}

int atoll_config_read(const char *text, size_t length, const char *file, struct atoll_arena *arena,
                      struct atoll_config *ret_config, struct atoll_err *err)
{
    struct parser p = {.file = file, .arena = arena, .err = err};
    char *copy = atoll_arena_text(arena, text, length, err), *rest = copy, *line;
    p.options = atoll_arena_alloc_array(arena, ATOLL_CAMPAIGN_OPTION_LIMIT, sizeof(*p.options), err);
    p.tasks = atoll_arena_alloc_array(arena, ATOLL_CAMPAIGN_TASK_LIMIT, sizeof(*p.tasks), err);
    if (!copy || !p.options || !p.tasks)
        return -1;
    atoll_search_unsaid(&p.config.search);
    p.config.options = p.options;
    p.config.tasks = p.tasks;
    while ((line = strsep(&rest, "\n")) != NULL) {
        p.line++;
        if (take_line(&p, line) != 0)
            return -1;
    }
    if (p.seen_top != (1u << COUNT(top_fields)) - 1)
        return complain(&p, "fields missing at the top of", file);
    *ret_config = p.config;
    return 0;
}
