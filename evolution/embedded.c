#include "evolution/embedded.h"

#include "evolution/propose.h"

static int write_some(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_asked *asked,
                      uint32_t *ret_accepted, struct atoll_err *err)
{
    for (uint32_t i = 0; i < asked->ask.count; i++) {
        struct atoll_pending p = {.island = asked->ask.island,
                                  .parent = asked->parent,
                                  .ask = asked->ask.number,
                                  .op = ATOLL_OPERATOR_TUNE};
        int queued = atoll_propose_instance(e, t, &p, err);
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
    *ret_accepted = 0;
    ret_reply->origin = "tuner";
    if (asked->ask.kind == ATOLL_ASK_WRITE && write_some(e, t, asked, ret_accepted, err))
        return -1;
    if (asked->ask.kind == ATOLL_ASK_PLAN)
        ret_reply->plan_count = asked->ask.count;
    ret_reply->status =
        asked->ask.kind == ATOLL_ASK_WRITE && !*ret_accepted ? ATOLL_REPLY_EMPTY : ATOLL_REPLY_OK;
    return 0;
}
