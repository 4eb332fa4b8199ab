/* share.h - how device time is shared among tasks: by what a task's next evaluation promises per device time.
 * Layer: evolution, pure.  Plain value.
 *
 * What a task promises is estimated from its own past: the logarithm of the improvements of its best time over the
 * device time they cost, older ones weighing less, plus a prior of improvement that fades as the fastest of many
 * samples is beaten ever more rarely (the next of n independent samples is a record with probability 1/n; Renyi 1962).
 * Every few proposals go to the task that had least instead, so that no estimate starves a task for good; and before promises
 * count at all each task has some evaluations, as long as it is not so dear that the others would wait for theirs. */
#ifndef ATOLL_EVOLUTION_ENGINE_SHARE_H
#define ATOLL_EVOLUTION_ENGINE_SHARE_H

#include "evolution/engine/codec.h"

#define ATOLL_SHARE_EQUAL_EVERY 4   /* one proposal in so many goes to whoever had least */
#define ATOLL_SHARE_LEAST       25  /* evaluations of each task, ahead of promises ... */
#define ATOLL_SHARE_DEAR        3.0 /* ... unless it took so many times the mean device time of the others */

struct atoll_share {
    double gain;     /* sum of ln(old / new) of the best time, decayed */
    double spent_ns; /* device time of the same evaluations, decayed */
    double best_ns;  /* fastest single time so far, 0 = none */
    uint64_t since;  /* evaluations since it improved */
};

/* An evaluation was answered: time_ns of a correct candidate, else 0; occupied_ns of the device. */
void atoll_share_add(struct atoll_share *share, double time_ns, double occupied_ns);
/* Promise per nanosecond of device time.  expected_ns: of one evaluation; under_way: evaluations that are; floor_ns: 0
 * unknown, else nobody gets below. */
double atoll_share_promise(const struct atoll_share *share, double expected_ns, uint64_t under_way,
                           double floor_ns);
void atoll_share_codec(struct atoll_share *share, struct atoll_codec *codec);

#endif
