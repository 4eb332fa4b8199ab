/* decide.c - decisions are handed out with the fields of their type only, and kept while they are under way. */
#include "evolution/engine/decide.h"

#include <string.h>

struct atoll_decision atoll_decide_about(const struct atoll_engine *e, enum atoll_decision_type type,
                                         const struct atoll_task_state *t, uint32_t individual)
{
    const struct atoll_individual *r = &e->individuals.items[individual];
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = type;
    d.task = t->number;
    d.model = t->model;
    d.answers_ask = r->ask;
    d.island = r->island;
    d.cell = atoll_cell_behaviour(r->cell);
    d.candidate = r->id;
    d.source = e->sources.items[r->source].id;
    d.choice = r->choice;
    d.op = (enum atoll_operator)r->op;
    d.generation = r->generation;
    if (r->parent != ATOLL_NONE)
        d.parent = e->individuals.items[r->parent].id;
    d.time_ns = r->time_ns;
    d.fitness = r->fitness;
    return d;
}

void atoll_decide(struct atoll_engine *e, const struct atoll_decision *decision)
{
    struct atoll_decision plain = *decision;
    atoll_decision_normalise(&plain);
    if (e->sink)
        e->sink(e->context, &plain);
}

static int send(struct atoll_engine *e, const struct atoll_proposal *p, struct atoll_err *err)
{
    struct atoll_proposal sent = *p;
    sent.decision.evaluation = e->next_evaluation;
    atoll_decision_normalise(&sent.decision);
    if (atoll_proposals_add(&e->proposals, &sent, err))
        return -1;
    e->next_evaluation++;
    e->tasks[sent.task].under_way++;
    atoll_decide(e, &sent.decision);
    return 0;
}

int atoll_decide_send(struct atoll_engine *e, const struct atoll_task_state *t,
                      const struct atoll_decision *decision, uint32_t individual, uint32_t elite,
                      struct atoll_err *err)
{
    struct atoll_proposal p;
    memset(&p, 0, sizeof(p));
    p.task = atoll_task_position(e, t);
    p.individual = individual;
    p.elite = elite;
    p.decision = *decision;
    return send(e, &p, err);
}

int atoll_decide_again(struct atoll_engine *e, const struct atoll_proposal *p, struct atoll_err *err)
{
    struct atoll_proposal next = *p;
    next.retries++;
    return send(e, &next, err);
}

void atoll_decide_redispatch(struct atoll_engine *e, const struct atoll_proposal *p)
{
    struct atoll_decision d = p->decision;
    d.type = ATOLL_DECIDE_REDISPATCH;
    atoll_decide(e, &d);
}

void atoll_decide_abandon(struct atoll_engine *e, const struct atoll_proposal *p)
{
    struct atoll_decision d = p->decision;
    d.type = ATOLL_DECIDE_ABANDON;
    atoll_decide(e, &d);
}

void atoll_decide_task_done(struct atoll_engine *e, struct atoll_task_state *t, enum atoll_reason reason)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = ATOLL_DECIDE_TASK_DONE;
    d.task = t->number;
    d.model = t->model;
    d.reason = reason;
    t->done = 1;
    t->reason = (uint8_t)reason;
    e->open_count--;
    atoll_decide(e, &d);
}
