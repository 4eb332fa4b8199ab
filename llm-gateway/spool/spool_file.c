/* spool_file.c - publishing: write aside, fsync, link to the name, fsync of the folder.  link() and not rename(), for it
 * never replaces: of two who publish, one is first.  A lost answer of an NFS server can make a link that succeeded look as
 * if the name had been there; the count of links tells. */
#include "llm-gateway/spool/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "llm-gateway/budget/frame_file.h"

#define ATTEMPTS 4

void atoll_spool_tag_draw(char ret_tag[SPOOL_TAG_BYTES])
{
    unsigned char bytes[(SPOOL_TAG_BYTES - 1) / 2];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(ret_tag, SPOOL_TAG_BYTES, bytes, sizeof bytes);
}

static int open_again(const char *path, int flags)
{
    int fd = -1;
    for (int i = 0; i < ATTEMPTS; i++) {
        fd = open(path, flags | O_CLOEXEC, 0666);
        if (fd >= 0 || (errno != ESTALE && errno != EINTR))
            break;
    }
    return fd;
}

/* ---- reading ---- */

/* 0, or an errno; EFBIG beyond the buffer's limit. */
static int read_all(int fd, struct atoll_buffer *out)
{
    char piece[16384];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        atoll_buffer_put_bytes(out, piece, (size_t)n);
        if (n == 0)
            atoll_buffer_put_u8(out, 0);
        if (out->failed)
            return out->failed == ATOLL_E_LIMIT ? EFBIG : ENOMEM;
        if (n == 0) {
            out->length--;
            return 0;
        }
    }
}

/* 0, or an errno.  Not blocking: a pipe of that name must not hold anybody up. */
static int read_once(const char *path, struct atoll_buffer *out)
{
    struct stat status;
    int fd = open_again(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), failed = 0;
    if (fd < 0)
        return errno;
    if (fstat(fd, &status) != 0)
        failed = errno;
    else if (!S_ISREG(status.st_mode))
        failed = ELOOP;
    else
        failed = read_all(fd, out);
    close(fd);
    return failed;
}

int atoll_spool_file_read(const char *path, struct atoll_buffer *ret_bytes, struct atoll_err *err)
{
    int failed = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        atoll_buffer_clear(ret_bytes);
        failed = read_once(path, ret_bytes);
        if (failed != ESTALE)
            break;
    }
    switch (failed) {
    case 0: return 1;
    case ENOENT: return 0;
    case ELOOP: return atoll_err_set(err, ATOLL_E_INPUT, "%s: not a regular file", path);
    case EFBIG:
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: larger than %zu bytes", path,
                             ret_bytes->limit_bytes - 1);
    default: return atoll_err_errno(err, failed, "%s: cannot read", path);
    }
}

int atoll_spool_file_is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

void atoll_spool_file_remove(const char *path)
{
    for (int i = 0; i < ATTEMPTS && unlink(path) != 0 && errno == ESTALE; i++) {
    }
}

/* ---- writing ---- */

static int write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

/* 0 or an errno. */
static int write_file(const char *path, int flags, const void *bytes, size_t length, int is_durable)
{
    int fd = open_again(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | flags);
    if (fd < 0)
        return errno;
    int failed = write_all(fd, bytes, length);
    if (!failed && is_durable && fsync(fd) != 0)
        failed = errno;
    if (close(fd) != 0 && !failed)
        failed = errno; /* NFS says here that the disk is full */
    return failed;
}

/* 0 or an errno. */
static int sync_parent(const char *path)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int fd = open_again(parent, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return errno;
    int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    return failed == EINVAL || failed == ENOTSUP ? 0 : failed; /* some keep no dirty folders and say so */
}

static int has_two_links(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_nlink == 2;
}

static int lacks_links(int sys_errno)
{
    return sys_errno == EPERM || sys_errno == ENOTSUP || sys_errno == ENOSYS || sys_errno == EMLINK;
}

/* 0 or an errno; EEXIST: the name is taken. */
static int give_name(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0)
        return 0;
    int failed = errno;
    if (failed == EEXIST && has_two_links(temporary))
        return 0;
    if (lacks_links(
            failed)) { /* a file system without hard links: look, then rename; leases keep others away meanwhile */
        if (atoll_spool_file_is_there(path))
            return EEXIST;
        return rename(temporary, path) == 0 ? 0 : errno;
    }
    return failed;
}

/* 0 or an errno; EEXIST: path is taken; ENOENT: somebody cleaned the temporary file away. */
static int publish_once(const char *temporary, const char *path, const void *bytes, size_t length)
{
    atoll_spool_file_remove(
        temporary); /* never written over: it may be a second name of what stands at path */
    int failed = write_file(temporary, O_CREAT | O_EXCL, bytes, length, 1);
    if (failed == EEXIST)
        failed = EBUSY;
    if (!failed)
        failed = give_name(temporary, path);
    atoll_spool_file_remove(temporary);
    return failed;
}

int atoll_spool_file_publish(const char *temporary, const char *path, const void *bytes, size_t length,
                             struct atoll_err *err)
{
    int failed = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        failed = publish_once(temporary, path, bytes, length);
        if (failed != ENOENT && failed != ESTALE)
            break;
    }
    if (failed && failed != EEXIST)
        return atoll_frame_file_write_failed(path, "write the file", failed, err);
    int unsynced =
        sync_parent(path); /* of one that was there, too: who made it may have been killed before */
    if (unsynced)
        return atoll_frame_file_write_failed(path, "sync the folder of the file", unsynced, err);
    return failed == EEXIST ? 0 : 1;
}

int atoll_spool_file_create(const char *path, const void *bytes, size_t length, struct atoll_err *err)
{
    int failed = write_file(path, O_CREAT | O_EXCL, bytes, length, 0);
    if (!failed || failed == EEXIST)
        return !failed;
    return atoll_frame_file_write_failed(path, "write the file", failed, err);
}

int atoll_spool_file_rewrite(const char *path, const void *bytes, size_t length, struct atoll_err *err)
{
    int failed = write_file(path, 0, bytes, length, 0);
    if (!failed || failed == ENOENT)
        return !failed;
    return atoll_frame_file_write_failed(path, "write the file", failed, err);
}
