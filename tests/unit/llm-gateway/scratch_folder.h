/* scratch_folder.h - a folder of a test's own, of a test. */
#ifndef ATOLL_TEST_GATEWAY_SCRATCH_FOLDER_H
#define ATOLL_TEST_GATEWAY_SCRATCH_FOLDER_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    const char *memory =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ATOLL_BUILD_DIR; /* where a sync takes no time */
    snprintf(ret_path, PATH_MAX, "%s/atoll-scratch-XXXXXX", memory);
    assert_non_null(mkdtemp(ret_path));
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
