/* task_load.c - a task from its folder: which files, how large, and none outside of it. */
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
#include "core/task/task_build.h"

#define SUITE_LIMIT 4096

int atoll_task_path_ok(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
    size_t length = strlen(path);
    if (length == 0 || length > ATOLL_TASK_PATH_LIMIT || strspn(path, plain) != length ||
        path[length - 1] == '/') {
        return 0;
    }
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.')) {
            return 0;
        }
    }
    return 1;
}

/* Symbolic links are followed only when they stay inside the folder. */
static int inside(const char *root, const char *path)
{
    char resolved[PATH_MAX];
    size_t length = strlen(root);
    if (!realpath(path, resolved)) {
        return -1;
    }
    return strncmp(resolved, root, length) == 0 && resolved[length] == '/';
}

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
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            atoll_err_errno(err, errno, "cannot read '%s'", name);
            return NULL;
        }
        if (n == 0) {
            break;
        }
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

static const char *folder_read(void *context, struct atoll_arena *arena, const char *path, size_t limit,
                               struct atoll_err *err)
{
    const char *root = context;
    char full[PATH_MAX];
    int n = snprintf(full, sizeof(full), "%s/%s", root, path);
    if (n < 0 || (size_t)n >= sizeof(full)) {
        atoll_err_set(err, ATOLL_E_INPUT, "path of '%s' is too long; move the task nearer to the root", path);
        return NULL;
    }
    if (inside(root, full) == 0) {
        atoll_err_set(err, ATOLL_E_INPUT,
                      "'%s' leads out of the task's folder; copy the file into the folder", path);
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
    if (n < 0) {
        return atoll_err_errno(err, errno, "cannot list 'seeds'");
    }
    int rc = 0;
    if (n > ATOLL_TASK_SEED_LIMIT) {
        rc = atoll_err_set(err, ATOLL_E_INPUT, "seeds holds %d files, at most %d; remove some", n,
                           ATOLL_TASK_SEED_LIMIT);
    }
    for (int i = 0; i < n; i++) {
        char path[sizeof "seeds/" + NAME_MAX];
        int length = snprintf(path, sizeof(path), "seeds/%s", entries[i]->d_name);
        if (!rc && !(ret_paths[i] = atoll_arena_text(arena, path, (size_t)length, err))) {
            rc = -1;
        }
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
    if (!realpath(dir, root)) {
        return atoll_err_errno(err, errno, "cannot open the task folder '%s'", dir);
    }
    struct atoll_task_store store = {folder_read, root, 0, seeds};
    char *yaml = read_file(file, file, owner->arena, ATOLL_TASK_FILE_LIMIT, err);
    const char *name = yaml ? atoll_arena_text(owner->arena, file, strlen(file), err) : NULL;
    if (!name) {
        return -1;
    }
    struct atoll_err inner = ATOLL_ERR_INIT;
    if (list_seeds(root, owner->arena, seeds, &store.seed_count, &inner)) {
        return atoll_err_set(err, inner.code, "%s:1: %s", file, inner.text);
    }
    return atoll_task_build(owner, name, yaml, &store, err);
}

struct atoll_task *atoll_task_load(const char *dir, struct atoll_err *err)
{
    struct atoll_task_owner *owner = atoll_task_owner_create(err);
    if (!owner) {
        return NULL;
    }
    if (load_into(owner, dir, err)) {
        atoll_task_destroy(&owner->task);
        return NULL;
    }
    return &owner->task;
}

static int holds_task(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/task.yaml", dir);
    return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0;
}

static char *join(const char *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int suite_add(char **dirs, size_t *count, char *path, struct atoll_err *err)
{
    if (!path) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of tasks");
    }
    if (!holds_task(path)) {
        free(path);
        return 0;
    }
    dirs[(*count)++] = path;
    return 0;
}

static int list_tasks(const char *dir, char **dirs, size_t *count, struct atoll_err *err)
{
    struct dirent **entries = NULL;
    if (holds_task(dir)) {
        return suite_add(dirs, count, strdup(dir), err);
    }
    int n = scandir(dir, &entries, visible, bytewise);
    if (n < 0) {
        return atoll_err_errno(err, errno, "cannot list the suite '%s'", dir);
    }
    int rc = 0;
    for (int i = 0; i < n; i++) {
        if (!rc && *count < SUITE_LIMIT) {
            rc = suite_add(dirs, count, join(dir, entries[i]->d_name), err);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int atoll_suite_list(const char *dir, char ***ret_dirs, size_t *ret_count, struct atoll_err *err)
{
    size_t count = 0;
    char **dirs = calloc(SUITE_LIMIT, sizeof(*dirs));
    if (!dirs) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of tasks");
    }
    int rc = list_tasks(dir, dirs, &count, err);
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
    if (!dirs) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        free(dirs[i]);
    }
    free(dirs);
}

int atoll_suite_visit(const char *dir,
                      int (*visit)(void *context, const char *task_dir, struct atoll_err *err), void *context,
                      struct atoll_err *err)
{
    char **dirs;
    size_t count;
    int status = 0;
    if (atoll_suite_list(dir, &dirs, &count, err)) {
        return -1;
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        status = visit(context, dirs[i], err);
    }
    atoll_suite_free(dirs, count);
    return status;
}
