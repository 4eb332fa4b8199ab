/* drive.h - an evaluator in this process: compiler, referee thread and pipeline as in mpi-eval/evaluator/evaluator.c, orders kept in hand
 * as a coordinator would keep them.
 * Layer: bench.  Lifetime: open/close.  One owner thread. */
#ifndef ATOLL_BENCH_DRIVE_H
#define ATOLL_BENCH_DRIVE_H

#include "bench/mix.h"
#include "mpi-eval/evaluator/pipeline.h"

struct atoll_drive {
    struct atoll_compiler *compiler;
    struct atoll_referee_thread *referee_thread;
    struct atoll_pipeline *pipeline;
    unsigned slots;
    double open_ns; /* until the device was there and calibrated */
    /* what a coordinator knows of each task */
    struct {
        double baseline_ns;
        double elite_ns[ATOLL_BEHAVIOUR_CELLS]; /* the best of a cell; 0 none */
    } known[ATOLL_MIX_TASK_LIMIT];
    uint64_t evaluations;
};

/* What an evaluation said, without its samples. */
struct atoll_drive_record {
    uint32_t task;
    size_t seed;
    enum atoll_mutant mutant;
    enum atoll_verdict verdict;
    double compile_ns, check_ns, sampling_ns, counters_ns, occupied_ns, candidate_ns;
    double median_ns, half_width; /* of the first bench variant; half_width: relative */
    uint32_t draws, compared, samples, flags;
    enum atoll_tier tier;
    double ordered_ns, answered_ns; /* since the begin of the series */
    char detail[256];
};

/* slots: of compile children, 0 as many as an evaluator would start.  Waits for the device. */
int atoll_drive_open(struct atoll_drive *drive, const struct atoll_setup *setup, unsigned slots,
                     struct atoll_err *err);
/* 0; -1: the referee's thread hangs and the process should leave. */
int atoll_drive_close(struct atoll_drive *drive);
/* Copies of them, under their places as numbers. */
int atoll_drive_add_tasks(struct atoll_drive *drive, const struct atoll_mix_tasks *tasks,
                          struct atoll_err *err);

/* How orders say what is known of a task: the best of the candidate's cell, as in a campaign, or this time. */
struct atoll_drive_series {
    const struct atoll_mix_candidate *candidates;
    size_t count;
    double incumbent_ns;                /* of every order; 0: the best of the cell */
    double limit_ns;                    /* no new orders after that; 0 none */
    struct atoll_drive_record *records; /* room for count */
    /* results */
    size_t answered;
    double wall_ns; /* from the first order to the last answer */
};
/* Evaluates them all.  -1: the device is gone. */
int atoll_drive_run(struct atoll_drive *drive, const struct atoll_mix_tasks *tasks,
                    struct atoll_drive_series *series, struct atoll_err *err);
const struct atoll_phases *atoll_drive_phases(const struct atoll_drive *drive);
/* What the answers of a task cost so far. */
struct atoll_answer_counts atoll_drive_answers(const struct atoll_drive *drive, uint32_t task);
/* Where the device's time went so far, by task; without memory nothing. */
void atoll_drive_task_times(const struct atoll_drive *drive, struct atoll_device_time *ret_times,
                            size_t count);
/* The same, all tasks together. */
struct atoll_device_time atoll_drive_times(const struct atoll_drive *drive);
const struct atoll_device_info *atoll_drive_device(const struct atoll_drive *drive);

#endif
