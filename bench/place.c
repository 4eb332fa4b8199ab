#include "bench/place.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[PATH_MAX];
static pid_t owner;

static void program_name(const char *variable, const char *folder, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/../%s", folder, name);
    if (!getenv(variable) && length > 0 && (size_t)length < sizeof(path) && access(path, X_OK) == 0)
        setenv(variable, path, 1);
}

void atoll_place_programs(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return;
    *slash = '\0';
    program_name("ATOLL_WORKER", self, "atoll-worker");
    program_name("ATOLL_WORKER_CUDA", self, "atoll-worker-cuda");
    program_name("ATOLL_COMPILE_CUDA", self, "atoll-compile-cuda");
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* Not in children that end: the folder is their parent's. */
static void scratch_remove(void)
{
    if (scratch[0] && getpid() == owner)
        nftw(scratch, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

int atoll_place_scratch(struct atoll_err *err)
{
    const char *tmp = getenv("TMPDIR");
    int length = snprintf(scratch, sizeof(scratch), "%s/atoll-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (length < 0 || (size_t)length >= sizeof(scratch) || !mkdtemp(scratch)) {
        scratch[0] = '\0';
        return atoll_err_errno(err, errno, "cannot make a scratch folder");
    }
    owner = getpid();
    setenv("ATOLL_SCRATCH", scratch, 1);
    atexit(scratch_remove);
    return 0;
}
