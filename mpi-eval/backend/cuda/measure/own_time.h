/* own_time.h - how long the batch of a sample may take beside its candidate: inputs, fills, loading, the way there and back.  A candidate
 * that hangs costs its deadline and this; who waits no longer than such batches take wastes little, who waits too little blames a
 * candidate for a host that stumbled.  Layer: mpi-eval, backend/cuda.  Pure; zeros are a device that nothing is known of. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_OWN_TIME_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_OWN_TIME_H

#include <stdint.h>

struct atoll_own_time {
    uint32_t count; /* batches that were seen to end */
    double worst;   /* of them, in parts of what one may take at most */
};

/* A batch with so many bytes of tensors ended, and took so many ns beside its candidate. */
void atoll_own_time_add(struct atoll_own_time *own, double ns, uint64_t bytes);
/* ns that the next one may take: at most half a second, and 50 ms for each GB; once many were seen, ten times the worst of them, but
 * no less than three fifths of that: a driver that tells of a trap was seen to take up to 0.3 s.  own NULL: of one that is not like those. */
double atoll_own_time_limit_ns(const struct atoll_own_time *own, uint64_t bytes);
/* ns of silence after which a batch is doubtful, its candidate's time included: hardly anything but what will be lost takes as long.
 * is_timed: a wrong guess would disturb a sample; else it costs little, and most that is lost is lost there, at check variants. */
double atoll_own_time_silence_ns(int is_timed, uint64_t bytes);

#endif
