/* task_copy.c - a bounded recursive copy. */
#include "archive-h5/campaign/task_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/task/task.h"

char *atoll_file_read(const char *path, size_t limit_bytes, size_t *ret_length, struct atoll_err *err)
{
    struct stat st;
    char *bytes = NULL;
    size_t have = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        atoll_err_errno(err, errno, "%s: cannot read", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > limit_bytes) {
        atoll_err_set(err, S_ISREG(st.st_mode) ? ATOLL_E_LIMIT : ATOLL_E_INPUT,
                      S_ISREG(st.st_mode) ? "%s: larger than the limit of %zu bytes"
                                          : "%s: is not a regular file",
                      path, limit_bytes);
        goto out;
    }
    if (!(bytes = malloc((size_t)st.st_size + 1))) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to read it", path);
        goto out;
    }
    while (have < (size_t)st.st_size) {
        ssize_t n = read(fd, bytes + have, (size_t)st.st_size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            atoll_err_errno(err, errno, "%s: cannot read", path);
            free(bytes);
            bytes = NULL;
            goto out;
        }
        if (n == 0)
            break;
        have += (size_t)n;
    }
    bytes[have] = '\0';
    *ret_length = have;
out:
    if (fd >= 0)
        close(fd);
    return bytes;
}

struct copy {
    const struct atoll_file_ops *ops;
    unsigned file_count, depth;
};

static int copy_directory(struct copy *c, const char *from, const char *to, struct atoll_err *err);

static int copy_file(struct copy *c, const char *from, const char *to, struct atoll_err *err)
{
    size_t length;
    if (++c->file_count > ATOLL_TASK_COPY_FILE_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: the task has more than %d files", from,
                             ATOLL_TASK_COPY_FILE_LIMIT);
    char *bytes = atoll_file_read(from, ATOLL_TASK_FILE_LIMIT, &length, err);
    if (!bytes)
        return -1;
    int failed = atoll_file_write(c->ops, to, bytes, length, err);
    free(bytes);
    return failed;
}

static int copy_entry(struct copy *c, const char *from, const char *to, const char *name,
                      struct atoll_err *err)
{
    char source[PATH_MAX], target[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(source, sizeof source, "%s/%s", from, name) >= sizeof source ||
        (size_t)snprintf(target, sizeof target, "%s/%s", to, name) >= sizeof target)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: path too long", name);
    if (stat(source, &st) != 0)
        return atoll_err_errno(err, errno, "%s: cannot read", source);
    return S_ISDIR(st.st_mode) ? copy_directory(c, source, target, err) : copy_file(c, source, target, err);
}

static int copy_directory(struct copy *c, const char *from, const char *to, struct atoll_err *err)
{
    int failed = 0;
    if (c->depth == ATOLL_TASK_COPY_DEPTH_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: folders nested deeper than %d", from,
                             ATOLL_TASK_COPY_DEPTH_LIMIT);
    DIR *d = opendir(from);
    if (!d)
        return atoll_err_errno(err, errno, "%s: cannot open the task's folder", from);
    c->depth++;
    failed = atoll_file_make_directory(c->ops, to, 1, err);
    for (struct dirent *e; !failed && (e = readdir(d));)
        if (e->d_name[0] != '.')
            failed = copy_entry(c, from, to, e->d_name, err);
    c->depth--;
    closedir(d);
    return failed ? -1 : atoll_file_sync_directory(c->ops, to, err);
}

int atoll_task_copy(const struct atoll_file_ops *ops, const char *from, const char *to, struct atoll_err *err)
{
    struct copy c = {ops ? ops : atoll_file_ops_real(), 0, 0};
    return copy_directory(&c, from, to, err);
}
