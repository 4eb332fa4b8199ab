/* fake_peers.h - three evaluators and a clock without MPI, with every mischief that a peer may do to a coordinator. */
#ifndef ATOLL_TESTS_UNIT_MPI_EVAL_COORDINATOR_FAKE_PEERS_H
#define ATOLL_TESTS_UNIT_MPI_EVAL_COORDINATOR_FAKE_PEERS_H

#include "tests/support/expect.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "archive-h5/table/project.h"
#include "base/arena.h"
#include "base/log.h"
#include "core/evaluator_location.h"
#include "mpi-eval/coordinator/coordinator.h"
#include "mpi-eval/coordinator/replay.h"
#include "mpi-eval/coordinator/resume.h"
#include "mpi-eval/coordinator/setup.h"
#include "mpi-eval/evaluator/synthetic.h"

#define PEERS        3
#define BUDGET       80
#define QUEUE        4096
#define WAIT_STEP_NS 12e9

enum mischief {
    HONEST,
    DUPLICATES,    /* every result twice */
    GARBAGE,       /* payloads that do not decode, a few from each peer */
    GARBAGE_FLOOD, /* peer 1 sends nothing else */
    UNKNOWN_TYPES, /* types nobody knows, one before each result */
    OTHER_RESULTS, /* peer 1 answers with another candidate's identity */
    LOST_ONCE,     /* peer 1 is lost after some orders, which it never answers, and comes back */
    LOST_FOR_GOOD, /* the same, and does not */
    LATE,          /* the same, but its answers come after others have answered */
    GREEDY,        /* asks for too many orders first */
    FAILS,         /* all say FAILED at once */
    FAILS_LATER,   /* all say FAILED after some results */
    UNLIKE,        /* peer 0 has another model of device than the others */
    UNLIKE_LOST,   /* and is lost for good after some orders */
    SURPLUS,       /* peer 1 finds its device taken by peer 0, which is lost for good: then it gets it */
    SURPLUS_ALL,   /* all find theirs taken by others */
    SLOW,          /* two messages come in every 12 s */
    RIVALS,        /* peer 0 has torch, and says once what a rival took that it was not asked for */
    RIVALS_LOST,   /* the same; it is lost over the first rival, and comes back */
    TIMES, /* every peer has a device of its own and tells where its time went; a result takes a second */
    HANGS  /* peer 1 answers some orders, then only says that it lives */
};

struct message {
    unsigned peer;
    struct atoll_buffer frame;
};

struct peers {
    enum mischief mischief;
    struct message queue[QUEUE];
    unsigned head, tail, visible; /* visible: SLOW, up to where messages have come */
    volatile sig_atomic_t asked;  /* an end, after so many results: */
    unsigned asks_after;
    int drains, finishes;
    const struct atoll_extension *extension; /* NULL: none */
    double until_ns, frozen_ns;              /* frozen: SLOW, nothing comes any more */
    struct atoll_task *tasks[4];
    unsigned task_count, orders[PEERS], results, rivals;
    unsigned bars;   /* of all orders */
    unsigned lives;  /* that were shown */
    int had_archive; /* before the attempt: an earlier one's */
    int is_lost[PEERS], has_setup[PEERS];
    unsigned setups[PEERS];
    struct atoll_id seen[2][QUEUE]; /* candidates evaluated by peer 0, and by the others */
    unsigned seen_count[2];
    double checks_s[PEERS][4];              /* TIMES: of each task */
    double now_ns, answered_ns, dropped_ns; /* the clock; peer 1's last answer and its end */
    void **state;                           /* of the test that runs */
    unsigned stops;                         /* that were sent */
    struct told {
        enum atoll_handover_stage stage;
        unsigned stops, results;
        int has_archive;
    } told[4];
    unsigned told_count;
    int waits_for_devices;
    unsigned devices_after; /* questions */
};

static inline void enqueue(struct peers *p, unsigned peer, uint16_t type, const void *payload, size_t length)
{
    struct message *message = &p->queue[p->tail++ % QUEUE];
    assert_true(p->tail - p->head <= QUEUE);
    atoll_buffer_fini(&message->frame);
    message->peer = peer;
    atoll_buffer_init(&message->frame, 1 << 20);
    assert_int_equal(atoll_frame_encode(&message->frame, type, payload, length, NULL), 0);
}

static inline void enqueue_pulse(struct peers *p, unsigned peer)
{
    struct atoll_pulse pulse = {.uptime_ns = 1e9, .occupied_ns = 5e8, .candidate_ns = 2e8};
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1 << 16);
    atoll_pulse_encode(&pulse, &payload);
    enqueue(p, peer, ATOLL_MSG_HEARTBEAT, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static inline void enqueue_request(struct peers *p, unsigned peer, uint32_t wanted)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 64);
    atoll_buffer_put_u32(&payload, wanted);
    enqueue(p, peer, ATOLL_MSG_REQUEST, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static inline void enqueue_failed(struct peers *p, unsigned peer)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1024);
    atoll_buffer_put_u32(&payload, ATOLL_E_MISSING);
    atoll_buffer_put_text(&payload, "no compiler here; install one");
    enqueue(p, peer, ATOLL_MSG_FAILED, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static inline void enqueue_place(struct peers *p, unsigned peer, enum atoll_surplus surplus)
{
    struct atoll_evaluator_location place = {
        .surplus = surplus, .core_count = 4, .slots = surplus ? 0 : 2, .cores = "0-3"};
    struct atoll_buffer payload;
    snprintf(place.node, sizeof(place.node), "n%u", peer / 2);
    snprintf(place.note, sizeof(place.note), "%s", surplus ? "the device is another's" : "");
    atoll_buffer_init(&payload, 1 << 16);
    atoll_evaluator_location_encode(&place, &payload);
    enqueue(p, peer, ATOLL_MSG_PLACE, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

/* Cumulative: a second more of checks for the task of an order (4: of none); the rest of the peer's time was idle. */
static inline void enqueue_times(struct peers *p, unsigned peer, uint32_t task)
{
    struct atoll_task_time times[5] = {{.task = 0}};
    struct atoll_time_report report = {1 + peer, times, 0};
    struct atoll_buffer payload;
    double busy_s = 0;
    p->now_ns += task < 4 ? 1e9 : 0;
    if (task < 4)
        p->checks_s[peer][task] += 1;
    for (uint32_t i = 0; i < 4; i++) {
        busy_s += p->checks_s[peer][i];
        if (p->checks_s[peer][i] > 0) {
            times[report.count].task = i;
            times[report.count++].time.ns[ATOLL_TIME_CHECKS] = 1e9 * p->checks_s[peer][i];
        }
    }
    times[report.count].task = ATOLL_TIME_OF_NO_TASK;
    times[report.count++].time.ns[ATOLL_TIME_IDLE] = p->now_ns - 1e9 * busy_s;
    atoll_buffer_init(&payload, 1 << 16);
    atoll_time_report_encode(&report, &payload);
    enqueue(p, peer, ATOLL_MSG_DEVICE_TIME, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static inline int is_surplus(const struct peers *p, unsigned peer)
{
    return p->mischief == SURPLUS_ALL || (p->mischief == SURPLUS && peer == 1 && !p->is_lost[0]);
}

static inline void on_setup(struct peers *p, unsigned peer)
{
    struct atoll_device_info device;
    struct atoll_buffer payload;
    p->has_setup[peer] = 1;
    p->task_count = 0; /* they follow */
    if (p->mischief == FAILS) {
        enqueue_failed(p, peer);
        return;
    }
    p->setups[peer]++;
    enqueue_place(p, peer, is_surplus(p, peer) ? ATOLL_SURPLUS_BUSY : ATOLL_SURPLUS_NONE);
    if (is_surplus(p, peer))
        return;
    if (p->mischief == GREEDY)
        enqueue_request(p, peer, 2); /* before HELLO: refused */
    atoll_synthetic_device(&device);
    if (p->mischief == TIMES) {
        device.key = 100 + peer;
        enqueue_times(p, peer, 4);
    }
    if (peer == 0 && (p->mischief == UNLIKE || p->mischief == UNLIKE_LOST))
        snprintf(device.model, sizeof(device.model), "another device");
    if (peer == 0 && (p->mischief == RIVALS || p->mischief == RIVALS_LOST))
        snprintf(device.torch, sizeof(device.torch), "torch 2.11.0");
    atoll_buffer_init(&payload, 1 << 16);
    atoll_device_info_encode(&device, &payload);
    enqueue(p, peer, ATOLL_MSG_HELLO, payload.data, payload.length);
    atoll_buffer_fini(&payload);
    if (p->mischief == GREEDY)
        enqueue_request(p, peer, 1u << 30);
    enqueue_request(p, peer, 2);
}

static inline void on_task(struct peers *p, const struct atoll_frame *frame)
{
    struct atoll_reader reader;
    size_t length;
    atoll_reader_init(&reader, frame->payload, frame->length);
    uint32_t number = atoll_reader_u32(&reader);
    const void *bytes = atoll_reader_blob(&reader, &length);
    assert_int_equal(atoll_reader_finish(&reader, "task", NULL), 0);
    assert_true(number < 4);
    if (!p->tasks[number])
        p->tasks[number] = atoll_task_decode(bytes, length, NULL);
    assert_non_null(p->tasks[number]);
    p->task_count++;
}

/* A lost peer keeps what it had; LATE sends it when somebody else has answered. */
static inline int lose_order(struct peers *p, unsigned peer)
{
    static const unsigned char restarts = ATOLL_PEER_RESTARTS, gone = ATOLL_PEER_GONE;
    unsigned victim = p->mischief == UNLIKE_LOST || p->mischief == SURPLUS ? 0 : 1;
    int is_final = p->mischief == LOST_FOR_GOOD || p->mischief == UNLIKE_LOST || p->mischief == SURPLUS;
    int may = is_final || p->mischief == LOST_ONCE || p->mischief == LATE;
    if (!may || peer != victim || p->orders[victim] != 5 || p->is_lost[victim])
        return 0;
    p->is_lost[victim] = 1;
    p->has_setup[victim] = 0;
    enqueue(p, victim, ATOLL_MSG_PEER_LOST, is_final ? &gone : &restarts, 1);
    if (!is_final)
        enqueue_pulse(p, victim); /* the new process */
    return p->mischief != LATE;
}

/* 1: the peer is gone with it. */
static inline int lose_rival(struct peers *p, unsigned peer)
{
    static const unsigned char restarts = ATOLL_PEER_RESTARTS;
    assert_int_equal(peer, 0);
    if (p->rivals++ || p->mischief != RIVALS_LOST)
        return 0;
    p->has_setup[0] = 0;
    enqueue(p, 0, ATOLL_MSG_PEER_LOST, &restarts, 1);
    enqueue_pulse(p, 0);
    return 1;
}

static inline void enqueue_rival(struct peers *p, unsigned peer, const struct atoll_order *order)
{
    struct atoll_buffer payload;
    struct atoll_rival rival;
    if (lose_rival(p, peer))
        return;
    atoll_buffer_init(&payload, 1 << 20);
    atoll_rival_init(&rival);
    assert_int_equal(atoll_synthetic_rival(p->tasks[order->task], order, &rival, NULL), 0);
    rival.number += p->mischief == RIVALS && p->rivals == 1;
    atoll_rival_encode(&rival, &payload);
    enqueue(p, peer, ATOLL_MSG_RIVALLED, payload.data, payload.length);
    atoll_rival_fini(&rival);
    atoll_buffer_fini(&payload);
}

static inline void enqueue_result(struct peers *p, unsigned peer, const struct atoll_order *order)
{
    struct atoll_buffer payload;
    struct atoll_evaluation evaluation;
    struct atoll_duel duel;
    atoll_buffer_init(&payload, 1 << 20);
    atoll_evaluation_init(&evaluation);
    if (order->kind == ATOLL_ORDER_DUEL) {
        atoll_synthetic_duel(order, &duel);
        duel.ratio_lo = 0.75 * duel.ratio;
        duel.ratio_hi = 1.5 * duel.ratio;
        atoll_duel_encode(&duel, &payload);
    } else {
        assert_int_equal(atoll_synthetic_evaluate(p->tasks[order->task], order, &evaluation, NULL), 0);
        if (p->mischief == OTHER_RESULTS && peer == 1)
            evaluation.candidate.bytes[0] ^= 1;
        atoll_evaluation_encode(&evaluation, &payload);
    }
    uint16_t type = order->kind == ATOLL_ORDER_DUEL ? ATOLL_MSG_DUELLED : ATOLL_MSG_EVALUATED;
    p->answered_ns = peer == 1 ? p->now_ns : p->answered_ns;
    if (p->mischief == TIMES)
        enqueue_times(p, peer, order->task);
    for (int i = 0; i < (p->mischief == DUPLICATES ? 2 : 1); i++)
        enqueue(p, peer, type, payload.data, payload.length);
    atoll_evaluation_fini(&evaluation);
    atoll_buffer_fini(&payload);
    p->results++;
    if (p->asks_after && p->results >= p->asks_after)
        p->asked = 1;
}

/* A model never gets a candidate twice; what the other one got is its own affair. */
static inline void see(struct peers *p, unsigned peer, const struct atoll_order *order)
{
    unsigned group = peer > 0;
    assert_true(order->purpose != ATOLL_DUEL_RIVAL || peer == 0); /* who has torch */
    if (p->mischief != UNLIKE || order->kind == ATOLL_ORDER_DUEL)
        return;
    for (unsigned i = 0; i < p->seen_count[group]; i++)
        assert_false(atoll_id_equal(&p->seen[group][i], &order->candidate.id));
    assert_true(p->seen_count[group] < QUEUE);
    p->seen[group][p->seen_count[group]++] = order->candidate.id;
}

/* Candidates that both models evaluated: at least the seeds of every task. */
static inline unsigned seen_by_both(const struct peers *p)
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->seen_count[0]; i++)
        for (unsigned k = 0; k < p->seen_count[1]; k++)
            count += atoll_id_equal(&p->seen[0][i], &p->seen[1][k]) ? 1 : 0;
    return count;
}

static inline void on_order(struct peers *p, unsigned peer, const struct atoll_frame *frame)
{
    struct atoll_arena *arena = atoll_arena_create(1 << 20, NULL);
    struct atoll_order order;
    assert_int_equal(atoll_order_decode(frame->payload, frame->length, arena, &order, NULL), 0);
    if (((p->mischief == UNLIKE_LOST || p->mischief == SURPLUS) && p->is_lost[peer]) ||
        (p->mischief == RIVALS_LOST &&
         !p->has_setup[peer])) { /* sent before its end was known: nobody reads it */
        atoll_arena_destroy(arena);
        return;
    }
    assert_true(p->has_setup[peer]);
    p->orders[peer]++;
    for (size_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++)
        p->bars += order.bars_ns[v] > 0;
    see(p, peer, &order);
    if (p->mischief == HANGS && peer == 1 && p->orders[1] > 5)
        p->is_lost[1] = 1;
    else if (p->mischief == FAILS_LATER && p->results >= 20) {
        enqueue_failed(p, peer);
    } else if (p->mischief == GARBAGE_FLOOD && peer == 1) {
        for (int i = 0; i < 40; i++)
            enqueue(p, peer, ATOLL_MSG_EVALUATED, "garbage", 7);
    } else if (order.kind == ATOLL_ORDER_RIVAL) {
        enqueue_rival(p, peer, &order);
    } else if (!lose_order(p, peer)) {
        if (p->mischief == GARBAGE && p->orders[peer] <= 5)
            enqueue(p, peer, ATOLL_MSG_EVALUATED, "garbage", 7);
        if (p->mischief == UNKNOWN_TYPES && p->orders[peer] <= 5)
            enqueue(p, peer, 999, "", 0);
        enqueue_result(p, peer, &order);
    }
    atoll_arena_destroy(arena);
}

static inline int fake_send(void *context, unsigned peer, const void *bytes, size_t length,
                            struct atoll_err *err)
{
    struct peers *p = context;
    struct atoll_frame frame;
    size_t consumed;
    assert_int_equal(atoll_frame_decode(bytes, length, &frame, &consumed, NULL), 1);
    assert_int_equal(consumed, length);
    if (frame.type == ATOLL_MSG_SETUP)
        on_setup(p, peer);
    else if (frame.type == ATOLL_MSG_TASK)
        on_task(p, &frame);
    else if (frame.type == ATOLL_MSG_EVALUATE || frame.type == ATOLL_MSG_DUEL ||
             frame.type == ATOLL_MSG_RIVAL)
        on_order(p, peer, &frame);
    p->stops += frame.type == ATOLL_MSG_STOP;
    return 0;
}

static inline int fake_receive(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame)
{
    struct peers *p = context;
    size_t consumed;
    if (p->head == p->tail || (p->mischief == SLOW && p->head == p->visible))
        return 0;
    const struct message *message = &p->queue[p->head++ % QUEUE];
    assert_int_equal(
        atoll_frame_decode(message->frame.data, message->frame.length, ret_frame, &consumed, NULL), 1);
    *ret_peer = message->peer;
    return 1;
}

/* Nobody has anything to say: time passes.  What hangs still lives. */
/* Where something lasts. */
static inline int has_own_clock(const struct peers *p)
{
    return p->mischief == HANGS || p->mischief == UNLIKE_LOST || p->mischief == SLOW || p->mischief == TIMES;
}

static inline void fake_wait(void *context, struct pollfd *others, size_t other_count, int timeout_ms)
{
    struct peers *p = context;
    if (!has_own_clock(p) || (p->mischief != SLOW && p->head != p->tail))
        return;
    p->now_ns += WAIT_STEP_NS;
    if (p->mischief == SLOW) {
        unsigned come = p->frozen_ns > 0 && p->now_ns > p->frozen_ns ? 0 : p->tail - p->visible;
        p->visible += come < 2 ? come : 2;
        return;
    }
    for (unsigned i = 0; i < PEERS; i++)
        if (p->mischief == HANGS ? i != 1 || p->dropped_ns <= 0 : !p->is_lost[i])
            enqueue_pulse(p, i);
}

static inline double fake_now(void *context)
{
    return ((struct peers *)context)->now_ns;
}

static inline size_t fake_pollfds(void *context, struct pollfd *ret_fds, size_t limit)
{
    return 0;
}

static inline void fake_drop(void *context, unsigned peer)
{
    struct peers *p = context;
    if (peer == 1 && p->dropped_ns <= 0)
        p->dropped_ns = p->now_ns;
}

static inline size_t fake_waiting(void *context)
{
    return 0;
}

static inline struct peers *peers_create(enum mischief mischief)
{
    struct peers *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->mischief = mischief;
    for (unsigned i = 0; i < PEERS; i++)
        enqueue_pulse(p, i);
    return p;
}

static inline void peers_destroy(struct peers *p)
{
    for (unsigned i = 0; i < QUEUE; i++)
        atoll_buffer_fini(&p->queue[i].frame);
    for (unsigned i = 0; i < 4; i++)
        atoll_task_destroy(p->tasks[i]);
    free(p);
}

#endif
