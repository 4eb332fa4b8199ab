/* state.h - what the referee keeps for a cpu device, and the functions of its table (referee/backend.h).
 * Layer: mpi-eval, backend/cpu.  Lifetime: made by atoll_cpu_open, ended by atoll_cpu_close. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_STATE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_STATE_H

#include "mpi-eval/backend/cpu/measure/expected.h"
#include "mpi-eval/backend/cpu/measure/device.h"
#include "mpi-eval/backend/cpu/measure/oracle.h"
#include "mpi-eval/referee/fill.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/trial.h"

struct atoll_cpu {
    struct atoll_device device;
    struct atoll_runner_settings runner;
    struct atoll_runner_settings
        oracle_runner; /* nothing is timed there: every core, and the referee sleeps */
    int oracle_cores[ATOLL_DEVICE_CORE_LIMIT];
    struct atoll_calibration *calibration; /* NULL where nothing is measured */
    struct atoll_memory *memory;           /* of candidates */
    struct atoll_memory *oracle_memory;    /* of references: never shared with candidates */
    struct atoll_torch_oracle *torch;      /* of tasks that PyTorch defines */
    struct atoll_torch_oracle *
        torch_other; /* another process, on 1 thread, that the admission battery asks, too; NULL until it does */
    struct atoll_compiler
        *plain_compiler; /* without optimisation, of the battery as well; NULL until it asks */
    struct atoll_expected_cache *expected_cache;
    /* on the cores of candidates; NULL where the referee has no core of its own, or where no instruction puts out of their caches
     * what it has touched */
    struct atoll_team *team;
    struct atoll_runner *moving;   /* borrowed: the worker that sets up its next child; NULL none */
    struct atoll_probes probes[2]; /* before and after samples */
    double busy;                   /* share of samples that others disturbed lately */
};

static inline struct atoll_cpu *atoll_cpu_of(const struct atoll_referee *referee)
{
    return (struct atoll_cpu *)referee->device_state;
}

/* Before anything is timed: until no worker of a candidate sets up its next child (atoll_runner_settle). */
void atoll_cpu_settle(struct atoll_referee *referee);

enum atoll_verdict atoll_cpu_loaded_candidate_open(struct atoll_referee *referee,
                                                   const struct atoll_prepared *prepared, const void *object,
                                                   size_t object_length,
                                                   struct atoll_loaded_candidate *ret_candidate,
                                                   char *ret_detail);
void atoll_cpu_loaded_candidate_close(struct atoll_referee *referee,
                                      struct atoll_loaded_candidate *candidate);
void atoll_cpu_trial(struct atoll_referee *referee, struct atoll_case *known,
                     struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                     struct atoll_trial *ret_trial);

/* atoll_expected_cache_get, with questions to the reference booked in the case's answers. */
struct atoll_expected *atoll_cpu_expected(struct atoll_cpu *cpu, struct atoll_case *known,
                                          const struct atoll_input_set *input_set, int need_full,
                                          struct atoll_err *err);

/* Checks one set of outputs against what is expected; data: by tensor number, NULL where there is none; fills may be
 * NULL. 1 right, 0 wrong (detail filled), -1 err.  Used by trials and by the admission battery's fake
 * outputs. */
int atoll_outputs_check(const struct atoll_cpu *cpu, const struct atoll_case *known,
                        const struct atoll_expected *expected, const void *const *data,
                        const struct atoll_fill *const *fills, double *ret_worst, char *ret_detail,
                        struct atoll_err *err);

#endif
