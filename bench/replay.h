/* replay.h - one search of a recorded space: a tuner asks, the table answers.
 * Layer: bench.  Any thread; the space is shared and not changed. */
#ifndef ATOLL_BENCH_REPLAY_H
#define ATOLL_BENCH_REPLAY_H

#include "bench/curve.h"

#define ATOLL_REPLAY_PENDING_LIMIT 256

struct atoll_replay {
    const struct atoll_t4 *t4;
    size_t pending; /* 1..ATOLL_REPLAY_PENDING_LIMIT asked for before an answer comes; above 1 in any order */
    int is_raw;     /* an answer is one recorded run, not what the recording says of all */
    unsigned strategies; /* of the tuner, a bit each (evolution/tuner/tune.h); 0: as it is by default */
    size_t suggestions;  /* so many combinations that the shapes suggest are tried first (known_space.h) */
};

/* Of the tuner (evolution/tuner/tune.h).  The curve has, after every answer, the recorded time of the configuration that
 * looks best so far: with is_raw not the least.  -1: MEMORY, MISMATCH (a configuration that is not legal, or was
 * proposed before). */
int atoll_replay_tuner(const struct atoll_replay *replay, uint64_t seed, struct atoll_curves *curves,
                       size_t run, struct atoll_err *err);
/* Of random search without replacement; of the recorded times. */
int atoll_replay_random(const struct atoll_replay *replay, uint64_t seed, struct atoll_curves *curves,
                        size_t run, struct atoll_err *err);

#endif
