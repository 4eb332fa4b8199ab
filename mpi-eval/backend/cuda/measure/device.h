/* device.h - one GPU under one referee: its process, its memory, its modules, and whether it can be trusted.
 * Layer: mpi-eval, backend/cuda.  Lifetime: open/close with the referee; one owner thread.
 *
 * The device process survives over candidates.  After a fault, a deadline, a lost process or touched guard zones it is
 * dropped: the next batch finds another one with everything to be loaded again, told by `generation`.  What is sealed outlives it
 * (sealed_memory.h) where the driver lets processes share memory, unless it is in doubt.  Every new process
 * must pass the known-answer kernel; a device that fails twice in a row is in quarantine for good. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_DEVICE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_DEVICE_H

#include "mpi-eval/backend/cuda/measure/calm.h"
#include "mpi-eval/backend/cuda/measure/expected.h"
#include "mpi-eval/backend/cuda/measure/layout.h"
#include "mpi-eval/backend/cuda/measure/own_time.h"
#include "mpi-eval/backend/cuda/measure/sealed_memory.h"
#include "mpi-eval/backend/cuda/measure/spare.h"
#include "mpi-eval/backend/cuda/measure/support.h"
#include "mpi-eval/backend/cuda/measure/monitor.h"
#include "mpi-eval/backend/cuda/process/worker.h"
#include "mpi-eval/evaluator/compiler.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/torch/torch_oracle.h"

#define ATOLL_CUDA_OWN_DEADLINE_NS 60e9 /* of a batch without candidates: only a broken device reaches it */
#define ATOLL_CUDA_LOST_LIMIT      3    /* times one piece of work starts again on a new process */

/* Areas of device memory, each one allocation (slot of the same number). */
enum atoll_cuda_area {
    ATOLL_AREA_ARENA,  /* buffers of candidates */
    ATOLL_AREA_SEALED, /* expected values, encrypted */
    ATOLL_AREA_PLAIN,  /* expected values and scratch of references; wiped after use */
    ATOLL_AREA_FLUSH,
    ATOLL_AREA_RESULT,
    ATOLL_AREA_COUNT
};
#define ATOLL_CUDA_RESULT_BYTES ((uint64_t)1 << 20)

/* Modules beside support's: slots of candidates, then of references. */
#define ATOLL_CUDA_CANDIDATE_SLOTS 8u
#define ATOLL_CUDA_ORACLE_SLOTS    48u

struct atoll_cuda_cubin_bytes {
    void *bytes; /* owned */
    size_t length;
};

/* A finalist that was under compute-sanitizer; detail "": none. */
#define ATOLL_CUDA_SANITIZED_LIMIT 8
struct atoll_cuda_sanitized {
    struct atoll_id candidate;
    uint32_t task;
    enum atoll_verdict verdict;
    char detail[ATOLL_DETAIL_BYTES];
};

struct atoll_cuda_device {
    struct atoll_referee *referee; /* borrowed */
    struct atoll_cuda_worker_settings settings;
    char uuid[64];
    struct atoll_cuda_worker *worker; /* NULL: to be started */
    struct atoll_cuda_spare spare;    /* the next one, ready beside it */
    struct atoll_cuda_facts facts;
    uint32_t generation; /* of the process; from 1 */
    unsigned failures;   /* known-answer kernels failed in a row */
    struct {
        double loaded_ns, attached_ns, taken_ns, overwritten_ns, qualified_ns;
    } steps; /* of the last equipment of a process and of the last change of areas, for the log */
    int is_quarantined;
    int lock_fd;
    struct atoll_watch watch;
    struct atoll_cuda_cubin_bytes support, calibration, wide_frames;
    uint32_t support_stack_bytes;              /* that a thread of support's may spill */
    struct atoll_span areas[ATOLL_AREA_COUNT]; /* bytes 0: not allocated */
    uint64_t wanted[ATOLL_AREA_COUNT];         /* bytes, kept over processes */
    uint64_t usual[ATOLL_AREA_COUNT];          /* the most that was asked for without being lent */
    struct atoll_cuda_sealed_memory sealed; /* that areas[ATOLL_AREA_SEALED] attaches, where it is not shut */
    uint64_t sealed_demand;                 /* bytes that tasks have said they want there, */
    uint64_t sealed_fresh;                  /* and besides for one fresh draw */
    struct atoll_expected_store *expected_store;
    struct atoll_torch_oracle *torch,
        *torch_host;     /* torch_answer.h; NULL before a task of PyTorch is known */
    uint64_t torch_room; /* bytes that the areas leave to it */
    int has_lent;        /* the process may have memory set aside (command_batch.h) */
    int window;          /* results of PyTorch are copied on the device (window.h): 0 not tried yet, 1, -1 */
    /* who sits in which slot, and since when */
    const void *candidates[ATOLL_CUDA_CANDIDATE_SLOTS];
    void *oracles[ATOLL_CUDA_ORACLE_SLOTS];
    uint64_t clock;
    uint64_t candidate_count, last_candidate; /* opened so far; who ran last */
    uint32_t last_stack_bytes;                /* of its kernels, a thread */
    /* local_memory.h: of the process there is, */
    uint32_t local_bytes;    /* what of a thread's local memory is overwritten */
    int has_unreached;       /* a candidate with more ran in it */
    unsigned local_refusals; /* of memory for it, so far */
    /* the placement before this one: two candidates of a pair share it */
    uint64_t last_key;
    int last_place;
    unsigned places;                                       /* of the last layout */
    struct atoll_own_time own_time;                        /* of batches of samples */
    struct atoll_calm calm;                                /* memory that was given back, by whom ever */
    double flush_usual_ns;                                 /* the shortest flush of a sample so far; 0 none */
    uint32_t counters_generation[ATOLL_METRICS_SET_COUNT]; /* of the process where a set is open */
    char counters_reason[96]; /* why there are none; "" not known, or there are */
    struct atoll_cuda_sanitized sanitized[ATOLL_CUDA_SANITIZED_LIMIT];
    unsigned sanitized_count;                                             /* so far */
    struct atoll_device_command_launch launches[ATOLL_PLAN_LAUNCH_LIMIT]; /* of one sample at a time */
    struct atoll_command_batch batch;                                     /* of one batch at a time */
    struct atoll_command_batch_reply reply;
};

static inline struct atoll_cuda_device *atoll_cuda_device_of(const struct atoll_referee *referee)
{
    return (struct atoll_cuda_device *)referee->device_state;
}

/* Which GPU of this node: ATOLL_DEVICE (a number or "GPU-..."), else the first one visible. */
/* Gives a started process (stolen) of the device that this process chooses to the next device that is opened; one that was given
 * before and not taken is ended.  Any thread that lives as long as the process. */
void atoll_cuda_device_prepare(struct atoll_cuda_worker *worker);
void atoll_cuda_device_choose(struct atoll_cuda_worker_settings *ret_settings);
/* How a process for this very device is started, once it is open; uuid is borrowed. */
void atoll_cuda_device_settings(const struct atoll_cuda_device *device,
                                struct atoll_cuda_worker_settings *ret_settings);
/* "sm_90a" of compute capability 90: with the features of that very architecture where it has such. */
void atoll_cuda_target(uint32_t compute_capability, char *ret_target, size_t bytes);

/* Opens, locks, qualifies; fills referee->info but rates and times.  referee->device_state is set. */
int atoll_cuda_device_open(struct atoll_referee *referee, struct atoll_err *err);
void atoll_cuda_device_close(struct atoll_referee *referee);

/* A process that computes: started and qualified when there is none.  ATOLL_E_CHILD when the device is in quarantine. */
int atoll_cuda_device_ready(struct atoll_cuda_device *device, struct atoll_err *err);
/* The process and all it held.  Sealed values stay where a process of their own has them. */
void atoll_cuda_device_drop(struct atoll_cuda_device *device);
/* The same, and everything that is sealed: it is in doubt, or its memory is for others. */
void atoll_cuda_device_drop_all(struct atoll_cuda_device *device);
/* A drop because of what candidates left, of which the next process has nothing. */
void atoll_cuda_device_replace(struct atoll_cuda_device *device);
/* Runs the known-answer kernel on the process there is. */
int atoll_cuda_device_qualify(struct atoll_cuda_device *device, struct atoll_err *err);

/* Runs device->batch; the reply is in device->reply.  0 done or refused (the status tells), 1 the process is lost and
 * was dropped (status and text stay), -1 err: the batch could not be sent. */
int atoll_cuda_device_run(struct atoll_cuda_device *device, double deadline_ns, struct atoll_err *err);
/* The same for a batch with a candidate, which may never end: where it is silent for silence_ns another process is begun beside it
 * (spare.h).  *ret_disturbed: 1 then, and the batch's times say little if it ended after all. */
int atoll_cuda_device_run_doubtful(struct atoll_cuda_device *device, double deadline_ns, double silence_ns,
                                   int *ret_disturbed, struct atoll_err *err);
/* Before anything is timed: a process that was begun stands ready, or is none. */
void atoll_cuda_device_settle(struct atoll_cuda_device *device);
/* The same for batches of ours, which nothing refuses: 0, 1 (what is sealed is dropped, too: that memory may be why), or -1 with
 * what the device said. */
int atoll_cuda_device_run_own(struct atoll_cuda_device *device, const char *what, struct atoll_err *err);

/* Makes sure that the areas have at least this much, 0: whatever.  A larger arena or plain area takes from the sealed
 * values, then from what is left for local memory (a process that has it already is replaced).  0, 1 lost, -1: ATOLL_E_LIMIT "needs X
 * bytes, device has Y". */
int atoll_cuda_device_reserve(struct atoll_cuda_device *device, uint64_t arena_least, uint64_t arena_wanted,
                              uint64_t plain, struct atoll_err *err);

/* So many bytes more are wanted of sealed memory.  It has as much as tasks want, in steps of a sixteenth (a step copies it) and up to its
 * share: what is free of it is overwritten whenever another candidate runs. */
void atoll_cuda_device_expect(struct atoll_cuda_device *device, uint64_t bytes);
/* A fresh draw's whole answer has so many: the largest of them has room beside the others. */
void atoll_cuda_device_expect_fresh(struct atoll_cuda_device *device, uint64_t bytes);

/* At least so many bytes are PyTorch's: the areas leave them, and what a process has set aside of lent ones goes with it. */
void atoll_cuda_device_leave(struct atoll_cuda_device *device, uint64_t bytes);

/* The most that sealed memory has, in bytes: its share of what areas may take, while no task needs more of that. */
uint64_t atoll_cuda_device_sealed_most(const struct atoll_cuda_device *device);

/* Bytes of local memory that frames so wide take, beyond those that all processes have room for. */
uint64_t atoll_cuda_device_local_room(const struct atoll_cuda_device *device, uint32_t frame_bytes);

/* Bytes that the areas leave of what they may take: for local memory. */
uint64_t atoll_cuda_device_free_bytes(const struct atoll_cuda_device *device);

/* 1 when they can have at least this much without anything that is sealed giving way; 0 as well without a process. */
int atoll_cuda_device_has_room(const struct atoll_cuda_device *device, uint64_t arena, uint64_t plain);

/* Another candidate is about to run: what the last one may have left where nobody reads before writing (notes for its
 * relatives, on the very draw that both sides of a pair share; EXPLOITS.md D1, F10) is overwritten: all areas, but for what
 * is sealed, and local memory.  A process whose local memory cannot be overwritten is replaced.  stack_bytes: of the
 * new one's kernels, a thread (atoll_cuda_local_reach).  0, 1 lost, -1. */
int atoll_cuda_device_hand_over(struct atoll_cuda_device *device, uint64_t candidate, uint32_t stack_bytes,
                                uint64_t key, struct atoll_err *err);

/* Where the next sample's buffers lie. */
int atoll_cuda_device_place(struct atoll_cuda_device *device, const uint64_t *bytes, size_t count,
                            uint64_t key, struct atoll_layout *ret_layout, struct atoll_err *err);

/* Address in the result area. */
static inline uint64_t atoll_cuda_result(const struct atoll_cuda_device *device, uint64_t offset)
{
    return device->areas[ATOLL_AREA_RESULT].address + offset;
}

/* Compiles a text of ours (or a task's reference) for the device; ATOLL_E_INPUT with the diagnostics. */
int atoll_cuda_compile(struct atoll_cuda_device *device, const char *name, const char *text, size_t length,
                       struct atoll_cuda_cubin_bytes *ret_cubin, struct atoll_err *err);

#endif
