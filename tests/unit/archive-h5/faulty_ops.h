/* faulty_ops.h - the real file calls, one of which fails: the n-th call, in one of several ways. */
#ifndef ATOLL_TEST_ARCHIVE_FAULTY_OPS_H
#define ATOLL_TEST_ARCHIVE_FAULTY_OPS_H

#include <errno.h>
#include <unistd.h>

#include "base/file.h"

enum fault { FAULT_NONE, FAULT_SHORT, FAULT_INTERRUPT, FAULT_FULL, FAULT_IO, FAULT_PARTIAL_THEN_FULL };

struct faulty {
    struct atoll_file_ops ops;
    long calls;   /* so far */
    long fail_at; /* index of the call that fails, -1 = none */
    enum fault fault;
};

/* 0 = go on; else -1 with errno.  A short or interrupted write is handled by the caller. */
static int faulty_hit(struct faulty *f)
{
    if (f->calls++ != f->fail_at || f->fault == FAULT_SHORT)
        return 0;
    errno = f->fault == FAULT_IO ? EIO : f->fault == FAULT_INTERRUPT ? EINTR : ENOSPC;
    return -1;
}

static int faulty_open(void *context, const char *path, int flags, mode_t mode)
{
    struct faulty *f = context;
    return f->fault != FAULT_INTERRUPT && faulty_hit(f)
               ? -1
               : atoll_file_ops_real()->open(NULL, path, flags, mode);
}

static ssize_t faulty_write_at(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    struct faulty *f = context;
    int now = f->calls == f->fail_at;
    if (now && (f->fault == FAULT_SHORT || f->fault == FAULT_PARTIAL_THEN_FULL) && length > 1) {
        if (f->fault == FAULT_SHORT)
            f->calls++;
        ssize_t n = pwrite(fd, bytes, length / 2, offset);
        if (f->fault == FAULT_SHORT)
            return n;
    }
    return faulty_hit(f) ? -1 : pwrite(fd, bytes, length, offset);
}

static int faulty_ftruncate(void *context, int fd, off_t length)
{
    return ((struct faulty *)context)->fault != FAULT_INTERRUPT && faulty_hit(context)
               ? -1
               : ftruncate(fd, length);
}

static int faulty_fdatasync(void *context, int fd)
{
    return ((struct faulty *)context)->fault != FAULT_INTERRUPT && faulty_hit(context) ? -1 : fdatasync(fd);
}

static int faulty_fsync(void *context, int fd)
{
    return ((struct faulty *)context)->fault != FAULT_INTERRUPT && faulty_hit(context) ? -1 : fsync(fd);
}

static int faulty_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static int faulty_rename(void *context, const char *from, const char *to)
{
    return ((struct faulty *)context)->fault != FAULT_INTERRUPT && faulty_hit(context)
               ? -1
               : atoll_file_ops_real()->rename(NULL, from, to);
}

static int faulty_unlink(void *context, const char *path)
{
    (void)context;
    return unlink(path);
}

static int faulty_mkdir(void *context, const char *path, mode_t mode)
{
    return ((struct faulty *)context)->fault != FAULT_INTERRUPT && faulty_hit(context)
               ? -1
               : atoll_file_ops_real()->mkdir(NULL, path, mode);
}

static int faulty_link(void *context, const char *from, const char *to)
{
    return ((struct faulty *)context)->fault != FAULT_INTERRUPT && faulty_hit(context) ? -1 : link(from, to);
}

static inline const struct atoll_file_ops *faulty_init(struct faulty *f, enum fault fault, long fail_at)
{
    f->ops = (struct atoll_file_ops){f,
                                     faulty_open,
                                     faulty_write_at,
                                     faulty_ftruncate,
                                     faulty_fdatasync,
                                     faulty_fsync,
                                     faulty_close,
                                     faulty_rename,
                                     faulty_unlink,
                                     faulty_mkdir,
                                     faulty_link};
    f->calls = 0;
    f->fail_at = fail_at;
    f->fault = fault;
    return &f->ops;
}

#endif
