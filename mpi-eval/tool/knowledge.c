#include "mpi-eval/tool/knowledge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "mpi-eval/tool/search.h"

#define TOLD        "prompts/" /* whose texts make the prompts */
#define ENTRY_LIMIT (4u << 20)
#define NAMED_LIMIT 16

struct atoll_knowledge_tool {
    const struct atoll_knowledge_pack *pack; /* borrowed */
    const struct atoll_knowledge_file *
        *files; /* those that are shown, in the order of the index; of the pack */
    uint32_t count;
    struct atoll_text_index *index;
};

void atoll_knowledge_tool_destroy(struct atoll_knowledge_tool *k)
{
    if (!k)
        return;
    atoll_text_index_destroy(k->index);
    free(k->files);
    free(k);
}

/* A text is found by its name, too. */
static int add_file(struct atoll_knowledge_tool *k, const struct atoll_knowledge_file *file,
                    struct atoll_err *err)
{
    struct atoll_buffer both;
    atoll_buffer_init(&both, ATOLL_KNOWLEDGE_FILE_BYTES + ATOLL_KNOWLEDGE_PATH_BYTES + 1);
    atoll_buffer_printf(&both, "%s\n", file->path);
    atoll_buffer_put_bytes(&both, file->text, file->length);
    int rc = atoll_buffer_check(&both, err);
    if (rc == 0)
        rc = atoll_text_index_add(k->index, (const char *)both.data, both.length, err);
    if (rc == 0)
        k->files[k->count++] = file;
    atoll_buffer_fini(&both);
    return rc;
}

static int add_files(struct atoll_knowledge_tool *k, struct atoll_err *err)
{
    k->files = calloc(k->pack->count + 1, sizeof(*k->files));
    k->index = k->files ? atoll_text_index_create(ENTRY_LIMIT, err) : NULL;
    if (!k->index)
        return k->files ? -1 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the texts of knowledge");
    for (uint32_t i = 0; i < k->pack->count; i++) {
        const struct atoll_knowledge_file *file = &k->pack->files[i];
        if (strncmp(file->path, TOLD, strlen(TOLD)) != 0 && add_file(k, file, err) != 0)
            return -1;
    }
    return 0;
}

struct atoll_knowledge_tool *atoll_knowledge_tool_create(const struct atoll_knowledge_pack *pack,
                                                         struct atoll_err *err)
{
    struct atoll_knowledge_tool *k = calloc(1, sizeof(*k));
    if (!k) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the texts of knowledge");
        return NULL;
    }
    k->pack = pack;
    if (add_files(k, err) == 0)
        return k;
    atoll_knowledge_tool_destroy(k);
    return NULL;
}

static int text_at(void *context, uint32_t position, struct atoll_searched *ret_text)
{
    const struct atoll_knowledge_tool *k = context;
    const struct atoll_knowledge_file *file = k->files[position];
    *ret_text = (struct atoll_searched){.text = file->text, .length = file->length};
    snprintf(ret_text->title, sizeof(ret_text->title), "%s", file->path);
    return 0;
}

int atoll_knowledge_tool_search(struct atoll_knowledge_tool *k, const struct atoll_tool_arguments *arguments,
                                struct atoll_buffer *out, struct atoll_err *err)
{
    return atoll_search(k->index, NULL, arguments, text_at, k, "texts of knowledge", out, err);
}

static int no_such_file(const struct atoll_knowledge_tool *k, const char *name, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES];
    const char **names = calloc(k->count ? k->count : 1, sizeof(*names));
    if (!names)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a list of names");
    for (uint32_t i = 0; i < k->count; i++)
        names[i] = k->files[i]->path;
    atoll_spelling_hint(name, names, k->count, "search_knowledge shows the names", hint);
    free(names);
    return atoll_err_set(err, ATOLL_E_INPUT, "there is no text '%.100s'; %s", name, hint);
}

/* Which other texts this one names, for who wants to read on. */
static void put_named(const struct atoll_knowledge_tool *k, const struct atoll_knowledge_file *file,
                      struct atoll_buffer *out)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < k->count && count < NAMED_LIMIT; i++)
        if (k->files[i] != file && strstr(file->text, k->files[i]->path))
            atoll_buffer_printf(out, "%s%s", count++ ? ", " : "\n[it names these texts: ", k->files[i]->path);
    if (count > 0)
        atoll_buffer_printf(out, "]\n");
}

int atoll_knowledge_tool_read(const struct atoll_knowledge_tool *k,
                              const struct atoll_tool_arguments *arguments, struct atoll_buffer *out,
                              struct atoll_err *err)
{
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(k->pack, arguments->name);
    if (!file || strncmp(file->path, TOLD, strlen(TOLD)) == 0)
        return no_such_file(k, arguments->name, err);
    const char *at = file->text, *end = at + file->length;
    for (uint32_t line = 1; line < arguments->line && at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    if (at == end && arguments->line > 1)
        return atoll_err_set(err, ATOLL_E_INPUT, "'%s' has fewer than %u lines", arguments->name,
                             arguments->line);
    atoll_buffer_put_bytes(out, at, (size_t)(end - at));
    put_named(k, file, out);
    return 0;
}
