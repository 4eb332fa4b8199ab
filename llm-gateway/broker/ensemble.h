/* ensemble.h - which model answers: weighted members that a generation schedules, then fallbacks.
 * Layer: llm-gateway, pure. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_ENSEMBLE_H
#define ATOLL_LLM_GATEWAY_BROKER_ENSEMBLE_H

#include <stdint.h>

#include "base/id.h"

#define ATOLL_ENSEMBLE_MEMBER_LIMIT 16

struct atoll_ensemble_member {
    unsigned model;                             /* index into the configuration's models */
    double weight;                              /* >= 0 */
    uint32_t from_generation, until_generation; /* [from, until) */
};
struct atoll_ensemble {
    const char *name;
    size_t member_count, fallback_count;
    struct atoll_ensemble_member members[ATOLL_ENSEMBLE_MEMBER_LIMIT];
    unsigned fallbacks[ATOLL_ENSEMBLE_MEMBER_LIMIT]; /* in order, models */
};

/* The n-th model to try for a request, from 0: first a member drawn by weight among those of its generation (where there
 * are none, of all), then the other members by weight, then the fallbacks; none twice.  The draw follows from the request's
 * id alone, so that a repeated request takes the same way.  -1 when there is no n-th. */
int atoll_ensemble_choose(const struct atoll_ensemble *ensemble, uint32_t generation,
                          const struct atoll_id *request, unsigned n);

#endif
