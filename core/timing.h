/* timing.h - what one variant of a task took, of a candidate or of a rival; travels in evaluations and rivals.
 * Layer: core.  Plain value; samples are owned by whoever holds the array. */
#ifndef ATOLL_CORE_TIMING_H
#define ATOLL_CORE_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "core/stats.h"
#include "core/task/task.h"

#define ATOLL_SAMPLES_LIMIT 4096 /* per variant */

/* Flags of one variant's timing. */
enum {
    ATOLL_TIMING_DROPPED_EARLY = 1,
    ATOLL_TIMING_TIME_LIMIT = 2,
    ATOLL_TIMING_AUDIT = 4,        /* below the audit floor */
    ATOLL_TIMING_FLOOR_SINGLE = 8, /* what floor_ns is: enum atoll_floor_model */
    ATOLL_TIMING_FLOOR_SPLIT = 16,
    ATOLL_TIMING_TILED = 32 /* reference.cu said what is right, not reference.c */
};

/* How a floor was made; floors of different models are not compared. */
enum atoll_floor_model {
    ATOLL_FLOOR_UNTOLD, /* there is none, or it was made before floors had models */
    ATOLL_FLOOR_SINGLE, /* all operations at the fastest peak of the allowed precisions */
    ATOLL_FLOOR_SPLIT,  /* matrix and vector operations each at the peak of their unit */
    ATOLL_FLOOR_MODEL_COUNT
};

const char *atoll_floor_model_name(enum atoll_floor_model model); /* "untold", "single", "split" */

struct atoll_timing {
    uint32_t variant; /* index into task.variants */
    uint32_t flags;
    struct atoll_summary summary; /* ns */
    double floor_ns;              /* reporting floor of this variant on this device, 0 unknown */
    double resolution_ns;         /* of clock and launch jitter, part of the interval */
    size_t sample_count;
    double *samples_ns;       /* owned; in the order taken */
    uint32_t discarded_count; /* samples thrown away for clocks or slowdown */
};

enum atoll_floor_model atoll_timing_floor_model(const struct atoll_timing *timing);

/* Arrays of ATOLL_TASK_VARIANT_LIMIT timings. */
void atoll_timings_fini(struct atoll_timing *timings); /* frees the samples of all */
void atoll_timings_encode(const struct atoll_timing *timings, size_t count, struct atoll_buffer *out);
/* timings: zeroed.  Hostile input: no variant twice, every number checked; failures are the reader's.  What was read
 * before one is the caller's to free. */
void atoll_timings_decode(struct atoll_reader *r, struct atoll_timing *timings, size_t *ret_count);

/* Weighted geometric mean over the bench variants of one value of each; 0 when there is none or one is not known. */
enum atoll_timing_value { ATOLL_TIMING_MEDIAN, ATOLL_TIMING_LO95, ATOLL_TIMING_HI95, ATOLL_TIMING_FLOOR };
double atoll_timings_mean_ns(const struct atoll_timing *timings, size_t count, const struct atoll_task *task,
                             enum atoll_timing_value value);

#endif
