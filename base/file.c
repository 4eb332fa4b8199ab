/* file.c - the real system calls, and what is built on them. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int real_open(void *context, const char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

static ssize_t real_write_at(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    return pwrite(fd, bytes, length, offset);
}

static int real_ftruncate(void *context, int fd, off_t length)
{
    return ftruncate(fd, length);
}

static int real_fdatasync(void *context, int fd)
{
    return fdatasync(fd);
}

static int real_fsync(void *context, int fd)
{
    return fsync(fd);
}

static int real_close(void *context, int fd)
{
    return close(fd);
}

static int real_rename(void *context, const char *from, const char *to)
{
    return rename(from, to);
}

static int real_unlink(void *context, const char *path)
{
    return unlink(path);
}

static int real_mkdir(void *context, const char *path, mode_t mode)
{
    return mkdir(path, mode);
}

static int real_link(void *context, const char *from, const char *to)
{
    return link(from, to);
}

const struct atoll_file_ops *atoll_file_ops_real(void)
{
    static const struct atoll_file_ops ops = {
        NULL,       real_open,   real_write_at, real_ftruncate, real_fdatasync, real_fsync,
        real_close, real_rename, real_unlink,   real_mkdir,     real_link,
    };
    return &ops;
}

int atoll_write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : EIO; /* a file that takes nothing and gives no reason */
            return -1;
        }
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

int atoll_file_write_all(const struct atoll_file_ops *ops, int fd, const void *bytes, size_t length,
                         off_t offset)
{
    const unsigned char *at = bytes;
    while (length > 0) {
        ssize_t n = ops->write_at(ops->context, fd, at, length, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* a regular file that takes nothing and gives no reason */
        if (n <= 0)
            return -1;
        at += n;
        length -= (size_t)n;
        offset += n;
    }
    return 0;
}

int atoll_file_write_failed(const char *path, const char *doing, int sys_errno, struct atoll_err *err)
{
    atoll_err_errno(err, sys_errno, "%s: cannot %s", path, doing);
    switch (sys_errno) {
    case ENOSPC: return atoll_err_add(err, "free space on this file system, then resume");
    case EDQUOT: return atoll_err_add(err, "free space in your quota, then resume");
    case EROFS: return atoll_err_add(err, "the file system is read-only: choose a folder elsewhere");
    case EACCES:
    case EPERM: return atoll_err_add(err, "give yourself write permission there or choose another folder");
    default: return -1;
    }
}

int atoll_file_sync_directory(const struct atoll_file_ops *ops, const char *path, struct atoll_err *err)
{
    int fd = ops->open(ops->context, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return atoll_file_write_failed(path, "open the folder to sync it", errno, err);
    int failed = ops->fsync(ops->context, fd) != 0 ? errno : 0;
    ops->close(ops->context, fd);
    if (failed == EINVAL || failed == ENOTSUP)
        failed = 0; /* file systems that keep no dirty directories say so */
    return failed ? atoll_file_write_failed(path, "sync the folder", failed, err) : 0;
}

int atoll_file_sync_parent(const struct atoll_file_ops *ops, const char *path, struct atoll_err *err)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash)
        return atoll_file_sync_directory(ops, ".", err);
    if (slash == path)
        return atoll_file_sync_directory(ops, "/", err);
    if ((size_t)(slash - path) >= sizeof(parent))
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", path);
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = '\0';
    return atoll_file_sync_directory(ops, parent, err);
}

int atoll_file_make_directory(const struct atoll_file_ops *ops, const char *path, int exist_ok,
                              struct atoll_err *err)
{
    if (ops->mkdir(ops->context, path, 0777) != 0 && !(exist_ok && errno == EEXIST))
        return atoll_file_write_failed(path, "make the folder", errno, err);
    return atoll_file_sync_parent(ops, path, err);
}

int atoll_file_write(const struct atoll_file_ops *ops, const char *path, const void *bytes, size_t length,
                     struct atoll_err *err)
{
    int fd = ops->open(ops->context, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return atoll_file_write_failed(path, "create the file", errno, err);
    int failed = 0;
    if (atoll_file_write_all(ops, fd, bytes, length, 0) != 0 || ops->fsync(ops->context, fd) != 0)
        failed = errno;
    if (ops->close(ops->context, fd) != 0 && !failed)
        failed = errno;
    if (!failed)
        return 0;
    ops->unlink(ops->context, path);
    return atoll_file_write_failed(path, "write the file", failed, err);
}

int atoll_file_put_in_place(const struct atoll_file_ops *ops, const char *temporary, const char *path,
                            struct atoll_err *err)
{
    if (ops->rename(ops->context, temporary, path) == 0)
        return 0;
    int failed = errno;
    ops->unlink(ops->context, temporary);
    return atoll_file_write_failed(path, "rename the new file into place", failed, err);
}

int atoll_file_replace(const struct atoll_file_ops *ops, const char *path, const void *bytes, size_t length,
                       struct atoll_err *err)
{
    char temporary[PATH_MAX];
    if (!ops)
        ops = atoll_file_ops_real();
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", path);
    if (atoll_file_write(ops, temporary, bytes, length, err) != 0)
        return -1;
    return atoll_file_put_in_place(ops, temporary, path, err) != 0 ? -1
                                                                   : atoll_file_sync_parent(ops, path, err);
}

/* ---- folders ---- */

int atoll_folder_make_parents(const char *path, struct atoll_err *err)
{
    char parent[PATH_MAX];
    struct stat st;

    if ((size_t)snprintf(parent, sizeof(parent), "%s", path) >= sizeof(parent)) {
        return atoll_err_set(err, ATOLL_E_USAGE, "the path %.80s... is longer than %zu bytes", path,
                             sizeof(parent) - 1);
    }
    for (char *slash = *parent ? strchr(parent + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0777) != 0 && errno != EEXIST) {
            int failed = errno;

            if (stat(parent, &st) != 0) /* a read-only file system says so before it looks */
                return atoll_err_errno(err, failed, "cannot make the folder %s for %s", parent, path);
        }
        *slash = '/';
    }
    return 0;
}

int atoll_folder_make(const char *path, struct atoll_err *err)
{
    struct stat st;

    if (atoll_folder_make_parents(path, err) != 0)
        return -1;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return 0;
    return atoll_err_errno(err, errno, "cannot make the folder %s", path);
}

/* Appends names that are not there; "." is nothing, and what ".." would mean nobody knows. */
static int rest_append(const char *rest, char *ret_path, size_t bytes, struct atoll_err *err)
{
    size_t length = strlen(ret_path);

    while (*rest) {
        size_t name = strcspn(rest, "/");

        if (name == 2 && strncmp(rest, "..", 2) == 0)
            return atoll_err_set(err, ATOLL_E_USAGE, "%.200s/..: the folder is not there", ret_path);
        if (name > 0 && !(name == 1 && *rest == '.')) {
            int more = snprintf(ret_path + length, bytes - length, "%s%.*s",
                                length && ret_path[length - 1] == '/' ? "" : "/", (int)name, rest);

            if (more < 0 || (size_t)more >= bytes - length)
                return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s/...", ret_path);
            length += (size_t)more;
        }
        rest += name + (rest[name] == '/');
    }
    return 0;
}

int atoll_folder_absolute(const char *path, char *ret_path, size_t bytes, struct atoll_err *err)
{
    char there[PATH_MAX], real[PATH_MAX];
    size_t length = strlen(path);

    if (length == 0 || length >= sizeof(there))
        return atoll_err_set(err, ATOLL_E_USAGE, "'%.80s' is no path of a folder", path);
    for (;;) {
        snprintf(there, sizeof(there), "%.*s", (int)length, path);
        if (realpath(length ? there : *path == '/' ? "/" : ".", real))
            break;
        if (errno != ENOENT || length == 0)
            return atoll_err_errno(err, errno, "%s: cannot open the folder", length ? there : ".");
        while (length > 0 && path[length - 1] == '/')
            length--;
        while (length > 0 && path[length - 1] != '/')
            length--;
    }
    if ((size_t)snprintf(ret_path, bytes, "%s", real) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", real);
    return rest_append(path + length, ret_path, bytes, err);
}

/* Closes what is not regular.  fd, or -1. */
static int regular_only(int fd, const char *path, uint64_t *ret_bytes, struct atoll_err *err)
{
    struct stat st;
    int failed = fstat(fd, &st) != 0    ? atoll_err_errno(err, errno, "%s: cannot be looked at", path)
                 : !S_ISREG(st.st_mode) ? atoll_err_set(err, ATOLL_E_INPUT, "%s: is not a regular file", path)
                                        : 0;
    if (failed) {
        close(fd);
        return -1;
    }
    if (ret_bytes)
        *ret_bytes = (uint64_t)st.st_size;
    return fd;
}

int atoll_file_open(const char *path, uint64_t *ret_bytes, struct atoll_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return atoll_err_errno(err, errno, "%s: cannot read", path);
    return regular_only(fd, path, ret_bytes, err);
}

FILE *atoll_file_stream(const char *path, struct atoll_err *err)
{
    int fd = atoll_file_open(path, NULL, err);
    FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !stream) {
        atoll_err_errno(err, errno, "%s: cannot read", path);
        close(fd);
    }
    return stream;
}

int atoll_file_open_to_write(const char *path, int flags, mode_t mode, struct atoll_err *err)
{
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
    if (fd < 0 && errno == ENXIO) /* a FIFO that nobody reads, a socket */
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: is not a regular file", path);
    if (fd < 0)
        return atoll_file_write_failed(path, "write", errno, err);
    return regular_only(fd, path, NULL, err);
}

char *atoll_file_read(const char *path, size_t limit_bytes, size_t *ret_length, struct atoll_err *err)
{
    char *bytes = NULL;
    size_t have = 0;
    uint64_t size;
    int fd = atoll_file_open(path, &size, err);
    if (fd < 0)
        return NULL;
    if (size > limit_bytes) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%s: larger than the limit of %zu bytes", path, limit_bytes);
        goto out;
    }
    if (!(bytes = malloc((size_t)size + 1))) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to read it", path);
        goto out;
    }
    while (have < (size_t)size) {
        ssize_t n = read(fd, bytes + have, (size_t)size - have);
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
    close(fd);
    return bytes;
}

int atoll_folder_is_empty(const char *path)
{
    DIR *folder = opendir(path);
    int is_empty = folder || errno == ENOENT;
    for (const struct dirent *e; folder && is_empty && (e = readdir(folder));)
        is_empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (folder)
        closedir(folder);
    return is_empty;
}
