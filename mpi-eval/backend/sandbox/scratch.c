/* The lock is on the folder itself: a folder whose lock can be taken has no process any more. */
#include "mpi-eval/backend/sandbox/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX      "atoll-scratch-"
#define DEPTH       24 /* a compiler's caches are folders of folders */
#define STALE_AFTER 60 /* seconds: the time between mkdir and lock is far less */

struct atoll_scratch {
    char *path;
    int fd;
};

const char *atoll_scratch_base(void)
{
    static const char *const variables[] = {"ATOLL_SCRATCH", "TMPDIR"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i]);
        if (value && value[0] == '/')
            return value;
    }
    return "/tmp";
}

void atoll_scratch_empty(int folder_fd, int depth)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            unlinkat(folder_fd, e->d_name, 0) == 0 || depth == 0)
            continue;
        int below = openat(folder_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue;
        atoll_scratch_empty(below, depth - 1);
        close(below);
        unlinkat(folder_fd, e->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

static void remove_if_stale(int base_fd, const char *name)
{
    struct stat st;
    int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_mtime + STALE_AFTER < time(NULL) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        atoll_scratch_empty(fd, DEPTH);
        unlinkat(base_fd, name, AT_REMOVEDIR);
    }
    close(fd);
}

struct atoll_scratch *atoll_scratch_create(struct atoll_err *err)
{
    return atoll_scratch_create_in(atoll_scratch_base(), err);
}

struct atoll_scratch *atoll_scratch_create_in(const char *base, struct atoll_err *err)
{
    struct atoll_scratch *scratch = calloc(1, sizeof(*scratch));
    if (!scratch || asprintf(&scratch->path, "%s/%sXXXXXX", base, PREFIX) < 0) {
        free(scratch);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a scratch folder");
        return NULL;
    }
    DIR *dir = opendir(base);
    if (dir) {
        for (struct dirent *e = readdir(dir); e; e = readdir(dir))
            if (strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) == 0)
                remove_if_stale(dirfd(dir), e->d_name);
        closedir(dir);
    }
    scratch->fd = -1;
    if (!mkdtemp(scratch->path)) {
        atoll_err_errno(err, errno,
                        "cannot make a scratch folder in %s (set ATOLL_SCRATCH to a local folder)", base);
        free(scratch->path);
        free(scratch);
        return NULL;
    }
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch->fd < 0 || flock(scratch->fd, LOCK_EX | LOCK_NB) != 0) {
        atoll_err_errno(err, errno, "cannot lock the scratch folder %s", scratch->path);
        atoll_scratch_destroy(scratch);
        return NULL;
    }
    return scratch;
}

void atoll_scratch_destroy(struct atoll_scratch *scratch)
{
    if (!scratch)
        return;
    if (scratch->fd >= 0) {
        atoll_scratch_empty(scratch->fd, DEPTH);
        close(scratch->fd);
    }
    rmdir(scratch->path);
    free(scratch->path);
    free(scratch);
}

const char *atoll_scratch_path(const struct atoll_scratch *scratch)
{
    return scratch->path;
}
