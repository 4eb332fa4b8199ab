/* Whole campaigns against evaluators made of this file: struct peers answers orders as the null backend does,
 * and misbehaves as a case asks. */
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

static void enqueue(struct peers *p, unsigned peer, uint16_t type, const void *payload, size_t length)
{
    struct message *message = &p->queue[p->tail++ % QUEUE];
    assert_true(p->tail - p->head <= QUEUE);
    atoll_buffer_fini(&message->frame);
    message->peer = peer;
    atoll_buffer_init(&message->frame, 1 << 20);
    assert_int_equal(atoll_frame_encode(&message->frame, type, payload, length, NULL), 0);
}

static void enqueue_pulse(struct peers *p, unsigned peer)
{
    struct atoll_pulse pulse = {.uptime_ns = 1e9, .occupied_ns = 5e8, .candidate_ns = 2e8};
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1 << 16);
    atoll_pulse_encode(&pulse, &payload);
    enqueue(p, peer, ATOLL_MSG_HEARTBEAT, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static void enqueue_request(struct peers *p, unsigned peer, uint32_t wanted)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 64);
    atoll_buffer_put_u32(&payload, wanted);
    enqueue(p, peer, ATOLL_MSG_REQUEST, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static void enqueue_failed(struct peers *p, unsigned peer)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1024);
    atoll_buffer_put_u32(&payload, ATOLL_E_MISSING);
    atoll_buffer_put_text(&payload, "no compiler here; install one");
    enqueue(p, peer, ATOLL_MSG_FAILED, payload.data, payload.length);
    atoll_buffer_fini(&payload);
}

static void enqueue_place(struct peers *p, unsigned peer, enum atoll_surplus surplus)
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
static void enqueue_times(struct peers *p, unsigned peer, uint32_t task)
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

static int is_surplus(const struct peers *p, unsigned peer)
{
    return p->mischief == SURPLUS_ALL || (p->mischief == SURPLUS && peer == 1 && !p->is_lost[0]);
}

static void on_setup(struct peers *p, unsigned peer)
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

static void on_task(struct peers *p, const struct atoll_frame *frame)
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
static int lose_order(struct peers *p, unsigned peer)
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
static int lose_rival(struct peers *p, unsigned peer)
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

static void enqueue_rival(struct peers *p, unsigned peer, const struct atoll_order *order)
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

static void enqueue_result(struct peers *p, unsigned peer, const struct atoll_order *order)
{
    struct atoll_buffer payload;
    struct atoll_evaluation evaluation;
    struct atoll_duel duel;
    atoll_buffer_init(&payload, 1 << 20);
    atoll_evaluation_init(&evaluation);
    if (order->kind == ATOLL_ORDER_DUEL) {
        atoll_synthetic_duel(order, &duel);
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
static void see(struct peers *p, unsigned peer, const struct atoll_order *order)
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
static unsigned seen_by_both(const struct peers *p)
{
    unsigned count = 0;
    for (unsigned i = 0; i < p->seen_count[0]; i++)
        for (unsigned k = 0; k < p->seen_count[1]; k++)
            count += atoll_id_equal(&p->seen[0][i], &p->seen[1][k]) ? 1 : 0;
    return count;
}

static void on_order(struct peers *p, unsigned peer, const struct atoll_frame *frame)
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

static int fake_send(void *context, unsigned peer, const void *bytes, size_t length, struct atoll_err *err)
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

static int fake_receive(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame)
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
static int has_own_clock(const struct peers *p)
{
    return p->mischief == HANGS || p->mischief == UNLIKE_LOST || p->mischief == SLOW || p->mischief == TIMES;
}

static void fake_wait(void *context, struct pollfd *others, size_t other_count, int timeout_ms)
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

static double fake_now(void *context)
{
    return ((struct peers *)context)->now_ns;
}

static size_t fake_pollfds(void *context, struct pollfd *ret_fds, size_t limit)
{
    return 0;
}

static void fake_drop(void *context, unsigned peer)
{
    struct peers *p = context;
    if (peer == 1 && p->dropped_ns <= 0)
        p->dropped_ns = p->now_ns;
}

static size_t fake_waiting(void *context)
{
    return 0;
}

static struct peers *peers_create(enum mischief mischief)
{
    struct peers *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->mischief = mischief;
    for (unsigned i = 0; i < PEERS; i++)
        enqueue_pulse(p, i);
    return p;
}

static void peers_destroy(struct peers *p)
{
    for (unsigned i = 0; i < QUEUE; i++)
        atoll_buffer_fini(&p->queue[i].frame);
    for (unsigned i = 0; i < 4; i++)
        atoll_task_destroy(p->tasks[i]);
    free(p);
}

/* ---- campaigns ---- */

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static int dir_make(void **state)
{
    static char dir[] = ATOLL_BUILD_DIR "/tests/coordinator.XXXXXX";
    static char path[sizeof(dir)];
    memcpy(path, dir, sizeof(dir));
    *state = mkdtemp(path);
    return *state ? 0 : -1;
}

static int dir_remove(void **state)
{
    return nftw(*state, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(void **state, const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", (const char *)*state, name);
    return path;
}

static void campaign_make_with(void **state, const struct atoll_search *search)
{
    static const char *const names[] = {"softmax_rows", "transpose"};
    static char dirs[2][512];
    struct atoll_campaign_task told[2];
    struct atoll_task *tasks[2];
    struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION, .task_count = 2, .tasks = told};
    for (int i = 0; i < 2; i++) {
        snprintf(dirs[i], sizeof(dirs[i]), "%s/suites/starter/%s", ATOLL_SOURCE_DIR, names[i]);
        tasks[i] = atoll_task_load(dirs[i], NULL);
        assert_non_null(tasks[i]);
        told[i] = (struct atoll_campaign_task){tasks[i]->name, dirs[i], tasks[i]->id};
    }
    snprintf(config.atoll_version, sizeof(config.atoll_version), "%s", ATOLL_VERSION);
    config.id = atoll_id_of("test", 4);
    config.search = *search;
    struct atoll_campaign *campaign = atoll_campaign_create(path_of(state, "c"), &config, NULL, NULL);
    assert_non_null(campaign);
    atoll_campaign_close(campaign);
    atoll_task_destroy(tasks[0]);
    atoll_task_destroy(tasks[1]);
}

static struct atoll_search search_of(void)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    search.seed = 7;
    search.evaluation_budget = BUDGET;
    return search;
}

static void campaign_make(void **state)
{
    struct atoll_search search = search_of();
    campaign_make_with(state, &search);
}

static void fake_stage(void *context, enum atoll_handover_stage stage)
{
    struct peers *p = context;
    assert_true(p->told_count < 4);
    p->told[p->told_count++] =
        (struct told){stage, p->stops, p->results, access(path_of(p->state, "c/archive.h5"), F_OK) == 0};
}

/* Evaluators were told to stop, and the attempt's archive is not there yet. */
static void fake_life(void *context)
{
    struct peers *p = context;
    assert_true(p->stops > 0);
    if (p->lives++ == 0 && !p->had_archive)
        assert_int_not_equal(access(path_of(p->state, "c/archive.h5"), F_OK), 0);
}

static int fake_devices(void *context);

static int campaign_run_with(void **state, struct peers *p, sig_atomic_t interrupts,
                             struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct atoll_setup setup;
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, err);
    assert_non_null(campaign);
    assert_int_equal(atoll_campaign_lock(campaign, err), 0);
    assert_int_equal(atoll_setup_of_campaign(campaign, 1, &setup, err), 0);
    int progress = open(path_of(state, "progress"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    p->had_archive = access(path_of(state, "c/archive.h5"), F_OK) == 0;
    const struct atoll_coordinator_settings settings = {
        .peers = {p, PEERS, 0, fake_send, fake_receive, fake_wait, fake_pollfds, fake_drop, fake_waiting},
        .campaign = campaign,
        .setup = &setup,
        .job = "test",
        .ack_log = path_of(state, "acks"),
        .progress_fd = progress,
        .heartbeat_timeout_ns = p->mischief == HANGS ? 15e9 : 1e12,
        .now_ns = has_own_clock(p) ? fake_now : NULL,
        .interrupts = &p->asked,
        .drains_on_interrupt = p->drains,
        .until_ns = p->until_ns,
        .is_to_finish = p->finishes,
        .extension = p->extension,
        .on_stage = fake_stage,
        .on_life = fake_life,
        .has_devices = p->waits_for_devices ? fake_devices : NULL,
        .stage_context = p};
    p->state = state;
    p->asked = interrupts;
    int rc = atoll_coordinator_run(&settings, ret_result, err);
    close(progress);
    atoll_campaign_close(campaign);
    return rc;
}

static int campaign_run(void **state, enum mischief mischief, sig_atomic_t interrupts,
                        struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct peers *p = peers_create(mischief);
    int rc = campaign_run_with(state, p, interrupts, ret_result, err);
    peers_destroy(p);
    return rc;
}

/* Each evaluation number at most once; returns how many. */
static unsigned acks_count(void **state)
{
    static unsigned char seen[100000];
    FILE *file = fopen(path_of(state, "acks"), "r");
    unsigned count = 0, number;
    memset(seen, 0, sizeof(seen));
    while (file && fscanf(file, "%u", &number) == 1) {
        assert_true(number < sizeof(seen));
        assert_int_equal(seen[number], 0);
        seen[number] = 1;
        count++;
    }
    if (file)
        fclose(file);
    return count;
}

/* progress.json and the journal say together what the journals alone say: every result that was acknowledged. */
static void progress_check(void **state, enum atoll_campaign_progress_phase phase)
{
    struct atoll_campaign_progress with, without;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_campaign_progress_read(path_of(state, "c"), &with, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(with.phase, phase);
    assert_int_equal(with.evaluated + with.duelled, acks_count(state));
    assert_true(with.has_hint);
    assert_string_equal(with.hint.attempt, with.attempt);
    assert_int_equal(with.hint.is_stopped, phase == ATOLL_CAMPAIGN_PROGRESS_ENDED);
    assert_int_equal(unlink(path_of(state, "c/" ATOLL_CAMPAIGN_PROGRESS_FILE)), 0);
    assert_int_equal(atoll_campaign_progress_read(path_of(state, "c"), &without, &err), 0);
    assert_int_equal(without.phase, phase);
    assert_int_equal(without.evaluated, with.evaluated);
    assert_int_equal(without.duelled, with.duelled);
    if (phase == ATOLL_CAMPAIGN_PROGRESS_ENDED)
        assert_true(with.walked_bytes < without.walked_bytes / 2);
    atoll_campaign_progress_fini(&with);
    atoll_campaign_progress_fini(&without);
}

static void replay_check(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    struct atoll_id digest;
    if (atoll_replay(path_of(state, "c"), NULL, NULL, &report, NULL, &digest, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(report.event_count, report.decided_count);
    assert_int_equal(report.ending, ATOLL_JOURNAL_CLOSED);
    progress_check(state, strcmp(report.reason, ATOLL_CLOSE_DRAINED) == 0 ? ATOLL_CAMPAIGN_PROGRESS_OPEN
                                                                          : ATOLL_CAMPAIGN_PROGRESS_ENDED);
}

static void test_campaigns(void **state)
{
    static const struct {
        enum mischief mischief;
        unsigned min_ignored, min_bad, min_lost;
    } cases[] = {
        {HONEST, 0, 0, 0},         {DUPLICATES, 50, 0, 0},   {GARBAGE, 0, 15, 0},  {GARBAGE_FLOOD, 0, 16, 1},
        {UNKNOWN_TYPES, 0, 15, 0}, {OTHER_RESULTS, 0, 1, 0}, {LOST_ONCE, 0, 0, 1}, {LOST_FOR_GOOD, 0, 0, 1},
        {LATE, 0, 0, 1},           {GREEDY, 0, 6, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        campaign_make(state);
        if (campaign_run(state, cases[i].mischief, 0, &result, &err) != 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_true(result.is_finished && !result.was_finished);
        assert_true(result.evaluated >= BUDGET);
        assert_int_equal(acks_count(state), result.evaluated + result.duelled);
        assert_true(result.ignored >= cases[i].min_ignored);
        assert_true(result.bad_messages >= cases[i].min_bad);
        assert_true(result.peers_lost >= cases[i].min_lost);
        if (cases[i].mischief == HONEST)
            assert_true(result.ignored == 0 && result.bad_messages == 0 && result.peers_lost == 0);
        replay_check(state);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Each model has a population of its own: both measure the seeds, in one campaign and one journal. */
static void test_models_are_kept_apart(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(UNLIKE);
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished);
    assert_true(p->orders[0] > 4 && p->orders[1] > 4);
    assert_true(seen_by_both(p) >= 2);
    assert_int_equal(acks_count(state), result.evaluated + result.duelled);
    replay_check(state);
    peers_destroy(p);
}

/* What only a lost device could have measured is given up; the rest comes to its end. */
static void test_a_model_is_lost(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    if (campaign_run(state, UNLIKE_LOST, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished);
    assert_int_equal(result.peers_lost, 1);
    replay_check(state);
}

/* Rivals go to the one evaluator with torch, whatever happens to it; what was answered is journaled before it is acknowledged,
 * and a replay derives every order of one again. */
static void test_rivals(void **state)
{
    static const enum mischief cases[] = {RIVALS, RIVALS_LOST};
    for (size_t i = 0; i < 2; i++) {
        struct atoll_coordinator_result result;
        struct atoll_replay_report report;
        struct atoll_replayed replayed;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct peers *p = peers_create(cases[i]);
        campaign_make(state);
        if (campaign_run_with(state, p, 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.is_finished);
        assert_int_equal(result.bad_messages, cases[i] == RIVALS);
        assert_int_equal(result.peers_lost, cases[i] == RIVALS_LOST);
        size_t rivals = 0;
        for (unsigned t = 0; t < 2; t++)
            rivals += p->tasks[t]->rival_count;
        assert_true(rivals > 2 && p->rivals == rivals + 1); /* the first had to be sent twice */
        assert_true(p->bars > 0);
        assert_int_equal(acks_count(state), result.evaluated + result.duelled + rivals);
        if (atoll_replay(path_of(state, "c"), NULL, NULL, &report, NULL, NULL, &err) != 0)
            fail_msg("%s", err.text);
        struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
        assert_int_equal(atoll_replay_latest(campaign, &replayed, &err), 0);
        for (uint32_t t = 0; t < 2; t++) {
            struct atoll_task_status s;
            assert_int_equal(atoll_engine_task_status(replayed.engine, t, 0, &s), 0);
            assert_true(s.rival_ns > 0 && s.rival_ratio > 0 && s.rival + 1 == p->tasks[t]->rival_count);
        }
        atoll_replayed_fini(&replayed);
        atoll_campaign_close(campaign);
        peers_destroy(p);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Nobody answers asks: the tuner does what they were for, whatever the strategy, and the campaign ends. */
static void test_asks_without_an_operator(void **state)
{
    for (uint32_t strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_search search = search_of();
        search.strategy = (enum atoll_strategy_kind)strategy;
        search.ask_share = 1;
        campaign_make_with(state, &search);
        if (campaign_run(state, HONEST, 0, &result, &err) != 0)
            fail_msg("strategy %u: %s", strategy, err.text);
        assert_true(result.is_finished);
        replay_check(state);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* A campaign that has ended goes on with more budget, whatever its strategy, and what was acknowledged is not done again. */
static void test_extended(void **state)
{
    for (uint32_t strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_search search = search_of();
        const struct atoll_extension by = {.evaluations = 15};
        uint64_t evaluated = 0;
        search.strategy = (enum atoll_strategy_kind)strategy;
        search.stagnation_limit = 0;
        campaign_make_with(state, &search);
        for (unsigned round = 0; round < 3; round++) {
            struct peers *p = peers_create(round == 1 ? DUPLICATES : HONEST);
            p->extension = round ? &by : NULL;
            if (campaign_run_with(state, p, 0, &result, &err) != 0)
                fail_msg("strategy %u, round %u: %s", strategy, round, err.text);
            assert_true(result.is_finished && !result.was_finished);
            if (strategy != ATOLL_STRATEGY_STAGED) /* which may have nothing left to do */
                assert_true(result.evaluated >= (round ? 15 : BUDGET));
            evaluated += result.evaluated + result.duelled;
            assert_int_equal(acks_count(state), evaluated);
            replay_check(state);
            peers_destroy(p);
        }
        if (campaign_run(state, HONEST, 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.was_finished);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* What is told to finish makes its finals and ends, with all of its budget left. */
static void test_finished_by_wish(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    struct peers *p = peers_create(HONEST);
    p->drains = 1;
    assert_int_equal(campaign_run_with(state, p, 1, &result, &err), 0);
    assert_true(result.is_drained);
    peers_destroy(p);
    p = peers_create(HONEST);
    p->finishes = 1;
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished && result.evaluated < BUDGET);
    replay_check(state);
    peers_destroy(p);
}

/* The last comparisons are told of while they go on; that the devices are free, when everybody was sent away and before the files
 * are made. */
static void test_stages_are_told(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(HONEST);
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_finished);
    assert_int_equal(p->told_count, 3);
    assert_true(p->lives > 0); /* whoever waits for the files hears of them */
    assert_int_equal(p->told[0].stage, ATOLL_HANDOVER_ENDING);
    assert_true(p->told[0].results >= BUDGET && p->told[0].results <= p->results);
    assert_int_equal(p->told[0].stops, 0);
    assert_int_equal(p->told[1].stage, ATOLL_HANDOVER_STOPPED);
    assert_int_equal(p->told[1].results, p->results);
    assert_int_equal(p->told[1].stops, 0);
    assert_int_equal(p->told[2].stage, ATOLL_HANDOVER_RELEASED);
    assert_int_equal(p->told[2].stops, PEERS);
    assert_false(p->told[2].has_archive);
    assert_int_equal(access(path_of(state, "c/archive.h5"), F_OK), 0);
    p->told_count = 0;
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.was_finished);
    assert_int_equal(p->told_count, 0);
    peers_destroy(p);
}

static int fake_devices(void *context)
{
    struct peers *p = context;
    if (p->devices_after > 0) {
        for (unsigned i = 0; i < PEERS; i++)
            assert_int_equal(p->setups[i], 0);
        enqueue_pulse(p, p->devices_after % PEERS);
        return --p->devices_after == 0;
    }
    return 1;
}

/* Nobody is sent anything before the devices are free, and then everybody who was heard is. */
static void test_devices_that_are_not_free_yet(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(HONEST);
    p->devices_after = 10;
    p->waits_for_devices = 1;
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_finished);
    assert_int_equal(p->devices_after, 0);
    for (unsigned i = 0; i < PEERS; i++)
        assert_int_equal(p->setups[i], 1);
    replay_check(state);
    peers_destroy(p);
}

/* A run that is drained has no time to wait for anybody, and nothing to hand over. */
static void test_a_drained_run_tells_nothing(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(HONEST);
    p->drains = 1;
    p->asks_after = 20;
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_drained);
    assert_int_equal(p->told_count, 0);
    peers_destroy(p);
}

static void test_all_evaluators_fail(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    assert_int_equal(campaign_run(state, FAILS, 0, &result, &err), -1);
    assert_int_equal(err.code, ATOLL_E_MISSING);
    assert_string_equal(err.text, "no compiler here; install one");
}

static unsigned file_count(void **state, const char *name, const char *wanted)
{
    static char text[1 << 16];
    FILE *file = fopen(path_of(state, name), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    unsigned count = 0;
    for (const char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted))
        count++;
    return count;
}

/* Two ranks of node n0 share a device: one works, one is idle and takes over when the other has gone for good. */
static void test_surplus_takes_over(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(SURPLUS);
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished);
    assert_int_equal(result.peers_lost, 1);
    assert_int_equal(p->setups[1], 2);
    assert_true(p->orders[1] > 0);
    assert_int_equal(acks_count(state), result.evaluated + result.duelled);
    assert_int_equal(file_count(state, "c/jobs/test.0/ranks.json", "\"state\":\"ready\""), 2);
    assert_int_equal(file_count(state, "c/jobs/test.0/ranks.json", "\"state\":\"lost\""), 1);
    replay_check(state);
    peers_destroy(p);
}

static void test_all_are_surplus(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    assert_int_equal(campaign_run(state, SURPLUS_ALL, 0, &result, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_string_equal(err.text, "the device is another's");
    assert_int_equal(file_count(state, "c/jobs/test.0/ranks.json", "\"state\":\"surplus\""), PEERS);
}

static void test_resume_until_finished(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned acks = 0;
    campaign_make(state);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(campaign_run(state, FAILS_LATER, 0, &result, &err), -1);
        assert_true(acks_count(state) > acks);
        progress_check(state, ATOLL_CAMPAIGN_PROGRESS_OPEN);
        acks = acks_count(state);
        atoll_err_clear(&err);
    }
    if (campaign_run(state, HONEST, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.evaluated < BUDGET);
    assert_int_equal(acks_count(state), acks + result.evaluated + result.duelled);
    replay_check(state);
    assert_int_equal(campaign_run(state, HONEST, 0, &result, &err), 0);
    assert_true(result.was_finished);
    assert_int_equal(result.evaluated, 0);
}

/* A peer that has orders and sends heartbeats but no result is given up after ten minutes; one that waits for
 * orders is not, however long. */
static void test_hanging_peer(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(HANGS);
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(p->is_lost[1]);
    assert_true(p->dropped_ns > p->answered_ns + 600e9);
    assert_true(p->dropped_ns <= p->answered_ns + 600e9 + 2 * WAIT_STEP_NS);
    assert_int_equal(result.peers_lost, 1);
    assert_true(result.evaluated >= BUDGET);
    replay_check(state);
    peers_destroy(p);
}

static void test_orderly_end(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    assert_int_equal(campaign_run(state, HONEST, 1, &result, &err), 0);
    assert_true(result.is_finished);
    assert_true(result.evaluated < BUDGET);
    replay_check(state);
}

static void check_closed(void **state, const char *reason)
{
    struct atoll_replay_report report;
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
    assert_int_equal(atoll_campaign_replay(campaign, NULL, NULL, &report, NULL), 0);
    assert_int_equal(report.ending, ATOLL_JOURNAL_CLOSED);
    assert_string_equal(report.reason, reason);
    assert_true(atoll_resume_last_archive_ns(campaign) > 0);
    atoll_campaign_close(campaign);
}

/* What is left of the search after a drained run. */
static void finish_and_check(void **state, uint64_t evaluated)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    replay_check(state);
    if (campaign_run(state, HONEST, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished && !result.is_drained);
    assert_true(evaluated + result.evaluated >= BUDGET);
    replay_check(state);
}

/* Nothing is sent any more, all that is under way comes back, and the search goes on in the next run. */
static void test_drained_by_a_signal(void **state)
{
    for (unsigned after = 0; after <= 40; after += 20) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct peers *p = peers_create(HONEST);
        p->drains = 1;
        p->asks_after = after;
        campaign_make(state);
        if (campaign_run_with(state, p, after == 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.is_drained && !result.is_finished);
        assert_true(result.evaluated + result.duelled >= after && result.evaluated < BUDGET);
        assert_int_equal(result.evaluated + result.duelled, p->results); /* none is lost */
        check_closed(state, "drained");
        finish_and_check(state, result.evaluated);
        peers_destroy(p);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Two results come every 12 s, of six orders under way: an order takes 36 s, closing 10 s.  Nothing is sent in the last 46 s, all that
 * is under way comes back, unless the peers hang: then what they have is left to the next run, and the end is in time still. */
static void test_drained_by_time(void **state)
{
    for (int hangs = 0; hangs < 2; hangs++) {
        struct atoll_coordinator_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct peers *p = peers_create(SLOW);
        p->until_ns = 220e9;
        p->frozen_ns = hangs ? 180e9 : 0;
        campaign_make(state);
        if (campaign_run_with(state, p, 0, &result, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(result.is_drained && !result.is_finished);
        assert_true(result.evaluated > 0 && result.evaluated < BUDGET);
        if (hangs)
            assert_true(result.evaluated + result.duelled < p->results && p->now_ns > 209e9);
        else
            assert_int_equal(result.evaluated + result.duelled, p->results);
        assert_true(p->now_ns > 160e9 && p->now_ns <= 220e9);
        check_closed(state, "drained");
        finish_and_check(state, result.evaluated);
        peers_destroy(p);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* Less time than an order may take: nothing is sent at all. */
static void test_no_time_at_all(void **state)
{
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(SLOW);
    p->until_ns = 35e9;
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    assert_true(result.is_drained);
    assert_int_equal(p->results, 0);
    assert_true(p->now_ns < 25e9);
    check_closed(state, "drained");
    finish_and_check(state, 0);
    peers_destroy(p);
}

/* A journal whose decisions are not what the engine decides: they are journaled under another event's number.
 */
static void test_replay_finds_the_difference(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_event event;
    struct atoll_decision lie = {.type = ATOLL_DECIDE_STOP, .reason = ATOLL_REASON_ASKED};
    campaign_make(state);
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
    assert_int_equal(atoll_campaign_lock(campaign, NULL), 0);
    struct atoll_journal *journal =
        atoll_campaign_start_attempt(campaign, "test", ATOLL_ENGINE_VERSION, 1, NULL, NULL);
    assert_non_null(journal);
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.search = atoll_campaign_config(campaign)->search;
    uint64_t number;
    assert_int_equal(atoll_journal_append_event(journal, &event, &number, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(journal, number, &lie, 1, NULL), 0);
    assert_int_equal(atoll_journal_sync(journal, NULL), 0);
    atoll_journal_destroy(journal);
    atoll_campaign_close(campaign);
    assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_MISMATCH);
    assert_non_null(strstr(err.text, "event 0"));
    struct atoll_coordinator_result result;
    assert_int_equal(campaign_run(state, HONEST, 0, &result, &err), -1);
    assert_int_equal(err.code, ATOLL_E_MISMATCH);
}

static void test_newer_engine(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    campaign_make(state);
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, NULL);
    assert_int_equal(atoll_campaign_lock(campaign, NULL), 0);
    struct atoll_journal *journal =
        atoll_campaign_start_attempt(campaign, "test", ATOLL_ENGINE_VERSION + 1, 1, NULL, NULL);
    assert_non_null(journal);
    atoll_journal_destroy(journal);
    atoll_campaign_close(campaign);
    assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_SCHEMA);
}

static int count_times(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                       struct atoll_err *err)
{
    (void)attempt;
    (void)err;
    *(unsigned *)context +=
        record->type == ATOLL_RECORD_EVENT && *(const uint8_t *)record->bytes == ATOLL_EVENT_DEVICE_TIME;
    return 0;
}

/* Of every device all of the attempt's time is in the archive, by part and task; the search does not look at it. */
static void test_device_times(void **state)
{
    struct atoll_coordinator_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct peers *p = peers_create(TIMES);
    unsigned events = 0;
    campaign_make(state);
    if (campaign_run_with(state, p, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(result.is_finished && result.bad_messages == 0);
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, &err);
    assert_non_null(campaign);
    assert_int_equal(atoll_campaign_replay(campaign, count_times, &events, NULL, NULL), 0);
    assert_in_range(events, 2 * PEERS, 12 * PEERS); /* every half minute, and at the end */
    struct atoll_projection *projection = atoll_projection_of_campaign(campaign, NULL, &err);
    assert_non_null(projection);
    const struct atoll_tables *tables = atoll_projection_tables(projection);
    struct atoll_row_campaign row;
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
    for (unsigned peer = 0; peer < PEERS; peer++) {
        double whole_ns = 0;
        for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_DEVICE_TIME); i++) {
            struct atoll_row_device_time time;
            atoll_tables_get(tables, ATOLL_TABLE_DEVICE_TIME, i, &time);
            assert_string_equal(atoll_tables_text(tables, time.job), "test.0");
            if (time.device != 100 + peer)
                continue;
            whole_ns += atoll_device_time_whole_ns(&time.time);
            if (time.task != ATOLL_TIME_OF_NO_TASK)
                expect_close(time.time.ns[ATOLL_TIME_CHECKS], 1e9 * p->checks_s[peer][time.task], 1e-12);
        }
        expect_close(whole_ns, (double)row.campaign_ns, 0.02);
    }
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), 0);
    peers_destroy(p);
}

static void test_progress_lines(void **state)
{
    struct atoll_coordinator_result result;
    char line[8192] = "";
    campaign_make(state);
    assert_int_equal(campaign_run(state, HONEST, 0, &result, NULL), 0);
    FILE *file = fopen(path_of(state, "progress"), "r");
    assert_non_null(file);
    char last[sizeof(line)] = "";
    while (fgets(line, sizeof(line), file))
        memcpy(last, line, sizeof(last));
    fclose(file);
    assert_non_null(strstr(last, "{\"type\":\"summary\""));
    assert_non_null(strstr(last, "\"stopped\":1"));
    assert_non_null(strstr(last, "\"name\":\"softmax_rows\""));
    assert_non_null(strstr(last, "]}\n"));
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_campaigns, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_models_are_kept_apart, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_a_model_is_lost, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_rivals, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_asks_without_an_operator, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_all_evaluators_fail, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_surplus_takes_over, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_all_are_surplus, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_resume_until_finished, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_hanging_peer, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_orderly_end, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_stages_are_told, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_devices_that_are_not_free_yet, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_a_drained_run_tells_nothing, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_drained_by_a_signal, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_extended, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_finished_by_wish, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_drained_by_time, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_no_time_at_all, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_replay_finds_the_difference, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_newer_engine, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_device_times, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_progress_lines, dir_make, dir_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
