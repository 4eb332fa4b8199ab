#include "core/knowledge/pack.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/utf8.h"

#define FOLDER      "knowledge"
#define DEPTH_LIMIT 8
#define SCHEMA      1

static int no_memory(struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the texts of knowledge");
}

struct atoll_knowledge_pack *atoll_knowledge_pack_create(struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = calloc(1, sizeof(*pack));
    if (!pack)
        no_memory(err);
    return pack;
}

static void free_file(struct atoll_knowledge_file *file)
{
    free((char *)(uintptr_t)file->path);
    free((char *)(uintptr_t)file->text);
    free((char *)(uintptr_t)file->folder);
}

void atoll_knowledge_pack_destroy(struct atoll_knowledge_pack *pack)
{
    if (!pack)
        return;
    for (uint32_t i = 0; i < pack->count; i++)
        free_file(&pack->files[i]);
    free(pack->files);
    free(pack);
}

/* The first whose path is not below this one. */
static uint32_t place_of(const struct atoll_knowledge_pack *pack, const char *path)
{
    uint32_t low = 0, high = pack->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(pack->files[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct atoll_knowledge_file *file_at(const struct atoll_knowledge_pack *pack, uint32_t place,
                                            const char *path)
{
    int is_there = place < pack->count && strcmp(pack->files[place].path, path) == 0;
    return is_there ? &pack->files[place] : NULL;
}

const struct atoll_knowledge_file *atoll_knowledge_pack_find(const struct atoll_knowledge_pack *pack,
                                                             const char *path)
{
    return file_at(pack, place_of(pack, path), path);
}

static int is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._+-", c));
}

/* No part is empty or begins with '.'. */
static int is_path(const char *path)
{
    int is_start = 1;
    size_t length = strlen(path);
    for (size_t i = 0; i < length; i++) {
        if (path[i] == '/' ? is_start : !is_name_byte(path[i]) || (is_start && path[i] == '.'))
            return 0;
        is_start = path[i] == '/';
    }
    return !is_start && length <= ATOLL_KNOWLEDGE_PATH_BYTES;
}

/* The first byte that no text has; length: none. */
static size_t text_bytes(const char *text, size_t length)
{
    size_t end = atoll_utf8_valid_bytes(text, length);
    for (size_t i = 0; i < end; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
            return i;
    }
    return end;
}

static int check(const struct atoll_knowledge_pack *pack, const struct atoll_knowledge_file *old,
                 const char *path, const char *text, size_t length, struct atoll_err *err)
{
    if (!is_path(path)) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "'%.200s' is no name of a text of knowledge: at most %d letters, digits and "
                             "'._+-' between single '/'; rename it",
                             path, ATOLL_KNOWLEDGE_PATH_BYTES);
    }
    size_t good = text_bytes(text, length);
    if (good < length) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "%s: is no text (byte 0x%02x at %zu); knowledge holds UTF-8 texts alone: mend it or "
            "take it out of the folder",
            path, (unsigned char)text[good], good);
    }
    if (length > ATOLL_KNOWLEDGE_FILE_BYTES) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: more than %zu bytes; divide it", path,
                             ATOLL_KNOWLEDGE_FILE_BYTES);
    }
    if ((!old && pack->count == ATOLL_KNOWLEDGE_FILE_LIMIT) ||
        pack->bytes - (old ? old->length : 0) + length > ATOLL_KNOWLEDGE_WHOLE_BYTES) {
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "%s: with it the folders of knowledge hold more than %u files or %zu bytes; take "
            "out what need not be told",
            path, ATOLL_KNOWLEDGE_FILE_LIMIT, ATOLL_KNOWLEDGE_WHOLE_BYTES);
    }
    return 0;
}

/* folder: NULL none. */
static int put(struct atoll_knowledge_pack *pack, const char *folder, const char *path, const char *text,
               size_t length, struct atoll_err *err)
{
    uint32_t place = place_of(pack, path);
    struct atoll_knowledge_file *old = file_at(pack, place, path);
    if (check(pack, old, path, text, length, err) != 0)
        return -1;
    char *own_path = strdup(path), *own_text = malloc(length + 1),
         *own_folder = folder ? strdup(folder) : NULL;
    if (!own_path || !own_text || (folder && !own_folder) ||
        (!old && atoll_array_reserve(&pack->files, &pack->capacity, pack->count + 1, sizeof(*pack->files),
                                     NULL) != 0)) {
        free(own_path);
        free(own_text);
        free(own_folder);
        return no_memory(err);
    }
    memcpy(own_text, text, length);
    own_text[length] = '\0';
    struct atoll_knowledge_file *file = &pack->files[place];
    if (old) {
        pack->bytes -= old->length;
        free_file(old);
    } else {
        memmove(file + 1, file, (pack->count - place) * sizeof(*file));
        pack->count++;
    }
    *file = (struct atoll_knowledge_file){.path = own_path,
                                          .text = own_text,
                                          .length = length,
                                          .folder = own_folder,
                                          .is_instead = old != NULL};
    pack->bytes += length;
    return 0;
}

int atoll_knowledge_pack_put(struct atoll_knowledge_pack *pack, const char *path, const char *text,
                             size_t length, struct atoll_err *err)
{
    return put(pack, NULL, path, text, length, err);
}

/* ---- folders ---- */

static int read_file(struct atoll_knowledge_pack *pack, const char *folder, const char *path,
                     const char *name, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    size_t length;
    char *text = atoll_file_read(path, ATOLL_KNOWLEDGE_FILE_BYTES, &length, err);
    if (!text)
        return -1;
    int rc = put(pack, folder, name, text, length, &why);
    free(text);
    return rc == 0 ? 0 : atoll_err_set(err, why.code, "%s/%s", folder, why.text);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int is_left_out(const FTSENT *found)
{
    return found->fts_level > 0 &&
           (found->fts_name[0] == '.' || found->fts_name[strlen(found->fts_name) - 1] == '~');
}

static int visit(struct atoll_knowledge_pack *pack, const char *folder, FTS *walk, const FTSENT *found,
                 struct atoll_err *err)
{
    int failed_errno = found->fts_errno;
    switch (found->fts_info) {
    case FTS_D:
        if (is_left_out(found))
            fts_set(walk, (FTSENT *)(uintptr_t)found, FTS_SKIP);
        else if (found->fts_level > DEPTH_LIMIT)
            return atoll_err_set(err, ATOLL_E_LIMIT, "%s: deeper than %d folders; move it up",
                                 found->fts_path, DEPTH_LIMIT);
        return 0;
    case FTS_F:
        if (found->fts_level == 0)
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "%s: is no folder; give the folder that holds index.yaml", folder);
        return is_left_out(found)
                   ? 0
                   : read_file(pack, folder, found->fts_path, found->fts_path + strlen(folder) + 1, err);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: return atoll_err_errno(err, failed_errno, "cannot read %s", found->fts_path);
    default: return 0;
    }
}

/* Nothing is followed that leads out of the folder. */
static int read_folder(struct atoll_knowledge_pack *pack, const char *given, struct atoll_err *err)
{
    char folder[PATH_MAX];
    size_t length = strlen(given);
    while (length > 1 && given[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof(folder))
        return atoll_err_set(err, ATOLL_E_USAGE, "'%.100s' is no path of a folder of knowledge", given);
    memcpy(folder, given, length);
    folder[length] = '\0';
    char *const roots[] = {folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    const FTSENT *found;
    int rc = 0, failed_errno = errno;
    if (!walk)
        return atoll_err_errno(err, failed_errno, "cannot read %s", folder);
    while (rc == 0 && (errno = 0, found = fts_read(walk)) != NULL)
        rc = visit(pack, folder, walk, found, err);
    failed_errno = errno;
    fts_close(walk);
    return rc == 0 && failed_errno ? atoll_err_errno(err, failed_errno, "cannot read %s", folder) : rc;
}

struct atoll_knowledge_pack *atoll_knowledge_pack_read(const char *const *folders, size_t count,
                                                       struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(err);
    int rc = pack ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = read_folder(pack, folders[i], err);
    if (rc == 0)
        return pack;
    atoll_knowledge_pack_destroy(pack);
    return NULL;
}

/* 1: there is one. */
static int users_folder(char ret_path[PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int has_data = data && *data == '/';
    int length = has_data               ? snprintf(ret_path, PATH_MAX, "%s/atoll/" FOLDER, data)
                 : home && *home == '/' ? snprintf(ret_path, PATH_MAX, "%s/.local/share/atoll/" FOLDER, home)
                                        : -1;
    return length > 0 && length < PATH_MAX && access(ret_path, F_OK) == 0;
}

struct atoll_knowledge_pack *atoll_knowledge_pack_load(const char *site, const char *const *given,
                                                       size_t count, struct atoll_err *err)
{
    char installed[PATH_MAX], users[PATH_MAX];
    const char **folders = calloc(count + 3, sizeof(*folders));
    size_t used = 0;
    struct atoll_knowledge_pack *pack = NULL;
    if (!folders) {
        no_memory(err);
        return NULL;
    }
    if (atoll_program_data(FOLDER, installed, sizeof(installed), NULL) == 0)
        folders[used++] = installed;
    if (site)
        folders[used++] = site;
    if (users_folder(users))
        folders[used++] = users;
    for (size_t i = 0; i < count; i++)
        folders[used++] = given[i];
    if (used > 0)
        pack = atoll_knowledge_pack_read(folders, used, err);
    else
        atoll_err_set(err, ATOLL_E_NOTFOUND,
                      "no share/atoll/" FOLDER " is installed beside the program; install it, or say with "
                      "--knowledge DIR where the folder is");
    free(folders);
    return pack;
}

/* ---- the frozen form ---- */

int atoll_knowledge_pack_to_json(const struct atoll_knowledge_pack *pack, struct atoll_buffer *out,
                                 struct atoll_err *err)
{
    json_t *files = json_object(), *document;
    int rc = files ? 0 : -1;
    for (uint32_t i = 0; rc == 0 && i < pack->count; i++) {
        const struct atoll_knowledge_file *file = &pack->files[i];
        rc = json_object_set_new(files, file->path, json_stringn(file->text, file->length));
    }
    document = rc == 0 ? json_pack("{s:i, s:O}", "version", SCHEMA, "files", files) : NULL;
    rc = document ? atoll_json_put(out, document, err) : no_memory(err);
    json_decref(document);
    json_decref(files);
    return rc;
}

static int read_files(struct atoll_knowledge_pack *pack, json_t *files, struct atoll_err *err)
{
    const char *path;
    json_t *text;
    json_object_foreach(files, path, text)
    {
        if (!json_is_string(text))
            return atoll_err_set(err, ATOLL_E_INPUT, "'%.100s' is no text", path);
        if (atoll_knowledge_pack_put(pack, path, json_string_value(text), json_string_length(text), err) != 0)
            return -1;
    }
    return 0;
}

static int read_document(struct atoll_knowledge_pack *pack, const json_t *document, struct atoll_err *err)
{
    const json_t *version = json_object_get(document, "version");
    json_t *files = json_object_get(document, "files");
    if (json_is_integer(version) && json_integer_value(version) > SCHEMA) {
        return atoll_err_set(err, ATOLL_E_SCHEMA,
                             "made by a newer version of Atoll (%lld; this one reads %d)",
                             (long long)json_integer_value(version), SCHEMA);
    }
    if (!json_is_integer(version) || json_integer_value(version) != SCHEMA || !json_is_object(files) ||
        json_object_size(document) != 2) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "is no frozen knowledge: {\"version\": %d, \"files\": {path: text}} is wanted",
                             SCHEMA);
    }
    return read_files(pack, files, err);
}

struct atoll_knowledge_pack *atoll_knowledge_pack_from_json(const char *name, const void *bytes,
                                                            size_t length, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = NULL;
    json_t *document =
        atoll_json_load(bytes, length, ATOLL_KNOWLEDGE_FILE_LIMIT + 16, JSON_REJECT_DUPLICATES, &why);
    if (document)
        pack = atoll_knowledge_pack_create(&why);
    if (pack && read_document(pack, document, &why) != 0) {
        atoll_knowledge_pack_destroy(pack);
        pack = NULL;
    }
    json_decref(document);
    if (!pack)
        atoll_err_set(err, why.code, "%s: %s", name, why.text);
    return pack;
}
