/* session.h - one run of bench_throughput: options, tasks, an evaluator, and the JSON that is written on the way.
 * Layer: bench.  One owner thread. */
#ifndef ATOLL_BENCH_SESSION_H
#define ATOLL_BENCH_SESSION_H

#include <stdio.h>

#include "bench/drive.h"

struct atoll_session_options {
    size_t count, each;
    const char *task, *counters, *json, *gpu, *target, *barrier;
    double seconds;
    unsigned slots, warm;
    uint64_t seed;
    int yardstick, compile_only, has_triton;
    char **dirs;
    int dir_count;
};

/* What a session of measurements has. */
struct atoll_session {
    struct atoll_session_options options;
    struct atoll_mix_tasks tasks;
    struct atoll_setup setup;
    struct atoll_drive drive;
    FILE *json;
};

int atoll_session_setup(struct atoll_session *s, struct atoll_err *err);
int atoll_session_tasks(struct atoll_session *s, struct atoll_err *err);
/* The evaluator with all tasks; prints the device and begins the JSON. */
int atoll_session_open(struct atoll_session *s, struct atoll_err *err);
/* `count` candidates of one seed with the first choice of its params.  number: of the first; incumbent_ns: of their
 * orders, 0 none; records: room for count. */
int atoll_session_seed_run(struct atoll_session *s, uint32_t task, size_t seed, unsigned number, size_t count,
                           double incumbent_ns, struct atoll_drive_record *records,
                           struct atoll_drive_series *ret_series, struct atoll_err *err);
/* Evaluates every seed of every task, one at a time: what is measured later finds answers, baselines and elites there.
 * ret_medians: by task and place of the seed; 0 where it was not right. */
int atoll_session_warm(struct atoll_session *s, double (*ret_medians)[ATOLL_TASK_SEED_LIMIT],
                       struct atoll_err *err);

/* yardstick.c: the two tasks whose time with another harness is known, each seed alone. */
int atoll_yardstick_run(struct atoll_session *s, struct atoll_err *err);

#endif
