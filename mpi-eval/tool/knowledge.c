#include "mpi-eval/tool/knowledge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/spelling.h"
#include "base/text_index.h"
#include "base/word_list.h"
#include "core/experience/hint_file.h"
#include "core/knowledge/knowledge_base.h"
#include "evolution/knowledge/retrieve.h"
#include "mpi-eval/tool/search.h"

#define ENTRY_LIMIT (4u << 20)
#define NAMED_LIMIT 16
#define HINTS       "hints.yaml"
#define HINT_BYTES  ((size_t)8 << 10)
#define ARENA_BYTES ((size_t)64 << 20)
#define WIDTH       100 /* of a hint's lines */

/* A whole text, an entry of one, or a hint. */
struct item {
    const char *name;        /* its path, its id, or "hints/" and a hint's name */
    const char *path, *text; /* path: of the text that it is in */
    size_t length;
    const struct atoll_knowledge_entry *entry; /* NULL: a hint, or for all */
    const struct atoll_experience_hint *hint;  /* NULL: none */
};

struct atoll_knowledge_tool {
    const struct atoll_knowledge_pack *pack; /* borrowed */
    struct atoll_knowledge_base *base;
    const char *except;
    struct item *items; /* in the order of the index */
    uint32_t count, capacity;
    struct atoll_text_index *index;
    struct atoll_hint_file hints;
    struct atoll_arena *arena;                   /* names and texts of hints */
    const struct atoll_knowledge_reader *reader; /* while a search runs */
};

void atoll_knowledge_tool_destroy(struct atoll_knowledge_tool *k)
{
    if (!k)
        return;
    atoll_text_index_destroy(k->index);
    atoll_knowledge_base_destroy(k->base);
    atoll_hint_file_fini(&k->hints);
    atoll_arena_destroy(k->arena);
    free(k->items);
    free(k);
}

static int begins(const char *path, const char *folder)
{
    return strncmp(path, folder, strlen(folder)) == 0;
}

/* An example that is proven, and of no family that is left out. */
static int is_shown(const struct atoll_knowledge_tool *k, const struct atoll_knowledge_entry *example)
{
    for (const char *const *f = example->families; f && *f; f++)
        if (atoll_word_is_in(k->except, *f))
            return 0;
    return atoll_knowledge_is_proven(example);
}

/* The example whose text or kernel this is; NULL: of none. */
static const struct atoll_knowledge_entry *example_of(const struct atoll_knowledge_tool *k, const char *path)
{
    for (size_t i = 0; i < k->base->count; i++) {
        const struct atoll_knowledge_entry *e = &k->base->entries[i];
        if (e->kind == ATOLL_KNOWLEDGE_EXAMPLE &&
            (strcmp(e->path, path) == 0 || (e->kernel_path && strcmp(e->kernel_path, path) == 0)))
            return e;
    }
    return NULL;
}

/* Prompts are told anyway; kernels of other tasks are retrieved, not searched. */
static int may_read(const struct atoll_knowledge_tool *k, const char *path)
{
    const struct atoll_knowledge_entry *example;
    if (begins(path, "prompts/") || begins(path, "kernels/"))
        return 0;
    if (!begins(path, "examples/"))
        return 1;
    example = example_of(k, path);
    return example && is_shown(k, example);
}

/* A text is found by its name, too. */
static int add_item(struct atoll_knowledge_tool *k, const struct item *item, struct atoll_err *err)
{
    struct atoll_buffer both;
    if (atoll_array_reserve(&k->items, &k->capacity, k->count + 1, sizeof(*k->items), err) != 0)
        return -1;
    atoll_buffer_init(&both, ATOLL_KNOWLEDGE_FILE_BYTES + ATOLL_KNOWLEDGE_PATH_BYTES + 1);
    atoll_buffer_printf(&both, "%s\n", item->name);
    atoll_buffer_put_bytes(&both, item->text, item->length);
    int rc = atoll_buffer_check(&both, err);
    if (rc == 0)
        rc = atoll_text_index_add(k->index, (const char *)both.data, both.length, err);
    if (rc == 0)
        k->items[k->count++] = *item;
    atoll_buffer_fini(&both);
    return rc;
}

static const char *line_at(const char *text, unsigned line)
{
    while (--line > 0 && (text = strchr(text, '\n')) != NULL)
        text++;
    return text;
}

/* Its lines in its file: from where it begins to where the next one does. */
static int add_lines(struct atoll_knowledge_tool *k, const struct atoll_knowledge_entry *e,
                     const struct atoll_knowledge_entry *next, struct atoll_err *err)
{
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(k->pack, e->path);
    const char *begin = file && e->line ? line_at(file->text, e->line) : NULL, *end;
    if (!begin)
        return 0;
    end = next && next->line > e->line && strcmp(next->path, e->path) == 0 ? line_at(file->text, next->line)
                                                                           : NULL;
    end = end ? end : file->text + file->length;
    const struct item item = {e->id, e->path, begin, (size_t)(end - begin), e, NULL};
    return add_item(k, &item, err);
}

static int add_entry(struct atoll_knowledge_tool *k, size_t i, struct atoll_err *err)
{
    const struct atoll_knowledge_entry *e = &k->base->entries[i];
    if (e->kind == ATOLL_KNOWLEDGE_CONSTRAINT || e->kind == ATOLL_KNOWLEDGE_PATTERN)
        return add_lines(k, e, i + 1 < k->base->count ? e + 1 : NULL, err);
    if (e->kind != ATOLL_KNOWLEDGE_HARDWARE)
        return 0;
    const struct item item = {e->id, e->path, e->text, strlen(e->text), e, NULL};
    return add_item(k, &item, err);
}

/* Whole are those that hold nothing that is looked for one by one. */
static int is_whole(const char *path)
{
    return !begins(path, "constraints/") && !begins(path, "patterns/") && !begins(path, "hardware/") &&
           strcmp(path, HINTS) != 0;
}

static int add_file(struct atoll_knowledge_tool *k, const struct atoll_knowledge_file *file,
                    struct atoll_err *err)
{
    const struct item item = {file->path, file->path, file->text, file->length, example_of(k, file->path),
                              NULL};
    return is_whole(file->path) && may_read(k, file->path) ? add_item(k, &item, err) : 0;
}

static void log_problem(void *context, const struct atoll_err *problem)
{
    (void)context;
    atoll_log_err(ATOLL_LOG_WARNING, "eval.knowledge.entry", problem);
}

/* Words of a text in lines that are shown whole. */
static void put_wrapped(const char *text, struct atoll_buffer *out)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        size_t word = strcspn(at, " ");
        if (column > 0 && column + 1 + word > WIDTH)
            column = 0;
        atoll_buffer_printf(out, "%s%.*s", column ? " " : out->length ? "\n" : "", (int)word, at);
        column += (column ? 1 : 0) + word;
        at += word + strspn(at + word, " ");
    }
}

/* What the library says of one, as a text of its own: when, and what to do. */
static int add_hint(struct atoll_knowledge_tool *k, const struct atoll_experience_hint *hint,
                    struct atoll_err *err)
{
    char trigger[ATOLL_HINT_TRIGGER_BYTES], name[ATOLL_HINT_NAME_BYTES + sizeof("hints/")];
    struct atoll_buffer text;
    int length = snprintf(name, sizeof(name), "hints/%s", hint->name);
    atoll_buffer_init(&text, HINT_BYTES);
    atoll_buffer_printf(&text, "When: %s", atoll_trigger_text(&hint->trigger, trigger));
    if (*hint->context)
        put_wrapped(hint->context, &text);
    put_wrapped(hint->advice, &text);
    atoll_buffer_printf(&text, "\n");
    int rc = atoll_buffer_check(&text, err);
    struct item item = {.path = HINTS, .length = text.length, .hint = hint};
    item.name = rc == 0 ? atoll_arena_text(k->arena, name, (size_t)length, err) : NULL;
    item.text = item.name ? atoll_arena_text(k->arena, (const char *)text.data, text.length, err) : NULL;
    atoll_buffer_fini(&text);
    return item.text ? add_item(k, &item, err) : -1;
}

/* A library that cannot be read is passed over: who tells hints says so. */
static int add_hints(struct atoll_knowledge_tool *k, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(k->pack, HINTS);
    if (file && atoll_hint_file_parse(HINTS, file->text, file->length, &k->hints, &why) != 0)
        return why.code == ATOLL_E_MEMORY ? atoll_err_set(err, why.code, "%s", why.text) : 0;
    for (size_t i = 0; i < k->hints.hint_count; i++)
        if (add_hint(k, &k->hints.hints[i], err) != 0)
            return -1;
    return 0;
}

static int fill(struct atoll_knowledge_tool *k, struct atoll_err *err)
{
    int rc = 0;
    k->base = atoll_knowledge_base_parse(k->pack, log_problem, NULL, err);
    k->index = k->base ? atoll_text_index_create(ENTRY_LIMIT, err) : NULL;
    k->arena = k->index ? atoll_arena_create(ARENA_BYTES, err) : NULL;
    if (!k->arena)
        return -1;
    for (uint32_t i = 0; rc == 0 && i < k->pack->count; i++)
        rc = add_file(k, &k->pack->files[i], err);
    for (size_t i = 0; rc == 0 && i < k->base->count; i++)
        rc = add_entry(k, i, err);
    return rc == 0 ? add_hints(k, err) : rc;
}

struct atoll_knowledge_tool *atoll_knowledge_tool_create(const struct atoll_knowledge_pack *pack,
                                                         const char *except, struct atoll_err *err)
{
    struct atoll_knowledge_tool *k = calloc(1, sizeof(*k));
    if (!k) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the texts of knowledge");
        return NULL;
    }
    k->pack = pack;
    k->except = except;
    if (fill(k, err) == 0)
        return k;
    atoll_knowledge_tool_destroy(k);
    return NULL;
}

static int is_for(const struct atoll_knowledge_reader *r, const struct item *item)
{
    const struct atoll_knowledge_entry *e = item->entry;
    const struct atoll_experience_hint *h = item->hint;
    int is_device_known = r->device && *r->device;
    if (h)
        return (!r->language || !*h->language || strcmp(h->language, r->language) == 0) &&
               (!is_device_known || atoll_device_family_holds(h->device, r->device));
    return !e || ((!r->language || atoll_knowledge_has(e->languages, r->language)) &&
                  (!is_device_known || atoll_retrieval_fits_device(e, r->device, r->features)));
}

static int text_at(void *context, uint32_t position, struct atoll_searched *ret_text)
{
    const struct atoll_knowledge_tool *k = context;
    const struct item *item = &k->items[position];
    if (!is_for(k->reader, item))
        return -1;
    *ret_text = (struct atoll_searched){.text = item->text, .length = item->length};
    snprintf(ret_text->title, sizeof(ret_text->title), "%s", item->name);
    return 0;
}

int atoll_knowledge_tool_search(struct atoll_knowledge_tool *k, const struct atoll_knowledge_reader *reader,
                                const struct atoll_tool_arguments *arguments, struct atoll_buffer *out,
                                struct atoll_err *err)
{
    k->reader = reader;
    return atoll_search(k->index, NULL, arguments, text_at, k, "texts of knowledge", out, err);
}

static int no_such_text(const struct atoll_knowledge_tool *k, const char *name, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES];
    const char **names = calloc(k->count ? k->count : 1, sizeof(*names));
    if (!names)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a list of names");
    for (uint32_t i = 0; i < k->count; i++)
        names[i] = k->items[i].name;
    atoll_spelling_hint(name, names, k->count, "search_knowledge shows the names", hint);
    free(names);
    return atoll_err_set(err, ATOLL_E_INPUT, "there is no text '%.100s'; %s", name, hint);
}

/* Which other texts this one names, for who wants to read on. */
static void put_named(const struct atoll_knowledge_tool *k, const struct item *item, struct atoll_buffer *out)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < k->count && count < NAMED_LIMIT; i++) {
        const char *at = strstr(item->text, k->items[i].name);
        if (at && at < item->text + item->length && strcmp(k->items[i].path, item->path) != 0)
            atoll_buffer_printf(out, "%s%s", count++ ? ", " : "\n[it names these texts: ", k->items[i].name);
    }
    if (count > 0)
        atoll_buffer_printf(out, "]\n");
}

/* By the name of an entry, or by the path of a text. */
static int find(const struct atoll_knowledge_tool *k, const char *name, struct item *ret_item)
{
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(k->pack, name);
    for (uint32_t i = 0; i < k->count; i++) {
        if (strcmp(k->items[i].name, name) == 0) {
            *ret_item = k->items[i];
            return 1;
        }
    }
    if (!file || !may_read(k, file->path))
        return 0;
    *ret_item = (struct item){file->path, file->path, file->text, file->length, NULL, NULL};
    return 1;
}

int atoll_knowledge_tool_read(const struct atoll_knowledge_tool *k,
                              const struct atoll_tool_arguments *arguments, struct atoll_buffer *out,
                              struct atoll_err *err)
{
    struct item item;
    if (!find(k, arguments->name, &item))
        return no_such_text(k, arguments->name, err);
    const char *at = item.text, *end = at + item.length;
    for (uint32_t line = 1; line < arguments->line && at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    if (at == end && arguments->line > 1)
        return atoll_err_set(err, ATOLL_E_INPUT, "'%s' has fewer than %u lines", arguments->name,
                             arguments->line);
    atoll_buffer_put_bytes(out, at, (size_t)(end - at));
    put_named(k, &item, out);
    return 0;
}
