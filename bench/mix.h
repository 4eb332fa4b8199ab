/* mix.h - candidates for measurements of a whole evaluator: tasks, and sources that differ from each other.
 * Layer: bench.  Lifetime: load/fini, make/fini. */
#ifndef ATOLL_BENCH_MIX_H
#define ATOLL_BENCH_MIX_H

#include "bench/mutant.h"
#include "core/candidate.h"
#include "core/message.h"
#include "core/task/task.h"

#define ATOLL_MIX_TASK_LIMIT 64

struct atoll_mix_tasks {
    size_t count;
    struct atoll_task *tasks[ATOLL_MIX_TASK_LIMIT]; /* owned */
    int has_triton; /* every other one of the right candidates is a Triton source, where the task has one */
};

/* Adds the tasks of a suite (or the one of a folder) that have CUDA seeds; only: name of the one wanted, NULL all. */
int atoll_mix_tasks_add(struct atoll_mix_tasks *tasks, const char *dir, const char *only,
                        struct atoll_err *err);
void atoll_mix_tasks_fini(struct atoll_mix_tasks *tasks);

/* Indices of a task's seeds in CUDA; ret_seeds has room for ATOLL_TASK_SEED_LIMIT. */
size_t atoll_mix_seeds(const struct atoll_task *task, size_t *ret_seeds);
/* The first Triton seed; seed_count: none. */
size_t atoll_mix_triton_seed(const struct atoll_task *task);

struct atoll_mix_candidate {
    uint32_t task;
    size_t seed; /* of the task */
    enum atoll_mutant mutant;
    char *source; /* owned */
    const char *language;
    struct atoll_choice choice;
    struct atoll_id id;
};

/* One candidate; its text differs from those with other numbers.  draw: 0 chooses the first value of every param, else
 * legal values are drawn from it. */
int atoll_mix_candidate_make(const struct atoll_mix_tasks *tasks, uint32_t task, size_t seed,
                             enum atoll_mutant mutant, unsigned number, uint64_t draw,
                             struct atoll_mix_candidate *ret_candidate, struct atoll_err *err);
void atoll_mix_candidate_fini(struct atoll_mix_candidate *candidate);

/* count candidates in an order that the seed gives: a tenth does not compile, a tenth is wrong, one hangs, one faults
 * (from 10 candidates on), the rest is right.  Tasks and their seeds take turns.  ret_candidates: owned array, ended by
 * atoll_mix_fini. */
int atoll_mix_make(const struct atoll_mix_tasks *tasks, size_t count, uint64_t seed,
                   struct atoll_mix_candidate **ret_candidates, struct atoll_err *err);
void atoll_mix_fini(struct atoll_mix_candidate *candidates, size_t count);

/* What is said of a mutant: 1 when the verdict is the one that it is made for. */
int atoll_mix_is_as_meant(enum atoll_mutant mutant, enum atoll_verdict verdict);

/* The order of a candidate; texts are borrowed from it. */
void atoll_mix_order(const struct atoll_mix_candidate *candidate, uint64_t evaluation,
                     struct atoll_order *ret_order);

#endif
