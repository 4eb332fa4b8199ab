/* peer_table.c - peers are evaluators: who is there, who has room, and who was silent for too long and is given up
 * (atoll_peer_table_check_silence). */
#include "mpi-eval/coordinator/peer_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define BAD_LIMIT     16u   /* messages of one peer that cannot be used */
#define STUCK_NS      600e9 /* without a result of a peer that has orders: beyond every deadline of its own */
#define ORPHANED_NS   60e9  /* without any evaluator for so long the run gives up */
#define STOP_WAIT_NS  2e9
#define WANTED_LIMIT  4096u
#define MESSAGE_BYTES ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT)

struct atoll_peer_table {
    struct atoll_peer_table_settings settings;
    const struct atoll_engine *engine; /* borrowed; NULL at first */
    struct atoll_peer *peers;
    unsigned count;
    uint64_t lost_count;
    double attended_ns;       /* when some peer was last ready */
    int is_held;              /* nobody is greeted */
    struct atoll_err failure; /* the last reason that a peer gave for not working */
    struct atoll_buffer payload, frame;
    char name[352]; /* name_of's */
};

static const char *const state_names[ATOLL_PEER_STATE_COUNT] = {
    [ATOLL_PEER_ABSENT] = "absent",      [ATOLL_PEER_GREETED] = "starting", [ATOLL_PEER_READY] = "ready",
    [ATOLL_PEER_SURPLUS] = "surplus",    [ATOLL_PEER_SILENT] = "silent",    [ATOLL_PEER_FAILED] = "failed",
    [ATOLL_PEER_LOST_FOR_GOOD] = "lost",
};

const char *atoll_peer_state_name(enum atoll_peer_state state)
{
    return state_names[state];
}

static double now_ns(const struct atoll_peer_table *t)
{
    return atoll_campaign_clock_now_ns(t->settings.clock);
}

struct atoll_peer_table *atoll_peer_table_create(const struct atoll_peer_table_settings *settings,
                                                 struct atoll_err *err)
{
    unsigned count = settings->carrier->count;
    struct atoll_peer_table *t = calloc(1, sizeof(*t));
    struct atoll_peer *peers = calloc(count ? count : 1, sizeof(*peers));
    if (!t || !peers) {
        free(t);
        free(peers);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %u evaluators", count);
        return NULL;
    }
    t->settings = *settings;
    t->peers = peers;
    t->count = count;
    t->attended_ns = now_ns(t);
    atoll_buffer_init(&t->payload, MESSAGE_BYTES);
    atoll_buffer_init(&t->frame, MESSAGE_BYTES + ATOLL_FRAME_HEADER_BYTES);
    return t;
}

void atoll_peer_table_destroy(struct atoll_peer_table *t)
{
    if (!t)
        return;
    atoll_buffer_fini(&t->payload);
    atoll_buffer_fini(&t->frame);
    free(t->peers);
    free(t);
}

void atoll_peer_table_set_engine(struct atoll_peer_table *t, const struct atoll_engine *engine)
{
    t->engine = engine;
}

/* ---- what is known ---- */

unsigned atoll_peer_table_count(const struct atoll_peer_table *t)
{
    return t->count;
}

const struct atoll_peer *atoll_peer_table_peer(const struct atoll_peer_table *t, unsigned peer)
{
    return &t->peers[peer];
}

int atoll_peer_table_rank(const struct atoll_peer_table *t, unsigned peer)
{
    return t->settings.carrier->are_ranks ? (int)peer + 1 : -1;
}

unsigned atoll_peer_table_ready_count(const struct atoll_peer_table *t)
{
    unsigned count = 0;
    for (unsigned i = 0; i < t->count; i++)
        count += t->peers[i].state == ATOLL_PEER_READY;
    return count;
}

uint64_t atoll_peer_table_lost_count(const struct atoll_peer_table *t)
{
    return t->lost_count;
}

/* The row of a model, added where it is new; NULL: more models than a campaign can have. */
static struct atoll_capacity *capacity_of(struct atoll_event *event, const char *model)
{
    for (uint32_t i = 0; i < event->model_count; i++)
        if (strcmp(event->models[i].model, model) == 0)
            return &event->models[i];
    if (event->model_count == ATOLL_MODEL_LIMIT)
        return NULL;
    struct atoll_capacity *added = &event->models[event->model_count++];
    snprintf(added->model, sizeof(added->model), "%s", model);
    return added;
}

void atoll_peer_table_capacity(const struct atoll_peer_table *t, struct atoll_event *event)
{
    for (uint32_t i = 0; i < atoll_engine_model_count(t->engine); i++)
        capacity_of(event, atoll_engine_model(t->engine, i));
    for (unsigned i = 0; i < t->count; i++) {
        const struct atoll_peer *p = &t->peers[i];
        struct atoll_capacity *of = p->state == ATOLL_PEER_READY ? capacity_of(event, p->model) : NULL;
        event->slots += of != NULL;
        if (!of)
            continue;
        of->slots++;
        of->torch_slots += p->has_torch != 0;
        if (!atoll_device_shape_is_known(&of->shape))
            of->shape = p->shape;
    }
}

void atoll_peer_table_shares(const struct atoll_peer_table *t, double *ret_busy, double *ret_candidate_share)
{
    double uptime = 0, occupied = 0, candidate = 0;
    for (unsigned i = 0; i < t->count; i++) {
        const struct atoll_pulse *pulse = &t->peers[i].pulse;
        uptime += pulse->uptime_ns;
        occupied += pulse->occupied_ns;
        candidate += pulse->candidate_ns;
    }
    *ret_busy = uptime > 0 ? occupied / uptime : 0;
    *ret_candidate_share = uptime > 0 ? candidate / uptime : 0;
}

int atoll_peer_table_check_left(const struct atoll_peer_table *t, struct atoll_err *err)
{
    unsigned i = 0;
    while (i < t->count &&
           (t->peers[i].state == ATOLL_PEER_FAILED || t->peers[i].state == ATOLL_PEER_LOST_FOR_GOOD ||
            t->peers[i].state == ATOLL_PEER_SURPLUS)) {
        i++;
    }
    if (i < t->count && (now_ns(t) - t->attended_ns < ORPHANED_NS || t->peers[i].state == ATOLL_PEER_GREETED))
        return 0;
    if (t->failure.code != ATOLL_OK) {
        *err = t->failure;
        return -1;
    }
    return atoll_err_set(
        err, ATOLL_E_CHILD,
        "no evaluator is left; nothing is lost: the campaign can be resumed (see the lines above for why)");
}

/* For people: "evaluator 3 (rank 4 on n7, NVIDIA H200 GPU-...)"; until the next call. */
static const char *name_of(struct atoll_peer_table *t, unsigned peer)
{
    const struct atoll_peer *p = &t->peers[peer];
    const char *node = p->place.node[0] ? p->place.node : "an unknown node";
    char rank[32] = "";
    if (t->settings.carrier->are_ranks)
        snprintf(rank, sizeof(rank), "rank %u on ", peer + 1);
    snprintf(t->name, sizeof(t->name), "evaluator %u (%s%s%s%s%s%s)", peer, rank, node,
             p->model[0] ? ", " : "", p->model, p->uuid[0] ? " " : "", p->uuid);
    return t->name;
}

/* ---- what is sent ---- */

int atoll_peer_table_send(struct atoll_peer_table *t, unsigned peer, uint16_t type,
                          const struct atoll_buffer *payload, struct atoll_err *err)
{
    const struct atoll_peers *carrier = t->settings.carrier;
    atoll_buffer_clear(&t->frame);
    if (atoll_buffer_check(payload, err) != 0 ||
        atoll_frame_encode(&t->frame, type, payload->data, payload->length, err) != 0) {
        return -1;
    }
    return carrier->send(carrier->context, peer, t->frame.data, t->frame.length, err);
}

/* Sends a new peer what it needs: SETUP and all tasks. */
static int greet(struct atoll_peer_table *t, unsigned peer, struct atoll_err *err)
{
    struct atoll_buffer task;
    struct atoll_evaluator_location place = t->peers[peer].place;
    place.surplus = ATOLL_SURPLUS_NONE;
    t->peers[peer] = (struct atoll_peer){.state = ATOLL_PEER_GREETED, .heard_ns = now_ns(t), .place = place};
    atoll_buffer_clear(&t->payload);
    atoll_setup_encode(t->settings.setup, &t->payload);
    int rc = atoll_peer_table_send(t, peer, ATOLL_MSG_SETUP, &t->payload, err);
    atoll_buffer_init(&task, MESSAGE_BYTES);
    for (uint32_t i = 0; i < atoll_engine_task_count(t->engine) && rc == 0; i++) {
        atoll_buffer_clear(&task);
        atoll_buffer_clear(&t->payload);
        rc = atoll_task_encode(atoll_engine_task(t->engine, i), &task, err);
        if (rc == 0) {
            atoll_buffer_put_u32(&t->payload, i);
            atoll_buffer_put_blob(&t->payload, task.data, task.length);
            rc = atoll_peer_table_send(t, peer, ATOLL_MSG_TASK, &t->payload, err);
        }
    }
    atoll_buffer_fini(&task);
    return rc;
}

static void lose(struct atoll_peer_table *t, unsigned peer, enum atoll_peer_state state);

void atoll_peer_table_drop(struct atoll_peer_table *t, unsigned peer, const char *why)
{
    const struct atoll_peers *carrier = t->settings.carrier;
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.dropped", "%s is given up: %s; its %u orders go to others",
              name_of(t, peer), why, atoll_dispatch_sent_count(t->settings.dispatch, peer));
    lose(t, peer, ATOLL_PEER_SILENT);
    carrier->drop(carrier->context, peer);
}

/* From now on nothing is expected from the peer: its orders go to others.  Its device may have become free for a surplus
 * peer of its node, which looks again; who still finds it taken is surplus again. */
static void lose(struct atoll_peer_table *t, unsigned lost, enum atoll_peer_state state)
{
    int had_device = t->peers[lost].said_hello;
    if (t->peers[lost].state == ATOLL_PEER_READY || t->peers[lost].state == ATOLL_PEER_GREETED)
        t->lost_count++;
    t->peers[lost].state = state;
    t->peers[lost].is_waiting = 0;
    atoll_dispatch_lose(t->settings.dispatch, lost);
    if (t->settings.tools)
        atoll_tools_lose(t->settings.tools, lost);
    if (!had_device || state == ATOLL_PEER_ABSENT)
        return;
    for (unsigned i = 0; i < t->count; i++) {
        const struct atoll_peer *p = &t->peers[i];
        struct atoll_err err = ATOLL_ERR_INIT;
        if (i == lost || p->state != ATOLL_PEER_SURPLUS || p->place.surplus != ATOLL_SURPLUS_BUSY ||
            strcmp(p->place.node, t->peers[lost].place.node) != 0) {
            continue;
        }
        atoll_log(ATOLL_LOG_INFO, "eval.peer.retry", "%s looks for a device again", name_of(t, i));
        if (greet(t, i, &err) != 0)
            atoll_peer_table_drop(t, i, err.text);
    }
}

/* The number of a peer's device model in the campaign; beyond all while the engine does not know it. */
static uint32_t model_of(const struct atoll_peer_table *t, unsigned peer)
{
    uint32_t model = 0, count = atoll_engine_model_count(t->engine);
    while (model < count && strcmp(atoll_engine_model(t->engine, model), t->peers[peer].model) != 0)
        model++;
    return model;
}

/* What the order of a decision is, and how it is sent. */
static const struct {
    enum atoll_order_kind kind;
    uint16_t message;
} order_kinds[ATOLL_DECISION_TYPE_COUNT] = {
    [ATOLL_DECIDE_EVALUATE] = {ATOLL_ORDER_EVALUATE, ATOLL_MSG_EVALUATE},
    [ATOLL_DECIDE_DUEL] = {ATOLL_ORDER_DUEL, ATOLL_MSG_DUEL},
    [ATOLL_DECIDE_RIVAL] = {ATOLL_ORDER_RIVAL, ATOLL_MSG_RIVAL},
};

static int send_order(struct atoll_peer_table *t, unsigned peer, const struct atoll_decision *d,
                      struct atoll_err *err)
{
    struct atoll_order order = {.evaluation = d->evaluation,
                                .task = d->task,
                                .kind = order_kinds[d->type].kind,
                                .purpose = d->purpose,
                                .candidate = {.id = d->candidate, .choice = d->choice},
                                .elite = {.id = d->elite, .language = "", .source = ""},
                                .baseline_ns = d->baseline_ns,
                                .incumbent_ns = d->incumbent_ns,
                                .alpha = d->alpha,
                                .margin = d->margin,
                                .pair_limit = d->pair_limit,
                                .rival = d->rival,
                                .limit_ns = d->limit_ns};
    memcpy(order.rivals, d->rivals, sizeof(order.rivals));
    atoll_engine_bars(t->engine, d, order.bars_ns);
    int rc = 0;
    if (order.kind != ATOLL_ORDER_RIVAL)
        rc = atoll_engine_source(t->engine, &d->source, &order.candidate.language, &order.candidate.source);
    if (rc == 0 && atoll_order_has_elite(&order)) {
        order.elite.choice = d->elite_choice;
        rc = atoll_engine_source(t->engine, &d->elite_source, &order.elite.language, &order.elite.source);
    }
    if (rc != 0) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "the source of evaluation %llu is not known",
                             (unsigned long long)d->evaluation);
    }
    atoll_buffer_clear(&t->payload);
    atoll_order_encode(&order, &t->payload);
    return atoll_peer_table_send(t, peer, order_kinds[d->type].message, &t->payload, err);
}

/* One order to each peer with room in turn, so that few orders are spread, not piled: any to a peer that has less than half of
 * what it wants in hand, else one of a task that is at home there, or nowhere.  Then what is left over, to whoever has room. */
int atoll_peer_table_send_orders(struct atoll_peer_table *t, struct atoll_err *err)
{
    struct atoll_dispatch *dispatch = t->settings.dispatch;
    int sent = 1, is_home_only = 1;
    while (sent || is_home_only) {
        is_home_only = sent;
        sent = 0;
        for (unsigned i = 0; i < t->count; i++) {
            struct atoll_err own = ATOLL_ERR_INIT;
            if (t->peers[i].state != ATOLL_PEER_READY ||
                atoll_dispatch_sent_count(dispatch, i) >= t->peers[i].wanted) {
                continue;
            }
            unsigned in_hand = atoll_dispatch_sent_count(dispatch, i);
            const struct atoll_decision *decision =
                atoll_dispatch_next(dispatch, i, model_of(t, i), t->peers[i].has_torch,
                                    is_home_only && 2 * in_hand >= t->peers[i].wanted);
            if (!decision)
                continue;
            sent = 1;
            if (send_order(t, i, decision, &own) == 0) {
                atoll_dispatch_stamp(dispatch, decision->evaluation, now_ns(t));
            } else if (own.code == ATOLL_E_INTERNAL) {
                *err = own;
                return -1;
            } else {
                atoll_peer_table_drop(t, i, own.text);
            }
        }
    }
    return 0;
}

/* One to each peer in turn, as with orders. */
void atoll_peer_table_send_tools(struct atoll_peer_table *t)
{
    int sent = t->settings.tools != NULL;
    while (sent) {
        sent = 0;
        for (unsigned i = 0; i < t->count; i++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            const struct atoll_tool_order *order =
                t->peers[i].state == ATOLL_PEER_READY
                    ? atoll_tools_next_order(t->settings.tools, i, model_of(t, i))
                    : NULL;
            if (!order)
                continue;
            sent = 1;
            atoll_buffer_clear(&t->payload);
            atoll_tool_order_encode(order, &t->payload);
            if (atoll_peer_table_send(t, i, ATOLL_MSG_TOOL, &t->payload, &err) != 0)
                atoll_peer_table_drop(t, i, err.text);
        }
    }
}

void atoll_peer_table_check_silence(struct atoll_peer_table *t)
{
    double now = now_ns(t);
    for (unsigned i = 0; i < t->count; i++) {
        struct atoll_peer *p = &t->peers[i];
        if ((p->state == ATOLL_PEER_READY || p->state == ATOLL_PEER_GREETED ||
             p->state == ATOLL_PEER_SURPLUS) &&
            now - p->heard_ns > t->settings.heartbeat_timeout_ns) {
            atoll_peer_table_drop(t, i, "it has been silent for too long");
        }
        if (p->state != ATOLL_PEER_READY || atoll_dispatch_sent_count(t->settings.dispatch, i) == 0)
            p->answered_ns = now;
        if (now - p->answered_ns > STUCK_NS)
            atoll_peer_table_drop(t, i, "it lives but does not answer");
    }
    if (atoll_peer_table_ready_count(t) > 0 || t->is_held)
        t->attended_ns = now;
}

void atoll_peer_table_excuse_silence(struct atoll_peer_table *t)
{
    double now = now_ns(t);
    for (unsigned i = 0; i < t->count; i++)
        t->peers[i].heard_ns = now;
}

void atoll_peer_table_stop_all(struct atoll_peer_table *t)
{
    const struct atoll_peers *carrier = t->settings.carrier;
    double until_ns = now_ns(t) + STOP_WAIT_NS;
    atoll_buffer_clear(&t->payload);
    for (unsigned i = 0; i < t->count; i++)
        atoll_peer_table_send(t, i, ATOLL_MSG_STOP, &t->payload, NULL);
    while (carrier->waiting(carrier->context) > 0 && now_ns(t) < until_ns)
        carrier->wait(carrier->context, NULL, 0, 1);
}

/* ---- what arrives ---- */

/* A peer that speaks again after a silence still has what it was sent; one that is new has to be sent it. */
int atoll_peer_table_heard(struct atoll_peer_table *t, unsigned peer, uint16_t type, struct atoll_err *err)
{
    struct atoll_peer *p = &t->peers[peer];
    p->heard_ns = now_ns(t);
    if (type == ATOLL_MSG_PEER_LOST)
        return 0;
    if (p->state == ATOLL_PEER_SILENT && p->bad_count < BAD_LIMIT) {
        p->state = p->said_hello      ? ATOLL_PEER_READY
                   : p->place.surplus ? ATOLL_PEER_SURPLUS
                                      : ATOLL_PEER_GREETED;
    }
    p->is_waiting = p->state == ATOLL_PEER_ABSENT && t->is_held;
    return p->state == ATOLL_PEER_ABSENT && !t->is_held ? greet(t, peer, err) : 0;
}

void atoll_peer_table_hold(struct atoll_peer_table *t)
{
    t->is_held = 1;
}

void atoll_peer_table_greet_all(struct atoll_peer_table *t)
{
    t->is_held = 0;
    for (unsigned i = 0; i < t->count; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (t->peers[i].state == ATOLL_PEER_ABSENT && t->peers[i].is_waiting && greet(t, i, &err) != 0 &&
            err.code != ATOLL_E_CHILD) /* one that is gone is told of by its carrier */
            atoll_peer_table_drop(t, i, err.text);
    }
}

void atoll_peer_table_hello(struct atoll_peer_table *t, unsigned peer, const struct atoll_device_info *device)
{
    struct atoll_peer *p = &t->peers[peer];
    p->said_hello = 1;
    snprintf(p->model, sizeof(p->model), "%s", device->model);
    snprintf(p->uuid, sizeof(p->uuid), "%s", device->uuid);
    p->has_torch = device->torch[0] != '\0';
    p->shape = atoll_device_shape_of(device);
    if (!p->place.node[0])
        snprintf(p->place.node, sizeof(p->place.node), "%s", device->node);
}

void atoll_peer_table_answered(struct atoll_peer_table *t, unsigned peer)
{
    t->peers[peer].answered_ns = now_ns(t);
}

/* Surplus is no failure; but where nobody works in the end, it is why. */
static int on_place(struct atoll_peer_table *t, unsigned peer, const struct atoll_frame *frame,
                    struct atoll_err *err)
{
    struct atoll_peer *p = &t->peers[peer];
    if (atoll_evaluator_location_decode(frame->payload, frame->length, &p->place, err) != 0)
        return -1;
    if (p->place.surplus == ATOLL_SURPLUS_NONE)
        return 0;
    p->state = ATOLL_PEER_SURPLUS;
    p->said_hello = 0;
    atoll_dispatch_lose(t->settings.dispatch, peer);
    if (t->settings.tools)
        atoll_tools_lose(t->settings.tools, peer);
    if (t->failure.code == ATOLL_OK) {
        atoll_err_set(&t->failure, p->place.surplus == ATOLL_SURPLUS_BUSY ? ATOLL_E_BUSY : ATOLL_E_LIMIT,
                      "%s", p->place.note);
    }
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.surplus", "%s stays idle: %s", name_of(t, peer), p->place.note);
    return 0;
}

static int on_request(struct atoll_peer_table *t, unsigned peer, const struct atoll_frame *frame,
                      struct atoll_err *err)
{
    struct atoll_peer *p = &t->peers[peer];
    struct atoll_reader reader;
    atoll_reader_init(&reader, frame->payload, frame->length);
    uint32_t wanted = atoll_reader_u32(&reader);
    if (atoll_reader_finish(&reader, "REQUEST", err) != 0)
        return -1;
    if (!p->said_hello || wanted > WANTED_LIMIT) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "REQUEST of %u orders, %s", wanted,
                             p->said_hello ? "too many" : "before HELLO");
    }
    p->wanted = wanted;
    p->state = ATOLL_PEER_READY;
    return 0;
}

static int on_heartbeat(struct atoll_peer_table *t, unsigned peer, const struct atoll_frame *frame,
                        struct atoll_err *err)
{
    return atoll_pulse_decode(frame->payload, frame->length, &t->peers[peer].pulse, err);
}

static int on_failed(struct atoll_peer_table *t, unsigned peer, const struct atoll_frame *frame,
                     struct atoll_err *err)
{
    struct atoll_reader reader;
    size_t length;
    atoll_reader_init(&reader, frame->payload, frame->length);
    uint32_t code = atoll_reader_u32(&reader);
    const char *text = atoll_reader_blob(&reader, &length);
    if (atoll_reader_finish(&reader, "FAILED", err) != 0 || length >= ATOLL_ERR_TEXT_BYTES)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "FAILED: not a code and a text");
    atoll_err_clear(&t->failure);
    atoll_err_set(&t->failure, code > 0 && code < ATOLL_CODE_COUNT ? (enum atoll_code)code : ATOLL_E_CHILD,
                  "%.*s", (int)length, text);
    atoll_log(ATOLL_LOG_ERROR, "eval.peer.failed", "%s: %s", name_of(t, peer), t->failure.text);
    lose(t, peer, ATOLL_PEER_FAILED);
    return 0;
}

static int on_lost(struct atoll_peer_table *t, unsigned peer, const struct atoll_frame *frame,
                   struct atoll_err *err)
{
    int is_gone = frame->length == 1 && frame->payload[0] == ATOLL_PEER_GONE;
    (void)err;
    if (is_gone || t->peers[peer].state != ATOLL_PEER_FAILED)
        lose(t, peer, is_gone ? ATOLL_PEER_LOST_FOR_GOOD : ATOLL_PEER_ABSENT);
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.lost", "%s is lost%s", name_of(t, peer),
              is_gone ? " for good" : "");
    return 0;
}

int atoll_peer_table_take(struct atoll_peer_table *t, unsigned peer, const struct atoll_frame *frame,
                          struct atoll_err *err)
{
    int rc;
    switch (frame->type) {
    case ATOLL_MSG_PLACE: rc = on_place(t, peer, frame, err); break;
    case ATOLL_MSG_REQUEST: rc = on_request(t, peer, frame, err); break;
    case ATOLL_MSG_HEARTBEAT: rc = on_heartbeat(t, peer, frame, err); break;
    case ATOLL_MSG_FAILED: rc = on_failed(t, peer, frame, err); break;
    case ATOLL_MSG_PEER_LOST: rc = on_lost(t, peer, frame, err); break;
    default: return 0;
    }
    return rc == 0 ? 1 : -1;
}

/* A result that cannot be used leaves an order without an answer, and nobody can say which: all of the peer's
 * go out again, the first good answer counts. */
void atoll_peer_table_refuse(struct atoll_peer_table *t, unsigned peer, uint16_t type,
                             const struct atoll_err *why)
{
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.message", "a message of evaluator %u was dropped: %s", peer,
              why->text);
    if (type == ATOLL_MSG_EVALUATED || type == ATOLL_MSG_DUELLED || type == ATOLL_MSG_RIVALLED)
        atoll_dispatch_lose(t->settings.dispatch, peer);
    if (++t->peers[peer].bad_count == BAD_LIMIT)
        atoll_peer_table_drop(t, peer, "too many bad messages");
}
