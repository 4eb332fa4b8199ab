/* resume.c - starting and resuming.
 * A killed start leaves any prefix of: START, TASK 0, TASK 1, ..., the events of prior.atl; what is missing is added.
 * RESUME is said when a former attempt got as far as all of them. */
#include "mpi-eval/coordinator/resume.h"

#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/prior.h"
#include "mpi-eval/coordinator/replay.h"

#define PRIOR_BYTES      (64u << 20) /* texts of one round */
#define TASK_BYTES_LIMIT (64u << 20)

static const char *option_value(const struct atoll_campaign_config *config, const char *key)
{
    for (size_t i = 0; i < config->option_count; i++)
        if (strcmp(config->options[i].key, key) == 0)
            return config->options[i].value;
    return "";
}

static int add_start(struct atoll_commit *ledger, const struct atoll_campaign_config *config, int64_t unix_ns,
                     struct atoll_err *err)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.unix_ns = unix_ns;
    event.search = config->search;
    event.search.language = atoll_language_of_backend(option_value(config, "backend"));
    return atoll_commit_add(ledger, &event, err);
}

static int task_check(const struct atoll_task *task, const struct atoll_campaign_task *told,
                      struct atoll_err *err)
{
    if (atoll_id_equal(&task->id, &told->id))
        return 0;
    return atoll_err_set(
        err, ATOLL_E_MISMATCH,
        "%s: task '%s' was changed after the campaign was made; a campaign's files are never edited: "
        "start a new campaign",
        told->dir, told->name);
}

/* The encoded task is borrowed by the event, so the round is committed while it lives. */
static int add_task(struct atoll_commit *ledger, const struct atoll_campaign_task *told, uint32_t number,
                    int64_t campaign_ns, int64_t unix_ns, struct atoll_err *err)
{
    struct atoll_buffer bytes;
    struct atoll_task *task = atoll_task_load(told->dir, err);
    atoll_buffer_init(&bytes, TASK_BYTES_LIMIT);
    int rc = task ? task_check(task, told, err) : -1;
    if (rc == 0)
        rc = atoll_task_encode(task, &bytes, err);
    if (rc == 0) {
        struct atoll_event event;
        atoll_event_init(&event, ATOLL_EVENT_TASK);
        event.campaign_ns = campaign_ns;
        event.unix_ns = unix_ns;
        event.task = number;
        event.task_bytes = bytes.data;
        event.task_length = bytes.length;
        rc = atoll_commit_add(ledger, &event, err);
        if (rc == 0)
            rc = atoll_commit_now(ledger, err);
    }
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
    return rc;
}

static int add_resume(struct atoll_commit *ledger, int64_t campaign_ns, int64_t unix_ns,
                      struct atoll_err *err)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_RESUME);
    event.campaign_ns = campaign_ns;
    event.unix_ns = unix_ns;
    if (atoll_commit_add(ledger, &event, err) != 0)
        return -1;
    return atoll_commit_now(ledger, err);
}

/* A round of events of prior.atl from the cursor on; those before `known` are there already.  1: more follow. */
static int add_prior_round(struct atoll_commit *ledger, const struct atoll_prior *prior,
                           const struct atoll_event *now, uint64_t known, size_t *cursor, uint64_t *number,
                           struct atoll_arena *arena, struct atoll_err *err)
{
    int got = 1;
    while (got == 1 && atoll_commit_round_count(ledger) < ATOLL_COMMIT_ROUND_LIMIT) {
        struct atoll_event event;
        got = atoll_prior_next(prior, cursor, arena, &event, err);
        if (got != 1 || (*number)++ < known)
            continue;
        event.campaign_ns = now->campaign_ns;
        event.unix_ns = now->unix_ns;
        if (atoll_commit_add(ledger, &event, err) != 0)
            return -1;
    }
    if (got < 0 || atoll_commit_now(ledger, err) != 0)
        return -1;
    return got;
}

static int add_prior(struct atoll_commit *ledger, const struct atoll_prior *prior,
                     const struct atoll_event *now, uint64_t known, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(PRIOR_BYTES, err);
    size_t cursor = 0;
    uint64_t number = 0;
    int got = arena ? 1 : -1;
    while (got == 1) {
        got = add_prior_round(ledger, prior, now, known, &cursor, &number, arena, err);
        if (arena)
            atoll_arena_reset(arena);
    }
    atoll_arena_destroy(arena);
    return got;
}

static int start_complete(struct atoll_commit *ledger, const struct atoll_campaign_config *config,
                          const struct atoll_prior *prior, uint64_t event_count,
                          const struct atoll_event *now, struct atoll_err *err)
{
    uint32_t known = atoll_engine_task_count(atoll_commit_engine(ledger));
    uint64_t before_prior = 1 + (uint64_t)config->task_count;
    if (event_count == 0 &&
        (add_start(ledger, config, now->unix_ns, err) != 0 || atoll_commit_now(ledger, err) != 0))
        return -1;
    for (uint32_t i = known; i < config->task_count; i++) {
        if (add_task(ledger, &config->tasks[i], i, now->campaign_ns, now->unix_ns, err) != 0)
            return -1;
    }
    if (event_count >= before_prior + prior->count)
        return add_resume(ledger, now->campaign_ns, now->unix_ns, err);
    uint64_t there = event_count > before_prior ? event_count - before_prior : 0;
    return prior->count ? add_prior(ledger, prior, now, there, err) : 0;
}

static int events_add(struct atoll_commit *ledger, const struct atoll_campaign *campaign,
                      uint64_t event_count, int64_t campaign_ns, int64_t unix_ns, struct atoll_err *err)
{
    struct atoll_event now = {.campaign_ns = campaign_ns, .unix_ns = unix_ns};
    struct atoll_prior prior;
    if (atoll_prior_read(campaign, &prior, err) != 0)
        return -1;
    int rc = start_complete(ledger, atoll_campaign_config(campaign), &prior, event_count, &now, err);
    atoll_prior_fini(&prior);
    return rc;
}

/* What the attempt before was killed over: it wrote the events of a round, not all of what the engine said to
 * them. */
static int decisions_complete(struct atoll_journal *journal, const struct atoll_replayed *replayed,
                              struct atoll_err *err)
{
    for (size_t i = 0; i < replayed->undecided_count; i++) {
        const struct atoll_undecided *step = &replayed->undecided[i];
        if (atoll_journal_append_decisions(journal, step->event, replayed->decisions + step->first,
                                           step->count, err) != 0)
            return -1;
    }
    return 0;
}

static int ledger_start(struct atoll_campaign *campaign, const char *job, int64_t now_unix_ns,
                        uint64_t snapshot_events, struct atoll_replayed *replayed,
                        const struct atoll_commit_hooks *hooks, struct atoll_resumed *resumed,
                        struct atoll_err *err)
{
    if (hooks->may_write && hooks->may_write(hooks->context, err) != 0)
        return -1;
    struct atoll_journal *journal = atoll_campaign_start_attempt(campaign, job, ATOLL_ENGINE_VERSION,
                                                                 now_unix_ns, &resumed->attempt_dir, err);
    if (!journal || decisions_complete(journal, replayed, err) != 0) {
        atoll_journal_destroy(journal);
        return -1;
    }
    resumed->ledger = atoll_commit_create(replayed->engine, journal, hooks, err);
    replayed->engine = NULL;
    if (!resumed->ledger)
        return -1;
    atoll_commit_snapshots(resumed->ledger, snapshot_events, &replayed->age);
    return events_add(resumed->ledger, campaign, replayed->report.event_count, replayed->campaign_ns,
                      now_unix_ns, err);
}

/* The journal says whether the search is over; the replayed search must agree. */
static int finish_check(const struct atoll_replayed *replayed, int is_finished, struct atoll_err *err)
{
    struct atoll_engine_status status;
    atoll_engine_status(replayed->engine, &status);
    if (!is_finished || (status.stopped && replayed->undecided_count == 0))
        return 0;
    return atoll_err_set(
        err, ATOLL_E_CORRUPT,
        "attempt %s was closed with reason '%s', but the search that its journals give has not stopped; "
        "restore the campaign from a copy",
        replayed->report.last, replayed->report.reason);
}

int atoll_resume(struct atoll_campaign *campaign, const char *job, int64_t now_unix_ns,
                 uint64_t snapshot_events, const struct atoll_commit_hooks *hooks,
                 struct atoll_resumed *ret_resumed, struct atoll_err *err)
{
    struct atoll_replayed replayed;
    if (atoll_replay_latest(campaign, &replayed, err) != 0)
        return -1;
    struct atoll_resumed resumed = {.campaign_ns = replayed.campaign_ns,
                                    .lost_bytes = replayed.report.torn_bytes,
                                    .event_count = replayed.report.event_count,
                                    .stepped_count = replayed.stepped_count,
                                    .quarantined_count = replayed.report.quarantined_count};
    memcpy(resumed.quarantined, replayed.report.quarantined, sizeof resumed.quarantined);
    resumed.is_finished = atoll_journal_is_final(replayed.report.ending, replayed.report.reason);
    int rc = finish_check(&replayed, resumed.is_finished, err);
    if (rc == 0 && !resumed.is_finished)
        rc = ledger_start(campaign, job, now_unix_ns, snapshot_events, &replayed, hooks, &resumed, err);
    atoll_replayed_fini(&replayed);
    if (rc == 0)
        *ret_resumed = resumed;
    else
        atoll_commit_destroy(resumed.ledger);
    return rc;
}
