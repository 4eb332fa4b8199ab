/* peer_table.c - the coordinator's peers: who is there, who has room, who is silent (states: coordinator.c). */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/message.h"
#include "mpi-eval/coordinator/coordinator_state.h"

/* Without any result of a peer that has orders: far beyond every deadline of its own. */
#define STUCK_NS 600e9

int atoll_peer_table_say(struct coordinator *c, unsigned peer, uint16_t type, struct atoll_err *err)
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

unsigned atoll_peer_table_ready_count(const struct coordinator *c)
{
    unsigned count = 0;
    for (unsigned i = 0; i < c->settings->peers.count; i++)
        count += c->peers[i].state == PEER_READY;
    return count;
}

static struct atoll_capacity *capacity_of(struct atoll_event *event, const char *model)
{
    for (uint32_t i = 0; i < event->model_count; i++)
        if (strcmp(event->models[i].model, model) == 0)
            return &event->models[i];
    if (event->model_count == ATOLL_MODEL_LIMIT)
        return NULL;
    struct atoll_capacity *c = &event->models[event->model_count++];
    snprintf(c->model, sizeof c->model, "%s", model);
    return c;
}

/* Slots of more models than a campaign can have are none. */
void atoll_peer_table_capacity(const struct coordinator *c, struct atoll_event *event)
{
    for (uint32_t i = 0; i < atoll_engine_model_count(c->engine); i++)
        capacity_of(event, atoll_engine_model(c->engine, i));
    for (unsigned i = 0; i < c->settings->peers.count; i++) {
        struct atoll_capacity *of =
            c->peers[i].state == PEER_READY ? capacity_of(event, c->peers[i].model) : NULL;
        event->slots += of != NULL;
        if (of)
            of->slots++;
    }
}

/* Its model's number in the campaign; beyond all while the engine does not know it. */
static uint32_t model_of(const struct coordinator *c, unsigned peer)
{
    uint32_t model = 0, count = atoll_engine_model_count(c->engine);
    while (model < count && strcmp(atoll_engine_model(c->engine, model), c->peers[peer].model) != 0)
        model++;
    return model;
}

const char *atoll_peer_table_name(struct coordinator *c, unsigned peer)
{
    const struct peer *p = &c->peers[peer];
    const char *node = p->place.node[0] ? p->place.node : "an unknown node";
    char rank[32] = "";
    if (c->settings->peers.are_ranks)
        snprintf(rank, sizeof rank, "rank %u on ", peer + 1);
    snprintf(c->name, sizeof c->name, "evaluator %u (%s%s%s%s%s%s)", peer, rank, node,
             p->model[0] ? ", " : "", p->model, p->uuid[0] ? " " : "", p->uuid);
    return c->name;
}

/* A device of its node may have become free; who still finds it taken is surplus again. */
static void surplus_try(struct coordinator *c, unsigned lost)
{
    for (unsigned i = 0; i < c->settings->peers.count; i++) {
        struct peer *p = &c->peers[i];
        struct atoll_err err = ATOLL_ERR_INIT;
        if (i == lost || p->state != PEER_SURPLUS || p->place.surplus != ATOLL_SURPLUS_BUSY ||
            strcmp(p->place.node, c->peers[lost].place.node) != 0)
            continue;
        atoll_log(ATOLL_LOG_INFO, "eval.peer.retry", "%s looks for a device again",
                  atoll_peer_table_name(c, i));
        if (atoll_peer_table_greet(c, i, &err) != 0)
            atoll_peer_table_drop(c, i, err.text);
    }
}

void atoll_peer_table_lose(struct coordinator *c, unsigned peer, enum peer_state state)
{
    int had_device = c->peers[peer].said_hello;
    if (c->peers[peer].state == PEER_READY || c->peers[peer].state == PEER_GREETED)
        c->result.peers_lost++;
    c->peers[peer].state = state;
    atoll_dispatch_lose(c->dispatch, peer);
    if (had_device && state != PEER_ABSENT)
        surplus_try(c, peer);
}

void atoll_peer_table_drop(struct coordinator *c, unsigned peer, const char *why)
{
    const struct atoll_peers *peers = &c->settings->peers;
    atoll_log(ATOLL_LOG_WARNING, "eval.peer.dropped", "%s is given up: %s; its %u orders go to others",
              atoll_peer_table_name(c, peer), why, atoll_dispatch_sent_count(c->dispatch, peer));
    atoll_peer_table_lose(c, peer, PEER_SILENT);
    peers->drop(peers->context, peer);
}

int atoll_peer_table_greet(struct coordinator *c, unsigned peer, struct atoll_err *err)
{
    struct atoll_buffer task;
    int rc;
    c->peers[peer] = (struct peer){
        .state = PEER_GREETED, .heard_ns = atoll_coordinator_now_ns(c), .place = c->peers[peer].place};
    c->peers[peer].place.surplus = ATOLL_SURPLUS_NONE;
    atoll_setup_encode(c->settings->setup, &c->payload);
    rc = atoll_peer_table_say(c, peer, ATOLL_MSG_SETUP, err);
    atoll_buffer_init(&task, COORDINATOR_MESSAGE_BYTES);
    for (uint32_t i = 0; i < atoll_engine_task_count(c->engine) && rc == 0; i++) {
        atoll_buffer_clear(&task);
        rc = atoll_task_encode(atoll_engine_task(c->engine, i), &task, err);
        if (rc == 0) {
            atoll_buffer_put_u32(&c->payload, i);
            atoll_buffer_put_blob(&c->payload, task.data, task.length);
            rc = atoll_peer_table_say(c, peer, ATOLL_MSG_TASK, err);
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
    return atoll_peer_table_say(c, peer, order.is_duel ? ATOLL_MSG_DUEL : ATOLL_MSG_EVALUATE, err);
}

/* One order to each peer with room in turn, so that few orders are spread, not piled. */
int atoll_peer_table_send_orders(struct coordinator *c, struct atoll_err *err)
{
    int sent = 1;
    while (sent) {
        sent = 0;
        for (unsigned i = 0; i < c->settings->peers.count; i++) {
            struct atoll_err own = ATOLL_ERR_INIT;
            if (c->peers[i].state != PEER_READY ||
                atoll_dispatch_sent_count(c->dispatch, i) >= c->peers[i].wanted)
                continue;
            const struct atoll_decision *decision = atoll_dispatch_next(c->dispatch, i, model_of(c, i));
            if (!decision)
                continue;
            sent = 1;
            if (order_send(c, i, decision, &own) == 0) {
                atoll_dispatch_stamp(c->dispatch, decision->evaluation, atoll_coordinator_now_ns(c));
                continue;
            }
            if (own.code == ATOLL_E_INTERNAL) {
                *err = own;
                return -1;
            }
            atoll_peer_table_drop(c, i, own.text);
        }
    }
    return 0;
}

void atoll_peer_table_check_silence(struct coordinator *c)
{
    double now = atoll_coordinator_now_ns(c);
    for (unsigned i = 0; i < c->settings->peers.count; i++) {
        struct peer *p = &c->peers[i];
        if ((p->state == PEER_READY || p->state == PEER_GREETED || p->state == PEER_SURPLUS) &&
            now - p->heard_ns > c->settings->heartbeat_timeout_ns)
            atoll_peer_table_drop(c, i, "it has been silent for too long");
        if (p->state != PEER_READY || atoll_dispatch_sent_count(c->dispatch, i) == 0)
            p->answered_ns = now;
        if (now - p->answered_ns > STUCK_NS)
            atoll_peer_table_drop(c, i, "it lives but does not answer");
    }
    if (atoll_peer_table_ready_count(c) > 0)
        c->attended_ns = now;
}
