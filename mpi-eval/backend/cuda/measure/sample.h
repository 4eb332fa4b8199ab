/* sample.h - the batches that make, run and check one sample (MEASUREMENT.md 2, 3; docs/adr/0007, 0024):
 *   expected inputs of an input set, their hashes, its expected values or their fingerprint, sealed: no candidate runs in it
 *   run      inputs, fills, guards, flush, the launches between two events, hashes right after: no key is in it
 *            warm: the launches once before, on contents of another input set, and no flush; guards of their own, looked at
 *            before all is written again
 *   check    hashes, guards, every output held against its fingerprint, or compared with the sealed expected values or with the
 *            reference: the candidate is gone
 * Layer: mpi-eval, backend/cuda.  Pure: composes batches, reads replies. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SAMPLE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SAMPLE_H

#include "mpi-eval/backend/cuda/measure/expected.h"
#include "mpi-eval/backend/cuda/measure/fingerprint.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

/* Of the launches of a run batch: the untimed ones of warm timing, or those that count. */
enum atoll_sample_stage { ATOLL_SAMPLE_WARMING, ATOLL_SAMPLE_TIMED };

struct atoll_cuda_sample {
    const struct atoll_task *task;
    const struct atoll_variant *variant;
    const struct atoll_input_set *input_set;
    const struct atoll_loaded_candidate *candidate;
    const struct atoll_cuda_oracle *oracle;
    uint64_t placement; /* secret key of guards, fills, garbage */
    uint64_t hash_key;  /* secret, the same for the whole run */
    struct atoll_layout layout;
    struct atoll_cuda_plain plain;
    struct atoll_span flush;
    uint64_t result, sealed; /* addresses of the areas */
    uint32_t multiprocessors, shared_bytes, threads_per_multiprocessor;
    uint32_t stack_bytes; /* that a thread of our kernels may spill: overwritten before a candidate runs */
    uint32_t
        local_bytes; /* of local memory of a thread, that the process overwrites; less than ATOLL_SUPPORT_LOCAL_BYTES: as much */
    struct atoll_device_command_launch *launches; /* room for ATOLL_PLAN_LAUNCH_LIMIT */
    size_t launch_count;
    size_t plan_launch; /* number of the first in the plan's list: the path's that is taken here */
    struct atoll_support_fill fills[ATOLL_LAYOUT_BUFFER_LIMIT]; /* of outputs and scratch */
    int is_warm;                                                /* of the setup */
    int hashes_late; /* outputs are hashed right after the stop event */
    /* by atoll_cuda_sample_run: number of the first command of the launches, timed and (warm) untimed ones */
    uint32_t first_launch, first_warming;
};

/* Events of the run batch: stage times, then the span. */
enum { ATOLL_SAMPLE_START, ATOLL_SAMPLE_STOP, ATOLL_SAMPLE_BEGUN, ATOLL_SAMPLE_FILLED };

/* Sets launches, functions and fills; layout, plain and candidate must be there. */
int atoll_cuda_sample_set(struct atoll_cuda_sample *s, struct atoll_err *err);

/* What is made of expected values, bits. */
#define ATOLL_SAMPLE_VALUES 1u /* whole, sealed */
#define ATOLL_SAMPLE_PRINT  2u /* their fingerprint */
/* parts: 0 hashes inputs only; else they go where `seal` says.  Read with atoll_cuda_sample_read. */
int atoll_cuda_sample_expected(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                               const struct atoll_sealed *seal, unsigned parts, struct atoll_err *err);
int atoll_cuda_sample_run(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                          struct atoll_err *err);
/* Which of the launches a command of the run batch is, timed or not; -1: it is ours. */
long atoll_cuda_sample_launch_of(const struct atoll_cuda_sample *s, uint32_t command);
/* Contents as in a sample, then these outputs instead of fills: raw, by tensor; NULL leaves the fill. */
int atoll_cuda_sample_put(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                          const void *const *data, struct atoll_err *err);
/* The launches between the marks of a set of counters, on inputs and fills as in a sample. */
int atoll_cuda_sample_count(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, uint32_t slot,
                            struct atoll_err *err);
/* seal: NULL compares with the reference, run here; of its values the fingerprint of `print` is made on the way, NULL: none. */
int atoll_cuda_sample_check(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                            const struct atoll_sealed *seal, const struct atoll_sealed *print,
                            struct atoll_err *err);
/* The same by the fingerprint: prints are set instead of findings. */
void atoll_cuda_sample_check_print(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                                   const struct atoll_sealed *seal);
/* Reads output `tensor`, its expected values and its scale back (the reference is run); results in that order. */
int atoll_cuda_sample_evidence(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, size_t tensor,
                               struct atoll_err *err);

/* reference.c over some units, then reference.cu, on the same inputs: reads an atoll_agreement_area with
 * ATOLL_CUDA_AGREEMENT_LIMIT entries back.  The task has a reference.cu. */
#define ATOLL_CUDA_AGREEMENT_LIMIT 13000u
int atoll_cuda_sample_agreement(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, size_t tensor,
                                const struct atoll_cuda_units *units, struct atoll_err *err);

/* What was found around the buffers. */
struct atoll_cuda_surroundings {
    struct {
        uint64_t changed, first; /* words */
    } guards[ATOLL_LAYOUT_BUFFER_LIMIT + 1];
    unsigned char tails[ATOLL_LAYOUT_BUFFER_LIMIT][8]; /* last word of buffers that end within one */
};

/* What the batches left in the result area. */
struct atoll_cuda_sample_results {
    uint64_t input_hash[ATOLL_TASK_TENSOR_LIMIT];
    uint64_t stop_hash[ATOLL_TASK_TENSOR_LIMIT]; /* of outputs right after the stop event */
    uint64_t end_hash[ATOLL_TASK_TENSOR_LIMIT];  /* of outputs in the check batch */
    struct {
        uint64_t cycles, ns;
    } probes[2];                           /* before and after the span */
    struct atoll_cuda_surroundings around; /* in the check batch */
    struct atoll_support_finding findings[ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_cuda_fingerprint_finding prints[ATOLL_TASK_TENSOR_LIMIT];
};
int atoll_cuda_sample_read(const struct atoll_cuda_sample *s, struct atoll_command_batch_reply *reply,
                           struct atoll_cuda_sample_results *ret_results, struct atoll_err *err);
/* Of the reply to a run batch of warm timing: as the untimed launches left it. */
int atoll_cuda_sample_read_warming(const struct atoll_cuda_sample *s, struct atoll_command_batch_reply *reply,
                                   struct atoll_cuda_surroundings *ret_around, struct atoll_err *err);
/* 1 when the bytes between a buffer's end and its guard zone were written to. */
int atoll_cuda_sample_tail_touched(const struct atoll_cuda_sample *s, enum atoll_sample_stage stage,
                                   const struct atoll_cuda_surroundings *around, size_t buffer);

/* What a sample took, from two clocks: the device's events, whose records lie where a kernel might write, and the host,
 * which watched them.
 *
 * A forged record gains by being short only, so the larger of the two is believed: a false alarm costs one slow sample
 * (medians bear it), and no verdict or repetition hangs on it, which a candidate could bring about.  The host saw the
 * start late when it was still at work as the device passed it (the gate had given up); its bracket is then too short to
 * say anything, and the device's own phases bound the sample: from the end of the contents to the stop there is a flush,
 * whose length is known, and the candidate. */
struct atoll_clocks {
    double span_ns;                     /* start to stop, by the device; NaN: no such record */
    double flush_ns;                    /* end of the contents to start, by the device */
    double flush_usual_ns;              /* the least that was seen in samples not late; 0 unknown */
    double start_seen_ns, stop_seen_ns; /* by the host, since the batch began */
    double opened_ns;                   /* when it had queued everything and only watched; NaN: no gate */
};

/* 1 when the start had passed before the host watched. */
int atoll_clocks_late(const struct atoll_clocks *clocks);
/* The time to be believed, > 0; NaN when neither clock says anything.  *ret_doubted: 1 when it is not the device's. */
double atoll_clocks_span(const struct atoll_clocks *clocks, int *ret_doubted);

#endif
