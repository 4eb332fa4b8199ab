/* Independent samples, the control of every comparison: nothing that was measured is used for what is tried next. */
#include "evolution/engine/propose.h"
#include "evolution/strategy/strategy.h"

static int ready(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    return t->template_count > 0 || (atoll_ask_is_outside(e, t) && atoll_ask_allowed(e, t));
}

static int propose(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    uint32_t island = atoll_propose_island(e, t);
    if (!atoll_ask_is_outside(e, t) || !atoll_ask_allowed(e, t))
        return atoll_propose_sampled(e, t, island, err);
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_WRITE, ATOLL_OPERATOR_INITIALISE, island, ATOLL_NONE);
    return atoll_ask_make(e, t, &asked, err);
}

const struct atoll_strategy atoll_strategy_repeated = {
    .name = "repeated", .ready = ready, .propose = propose};
