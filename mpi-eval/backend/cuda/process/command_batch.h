/* command_batch.h - what a referee asks the device process to do: a batch of commands out, one reply back.
 * Layer: mpi-eval, backend/cuda.  Needs no device library: batches are built, sent and read anywhere; executor.c
 * carries them out.  The device process decides nothing: addresses, launches, seeds and verdicts are the referee's.
 *
 * Commands run in order on one stream, queued without waiting; SYNC and the end of a batch wait.  A failed command ends the
 * batch: the reply says which and why, and the caller starts another device process when the failure is sticky.
 * Slots (modules, functions, memory) are small numbers of the caller's and live across batches. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_COMMAND_BATCH_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_COMMAND_BATCH_H

#include "base/buffer.h"

#define ATOLL_DEVICE_COMMAND_MODULE_LIMIT   64
#define ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT 1024
#define ATOLL_DEVICE_COMMAND_MEMORY_LIMIT   64
#define ATOLL_DEVICE_COMMAND_EVENT_LIMIT    32
#define ATOLL_DEVICE_COMMAND_PARAM_BYTES    4096               /* kernel parameters of one launch */
#define ATOLL_DEVICE_COMMAND_PARAM_LIMIT    64                 /* kernel parameters, in number */
#define ATOLL_DEVICE_COMMAND_MAP_LIMIT      16                 /* tensor maps of one launch */
#define ATOLL_COMMAND_BATCH_BYTES           ((size_t)96 << 20) /* of a batch and of a reply */
#define ATOLL_DEVICE_COMMAND_COUNTER_LIMIT  64
#define ATOLL_DEVICE_COMMAND_HANDLE_BYTES   64 /* of memory of another process */

enum atoll_device_command_kind {
    ATOLL_DEVICE_COMMAND_MODULE_LOAD = 1, /* slot, cubin; what was in the slot is unloaded */
    ATOLL_DEVICE_COMMAND_MODULE_UNLOAD,   /* slot */
    ATOLL_DEVICE_COMMAND_FUNCTION, /* function slot, module slot, name -> struct atoll_device_command_function */
    ATOLL_DEVICE_COMMAND_ALLOC, /* memory slot, 0 or 1: lent, bytes -> u64 address; what was in the slot is freed */
    ATOLL_DEVICE_COMMAND_FREE,        /* memory slot */
    ATOLL_DEVICE_COMMAND_LAUNCH,      /* struct atoll_device_command_launch */
    ATOLL_DEVICE_COMMAND_WRITE,       /* address, bytes: host to device */
    ATOLL_DEVICE_COMMAND_READ,        /* address, count -> bytes, after all commands before it */
    ATOLL_DEVICE_COMMAND_SET,         /* address, u32 pattern, count of 4-byte words */
    ATOLL_DEVICE_COMMAND_EVENT,       /* index: time stamp of the device */
    ATOLL_DEVICE_COMMAND_CACHE_RESET, /* persisting lines of the L2 become normal */
    ATOLL_DEVICE_COMMAND_SYNC,
    ATOLL_DEVICE_COMMAND_GATE, /* function slot (struct atoll_gate_launch): the device waits there until all is queued */
    ATOLL_DEVICE_COMMAND_COUNTERS_OPEN, /* slot, names of metrics; slow (most of a second), once per set -> u64 passes */
    ATOLL_DEVICE_COMMAND_COUNTERS_BEGIN, /* slot; the commands until END are repeated, pass by pass ... */
    ATOLL_DEVICE_COMMAND_COUNTERS_START, /* ... and the launches from here to END counted, a range each */
    ATOLL_DEVICE_COMMAND_COUNTERS_END,   /* -> u32 ranges, then per range one f64 per metric */
    ATOLL_DEVICE_COMMAND_FOREIGN_OPEN, /* handle, bytes that it must have: memory of another process on this device is mapped */
    ATOLL_DEVICE_COMMAND_FOREIGN_COPY,  /* address, offset in it, count: device to device */
    ATOLL_DEVICE_COMMAND_FOREIGN_CLOSE, /* waits for the copies; the mapping is gone */
    ATOLL_DEVICE_COMMAND_SHARE,         /* memory slot -> handle by which another process attaches it */
    ATOLL_DEVICE_COMMAND_ATTACH, /* memory slot, handle, bytes that it must have -> u64 address; mapped until FREE */
    ATOLL_DEVICE_COMMAND_COPY, /* memory slot, another one, bytes: from the beginning of that one to the beginning of this one */
    ATOLL_DEVICE_COMMAND_KIND_COUNT
};

/* A tensor map encoded into the parameter bytes of a launch: 128 bytes at `offset`. */
struct atoll_device_command_map {
    uint32_t offset;
    uint32_t dtype; /* enum atoll_dtype */
    uint32_t rank, swizzle_bytes, l2_bytes;
    uint64_t address;
    uint64_t extent[5], stride_bytes[4];
    uint32_t box[5];
};

struct atoll_device_command_launch {
    uint32_t function;                      /* slot */
    uint32_t grid[3], block[3], cluster[3]; /* cluster: 0 = none */
    uint32_t shared_bytes;                  /* dynamic; above 48 KiB the function is opted in */
    uint32_t cooperative;
    /* one after the other in params; where the kernel wants them is the driver's to know */
    uint32_t param_count, param_bytes;
    uint32_t param_offset[ATOLL_DEVICE_COMMAND_PARAM_LIMIT];
    unsigned char params[ATOLL_DEVICE_COMMAND_PARAM_BYTES];
    uint32_t map_count;
    struct atoll_device_command_map maps[ATOLL_DEVICE_COMMAND_MAP_LIMIT];
};

/* What a FUNCTION command tells about a kernel. */
struct atoll_device_command_function {
    uint32_t registers, static_shared_bytes, local_bytes, constant_bytes, threads_limit, binary_version;
    uint32_t param_count;
    struct {
        uint32_t offset, bytes;
    } params[ATOLL_DEVICE_COMMAND_PARAM_LIMIT];
};

/* ---- building a batch; failures are the buffer's, checked once at the end ---- */

struct atoll_command_batch {
    struct atoll_buffer bytes;
    uint32_t count;
};

void atoll_command_batch_init(struct atoll_command_batch *batch);
void atoll_command_batch_fini(struct atoll_command_batch *batch);
void atoll_command_batch_clear(struct atoll_command_batch *batch);
void atoll_command_batch_module_load(struct atoll_command_batch *batch, uint32_t module, const void *cubin,
                                     size_t length);
void atoll_command_batch_module_unload(struct atoll_command_batch *batch, uint32_t module);
void atoll_command_batch_function(struct atoll_command_batch *batch, uint32_t function, uint32_t module,
                                  const char *name);
void atoll_command_batch_alloc(struct atoll_command_batch *batch, uint32_t memory, uint64_t bytes);
/* The same for large memory that comes and goes: when it is freed the process sets it aside, where nothing can reach it, and has it again
 * for the same slot and size, with what was in it.  It lets it go where the device has little left.  Such memory cannot be shared. */
void atoll_command_batch_alloc_lent(struct atoll_command_batch *batch, uint32_t memory, uint64_t bytes);
void atoll_command_batch_free(struct atoll_command_batch *batch, uint32_t memory);
void atoll_command_batch_launch(struct atoll_command_batch *batch,
                                const struct atoll_device_command_launch *launch);
void atoll_command_batch_write(struct atoll_command_batch *batch, uint64_t address, const void *bytes,
                               size_t length);
void atoll_command_batch_read(struct atoll_command_batch *batch, uint64_t address, uint64_t count);
void atoll_command_batch_set(struct atoll_command_batch *batch, uint64_t address, uint32_t pattern,
                             uint64_t words);
void atoll_command_batch_event(struct atoll_command_batch *batch, uint32_t event);
void atoll_command_batch_cache_reset(struct atoll_command_batch *batch);
void atoll_command_batch_sync(struct atoll_command_batch *batch);
/* At most one per batch: what follows it starts when the last command is queued (or something waits, or after
 * ATOLL_GATE_LIMIT_NS), so that no command of it is late. */
void atoll_command_batch_gate(struct atoll_command_batch *batch, uint32_t function);
void atoll_command_batch_counters_open(struct atoll_command_batch *batch, uint32_t slot,
                                       const char *const *names, uint32_t count);
void atoll_command_batch_counters_begin(struct atoll_command_batch *batch, uint32_t slot);
void atoll_command_batch_counters_start(struct atoll_command_batch *batch);
void atoll_command_batch_counters_end(struct atoll_command_batch *batch);
/* Memory of another process, one piece at a time.  A batch that opens some launches nothing, before or after, and no mapping
 * outlives its batch: one that cannot be closed ends the process (FAULT).  handle: ATOLL_DEVICE_COMMAND_HANDLE_BYTES. */
void atoll_command_batch_foreign_open(struct atoll_command_batch *batch, const void *handle, uint64_t bytes);
void atoll_command_batch_foreign_copy(struct atoll_command_batch *batch, uint64_t address, uint64_t offset,
                                      uint64_t count);
void atoll_command_batch_foreign_close(struct atoll_command_batch *batch);
void atoll_command_batch_share(struct atoll_command_batch *batch, uint32_t memory);
/* handle: ATOLL_DEVICE_COMMAND_HANDLE_BYTES.  The memory stays mapped beside kernels: nothing that is secret lies in it plain. */
void atoll_command_batch_attach(struct atoll_command_batch *batch, uint32_t memory, const void *handle,
                                uint64_t bytes);
/* Both slots must have as many. */
void atoll_command_batch_copy(struct atoll_command_batch *batch, uint32_t to_memory, uint32_t from_memory,
                              uint64_t bytes);

/* Appends one parameter (aligned to 8); the offset it got, or -1 when there is no room.  bytes: 1, 2, 4, 8, or 128 (a
 * tensor map).  value NULL: zeros. */
long atoll_device_command_param(struct atoll_device_command_launch *launch, const void *value,
                                uint32_t bytes);
/* One struct by value, for kernels of ours; it has 8-byte alignment at most. */
void atoll_device_command_params_struct(struct atoll_device_command_launch *launch, const void *value,
                                        uint32_t bytes);

/* ---- reading a reply ---- */

enum atoll_command_batch_status {
    ATOLL_COMMAND_BATCH_DONE,
    ATOLL_COMMAND_BATCH_REFUSED, /* a command was not accepted (launch too large, no such kernel): the context is fine */
    ATOLL_COMMAND_BATCH_FAULT,   /* the context is lost: the process must be replaced */
    ATOLL_COMMAND_BATCH_TIMEOUT, /* killed at the deadline (by the client) */
    ATOLL_COMMAND_BATCH_LOST     /* the process ended by itself (by the client) */
};

struct atoll_command_batch_reply {
    enum atoll_command_batch_status status;
    uint32_t command; /* that failed, from 0 */
    int32_t code;     /* CUresult */
    char text[256];   /* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" */
    double
        wall_ns; /* first command queued to last one finished, by the process's clock (CLOCK_MONOTONIC_RAW) */
    double
        opened_ns; /* when the gate was opened, after the first command; NaN: no gate.  Events seen before were done */
    uint32_t event_count;
    double
        event_ns[ATOLL_DEVICE_COMMAND_EVENT_LIMIT]; /* after event 0, by the device; NaN where not recorded */
    double seen_ns
        [ATOLL_DEVICE_COMMAND_EVENT_LIMIT]; /* when the process saw the event done, after the first command; NaN */
    struct atoll_buffer results;            /* of the commands that have some, in order, each a blob */
    struct atoll_reader reader;             /* over results; take with the functions below */
};

void atoll_command_batch_reply_init(struct atoll_command_batch_reply *r);
void atoll_command_batch_reply_fini(struct atoll_command_batch_reply *r);
/* Results in the order of their commands; trouble is the reader's sticky failure (atoll_reader_finish tells). */
uint64_t atoll_command_batch_take_u64(struct atoll_command_batch_reply *r); /* ALLOC */
void atoll_command_batch_take_function(struct atoll_command_batch_reply *r,
                                       struct atoll_device_command_function *ret_function);
const void *atoll_command_batch_take_bytes(struct atoll_command_batch_reply *r,
                                           size_t *ret_length); /* READ and others; borrowed */

/* Wire form, both sides. */
int atoll_command_batch_reply_decode(const void *bytes, size_t length,
                                     struct atoll_command_batch_reply *ret_reply, struct atoll_err *err);
void atoll_command_batch_reply_encode(const struct atoll_command_batch_reply *r, struct atoll_buffer *out);

/* One command as the device process reads it; points into the batch. */
struct atoll_device_command {
    enum atoll_device_command_kind kind;
    uint32_t slot, other;
    uint64_t address, count, offset;
    const char *name; /* not terminated: name_length */
    size_t name_length;
    const void *bytes;
    size_t length;
};
/* 1: the next command is in ret_step; 0: the end; -1: not a batch.  launch is filled for LAUNCH. */
int atoll_device_command_next(struct atoll_reader *reader, struct atoll_device_command *ret_command,
                              struct atoll_device_command_launch *ret_launch);

#endif
