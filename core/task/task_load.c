/* task_load.c - a task from its folder (which files, how large, and none outside of it), its bytes for wire and journal, and
 * back.  The bytes hold the texts, not the struct: decoding is loading from memory, with every check of the loader. */
#include "core/task/task.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/spelling.h"
#include "core/task/task_parse.h"

#define SUITE_LIMIT        4096
#define TASK_BYTES_VERSION 1u
#define TASK_BYTES_LIMIT   (ATOLL_TASK_FILE_LIMIT * 8u)
#define TASK_ARENA_LIMIT   (ATOLL_TASK_FILE_LIMIT * 32u)

static struct atoll_task_owner *owner_create(struct atoll_err *err)
{
    struct atoll_task_owner *owner = calloc(1, sizeof(*owner));
    if (!owner) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
        return NULL;
    }
    owner->arena = atoll_arena_create(TASK_ARENA_LIMIT, err);
    if (!owner->arena) {
        free(owner);
        return NULL;
    }
    return owner;
}

/* Seeds are read last, a text each, in their order. */
void atoll_task_drop_seeds(struct atoll_task *task)
{
    struct atoll_task_owner *owner = (struct atoll_task_owner *)task;
    for (; task->seed_count > 0 && !task->seeds[task->seed_count - 1].is_baseline; task->seed_count--)
        owner->text_count--;
}

void atoll_task_destroy(struct atoll_task *task)
{
    if (!task)
        return;
    struct atoll_task_owner *owner = (struct atoll_task_owner *)task;
    atoll_arena_destroy(owner->arena);
    free(owner);
}

/* ---- from its folder ---- */

static char *read_fd(int fd, const char *name, struct atoll_arena *arena, size_t limit, struct atoll_err *err)
{
    struct stat st;
    if (fstat(fd, &st)) {
        atoll_err_errno(err, errno, "cannot read '%s'", name);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        atoll_err_set(err, ATOLL_E_INPUT, "'%s' is not a regular file; put a plain file there", name);
        return NULL;
    }
    if (st.st_size < 0 || (size_t)st.st_size > limit) {
        atoll_err_set(err, ATOLL_E_INPUT, "'%s' has %lld bytes, at most %zu are allowed; shorten it", name,
                      (long long)st.st_size, limit);
        return NULL;
    }
    size_t length = 0;
    char *text = atoll_arena_alloc(arena, (size_t)st.st_size + 1, err);
    while (text && length < (size_t)st.st_size) {
        ssize_t n = read(fd, text + length, (size_t)st.st_size - length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            atoll_err_errno(err, errno, "cannot read '%s'", name);
            return NULL;
        }
        if (n == 0)
            break;
        length += (size_t)n;
    }
    if (text && memchr(text, 0, length)) {
        atoll_err_set(err, ATOLL_E_INPUT, "'%s' holds a NUL byte; it must be text", name);
        return NULL;
    }
    return text;
}

static char *read_file(const char *path, const char *name, struct atoll_arena *arena, size_t limit,
                       struct atoll_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        atoll_err_errno(err, errno, "cannot open '%s'", name);
        return NULL;
    }
    char *text = read_fd(fd, name, arena, limit, err);
    close(fd);
    return text;
}

static int holds_task(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/task.yaml", dir);
    return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0;
}

static int lies_below(const char *resolved, const char *root)
{
    size_t length = strlen(root);
    return strncmp(resolved, root, length) == 0 && resolved[length] == '/';
}

/* Whether a file lies in the folder of a task that has a folder in common with the one at root, depth above both: 1, it is of the
 * same suite; 2, of a suite beside it.  Tasks share files by symbolic links. */
static int lies_in_task(const char *resolved, const char *root, size_t depth)
{
    const char *slash = root + strlen(root);
    char other[PATH_MAX];
    for (size_t i = 0; i < depth; i++)
        while (slash > root && *--slash != '/')
            ;
    size_t length = (size_t)(slash - root) + 1;
    if (length < 2 || strncmp(resolved, root, length) != 0)
        return 0;
    for (size_t i = 0; i < depth; i++) {
        length += strcspn(resolved + length, "/");
        if (!resolved[length++])
            return 0;
    }
    snprintf(other, sizeof(other), "%.*s", (int)length - 1, resolved);
    return holds_task(other);
}

/* Whether a file lies in an example of the knowledge that lies beside the suites of the task at root
 * (knowledge/examples/<device family>/<name>): a kernel that is told to models and begins campaigns is one file. */
static int lies_in_example(const char *resolved, const char *root)
{
    static const char folder[] = "knowledge/examples/";
    const char *slash = root + strlen(root);
    char path[PATH_MAX + 16];
    struct stat st;
    for (size_t i = 0; i < 3; i++)
        while (slash > root && *--slash != '/')
            ;
    size_t length = (size_t)(slash - root) + 1;
    if (strncmp(resolved, root, length) != 0 || strncmp(resolved + length, folder, sizeof(folder) - 1) != 0)
        return 0;
    length += sizeof(folder) - 1;
    for (size_t i = 0; i < 2; i++) {
        length += strcspn(resolved + length, "/");
        if (!resolved[length++])
            return 0;
    }
    snprintf(path, sizeof(path), "%.*sexample.yaml", (int)length, resolved);
    return stat(path, &st) == 0;
}

/* Whether a file is a link to what is not there; then err says so. */
static int leads_nowhere(const char *full, const char *path, struct atoll_err *err)
{
    char target[256];
    struct stat st;
    ssize_t length = stat(full, &st) && errno == ENOENT ? readlink(full, target, sizeof(target) - 1) : -1;
    if (length < 0)
        return 0;
    target[length] = '\0';
    atoll_err_set(err, ATOLL_E_INPUT,
                  "'%s' is a link to '%s', which is not there; mend the link, or remove it", path, target);
    return 1;
}

static const char *folder_read(void *context, struct atoll_arena *arena, const char *path, size_t limit,
                               struct atoll_err *err)
{
    const char *root = context;
    char full[PATH_MAX], resolved[PATH_MAX];
    int n = snprintf(full, sizeof(full), "%s/%s", root, path);
    if (n < 0 || (size_t)n >= sizeof(full)) {
        atoll_err_set(err, ATOLL_E_INPUT, "path of '%s' is too long; move the task nearer to the root", path);
        return NULL;
    }
    if (leads_nowhere(full, path, err))
        return NULL;
    /* What is not there is said when it is opened. */
    if (realpath(full, resolved) && !lies_below(resolved, root) && !lies_in_task(resolved, root, 1) &&
        !lies_in_task(resolved, root, 2) && !lies_in_example(resolved, root)) {
        atoll_err_set(
            err, ATOLL_E_INPUT,
            "'%s' leads out of the task's folder, and into no task beside it; copy the file into the "
            "folder",
            path);
        return NULL;
    }
    return read_file(full, path, arena, limit, err);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int bytewise(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Paths "seeds/<name>" of all files there, in name order; none when there is no such folder. */
static int list_seeds(const char *root, struct atoll_arena *arena, const char **ret_paths, size_t *ret_count,
                      struct atoll_err *err)
{
    char full[PATH_MAX];
    struct dirent **entries = NULL;
    if (snprintf(full, sizeof(full), "%s/seeds", root) >= (int)sizeof(full)) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "path of 'seeds' is too long; move the task nearer to the root");
    }
    int n = scandir(full, &entries, visible, bytewise);
    if (n < 0 && errno == ENOENT) {
        *ret_count = 0;
        return 0;
    }
    if (n < 0)
        return atoll_err_errno(err, errno, "cannot list 'seeds'");
    int rc = 0;
    if (n > ATOLL_TASK_SEED_LIMIT) {
        rc = atoll_err_set(err, ATOLL_E_INPUT, "seeds holds %d files, at most %d; remove some", n,
                           ATOLL_TASK_SEED_LIMIT);
    }
    for (int i = 0; i < n; i++) {
        char path[sizeof("seeds/") + NAME_MAX];
        int length = snprintf(path, sizeof(path), "seeds/%s", entries[i]->d_name);
        if (!rc && !(ret_paths[i] = atoll_arena_text(arena, path, (size_t)length, err)))
            rc = -1;
        free(entries[i]);
    }
    free(entries);
    *ret_count = (size_t)n;
    return rc;
}

static int load_into(struct atoll_task_owner *owner, const char *dir, struct atoll_err *err)
{
    char root[PATH_MAX], file[PATH_MAX + 16];
    const char *seeds[ATOLL_TASK_SEED_LIMIT];
    snprintf(file, sizeof(file), "%.*s/task.yaml", PATH_MAX - 1, dir);
    if (!realpath(dir, root))
        return atoll_err_errno(err, errno, "cannot open the task folder '%s'", dir);
    struct atoll_task_store store = {folder_read, root, 0, seeds};
    char *yaml = read_file(file, file, owner->arena, ATOLL_TASK_FILE_LIMIT, err);
    const char *name = yaml ? atoll_arena_text(owner->arena, file, strlen(file), err) : NULL;
    if (!name)
        return -1;
    struct atoll_err inner = ATOLL_ERR_INIT;
    if (list_seeds(root, owner->arena, seeds, &store.seed_count, &inner))
        return atoll_err_set(err, inner.code, "%s: %s", file, inner.text);
    return atoll_task_parse(owner, name, yaml, &store, err);
}

static struct atoll_task *load(const char *dir, int is_draft, struct atoll_err *err)
{
    struct atoll_task_owner *owner = owner_create(err);
    if (!owner)
        return NULL;
    owner->is_draft = is_draft;
    if (load_into(owner, dir, err)) {
        atoll_task_destroy(&owner->task);
        return NULL;
    }
    return &owner->task;
}

struct atoll_task *atoll_task_load(const char *dir, struct atoll_err *err)
{
    return load(dir, 0, err);
}

struct atoll_task *atoll_task_load_draft(const char *dir, struct atoll_err *err)
{
    return load(dir, 1, err);
}

/* ---- as bytes ---- */

int atoll_task_encode(const struct atoll_task *task, struct atoll_buffer *out, struct atoll_err *err)
{
    const struct atoll_task_owner *owner = (const struct atoll_task_owner *)task;
    atoll_buffer_put_u32(out, TASK_BYTES_VERSION);
    atoll_buffer_put_text(out, task->file);
    atoll_buffer_put_text(out, owner->yaml);
    atoll_buffer_put_u32(out, (uint32_t)owner->text_count);
    for (size_t i = 0; i < owner->text_count; i++) {
        atoll_buffer_put_text(out, owner->texts[i].path);
        atoll_buffer_put_text(out, owner->texts[i].text);
    }
    return atoll_buffer_check(out, err);
}

struct decoded_texts {
    size_t count;
    struct atoll_task_text texts[ATOLL_TASK_TEXT_LIMIT];
};

static const char *decoded_read(void *context, struct atoll_arena *arena, const char *path, size_t limit,
                                struct atoll_err *err)
{
    const struct decoded_texts *d = context;
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->texts[i].path, path) != 0)
            continue;
        if (strlen(d->texts[i].text) <= limit)
            return d->texts[i].text;
        atoll_err_set(err, ATOLL_E_INPUT, "'%s' is longer than %zu bytes; shorten it", path, limit);
        return NULL;
    }
    atoll_err_set(err, ATOLL_E_INPUT, "'%s' did not travel with the task; send the task again", path);
    return NULL;
}

static int decode_texts(struct atoll_reader *r, struct atoll_arena *arena, struct decoded_texts *ret,
                        struct atoll_err *err)
{
    uint32_t count = atoll_reader_count(r, 8);
    if (count > ATOLL_TASK_TEXT_LIMIT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task: %u files, at most %d", count,
                             ATOLL_TASK_TEXT_LIMIT);
    ret->count = count;
    for (uint32_t i = 0; i < count; i++) {
        ret->texts[i].path = atoll_reader_text(r, arena);
        ret->texts[i].text = atoll_reader_text(r, arena);
    }
    return atoll_reader_finish(r, "task", err);
}

static int decode_into(struct atoll_task_owner *owner, struct atoll_reader *r, struct atoll_err *err)
{
    uint32_t version = atoll_reader_u32(r);
    if (!r->failed && version != TASK_BYTES_VERSION) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task: encoding version %u, this program reads %u",
                             version, TASK_BYTES_VERSION);
    }
    const char *file = atoll_reader_text(r, owner->arena);
    const char *yaml = atoll_reader_text(r, owner->arena);
    struct decoded_texts d;
    if (decode_texts(r, owner->arena, &d, err))
        return -1;
    const char *seeds[ATOLL_TASK_TEXT_LIMIT];
    struct atoll_task_store store = {decoded_read, &d, 0, seeds};
    for (size_t i = 0; i < d.count; i++)
        if (strncmp(d.texts[i].path, "seeds/", 6) == 0)
            seeds[store.seed_count++] = d.texts[i].path;
    return atoll_task_parse(owner, file, yaml, &store, err);
}

struct atoll_task *atoll_task_decode(const void *bytes, size_t length, struct atoll_err *err)
{
    if (length > TASK_BYTES_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "task: %zu bytes, at most %u", length, TASK_BYTES_LIMIT);
        return NULL;
    }
    struct atoll_task_owner *owner = owner_create(err);
    if (!owner)
        return NULL;
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    if (decode_into(owner, &r, err)) {
        atoll_task_destroy(&owner->task);
        return NULL;
    }
    return &owner->task;
}

/* ---- suites ---- */

static int suite_add(char **dirs, size_t *count, char *path, struct atoll_err *err)
{
    if (!path)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of tasks");
    if (!holds_task(path)) {
        free(path);
        return 0;
    }
    dirs[(*count)++] = path;
    return 0;
}

/* levels: of folders to look into; where the first has no task, those below it may be suites. */
static int list_tasks(const char *dir, int levels, char **dirs, size_t *count, struct atoll_err *err)
{
    struct dirent **entries = NULL;
    size_t before = *count;
    if (holds_task(dir))
        return suite_add(dirs, count, strdup(dir), err);
    int n = scandir(dir, &entries, visible, bytewise), system = errno;
    if (n < 0) {
        char hint[ATOLL_SPELLING_HINT_BYTES];
        if (system == ENOTDIR)
            return atoll_err_set(
                err, ATOLL_E_INPUT,
                "'%s' is a file; name a task's folder (it holds task.yaml) or a suite of them", dir);
        atoll_err_errno(err, system, "cannot list the suite '%s'", dir);
        return system == ENOENT && *atoll_spelling_hint_path(dir, "", hint) ? atoll_err_add(err, "%s", hint)
                                                                            : -1;
    }
    int rc = 0;
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (!rc && *count < SUITE_LIMIT) {
            rc = suite_add(dirs, count, asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0 ? NULL : path,
                           err);
        }
    }
    int has_none = *count == before;
    for (int i = 0; i < n && !rc && levels > 1 && has_none; i++) {
        char path[PATH_MAX];
        struct stat st;
        if (snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) < (int)sizeof(path) &&
            stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            rc = list_tasks(path, levels - 1, dirs, count, err);
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return rc;
}

int atoll_suite_list(const char *dir, char ***ret_dirs, size_t *ret_count, struct atoll_err *err)
{
    size_t count = 0;
    char **dirs = calloc(SUITE_LIMIT, sizeof(*dirs));
    if (!dirs)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of tasks");
    int rc = list_tasks(dir, 2, dirs, &count, err);
    if (!rc && count == 0) {
        rc = atoll_err_set(err, ATOLL_E_NOTFOUND,
                           "no task.yaml in '%s' or its subfolders; name a task's folder or a suite of them",
                           dir);
    }
    if (rc) {
        atoll_suite_free(dirs, count);
        return -1;
    }
    *ret_dirs = dirs;
    *ret_count = count;
    return 0;
}

void atoll_suite_free(char **dirs, size_t count)
{
    if (!dirs)
        return;
    for (size_t i = 0; i < count; i++)
        free(dirs[i]);
    free(dirs);
}

int atoll_suite_visit(const char *dir,
                      int (*visit)(void *context, const char *task_dir, struct atoll_err *err), void *context,
                      struct atoll_err *err)
{
    char **dirs;
    size_t count;
    int status = 0;
    if (atoll_suite_list(dir, &dirs, &count, err))
        return -1;
    for (size_t i = 0; i < count && status == 0; i++)
        status = visit(context, dirs[i], err);
    atoll_suite_free(dirs, count);
    return status;
}
