/* A candidate is evaluated once: one that is known already, through another template, only tells the tuner
 * its time. */
#include "evolution/propose.h"

#include <string.h>

#include "evolution/decide.h"
#include "evolution/select.h"

#define ANY_TEMPLATE_SHARE 0.25 /* of proposals that tune any template instead of the parent's own */

static int queue(struct atoll_engine_task *t, uint32_t source, uint32_t island, struct atoll_err *err)
{
    if (atoll_array_reserve(&t->pending, &t->pending_capacity, t->pending_count + 1, sizeof *t->pending, err))
        return -1;
    t->pending[t->pending_count++] = (struct atoll_pending){source, island};
    return 0;
}

static int add_template(struct atoll_engine_task *t, uint32_t source, struct atoll_err *err)
{
    if (atoll_array_reserve(&t->templates, &t->template_capacity, t->template_count + 1, sizeof *t->templates,
                            err))
        return -1;
    t->templates[t->template_count++] = source;
    return 0;
}

int atoll_propose_source(struct atoll_engine *e, struct atoll_engine_task *t, const char *language,
                         const char *text, enum atoll_operator op, uint32_t island, int as_baseline,
                         struct atoll_err *err)
{
    uint32_t known = e->sources.count, source;
    if (atoll_sources_add(&e->sources, atoll_task_number(e, t), t->task, t->arena, language, text, op,
                          &source, err))
        return -1;
    if (source < known)
        return 0;
    if (e->sources.items[source].tune && add_template(t, source, err))
        return -1;
    if (!as_baseline)
        return queue(t, source, island, err);
    t->baseline_source = source;
    return 0;
}

int atoll_propose_ready(const struct atoll_engine_task *t)
{
    if (t->done || t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        return 0;
    return t->stage == ATOLL_STAGE_BASELINE || t->pending_next < t->pending_count || t->template_count > 0;
}

enum atoll_turn atoll_propose_turn(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    if (t->stage == ATOLL_STAGE_BASELINE)
        return ATOLL_TURN_BASELINE;
    int waits = t->pending_next < t->pending_count;
    return waits && e->sources.items[t->pending[t->pending_next].source].op == ATOLL_OPERATOR_SEED
               ? ATOLL_TURN_SEED
               : ATOLL_TURN_OPEN;
}

int atoll_propose_exhausted(const struct atoll_engine_task *t)
{
    return !t->done && t->stage == ATOLL_STAGE_OPEN && !atoll_propose_ready(t) && !t->under_way;
}

static uint32_t next_island(const struct atoll_engine *e, struct atoll_engine_task *t)
{
    uint32_t island = t->next_island;
    t->next_island = (island + 1) % e->search.islands;
    return island;
}

/* 1 sent, 0 known already, -1 error. */
static int send(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_individual *r,
                struct atoll_err *err)
{
    struct atoll_source *s = &e->sources.items[r->source];
    r->task = s->task;
    r->id = atoll_source_candidate(s, t->task, &r->choice);
    uint32_t known = atoll_individuals_find(&e->individuals, r->task, &r->id);
    if (known != ATOLL_NONE) {
        const struct atoll_individual *same = &e->individuals.items[known];
        if (s->tune && same->state != ATOLL_INDIVIDUAL_UNDER_WAY)
            atoll_tune_result(s->tune, &r->choice, same->state == ATOLL_V_CORRECT ? same->time_ns : 0);
        return 0;
    }
    r->state = ATOLL_INDIVIDUAL_UNDER_WAY;
    r->generation = (uint32_t)(t->islands[r->island].evaluated / e->search.generation_size);
    if (atoll_individuals_add(&e->individuals, r, err))
        return -1;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_EVALUATE, t, e->individuals.count - 1);
    d.baseline_ns = t->baseline_ns;
    d.incumbent_ns = s->best_ns;
    return atoll_decide_send(e, &d, e->individuals.count - 1, ATOLL_NONE, err) ? -1 : 1;
}

/* The first instance of a source. */
static int send_first(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t source, uint32_t island,
                      struct atoll_err *err)
{
    struct atoll_source *s = &e->sources.items[source];
    if (s->tune && atoll_tune_add(s->tune, &s->first, err))
        return -1;
    struct atoll_individual r = {.choice = s->first,
                                 .source = source,
                                 .parent = ATOLL_NONE,
                                 .island = island == ATOLL_NONE ? next_island(e, t) : island,
                                 .op = s->op};
    return send(e, t, &r, err);
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

static int is_open_template(const struct atoll_source *s)
{
    return s->tune && !atoll_tune_exhausted(s->tune);
}

/* The parent's own template, or now and then, or where the parent is none, any. */
static uint32_t choose_template(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t parent)
{
    int any = atoll_random_unit(atoll_random_next(&t->random)) < ANY_TEMPLATE_SHARE;
    if (!any && parent != ATOLL_NONE &&
        is_open_template(&e->sources.items[e->individuals.items[parent].source]))
        return e->individuals.items[parent].source;
    return t->templates[atoll_random_below(atoll_random_next(&t->random), t->template_count)];
}

static void drop_template(struct atoll_engine_task *t, uint32_t source)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->template_count; i++)
        if (t->templates[i] != source)
            t->templates[kept++] = t->templates[i];
    t->template_count = kept;
}

static int send_tuned(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    uint32_t island = next_island(e, t);
    uint32_t parent = choose_parent(e, t, island);
    uint32_t source = choose_template(e, t, parent);
    struct atoll_source *s = &e->sources.items[source];
    if (parent == ATOLL_NONE || e->individuals.items[parent].source != source)
        parent = s->best;
    struct atoll_individual r = {
        .source = source, .parent = parent, .island = island, .op = ATOLL_OPERATOR_TUNE};
    struct atoll_choice around;
    if (parent != ATOLL_NONE)
        around = e->individuals.items[parent].choice;
    int proposed, sent = 0;
    do {
        proposed =
            atoll_tune_propose(s->tune, &t->random, parent != ATOLL_NONE ? &around : NULL, &r.choice, err);
        if (proposed > 0)
            sent = send(e, t, &r, err);
    } while (proposed > 0 && !sent);
    if (atoll_tune_exhausted(s->tune))
        drop_template(t, source);
    return proposed < 0 ? -1 : sent;
}

int atoll_propose(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    if (t->stage == ATOLL_STAGE_BASELINE) {
        t->stage = ATOLL_STAGE_BASELINE_UNDER_WAY;
        return send_first(e, t, t->baseline_source, ATOLL_NONE, err) < 0 ? -1 : 0;
    }
    if (t->pending_next < t->pending_count) {
        struct atoll_pending next = t->pending[t->pending_next++];
        if (t->pending_next == t->pending_count)
            t->pending_next = t->pending_count = 0;
        return send_first(e, t, next.source, next.island, err) < 0 ? -1 : 0;
    }
    return send_tuned(e, t, err) < 0 ? -1 : 0;
}
