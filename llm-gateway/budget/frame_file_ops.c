/* frame_file_ops.c - the real system calls behind a file of frames, and what they say when they fail. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/budget/frame_file_inside.h"

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

static int real_mkdir(void *context, const char *path, mode_t mode)
{
    return mkdir(path, mode);
}

const struct atoll_frame_file_ops *atoll_frame_file_real_ops(void)
{
    static const struct atoll_frame_file_ops ops = {
        NULL, real_open, real_write_at, real_ftruncate, real_fdatasync, real_fsync, real_close, real_mkdir,
    };
    return &ops;
}

int atoll_frame_file_write_failed(const char *path, const char *doing, int sys_errno, struct atoll_err *err)
{
    atoll_err_errno(err, sys_errno, "%s: cannot %s", path, doing);
    switch (sys_errno) {
    case ENOSPC: return atoll_err_add(err, "free space on this file system, then go on");
    case EDQUOT: return atoll_err_add(err, "free space in your quota, then go on");
    case EROFS: return atoll_err_add(err, "the file system is read-only: choose a folder elsewhere");
    case EACCES:
    case EPERM: return atoll_err_add(err, "give yourself write permission there or choose another folder");
    default: return -1;
    }
}

static int sync_folder(const struct atoll_frame_file_ops *ops, const char *path, struct atoll_err *err)
{
    int fd = ops->open(ops->context, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return atoll_frame_file_write_failed(path, "open the folder to sync it", errno, err);
    int failed = ops->fsync(ops->context, fd) != 0 ? errno : 0;
    ops->close(ops->context, fd);
    if (failed == EINVAL || failed == ENOTSUP)
        failed = 0; /* file systems that keep no dirty folders say so */
    return failed ? atoll_frame_file_write_failed(path, "sync the folder", failed, err) : 0;
}

int atoll_frame_file_sync_parent(const struct atoll_frame_file_ops *ops, const char *path,
                                 struct atoll_err *err)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash)
        return sync_folder(ops, ".", err);
    if (slash == path)
        return sync_folder(ops, "/", err);
    if ((size_t)(slash - path) >= sizeof parent)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", path);
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = '\0';
    return sync_folder(ops, parent, err);
}

int atoll_frame_file_make_folder(const struct atoll_frame_file_ops *ops, const char *path,
                                 struct atoll_err *err)
{
    if (!ops)
        ops = atoll_frame_file_real_ops();
    if (ops->mkdir(ops->context, path, 0700) != 0 && errno != EEXIST)
        return atoll_frame_file_write_failed(path, "make the folder", errno, err);
    return atoll_frame_file_sync_parent(ops, path, err);
}
