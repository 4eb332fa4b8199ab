#include "mpi-eval/coordinator/peer_result.h"

#include "base/log.h"

static const struct atoll_peer_result_kind result_kinds[] = {
    {ATOLL_MSG_EVALUATED, ATOLL_EVENT_EVALUATED, ATOLL_DECIDE_EVALUATE},
    {ATOLL_MSG_DUELLED, ATOLL_EVENT_DUELLED, ATOLL_DECIDE_DUEL},
    {ATOLL_MSG_RIVALLED, ATOLL_EVENT_RIVAL, ATOLL_DECIDE_RIVAL},
};
#define RESULT_KINDS (sizeof(result_kinds) / sizeof(*result_kinds))

const struct atoll_peer_result_kind *atoll_peer_result_of_message(unsigned type)
{
    for (size_t i = 0; i < RESULT_KINDS; i++)
        if (result_kinds[i].message == type)
            return &result_kinds[i];
    return NULL;
}

const struct atoll_peer_result_kind *atoll_peer_result_of_decision(enum atoll_decision_type type)
{
    size_t i = 0;
    while (i + 1 < RESULT_KINDS && result_kinds[i].decision != type)
        i++;
    return &result_kinds[i];
}

uint64_t atoll_peer_result_evaluation(const struct atoll_event *event)
{
    switch (event->type) {
    case ATOLL_EVENT_EVALUATED: return event->evaluation.evaluation;
    case ATOLL_EVENT_DUELLED: return event->duel.evaluation;
    case ATOLL_EVENT_RIVAL: return event->rival.evaluation;
    default: return UINT64_MAX;
    }
}

int atoll_peer_result_decode(const struct atoll_frame *frame, struct atoll_event *event,
                             struct atoll_err *err)
{
    switch (event->type) {
    case ATOLL_EVENT_EVALUATED:
        return atoll_evaluation_decode(frame->payload, frame->length, &event->evaluation, err);
    case ATOLL_EVENT_DUELLED: return atoll_duel_decode(frame->payload, frame->length, &event->duel, err);
    default: return atoll_rival_decode(frame->payload, frame->length, &event->rival, err);
    }
}

int atoll_peer_result_is_what_was_ordered(const struct atoll_peer_result_kind *kind,
                                          const struct atoll_decision *order, const struct atoll_event *event)
{
    if (order->type != kind->decision)
        return 0;
    switch (event->type) {
    case ATOLL_EVENT_EVALUATED: return atoll_id_equal(&order->candidate, &event->evaluation.candidate);
    case ATOLL_EVENT_RIVAL: return order->task == event->rival.task && order->rival == event->rival.number;
    default: return 1;
    }
}

void atoll_peer_result_log_failure(const struct atoll_task *task, const struct atoll_evaluation *e)
{
    char id[ATOLL_ID_HEX];
    if (e->verdict == ATOLL_V_CORRECT)
        return;
    atoll_id_hex(&e->candidate, id);
    atoll_log(ATOLL_LOG_INFO, "eval.candidate.failed", "task %s, candidate %.12s: %s: %.400s",
              task ? task->name : "?", id, atoll_verdict_name(e->verdict), e->detail);
}
