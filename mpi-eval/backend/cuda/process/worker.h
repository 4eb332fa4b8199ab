/* worker.h - the referee's handle on one device process (atoll-worker-cuda): it owns the context of one GPU and carries
 * out batches of commands (command_batch.h).  Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread.
 *
 * The process is sandboxed, leads a process group of its own and dies with the thread that made it.  It holds no secret:
 * what it knows is what is on the device.  At the deadline its group is killed: the driver takes the context down
 * with it, and the next process starts clean. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_WORKER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_WORKER_H

#include <sys/types.h>

#include "core/message.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"

struct atoll_cuda_worker;

struct atoll_cuda_worker_settings {
    const char *program; /* NULL: ATOLL_WORKER_CUDA, else atoll-worker-cuda beside the running program */
    const char *uuid;    /* "GPU-..." of the device; NULL = ordinal */
    unsigned ordinal;
    double start_limit_ns; /* default 60 s */
    /* A program and its arguments, NULL-terminated, that starts the process and looks at it: NULL none.  Then there is no
     * filter and no ruleset, which such programs do not bear; `scratch` is where temporary files go. */
    const char *const *watcher;
    const char *scratch;
};

/* What the process says of its device when it stands ready. */
struct atoll_cuda_facts {
    char model[96], uuid[64];
    struct atoll_device_limits limits; /* tensor_flops and target are not the process's to know */
    double last_level_cache_bytes, persisting_cache_bytes;
    uint64_t free_bytes;
    uint32_t compute_mode; /* 0: any number of processes may use the device */
    char pci[16];          /* "0000:65:00.0"; "" not known */
};

/* Errors: ATOLL_E_MISSING (no driver library, no such device; with the remedy), ATOLL_E_CHILD, ATOLL_E_TIMEOUT. */
struct atoll_cuda_worker *atoll_cuda_worker_create(const struct atoll_cuda_worker_settings *settings,
                                                   struct atoll_err *err);
/* The same in two steps: the process is begun, and stands ready.  Between them nothing but destroy may come; after an error nothing
 * else. */
struct atoll_cuda_worker *atoll_cuda_worker_begin(const struct atoll_cuda_worker_settings *settings,
                                                  struct atoll_err *err);
int atoll_cuda_worker_ready(struct atoll_cuda_worker *worker, struct atoll_err *err);
void atoll_cuda_worker_destroy(
    struct atoll_cuda_worker *worker); /* kills the group and reaps it; NULL is fine */
const struct atoll_cuda_facts *atoll_cuda_worker_facts(const struct atoll_cuda_worker *worker); /* borrowed */
pid_t atoll_cuda_worker_pid(const struct atoll_cuda_worker *worker); /* 0: it has ended */

/* Carries out one batch.  deadline_ns: of wall time; then the group is killed and the status is TIMEOUT.  After FAULT,
 * TIMEOUT and LOST nothing but destroy may follow, or end where a watcher still has to write down what it saw.  0, or
 * -1 with err for a batch that was never sent (too large). */
int atoll_cuda_worker_run(struct atoll_cuda_worker *worker, const struct atoll_command_batch *batch,
                          double deadline_ns, struct atoll_command_batch_reply *ret_reply,
                          struct atoll_err *err);
/* The same; where no answer has come after after_ns, broken(context) is called, once, and then it is waited on. */
struct atoll_cuda_worker_silence {
    double after_ns;
    void (*broken)(void *context);
    void *context;
};
int atoll_cuda_worker_run_heard(struct atoll_cuda_worker *worker, const struct atoll_command_batch *batch,
                                double deadline_ns, const struct atoll_cuda_worker_silence *silence,
                                struct atoll_command_batch_reply *ret_reply, struct atoll_err *err);
/* Says that nothing more comes and waits until the process and its watcher have left in order: 0; 1: they had not within
 * limit_ns and were killed.  Only destroy may follow. */
int atoll_cuda_worker_end(struct atoll_cuda_worker *worker, double limit_ns);

/* How both ends talk: one stream socket; after the hello, batches one way and replies the other, each a u64 length and as
 * many bytes.  Both are built from the same tree and start each other: the version only catches a program left over from
 * another build. */
#define ATOLL_CUDA_LINK_VERSION 8
#define ATOLL_CUDA_LINK_FD      3 /* of the socket in the device process */
#define ATOLL_CUDA_LINK_BYTES   (ATOLL_COMMAND_BATCH_BYTES + 65536)
#define ATOLL_CUDA_LINK_ORDERLY                                                                              \
    "--orderly" /* argument: somebody looks at the process, who wants it to end in order */

struct atoll_cuda_hello {
    uint32_t version;
    uint32_t code; /* enum atoll_code; ATOLL_OK: the device stands ready */
    char text[512];
    struct atoll_cuda_facts facts;
};

#endif
