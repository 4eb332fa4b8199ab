/* builtin.c - what the built-in operator answers: instances that the tuner chooses; for plans, values of one parameter at a
 * time, then other templates; for a stage, instances of the fastest template that is above the kernel in the stage's
 * dimension (ALGORITHMS.md 9). */
#include "evolution/strategy/builtin.h"

#include "core/issue.h"
#include "evolution/engine/propose.h"

#define NO_DIMENSION ATOLL_DIMENSIONS

/* In which dimension a stage lifts a kernel; types and addresses leave no trace in behaviour. */
static const unsigned dimensions[ATOLL_ISSUE_STAGE_COUNT] = {
    [ATOLL_ISSUE_STAGE_ALGORITHM] = 1,
    [ATOLL_ISSUE_STAGE_DISCOVERY] = 1,
    [ATOLL_ISSUE_STAGE_DTYPE] = NO_DIMENSION,
    [ATOLL_ISSUE_STAGE_FUSION] = 1,
    [ATOLL_ISSUE_STAGE_MEMORY] = 0,
    [ATOLL_ISSUE_STAGE_ADDRESSING] = NO_DIMENSION,
    [ATOLL_ISSUE_STAGE_PERSISTENT] = 2,
    [ATOLL_ISSUE_STAGE_DEVICE] = 2,
    [ATOLL_ISSUE_STAGE_TUNING] = NO_DIMENSION,
};

static unsigned level_of(unsigned cell, unsigned dimension)
{
    static const unsigned places[ATOLL_DIMENSIONS] = {16, 4, 1};
    return cell / places[dimension] % 4;
}

static int is_tunable(const struct atoll_source *s)
{
    return s->tune && !atoll_tune_exhausted(s->tune);
}

int atoll_builtin_is_tunable(const struct atoll_engine *e, uint32_t kernel)
{
    return is_tunable(&e->sources.items[e->individuals.items[kernel].source]);
}

/* The best instance of a source is above the kernel. */
static int is_above(const struct atoll_engine *e, const struct atoll_source *s, uint32_t kernel,
                    unsigned dimension)
{
    return s->task == e->individuals.items[kernel].task && s->best != ATOLL_NONE &&
           level_of(e->individuals.items[s->best].cell, dimension) >
               level_of(e->individuals.items[kernel].cell, dimension);
}

uint64_t atoll_builtin_issues(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t kernel)
{
    const struct atoll_individual *r = &e->individuals.items[kernel];
    unsigned higher = 0; /* dimensions in which some source has a better instance */
    for (uint32_t i = 0; i < e->sources.count; i++)
        for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
            higher |= (unsigned)is_above(e, &e->sources.items[i], kernel, d) << d;
    struct atoll_issue_evidence evidence = {.cell = r->cell,
                                            .higher = higher,
                                            .time_ns = r->time_ns,
                                            .floor_ns = t->floor_ns,
                                            .has_open_parameters = atoll_builtin_is_tunable(e, kernel),
                                            .shown = r->issues};
    return atoll_issues_of(&evidence);
}

/* ATOLL_NONE: nothing is there. */
static uint32_t template_for(const struct atoll_engine *e, uint32_t kernel, unsigned stage)
{
    unsigned dimension = dimensions[stage];
    uint32_t found = ATOLL_NONE;
    if (stage == ATOLL_ISSUE_STAGE_TUNING)
        return atoll_builtin_is_tunable(e, kernel) ? e->individuals.items[kernel].source : ATOLL_NONE;
    for (uint32_t i = 0; i < e->sources.count && dimension < NO_DIMENSION; i++) {
        const struct atoll_source *s = &e->sources.items[i];
        if (is_tunable(s) && is_above(e, s, kernel, dimension) &&
            (found == ATOLL_NONE || s->best_ns < e->sources.items[found].best_ns)) {
            found = i;
        }
    }
    return found;
}

static int write_stage(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                       uint32_t *ret_accepted, struct atoll_err *err)
{
    unsigned stage = asked->ask.stage;
    uint32_t source = asked->parent == ATOLL_NONE || stage >= ATOLL_ISSUE_STAGE_COUNT
                          ? ATOLL_NONE
                          : template_for(e, asked->parent, stage);
    *ret_accepted = 0;
    for (uint32_t i = 0; i < asked->ask.count && source != ATOLL_NONE; i++) {
        struct atoll_pending p = {.island = asked->ask.island,
                                  .parent = asked->parent,
                                  .ask = asked->ask.number,
                                  .op = ATOLL_OPERATOR_TUNE};
        int queued = atoll_propose_variant(e, t, &p, source, ATOLL_NONE, err);
        if (queued < 0)
            return -1;
        *ret_accepted += (uint32_t)queued;
    }
    return 0;
}

/* A plan of the member: one of its parameters takes other values; beyond those, another template; beyond those,
 * whatever the tuner does next near the member. */
static int carry_out(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                     struct atoll_pending *p, struct atoll_err *err)
{
    uint32_t source = e->individuals.items[asked->parent].source;
    const struct atoll_source *s = &e->sources.items[source];
    size_t parameters = s->tune ? s->plan->param_count : 0, plan = asked->ask.plan_index;
    if (plan < parameters)
        return atoll_propose_variant(e, t, p, source, (uint32_t)plan, err);
    size_t others = plan - parameters;
    for (uint32_t i = 0; i < t->template_count; i++)
        if (t->templates[i] != source && others-- == 0)
            return atoll_propose_variant(e, t, p, t->templates[i], ATOLL_NONE, err);
    return atoll_propose_instance(e, t, p, err);
}

static int write_some(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                      uint32_t *ret_accepted, struct atoll_err *err)
{
    for (uint32_t i = 0; i < asked->ask.count; i++) {
        struct atoll_pending p = {.island = asked->ask.island,
                                  .parent = asked->parent,
                                  .ask = asked->ask.number,
                                  .op = ATOLL_OPERATOR_TUNE};
        int carries_out = asked->ask.op == ATOLL_OPERATOR_EXECUTE && asked->parent != ATOLL_NONE;
        int queued = carries_out ? carry_out(e, t, asked, &p, err) : atoll_propose_instance(e, t, &p, err);
        if (queued < 0)
            return -1;
        *ret_accepted += (uint32_t)queued;
    }
    return 0;
}

int atoll_builtin_answer(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                         struct atoll_reply *ret_reply, uint32_t *ret_accepted, struct atoll_err *err)
{
    int is_staged = asked->ask.op == ATOLL_OPERATOR_STAGED, is_read = asked->ask.op == ATOLL_OPERATOR_EXTRACT;
    *ret_accepted = 0;
    ret_reply->origin = "tuner";
    if (asked->ask.kind == ATOLL_ASK_WRITE && !is_read && /* it reads no trajectory */
        (is_staged ? write_stage : write_some)(e, t, asked, ret_accepted, err)) {
        return -1;
    }
    if (asked->ask.kind == ATOLL_ASK_ORDER) {
        ret_reply->order_count = (uint32_t)atoll_stage_order_complete(atoll_issue_stages(asked->ask.issues),
                                                                      NULL, 0, ret_reply->order);
    }
    if (asked->ask.kind == ATOLL_ASK_ANALYSE && asked->parent != ATOLL_NONE)
        ret_reply->issues = atoll_builtin_issues(e, t, asked->parent);
    if (asked->ask.kind == ATOLL_ASK_PLAN)
        ret_reply->plan_count = asked->ask.count;
    ret_reply->status =
        asked->ask.kind == ATOLL_ASK_WRITE && !*ret_accepted ? ATOLL_REPLY_EMPTY : ATOLL_REPLY_OK;
    return 0;
}
