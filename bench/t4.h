/* t4.h - recorded tuning spaces: files in the T4 format of the auto-tuning community (schema 1.0.0 of
 * github.com/AutoTuningAssociation), plain or gzipped, as a space of evolution/tuner/space.h and a table of answers.
 * Layer: bench.  Lifetime: load/destroy; immutable between, so threads may share it.  Files are hostile input.
 *
 * Legal are the configurations that the file records, except those marked as "constraints".  A parameter whose values
 * are not all integers has the positions of its sorted values instead.  A configuration is right when it is marked
 * "correct", its correctness is not 0 and its objective is a number above 0; any other is a failure. */
#ifndef ATOLL_BENCH_T4_H
#define ATOLL_BENCH_T4_H

#include "evolution/tuner/space.h"

#define ATOLL_T4_ENTRY_LIMIT  1000000
#define ATOLL_T4_STATUS_COUNT 4

enum atoll_t4_status { ATOLL_T4_CORRECT, ATOLL_T4_COMPILE, ATOLL_T4_RUNTIME, ATOLL_T4_INCORRECT };

struct atoll_t4_entry {
    struct atoll_point point;
    enum atoll_t4_status status;
    double time_ns; /* what the recording says of all runs; 0 unless CORRECT */
    double compile_ns;
    size_t first, run_count; /* in runs_ns */
};

struct atoll_t4 {
    char name[64];            /* of the file, without _T4.json.gz */
    struct atoll_space space; /* its context is this object */
    double unit_ns;           /* of the file's times */
    size_t count, constraint_count;
    struct atoll_t4_entry *entries; /* ascending by point */
    double *runs_ns;
};

/* Errors: those of json_file.h, INPUT "t4: result 17: configuration: 'block_size_x' is missing", MEMORY. */
struct atoll_t4 *atoll_t4_load(const char *path, struct atoll_err *err);
void atoll_t4_destroy(struct atoll_t4 *t4);
/* NULL when the point is not legal. */
const struct atoll_t4_entry *atoll_t4_find(const struct atoll_t4 *t4, const struct atoll_point *point);

#endif
