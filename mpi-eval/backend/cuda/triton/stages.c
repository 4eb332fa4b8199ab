#include "mpi-eval/backend/cuda/triton/stages.h"

#include <stdio.h>

#include "base/log.h"

void atoll_triton_stages_add(struct atoll_triton_stages *s, enum atoll_triton_stage stage, double ns)
{
    s->count[stage]++;
    s->ns[stage] += ns;
    if (ns > s->most_ns[stage])
        s->most_ns[stage] = ns;
}

void atoll_triton_stages_log(const struct atoll_triton_stages *s)
{
    static const char *const names[] = {"in the queue", "sent for", "child",
                                        "all children", "rules",    "ptxas"};
    char text[640] = "";
    size_t n = 0;
    unsigned long parts = s->count[ATOLL_TRITON_STAGE_CHILD];
    if (!parts)
        return;
    for (int k = 0; k < ATOLL_TRITON_STAGE_COUNT; k++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s %.1f (most %.0f)", names[k],
                              s->count[k] ? s->ns[k] / (double)s->count[k] / 1e6 : 0, s->most_ns[k] / 1e6);
    atoll_log(ATOLL_LOG_INFO, "eval.triton.account",
              "%lu sources of Triton in %lu parts, ms of each%s; a child's processor %.1f",
              s->count[ATOLL_TRITON_STAGE_QUEUE], parts, text, s->processor_ns / (double)parts / 1e6);
}
