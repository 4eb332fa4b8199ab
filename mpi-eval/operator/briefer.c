#include "mpi-eval/operator/briefer.h"

#include <stdlib.h>
#include <string.h>

#include "core/model_role.h"

#define SIBLINGS     3u
#define SLOWER       3u
#define COMBINATIONS 8u /* that are correct, the fastest */
#define BROKEN       4u /* that are not, the newest */

/* What each role is told. */
static const struct told {
    unsigned neighbours : 1;   /* siblings, slower tries, the best of all */
    unsigned combinations : 1; /* of the parent's template */
} told[ATOLL_MODEL_ROLE_COUNT] = {
    [ATOLL_MODEL_ROLE_WRITER] = {.neighbours = 1, .combinations = 1},
    [ATOLL_MODEL_ROLE_PLANNER] = {.neighbours = 1, .combinations = 1},
    [ATOLL_MODEL_ROLE_EXECUTOR] = {.combinations = 1},
    [ATOLL_MODEL_ROLE_REFINER] = {.combinations = 1},
    [ATOLL_MODEL_ROLE_TEMPLATER] = {.combinations = 1},
};

struct atoll_briefer {
    const struct atoll_search *search;
    const struct atoll_prompt_context *context;
};

struct atoll_briefer *atoll_briefer_create(const struct atoll_search *search,
                                           const struct atoll_prompt_context *context, struct atoll_err *err)
{
    struct atoll_briefer *b = calloc(1, sizeof(*b));
    if (!b) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what prompts are told");
        return NULL;
    }
    b->search = search;
    b->context = context;
    return b;
}

void atoll_briefer_destroy(struct atoll_briefer *b)
{
    free(b);
}

/* ---- results near the parent ---- */

/* The first ones by time, or as they came. */
struct choice {
    struct atoll_brief items[COMBINATIONS];
    size_t count, limit;
};

static void choose(struct choice *c, enum atoll_brief_kind kind, const struct atoll_candidate_view *view,
                   int by_time)
{
    size_t at = c->count;
    while (by_time && at > 0 && view->time_ns < c->items[at - 1].score)
        at--;
    if (at == c->limit)
        return;
    c->count += c->count < c->limit;
    memmove(&c->items[at + 1], &c->items[at], (c->count - 1 - at) * sizeof(*c->items));
    c->items[at] = (struct atoll_brief){
        .kind = kind, .id = view->id, .title = "", .text = "", .score = view->is_correct ? view->time_ns : 0};
}

static void tell(struct atoll_briefing *briefing, const struct choice *c)
{
    for (size_t i = 0; i < c->count && briefing->count < ATOLL_BRIEF_LIMIT; i++)
        briefing->briefs[briefing->count++] = c->items[i];
}

/* What the ask shows anyway. */
static int is_named(const struct atoll_ask *ask, const struct atoll_id *candidate)
{
    int is_there = atoll_id_equal(&ask->parent, candidate);
    for (size_t i = 0; i < ask->inspiration_count; i++)
        is_there |= atoll_id_equal(&ask->inspirations[i], candidate);
    for (size_t i = 0; i < ask->failure_count; i++)
        is_there |= atoll_id_equal(&ask->failures[i], candidate);
    return is_there;
}

/* Children of the parent, then of its own parent: those that are faster than it, the fastest first, and those that are
 * not, the newest first. */
static void tell_neighbours(const struct atoll_engine *engine, const struct atoll_ask *ask,
                            const struct atoll_candidate_view *parent, struct atoll_briefing *briefing)
{
    struct choice faster = {.limit = SIBLINGS}, slower = {.limit = SLOWER};
    const struct atoll_id *origins[] = {&parent->id, &parent->parent};
    for (size_t i = 0; i < 2 && !atoll_id_is_zero(origins[i]); i++) {
        struct atoll_candidate_view view;
        struct choice own = {.limit = SIBLINGS - faster.count};
        uint32_t cursor = 0;
        while (atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
            if (!view.is_correct || !atoll_id_equal(&view.parent, origins[i]) ||
                atoll_id_equal(&view.source, &parent->source) || is_named(ask, &view.id)) {
                continue;
            }
            if (!parent->is_correct || view.time_ns < parent->time_ns)
                choose(&own, ATOLL_BRIEF_SIBLING, &view, 1);
            else
                choose(&slower, ATOLL_BRIEF_SLOWER, &view, 0);
        }
        memcpy(faster.items + faster.count, own.items, own.count * sizeof(*own.items));
        faster.count += own.count;
    }
    tell(briefing, &faster);
    tell(briefing, &slower);
}

static void tell_best(const struct atoll_engine *engine, const struct atoll_ask *ask,
                      struct atoll_briefing *briefing)
{
    struct atoll_task_status status;
    struct atoll_candidate_view view;
    struct choice best = {.limit = 1};
    if (atoll_engine_task_status(engine, ask->task, ask->model, &status) != 0 ||
        atoll_id_is_zero(&status.best) || is_named(ask, &status.best) ||
        atoll_engine_view(engine, ask->task, ask->model, &status.best, &view) != 0) {
        return;
    }
    for (uint32_t i = 0; i < briefing->count; i++)
        if (atoll_id_equal(&briefing->briefs[i].id, &status.best))
            return;
    choose(&best, ATOLL_BRIEF_BEST, &view, 0);
    tell(briefing, &best);
}

/* The parent itself is one of them. */
static void tell_combinations(const struct atoll_engine *engine, const struct atoll_ask *ask,
                              const struct atoll_candidate_view *parent, struct atoll_briefing *briefing)
{
    struct choice correct = {.limit = COMBINATIONS}, broken = {.limit = BROKEN};
    struct atoll_candidate_view view;
    uint32_t cursor = 0;
    while (atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
        if (!view.is_settled || !atoll_id_equal(&view.source, &parent->source))
            continue;
        if (view.is_correct)
            choose(&correct, ATOLL_BRIEF_COMBINATION, &view, 1);
        else
            choose(&broken, ATOLL_BRIEF_COMBINATION, &view, 0);
    }
    if (correct.count + broken.count < 2)
        return; /* no template, or nothing beside the parent */
    tell(briefing, &correct);
    tell(briefing, &broken);
}

int atoll_briefer_make(struct atoll_briefer *b, const struct atoll_engine *engine,
                       const struct atoll_ask *ask, struct atoll_briefing *ret_briefing,
                       struct atoll_err *err)
{
    const struct told *wanted = &told[atoll_model_role_of_ask(ask)];
    struct atoll_briefing briefing = {.ask = ask->number};
    struct atoll_candidate_view parent;
    int has_parent = !atoll_id_is_zero(&ask->parent) &&
                     atoll_engine_view(engine, ask->task, ask->model, &ask->parent, &parent) == 0;
    (void)err;
    if (has_parent && b->search->trajectory && wanted->neighbours)
        tell_neighbours(engine, ask, &parent, &briefing);
    if (b->search->trajectory && wanted->neighbours)
        tell_best(engine, ask, &briefing);
    if (has_parent && b->search->trajectory && wanted->combinations)
        tell_combinations(engine, ask, &parent, &briefing);
    *ret_briefing = briefing;
    return 0;
}
