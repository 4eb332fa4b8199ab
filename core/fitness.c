/* fitness.c - see MEASUREMENT.md 8; the clipped form is papers/000 3.1 with target 2. */
#include "core/fitness.h"

#include <math.h>

#define CORRECT_BASE    0.5
#define COMPILED_ONLY   0.1
#define CLIPPED_TARGET  2.0
#define UNKNOWN_CEILING 100.0 /* speedup that stands in for an unknown floor */

double atoll_floor_trusted_ns(double floor_ns, double time_ns)
{
    return floor_ns > 0 && !(time_ns > 0 && time_ns * ATOLL_FLOOR_BEATEN_RATIO < floor_ns) ? floor_ns : 0;
}

double atoll_fitness(enum atoll_fitness_form form, enum atoll_verdict verdict, double time_ns,
                     double baseline_ns, double floor_ns)
{
    switch (verdict) {
    case ATOLL_V_CORRECT: break;
    case ATOLL_V_BAD_PLAN:
    case ATOLL_V_FORBIDDEN:
    case ATOLL_V_COMPILE_ERROR:
    case ATOLL_V_INFRASTRUCTURE: return 0;
    default: return COMPILED_ONLY;
    }
    if (!(time_ns > 0) || !(baseline_ns > 0))
        return CORRECT_BASE;
    double speedup = baseline_ns / time_ns;
    floor_ns = atoll_floor_trusted_ns(floor_ns, fmin(time_ns, baseline_ns));
    double share, ceiling = floor_ns > 0 ? baseline_ns / floor_ns : UNKNOWN_CEILING;
    if (form == ATOLL_FITNESS_CLIPPED)
        share = speedup / CLIPPED_TARGET;
    else if (ceiling > 1)
        share = log(speedup) / log(ceiling);
    else /* the baseline is at its floor already: only being as fast counts */
        share = speedup >= 1 ? 1 : 0;
    return CORRECT_BASE + CORRECT_BASE * (share > 1 ? 1 : share > 0 ? share : 0); /* NaN gives 0 */
}
