/* coordinator.c - the loop of rank 0 (docs/spec/wire.md, docs/spec/journal.md).
 *
 * A round: take the frames that are there, turn them into events; one sync makes them durable; then they are
 * acknowledged, the engine sees them, what it decided becomes orders; orders go to whoever has room.
 *
 * States of a peer:  ABSENT --any frame--> GREETED (SETUP and TASKs sent) --HELLO, REQUEST--> READY
 *                    READY, GREETED --silence--> SILENT --any frame--> as before;  --PEER_LOST--> ABSENT or
 * GONE any --FAILED--> FAILED (final for this process; PEER_LOST decides what follows) Invariants: an
 * evaluation number is journaled once; a peer never has more orders than it asked for. */
#include "mpi-eval/coordinator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "mpi-eval/dispatch.h"
#include "mpi-eval/progress.h"
#include "mpi-eval/resume.h"
#include "mpi-eval/seal.h"

#define TICK_NS        1e9
#define PROGRESS_NS    0.5e9
#define WAIT_MS        100
#define SPACE_WAIT_MS  500
#define ORPHANED_NS    60e9 /* without any evaluator for so long: give up */
#define STOP_WAIT_NS   2e9
#define BAD_LIMIT      16u /* messages of one peer that do not decode */
#define ROUND_FRAMES   (ATOLL_LEDGER_ROUND_LIMIT - 8)
#define ORDER_LIMIT    4096u
#define MESSAGE_BYTES  ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT)
#define PROGRESS_BYTES (4u << 20)

enum peer_state { PEER_ABSENT, PEER_GREETED, PEER_READY, PEER_SILENT, PEER_FAILED, PEER_GONE };

struct peer {
    enum peer_state state;
    uint32_t wanted; /* orders it wants in hand */
    int said_hello;
    double heard_ns;
    unsigned bad_count;
    struct atoll_pulse pulse, counted; /* counted: what the last progress line saw */
};

struct coordinator {
    const struct atoll_coordinator_settings *settings;
    struct atoll_coordinator_result result;
    struct atoll_ledger *ledger;
    struct atoll_engine *engine; /* the ledger's */
    struct atoll_dispatch *dispatch;
    struct peer *peers;
    struct atoll_buffer payload, frame, acks, line;
    struct atoll_err failure; /* what the last FAILED said */
    uint32_t slots_said;
    int ack_fd, finish_said;
    int has_more;                   /* frames were left for the next round */
    double started_ns, attended_ns; /* attended: when some peer was last ready */
    double tick_ns, progress_ns;
    int64_t campaign_base_ns;
    uint64_t evaluated_counted;
    struct {
        unsigned peer;
        uint64_t evaluation;
    } answers[ATOLL_LEDGER_ROUND_LIMIT]; /* of this round, to be acknowledged when durable */
    size_t answer_count;
    const char *message; /* for the next progress line; NULL = none */
    double no_space_said_ns;
    const char *attempt_dir; /* borrowed from the campaign */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int64_t unix_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double cpu_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int64_t campaign_now_ns(const struct coordinator *c)
{
    return c->campaign_base_ns + (int64_t)(now_ns() - c->started_ns);
}

static void event_begin(const struct coordinator *c, struct atoll_event *event, enum atoll_event_type type)
{
    atoll_event_init(event, type);
    event->campaign_ns = campaign_now_ns(c);
    event->unix_ns = unix_now_ns();
}

static void progress_say(struct coordinator *c, int is_last);

/* ---- sending ---- */

/* Sends what is in c->payload. */
static int peer_say(struct coordinator *c, unsigned peer, uint16_t type, struct atoll_err *err)
{
    const struct atoll_peers *peers = &c->settings->peers;
    int rc = atoll_buffer_check(&c->payload, err);
    atoll_buffer_clear(&c->frame);
    if (rc == 0)
        rc = atoll_frame_encode(&c->frame, type, c->payload.data, c->payload.length, err);
    if (rc == 0)
        rc = peers->send(peers->context, peer, c->frame.data, c->frame.length, err);
    atoll_buffer_clear(&c->payload);
    return rc;
}

static unsigned ready_count(const struct coordinator *c)
{
    unsigned count = 0;
    for (unsigned i = 0; i < c->settings->peers.count; i++)
        count += c->peers[i].state == PEER_READY;
    return count;
}

/* From now on nothing is expected from the peer: its orders go to others. */
static void peer_lose(struct coordinator *c, unsigned peer, enum peer_state state)
{
    if (c->peers[peer].state == PEER_READY || c->peers[peer].state == PEER_GREETED)
        c->result.peers_lost++;
    c->peers[peer].state = state;
    atoll_dispatch_lose(c->dispatch, peer);
}

static void peer_drop(struct coordinator *c, unsigned peer, const char *why)
{
    const struct atoll_peers *peers = &c->settings->peers;
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.dropped", "evaluator %u is given up: %s", peer, why);
    peer_lose(c, peer, PEER_SILENT);
    peers->drop(peers->context, peer);
}

static int peer_greet(struct coordinator *c, unsigned peer, struct atoll_err *err)
{
    struct atoll_buffer task;
    int rc;
    c->peers[peer] = (struct peer){.state = PEER_GREETED, .heard_ns = now_ns()};
    atoll_setup_encode(c->settings->setup, &c->payload);
    rc = peer_say(c, peer, ATOLL_MSG_SETUP, err);
    atoll_buffer_init(&task, MESSAGE_BYTES);
    for (uint32_t i = 0; i < atoll_engine_task_count(c->engine) && rc == 0; i++) {
        atoll_buffer_clear(&task);
        rc = atoll_task_encode(atoll_engine_task(c->engine, i), &task, err);
        if (rc == 0) {
            atoll_buffer_put_u32(&c->payload, i);
            atoll_buffer_put_blob(&c->payload, task.data, task.length);
            rc = peer_say(c, peer, ATOLL_MSG_TASK, err);
        }
    }
    atoll_buffer_fini(&task);
    return rc;
}

static int order_fill(const struct coordinator *c, const struct atoll_decision *d,
                      struct atoll_order *ret_order)
{
    *ret_order = (struct atoll_order){.evaluation = d->evaluation,
                                      .task = d->task,
                                      .is_duel = d->type == ATOLL_DECIDE_DUEL,
                                      .purpose = d->purpose,
                                      .candidate = {.id = d->candidate, .choice = d->choice},
                                      .elite = {.id = d->elite, .language = "", .source = ""},
                                      .baseline_ns = d->baseline_ns,
                                      .incumbent_ns = d->incumbent_ns,
                                      .alpha = d->alpha,
                                      .margin = d->margin,
                                      .pair_limit = d->pair_limit};
    int rc = atoll_engine_source(c->engine, &d->source, &ret_order->candidate.language,
                                 &ret_order->candidate.source);
    if (rc == 0 && ret_order->is_duel) {
        ret_order->elite.choice = d->elite_choice;
        rc = atoll_engine_source(c->engine, &d->elite_source, &ret_order->elite.language,
                                 &ret_order->elite.source);
    }
    return rc;
}

static int order_send(struct coordinator *c, unsigned peer, const struct atoll_decision *decision,
                      struct atoll_err *err)
{
    struct atoll_order order;
    if (order_fill(c, decision, &order) != 0)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "the source of evaluation %llu is not known",
                             (unsigned long long)decision->evaluation);
    atoll_order_encode(&order, &c->payload);
    return peer_say(c, peer, order.is_duel ? ATOLL_MSG_DUEL : ATOLL_MSG_EVALUATE, err);
}

/* One order to each peer with room in turn, so that few orders are spread, not piled. */
static int orders_send(struct coordinator *c, struct atoll_err *err)
{
    int sent = 1;
    while (sent) {
        sent = 0;
        for (unsigned i = 0; i < c->settings->peers.count; i++) {
            struct atoll_err own = ATOLL_ERR_INIT;
            if (c->peers[i].state != PEER_READY ||
                atoll_dispatch_sent_count(c->dispatch, i) >= c->peers[i].wanted)
                continue;
            const struct atoll_decision *decision = atoll_dispatch_next(c->dispatch, i);
            if (!decision)
                return 0;
            sent = 1;
            if (order_send(c, i, decision, &own) == 0)
                continue;
            if (own.code == ATOLL_E_INTERNAL) {
                *err = own;
                return -1;
            }
            peer_drop(c, i, own.text);
        }
    }
    return 0;
}

/* ---- receiving ---- */

typedef int frame_handler(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                          struct atoll_err *err);

static int on_hello(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                    struct atoll_err *err)
{
    struct atoll_device_info device;
    if (atoll_device_info_decode(frame->payload, frame->length, &device, err) != 0)
        return -1;
    c->peers[peer].said_hello = 1;
    atoll_log(ATOLL_LOG_INFO, "eval.peer.hello", "evaluator %u: %s on %s, %u threads, %s", peer, device.model,
              device.node, device.threads, device.toolchain);
    return atoll_journal_append_device(atoll_ledger_journal(c->ledger), unix_now_ns(), &device, err);
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

static int result_add(struct coordinator *c, unsigned peer, struct atoll_event *event, uint64_t evaluation,
                      struct atoll_err *err)
{
    if (atoll_ledger_add(c->ledger, event, err) != 0)
        return -1;
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
    event_begin(c, &event, ATOLL_EVENT_EVALUATED);
    int rc = atoll_evaluation_decode(frame->payload, frame->length, &event.evaluation, err);
    uint64_t evaluation = event.evaluation.evaluation;
    if (rc == 0)
        rc = result_fits(c, evaluation, ATOLL_DECIDE_EVALUATE, &event.evaluation.candidate, err);
    if (rc > 0) {
        rc = result_add(c, peer, &event, evaluation, err);
        c->result.evaluated += rc == 0;
    }
    atoll_event_fini(&event);
    return rc;
}

static int on_duelled(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                      struct atoll_err *err)
{
    struct atoll_event event;
    event_begin(c, &event, ATOLL_EVENT_DUELLED);
    int rc = atoll_duel_decode(frame->payload, frame->length, &event.duel, err);
    uint64_t evaluation = event.duel.evaluation;
    if (rc == 0)
        rc = result_fits(c, evaluation, ATOLL_DECIDE_DUEL, NULL, err);
    if (rc > 0) {
        rc = result_add(c, peer, &event, evaluation, err);
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
    atoll_log(ATOLL_LOG_ERROR, "eval.peer.failed", "evaluator %u: %s", peer, c->failure.text);
    peer_lose(c, peer, PEER_FAILED);
    return 0;
}

static int on_lost(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                   struct atoll_err *err)
{
    int is_gone = frame->length == 1 && frame->payload[0] == ATOLL_PEER_GONE;
    if (is_gone || c->peers[peer].state != PEER_FAILED)
        peer_lose(c, peer, is_gone ? PEER_GONE : PEER_ABSENT);
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.lost", "evaluator %u is lost%s", peer,
              is_gone ? " for good" : "");
    return 0;
}

static frame_handler *const handlers[ATOLL_MSG_TYPE_COUNT] = {
    [ATOLL_MSG_HELLO] = on_hello,         [ATOLL_MSG_REQUEST] = on_request,
    [ATOLL_MSG_EVALUATED] = on_evaluated, [ATOLL_MSG_DUELLED] = on_duelled,
    [ATOLL_MSG_HEARTBEAT] = on_heartbeat, [ATOLL_MSG_FAILED] = on_failed,
    [ATOLL_MSG_PEER_LOST] = on_lost,
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
    if (++c->peers[peer].bad_count == BAD_LIMIT)
        peer_drop(c, peer, "too many bad messages");
}

/* A peer that speaks again after a silence still has what it was told; one that is new has to be told. */
static int peer_hear(struct coordinator *c, unsigned peer, uint16_t type, struct atoll_err *err)
{
    struct peer *p = &c->peers[peer];
    p->heard_ns = now_ns();
    if (type == ATOLL_MSG_PEER_LOST)
        return 0;
    if (p->state == PEER_SILENT && p->bad_count < BAD_LIMIT)
        p->state = p->said_hello ? PEER_READY : PEER_GREETED;
    return p->state == PEER_ABSENT ? peer_greet(c, peer, err) : 0;
}

static void frame_handle(struct coordinator *c, unsigned peer, const struct atoll_frame *frame)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (peer_hear(c, peer, frame->type, &err) != 0) {
        peer_drop(c, peer, err.text);
        return;
    }
    if (frame->type >= ATOLL_MSG_TYPE_COUNT || !handlers[frame->type])
        atoll_err_set(&err, ATOLL_E_PROTOCOL, "unknown type %u", frame->type);
    else if (handlers[frame->type](c, peer, frame, &err) == 0)
        return;
    message_refuse(c, peer, frame->type, &err);
}

static void frames_collect(struct coordinator *c)
{
    const struct atoll_peers *peers = &c->settings->peers;
    struct atoll_frame frame;
    unsigned peer;
    c->has_more = 1;
    while (atoll_ledger_round_count(c->ledger) < ROUND_FRAMES) {
        c->has_more = peers->receive(peers->context, &peer, &frame) > 0;
        if (!c->has_more)
            return;
        if (peer < peers->count)
            frame_handle(c, peer, &frame);
    }
}

static void silence_check(struct coordinator *c)
{
    double now = now_ns();
    for (unsigned i = 0; i < c->settings->peers.count; i++) {
        struct peer *p = &c->peers[i];
        if ((p->state == PEER_READY || p->state == PEER_GREETED) &&
            now - p->heard_ns > c->settings->heartbeat_timeout_ns)
            peer_drop(c, i, "it has been silent for too long");
    }
    if (ready_count(c) > 0)
        c->attended_ns = now;
}

/* ---- events of our own ---- */

static int event_add(struct coordinator *c, enum atoll_event_type type, uint32_t slots, struct atoll_err *err)
{
    struct atoll_event event;
    event_begin(c, &event, type);
    event.slots = slots;
    return atoll_ledger_add(c->ledger, &event, err);
}

/* An order that peers die of is answered by us; the engine decides whether it is tried again. */
static int hopeless_answer(struct coordinator *c, struct atoll_err *err)
{
    const struct atoll_decision *order;
    while ((order = atoll_dispatch_hopeless(c->dispatch)) != NULL &&
           atoll_ledger_round_count(c->ledger) < ATOLL_LEDGER_ROUND_LIMIT - 4) {
        struct atoll_event event;
        int is_duel = order->type == ATOLL_DECIDE_DUEL;
        event_begin(c, &event, is_duel ? ATOLL_EVENT_DUELLED : ATOLL_EVENT_EVALUATED);
        event.evaluation.evaluation = event.duel.evaluation = order->evaluation;
        event.evaluation.candidate = order->candidate;
        event.duel.purpose = order->purpose;
        event.evaluation.verdict = event.duel.verdict = ATOLL_V_INFRASTRUCTURE;
        snprintf(event.evaluation.detail, sizeof event.evaluation.detail, "%u evaluators were lost with it",
                 ATOLL_DISPATCH_LOSS_LIMIT);
        int rc = result_add(c, c->settings->peers.count, &event, order->evaluation, err);
        atoll_event_fini(&event);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int should_finish(const struct coordinator *c)
{
    const struct atoll_coordinator_settings *s = c->settings;
    return (s->interrupts && *s->interrupts) || (s->wall_ns > 0 && now_ns() - c->started_ns > s->wall_ns);
}

static int own_events_add(struct coordinator *c, struct atoll_err *err)
{
    uint32_t slots = ready_count(c);
    if (slots != c->slots_said && event_add(c, ATOLL_EVENT_CAPACITY, slots, err) != 0)
        return -1;
    c->slots_said = slots;
    if (!c->finish_said && should_finish(c)) {
        c->finish_said = 1;
        atoll_log(ATOLL_LOG_INFO, "eval.finish", "an orderly end was asked for");
        if (event_add(c, ATOLL_EVENT_FINISH, 0, err) != 0)
            return -1;
    }
    if (now_ns() - c->tick_ns >= TICK_NS) {
        c->tick_ns = now_ns();
        if (event_add(c, ATOLL_EVENT_TICK, 0, err) != 0)
            return -1;
    }
    return hopeless_answer(c, err);
}

/* ---- hooks of the ledger ---- */

static int hook_no_space(void *context, const struct atoll_err *why)
{
    struct coordinator *c = context;
    struct timespec pause = {.tv_nsec = SPACE_WAIT_MS * 1000000L};
    if (now_ns() - c->no_space_said_ns > 10e9) {
        c->no_space_said_ns = now_ns();
        atoll_log(ATOLL_LOG_WARNING, "eval.journal.full", "%s; the run waits until there is space",
                  why->text);
    }
    if (c->settings->interrupts && *c->settings->interrupts)
        return -1;
    if (c->engine) { /* not while resuming */
        c->message = "no space left for the journal; the run waits until there is some";
        progress_say(c, 0);
        c->message = NULL;
    }
    nanosleep(&pause, NULL);
    for (unsigned i = 0; i < c->settings->peers.count; i++)
        c->peers[i].heard_ns = now_ns(); /* nobody was listened to */
    return 0;
}

static uint64_t event_evaluation(const struct atoll_event *event)
{
    return event->type == ATOLL_EVENT_EVALUATED ? event->evaluation.evaluation
           : event->type == ATOLL_EVENT_DUELLED ? event->duel.evaluation
                                                : UINT64_MAX;
}

/* An answer of our own has no peer to tell.  A peer that cannot be told will be found out by other means. */
static void answers_acknowledge(struct coordinator *c)
{
    for (size_t i = 0; i < c->answer_count; i++) {
        atoll_buffer_put_u64(&c->payload, c->answers[i].evaluation);
        if (c->answers[i].peer < c->settings->peers.count)
            peer_say(c, c->answers[i].peer, ATOLL_MSG_ACK, NULL);
        atoll_buffer_clear(&c->payload);
    }
    c->answer_count = 0;
}

static void hook_durable(void *context, const struct atoll_event *events, size_t count)
{
    struct coordinator *c = context;
    answers_acknowledge(c);
    if (c->ack_fd < 0)
        return;
    atoll_buffer_clear(&c->acks);
    for (size_t i = 0; i < count; i++) {
        if (event_evaluation(&events[i]) != UINT64_MAX)
            atoll_buffer_printf(&c->acks, "%llu\n", (unsigned long long)event_evaluation(&events[i]));
    }
    if (c->acks.length > 0 && !c->acks.failed && write(c->ack_fd, c->acks.data, c->acks.length) < 0)
        atoll_log(ATOLL_LOG_WARNING, "eval.ack.log", "%s: %s", c->settings->ack_log, strerror(errno));
}

static int hook_decided(void *context, const struct atoll_decision *decision, struct atoll_err *err)
{
    struct coordinator *c = context;
    return atoll_dispatch_decide(c->dispatch, decision, err);
}

static void hook_settled(void *context, const struct atoll_event *event)
{
    struct coordinator *c = context;
    uint64_t evaluation = event_evaluation(event);
    if (evaluation != UINT64_MAX)
        atoll_dispatch_settle(c->dispatch, evaluation);
}

/* ---- progress ---- */

static void shares_measure(struct coordinator *c, struct atoll_progress_facts *facts)
{
    double uptime = 0, occupied = 0, candidate = 0;
    for (unsigned i = 0; i < c->settings->peers.count; i++) {
        struct peer *p = &c->peers[i];
        if (p->pulse.uptime_ns < p->counted.uptime_ns)
            p->counted = (struct atoll_pulse){.uptime_ns = 0}; /* a new process */
        uptime += p->pulse.uptime_ns;
        occupied += p->pulse.occupied_ns;
        candidate += p->pulse.candidate_ns;
    }
    facts->busy = uptime > 0 ? occupied / uptime : 0;
    facts->candidate_share = uptime > 0 ? candidate / uptime : 0;
}

static void progress_say(struct coordinator *c, int is_last)
{
    struct atoll_engine_status status;
    double now = now_ns();
    double since_ns = now - c->progress_ns;
    if (c->settings->progress_fd < 0 || (!is_last && since_ns < PROGRESS_NS))
        return;
    atoll_engine_status(c->engine, &status);
    struct atoll_progress_facts facts = {
        .engine = c->engine,
        .elapsed_ns = (double)campaign_now_ns(c),
        .budget_ns = atoll_campaign_config(c->settings->campaign)->search.wall_budget_ns,
        .rate = since_ns > 0 ? (double)(status.evaluated - c->evaluated_counted) * 1e9 / since_ns : 0,
        .evaluators = ready_count(c),
        .message = c->message,
    };
    shares_measure(c, &facts);
    atoll_buffer_clear(&c->line);
    atoll_progress_line(&facts, is_last, &c->line);
    atoll_progress_write(c->settings->progress_fd, &c->line, is_last);
    c->progress_ns = now;
    c->evaluated_counted = status.evaluated;
}

/* ---- the run ---- */

static int coordinator_init(struct coordinator *c, const struct atoll_coordinator_settings *settings,
                            struct atoll_err *err)
{
    *c = (struct coordinator){.settings = settings, .ack_fd = -1};
    c->started_ns = c->attended_ns = c->tick_ns = c->progress_ns = now_ns();
    c->no_space_said_ns = -1e18;
    atoll_buffer_init(&c->payload, MESSAGE_BYTES);
    atoll_buffer_init(&c->frame, MESSAGE_BYTES + ATOLL_FRAME_HEADER_BYTES);
    atoll_buffer_init(&c->acks, 64 * ATOLL_LEDGER_ROUND_LIMIT);
    atoll_buffer_init(&c->line, PROGRESS_BYTES);
    c->peers = calloc(settings->peers.count ? settings->peers.count : 1, sizeof *c->peers);
    if (!c->peers)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %u evaluators", settings->peers.count);
    c->dispatch = atoll_dispatch_create(settings->peers.count, err);
    if (!c->dispatch)
        return -1;
    if (settings->ack_log)
        c->ack_fd = open(settings->ack_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (settings->ack_log && c->ack_fd < 0)
        return atoll_err_errno(err, errno, "cannot open %s", settings->ack_log);
    return 0;
}

static void coordinator_fini(struct coordinator *c)
{
    atoll_ledger_destroy(c->ledger);
    atoll_dispatch_destroy(c->dispatch);
    free(c->peers);
    atoll_buffer_fini(&c->payload);
    atoll_buffer_fini(&c->frame);
    atoll_buffer_fini(&c->acks);
    atoll_buffer_fini(&c->line);
    if (c->ack_fd >= 0)
        close(c->ack_fd);
}

static void under_way_add(void *context, const struct atoll_decision *decision)
{
    struct coordinator *c = context;
    atoll_dispatch_decide(c->dispatch, decision, NULL);
}

static int coordinator_resume(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_resumed resumed;
    const struct atoll_ledger_hooks hooks = {.context = c,
                                             .no_space = hook_no_space,
                                             .durable = hook_durable,
                                             .decided = hook_decided,
                                             .settled = hook_settled};
    if (atoll_resume(c->settings->campaign, c->settings->job, unix_now_ns(), &hooks, &resumed, err) != 0)
        return -1;
    c->result.was_finished = resumed.is_finished;
    if (resumed.is_finished)
        return 0;
    if (resumed.lost_bytes > 0)
        atoll_log(ATOLL_LOG_WARNING, "eval.resume.torn",
                  "%llu bytes of the journal were torn; nothing acknowledged is lost",
                  (unsigned long long)resumed.lost_bytes);
    c->attempt_dir = resumed.attempt_dir;
    c->ledger = resumed.ledger;
    c->engine = atoll_ledger_engine(c->ledger);
    c->campaign_base_ns = resumed.campaign_ns;
    c->started_ns = now_ns();
    atoll_engine_under_way(c->engine, under_way_add, c);
    return 0;
}

static int is_stopped(const struct coordinator *c)
{
    struct atoll_engine_status status;
    atoll_engine_status(c->engine, &status);
    return status.stopped;
}

static int somebody_may_come(const struct coordinator *c)
{
    for (unsigned i = 0; i < c->settings->peers.count; i++) {
        if (c->peers[i].state != PEER_FAILED && c->peers[i].state != PEER_GONE)
            return now_ns() - c->attended_ns < ORPHANED_NS || c->peers[i].state == PEER_GREETED;
    }
    return 0;
}

static int nobody_left(const struct coordinator *c, struct atoll_err *err)
{
    if (c->failure.code != ATOLL_OK) {
        *err = c->failure;
        return -1;
    }
    return atoll_err_set(
        err, ATOLL_E_CHILD,
        "no evaluator is left; nothing is lost: the campaign can be resumed (see the lines above for why)");
}

static int round_run(struct coordinator *c, struct atoll_err *err)
{
    frames_collect(c);
    silence_check(c);
    if (own_events_add(c, err) != 0 || atoll_ledger_commit(c->ledger, err) != 0)
        return -1;
    if (!is_stopped(c) && orders_send(c, err) != 0)
        return -1;
    progress_say(c, 0);
    return somebody_may_come(c) || is_stopped(c) ? 0 : nobody_left(c, err);
}

static void evaluators_stop(struct coordinator *c)
{
    const struct atoll_peers *peers = &c->settings->peers;
    double until_ns = now_ns() + STOP_WAIT_NS;
    for (unsigned i = 0; i < peers->count; i++)
        peer_say(c, i, ATOLL_MSG_STOP, NULL);
    while (peers->waiting(peers->context) > 0 && now_ns() < until_ns)
        peers->wait(peers->context, NULL, 0, 1);
}

static int coordinator_loop(struct coordinator *c, struct atoll_err *err)
{
    const struct atoll_peers *peers = &c->settings->peers;
    struct atoll_engine_status status;
    while (!is_stopped(c)) {
        if (round_run(c, err) != 0)
            return -1;
        if (!is_stopped(c) && !c->has_more)
            peers->wait(peers->context, NULL, 0, WAIT_MS);
    }
    atoll_engine_status(c->engine, &status);
    return atoll_ledger_close(c->ledger, unix_now_ns(), atoll_reason_name(status.reason), err);
}

int atoll_coordinator_run(const struct atoll_coordinator_settings *settings,
                          struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct coordinator c;
    double cpu_ns = cpu_now_ns();
    int rc = coordinator_init(&c, settings, err);
    if (rc == 0)
        rc = coordinator_resume(&c, err);
    if (rc == 0 && c.ledger) {
        rc = coordinator_loop(&c, err);
        c.result.cpu_ns = cpu_now_ns() - cpu_ns;
        c.result.elapsed_ns = now_ns() - c.started_ns;
        progress_say(&c, 1);
    }
    if (c.dispatch && c.peers)
        evaluators_stop(&c);
    if (rc == 0)
        rc = atoll_seal(settings->campaign, c.attempt_dir, err);
    if (rc == 0) {
        c.result.is_finished = 1;
        *ret_result = c.result;
    }
    coordinator_fini(&c);
    return rc;
}
