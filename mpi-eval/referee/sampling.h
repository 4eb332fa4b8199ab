/* sampling.h - how many samples a candidate gets on one variant (MEASUREMENT.md 3): adaptive stop and early
 * drop. Layer: mpi-eval, referee.  Pure: fed with times, it decides; no clock of its own.  Lifetime:
 * init/fini. */
#ifndef ATOLL_MPI_EVAL_REFEREE_SAMPLING_H
#define ATOLL_MPI_EVAL_REFEREE_SAMPLING_H

#include <stddef.h>

#include "base/err.h"
#include "core/stats.h"
#include "core/message.h"
#include "core/task/task.h"

struct atoll_sampling_rules {
    double interval_target; /* relative half width of the median's 95 % interval */
    double device_limit_ns; /* sum of sample times */
    double wall_limit_ns;   /* with inputs, flush and checks */
    size_t sample_min;
    double incumbent_ns;  /* 0 = never drop early */
    double resolution_ns; /* clock and launch jitter: widens the interval of short samples */
};

enum atoll_sampling_state {
    ATOLL_SAMPLING_MORE,
    ATOLL_SAMPLING_ENOUGH, /* the interval is as narrow as asked for */
    ATOLL_SAMPLING_LIMIT,  /* a time limit, or as many samples as fit */
    ATOLL_SAMPLING_DROPPED /* clearly slower than the incumbent */
};

#define ATOLL_SAMPLING_DROP_MIN   4
#define ATOLL_SAMPLING_DROP_RATIO 1.15
#define ATOLL_SAMPLING_LOST_RATIO 0.005   /* of a sample's time, lost to others: disturbed */
#define ATOLL_SAMPLING_LOST_NS    20000.0 /* accounting is not finer */
#define ATOLL_SAMPLING_UNSTABLE   0.9     /* of all samples disturbed */
#define ATOLL_SAMPLING_SHORT_NS   20000.0 /* below it resolution is part of the interval */

struct atoll_sampling {
    struct atoll_sampling_rules rules;
    size_t count;
    size_t discarded, disturbed;  /* thrown away; kept although disturbed */
    size_t slowed, slowed_kept;   /* of all those, the device itself was slowed down; of the kept ones */
    double lost_ns;               /* of the sample that is added next */
    double least_ns;              /* fastest sample without the time lost to others */
    double *samples_ns, *scratch; /* owned, ATOLL_SAMPLES_LIMIT each */
    double device_ns;
    struct atoll_summary summary; /* of the samples so far */
};

int atoll_sampling_init(struct atoll_sampling *s, const struct atoll_sampling_rules *rules,
                        struct atoll_err *err);
void atoll_sampling_fini(struct atoll_sampling *s);
/* One more sample; wall_ns: spent on this variant so far. */
enum atoll_sampling_state atoll_sampling_add(struct atoll_sampling *s, double sample_ns, double wall_ns);
/* disturbed: whether others took enough of a sample's time to count.
 * discards: a sample during which the candidate's threads went without their cores for lost_ns altogether (negative:
 * unknown), or the device was slowed down by heat or hardware.  1: throw it away (it is counted).  At most as many are
 * thrown away as are kept, then disturbed ones count, too; a slowed one never makes a candidate look slower than the
 * incumbent. */
int atoll_sampling_disturbed(double sample_ns, double lost_ns);
int atoll_sampling_discards(struct atoll_sampling *s, double sample_ns, double lost_ns, int is_slowed);
/* 1 when nearly all samples were disturbed: the numbers say nothing. */
int atoll_sampling_is_unstable(const struct atoll_sampling *s);
/* Half the interval with the resolution in it, relative to the median. */
double atoll_sampling_half_width(const struct atoll_sampling *s);

/* ---- floors: is a time possible? (MEASUREMENT.md 4)  Cold: everything that must be read comes from memory, and what is
 * written may stay in the last-level cache.  Warm: whatever fits there may be there already, so that only what exceeds it
 * must pass through memory. ---- */

struct atoll_floor {
    double hard_ns;      /* compulsory traffic at the measured bandwidth, or an empty launch */
    double audit_ns;     /* useful operations at the peak of the fastest allowed arithmetic; 0 = not known */
    double reporting_ns; /* the larger of the two */
    int is_split;        /* matrix and vector operations told apart */
};

#define ATOLL_FLOOR_IMPOSSIBLE_RATIO 0.9

/* work: of one variant; precisions: task->precisions; is_warm: of the setup.  Where the work tells matrix operations
 * apart, they are held against the matrix units and the others against the ordinary ones: both units may be busy at once,
 * so the longer of the two is the floor; without matrix units everything is done by the ordinary ones. */
struct atoll_floor atoll_floor_of(const struct atoll_work *work, unsigned precisions,
                                  const struct atoll_device_info *device, int is_warm);

#endif
