/* plan_repeat.h - whether a planner says again what was planned for the same parent already, word for word.
 * Layer: evolution.  Zero-initialised/fini; saved with the strategy that keeps it. */
#ifndef ATOLL_EVOLUTION_STRATEGY_PLAN_REPEAT_H
#define ATOLL_EVOLUTION_STRATEGY_PLAN_REPEAT_H

#include "evolution/engine/codec.h"
#include "evolution/engine/state.h"

struct atoll_plan_words {
    uint32_t parent; /* individual */
    uint64_t words;  /* atoll_plan_words_of */
};

struct atoll_plan_repeats {
    struct atoll_plan_words *items; /* in the order of their coming */
    uint32_t count, capacity;
};

/* A number of the words of a step: letters and digits count, in lower case; what is between them does not.  0: it has none. */
uint64_t atoll_plan_words_of(const char *text);
/* 1: the parent had this step before; 0: it is kept from now on, or has no words; -1. */
int atoll_plan_repeats_add(struct atoll_plan_repeats *repeats, uint32_t parent, const char *text,
                           struct atoll_err *err);
int atoll_plan_repeats_codec(struct atoll_plan_repeats *repeats, uint32_t individual_count,
                             struct atoll_codec *codec, struct atoll_err *err);
void atoll_plan_repeats_fini(struct atoll_plan_repeats *repeats);

#endif
