/* peer_table.h - the evaluators that rank 0 works with: who is there, on which device, who has room for orders, who is silent.
 * Layer: mpi-eval, part of the coordinator.  Lifetime: create/destroy.  Single owner.
 *
 * States of a peer:
 * - ABSENT: nothing was heard.  Any frame: SETUP and all TASKs are sent, GREETED.
 * - GREETED: REQUEST (after HELLO) makes it READY.
 * - READY: has at most the orders that it asked for.
 * - SURPLUS: it lives and has no device; tried again (GREETED) when another of its node is lost.
 * - SILENT: given up after a silence or too many bad messages; any frame makes it what it was before.
 * - FAILED: it cannot go on, and has sent why.
 * - PEER_LOST makes every state ABSENT (another process is started; FAILED stays) or GONE (none is). */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_PEER_TABLE_H
#define ATOLL_MPI_EVAL_COORDINATOR_PEER_TABLE_H

#include "core/message.h"
#include "core/evaluator_location.h"
#include "evolution/engine/engine.h"
#include "mpi-eval/coordinator/campaign_clock.h"
#include "mpi-eval/coordinator/dispatch.h"
#include "mpi-eval/node/peers.h"
#include "mpi-eval/tool/tools.h"

enum atoll_peer_state {
    ATOLL_PEER_ABSENT,
    ATOLL_PEER_GREETED,
    ATOLL_PEER_READY,
    ATOLL_PEER_SURPLUS,
    ATOLL_PEER_SILENT,
    ATOLL_PEER_FAILED,
    ATOLL_PEER_LOST_FOR_GOOD,
    ATOLL_PEER_STATE_COUNT
};

/* "absent", "starting", "ready", "surplus", "silent", "failed", "lost" (docs/spec/ranks.md). */
const char *atoll_peer_state_name(enum atoll_peer_state state);

struct atoll_peer {
    enum atoll_peer_state state;
    uint32_t wanted; /* orders it wants in hand */
    int said_hello;
    int is_waiting;           /* heard while nobody is greeted */
    char model[96], uuid[64]; /* of its device */
    int has_torch;            /* it can measure rivals */
    struct atoll_device_shape shape;
    struct atoll_evaluator_location place; /* node "": not known yet */
    double heard_ns, answered_ns;          /* answered: its last result, or when it had nothing to answer */
    unsigned bad_count;                    /* messages that could not be used */
    struct atoll_pulse pulse;
};

/* All borrowed. */
struct atoll_peer_table_settings {
    const struct atoll_peers *carrier;
    const struct atoll_setup *setup;
    const struct atoll_campaign_clock *clock;
    struct atoll_dispatch *dispatch;
    struct atoll_tools *tools;   /* NULL: no model calls any */
    double heartbeat_timeout_ns; /* a peer that is silent for longer is given up */
};

struct atoll_peer_table;

struct atoll_peer_table *atoll_peer_table_create(const struct atoll_peer_table_settings *settings,
                                                 struct atoll_err *err);
void atoll_peer_table_destroy(struct atoll_peer_table *table);
/* Whose tasks, device models and sources the peers are sent; borrowed.  Before it nobody is heard and nothing sent. */
void atoll_peer_table_set_engine(struct atoll_peer_table *table, const struct atoll_engine *engine);

/* ---- what is known ---- */

unsigned atoll_peer_table_count(const struct atoll_peer_table *table);
const struct atoll_peer *atoll_peer_table_peer(const struct atoll_peer_table *table, unsigned peer);
int atoll_peer_table_rank(const struct atoll_peer_table *table, unsigned peer); /* of MPI; -1: none */
unsigned atoll_peer_table_ready_count(const struct atoll_peer_table *table);
uint64_t atoll_peer_table_lost_count(const struct atoll_peer_table *table); /* losses so far */
/* Slots and models of the peers that are ready, into a CAPACITY event: models in the engine's order, then new ones. */
void atoll_peer_table_capacity(const struct atoll_peer_table *table, struct atoll_event *event);
/* Shares of the peers' time in which their device was in use, and in which candidates ran: 0 to 1. */
void atoll_peer_table_shares(const struct atoll_peer_table *table, double *ret_busy,
                             double *ret_candidate_share);
/* 0 while somebody works or may still come; -1: nobody is left, and why. */
int atoll_peer_table_check_left(const struct atoll_peer_table *table, struct atoll_err *err);

/* ---- what arrives ---- */

/* From now on new peers are heard and sent nothing, until all of them are. */
void atoll_peer_table_hold(struct atoll_peer_table *table);
void atoll_peer_table_greet_all(struct atoll_peer_table *table);

/* A frame of this type arrived: a peer that is new is sent what it needs, one that was silent is listened to again.  -1: the
 * new one could not be sent it; ATOLL_E_CHILD when it is gone already. */
int atoll_peer_table_heard(struct atoll_peer_table *table, unsigned peer, uint16_t type,
                           struct atoll_err *err);
/* Messages about the peer itself (PLACE, REQUEST, HEARTBEAT, FAILED, PEER_LOST).  1: taken; 0: of another type; -1: it
 * cannot be used. */
int atoll_peer_table_take(struct atoll_peer_table *table, unsigned peer, const struct atoll_frame *frame,
                          struct atoll_err *err);
/* HELLO: the peer has this device. */
void atoll_peer_table_hello(struct atoll_peer_table *table, unsigned peer,
                            const struct atoll_device_info *device);
/* A result of the peer was taken. */
void atoll_peer_table_answered(struct atoll_peer_table *table, unsigned peer);
/* A message of this type could not be used: it is logged, and a peer with too many of them is given up. */
void atoll_peer_table_refuse(struct atoll_peer_table *table, unsigned peer, uint16_t type,
                             const struct atoll_err *why);

/* ---- what is done ---- */

int atoll_peer_table_send(struct atoll_peer_table *table, unsigned peer, uint16_t type,
                          const struct atoll_buffer *payload, struct atoll_err *err);
/* Gives the peer up: its orders go to others, its process is ended and started again where that can be done. */
void atoll_peer_table_drop(struct atoll_peer_table *table, unsigned peer, const char *why);
/* Sends waiting orders to whoever has room.  -1 only for trouble of our own. */
int atoll_peer_table_send_orders(struct atoll_peer_table *table, struct atoll_err *err);
/* Sends calls of models to whoever can take one more. */
void atoll_peer_table_send_tools(struct atoll_peer_table *table);
/* Gives up who has been silent for too long, or has orders and does not answer. */
void atoll_peer_table_check_silence(struct atoll_peer_table *table);
/* Nobody was listened to until now: no silence so far counts. */
void atoll_peer_table_excuse_silence(struct atoll_peer_table *table);
/* Sends STOP to all and waits up to two seconds until it has left. */
void atoll_peer_table_stop_all(struct atoll_peer_table *table);

#endif
