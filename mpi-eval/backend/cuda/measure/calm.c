#include "mpi-eval/backend/cuda/measure/calm.h"

#define STIRRED_BYTES ((uint64_t)256 << 20) /* cleared in a millisecond or two */
#define APART         1.04                  /* clearing makes reading 1.1 times as long */
#define WATCH_NS      100e6 /* until it is known what is usual: clearing 13 GB takes 20 to 30 ms */
#define LIMIT_NS      500e6

void atoll_calm_stir(struct atoll_calm *c, uint64_t bytes)
{
    c->is_stirred |= bytes >= STIRRED_BYTES;
}

int atoll_calm_waits(struct atoll_calm *c, double probe_ns, double waited_ns)
{
    if (!(c->shortest_ns > 0) || probe_ns < c->shortest_ns)
        c->shortest_ns = probe_ns;
    if (!(c->usual_ns > 0) || probe_ns < c->usual_ns)
        c->usual_ns = probe_ns;
    int is_over = waited_ns >= LIMIT_NS;
    c->is_known |= waited_ns >= WATCH_NS;
    if (!is_over && (!c->is_known || !(probe_ns <= APART * c->usual_ns)))
        return 1;
    if (is_over)
        c->usual_ns = c->shortest_ns;
    c->shortest_ns = 0;
    c->is_stirred = 0;
    return 0;
}
