/* failing_disk.h - the real calls behind a file of frames, one of which fails: or from which on nothing happens any more, as
 * if the process had been killed there.  Also a scratch folder. */
#ifndef ATOLL_TEST_GATEWAY_FAILING_DISK_H
#define ATOLL_TEST_GATEWAY_FAILING_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/budget/frame_file.h"

enum failure {
    FAILS_NOT,
    FAILS_SHORT,
    FAILS_FULL,
    FAILS_HALF_THEN_FULL,
    FAILS_IO,
    FAILS_DEAD,
    FAILURE_COUNT
};

struct failing_disk {
    struct atoll_frame_file_ops ops;
    long calls;   /* so far */
    long fail_at; /* the call that fails, from 0; -1 none */
    enum failure failure;
    int is_dead;
};

/* 0: go on; -1 with errno. */
static inline int failing_hit(struct failing_disk *disk)
{
    if (disk->is_dead) {
        errno = EIO;
        return -1;
    }
    if (disk->calls++ != disk->fail_at || disk->failure == FAILS_SHORT || disk->failure == FAILS_NOT)
        return 0;
    disk->is_dead = disk->failure == FAILS_DEAD;
    errno = disk->failure == FAILS_IO || disk->is_dead ? EIO : ENOSPC;
    return -1;
}

static inline int failing_open(void *context, const char *path, int flags, mode_t mode)
{
    return failing_hit(context) ? -1 : open(path, flags, mode);
}

/* A dying process and a full disk leave half of it. */
static inline ssize_t failing_write_at(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    struct failing_disk *disk = context;
    int is_now = !disk->is_dead && disk->calls == disk->fail_at;
    size_t half = length > 1 ? length / 2 : length;
    if (is_now && disk->failure == FAILS_SHORT) {
        disk->calls++;
        return pwrite(fd, bytes, half, offset);
    }
    if (is_now && (disk->failure == FAILS_DEAD || disk->failure == FAILS_HALF_THEN_FULL) &&
        pwrite(fd, bytes, half, offset) != (ssize_t)half)
        return -1;
    return failing_hit(disk) ? -1 : pwrite(fd, bytes, length, offset);
}

static inline int failing_ftruncate(void *context, int fd, off_t length)
{
    return failing_hit(context) ? -1 : ftruncate(fd, length);
}

static inline int failing_fdatasync(void *context, int fd)
{
    return failing_hit(context); /* no test pulls the plug, and thousands of real ones take minutes */
}

static inline int failing_fsync(void *context, int fd)
{
    return failing_hit(context);
}

static inline int failing_close(void *context, int fd)
{
    return close(fd);
}

static inline int failing_mkdir(void *context, const char *path, mode_t mode)
{
    return failing_hit(context) ? -1 : mkdir(path, mode);
}

static inline const struct atoll_frame_file_ops *failing_init(struct failing_disk *disk, enum failure failure,
                                                              long fail_at)
{
    *disk = (struct failing_disk){.fail_at = fail_at, .failure = failure};
    disk->ops = (struct atoll_frame_file_ops){
        disk,          failing_open,  failing_write_at, failing_ftruncate, failing_fdatasync,
        failing_fsync, failing_close, failing_mkdir};
    return &disk->ops;
}

/* Nothing fails, and nothing waits for the disk. */
static inline const struct atoll_frame_file_ops *calm_ops(void)
{
    static struct failing_disk disk;
    return disk.ops.open ? &disk.ops : failing_init(&disk, FAILS_NOT, -1);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static inline void scratch_remove(const char *path)
{
    nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_make(char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/scratch-XXXXXX", ATOLL_BUILD_DIR);
    assert_non_null(mkdtemp(ret_path));
}

static inline unsigned char *scratch_read(const char *path, size_t *ret_length)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long length = ftell(f);
    rewind(f);
    unsigned char *bytes = malloc((size_t)length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)length, f), (size_t)length);
    fclose(f);
    *ret_length = (size_t)length;
    return bytes;
}

static inline void scratch_write(const char *path, const void *bytes, size_t length)
{
    unlink(path); /* a file that is emptied first is flushed by some file systems, which takes its time */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

#endif
