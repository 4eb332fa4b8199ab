/* individual.h - every candidate the search ever sent for evaluation, once per task, by identity.
 * Layer: evolution.  Lifetime: zero-initialised/fini.  Individuals are referred to by position and never move up
 * or down. */
#ifndef ATOLL_EVOLUTION_ENGINE_INDIVIDUAL_H
#define ATOLL_EVOLUTION_ENGINE_INDIVIDUAL_H

#include "core/behaviour/behaviour.h"
#include "core/decision.h"
#include "evolution/engine/codec.h"
#include "base/hash_index.h"

/* States beside the verdicts. */
enum {
    ATOLL_INDIVIDUAL_UNDER_WAY = ATOLL_VERDICT_COUNT,
    ATOLL_INDIVIDUAL_ABANDONED,
    ATOLL_INDIVIDUAL_DISCARDED, /* a judge says that it cheats */
    ATOLL_INDIVIDUAL_STATE_COUNT
};

struct atoll_individual {
    struct atoll_id id;
    struct atoll_choice choice;
    uint32_t task;
    uint32_t source; /* position in sources, of this task */
    uint32_t parent; /* position in individuals, ATOLL_NONE */
    uint64_t ask;    /* it answers, 0: none */
    uint32_t prompt; /* atoll_wording_mark of the ask */
    uint32_t island, generation;
    uint8_t op;    /* enum atoll_operator */
    uint8_t state; /* enum atoll_verdict or one of the above */
    uint8_t cell;
    uint8_t finalist;    /* it had its final duel */
    double time_ns;      /* measured alone; raised to what a lost duel says */
    double lo_ns, hi_ns; /* 95 % interval of time_ns when it was measured */
    double fitness;
    uint64_t issues; /* that its measurement shows (atoll_issues_of_diagnosis) */
};

struct atoll_individuals {
    struct atoll_individual *items;
    uint32_t count, capacity;
    struct atoll_index index;
};

void atoll_individuals_fini(struct atoll_individuals *individuals);
/* Position, or ATOLL_NONE. */
uint32_t atoll_individuals_find(const struct atoll_individuals *individuals, uint32_t task,
                                const struct atoll_id *id);
int atoll_individuals_add(struct atoll_individuals *individuals, const struct atoll_individual *individual,
                          struct atoll_err *err);
/* source_count: bound of the source positions when loading. */
int atoll_individuals_codec(struct atoll_individuals *individuals, uint32_t source_count,
                            struct atoll_codec *codec, struct atoll_err *err);

#endif
