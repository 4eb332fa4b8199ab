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
