/* executor_state.h - what the sources of the executor share: its state, and what each does with it.
 * Layer: mpi-eval, backend/cuda; for executor*.c.  Where a function returns unsigned, it is a CUresult; trouble
 * of ours is a text in the reply and INVALID_VALUE.  One owner thread. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_STATE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_STATE_H

#include "mpi-eval/backend/cuda/process/counters.h"
#include "mpi-eval/backend/cuda/process/driver.h"
#include "mpi-eval/backend/cuda/process/executor.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"

#define ATOLL_EXECUTOR_STAGING_BYTES    ((size_t)1 << 20)
#define ATOLL_EXECUTOR_READ_LIMIT       256 /* small reads of one batch */
#define ATOLL_EXECUTOR_PORTABLE_CLUSTER 8u  /* blocks */

struct function {
    struct CUfunc_st *handle;
    uint32_t param_count;  /* 0 where the driver does not tell */
    uint32_t shared_bytes; /* opted in */
    int wide_cluster;
};

/* A small read under way: `bytes` from staging belong at `place` of the results. */
struct reading {
    size_t staged, place, bytes;
};

struct atoll_cuda_executor {
    const struct atoll_cuda *cuda;
    int device, has_context;
    struct CUctx_st *context;
    struct CUstream_st *stream;
    struct CUevent_st *events[ATOLL_DEVICE_COMMAND_EVENT_LIMIT];
    struct CUmod_st *modules[ATOLL_DEVICE_COMMAND_MODULE_LIMIT];
    struct function functions[ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT];
    uint32_t function_module[ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT];
    atoll_cuda_address memory[ATOLL_DEVICE_COMMAND_MEMORY_LIMIT];
    unsigned char *staging;
    struct atoll_counters *counters;
    /* of the batch under way */
    struct atoll_command_batch_reply *reply;
    struct reading readings[ATOLL_EXECUTOR_READ_LIMIT];
    size_t reading_count, staged;
    uint32_t recorded; /* bit per event */
    uint32_t *gate;    /* behind the staging; not 0: open */
    int is_gated;      /* a gate of the batch is not open yet */
    double begin_ns;
    struct atoll_reader reader;
    size_t pass_offset; /* of the first step of a counting pass, */
    uint32_t pass_step; /* and its number */
};

/* ---- executor_device.c: the device ---- */

/* Sets x->device. wanted: as for atoll_cuda_executor_create. */
int atoll_executor_device_find(struct atoll_cuda_executor *x, const char *wanted, struct atoll_err *err);
/* -1; what: the clause before the driver's own words. */
int atoll_executor_cuda_fail(const struct atoll_cuda *cuda, unsigned result, const char *what,
                             struct atoll_err *err);

/* ---- executor_batch.c: the batch under way ---- */

/* INVALID_VALUE, with the text in the reply. */
unsigned atoll_executor_refuse(struct atoll_cuda_executor *x, const char *text);
/* Appends one result of `count` numbers to the reply. */
void atoll_executor_result_u64(struct atoll_cuda_executor *x, const uint64_t *values, size_t count);

/* ---- executor_module.c ---- */

unsigned atoll_executor_module_load(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_module_unload(struct atoll_cuda_executor *x, uint32_t slot);
unsigned atoll_executor_function_get(struct atoll_cuda_executor *x, const struct atoll_device_command *s);

/* ---- executor_memory.c ---- */

unsigned atoll_executor_memory_alloc(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_memory_free(struct atoll_cuda_executor *x, uint32_t slot);
unsigned atoll_executor_memory_info(struct atoll_cuda_executor *x);
unsigned atoll_executor_memory_read(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_memory_write(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
/* Moves small reads to their places in the results; after the stream has been waited for. */
void atoll_executor_reads_settle(struct atoll_cuda_executor *x);

/* ---- executor_launch.c ---- */

/* Encodes the launch's tensor maps into its parameters. */
unsigned atoll_executor_launch(struct atoll_cuda_executor *x, struct atoll_device_command_launch *l);

/* ---- executor_gate.c: the gate, events, waiting ---- */

/* Launches the gate's kernel, `function`: what is queued behind it is held back until something waits.
 * l: overwritten. */
unsigned atoll_executor_gate_close(struct atoll_cuda_executor *x, uint32_t function,
                                   struct atoll_device_command_launch *l);
/* Opens the gate, then waits for the stream. */
unsigned atoll_executor_wait(struct atoll_cuda_executor *x);
/* The same, and notes when each event was seen. */
unsigned atoll_executor_wait_watching(struct atoll_cuda_executor *x);
unsigned atoll_executor_event_record(struct atoll_cuda_executor *x, uint32_t event);
/* Times between events into the reply; after the stream has been waited for. */
void atoll_executor_events_read(struct atoll_cuda_executor *x);

/* ---- executor_counters.c ---- */

unsigned atoll_executor_counters_open(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_counters_begin(struct atoll_cuda_executor *x);
/* Goes back to the first launch until the last pass is done. */
unsigned atoll_executor_counters_end(struct atoll_cuda_executor *x);

#endif
