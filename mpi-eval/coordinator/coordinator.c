/* coordinator.c - the loop of rank 0 (docs/spec/wire.md, docs/spec/journal.md).
 *
 * A round: take the frames that are there, turn them into events; one sync makes them durable; then they are
 * acknowledged, the engine sees them, what it decided becomes orders; orders go to whoever has room.
 *
 * States of a peer:
 * - ABSENT: nothing was heard.  Any frame: SETUP and all TASKs are sent, GREETED.
 * - GREETED: REQUEST (after HELLO) makes it READY.
 * - READY: has at most the orders that it asked for.
 * - SURPLUS: it lives and has no device; tried again (GREETED) when another of its node is lost.
 * - SILENT: given up after a silence or too many bad messages; any frame makes it what it was before.
 * - FAILED: it said why it cannot go on.
 * - PEER_LOST makes every state ABSENT (another process is started; FAILED stays) or GONE (none is).
 *
 * Invariant: an evaluation number is journaled once. */
#include "mpi-eval/coordinator/coordinator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/clock.h"
#include "mpi-eval/coordinator/coordinator_state.h"
#include "mpi-eval/coordinator/progress.h"
#include "mpi-eval/coordinator/resume.h"
#include "mpi-eval/coordinator/write_archive.h"

#define TICK_NS        1e9
#define PROGRESS_NS    0.5e9
#define WAIT_MS        100
#define SPACE_WAIT_MS  500
#define ORPHANED_NS    60e9 /* without any evaluator for so long: give up */
#define STOP_WAIT_NS   2e9
#define PROGRESS_BYTES (4u << 20)

double atoll_coordinator_now_ns(const struct coordinator *c)
{
    double (*now_ns)(void *) = c->settings->now_ns;
    return now_ns ? now_ns(c->settings->peers.context) : atoll_clock_mono_ns();
}

int64_t atoll_coordinator_campaign_ns(const struct coordinator *c)
{
    return c->campaign_base_ns + (int64_t)(atoll_coordinator_now_ns(c) - c->started_ns);
}

void atoll_coordinator_event_init(const struct coordinator *c, struct atoll_event *event,
                                  enum atoll_event_type type)
{
    atoll_event_init(event, type);
    event->campaign_ns = atoll_coordinator_campaign_ns(c);
    event->unix_ns = atoll_clock_unix_ns();
}

static void progress_say(struct coordinator *c, int is_last);

/* ---- events of our own ---- */

static int event_add(struct coordinator *c, enum atoll_event_type type, struct atoll_err *err)
{
    struct atoll_event event;
    atoll_coordinator_event_init(c, &event, type);
    return atoll_commit_add(c->ledger, &event, err);
}

static int same_capacity(const struct atoll_event *a, const struct atoll_event *b)
{
    return a->slots == b->slots && a->model_count == b->model_count &&
           memcmp(a->models, b->models, sizeof a->models) == 0;
}

/* Where it changed. */
static int capacity_add(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_event event;
    atoll_coordinator_event_init(c, &event, ATOLL_EVENT_CAPACITY);
    atoll_peer_table_capacity(c, &event);
    if (same_capacity(&event, &c->capacity_said))
        return 0;
    c->capacity_said = event;
    return atoll_commit_add(c->ledger, &event, err);
}

/* An order that peers die of is answered by us; the engine decides whether it is tried again. */
static int hopeless_answer(struct coordinator *c, struct atoll_err *err)
{
    const struct atoll_decision *order;
    while ((order = atoll_dispatch_hopeless(c->dispatch)) != NULL &&
           atoll_commit_round_count(c->ledger) < ATOLL_COMMIT_ROUND_LIMIT - 4) {
        struct atoll_event event;
        int is_duel = order->type == ATOLL_DECIDE_DUEL;
        atoll_coordinator_event_init(c, &event, is_duel ? ATOLL_EVENT_DUELLED : ATOLL_EVENT_EVALUATED);
        event.evaluation.evaluation = event.duel.evaluation = order->evaluation;
        event.evaluation.candidate = order->candidate;
        event.duel.purpose = order->purpose;
        event.evaluation.verdict = event.duel.verdict = ATOLL_V_INFRASTRUCTURE;
        snprintf(event.evaluation.detail, sizeof event.evaluation.detail, "%d evaluators were lost with it",
                 ATOLL_DISPATCH_LOSS_LIMIT);
        int rc = atoll_receive_add_result(c, c->settings->peers.count, &event, order->evaluation, err);
        atoll_event_fini(&event);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int questions_answer(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_event now;
    atoll_coordinator_event_init(c, &now, ATOLL_EVENT_REPLY);
    return atoll_llm_queue_answer(c->questions, c->engine, c->ledger, &now, atoll_coordinator_now_ns(c), err);
}

static int should_finish(const struct coordinator *c)
{
    const struct atoll_coordinator_settings *s = c->settings;
    return (atoll_shutdown_is_interrupted(c) && !s->drains_on_interrupt) ||
           (s->wall_ns > 0 && atoll_coordinator_now_ns(c) - c->started_ns > s->wall_ns);
}

static int own_events_add(struct coordinator *c, struct atoll_err *err)
{
    if (capacity_add(c, err) != 0)
        return -1;
    if (!c->finish_said && should_finish(c)) {
        c->finish_said = 1;
        atoll_log(ATOLL_LOG_INFO, "eval.finish", "an orderly end was asked for");
        if (event_add(c, ATOLL_EVENT_FINISH, err) != 0)
            return -1;
    }
    if (atoll_coordinator_now_ns(c) - c->tick_ns >= TICK_NS) {
        c->tick_ns = atoll_coordinator_now_ns(c);
        if (event_add(c, ATOLL_EVENT_TICK, err) != 0)
            return -1;
    }
    return hopeless_answer(c, err) != 0 ? -1 : questions_answer(c, err);
}

/* ---- hooks of the ledger ---- */

static int hook_may_write(void *context, struct atoll_err *err)
{
    const struct coordinator *c = context;
    return atoll_lease_renewer_check(c->settings->lease_renewer, err);
}

static void hook_life(void *context)
{
    atoll_lease_renewer_show_life(context);
}

static int hook_no_space(void *context, const struct atoll_err *why)
{
    struct coordinator *c = context;
    struct timespec pause = {.tv_nsec = SPACE_WAIT_MS * 1000000L};
    if (atoll_coordinator_now_ns(c) - c->no_space_said_ns > 10e9) {
        c->no_space_said_ns = atoll_coordinator_now_ns(c);
        atoll_log(ATOLL_LOG_WARNING, "eval.journal.full", "%s; the run waits until there is space",
                  why->text);
    }
    if (atoll_shutdown_is_interrupted(c) || atoll_shutdown_left_ns(c) < 0)
        return -1;
    if (c->engine) { /* not while resuming */
        c->message = "no space left for the journal; the run waits until there is some";
        progress_say(c, 0);
        c->message = NULL;
    }
    nanosleep(&pause, NULL);
    for (unsigned i = 0; i < c->settings->peers.count; i++)
        c->peers[i].heard_ns = atoll_coordinator_now_ns(c); /* nobody was listened to */
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
            atoll_peer_table_say(c, c->answers[i].peer, ATOLL_MSG_ACK, NULL);
        atoll_buffer_clear(&c->payload);
    }
    c->answer_count = 0;
}

static void hook_durable(void *context, const struct atoll_event *events, size_t count)
{
    struct coordinator *c = context;
    answers_acknowledge(c);
    if (c->ledger) /* not while resuming */
        atoll_progress_file_count(&c->progress_file, events, count,
                                  atoll_journal_durable_bytes(atoll_commit_journal(c->ledger)));
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
    if (decision->type == ATOLL_DECIDE_ASK)
        return atoll_llm_queue_note(c->questions, &decision->ask, err);
    return atoll_dispatch_decide(c->dispatch, decision, err);
}

/* While resuming there is no engine to word asks with yet: they wait.  What a prompt cannot tell for want of memory it
 * leaves out. */
static void questions_settle(struct coordinator *c, const struct atoll_event *event)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (c->engine &&
        atoll_llm_queue_settle(c->questions, c->engine, event, atoll_coordinator_now_ns(c), &err) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "eval.ask.context", &err);
}

static void hook_settled(void *context, const struct atoll_event *event)
{
    struct coordinator *c = context;
    uint64_t evaluation = event_evaluation(event);
    if (evaluation != UINT64_MAX)
        atoll_dispatch_settle(c->dispatch, evaluation);
    questions_settle(c, event);
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

static void facts_gather(struct coordinator *c, struct atoll_progress_facts *facts)
{
    *facts = (struct atoll_progress_facts){
        .engine = c->engine,
        .elapsed_ns = (double)atoll_coordinator_campaign_ns(c),
        .budget_ns = atoll_campaign_config(c->settings->campaign)->search.wall_budget_ns,
        .attempt_ns = atoll_coordinator_now_ns(c) - c->started_ns,
        .evaluators = atoll_peer_table_ready_count(c),
        .message = c->message,
        .has_model = c->settings->questions.gateway != NULL,
    };
    atoll_llm_queue_count(c->questions, &facts->questions);
    shares_measure(c, facts);
}

static void progress_say(struct coordinator *c, int is_last)
{
    struct atoll_engine_status status;
    struct atoll_progress_facts facts;
    double now = atoll_coordinator_now_ns(c);
    double since_ns = now - c->progress_ns;
    if (c->settings->progress_fd < 0 || (!is_last && since_ns < PROGRESS_NS))
        return;
    atoll_engine_status(c->engine, &status);
    facts_gather(c, &facts);
    facts.rate = since_ns > 0 ? (double)(status.evaluated - c->evaluated_counted) * 1e9 / since_ns : 0;
    atoll_buffer_clear(&c->line);
    atoll_progress_line(&facts, is_last, &c->line);
    atoll_progress_write(c->settings->progress_fd, &c->line, is_last);
    c->progress_ns = now;
    c->evaluated_counted = status.evaluated;
}

static void progress_file_keep(struct coordinator *c, int is_last)
{
    struct atoll_progress_facts facts;
    double now = atoll_coordinator_now_ns(c);
    if (!is_last && !atoll_progress_file_is_due(&c->progress_file, now))
        return;
    facts_gather(c, &facts);
    atoll_progress_file_write(&c->progress_file, &facts, now, atoll_clock_unix_ns());
}

/* ---- the run ---- */

static int coordinator_init(struct coordinator *c, const struct atoll_coordinator_settings *settings,
                            struct atoll_err *err)
{
    *c = (struct coordinator){.settings = settings, .ack_fd = -1};
    c->started_ns = c->attended_ns = c->tick_ns = c->progress_ns = atoll_coordinator_now_ns(c);
    c->no_space_said_ns = -1e18;
    atoll_buffer_init(&c->payload, COORDINATOR_MESSAGE_BYTES);
    atoll_buffer_init(&c->frame, COORDINATOR_MESSAGE_BYTES + ATOLL_FRAME_HEADER_BYTES);
    atoll_buffer_init(&c->acks, 64 * ATOLL_COMMIT_ROUND_LIMIT);
    atoll_buffer_init(&c->line, PROGRESS_BYTES);
    c->peers = calloc(settings->peers.count ? settings->peers.count : 1, sizeof *c->peers);
    if (!c->peers)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %u evaluators", settings->peers.count);
    c->dispatch = atoll_dispatch_create(settings->peers.count, err);
    c->questions = c->dispatch ? atoll_llm_queue_create(&settings->questions, settings->campaign, err) : NULL;
    if (!c->questions)
        return -1;
    if (settings->ack_log)
        c->ack_fd = open(settings->ack_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (settings->ack_log && c->ack_fd < 0)
        return atoll_err_errno(err, errno, "cannot open %s", settings->ack_log);
    return 0;
}

static void coordinator_fini(struct coordinator *c)
{
    atoll_commit_destroy(c->ledger);
    atoll_dispatch_destroy(c->dispatch);
    free(c->peers);
    atoll_llm_queue_destroy(c->questions);
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
    const struct atoll_commit_hooks hooks = {.context = c,
                                             .may_write = hook_may_write,
                                             .no_space = hook_no_space,
                                             .durable = hook_durable,
                                             .decided = hook_decided,
                                             .settled = hook_settled};
    if (atoll_resume(c->settings->campaign, c->settings->job, atoll_clock_unix_ns(),
                     c->settings->snapshot_events, &hooks, &resumed, err) != 0)
        return -1;
    c->result.was_finished = resumed.is_finished;
    if (resumed.is_finished)
        return 0;
    if (resumed.lost_bytes > 0)
        atoll_log(ATOLL_LOG_WARNING, "eval.resume.torn",
                  "%llu bytes of the journal were torn; nothing acknowledged is lost",
                  (unsigned long long)resumed.lost_bytes);
    for (size_t i = 0; i < resumed.quarantined_count; i++)
        atoll_log(ATOLL_LOG_WARNING, "eval.resume.quarantined",
                  "%llu records of attempt %s written after its lease was lost are kept aside",
                  (unsigned long long)resumed.quarantined[i].records, resumed.quarantined[i].attempt);
    if (resumed.event_count > 0)
        atoll_log(ATOLL_LOG_INFO, "eval.resume", "%llu events are there; the last %llu were stepped again",
                  (unsigned long long)resumed.event_count, (unsigned long long)resumed.stepped_count);
    c->attempt_dir = resumed.attempt_dir;
    c->ledger = resumed.ledger;
    c->engine = atoll_commit_engine(c->ledger);
    c->campaign_base_ns = resumed.campaign_ns;
    c->started_ns = atoll_coordinator_now_ns(c);
    atoll_progress_file_begin(&c->progress_file, c->settings->campaign, c->attempt_dir,
                              atoll_journal_durable_bytes(atoll_commit_journal(c->ledger)));
    atoll_engine_under_way(c->engine, under_way_add, c);
    struct atoll_event now;
    atoll_coordinator_event_init(c, &now, ATOLL_EVENT_TICK);
    questions_settle(c, &now);
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
        if (c->peers[i].state != PEER_FAILED && c->peers[i].state != PEER_GONE &&
            c->peers[i].state != PEER_SURPLUS)
            return atoll_coordinator_now_ns(c) - c->attended_ns < ORPHANED_NS ||
                   c->peers[i].state == PEER_GREETED;
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
    atoll_receive_collect(c);
    atoll_peer_table_check_silence(c);
    atoll_rank_map_keep_step(c, 0);
    if (own_events_add(c, err) != 0 || atoll_commit_now(c->ledger, err) != 0)
        return -1;
    atoll_shutdown_consider(c);
    if (!is_stopped(c) && !c->is_draining && atoll_peer_table_send_orders(c, err) != 0)
        return -1;
    progress_say(c, 0);
    progress_file_keep(c, 0);
    return somebody_may_come(c) || is_stopped(c) || c->is_draining ? 0 : nobody_left(c, err);
}

static void evaluators_stop(struct coordinator *c)
{
    const struct atoll_peers *peers = &c->settings->peers;
    double until_ns = atoll_coordinator_now_ns(c) + STOP_WAIT_NS;
    for (unsigned i = 0; i < peers->count; i++)
        atoll_peer_table_say(c, i, ATOLL_MSG_STOP, NULL);
    while (peers->waiting(peers->context) > 0 && atoll_coordinator_now_ns(c) < until_ns)
        peers->wait(peers->context, NULL, 0, 1);
}

static void wait_some(struct coordinator *c)
{
    const struct atoll_peers *peers = &c->settings->peers;
    struct pollfd gateway = {.fd = atoll_llm_queue_fd(c->questions), .events = POLLIN};
    peers->wait(peers->context, &gateway, gateway.fd >= 0, WAIT_MS);
}

static int coordinator_loop(struct coordinator *c, struct atoll_err *err)
{
    struct atoll_engine_status status;
    while (!is_stopped(c) && !atoll_shutdown_is_over(c)) {
        if (hook_may_write(c, err) != 0 || round_run(c, err) != 0)
            return -1;
        if (!is_stopped(c) && !atoll_shutdown_is_over(c) && !c->has_more)
            wait_some(c);
    }
    atoll_llm_queue_withdraw(c->questions);
    atoll_engine_status(c->engine, &status);
    c->result.is_drained = !status.stopped;
    return atoll_commit_close(c->ledger, atoll_clock_unix_ns(),
                              status.stopped ? atoll_reason_name(status.reason) : ATOLL_CLOSE_DRAINED, err);
}

int atoll_coordinator_run(const struct atoll_coordinator_settings *settings,
                          struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct coordinator c;
    double cpu_ns = atoll_clock_cpu_ns();
    atoll_campaign_on_life(settings->campaign, hook_life, settings->lease_renewer);
    int rc = coordinator_init(&c, settings, err);
    c.drain.seal_ns = atoll_write_archive_last_ns(settings->campaign);
    if (rc == 0)
        rc = coordinator_resume(&c, err);
    if (rc == 0 && c.ledger) {
        rc = coordinator_loop(&c, err);
        c.result.cpu_ns = atoll_clock_cpu_ns() - cpu_ns;
        c.result.elapsed_ns = atoll_coordinator_now_ns(&c) - c.started_ns;
        progress_say(&c, 1);
        if (rc == 0) /* else nothing is ours any more, or nothing can be written */
            progress_file_keep(&c, 1);
        atoll_rank_map_keep_step(&c, 1);
    }
    if (c.dispatch && c.peers)
        evaluators_stop(&c);
    if (rc == 0)
        rc = atoll_lease_renewer_check(settings->lease_renewer, err);
    if (rc == 0)
        rc = atoll_write_archive(settings->campaign, c.attempt_dir, err);
    atoll_campaign_on_life(settings->campaign, NULL, NULL);
    if (rc == 0) {
        c.result.is_finished = !c.result.is_drained;
        *ret_result = c.result;
    }
    coordinator_fini(&c);
    return rc;
}
