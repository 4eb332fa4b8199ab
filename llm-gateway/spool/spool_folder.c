/* spool_folder.c - names are collected, sorted and joined. */
#include "llm-gateway/spool/spool_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 4

void atoll_spool_folder_init(struct atoll_spool_folder *folder)
{
    *folder = (struct atoll_spool_folder){NULL, 0, 0};
}

void atoll_spool_folder_fini(struct atoll_spool_folder *folder)
{
    free(folder->entries);
    atoll_spool_folder_init(folder);
}

static int by_name(const void *a, const void *b)
{
    const struct atoll_spool_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int reserve(struct atoll_spool_folder *folder, struct atoll_err *err)
{
    if (folder->count < folder->capacity)
        return 0;
    size_t capacity = folder->capacity ? 2 * folder->capacity : 32;
    if (capacity > SPOOL_FOLDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d files: remove what nobody needs",
                             SPOOL_FOLDER_LIMIT);
    void *entries = realloc(folder->entries, capacity * sizeof *folder->entries);
    if (!entries)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the names of %zu files", capacity);
    folder->entries = entries;
    folder->capacity = capacity;
    return 0;
}

static int add(struct atoll_spool_folder *folder, const char *file, unsigned index, struct atoll_err *err)
{
    struct atoll_spool_entry entry = {.name = ""};
    enum atoll_spool_kind kind;
    if (!atoll_spool_name_parse(file, entry.name, &kind, &entry.lease) ||
        atoll_spool_name_folder(entry.name) != index)
        return 0; /* temporary, or nothing of ours */
    if (reserve(folder, err) != 0)
        return -1;
    entry.has_request = kind == ATOLL_SPOOL_REQUEST;
    entry.has_reply = kind == ATOLL_SPOOL_REPLY;
    folder->entries[folder->count++] = entry;
    return 0;
}

static void join(struct atoll_spool_folder *folder)
{
    size_t kept = 0;
    if (folder->count)
        qsort(folder->entries, folder->count, sizeof *folder->entries, by_name);
    for (size_t i = 0; i < folder->count; i++) {
        const struct atoll_spool_entry *e = &folder->entries[i];
        if (!kept || by_name(&folder->entries[kept - 1], e) != 0) {
            folder->entries[kept++] = *e;
            continue;
        }
        struct atoll_spool_entry *last = &folder->entries[kept - 1];
        last->has_request |= e->has_request;
        last->has_reply |= e->has_reply;
        last->lease = e->lease > last->lease ? e->lease : last->lease;
    }
    folder->count = kept;
}

/* 0, an errno, or -1 with err. */
static int read_names(struct atoll_spool_folder *folder, const char *path, unsigned index,
                      struct atoll_err *err)
{
    int failed = 0;
    DIR *directory = opendir(path);
    if (!directory)
        return errno;
    folder->count = 0;
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(directory);
        if (!e) {
            failed = errno;
            break;
        }
        if (add(folder, e->d_name, index, err) != 0) {
            failed = -1;
            break;
        }
    }
    closedir(directory);
    return failed;
}

int atoll_spool_folder_read(struct atoll_spool_folder *folder, const char *root, unsigned index,
                            struct atoll_err *err)
{
    char path[PATH_MAX];
    int failed = 0;
    atoll_spool_path_folder(root, index, path);
    for (int i = 0; i < ATTEMPTS; i++) {
        failed = read_names(folder, path, index, err);
        if (failed != ESTALE)
            break;
    }
    if (!failed) {
        join(folder);
        return 0;
    }
    folder->count = 0;
    return failed < 0 ? atoll_err_add(err, "in the spool's folder %s", path)
                      : atoll_err_errno(err, failed, "%s: cannot read the spool's folder", path);
}

const struct atoll_spool_entry *atoll_spool_folder_find(const struct atoll_spool_folder *folder,
                                                        const char *name)
{
    struct atoll_spool_entry key = {.name = ""};
    if (!folder->count || strlen(name) >= sizeof key.name)
        return NULL;
    memcpy(key.name, name, strlen(name) + 1);
    return bsearch(&key, folder->entries, folder->count, sizeof key, by_name);
}
