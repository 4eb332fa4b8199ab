/* executor_state.h - what the parts of the executor share: its state, refusals and results in the reply, waiting for the stream.
 * Layer: mpi-eval, backend/cuda, inside of the device process.  Of this folder alone.
 *
 * Where a function here returns unsigned, it is a CUresult; trouble of ours is a text in the reply and INVALID_VALUE. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_STATE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_EXECUTOR_STATE_H

#include "mpi-eval/backend/cuda/process/command_batch.h"
#include "mpi-eval/backend/cuda/process/driver.h"
#include "mpi-eval/backend/cuda/process/executor.h"

#define ATOLL_EXECUTOR_STAGING_BYTES ((size_t)1 << 20)
#define ATOLL_EXECUTOR_READ_LIMIT    256 /* small reads of one batch */

struct atoll_executor_function {
    struct CUfunc_st *handle;
    uint32_t param_count;  /* 0 where the driver does not tell */
    uint32_t shared_bytes; /* opted in */
    int wide_cluster;
};

/* A small read under way: `bytes` from staging belong at `place` of the results. */
struct atoll_executor_reading {
    size_t staged, place, bytes;
};

/* Memory of a slot that is mapped while it is lent, and set aside between. */
struct atoll_executor_lent {
    unsigned long long memory;
    size_t bytes; /* 0: there is none */
    int is_mapped;
};

struct atoll_cuda_executor {
    const struct atoll_cuda *cuda;
    int device, has_context;
    struct CUctx_st *context;
    struct CUstream_st *stream;
    struct CUevent_st *events[ATOLL_DEVICE_COMMAND_EVENT_LIMIT];
    struct CUmod_st *modules[ATOLL_DEVICE_COMMAND_MODULE_LIMIT];
    struct atoll_executor_function functions[ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT];
    uint32_t function_module[ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT];
    atoll_cuda_address memory[ATOLL_DEVICE_COMMAND_MEMORY_LIMIT];
    unsigned char is_attached[ATOLL_DEVICE_COMMAND_MEMORY_LIMIT]; /* of memory: another process has it */
    struct atoll_executor_lent lent[ATOLL_DEVICE_COMMAND_MEMORY_LIMIT];
    unsigned char *staging;
    struct atoll_counters *counters;
    /* of the batch under way */
    struct atoll_command_batch_reply *reply;
    struct atoll_executor_reading readings[ATOLL_EXECUTOR_READ_LIMIT];
    size_t reading_count, staged;
    uint32_t recorded; /* bit per event */
    uint32_t *gate;    /* behind the staging; not 0: open */
    int is_gated;      /* a gate of the batch is not open yet */
    double begin_ns;
    struct atoll_reader reader;
    size_t pass_offset;    /* of the first command of a counting pass, */
    uint32_t pass_command; /* and its number */
    int has_launched, has_foreign;
    /* memory of another process; 0: none */
    atoll_cuda_address foreign;
    uint64_t foreign_bytes;
};

/* The text goes into the reply. */
unsigned atoll_executor_refuse(struct atoll_cuda_executor *x, const char *text);
void atoll_executor_result_u64(struct atoll_cuda_executor *x, const uint64_t *values, size_t count);
/* What has passed by now was not held back: it is recorded as seen before. */
void atoll_executor_gate_open(struct atoll_cuda_executor *x);
/* Opens the gate first. */
unsigned atoll_executor_stream_wait(struct atoll_cuda_executor *x);

/* ---- executor_memory.c: one command each, and the end of a batch ---- */

unsigned atoll_executor_alloc(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_free(struct atoll_cuda_executor *x, uint32_t slot);
unsigned atoll_executor_read(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_write(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
/* executor_lent.c: gives an empty slot `bytes` bytes that can be set aside.  NOT_SUPPORTED where the driver has no such memory. */
unsigned atoll_executor_lend(struct atoll_cuda_executor *x, uint32_t slot, uint64_t bytes);
/* Sets the memory of a slot aside, or lets it go. */
unsigned atoll_executor_set_aside(struct atoll_cuda_executor *x, uint32_t slot);
/* Lets go what is set aside: 1 when there was something. */
int atoll_executor_let_go(struct atoll_cuda_executor *x);
unsigned atoll_executor_share(struct atoll_cuda_executor *x, uint32_t slot);
unsigned atoll_executor_attach(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_copy(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_foreign_open(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_foreign_copy(struct atoll_cuda_executor *x, const struct atoll_device_command *s);
unsigned atoll_executor_foreign_close(struct atoll_cuda_executor *x);
/* Whatever became of the batch: what it has opened of another process goes, or the process does. */
void atoll_executor_foreign_end(struct atoll_cuda_executor *x);

#endif
