/* share.c - gain per device time, older evaluations weighing less. */
#include "evolution/engine/share.h"

#include <math.h>

#include "core/fitness.h"

#define HALF_LIFE   32.0 /* evaluations after which an improvement weighs half */
#define PRIOR_GAIN  0.2  /* ln of the improvement that a fresh task promises within the next PRIOR_TRIES */
#define PRIOR_TRIES 16.0
#define NEAR_FLOOR  0.25 /* ln(best / floor) from which the floor limits what can still be gained */
#define LEAST_ROOM  0.02

void atoll_share_add(struct atoll_share *share, double time_ns, double occupied_ns)
{
    const double decay = exp2(-1 / HALF_LIFE);
    share->gain *= decay;
    share->spent_ns *= decay;
    if (isfinite(occupied_ns) && occupied_ns > 0)
        share->spent_ns += occupied_ns;
    share->since++;
    if (!(time_ns > 0) || (share->best_ns > 0 && time_ns >= share->best_ns))
        return;
    if (share->best_ns > 0)
        share->gain += log(share->best_ns / time_ns);
    share->best_ns = time_ns;
    share->since = 0;
}

double atoll_share_promise(const struct atoll_share *share, double expected_ns, uint64_t under_way,
                           double floor_ns)
{
    double prior = PRIOR_GAIN * PRIOR_TRIES / (PRIOR_TRIES + (double)share->since);
    double cost_ns = share->spent_ns + ((double)under_way + PRIOR_TRIES) * fmax(expected_ns, 1);
    floor_ns = atoll_floor_trusted_ns(floor_ns, share->best_ns);
    double room = floor_ns > 0 && share->best_ns > 0
                      ? fmin(1, fmax(LEAST_ROOM, log(share->best_ns / floor_ns)) / NEAR_FLOOR)
                      : 1;
    return (share->gain + prior) / cost_ns * room;
}

void atoll_share_codec(struct atoll_share *share, struct atoll_codec *codec)
{
    atoll_codec_f64(codec, &share->gain);
    atoll_codec_f64(codec, &share->spent_ns);
    atoll_codec_f64(codec, &share->best_ns);
    atoll_codec_u64(codec, &share->since);
    if (codec->in && !(isfinite(share->gain) && isfinite(share->spent_ns) && isfinite(share->best_ns)))
        codec->in->failed = 1;
}
