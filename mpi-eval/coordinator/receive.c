#include "mpi-eval/coordinator/receive.h"

#include "base/log.h"

#define ROUND_FRAMES (ATOLL_COMMIT_ROUND_LIMIT - 8) /* the rest of a round is for events of our own */
#define NO_PEER      UINT32_MAX

static int on_hello(struct atoll_receive *r, unsigned peer, const struct atoll_frame *frame,
                    struct atoll_err *err)
{
    struct atoll_device_info device;
    if (atoll_device_info_decode(frame->payload, frame->length, &device, err) != 0)
        return -1;
    atoll_peer_table_hello(r->peers, peer, &device);
    atoll_log(ATOLL_LOG_INFO, "eval.peer.hello", "evaluator %u: %s on %s, %u threads, %s", peer, device.model,
              device.node, device.threads, device.toolchain);
    if (atoll_llm_queue_add_device(r->llm_queue, &device, err) != 0)
        return -1;
    return atoll_journal_append_device(atoll_commit_journal(r->commit), atoll_clock_unix_ns(), &device, err);
}

static int add_result(struct atoll_receive *r, unsigned peer, struct atoll_event *event, uint64_t evaluation,
                      struct atoll_err *err)
{
    if (atoll_commit_add(r->commit, event, err) != 0)
        return -1;
    r->results[r->result_count].peer = peer;
    r->results[r->result_count++].evaluation = evaluation;
    atoll_dispatch_answered(r->dispatch, evaluation);
    return 0;
}

int atoll_receive_own_result(struct atoll_receive *r, struct atoll_event *event, uint64_t evaluation,
                             struct atoll_err *err)
{
    return add_result(r, NO_PEER, event, evaluation, err);
}

/* An EVALUATED or DUELLED message.  A result that nobody waits for is ignored; one of something else than what was ordered
 * is refused. */
static int on_result(struct atoll_receive *r, unsigned peer, const struct atoll_frame *frame,
                     struct atoll_err *err)
{
    struct atoll_event event;
    int is_duel = frame->type == ATOLL_MSG_DUELLED;
    atoll_campaign_clock_event(r->clock, &event, is_duel ? ATOLL_EVENT_DUELLED : ATOLL_EVENT_EVALUATED);
    int rc = is_duel ? atoll_duel_decode(frame->payload, frame->length, &event.duel, err)
                     : atoll_evaluation_decode(frame->payload, frame->length, &event.evaluation, err);
    uint64_t evaluation = is_duel ? event.duel.evaluation : event.evaluation.evaluation;
    const struct atoll_decision *order = rc == 0 ? atoll_dispatch_find(r->dispatch, evaluation) : NULL;
    if (rc == 0 && !order) {
        r->ignored++;
    } else if (rc == 0 && (order->type != (is_duel ? ATOLL_DECIDE_DUEL : ATOLL_DECIDE_EVALUATE) ||
                           (!is_duel && !atoll_id_equal(&order->candidate, &event.evaluation.candidate)))) {
        rc = atoll_err_set(err, ATOLL_E_PROTOCOL, "the result of evaluation %llu is of something else",
                           (unsigned long long)evaluation);
    } else if (rc == 0) {
        double sent_ns = atoll_dispatch_sent_ns(r->dispatch, evaluation);
        rc = add_result(r, peer, &event, evaluation, err);
        if (rc == 0) {
            atoll_peer_table_answered(r->peers, peer);
            atoll_shutdown_record_round_trip(r->shutdown, atoll_campaign_clock_now_ns(r->clock) - sent_ns);
            *(is_duel ? &r->duelled : &r->evaluated) += 1;
        }
    }
    atoll_event_fini(&event);
    return rc;
}

static int take_message(struct atoll_receive *r, unsigned peer, const struct atoll_frame *frame,
                        struct atoll_err *err)
{
    switch (frame->type) {
    case ATOLL_MSG_HELLO: return on_hello(r, peer, frame, err);
    case ATOLL_MSG_EVALUATED:
    case ATOLL_MSG_DUELLED: return on_result(r, peer, frame, err);
    default: break;
    }
    int rc = atoll_peer_table_take(r->peers, peer, frame, err);
    return rc == 0 ? atoll_err_set(err, ATOLL_E_PROTOCOL, "unknown type %u", frame->type) : rc < 0 ? -1 : 0;
}

int atoll_receive_frames(struct atoll_receive *r)
{
    struct atoll_frame frame;
    unsigned peer;
    while (atoll_commit_round_count(r->commit) < ROUND_FRAMES) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (r->carrier->receive(r->carrier->context, &peer, &frame) <= 0)
            return 0;
        if (peer >= r->carrier->count)
            continue;
        /* A peer that is gone already may have left messages that say why: they are read, and PEER_LOST follows them. */
        if (atoll_peer_table_heard(r->peers, peer, frame.type, &err) != 0 && err.code != ATOLL_E_CHILD) {
            atoll_peer_table_drop(r->peers, peer, err.text);
            continue;
        }
        atoll_err_clear(&err);
        if (take_message(r, peer, &frame, &err) != 0) {
            r->bad_messages++;
            atoll_peer_table_refuse(r->peers, peer, frame.type, &err);
        }
    }
    return 1;
}

/* A send that fails is ignored: a peer that is gone shows as PEER_LOST, or by its silence. */
void atoll_receive_acknowledge(struct atoll_receive *r)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, sizeof(uint64_t));
    for (size_t i = 0; i < r->result_count; i++) {
        if (r->results[i].peer == NO_PEER)
            continue;
        atoll_buffer_clear(&payload);
        atoll_buffer_put_u64(&payload, r->results[i].evaluation);
        atoll_peer_table_send(r->peers, r->results[i].peer, ATOLL_MSG_ACK, &payload, NULL);
    }
    r->result_count = 0;
    atoll_buffer_fini(&payload);
}
