#include "mpi-eval/tool/knowledge.h"

#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "base/spelling.h"
#include "mpi-eval/tool/search.h"

#define FOLDER      "knowledge"
#define TOLD        "prompts" /* a folder whose texts make the prompts */
#define FILE_LIMIT  4096u
#define DEPTH_LIMIT 8
#define FILE_BYTES  ((size_t)1 << 20)
#define WHOLE_BYTES ((size_t)32 << 20)
#define ENTRY_LIMIT (4u << 20)
#define NAME_LIMIT  200
#define NAMED_LIMIT 16

struct file {
    char *name, *text; /* owned; name: below the folder */
    size_t length;
};

struct atoll_knowledge {
    struct file *files;
    uint32_t count, capacity;
    size_t bytes;
    struct atoll_text_index *index;
};

void atoll_knowledge_destroy(struct atoll_knowledge *k)
{
    if (!k)
        return;
    for (uint32_t i = 0; i < k->count; i++) {
        free(k->files[i].name);
        free(k->files[i].text);
    }
    atoll_text_index_destroy(k->index);
    free(k->files);
    free(k);
}

/* A file that cannot be read is left out. */
static int add_file(struct atoll_knowledge *k, const char *path, const char *name, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct file file = {0};
    if (strlen(name) > NAME_LIMIT || k->bytes >= WHOLE_BYTES || k->count == FILE_LIMIT)
        return 0;
    file.text = atoll_file_read(path, FILE_BYTES, &file.length, &why);
    if (!file.text) {
        atoll_log_err(ATOLL_LOG_WARNING, "eval.knowledge.file", &why);
        return 0;
    }
    file.name = strdup(name);
    if (!file.name || atoll_array_reserve(&k->files, &k->capacity, k->count + 1, sizeof(file), err) != 0) {
        free(file.name);
        free(file.text);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the texts of knowledge");
    }
    k->files[k->count++] = file;
    k->bytes += file.length;
    struct atoll_buffer both; /* a text is found by its name, too */
    atoll_buffer_init(&both, FILE_BYTES + NAME_LIMIT + 1);
    atoll_buffer_printf(&both, "%s\n", name);
    atoll_buffer_put_bytes(&both, file.text, file.length);
    int rc = atoll_buffer_check(&both, &why);
    if (rc == 0)
        rc = atoll_text_index_add(k->index, (const char *)both.data, both.length, &why);
    atoll_buffer_fini(&both);
    return rc != 0 && why.code == ATOLL_E_MEMORY ? atoll_err_set(err, ATOLL_E_MEMORY, "%s", why.text) : 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Nothing is followed that leads out of the folder. */
static int read_folder(struct atoll_knowledge *k, char *folder, struct atoll_err *err)
{
    char *const roots[] = {folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    const FTSENT *found;
    int rc = 0;
    while (walk && rc == 0 && (found = fts_read(walk)) != NULL) {
        int is_hidden =
            found->fts_level > 0 &&
            (found->fts_name[0] == '.' || (found->fts_level == 1 && strcmp(found->fts_name, TOLD) == 0));
        if (found->fts_info == FTS_D && (is_hidden || found->fts_level > DEPTH_LIMIT))
            fts_set(walk, (FTSENT *)(uintptr_t)found, FTS_SKIP);
        if (found->fts_info == FTS_F && found->fts_level > 0 && !is_hidden)
            rc = add_file(k, found->fts_path, found->fts_path + strlen(folder) + 1, err);
    }
    if (walk)
        fts_close(walk);
    return rc;
}

struct atoll_knowledge *atoll_knowledge_create(const char *folder, struct atoll_err *err)
{
    char path[PATH_MAX] = "";
    struct atoll_knowledge *k = calloc(1, sizeof(*k));
    if (!k) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the texts of knowledge");
        return NULL;
    }
    if (folder)
        snprintf(path, sizeof(path), "%s", folder);
    else if (atoll_program_data(FOLDER, path, sizeof(path), NULL) != 0)
        path[0] = '\0';
    k->index = atoll_text_index_create(ENTRY_LIMIT, err);
    if (k->index && (!*path || read_folder(k, path, err) == 0))
        return k;
    atoll_knowledge_destroy(k);
    return NULL;
}

static int text_at(void *context, uint32_t position, struct atoll_searched *ret_text)
{
    const struct atoll_knowledge *k = context;
    const struct file *file = &k->files[position];
    *ret_text = (struct atoll_searched){.text = file->text, .length = file->length};
    snprintf(ret_text->title, sizeof(ret_text->title), "%s", file->name);
    return 0;
}

int atoll_knowledge_search(struct atoll_knowledge *k, const struct atoll_tool_arguments *arguments,
                           struct atoll_buffer *out, struct atoll_err *err)
{
    return atoll_search(k->index, NULL, arguments, text_at, k, "texts of knowledge", out, err);
}

static int no_such_file(const struct atoll_knowledge *k, const char *name, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES];
    const char **names = calloc(k->count ? k->count : 1, sizeof(*names));
    if (!names)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a list of names");
    for (uint32_t i = 0; i < k->count; i++)
        names[i] = k->files[i].name;
    atoll_spelling_hint(name, names, k->count, "search_knowledge shows the names", hint);
    free(names);
    return atoll_err_set(err, ATOLL_E_INPUT, "there is no text '%.100s'; %s", name, hint);
}

/* Which other texts this one names, for who wants to read on. */
static void put_named(const struct atoll_knowledge *k, const struct file *file, struct atoll_buffer *out)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < k->count && count < NAMED_LIMIT; i++)
        if (&k->files[i] != file && strstr(file->text, k->files[i].name))
            atoll_buffer_printf(out, "%s%s", count++ ? ", " : "\n[it names these texts: ", k->files[i].name);
    if (count > 0)
        atoll_buffer_printf(out, "]\n");
}

int atoll_knowledge_read(const struct atoll_knowledge *k, const struct atoll_tool_arguments *arguments,
                         struct atoll_buffer *out, struct atoll_err *err)
{
    uint32_t i = 0;
    while (i < k->count && strcmp(k->files[i].name, arguments->name) != 0)
        i++;
    if (i == k->count)
        return no_such_file(k, arguments->name, err);
    const char *at = k->files[i].text, *end = at + k->files[i].length;
    for (uint32_t line = 1; line < arguments->line && at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    if (at == end && arguments->line > 1)
        return atoll_err_set(err, ATOLL_E_INPUT, "'%s' has fewer than %u lines", arguments->name,
                             arguments->line);
    atoll_buffer_put_bytes(out, at, (size_t)(end - at));
    put_named(k, &k->files[i], out);
    return 0;
}
