/* strategy_islands.c - the two strategies that keep no state.
 *
 * Islands, the steady state: a free slot goes to the next island, which picks a parent among its elites and derives a
 * candidate from it, by the tuner or by asking (ALGORITHMS.md 1-5).
 * Repeated, the control of every comparison: independent samples; nothing that was measured is used for what is tried
 * next, but that with repeated_parent every prompt shows the baseline with its times and profile, always the same. */
#include "evolution/strategy/strategy.h"

#include "evolution/engine/propose.h"
#include "evolution/population/inspire.h"
#include "evolution/population/select.h"
#include "evolution/strategy/translate.h"

/* Whoever answers has had nothing new for as long as a task may stagnate. */
static int is_dry(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return e->search.stagnation_limit && t->fruitless >= e->search.stagnation_limit;
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return t->template_count > 0 || (atoll_ask_is_outside(e, t) && atoll_ask_allowed(e, t) && !is_dry(e, t));
}

static int islands_propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    /* Without outside operators no random number is drawn for them, and without templates they get everything. */
    int asks = atoll_ask_is_outside(e, t) && atoll_ask_allowed(e, t) &&
               (!t->template_count || atoll_random_unit(atoll_random_next(&t->random)) < e->search.ask_share);
    uint32_t island = atoll_propose_island(e, t), parent = ATOLL_NONE;
    struct atoll_look look = {&e->individuals, &t->transitions, t->evaluated};
    for (uint32_t i = 0; i < e->search.islands && parent == ATOLL_NONE; i++) {
        uint32_t from = (island + i) % e->search.islands;
        parent = atoll_select_parent(&e->search, &look, &t->islands[from], from, &t->random);
    }
    if (!asks)
        return atoll_propose_tuned(e, t, island, parent, err);
    uint32_t elite = atoll_translate_elite(e, t);
    if (elite != ATOLL_NONE) {
        struct atoll_asked translation = atoll_translate_ask(e, t, elite, island);
        return atoll_ask_make(e, t, &translation, err);
    }
    struct atoll_asked asked = atoll_ask_about(
        e, t, ATOLL_ASK_WRITE, parent == ATOLL_NONE ? ATOLL_OPERATOR_INITIALISE : ATOLL_OPERATOR_UNIVERSAL,
        island, parent);
    atoll_inspire(e, t, &asked);
    return atoll_ask_make(e, t, &asked, err);
}

const struct atoll_strategy atoll_strategy_islands = {
    .name = "islands", .ready = ready, .propose = islands_propose};

static int repeated_propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t island = atoll_propose_island(e, t);
    if (!atoll_ask_is_outside(e, t) || !atoll_ask_allowed(e, t))
        return atoll_propose_sampled(e, t, island, err);
    uint32_t parent = e->search.repeated_parent ? t->baseline : ATOLL_NONE;
    struct atoll_asked asked = atoll_ask_about(
        e, t, ATOLL_ASK_WRITE, parent == ATOLL_NONE ? ATOLL_OPERATOR_INITIALISE : ATOLL_OPERATOR_UNIVERSAL,
        island, parent);
    if (parent != ATOLL_NONE) { /* the same words every time */
        asked.ask.best_ns = 0;
        asked.ask.role = ATOLL_ISLAND_ROLE_COUNT;
    }
    return atoll_ask_make(e, t, &asked, err);
}

const struct atoll_strategy atoll_strategy_repeated = {
    .name = "repeated", .ready = ready, .propose = repeated_propose};
