/* strategy.c - the table of strategies, and who hears of what. */
#include "evolution/strategy/strategy.h"

#include "evolution/population/judgement.h"
#include "evolution/strategy/analysis.h"
#include "evolution/strategy/lesson.h"
#include "evolution/strategy/prompts.h"
#include "evolution/strategy/template_phase.h"

static const struct atoll_strategy *const strategies[ATOLL_STRATEGY_COUNT] = {
    [ATOLL_STRATEGY_ISLANDS] = &atoll_strategy_islands,   [ATOLL_STRATEGY_BEAM] = &atoll_strategy_beam,
    [ATOLL_STRATEGY_TREE] = &atoll_strategy_tree,         [ATOLL_STRATEGY_STAGED] = &atoll_strategy_staged,
    [ATOLL_STRATEGY_REPEATED] = &atoll_strategy_repeated,
};

const struct atoll_strategy *atoll_strategy_of(const struct atoll_engine *e)
{
    return strategies[e->search.strategy];
}

static const struct atoll_strategy *const beside[] = {&atoll_strategy_prompts, &atoll_strategy_judge,
                                                      &atoll_strategy_lessons, &atoll_strategy_analyses,
                                                      &atoll_strategy_template_phase};

int atoll_strategy_settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask,
                           uint32_t individual, struct atoll_err *err)
{
    const struct atoll_strategy *strategy = atoll_strategy_of(e);
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
        int heard = beside[i]->settled(e, t, ask, individual, err);
        if (heard)
            return heard < 0 ? -1 : 0;
    }
    return strategy->settled ? strategy->settled(e, t, ask, individual, err) : 0;
}

int atoll_strategy_replied(struct atoll_engine *e, struct atoll_task_state *t,
                           const struct atoll_asked *asked, const struct atoll_reply *reply,
                           uint32_t accepted, struct atoll_err *err)
{
    const struct atoll_strategy *strategy = atoll_strategy_of(e);
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
        int heard = beside[i]->replied(e, t, asked, reply, accepted, err);
        if (heard)
            return heard < 0 ? -1 : 0;
    }
    return strategy->replied ? strategy->replied(e, t, asked, reply, accepted, err) : 0;
}
