#include "mpi-eval/backend/cuda/measure/own_time.h"

#include <math.h>

#define MOST_NS     0.5e9
#define BYTES_PER_S 20e9
#define ENOUGH      64u /* batches */
#define TIMES       10.0
#define LEAST       0.6 /* a driver takes up to 0.3 s to tell of a trap */

#define SILENCE_TIMED_NS   100e6 /* a plain kernel of a large task takes half of it */
#define SILENCE_NS         30e6
#define SILENT_BYTES_PER_S 1e12

double atoll_own_time_silence_ns(int is_timed, uint64_t bytes)
{
    return (is_timed ? SILENCE_TIMED_NS : SILENCE_NS) + 1e9 * (double)bytes / SILENT_BYTES_PER_S;
}

static double most_ns(uint64_t bytes)
{
    return MOST_NS + 1e9 * (double)bytes / BYTES_PER_S;
}

void atoll_own_time_add(struct atoll_own_time *own, double ns, uint64_t bytes)
{
    double part = ns / most_ns(bytes);
    own->count += own->count < ENOUGH;
    if (!(part <= own->worst)) /* what is no number is the worst */
        own->worst = part <= 1 ? part : 1;
}

double atoll_own_time_limit_ns(const struct atoll_own_time *own, uint64_t bytes)
{
    double part = !own || own->count < ENOUGH ? 1 : fmin(fmax(TIMES * own->worst, LEAST), 1);
    return part * most_ns(bytes);
}
