#include "evolution/strategy/embedded_staged.h"

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

int atoll_embedded_is_tunable(const struct atoll_engine *e, uint32_t kernel)
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

static unsigned higher_than(const struct atoll_engine *e, uint32_t kernel)
{
    unsigned higher = 0;
    for (uint32_t i = 0; i < e->sources.count; i++)
        for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
            higher |= (unsigned)is_above(e, &e->sources.items[i], kernel, d) << d;
    return higher;
}

uint64_t atoll_embedded_issues(const struct atoll_engine *e, const struct atoll_engine_task *t,
                               uint32_t kernel)
{
    const struct atoll_individual *r = &e->individuals.items[kernel];
    struct atoll_issue_evidence evidence = {.cell = r->cell,
                                            .higher = higher_than(e, kernel),
                                            .time_ns = r->time_ns,
                                            .floor_ns = t->floor_ns,
                                            .has_open_parameters = atoll_embedded_is_tunable(e, kernel)};
    return atoll_issues_of(&evidence);
}

void atoll_embedded_judge(const struct atoll_engine *e, const struct atoll_engine_task *t,
                          const struct atoll_asked *asked, struct atoll_reply *ret_reply)
{
    if (asked->ask.kind == ATOLL_ASK_ORDER)
        ret_reply->order_count =
            (uint32_t)atoll_stage_order_complete(asked->ask.issues, NULL, 0, ret_reply->order);
    else if (asked->parent != ATOLL_NONE)
        ret_reply->issues = atoll_embedded_issues(e, t, asked->parent);
}

/* ATOLL_NONE: nothing is there. */
static uint32_t template_for(const struct atoll_engine *e, uint32_t kernel, unsigned stage)
{
    unsigned dimension = dimensions[stage];
    uint32_t found = ATOLL_NONE;
    if (stage == ATOLL_ISSUE_STAGE_TUNING)
        return atoll_embedded_is_tunable(e, kernel) ? e->individuals.items[kernel].source : ATOLL_NONE;
    for (uint32_t i = 0; i < e->sources.count && dimension < NO_DIMENSION; i++) {
        const struct atoll_source *s = &e->sources.items[i];
        if (is_tunable(s) && is_above(e, s, kernel, dimension) &&
            (found == ATOLL_NONE || s->best_ns < e->sources.items[found].best_ns))
            found = i;
    }
    return found;
}

int atoll_embedded_write_stage(struct atoll_engine *e, struct atoll_engine_task *t,
                               const struct atoll_asked *asked, uint32_t *ret_accepted, struct atoll_err *err)
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
