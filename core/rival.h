/* rival.h - one rival of a task, what PyTorch makes of it, as measured on one device: what kernels are compared with.
 * Travels in messages, journal and archive.
 * Layer: core.  Lifetime: init/fini (samples are owned); encode/decode for wire and journal (docs/spec/wire.md). */
#ifndef ATOLL_CORE_RIVAL_H
#define ATOLL_CORE_RIVAL_H

#include "core/evaluation.h"

#define ATOLL_RIVAL_VERSIONS_BYTES 128

struct atoll_rival {
    uint64_t evaluation; /* the number rank 0 gave this dispatch; unique in a campaign */
    uint32_t task;       /* its number in the campaign */
    uint32_t number;     /* into task->rivals */
    /* CORRECT; WRONG: its outputs miss the reference; COMPILE_ERROR: it raises, or what compiles it does; TIMEOUT; UNSTABLE;
     * INFRASTRUCTURE: no fault of its own, it is tried again */
    enum atoll_verdict verdict;
    char detail[ATOLL_DETAIL_BYTES];           /* evidence in sentences */
    char versions[ATOLL_RIVAL_VERSIONS_BYTES]; /* "torch 2.11.0, CUDA 13.0, Triton 3.5" */
    double worst_error; /* of its outputs against the reference, in units of the tolerance */
    double compile_ns;  /* compiling and autotuning */
    double occupied_ns; /* of the device, compiling included */
    uint64_t device;    /* atoll_device_info.key */
    int64_t started_unix_ns;
    size_t timing_count;
    struct atoll_timing timings[ATOLL_TASK_VARIANT_LIMIT]; /* bench variants, as for candidates */
    /* of timings[i]: one call without queueing ahead, what a user of Python sees; 0 unknown */
    double host_ns[ATOLL_TASK_VARIANT_LIMIT];
};

void atoll_rival_init(struct atoll_rival *r);
void atoll_rival_fini(struct atoll_rival *r);
void atoll_rival_encode(const struct atoll_rival *r, struct atoll_buffer *out);
/* Decodes exactly length bytes; r must be init'ed; error leaves it init'ed and empty.  Hostile input: every enum, count and
 * number is checked. */
int atoll_rival_decode(const void *bytes, size_t length, struct atoll_rival *r, struct atoll_err *err);
/* Weighted geometric mean over bench variants, as of candidates; 0 when there are no timings. */
double atoll_rival_time_ns(const struct atoll_rival *r, const struct atoll_task *task);

/* The times of a task's correct rivals on one device model; plain value, zero at first. */
struct atoll_rival_times {
    double ns[ATOLL_TASK_RIVAL_LIMIT][ATOLL_TASK_VARIANT_LIMIT]; /* median at a bench variant; 0: not known */
    /* ends of its 95 % interval; 0: not known */
    double lo_ns[ATOLL_TASK_RIVAL_LIMIT][ATOLL_TASK_VARIANT_LIMIT];
    double hi_ns[ATOLL_TASK_RIVAL_LIMIT][ATOLL_TASK_VARIANT_LIMIT];
};

/* Takes over what was measured of a correct rival; of another it does nothing. */
void atoll_rival_times_add(struct atoll_rival_times *times, const struct atoll_rival *r);

/* What speedups are told against: at every bench variant the fastest rival, combined by weight. */
struct atoll_fastest_rival {
    double time_ns;      /* 0: no rival was measured */
    double lo_ns, hi_ns; /* the ends of the intervals combined in the same way; 0: one of them is not known */
    uint32_t number;     /* the one with the least combined time of its own */
    uint8_t numbers
        [ATOLL_TASK_VARIANT_LIMIT]; /* the fastest at each bench variant, the lowest of equals; number elsewhere */
};
struct atoll_fastest_rival atoll_rival_times_fastest(const struct atoll_rival_times *times,
                                                     const struct atoll_task *task);

#endif
