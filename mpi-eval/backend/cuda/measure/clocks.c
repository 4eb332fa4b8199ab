#include "mpi-eval/backend/cuda/measure/clocks.h"

#include <math.h>

/* Looks at two events are each late by about a microsecond; the rest is for a host that stumbles, and for clocks that
 * run apart (below 100 parts in a million). */
#define APART_NS    10e3
#define APART_SHARE 0.001
#define FLUSH_SHARE 0.25 /* by which a flush may be longer than usual: clocks of the memory change */

int atoll_clocks_late(const struct atoll_clocks *c)
{
    return !(c->start_seen_ns > c->opened_ns);
}

static double larger_of(double best, double other, double tolerance, int *doubted)
{
    if (!(other > best + tolerance))
        return best;
    *doubted = 1;
    return other;
}

double atoll_clocks_span(const struct atoll_clocks *c, int *ret_doubted)
{
    double seen = c->stop_seen_ns - c->start_seen_ns, tolerance = APART_NS + APART_SHARE * fmax(seen, 0);
    double best = c->span_ns > 0 && isfinite(c->span_ns) ? c->span_ns : 0;
    int doubted = best == 0;
    best = larger_of(best, seen, tolerance, &doubted);
    if (best == 0 && seen > 0)
        best = seen;
    if (atoll_clocks_late(c) && c->flush_usual_ns > 0)
        best = larger_of(best, c->span_ns + c->flush_ns - (1 + FLUSH_SHARE) * c->flush_usual_ns, tolerance,
                         &doubted);
    *ret_doubted = doubted;
    return best > 0 && isfinite(best) ? best : (double)NAN;
}
