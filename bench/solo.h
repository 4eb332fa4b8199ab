/* solo.h - a referee in this process and kernels compiled for it, for measurements that evaluate one after the other.
 * Layer: bench.  Lifetime: open/close, build/fini. */
#ifndef ATOLL_BENCH_SOLO_H
#define ATOLL_BENCH_SOLO_H

#include "bench/mutant.h"
#include "core/task/task.h"
#include "mpi-eval/referee/backend.h"
#include "scheduler/doctor/calibrate_device.h"

struct atoll_solo {
    const struct atoll_backend *backend;
    struct atoll_bench_device device;
};

/* A kernel of a task, compiled. */
struct atoll_kernel {
    char *source; /* owned */
    struct atoll_order_candidate candidate;
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
};

/* backend: "cuda", "cpu"; counters: none. */
int atoll_solo_open(struct atoll_solo *solo, const char *backend, struct atoll_err *err);
void atoll_solo_close(struct atoll_solo *solo);
/* Seeds of a task in the backend's language; ret_seeds has room for ATOLL_TASK_SEED_LIMIT. */
size_t atoll_solo_seeds(const struct atoll_task *task, const char *backend, size_t *ret_seeds);
/* A mutant of a seed with the first choice of its params.  ATOLL_E_MISMATCH when it is not compiled. */
int atoll_kernel_build(struct atoll_solo *solo, const struct atoll_task *task, size_t seed,
                       enum atoll_mutant mutant, unsigned number, struct atoll_kernel *ret_kernel,
                       struct atoll_err *err);
/* A source in a language of the backend, with a choice of its params (NULL: the first). */
int atoll_kernel_make(struct atoll_solo *solo, const struct atoll_task *task, const char *language,
                      const char *source, const struct atoll_choice *choice, struct atoll_kernel *ret_kernel,
                      struct atoll_err *err);
void atoll_kernel_fini(struct atoll_kernel *kernel);
/* Evaluates it as `evaluation` with nothing known before; evaluation: init'ed by the caller.  ATOLL_E_MISMATCH when it is
 * not right. */
int atoll_kernel_evaluate(struct atoll_solo *solo, uint32_t task, const struct atoll_kernel *kernel,
                          uint64_t evaluation, struct atoll_evaluation *ret_evaluation,
                          struct atoll_err *err);

#endif
