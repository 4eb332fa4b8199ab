#include "tests/simulator/witness.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void atoll_witness_fini(struct atoll_witness *w)
{
    atoll_index_fini(&w->index);
    free(w->sent);
    free(w->rivals);
    memset(w, 0, sizeof(*w));
}

struct query {
    const struct atoll_witness *witness;
    const struct atoll_decision *decision;
};

static int equal(const void *context, uint32_t position)
{
    const struct query *q = context;
    const struct atoll_witness_sent *s = &q->witness->sent[position];
    return s->task == q->decision->task && s->model == q->decision->model &&
           atoll_id_equal(&s->candidate, &q->decision->candidate);
}

static int evaluate_is_new(struct atoll_witness *w, const struct atoll_decision *d, struct atoll_err *err)
{
    struct query q = {w, d};
    uint64_t key = atoll_id_u64(&d->candidate) + d->task;
    if (atoll_index_find(&w->index, key, equal, &q) != ATOLL_NONE) {
        return atoll_err_set(err, ATOLL_E_INTERNAL,
                             "evaluation %" PRIu64 ": the candidate was evaluated before", d->evaluation);
    }
    if (atoll_array_reserve(&w->sent, &w->sent_capacity, w->sent_count + 1, sizeof(*w->sent), err) ||
        atoll_index_add(&w->index, key, w->sent_count, err)) {
        return -1;
    }
    w->sent[w->sent_count++] = (struct atoll_witness_sent){d->task, d->model, d->candidate};
    return 0;
}

/* One duel over the cell, and one over the task's best. */
static int duel_fits(const struct atoll_orders *orders, const struct atoll_decision *d, struct atoll_err *err)
{
    unsigned open = 0;
    if (atoll_id_equal(&d->candidate, &d->elite)) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "duel %" PRIu64 ": a candidate against itself",
                             d->evaluation);
    }
    if (!(d->alpha > 0 && d->alpha < 0.5))
        return atoll_err_set(err, ATOLL_E_INTERNAL, "duel %" PRIu64 ": error %g", d->evaluation, d->alpha);
    for (uint32_t i = 0; i < orders->count && d->purpose == ATOLL_DUEL_PROMOTION; i++) {
        const struct atoll_decision *o = &orders->items[i].decision;
        open += o->type == ATOLL_DECIDE_DUEL && o->purpose == ATOLL_DUEL_PROMOTION && o->task == d->task &&
                o->model == d->model && o->island == d->island &&
                atoll_behaviour_cell(o->cell) == atoll_behaviour_cell(d->cell);
    }
    return open < 2 ? 0
                    : atoll_err_set(err, ATOLL_E_INTERNAL,
                                    "duel %" PRIu64 ": two others are open over its cell", d->evaluation);
}

/* Each once, but for what nobody is to blame for; what a stop gave up comes again as a REDISPATCH. */
static int rival_is_new(struct atoll_witness *w, const struct atoll_decision *d, struct atoll_err *err)
{
    uint32_t before = w->rival_capacity;
    if (atoll_array_reserve(&w->rivals, &w->rival_capacity, d->task + 1, sizeof(*w->rivals), err))
        return -1;
    memset(w->rivals + before, 0, w->rival_capacity - before);
    if (w->rivals[d->task] & 1u << d->rival)
        return atoll_err_set(err, ATOLL_E_INTERNAL,
                             "rival %" PRIu32 " of task %" PRIu32 " was measured before", d->rival, d->task);
    w->rivals[d->task] |= (uint8_t)(1u << d->rival);
    return 0;
}

static int same_but_number(const struct atoll_decision *a, const struct atoll_decision *b)
{
    return a->type == b->type && a->task == b->task && a->purpose == b->purpose && a->rival == b->rival &&
           atoll_id_equal(&a->candidate, &b->candidate) && atoll_id_equal(&a->elite, &b->elite);
}

static int dispatch_fits(struct atoll_witness *w, const struct atoll_orders *orders,
                         const struct atoll_decision *d, struct atoll_err *err)
{
    if (d->evaluation <= w->last_evaluation) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "number %" PRIu64 " follows %" PRIu64, d->evaluation,
                             w->last_evaluation);
    }
    w->last_evaluation = d->evaluation;
    if (w->failing.type && same_but_number(&w->failing, d)) {
        w->failing.type = (enum atoll_decision_type)0;
        return 0;
    }
    return d->type == ATOLL_DECIDE_EVALUATE ? evaluate_is_new(w, d, err)
           : d->type == ATOLL_DECIDE_RIVAL  ? rival_is_new(w, d, err)
                                            : duel_fits(orders, d, err);
}

static int is_under_way(const struct atoll_orders *orders, const struct atoll_decision *d,
                        struct atoll_err *err)
{
    return atoll_orders_find(orders, d->evaluation)
               ? 0
               : atoll_err_set(err, ATOLL_E_INTERNAL, "number %" PRIu64 " is not under way", d->evaluation);
}

static int migration_fits(const struct atoll_search *s, const struct atoll_decision *d, struct atoll_err *err)
{
    if (d->island == d->other_island || d->island >= s->islands || d->other_island >= s->islands) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "a migrant goes from island %" PRIu32 " to %" PRIu32,
                             d->island, d->other_island);
    }
    if (s->topology == ATOLL_TOPOLOGY_NONE && !(s->stagnation_migration > 0))
        return atoll_err_set(err, ATOLL_E_INTERNAL, "a migrant where none may be");
    return 0;
}

int atoll_witness_decision(struct atoll_witness *w, const struct atoll_search *search,
                           const struct atoll_orders *orders, const struct atoll_decision *d,
                           struct atoll_err *err)
{
    if (w->stopped)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "a decision follows the stop");
    switch (d->type) {
    case ATOLL_DECIDE_EVALUATE:
    case ATOLL_DECIDE_RIVAL:
    case ATOLL_DECIDE_DUEL: return dispatch_fits(w, orders, d, err);
    case ATOLL_DECIDE_REDISPATCH:
    case ATOLL_DECIDE_ABANDON:
        /* what is given up in answer to a failure is not held any more */
        return w->failing.type && w->failing.evaluation == d->evaluation ? 0 : is_under_way(orders, d, err);
    case ATOLL_DECIDE_MIGRATE: return migration_fits(search, d, err);
    case ATOLL_DECIDE_STOP: w->stopped = 1; return 0;
    default: return 0;
    }
}

int atoll_witness_state(const struct atoll_witness *w, const struct atoll_search *search,
                        const struct atoll_orders *orders, const struct atoll_engine *engine,
                        struct atoll_err *err)
{
    struct atoll_engine_status status;
    atoll_engine_status(engine, &status);
    if (status.under_way != orders->alive) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%" PRIu64 " under way, evaluators hold %" PRIu32,
                             status.under_way, orders->alive);
    }
    if (search->evaluation_budget && status.evaluated > search->evaluation_budget) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%" PRIu64 " evaluations are more than the budget",
                             status.evaluated);
    }
    return 0;
}

int atoll_witness_end(const struct atoll_engine *engine, struct atoll_err *err)
{
    struct atoll_engine_status status;
    atoll_engine_status(engine, &status);
    if (!status.stopped || status.under_way) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "the end: stopped %d, %" PRIu64 " under way",
                             status.stopped, status.under_way);
    }
    for (uint32_t i = 0; i < atoll_engine_task_count(engine); i++) {
        struct atoll_task_status t;
        if (atoll_engine_task_status(engine, i, 0, &t))
            return atoll_err_set(err, ATOLL_E_INTERNAL, "the end: task %" PRIu32 " is unknown", i);
        if (!t.done || t.under_way)
            return atoll_err_set(err, ATOLL_E_INTERNAL, "the end: task %" PRIu32 " goes on", i);
        if (t.rival_ratio > 0 && !(t.rival_ns > 0))
            return atoll_err_set(err, ATOLL_E_INTERNAL, "the end: task %" PRIu32 " beat no rival", i);
        if (t.final_ratio > 0 && !atoll_id_equal(&t.best, &t.baseline) && t.final_ratio < 1)
            return atoll_err_set(err, ATOLL_E_INTERNAL, "the end: the best of task %" PRIu32 " is slower", i);
    }
    return 0;
}
