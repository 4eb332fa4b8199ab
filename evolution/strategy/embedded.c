#include "evolution/strategy/embedded.h"

#include "evolution/strategy/embedded_staged.h"
#include "evolution/engine/propose.h"

static size_t parameters_of(const struct atoll_source *s)
{
    return s->tune ? s->plan->param_count : 0;
}

/* The nth template besides this one, ATOLL_NONE where there are not so many. */
static uint32_t other_template(const struct atoll_engine_task *t, uint32_t source, size_t n)
{
    for (uint32_t i = 0; i < t->template_count; i++)
        if (t->templates[i] != source && n-- == 0)
            return t->templates[i];
    return ATOLL_NONE;
}

/* A plan of the member: one of its parameters takes other values; beyond those, another template; beyond those,
 * whatever the tuner does next near the member. */
static int carry_out(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_asked *asked,
                     struct atoll_pending *p, struct atoll_err *err)
{
    uint32_t source = e->individuals.items[asked->parent].source;
    size_t parameters = parameters_of(&e->sources.items[source]), plan = asked->ask.plan_index;
    if (plan < parameters)
        return atoll_propose_variant(e, t, p, source, (uint32_t)plan, err);
    uint32_t other = other_template(t, source, plan - parameters);
    if (other == ATOLL_NONE)
        return atoll_propose_instance(e, t, p, err);
    return atoll_propose_variant(e, t, p, other, ATOLL_NONE, err);
}

static int write_some(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_asked *asked,
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

int atoll_embedded_answer(struct atoll_engine *e, struct atoll_engine_task *t,
                          const struct atoll_asked *asked, struct atoll_reply *ret_reply,
                          uint32_t *ret_accepted, struct atoll_err *err)
{
    int is_staged = asked->ask.op == ATOLL_OPERATOR_STAGED;
    *ret_accepted = 0;
    ret_reply->origin = "tuner";
    if (asked->ask.kind == ATOLL_ASK_WRITE &&
        (is_staged ? atoll_embedded_write_stage : write_some)(e, t, asked, ret_accepted, err))
        return -1;
    if (asked->ask.kind == ATOLL_ASK_ANALYSE || asked->ask.kind == ATOLL_ASK_ORDER)
        atoll_embedded_judge(e, t, asked, ret_reply);
    if (asked->ask.kind == ATOLL_ASK_PLAN)
        ret_reply->plan_count = asked->ask.count;
    ret_reply->status =
        asked->ask.kind == ATOLL_ASK_WRITE && !*ret_accepted ? ATOLL_REPLY_EMPTY : ATOLL_REPLY_OK;
    return 0;
}
