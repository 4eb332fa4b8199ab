/* receive.c - frames of the peers become events of a round.  Every payload is hostile: what does not decode or
 * does not fit is dropped and counted. */
#include <stdio.h>

#include "base/log.h"
#include "core/message.h"
#include "base/clock.h"
#include "mpi-eval/coordinator/coordinator_state.h"

#define ROUND_FRAMES (ATOLL_COMMIT_ROUND_LIMIT - 8)
#define ORDER_LIMIT  4096u

typedef int frame_handler(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                          struct atoll_err *err);

static int on_hello(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                    struct atoll_err *err)
{
    struct atoll_device_info device;
    if (atoll_device_info_decode(frame->payload, frame->length, &device, err) != 0)
        return -1;
    c->peers[peer].said_hello = 1;
    snprintf(c->peers[peer].model, sizeof c->peers[peer].model, "%s", device.model);
    snprintf(c->peers[peer].uuid, sizeof c->peers[peer].uuid, "%s", device.uuid);
    if (!c->peers[peer].place.node[0])
        snprintf(c->peers[peer].place.node, sizeof c->peers[peer].place.node, "%s", device.node);
    atoll_log(ATOLL_LOG_INFO, "eval.peer.hello", "evaluator %u: %s on %s, %u threads, %s", peer, device.model,
              device.node, device.threads, device.toolchain);
    if (atoll_llm_queue_add_device(c->questions, &device, err) != 0)
        return -1;
    return atoll_journal_append_device(atoll_commit_journal(c->ledger), atoll_clock_unix_ns(), &device, err);
}

/* Surplus is no failure, but the last word about why nobody is left. */
static int on_place(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                    struct atoll_err *err)
{
    struct peer *p = &c->peers[peer];
    if (atoll_place_decode(frame->payload, frame->length, &p->place, err) != 0)
        return -1;
    if (p->place.surplus == ATOLL_SURPLUS_NONE)
        return 0;
    p->state = PEER_SURPLUS;
    p->said_hello = 0;
    atoll_dispatch_lose(c->dispatch, peer);
    if (c->failure.code == ATOLL_OK)
        atoll_err_set(&c->failure, p->place.surplus == ATOLL_SURPLUS_BUSY ? ATOLL_E_BUSY : ATOLL_E_LIMIT,
                      "%s", p->place.note);
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.surplus", "%s stays idle: %s", atoll_peer_table_name(c, peer),
              p->place.note);
    return 0;
}

static int on_request(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                      struct atoll_err *err)
{
    struct atoll_reader reader;
    atoll_reader_init(&reader, frame->payload, frame->length);
    uint32_t wanted = atoll_reader_u32(&reader);
    if (atoll_reader_finish(&reader, "REQUEST", err) != 0)
        return -1;
    if (!c->peers[peer].said_hello || wanted > ORDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "REQUEST of %u orders, %s", wanted,
                             c->peers[peer].said_hello ? "too many" : "before HELLO");
    c->peers[peer].wanted = wanted;
    c->peers[peer].state = PEER_READY;
    return 0;
}

int atoll_receive_add_result(struct coordinator *c, unsigned peer, struct atoll_event *event,
                             uint64_t evaluation, struct atoll_err *err)
{
    if (atoll_commit_add(c->ledger, event, err) != 0)
        return -1;
    if (peer < c->settings->peers.count) {
        c->peers[peer].answered_ns = atoll_coordinator_now_ns(c);
        atoll_drain_note(&c->drain,
                         c->peers[peer].answered_ns - atoll_dispatch_sent_ns(c->dispatch, evaluation));
    }
    c->answers[c->answer_count].peer = peer;
    c->answers[c->answer_count++].evaluation = evaluation;
    atoll_dispatch_answered(c->dispatch, evaluation);
    return 0;
}

/* 1: the result of an order that is under way; 0: of none (answered before, by this or another peer); -1: a
 * lie. */
static int result_fits(struct coordinator *c, uint64_t evaluation, enum atoll_decision_type type,
                       const struct atoll_id *candidate, struct atoll_err *err)
{
    const struct atoll_decision *order = atoll_dispatch_find(c->dispatch, evaluation);
    if (!order) {
        c->result.ignored++;
        return 0;
    }
    if (order->type != type || (candidate && !atoll_id_equal(&order->candidate, candidate)))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "the result of evaluation %llu is of something else",
                             (unsigned long long)evaluation);
    return 1;
}

static int on_evaluated(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                        struct atoll_err *err)
{
    struct atoll_event event;
    atoll_coordinator_event_init(c, &event, ATOLL_EVENT_EVALUATED);
    int rc = atoll_evaluation_decode(frame->payload, frame->length, &event.evaluation, err);
    uint64_t evaluation = event.evaluation.evaluation;
    if (rc == 0)
        rc = result_fits(c, evaluation, ATOLL_DECIDE_EVALUATE, &event.evaluation.candidate, err);
    if (rc > 0) {
        rc = atoll_receive_add_result(c, peer, &event, evaluation, err);
        c->result.evaluated += rc == 0;
    }
    atoll_event_fini(&event);
    return rc;
}

static int on_duelled(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                      struct atoll_err *err)
{
    struct atoll_event event;
    atoll_coordinator_event_init(c, &event, ATOLL_EVENT_DUELLED);
    int rc = atoll_duel_decode(frame->payload, frame->length, &event.duel, err);
    uint64_t evaluation = event.duel.evaluation;
    if (rc == 0)
        rc = result_fits(c, evaluation, ATOLL_DECIDE_DUEL, NULL, err);
    if (rc > 0) {
        rc = atoll_receive_add_result(c, peer, &event, evaluation, err);
        c->result.duelled += rc == 0;
    }
    atoll_event_fini(&event);
    return rc;
}

static int on_heartbeat(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                        struct atoll_err *err)
{
    return atoll_pulse_decode(frame->payload, frame->length, &c->peers[peer].pulse, err);
}

static int on_failed(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                     struct atoll_err *err)
{
    struct atoll_reader reader;
    size_t length;
    atoll_reader_init(&reader, frame->payload, frame->length);
    uint32_t code = atoll_reader_u32(&reader);
    const char *text = atoll_reader_blob(&reader, &length);
    if (atoll_reader_finish(&reader, "FAILED", err) != 0 || length >= ATOLL_ERR_TEXT_BYTES)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "FAILED: not a code and a text");
    atoll_err_clear(&c->failure);
    atoll_err_set(&c->failure, code > 0 && code < ATOLL_CODE_COUNT ? (enum atoll_code)code : ATOLL_E_CHILD,
                  "%.*s", (int)length, text);
    atoll_log(ATOLL_LOG_ERROR, "eval.peer.failed", "%s: %s", atoll_peer_table_name(c, peer), c->failure.text);
    atoll_peer_table_lose(c, peer, PEER_FAILED);
    return 0;
}

static int on_lost(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                   struct atoll_err *err)
{
    int is_gone = frame->length == 1 && frame->payload[0] == ATOLL_PEER_GONE;
    if (is_gone || c->peers[peer].state != PEER_FAILED)
        atoll_peer_table_lose(c, peer, is_gone ? PEER_GONE : PEER_ABSENT);
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.lost", "%s is lost%s", atoll_peer_table_name(c, peer),
              is_gone ? " for good" : "");
    return 0;
}

static frame_handler *const handlers[ATOLL_MSG_TYPE_COUNT] = {
    [ATOLL_MSG_HELLO] = on_hello,         [ATOLL_MSG_REQUEST] = on_request,
    [ATOLL_MSG_EVALUATED] = on_evaluated, [ATOLL_MSG_DUELLED] = on_duelled,
    [ATOLL_MSG_HEARTBEAT] = on_heartbeat, [ATOLL_MSG_FAILED] = on_failed,
    [ATOLL_MSG_PEER_LOST] = on_lost,      [ATOLL_MSG_PLACE] = on_place,
};

/* A result that cannot be used leaves an order without an answer, and nobody can say which: all of the peer's
 * go out again, the first good answer counts. */
static void message_refuse(struct coordinator *c, unsigned peer, uint16_t type, const struct atoll_err *why)
{
    c->result.bad_messages++;
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.message", "a message of evaluator %u was dropped: %s", peer,
              why->text);
    if (type == ATOLL_MSG_EVALUATED || type == ATOLL_MSG_DUELLED)
        atoll_dispatch_lose(c->dispatch, peer);
    if (++c->peers[peer].bad_count == COORDINATOR_BAD_LIMIT)
        atoll_peer_table_drop(c, peer, "too many bad messages");
}

/* A peer that speaks again after a silence still has what it was told; one that is new has to be told. */
static int peer_hear(struct coordinator *c, unsigned peer, uint16_t type, struct atoll_err *err)
{
    struct peer *p = &c->peers[peer];
    p->heard_ns = atoll_coordinator_now_ns(c);
    if (type == ATOLL_MSG_PEER_LOST)
        return 0;
    if (p->state == PEER_SILENT && p->bad_count < COORDINATOR_BAD_LIMIT)
        p->state = p->said_hello ? PEER_READY : p->place.surplus ? PEER_SURPLUS : PEER_GREETED;
    return p->state == PEER_ABSENT ? atoll_peer_table_greet(c, peer, err) : 0;
}

static void frame_handle(struct coordinator *c, unsigned peer, const struct atoll_frame *frame)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    /* One that is gone already may have left words that say why; its carrier tells of the loss behind them. */
    if (peer_hear(c, peer, frame->type, &err) != 0 && err.code != ATOLL_E_CHILD) {
        atoll_peer_table_drop(c, peer, err.text);
        return;
    }
    atoll_err_clear(&err);
    if (frame->type >= ATOLL_MSG_TYPE_COUNT || !handlers[frame->type])
        atoll_err_set(&err, ATOLL_E_PROTOCOL, "unknown type %u", frame->type);
    else if (handlers[frame->type](c, peer, frame, &err) == 0)
        return;
    message_refuse(c, peer, frame->type, &err);
}

void atoll_receive_collect(struct coordinator *c)
{
    const struct atoll_peers *peers = &c->settings->peers;
    struct atoll_frame frame;
    unsigned peer;
    c->has_more = 1;
    while (atoll_commit_round_count(c->ledger) < ROUND_FRAMES) {
        c->has_more = peers->receive(peers->context, &peer, &frame) > 0;
        if (!c->has_more)
            return;
        if (peer < peers->count)
            frame_handle(c, peer, &frame);
    }
}
