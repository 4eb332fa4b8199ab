/* counting.h - level 7: whose hardware counters are read, and what an evaluation says of where its kernel stands.  Never
 * part of a timed run; never changes a verdict.  A binary is counted once, and counting takes no more than a share of the
 * device's time, but for the fastest of each task, which gets beyond it with a tenth of gain (docs/adr/0026).
 * Layer: mpi-eval, referee.  A zeroed atoll_counting_book is an empty one; fini.  In runs of a job a book outlives its
 * referee (kept_record.h): the share is one of the job's time, and no part counts what another one has counted. */
#ifndef ATOLL_MPI_EVAL_REFEREE_COUNTING_H
#define ATOLL_MPI_EVAL_REFEREE_COUNTING_H

#include "base/id.h"
#include "core/message.h"
#include "core/profile.h"

#define ATOLL_COUNTED_LIMIT 1024 /* binaries; the oldest are forgotten first */

/* What is read at once; the larger one costs several times as much. */
enum atoll_metrics_set {
    ATOLL_METRICS_SMALL, /* where memory and the main pipes stand */
    ATOLL_METRICS_FULL,  /* stalls, hit rates and the rest, too */
    ATOLL_METRICS_SET_COUNT
};

enum atoll_counting {
    ATOLL_COUNTING_OFF,
    ATOLL_COUNTING_KNOWN, /* the same binary was counted before: its values */
    ATOLL_COUNTING_FAR,   /* too far behind what it is held against */
    ATOLL_COUNTING_SPENT, /* the share of the device's time is used up */
    ATOLL_COUNTING_SMALL,
    ATOLL_COUNTING_FULL
};

struct atoll_counting_facts {
    unsigned known; /* sets that the same binary was counted with before, at the same variant: bit 1 << set */
    double ahead; /* of its task: so many times as fast as the fastest that was counted; HUGE_VAL: none was */
    double
        behind; /* its time over the one that it is held against; below 1 it may enter a cell, 0: nothing is there */
    double cost_ns[ATOLL_METRICS_SET_COUNT]; /* what counting it will take */
    double device_ns, counting_ns;           /* so far: of the device, and counting's part of that */
};

/* Pure. */
enum atoll_counting atoll_counting_choose(const struct atoll_setup *setup,
                                          const struct atoll_counting_facts *facts);
/* Why there are none, or no more of them; "" where there is nothing to be said. */
const char *atoll_counting_reason(enum atoll_counting choice);

/* What was read of a binary. */
struct atoll_counted_kernel {
    struct atoll_id task; /* its content: parts of a job number tasks as they like */
    uint32_t variant;
    struct atoll_id binary;
    uint64_t evaluation;
    int is_earlier; /* the evaluation is one of another run */
    enum atoll_metrics_set set;
    double counters[ATOLL_COUNTER_COUNT];
    double intensity_flops_per_byte;
};

/* Of one referee. */
struct atoll_counting_book {
    double device_ns;   /* evaluations, duels and rivals that ended; the referee adds them */
    double counting_ns; /* part of it */
    /* of one counting, beside the runs of the candidate: as the last ones took; 0: none yet */
    double start_ns[ATOLL_METRICS_SET_COUNT];
    struct atoll_counted_kernel *counted; /* NULL before the first */
    size_t count, next;
};
void atoll_counting_book_fini(struct atoll_counting_book *book);
/* What counting a kernel of so many ns takes. */
double atoll_counting_cost_ns(const struct atoll_counting_book *book, enum atoll_metrics_set set,
                              double time_ns);
/* One counting is over. */
void atoll_counting_paid(struct atoll_counting_book *book, enum atoll_metrics_set set, double time_ns,
                         double wall_ns);
/* NULL when it is not known (any more); borrowed until the next put.  A zero binary is never known. */
const struct atoll_counted_kernel *atoll_counting_find(const struct atoll_counting_book *book,
                                                       const struct atoll_id *task, uint32_t variant,
                                                       const struct atoll_id *binary);
/* In place of what was there of this binary.  Without memory it is not kept. */
void atoll_counting_put(struct atoll_counting_book *book, const struct atoll_counted_kernel *counted);

/* For the next process on the same device.  What cannot be kept or read costs it what it cost before. */
void atoll_counting_keep(const struct atoll_counting_book *book, const struct atoll_device_info *info,
                         int64_t now_unix_ns);
/* book: an empty one; it stays so where nothing is kept. */
void atoll_counting_remember(struct atoll_counting_book *book, const struct atoll_device_info *info,
                             int64_t now_unix_ns);

struct atoll_referee;
struct atoll_case;
struct atoll_loaded_candidate;
struct atoll_order;
struct atoll_evaluation;

/* Completes evaluation->profile of a correct candidate with at least one timing, whose clocks are there already: static
 * resources, counters at its first variant where they are wanted and can be had (else the reason why not), limiter.
 * evaluation->binary: zero where the caller does not know it. */
void atoll_counting_run(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                        struct atoll_evaluation *evaluation);

#endif
