/* coordinator.c - the loop of rank 0 (docs/spec/wire.md, docs/spec/journal.md).
 *
 * A round: take the frames that are there, turn them into events; one sync makes them durable; then they are
 * acknowledged, the engine sees them, what it decided becomes orders; orders go to whoever has room.
 *
 * Invariant: an evaluation number is journaled once. */
#include "mpi-eval/coordinator/coordinator.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive-h5/campaign/knowledge.h"
#include "archive-h5/hdf5/archive.h"
#include "base/log.h"
#include "core/knowledge/pack.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/coordinator/notice.h"
#include "mpi-eval/coordinator/progress.h"
#include "mpi-eval/coordinator/rank_map.h"
#include "mpi-eval/coordinator/peer_result.h"
#include "mpi-eval/coordinator/peer_table.h"
#include "mpi-eval/coordinator/dispatch.h"
#include "mpi-eval/coordinator/shutdown.h"
#include "mpi-eval/coordinator/time_ledger.h"
#include "mpi-eval/coordinator/resume.h"

#define TICK_NS      1e9
#define TIMES_NS     30e9 /* between two looks at where the devices' time goes, for the journal */
#define WAIT_MS      100
#define HELD_WAIT_MS 20
#define ROUND_FRAMES (ATOLL_COMMIT_ROUND_LIMIT - 8) /* the rest of a round is for events of our own */
#define NO_PEER      UINT32_MAX
#define ROUND_SPARE  2 /* events of a round that replies of language models leave free */

struct coordinator {
    const struct atoll_coordinator_settings *settings;
    struct atoll_coordinator_result result;
    struct atoll_campaign_clock clock;
    struct atoll_commit *commit;
    struct atoll_engine *engine; /* the commit's; NULL before the resume is done */
    struct atoll_dispatch *dispatch;
    struct atoll_peer_table *peers;
    struct atoll_time_ledger *times;
    struct atoll_llm_queue *llm_queue;
    struct atoll_knowledge_pack *knowledge; /* NULL: no model is asked */
    struct atoll_tools *tools;              /* NULL: no model is asked */
    struct {
        unsigned peer;
        uint64_t evaluation;
    } results[ATOLL_COMMIT_ROUND_LIMIT]; /* of this round, to be acknowledged when durable */
    size_t result_count;
    struct atoll_shutdown shutdown;
    struct atoll_rank_map rank_map;
    struct atoll_progress progress;
    struct atoll_notice notice;
    struct atoll_event capacity; /* the last CAPACITY */
    const char *attempt_dir;     /* borrowed from the campaign */
    int ack_fd, has_asked_for_end, has_told_end;
    int is_held;      /* the devices are another run's still */
    int is_disk_full; /* the round waits for space */
    int is_writing;   /* the last files; nothing else is left to do */
    double tick_ns, times_ns;
};

static double now_ns(const struct coordinator *c)
{
    return atoll_campaign_clock_now_ns(&c->clock);
}

static int is_search_over(const struct coordinator *c)
{
    struct atoll_engine_status status;
    atoll_engine_status(c->engine, &status);
    return status.stopped;
}

static int is_run_over(const struct coordinator *c)
{
    return is_search_over(c) ||
           atoll_shutdown_is_over(&c->shutdown, now_ns(c), atoll_dispatch_under_way_count(c->dispatch));
}

/* message: of ours, NULL = none. */
static void gather_facts(const struct coordinator *c, const char *message, struct atoll_progress_facts *facts)
{
    struct atoll_engine_status status;
    atoll_engine_status(c->engine, &status);
    *facts = (struct atoll_progress_facts){
        .engine = c->engine,
        .elapsed_ns = (double)atoll_campaign_clock_campaign_ns(&c->clock),
        .budget_ns = status.wall_budget_ns,
        .attempt_ns = now_ns(c) - c->clock.started_ns,
        .evaluators = atoll_peer_table_ready_count(c->peers),
        .is_disk_full = c->is_disk_full,
        .message = message,
        .has_model = c->settings->llm.gateway != NULL,
        .times = c->times,
    };
    atoll_llm_queue_count(c->llm_queue, &facts->asks);
    if (!atoll_time_ledger_shares(c->times, &facts->busy, &facts->candidate_share))
        atoll_peer_table_shares(c->peers, &facts->busy, &facts->candidate_share);
}

static void write_progress_if_due(struct coordinator *c, const char *message)
{
    struct atoll_progress_facts facts;
    double now = now_ns(c);
    int line_is_due = atoll_progress_line_is_due(&c->progress, now);
    int file_is_due = atoll_progress_file_is_due(&c->progress, now);
    if (line_is_due || file_is_due)
        gather_facts(c, message, &facts);
    if (line_is_due)
        atoll_progress_write_line(&c->progress, &facts, now, 0);
    if (file_is_due)
        atoll_progress_write_file(&c->progress, &facts, now);
}

static void check_notice(struct coordinator *c)
{
    struct atoll_engine_status status;
    atoll_engine_status(c->engine, &status);
    double left_ns = status.wall_budget_ns - (double)atoll_campaign_clock_campaign_ns(&c->clock);
    const struct atoll_notice_facts facts = {.engine = c->engine,
                                             .attempt_ns = now_ns(c) - c->clock.started_ns,
                                             .left_ns = left_ns > 0 ? left_ns : 0,
                                             .ready = atoll_peer_table_ready_count(c->peers),
                                             .evaluators = atoll_peer_table_count(c->peers),
                                             .under_way = status.under_way};
    if (!status.stopped)
        atoll_notice_check(&c->notice, &facts);
}

/* has_failed: then nothing is ours any more, or nothing can be written. */
static void write_summary(struct coordinator *c, int has_failed)
{
    struct atoll_progress_facts facts;
    gather_facts(c, NULL, &facts);
    atoll_progress_write_line(&c->progress, &facts, now_ns(c), 1);
    if (!has_failed)
        atoll_progress_write_file(&c->progress, &facts, now_ns(c));
}

/* ---- what peers send; every payload is hostile: what does not decode or does not fit is dropped and counted ---- */

static int on_hello(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                    struct atoll_err *err)
{
    struct atoll_device_info device;
    if (atoll_device_info_decode(frame->payload, frame->length, &device, err) != 0)
        return -1;
    atoll_peer_table_hello(c->peers, peer, &device);
    if (atoll_time_ledger_device(c->times, peer, &device, err) != 0)
        return -1;
    atoll_log(ATOLL_LOG_INFO, "eval.peer.hello", "evaluator %u: %s on %s, %u threads, %s", peer, device.model,
              device.node, device.threads, device.toolchain);
    if (atoll_llm_queue_add_device(c->llm_queue, &device, err) != 0)
        return -1;
    return atoll_journal_append_device(atoll_commit_journal(c->commit), atoll_clock_unix_ns(), &device, err);
}

static int add_result(struct coordinator *c, unsigned peer, struct atoll_event *event, uint64_t evaluation,
                      struct atoll_err *err)
{
    if (atoll_commit_add(c->commit, event, err) != 0)
        return -1;
    c->results[c->result_count].peer = peer;
    c->results[c->result_count++].evaluation = evaluation;
    atoll_dispatch_answered(c->dispatch, evaluation);
    return 0;
}

/* EVALUATED, DUELLED or RIVALLED.  A result that nobody waits for is ignored; one of something else than what was ordered
 * is refused. */
static int on_result(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                     const struct atoll_peer_result_kind *kind, struct atoll_err *err)
{
    struct atoll_event event;
    atoll_campaign_clock_event(&c->clock, &event, kind->event);
    int rc = atoll_peer_result_decode(frame, &event, err);
    uint64_t evaluation = atoll_peer_result_evaluation(&event);
    const struct atoll_decision *order = rc == 0 ? atoll_dispatch_find(c->dispatch, evaluation) : NULL;
    if (rc == 0 && !order) {
        c->result.ignored++;
    } else if (rc == 0 && (!atoll_peer_result_is_what_was_ordered(kind, order, &event))) {
        rc = atoll_err_set(err, ATOLL_E_PROTOCOL, "the result of evaluation %llu is of something else",
                           (unsigned long long)evaluation);
    } else if (rc == 0) {
        double sent_ns = atoll_dispatch_sent_ns(c->dispatch, evaluation);
        if (event.type == ATOLL_EVENT_EVALUATED)
            atoll_peer_result_log_failure(atoll_engine_task(c->engine, order->task), &event.evaluation);
        rc = add_result(c, peer, &event, evaluation, err);
        if (rc == 0) {
            atoll_peer_table_answered(c->peers, peer);
            /* What a rival takes, compiled and autotuned, says nothing of the next order. */
            if (kind->event != ATOLL_EVENT_RIVAL)
                atoll_shutdown_record_round_trip(&c->shutdown,
                                                 atoll_campaign_clock_now_ns(&c->clock) - sent_ns);
            c->result.evaluated += kind->event == ATOLL_EVENT_EVALUATED;
            c->result.duelled += kind->event == ATOLL_EVENT_DUELLED;
        }
    }
    atoll_event_fini(&event);
    return rc;
}

static int on_device_time(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                          struct atoll_err *err)
{
    struct atoll_time_report report;
    if (atoll_time_report_decode(frame->payload, frame->length, &report, err) != 0)
        return -1;
    int rc =
        atoll_time_ledger_take(c->times, peer, now_ns(c), atoll_engine_task_count(c->engine), &report, err);
    free(report.times);
    return rc;
}

static int take_message(struct coordinator *c, unsigned peer, const struct atoll_frame *frame,
                        struct atoll_err *err)
{
    if (frame->type == ATOLL_MSG_HELLO)
        return on_hello(c, peer, frame, err);
    if (frame->type == ATOLL_MSG_DEVICE_TIME)
        return on_device_time(c, peer, frame, err);
    if (frame->type == ATOLL_MSG_TOOLED && c->tools)
        return atoll_tools_take(c->tools, peer, frame->payload, frame->length, err);
    const struct atoll_peer_result_kind *kind = atoll_peer_result_of_message(frame->type);
    if (kind)
        return on_result(c, peer, frame, kind, err);
    int rc = atoll_peer_table_take(c->peers, peer, frame, err);
    return rc == 0 ? atoll_err_set(err, ATOLL_E_PROTOCOL, "unknown type %u", frame->type) : rc < 0 ? -1 : 0;
}

static int receive_frames(struct coordinator *c)
{
    struct atoll_frame frame;
    unsigned peer;
    while (atoll_commit_round_count(c->commit) < ROUND_FRAMES) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (c->settings->peers.receive(c->settings->peers.context, &peer, &frame) <= 0)
            return 0;
        if (peer >= c->settings->peers.count)
            continue;
        /* A peer that is gone already may have left messages that say why: they are read, and PEER_LOST follows them. */
        if (atoll_peer_table_heard(c->peers, peer, frame.type, &err) != 0 && err.code != ATOLL_E_CHILD) {
            atoll_peer_table_drop(c->peers, peer, err.text);
            continue;
        }
        atoll_err_clear(&err);
        if (take_message(c, peer, &frame, &err) != 0) {
            c->result.bad_messages++;
            atoll_peer_table_refuse(c->peers, peer, frame.type, &err);
        }
    }
    return 1;
}

/* A send that fails is ignored: a peer that is gone shows as PEER_LOST, or by its silence. */
static void acknowledge_results(struct coordinator *c)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, sizeof(uint64_t));
    for (size_t i = 0; i < c->result_count; i++) {
        if (c->results[i].peer == NO_PEER)
            continue;
        atoll_buffer_clear(&payload);
        atoll_buffer_put_u64(&payload, c->results[i].evaluation);
        atoll_peer_table_send(c->peers, c->results[i].peer, ATOLL_MSG_ACK, &payload, NULL);
    }
    c->result_count = 0;
    atoll_buffer_fini(&payload);
}

/* ---- events of our own ---- */

static int add_capacity_if_changed(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_event event;
    atoll_campaign_clock_event(&c->clock, &event, ATOLL_EVENT_CAPACITY);
    atoll_peer_table_capacity(c->peers, &event);
    if (event.slots == c->capacity.slots && event.model_count == c->capacity.model_count &&
        memcmp(event.models, c->capacity.models, sizeof(event.models)) == 0) {
        return 0;
    }
    c->capacity = event;
    return atoll_commit_add(c->commit, &event, err);
}

/* The user, a signal, or the wall time of this attempt asks the search for an orderly end: once. */
static int add_finish_if_asked(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_event event;
    double wall_ns = c->settings->wall_ns;
    int is_asked = c->settings->is_to_finish || atoll_shutdown_ends_search(&c->shutdown) ||
                   (wall_ns > 0 && now_ns(c) - c->clock.started_ns > wall_ns);
    if (c->has_asked_for_end || !is_asked)
        return 0;
    c->has_asked_for_end = 1;
    atoll_log(ATOLL_LOG_INFO, "eval.finish", "an orderly end was asked for");
    atoll_campaign_clock_event(&c->clock, &event, ATOLL_EVENT_FINISH);
    return atoll_commit_add(c->commit, &event, err);
}

static int add_tick_if_due(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_event event;
    if (now_ns(c) - c->tick_ns < TICK_NS)
        return 0;
    c->tick_ns = now_ns(c);
    atoll_campaign_clock_event(&c->clock, &event, ATOLL_EVENT_TICK);
    return atoll_commit_add(c->commit, &event, err);
}

/* Where the devices' time went since it was journaled last, as long as the round has room: a full one is of results. */
static int add_device_times(struct coordinator *c, struct atoll_err *err)
{
    while (atoll_commit_round_count(c->commit) < ATOLL_COMMIT_ROUND_LIMIT / 2) {
        struct atoll_event event;
        atoll_campaign_clock_event(&c->clock, &event, ATOLL_EVENT_DEVICE_TIME);
        int got = atoll_time_ledger_next(c->times, &event.device_times, err);
        if (got == 1 && atoll_commit_add(c->commit, &event, err) != 0) {
            atoll_event_fini(&event);
            return -1;
        }
        if (got != 1)
            return got;
    }
    return 0;
}

static int add_device_times_if_due(struct coordinator *c, struct atoll_err *err)
{
    if (now_ns(c) - c->times_ns < TIMES_NS)
        return 0;
    c->times_ns = now_ns(c);
    return add_device_times(c, err);
}

/* The result of an order that nobody carries out: a failure of the infrastructure. */
static void fail_order(const struct coordinator *c, const struct atoll_decision *order,
                       struct atoll_event *event)
{
    char detail[64];
    atoll_campaign_clock_event(&c->clock, event, atoll_peer_result_of_decision(order->type)->event);
    snprintf(detail, sizeof(detail), "%d evaluators were lost with it", ATOLL_DISPATCH_LOSS_LIMIT);
    switch (event->type) {
    case ATOLL_EVENT_EVALUATED:
        event->evaluation.evaluation = order->evaluation;
        event->evaluation.candidate = order->candidate;
        event->evaluation.verdict = ATOLL_V_INFRASTRUCTURE;
        snprintf(event->evaluation.detail, sizeof(event->evaluation.detail), "%s", detail);
        break;
    case ATOLL_EVENT_DUELLED:
        event->duel = (struct atoll_duel){
            .evaluation = order->evaluation, .purpose = order->purpose, .verdict = ATOLL_V_INFRASTRUCTURE};
        break;
    default:
        event->rival.evaluation = order->evaluation;
        event->rival.task = order->task;
        event->rival.number = order->rival;
        event->rival.verdict = ATOLL_V_INFRASTRUCTURE;
        snprintf(event->rival.detail, sizeof(event->rival.detail), "%s", detail);
    }
}

/* An order with which ATOLL_DISPATCH_LOSS_LIMIT evaluators were lost is not sent again; the engine decides whether to try it
 * once more. */
static int give_up_lost_orders(struct coordinator *c, struct atoll_err *err)
{
    const struct atoll_decision *order;
    while (atoll_commit_round_count(c->commit) < ATOLL_COMMIT_ROUND_LIMIT - 4 &&
           (order = atoll_dispatch_find_lost(c->dispatch)) != NULL) {
        struct atoll_event event;
        fail_order(c, order, &event);
        int rc = add_result(c, NO_PEER, &event, order->evaluation, err);
        atoll_event_fini(&event);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int add_events_of_asks(struct coordinator *c, struct atoll_err *err)
{
    if (atoll_llm_queue_advance(c->llm_queue, now_ns(c), err) != 0)
        return -1;
    while (atoll_commit_round_count(c->commit) < ATOLL_COMMIT_ROUND_LIMIT - ROUND_SPARE) {
        struct atoll_event event;
        atoll_campaign_clock_event(&c->clock, &event, ATOLL_EVENT_REPLY);
        int got = atoll_llm_queue_next_event(c->llm_queue, c->engine, now_ns(c), &event, err);
        if (got <= 0)
            return got;
        if (atoll_commit_add(c->commit, &event, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the round ---- */

/* Makes the round durable; where the disk is full it waits for space, as long as the run may last. */
static int sync_round(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    while (atoll_commit_sync(c->commit, &why) != 0) {
        if (why.code != ATOLL_E_FULL || atoll_shutdown_wait_for_space(&c->shutdown, now_ns(c), &why) != 0) {
            if (err)
                *err = why;
            return -1;
        }
        c->is_disk_full = 1;
        write_progress_if_due(c, "no space left for the journal; the run waits until there is some");
        atoll_peer_table_excuse_silence(c->peers);
        atoll_err_clear(&why);
    }
    c->is_disk_full = 0;
    return 0;
}

/* The events of the round are durable: peers, progress and the log of acknowledgements get them. */
static void acknowledge_round(struct coordinator *c)
{
    size_t count;
    const struct atoll_event *events = atoll_commit_events(c->commit, &count);
    acknowledge_results(c);
    atoll_progress_count(&c->progress, events, count,
                         atoll_journal_durable_bytes(atoll_commit_journal(c->commit)));
    if (c->ack_fd < 0)
        return;
    struct atoll_buffer lines;
    atoll_buffer_init(&lines, 64 * ATOLL_COMMIT_ROUND_LIMIT);
    for (size_t i = 0; i < count; i++) {
        uint64_t evaluation = atoll_peer_result_evaluation(&events[i]);
        if (evaluation != UINT64_MAX)
            atoll_buffer_printf(&lines, "%llu\n", (unsigned long long)evaluation);
    }
    if (lines.length > 0 && !lines.failed && write(c->ack_fd, lines.data, lines.length) < 0)
        atoll_log(ATOLL_LOG_WARNING, "eval.ack.log", "%s: %s", c->settings->ack_log, strerror(errno));
    atoll_buffer_fini(&lines);
}

static int take_decision(struct coordinator *c, const struct atoll_decision *decision, struct atoll_err *err)
{
    if (decision->type == ATOLL_DECIDE_ASK)
        return atoll_llm_queue_add(c->llm_queue, &decision->ask, err);
    return atoll_dispatch_decide(c->dispatch, decision, err);
}

/* Sends the asks that the event led to.  A prompt leaves out what could not be kept for want of memory. */
static void settle_asks(struct coordinator *c, const struct atoll_event *event)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_llm_queue_settle(c->llm_queue, c->engine, event, now_ns(c), &err) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "eval.ask.context", &err);
}

static int commit_round(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_commit_step step;
    int got = 1;
    if (atoll_commit_round_count(c->commit) == 0)
        return 0;
    if (sync_round(c, err) != 0)
        return -1;
    acknowledge_round(c);
    while ((got = atoll_commit_step(c->commit, &step, err)) == 1) {
        uint64_t evaluation = atoll_peer_result_evaluation(step.event);
        if (step.event->type == ATOLL_EVENT_EVALUATED)
            atoll_notice_result(&c->notice, c->engine, atoll_dispatch_task(c->dispatch, evaluation),
                                &step.event->evaluation);
        if (step.event->type == ATOLL_EVENT_RIVAL)
            atoll_notice_rival(&c->notice, c->engine, &step.event->rival);
        for (size_t i = 0; i < step.decision_count; i++)
            if (take_decision(c, &step.decisions[i], err) != 0)
                return -1;
        atoll_dispatch_settle(c->dispatch, evaluation);
        settle_asks(c, step.event);
    }
    return got;
}

static void tell_stage(const struct coordinator *c, enum atoll_handover_stage stage)
{
    if (c->settings->on_stage)
        c->settings->on_stage(c->settings->stage_context, stage);
}

/* From the last comparisons on the next run of the job may come up beside this one, where that disturbs no measurement; else
 * when nothing is measured any more. */
static void tell_end_if_near(struct coordinator *c)
{
    const struct atoll_backend *backend = atoll_backend_find(c->settings->setup->backend);
    int is_beside = c->settings->setup->backend_null || (backend && backend->compiles_beside);
    struct atoll_engine_status status;
    atoll_engine_status(c->engine, &status);
    if (c->has_told_end || !(is_beside ? status.finishing : status.stopped))
        return;
    c->has_told_end = 1;
    tell_stage(c, ATOLL_HANDOVER_ENDING);
}

static void take_devices_if_free(struct coordinator *c)
{
    if (!c->is_held || !c->settings->has_devices(c->settings->stage_context))
        return;
    c->is_held = 0;
    atoll_peer_table_greet_all(c->peers);
}

static int run_rounds(struct coordinator *c, struct atoll_err *err)
{
    const struct atoll_peers *carrier = &c->settings->peers;
    while (!is_run_over(c)) {
        if (atoll_lease_renewer_check(c->settings->lease_renewer, err) != 0)
            return -1;
        int has_more = receive_frames(c);
        take_devices_if_free(c);
        atoll_peer_table_check_silence(c->peers);
        atoll_rank_map_update(&c->rank_map, c->peers, c->attempt_dir, now_ns(c), 0);
        if (add_capacity_if_changed(c, err) != 0 || add_finish_if_asked(c, err) != 0 ||
            add_tick_if_due(c, err) != 0 || add_device_times_if_due(c, err) != 0 ||
            give_up_lost_orders(c, err) != 0 || add_events_of_asks(c, err) != 0 ||
            commit_round(c, err) != 0) {
            return -1;
        }
        if (atoll_shutdown_start_draining(&c->shutdown, now_ns(c),
                                          atoll_dispatch_under_way_count(c->dispatch))) {
            atoll_llm_queue_hold(c->llm_queue);
        }
        int goes_on = !is_search_over(c) && !c->shutdown.is_draining;
        if (goes_on && atoll_peer_table_send_orders(c->peers, err) != 0)
            return -1;
        if (goes_on)
            atoll_peer_table_send_tools(c->peers);
        check_notice(c);
        tell_end_if_near(c);
        write_progress_if_due(c, *c->notice.text ? c->notice.text : NULL);
        if (goes_on && atoll_peer_table_check_left(c->peers, err) != 0)
            return -1;
        if (!has_more && !is_run_over(c)) {
            struct pollfd gateway = {.fd = atoll_llm_queue_fd(c->llm_queue), .events = POLLIN};
            carrier->wait(carrier->context, &gateway, gateway.fd >= 0, c->is_held ? HELD_WAIT_MS : WAIT_MS);
        }
    }
    return 0;
}

/* What evaluators did since they told of it last: what rank 0 knows of that. */
static void end_times(struct coordinator *c)
{
    for (unsigned i = 0; i < atoll_peer_table_count(c->peers); i++) {
        int is_there = atoll_peer_table_peer(c->peers, i)->state == ATOLL_PEER_READY;
        int has_orders = atoll_dispatch_sent_count(c->dispatch, i) > 0;
        atoll_time_ledger_end(c->times, i, now_ns(c),
                              !is_there    ? ATOLL_TIME_START
                              : has_orders ? ATOLL_TIME_OTHER
                                           : ATOLL_TIME_IDLE);
    }
}

static int close_journal(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_engine_status status;
    int has_more = 1;
    end_times(c);
    while (has_more) { /* what is not journaled of the devices' time */
        if (add_device_times(c, err) != 0)
            return -1;
        has_more = atoll_commit_round_count(c->commit) > 0;
        if (commit_round(c, err) != 0)
            return -1;
    }
    atoll_llm_queue_cancel(c->llm_queue);
    atoll_engine_status(c->engine, &status);
    c->result.is_drained = !status.stopped;
    const char *reason = status.stopped ? atoll_reason_name(status.reason) : ATOLL_CLOSE_DRAINED;
    return atoll_commit_close(c->commit, atoll_clock_unix_ns(), reason, err) != 0 ? -1 : sync_round(c, err);
}

/* ---- the run ---- */

/* A resume may name a model where the campaign's own run asked none. */
static struct atoll_knowledge_pack *knowledge_of(const struct atoll_campaign *campaign, struct atoll_err *err)
{
    if (!atoll_campaign_option(campaign, ATOLL_CAMPAIGN_KNOWLEDGE_OPTION)) {
        atoll_log(ATOLL_LOG_WARNING, "eval.knowledge.installed",
                  "the campaign has no knowledge.json; models are told of what is installed now");
    }
    return atoll_campaign_knowledge_or_installed(campaign, err);
}

static int coordinator_init(struct coordinator *c, const struct atoll_coordinator_settings *s,
                            struct atoll_err *err)
{
    *c = (struct coordinator){.settings = s, .ack_fd = -1};
    c->clock = (struct atoll_campaign_clock){.now_ns = s->now_ns, .context = s->peers.context};
    c->clock.started_ns = c->tick_ns = c->times_ns = now_ns(c);
    c->shutdown = (struct atoll_shutdown){.interrupts = s->interrupts,
                                          .drains_on_interrupt = s->drains_on_interrupt,
                                          .drain_files = s->drain_files,
                                          .drain_file_count = s->drain_file_count,
                                          .until_ns = s->until_ns,
                                          .archive_ns = atoll_resume_last_archive_ns(s->campaign)};
    atoll_progress_init(&c->progress, s->progress_fd, now_ns(c));
    c->dispatch = atoll_dispatch_create(s->peers.count, err);
    if (!c->dispatch)
        return -1;
    if (s->llm.gateway && (c->knowledge = knowledge_of(s->campaign, err)) != NULL)
        c->tools =
            atoll_tools_create(c->knowledge, atoll_campaign_option(s->campaign, "knowledge_except"), 0, err);
    if (s->llm.gateway && !c->tools)
        return -1;
    const struct atoll_peer_table_settings peers = {.carrier = &s->peers,
                                                    .setup = s->setup,
                                                    .clock = &c->clock,
                                                    .dispatch = c->dispatch,
                                                    .tools = c->tools,
                                                    .heartbeat_timeout_ns = s->heartbeat_timeout_ns};
    c->peers = atoll_peer_table_create(&peers, err);
    c->is_held = s->has_devices != NULL;
    if (c->peers && c->is_held)
        atoll_peer_table_hold(c->peers);
    struct atoll_llm_queue_settings llm = s->llm;
    llm.knowledge = c->knowledge;
    c->llm_queue = c->peers ? atoll_llm_queue_create(&llm, s->campaign, err) : NULL;
    if (!c->llm_queue)
        return -1;
    atoll_llm_queue_set_tools(c->llm_queue, c->tools);
    if (s->ack_log)
        c->ack_fd = open(s->ack_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    return s->ack_log && c->ack_fd < 0 ? atoll_err_errno(err, errno, "cannot open %s", s->ack_log) : 0;
}

static void coordinator_fini(struct coordinator *c)
{
    atoll_commit_destroy(c->commit);
    atoll_peer_table_destroy(c->peers);
    atoll_dispatch_destroy(c->dispatch);
    atoll_time_ledger_destroy(c->times);
    atoll_llm_queue_destroy(c->llm_queue);
    atoll_tools_destroy(c->tools);
    atoll_knowledge_pack_destroy(c->knowledge);
    atoll_progress_fini(&c->progress);
    if (c->ack_fd >= 0)
        close(c->ack_fd);
}

static void log_resumed(const struct atoll_resumed *resumed)
{
    if (resumed->lost_bytes > 0) {
        atoll_log(ATOLL_LOG_WARNING, "eval.resume.torn",
                  "%llu bytes of the journal were torn; nothing acknowledged is lost",
                  (unsigned long long)resumed->lost_bytes);
    }
    for (size_t i = 0; i < resumed->quarantined_count; i++) {
        atoll_log(ATOLL_LOG_WARNING, "eval.resume.quarantined",
                  "%llu records of attempt %s written after its lease was lost are kept aside",
                  (unsigned long long)resumed->quarantined[i].records, resumed->quarantined[i].attempt);
    }
    if (resumed->event_count > 0) {
        atoll_log(ATOLL_LOG_INFO, "eval.resume", "%llu events are there; the last %llu were stepped again",
                  (unsigned long long)resumed->event_count, (unsigned long long)resumed->stepped_count);
    }
}

static void add_order(void *context, const struct atoll_decision *decision)
{
    atoll_dispatch_decide(context, decision, NULL);
}

/* Opens the campaign's next attempt, and takes over the orders and asks that are open. */
static int coordinator_resume(struct coordinator *c, struct atoll_err *err)
{
    const struct atoll_coordinator_settings *s = c->settings;
    struct atoll_resumed resumed;
    struct atoll_event now;
    int rc = 0;
    const struct atoll_resume_settings resume = {.campaign = s->campaign,
                                                 .job = s->job,
                                                 .now_unix_ns = atoll_clock_unix_ns(),
                                                 .extension = s->extension,
                                                 .snapshot_events = s->snapshot_events,
                                                 .lease_renewer = s->lease_renewer,
                                                 .shutdown = &c->shutdown,
                                                 .clock = &c->clock};
    if (atoll_resume(&resume, &resumed, err) != 0)
        return -1;
    c->result.was_finished = resumed.is_finished;
    if (resumed.is_finished)
        return 0;
    log_resumed(&resumed);
    c->attempt_dir = resumed.attempt_dir;
    c->commit = resumed.commit;
    c->engine = atoll_commit_engine(c->commit);
    c->clock.base_ns = resumed.campaign_ns;
    c->clock.started_ns = now_ns(c);
    c->times = atoll_time_ledger_create(now_ns(c), err);
    rc = c->times ? 0 : -1;
    atoll_peer_table_set_engine(c->peers, c->engine);
    struct atoll_engine_status status;
    atoll_engine_status(c->engine, &status);
    c->notice.evaluated = status.evaluated;
    atoll_notice_triton(&c->notice, s->setup, atoll_engine_triton(c->engine));
    atoll_progress_begin_file(&c->progress, s->campaign, c->attempt_dir,
                              atoll_journal_durable_bytes(atoll_commit_journal(c->commit)));
    if (rc == 0)
        rc = atoll_llm_queue_load(c->llm_queue, s->campaign, c->engine, err);
    for (size_t i = 0; i < resumed.decisions.count && rc == 0; i++)
        rc = take_decision(c, &resumed.decisions.items[i], err);
    atoll_decisions_fini(&resumed.decisions);
    atoll_engine_under_way(c->engine, add_order, c->dispatch);
    atoll_campaign_clock_event(&c->clock, &now, ATOLL_EVENT_TICK);
    settle_asks(c, &now);
    return rc;
}

/* attempt_dir: NULL = only archive.h5, and only when it is not up to date. */
static int write_archive(const struct atoll_campaign *campaign, const char *attempt_dir,
                         struct atoll_err *err)
{
    char path[PATH_MAX];
    if (attempt_dir)
        return atoll_archive_seal(campaign, attempt_dir, NULL, err);
    int length = snprintf(path, sizeof(path), "%s/archive.h5", atoll_campaign_dir(campaign));
    if (length < 0 || (size_t)length >= sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the campaign is too long");
    return atoll_archive_refresh(campaign, path, NULL, err) < 0 ? -1 : 0;
}

static void show_life(void *context)
{
    const struct coordinator *c = context;
    atoll_lease_renewer_show_life(c->settings->lease_renewer);
    if (c->is_writing && c->settings->on_life)
        c->settings->on_life(c->settings->stage_context);
}

int atoll_coordinator_run(const struct atoll_coordinator_settings *settings,
                          struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct coordinator c;
    double cpu_ns = atoll_clock_cpu_ns();
    int rc = coordinator_init(&c, settings, err);
    atoll_campaign_on_life(settings->campaign, show_life, &c);
    if (rc == 0)
        rc = coordinator_resume(&c, err);
    if (rc == 0 && c.commit) {
        rc = run_rounds(&c, err);
        if (rc == 0)
            rc = close_journal(&c, err);
        if (rc == 0 && !c.result.is_drained)
            tell_stage(&c, ATOLL_HANDOVER_STOPPED);
        c.result.cpu_ns = atoll_clock_cpu_ns() - cpu_ns;
        c.result.elapsed_ns = now_ns(&c) - c.clock.started_ns;
        atoll_notice_end(c.engine);
        write_summary(&c, rc != 0);
        atoll_rank_map_update(&c.rank_map, c.peers, c.attempt_dir, now_ns(&c), 1);
        c.result.peers_lost = atoll_peer_table_lost_count(c.peers);
    }
    if (c.peers)
        atoll_peer_table_stop_all(c.peers);
    if (rc == 0 && c.commit && !c.result.is_drained) /* who drains has no time to wait */
        tell_stage(&c, ATOLL_HANDOVER_RELEASED);
    if (rc == 0)
        rc = atoll_lease_renewer_check(settings->lease_renewer, err);
    if (rc == 0) {
        c.is_writing = 1;
        show_life(&c);
        rc = write_archive(settings->campaign, c.attempt_dir, err);
    }
    atoll_campaign_on_life(settings->campaign, NULL, NULL);
    if (rc == 0) {
        c.result.is_finished = !c.result.is_drained;
        *ret_result = c.result;
    }
    coordinator_fini(&c);
    return rc;
}
