/* drop_unsynced.c - an LD_PRELOAD library that remembers what a crash of the machine would leave: file contents as of their last
 * fsync or fdatasync, directory entries as of the last fsync of the directory.  rebuild.py makes a tree of it.
 * ATOLL_SHADOW: folder (outside the watched tree) that receives inode.<n> (contents) and dir.<n> (one "<inode> <kind> <name>" a line).
 * ATOLL_SHADOW_LIE=1: syncs are forgotten, so that a test can show that it would notice.
 * ATOLL_SHADOW_BOOT: a file that is read in place of the kernel's boot id: a machine that stopped has another one afterwards. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *shadow(void)
{
    return getenv("ATOLL_SHADOW");
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void shadow_path(char *path, const char *kind, unsigned long inode)
{
    snprintf(path, PATH_MAX, "%s/%s.%lu", shadow(), kind, inode);
}

static void forget(unsigned long inode)
{
    char path[PATH_MAX];

    shadow_path(path, "inode", inode);
    remove(path);
    shadow_path(path, "dir", inode);
    remove(path);
}

static void commit(const char *temporary, const char *kind, unsigned long inode)
{
    char path[PATH_MAX];
    int (*real_rename)(const char *, const char *) = (int (*)(const char *, const char *))next("rename");

    shadow_path(path, kind, inode);
    real_rename(temporary, path);
}

/* Several threads of a process may sync at once. */
static void temporary_path(char *path)
{
    snprintf(path, PATH_MAX, "%s/.part.%ld", shadow(), (long)syscall(SYS_gettid));
}

/* As much as there was when the sync began: others may write on. */
static void keep_file(int fd, const struct stat *st)
{
    char temporary[PATH_MAX], own[64], block[65536];
    int from, to;
    off_t left = st->st_size;
    ssize_t got;

    temporary_path(temporary);
    snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
    from = open(own, O_RDONLY | O_CLOEXEC);
    to = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (from >= 0 && to >= 0 && left > 0 && (got = read(from, block, sizeof(block))) > 0) {
        got = got < left ? got : (ssize_t)left;
        left -= got;
        if (write(to, block, (size_t)got) != got)
            abort();
    }
    close(from);
    close(to);
    commit(temporary, "inode", (unsigned long)st->st_ino);
}

static void keep_directory(int fd, const struct stat *st)
{
    char temporary[PATH_MAX], own[64];
    DIR *dir;
    struct dirent *entry;
    FILE *out;

    temporary_path(temporary);
    snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
    dir = opendir(own);
    out = fopen(temporary, "w");
    while (dir && out && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            fprintf(out, "%lu %c %s\n", (unsigned long)entry->d_ino, entry->d_type == DT_DIR ? 'd' : 'f',
                    entry->d_name);
        }
    }
    if (dir)
        closedir(dir);
    if (out)
        fclose(out);
    commit(temporary, "dir", (unsigned long)st->st_ino);
}

static int synced(int fd, const char *symbol)
{
    struct stat st;
    int is_kept = shadow() && !getenv("ATOLL_SHADOW_LIE") && fstat(fd, &st) == 0;
    int result = ((int (*)(int))next(symbol))(fd);

    if (result == 0 && is_kept && S_ISDIR(st.st_mode))
        keep_directory(fd, &st);
    else if (result == 0 && is_kept && S_ISREG(st.st_mode))
        keep_file(fd, &st);
    return result;
}

int fsync(int fd)
{
    return synced(fd, "fsync");
}

int fdatasync(int fd)
{
    return synced(fd, "fdatasync");
}

static int watched_open(const char *symbol, int dir, const char *path, int flags, mode_t mode)
{
    int (*real_openat)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))next(symbol);
    struct stat st;
    const char *boot = getenv("ATOLL_SHADOW_BOOT");
    if (boot && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0)
        return real_openat(AT_FDCWD, boot, flags);
    int is_new = (flags & O_CREAT) && shadow() && fstatat(dir, path, &st, 0) != 0;
    int fd = real_openat(dir, path, flags, mode);

    if (fd >= 0 && is_new && fstat(fd, &st) == 0)
        forget((unsigned long)st.st_ino);
    return fd;
}

#define WATCHED_OPEN(name)                                                                                   \
    int name(const char *path, int flags, ...)                                                               \
    {                                                                                                        \
        va_list list;                                                                                        \
        mode_t mode;                                                                                         \
                                                                                                             \
        va_start(list, flags);                                                                               \
        mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, unsigned) : 0;                           \
        va_end(list);                                                                                        \
        return watched_open("openat", AT_FDCWD, path, flags, mode);                                          \
    }
WATCHED_OPEN(open)
WATCHED_OPEN(open64)

#define WATCHED_OPENAT(name)                                                                                 \
    int name(int dir, const char *path, int flags, ...)                                                      \
    {                                                                                                        \
        va_list list;                                                                                        \
        mode_t mode;                                                                                         \
                                                                                                             \
        va_start(list, flags);                                                                               \
        mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, unsigned) : 0;                           \
        va_end(list);                                                                                        \
        return watched_open("openat", dir, path, flags, mode);                                               \
    }
WATCHED_OPENAT(openat)
WATCHED_OPENAT(openat64)

int mkdir(const char *path, mode_t mode)
{
    int result = ((int (*)(const char *, mode_t))next("mkdir"))(path, mode);
    struct stat st;

    if (result == 0 && shadow() && stat(path, &st) == 0)
        forget((unsigned long)st.st_ino);
    return result;
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    int result = ((int (*)(int, const char *, mode_t))next("mkdirat"))(dir, path, mode);
    struct stat st;

    if (result == 0 && shadow() && fstatat(dir, path, &st, 0) == 0)
        forget((unsigned long)st.st_ino);
    return result;
}
