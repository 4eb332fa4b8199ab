/* Steady state: a free slot goes to the next island, which picks a parent among its elites and derives a candidate
 * from it, by the tuner or by asking (ALGORITHMS.md 1-5). */
#include "evolution/population/inspire.h"
#include "evolution/engine/propose.h"
#include "evolution/population/select.h"
#include "evolution/strategy/strategy.h"

static int ready(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    return t->template_count > 0 || (atoll_ask_is_outside(e, t) && atoll_ask_allowed(e, t));
}

static uint32_t choose_parent(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island)
{
    struct atoll_look look = {&e->individuals, &t->transitions, t->evaluated};
    uint32_t parent = ATOLL_NONE;
    for (uint32_t i = 0; i < e->search.islands && parent == ATOLL_NONE; i++) {
        uint32_t from = (island + i) % e->search.islands;
        parent = atoll_select_parent(&e->search, &look, &t->islands[from], from, &t->random);
    }
    return parent;
}

/* Without outside operators no random number is drawn for them, and without templates they get everything. */
static int asks_now(struct atoll_engine *e, struct atoll_engine_task *t)
{
    if (!atoll_ask_is_outside(e, t) || !atoll_ask_allowed(e, t))
        return 0;
    return !t->template_count || atoll_random_unit(atoll_random_next(&t->random)) < e->search.ask_share;
}

static int propose(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    int asks = asks_now(e, t);
    uint32_t island = atoll_propose_island(e, t);
    uint32_t parent = choose_parent(e, t, island);
    if (!asks)
        return atoll_propose_tuned(e, t, island, parent, err);
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_WRITE, ATOLL_OPERATOR_UNIVERSAL, island, parent);
    atoll_inspire(e, t, &asked);
    return atoll_ask_make(e, t, &asked, err);
}

const struct atoll_strategy atoll_strategy_islands = {.name = "islands", .ready = ready, .propose = propose};
