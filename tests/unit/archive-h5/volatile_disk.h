/* volatile_disk.h - a file system that loses, when power goes, everything not synced: data, renames,
 * directory entries. Calls go to a real folder; what would survive is remembered per inode at every sync.
 * power_loss writes it out. */
#ifndef ATOLL_TEST_ARCHIVE_VOLATILE_DISK_H
#define ATOLL_TEST_ARCHIVE_VOLATILE_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define DISK_OBJECTS 256
#define DISK_ENTRIES 64

struct disk_object { /* an inode as the platter has it */
    ino_t inode;
    int pin; /* an open descriptor, so that the number is not used again */
    int is_dir;
    char *bytes;
    size_t length;
    unsigned entry_count;
    struct {
        char name[NAME_MAX + 1];
        ino_t inode;
        int is_dir;
    } entries[DISK_ENTRIES];
};

struct volatile_disk {
    struct atoll_file_ops ops;
    char root[PATH_MAX];
    unsigned object_count;
    long steps, stop_at; /* calls so far; from stop_at on nothing is done any more (the process is dead) */
    struct disk_object objects[DISK_OBJECTS];
};

static struct disk_object *disk_find(struct volatile_disk *d, ino_t inode)
{
    for (unsigned i = 0; i < d->object_count; i++)
        if (d->objects[i].inode == inode)
            return &d->objects[i];
    return NULL;
}

static struct disk_object *disk_object(struct volatile_disk *d, int fd, const struct stat *st)
{
    struct disk_object *o = disk_find(d, st->st_ino);
    if (o)
        return o;
    assert_true(d->object_count < DISK_OBJECTS);
    o = &d->objects[d->object_count++];
    memset(o, 0, sizeof(*o));
    o->inode = st->st_ino;
    o->pin = dup(fd);
    o->is_dir = S_ISDIR(st->st_mode);
    return o;
}

static void disk_keep_entries(struct disk_object *o, int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY);
    DIR *dir = fdopendir(copy);
    o->entry_count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            fstatat(copy, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        assert_true(o->entry_count < DISK_ENTRIES);
        snprintf(o->entries[o->entry_count].name, sizeof(o->entries[0].name), "%s", e->d_name);
        o->entries[o->entry_count].inode = st.st_ino;
        o->entries[o->entry_count++].is_dir = S_ISDIR(st.st_mode);
    }
    closedir(dir);
}

static int disk_dead(struct volatile_disk *d)
{
    if (d->stop_at < 0 || d->steps++ < d->stop_at)
        return 0;
    errno = EIO;
    return 1;
}

static int disk_sync(void *context, int fd)
{
    struct volatile_disk *d = context;
    struct stat st;
    if (disk_dead(d))
        return -1;
    assert_int_equal(fstat(fd, &st), 0);
    struct disk_object *o = disk_object(d, fd, &st);
    if (o->is_dir) {
        disk_keep_entries(o, fd);
        return 0;
    }
    char *bytes = malloc((size_t)st.st_size + 1);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY);
    assert_int_equal(pread(again, bytes, (size_t)st.st_size, 0), st.st_size);
    close(again);
    free(o->bytes);
    o->bytes = bytes;
    o->length = (size_t)st.st_size;
    return 0;
}

static int disk_open(void *context, const char *path, int flags, mode_t mode)
{
    struct stat st;
    if (disk_dead(context))
        return -1;
    int fd = open(path, flags, mode);
    if (fd >= 0 && fstat(fd, &st) == 0)
        disk_object(context, fd, &st);
    return fd;
}

static ssize_t disk_write_at(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    return disk_dead(context) ? -1 : pwrite(fd, bytes, length, offset);
}

static int disk_ftruncate(void *context, int fd, off_t length)
{
    return disk_dead(context) ? -1 : ftruncate(fd, length);
}

static int disk_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static int disk_rename(void *context, const char *from, const char *to)
{
    return disk_dead(context) ? -1 : rename(from, to);
}

static int disk_unlink(void *context, const char *path)
{
    return disk_dead(context) ? -1 : unlink(path);
}

static int disk_mkdir(void *context, const char *path, mode_t mode)
{
    return disk_dead(context) ? -1 : mkdir(path, mode);
}

static int disk_link(void *context, const char *from, const char *to)
{
    return disk_dead(context) ? -1 : link(from, to);
}

/* A disk whose root exists and is durable and empty.  stop_at: calls that still happen, -1 = all. */
static inline struct volatile_disk *disk_create(const char *root, long stop_at)
{
    struct volatile_disk *d = calloc(1, sizeof(*d));
    assert_non_null(d);
    d->ops =
        (struct atoll_file_ops){d,          disk_open,   disk_write_at, disk_ftruncate, disk_sync, disk_sync,
                                disk_close, disk_rename, disk_unlink,   disk_mkdir,     disk_link};
    snprintf(d->root, sizeof(d->root), "%s", root);
    d->stop_at = -1;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    disk_sync(d, fd);
    close(fd);
    d->stop_at = stop_at;
    return d;
}

static void disk_write_out(struct volatile_disk *d, ino_t inode, int is_dir, const char *path)
{
    struct disk_object *o = disk_find(d, inode);
    if (!is_dir) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        if (o && o->length)
            fwrite(o->bytes, 1, o->length, f);
        fclose(f);
        return;
    }
    assert_int_equal(mkdir(path, 0777), 0);
    for (unsigned i = 0; o && i < o->entry_count; i++) {
        char child[PATH_MAX];
        snprintf(child, sizeof(child), "%.3000s/%s", path, o->entries[i].name);
        disk_write_out(d, o->entries[i].inode, o->entries[i].is_dir, child);
    }
}

/* Writes what is on the platter to the new folder `after`. */
static inline void disk_power_loss(struct volatile_disk *d, const char *after)
{
    struct stat st;
    assert_int_equal(stat(d->root, &st), 0);
    disk_write_out(d, st.st_ino, 1, after);
}

static inline void disk_destroy(struct volatile_disk *d)
{
    for (unsigned i = 0; i < d->object_count; i++) {
        close(d->objects[i].pin);
        free(d->objects[i].bytes);
    }
    free(d);
}

#endif
