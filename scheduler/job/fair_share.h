/* fair_share.h - which campaign gets the next job, and how many elements an array may have.  Layer: scheduler, pure. */
#ifndef ATOLL_SCHEDULER_JOB_FAIR_SHARE_H
#define ATOLL_SCHEDULER_JOB_FAIR_SHARE_H

#include <stddef.h>

/* A campaign as it stands for the next job. */
struct atoll_fair_share_claim {
    double priority, share;
    size_t live, missing; /* jobs that it has, and that it wants more */
    int has_room;         /* its launcher takes jobs, and the ceiling is not reached */
};
/* Whether a's turn is before b's: the higher priority; among equals who has least for its share.  Neither before the other:
 * the one that was queued first.  One that wants nothing or has no room has no turn. */
int atoll_fair_share_is_before(const struct atoll_fair_share_claim *a,
                               const struct atoll_fair_share_claim *b);
int atoll_fair_share_has_turn(const struct atoll_fair_share_claim *claim);

struct atoll_fair_share_array {
    size_t missing;
    unsigned ceiling, queued; /* ceiling 0: none */
    unsigned array_size;      /* of the site, 0: no bound */
    int is_allowed;           /* the site has arrays, and nobody else is served between two elements */
};
/* At least 1, which is no array. */
unsigned atoll_fair_share_elements(const struct atoll_fair_share_array *array);

#endif
