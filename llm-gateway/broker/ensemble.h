/* ensemble.h - several models under one name: weighted members that a generation schedules.
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
    size_t member_count;
    struct atoll_ensemble_member members[ATOLL_ENSEMBLE_MEMBER_LIMIT];
};

/* The model for a request: drawn by weight among the members of its generation, or, where none is scheduled for it, among
 * all.  The draw follows from the request's id alone, so that a repeated request gets the same model.  -1: no members. */
int atoll_ensemble_choose(const struct atoll_ensemble *ensemble, uint32_t generation,
                          const struct atoll_id *request);

#endif
