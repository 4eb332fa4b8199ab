/* sampling.h - how many samples a candidate gets on one variant (MEASUREMENT.md 3): adaptive stop and early
 * drop. Layer: mpi-eval, referee.  Pure: fed with times, it decides; no clock of its own.  Lifetime:
 * init/fini. */
#ifndef ATOLL_MPI_EVAL_REFEREE_SAMPLING_H
#define ATOLL_MPI_EVAL_REFEREE_SAMPLING_H

#include <stddef.h>

#include "base/err.h"
#include "core/stats.h"
#include "core/timing.h"
#include "core/message.h"
#include "core/task/task.h"

struct atoll_sampling_rules {
    double interval_target; /* relative half width of the median's 95 % interval */
    double device_limit_ns; /* sum of sample times */
    double wall_limit_ns;   /* with inputs, flush and checks */
    size_t sample_min;
    double resolution_ns; /* clock and launch jitter: widens the interval of short samples */
};

enum atoll_sampling_state {
    ATOLL_SAMPLING_MORE,
    ATOLL_SAMPLING_ENOUGH, /* the interval is as narrow as asked for */
    ATOLL_SAMPLING_LIMIT,  /* a time limit, or as many samples as fit */
    ATOLL_SAMPLING_DROPPED, /* the candidate is clearly slower than its incumbent: said by who leads all its variants */
    ATOLL_SAMPLING_UNSTABLE /* the numbers say nothing: enum atoll_sampling_fault says why */
};

enum atoll_sampling_fault {
    ATOLL_SAMPLING_FINE,
    ATOLL_SAMPLING_BUSY,   /* more than half of all samples were disturbed */
    ATOLL_SAMPLING_SLOWED, /* and most of those because the device itself was slower than usual */
    ATOLL_SAMPLING_CHOSEN /* which samples were disturbed depends on what the candidate does with its inputs */
};

/* A sample with what is known of how it went.  Disturbed: others took enough of its time to count, or the device was slower
 * than usual.  Causes within the candidate do not count as such: who fills this in sees to that. */
struct atoll_sampling_sample {
    double ns;
    double lost_ns; /* at most this much others took; negative: unknown */
    double own_ns;  /* processor time of a thread; 0 or less: unknown */
    int is_slowed;
};

#define ATOLL_SAMPLING_LOST_RATIO 0.02    /* of a sample's time, lost to others: disturbed */
#define ATOLL_SAMPLING_LOST_NS    10000.0 /* and at least this: interrupts are part of every machine */
#define ATOLL_SAMPLING_PACE       1.5     /* times as slow as usual: disturbed */
#define ATOLL_SAMPLING_PATIENCE   4 /* times sample_min samples are taken before "more than half" is said */
#define ATOLL_SAMPLING_SHORT_NS   20000.0 /* below it resolution is part of the interval */

struct atoll_sampling {
    struct atoll_sampling_rules rules;
    size_t count;
    size_t discarded,
        slowed; /* disturbed samples, thrown away; of those, with a device that was slower than usual */
    size_t own_count[2];          /* samples whose processor time is known: kept, discarded */
    double least_ns;              /* fastest sample without the time lost to others */
    double *samples_ns, *scratch; /* owned, ATOLL_SAMPLES_LIMIT each */
    double *own_ns[2];            /* the same, for kept and discarded ones */
    double device_ns;
    struct atoll_summary summary; /* of the samples so far */
};

int atoll_sampling_init(struct atoll_sampling *s, const struct atoll_sampling_rules *rules,
                        struct atoll_err *err);
void atoll_sampling_fini(struct atoll_sampling *s);
/* One more sample, thrown away and counted when it was disturbed; wall_ns: spent on this variant so far.  The state that is
 * not MORE is final. */
enum atoll_sampling_state atoll_sampling_take(struct atoll_sampling *s,
                                              const struct atoll_sampling_sample *sample, double wall_ns);
/* The same with one that nothing disturbed. */
enum atoll_sampling_state atoll_sampling_add(struct atoll_sampling *s, double sample_ns, double wall_ns);
int atoll_sampling_disturbed(const struct atoll_sampling_sample *sample);
/* 1 when a candidate whose bench variants are sampled in turn is clearly slower than incumbent_ns, a weighted geometric mean
 * over the same variants (0: never): with few samples of each by the mean of their fastest ones, which others took nothing
 * from, with an interval of each by the mean of the lower ends (docs/adr/0046).  weights: of the variants. */
int atoll_sampling_is_behind(const struct atoll_sampling *const *series, const double *weights, size_t count,
                             double incumbent_ns);
/* The variant that is unstable when more than half of the samples of all are disturbed, so many as end a single variant (fewer
 * once wall_ns, spent on all of them, is a variant's share); count: none is.  What disturbs one disturbs the others. */
size_t atoll_sampling_busiest(const struct atoll_sampling *const *series, size_t count, double wall_ns);
/* Why the numbers so far say nothing.  CHOSEN: by the processor's own account the disturbed samples took longer than nine of
 * ten others.  What others take from a sample adds no work to it, so that they were not disturbed by chance. */
enum atoll_sampling_fault atoll_sampling_fault_of(const struct atoll_sampling *s);
/* What is kept of it: a copy of its samples, without a floor.  state: the final one. */
int atoll_sampling_timing(const struct atoll_sampling *s, uint32_t variant, enum atoll_sampling_state state,
                          struct atoll_timing *ret_timing, struct atoll_err *err);
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
/* Into a timing, with how it was made; is_trusted 0: as unknown. */
void atoll_floor_put(const struct atoll_floor *floor, int is_trusted, struct atoll_timing *timing);

#endif
