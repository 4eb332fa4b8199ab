/* entry_passage.c - texts on hardware: "# title", "Source: ...", perhaps "Families: ...", then "## heading" and what is said there; every
 * section is an entry. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/knowledge/entry_reader.h"

#define HEADING_BYTES 120

struct text {
    const char *at, *end;
    unsigned line; /* of at */
};

/* The line at `at` without its end; 0 at the end of the text. */
static int next_line(struct text *t, const char **ret_line, size_t *ret_length)
{
    if (t->at == t->end)
        return 0;
    const char *end = memchr(t->at, '\n', (size_t)(t->end - t->at));
    *ret_line = t->at;
    *ret_length = (size_t)((end ? end : t->end) - t->at);
    t->at = end ? end + 1 : t->end;
    t->line++;
    return 1;
}

static int fail(const struct atoll_knowledge_reading *r, unsigned line, struct atoll_err *err,
                const char *what)
{
    return atoll_err_set(err, ATOLL_E_INPUT, "%s:%u: %s", r->file->path, line, what);
}

static int begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static int check_characters(const struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    unsigned line = 1;
    for (size_t i = 0; i < r->file->length; i++) {
        char c = r->file->text[i];
        line += c == '\n';
        if ((c < 0x20 && c != '\n' && c != '\t') || c > 0x7e)
            return fail(r, line, err, "a character that is not plain ASCII; replace it");
    }
    return 0;
}

/* "hardware/nvidia/hopper/wgmma#descriptor-fields" */
static const char *passage_id(struct atoll_knowledge_reading *r, const char *heading, size_t length,
                              struct atoll_err *err)
{
    char id[ATOLL_KNOWLEDGE_PATH_BYTES + HEADING_BYTES + 2];
    size_t used = strlen(r->file->path) - strlen(".md");
    for (size_t i = 0; i < used; i++)
        id[i] = r->file->path[i];
    id[used++] = '#';
    for (size_t i = 0; i < length; i++)
        if (isalnum((unsigned char)heading[i]))
            id[used++] = (char)tolower((unsigned char)heading[i]);
        else if (id[used - 1] != '-' && id[used - 1] != '#')
            id[used++] = '-';
    while (id[used - 1] == '-')
        used--;
    return atoll_arena_text(r->base->arena, id, used, err);
}

static int add_passage(struct atoll_knowledge_reading *r, const struct atoll_knowledge_entry *of_file,
                       const char *title, const char *heading, size_t heading_length, const char *body,
                       size_t length, unsigned line, struct atoll_err *err)
{
    struct atoll_knowledge_entry e = *of_file;
    char what[2 * HEADING_BYTES + 3];
    while (length > 0 && isspace((unsigned char)body[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*body)) {
        body++;
        length--;
    }
    if (heading_length == 0 || heading_length > HEADING_BYTES)
        return fail(r, line, err, "a heading has 1 to 120 characters; change it");
    if (length == 0)
        return fail(r, line, err, "a section without text; write it, or take the heading out");
    if (length > ATOLL_KNOWLEDGE_PASSAGE_BYTES)
        return fail(r, line, err, "a section of more than 4096 bytes; divide it by another '## ' heading");
    snprintf(what, sizeof(what), "%s: %.*s", title, (int)heading_length, heading);
    e.line = line;
    e.id = passage_id(r, heading, heading_length, err);
    e.what = atoll_arena_text(r->base->arena, what, strlen(what), err);
    e.text = atoll_arena_text(r->base->arena, body, length, err);
    return e.id && e.what && e.text ? atoll_knowledge_reading_add(r, &e, err) : -1;
}

/* "gemm, attention", names of the index. */
static int read_families(struct atoll_knowledge_reading *r, const char *line, size_t length, unsigned number,
                         struct atoll_knowledge_entry *e, struct atoll_err *err)
{
    const struct atoll_knowledge_index *index = &r->base->index;
    const char **list = atoll_arena_alloc_array(r->base->arena, index->family_count + 1, sizeof(*list), err);
    size_t count = 0;
    for (size_t at = 0, end; list && at <= length; at = end + 1) {
        for (end = at; end < length && line[end] != ',';)
            end++;
        size_t from = at, to = end, i = 0;
        while (from < to && line[from] == ' ')
            from++;
        while (to > from && line[to - 1] == ' ')
            to--;
        while (i < index->family_count && (strlen(index->families[i].name) != to - from ||
                                           memcmp(index->families[i].name, line + from, to - from) != 0))
            i++;
        if (i == index->family_count || count == index->family_count)
            return atoll_err_set(
                err, ATOLL_E_INPUT,
                "%s:%u: '%.*s' is no family of index.yaml, or stands here too often; change it",
                r->file->path, number, (int)(to - from), line + from);
        list[count++] = index->families[i].name;
    }
    e->families = list;
    return list ? 0 : -1;
}

/* Of the paragraph that begins with the source. */
static int find_families(struct atoll_knowledge_reading *r, struct text *t, struct atoll_knowledge_entry *e,
                         struct atoll_err *err)
{
    static const char key[] = "Families: ";
    const char *line;
    size_t length;
    for (struct text next = *t;
         next_line(&next, &line, &length) && length > 0 && !begins(line, length, "## "); *t = next)
        if (begins(line, length, key) &&
            read_families(r, line + sizeof(key) - 1, length - (sizeof(key) - 1), next.line - 1, e, err) != 0)
            return -1;
    return 0;
}

/* Title, source and families, and where the first section begins. */
static int read_head(struct atoll_knowledge_reading *r, struct text *t, struct atoll_knowledge_entry *e,
                     char ret_title[HEADING_BYTES + 1], struct atoll_err *err)
{
    const char *line = "";
    size_t length = 0;
    if (!next_line(t, &line, &length) || !begins(line, length, "# ") || length > HEADING_BYTES)
        return fail(r, 1, err, "the first line is '# ' and a title of at most 118 characters; write it");
    snprintf(ret_title, HEADING_BYTES + 1, "%.*s", (int)(length - 2), line + 2);
    do {
        if (!next_line(t, &line, &length))
            return fail(r, t->line, err, "a line 'Source: ...' belongs behind the title; say who says this");
    } while (length == 0);
    if (!begins(line, length, "Source: ") || length == strlen("Source: "))
        return fail(r, t->line - 1, err, "a line 'Source: ...' belongs behind the title; say who says this");
    e->source = atoll_arena_text(r->base->arena, line + 8, length - 8, err);
    return e->source ? find_families(r, t, e, err) : -1;
}

static int read_sections(struct atoll_knowledge_reading *r, struct text *t,
                         const struct atoll_knowledge_entry *of_file, const char *title,
                         struct atoll_err *err)
{
    const char *line, *heading = NULL, *body = t->at;
    size_t length, heading_length = 0;
    unsigned heading_line = 0;
    int is_source = 1; /* the first paragraph goes on with it */
    for (;;) {
        const char *start = t->at;
        int is_there = next_line(t, &line, &length);
        if (is_there && !begins(line, length, "## ")) {
            is_source &= length > 0;
            if (!heading && !is_source && length > 0)
                return fail(r, t->line - 1, err, "text before the first '## ' heading; put one above it");
            continue;
        }
        struct atoll_err mine = ATOLL_ERR_INIT;
        if (heading &&
            add_passage(r, of_file, title, heading, heading_length, body, (size_t)(start - body),
                        heading_line, &mine) != 0 &&
            atoll_knowledge_reading_failed(r, &mine, err) != 0)
            return -1;
        if (!is_there)
            break;
        heading = line + 3;
        heading_length = length - 3;
        heading_line = t->line - 1;
        body = t->at;
    }
    return heading ? 0
                   : fail(r, 1, err, "a text without '## ' headings: nothing of it is ever found; add one");
}

int atoll_knowledge_read_passages(struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    char title[HEADING_BYTES + 1];
    const char *path = r->file->path, *vendor = path + strlen("hardware/"), *family = strchr(vendor, '/');
    const char *name = family ? strchr(family + 1, '/') : NULL;
    struct text t = {r->file->text, r->file->text + r->file->length, 1};
    struct atoll_knowledge_entry e = {.kind = ATOLL_KNOWLEDGE_HARDWARE};
    if (!name || strchr(name + 1, '/'))
        return fail(r, 1, err, "a text on hardware lies in hardware/VENDOR/FAMILY/NAME.md; move it there");
    e.path = atoll_arena_text(r->base->arena, path, strlen(path), err);
    if (!e.path || check_characters(r, err) != 0 || read_head(r, &t, &e, title, err) != 0 ||
        atoll_knowledge_reading_device(r, family + 1, (size_t)(name - family - 1), &e, err) != 0) {
        return -1;
    }
    return read_sections(r, &t, &e, title, err);
}
