/* scratch.h - a temporary folder per test, and sample values shared by the archive's tests. */
#ifndef ATOLL_TEST_ARCHIVE_SCRATCH_H
#define ATOLL_TEST_ARCHIVE_SCRATCH_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/decision.h"
#include "core/event.h"

static int scratch_remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

static inline void scratch_remove(const char *path)
{
    nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A fresh folder below the build folder; the text is valid until the next call of the same test program ends
 * it. */
static inline void scratch_make(char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/scratch-XXXXXX", ATOLL_BUILD_DIR);
    assert_non_null(mkdtemp(ret_path));
}

static inline const char *scratch_join(char ret_path[PATH_MAX], const char *dir, const char *name)
{
    assert_true((size_t)snprintf(ret_path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX);
    return ret_path;
}

static inline char *scratch_read(const char *path, size_t *ret_length)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long length = ftell(f);
    assert_true(length >= 0);
    rewind(f);
    char *bytes = malloc((size_t)length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)length, f), (size_t)length);
    bytes[length] = '\0';
    fclose(f);
    *ret_length = (size_t)length;
    return bytes;
}

static inline void scratch_write(const char *path, const void *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static inline struct atoll_id sample_id(uint64_t n)
{
    return atoll_id_of(&n, sizeof(n));
}

/* A TICK: the smallest event, told apart by its time. */
static inline void sample_tick(struct atoll_event *e, int64_t n)
{
    atoll_event_init(e, ATOLL_EVENT_TICK);
    e->campaign_ns = n * 1000;
    e->unix_ns = 1700000000000000000 + n * 1000;
}

static inline struct atoll_decision sample_evaluate(uint64_t evaluation, uint32_t task)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = ATOLL_DECIDE_EVALUATE;
    d.evaluation = evaluation;
    d.task = task;
    d.candidate = sample_id(evaluation);
    d.source = sample_id(1000 + evaluation);
    d.op = ATOLL_OPERATOR_SEED;
    return d;
}

#endif
