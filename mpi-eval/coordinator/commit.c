/* commit.c - rounds: append all events, one sync, then step by step with the decisions appended behind.  The
 * decisions of a round, and a snapshot behind them, become durable with the next sync: they can be derived
 * again, so an order may leave before. */
#include "mpi-eval/coordinator/commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/log.h"
#include "mpi-eval/coordinator/decisions.h"

#define STATE_LIMIT_BYTES ((size_t)ATOLL_FRAME_PAYLOAD_LIMIT - 64) /* a record's other fields */

struct atoll_commit {
    struct atoll_engine *engine;
    struct atoll_journal *journal;
    struct atoll_lease_renewer *lease_renewer; /* borrowed */
    struct atoll_decisions decisions;          /* of the last step */
    struct atoll_event events[ATOLL_COMMIT_ROUND_LIMIT];
    uint64_t numbers[ATOLL_COMMIT_ROUND_LIMIT];
    size_t count, stepped; /* events of the round; of them seen by the engine */
    int is_closed;
    struct atoll_snapshot_age age;
    uint64_t every_events;
    uint64_t journal_bytes; /* appended when the age was last brought up to date */
    struct atoll_buffer state;
};

int atoll_snapshot_is_due(const struct atoll_snapshot_age *age, uint64_t every_events)
{
    return (age->events >= every_events || age->bytes >= ATOLL_SNAPSHOT_BYTES) &&
           age->bytes >= ATOLL_SNAPSHOT_SHARE * age->snapshot_bytes;
}

static uint64_t journal_bytes(const struct atoll_commit *commit)
{
    return atoll_journal_durable_bytes(commit->journal) + atoll_journal_pending_bytes(commit->journal);
}

struct atoll_commit *atoll_commit_create(struct atoll_engine *engine, struct atoll_journal *journal,
                                         struct atoll_lease_renewer *lease_renewer, struct atoll_err *err)
{
    struct atoll_commit *commit = calloc(1, sizeof(*commit));
    if (!commit) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the rounds of events");
        atoll_engine_destroy(engine);
        atoll_journal_destroy(journal);
        return NULL;
    }
    commit->engine = engine;
    commit->journal = journal;
    commit->lease_renewer = lease_renewer;
    commit->every_events = ATOLL_SNAPSHOT_EVENTS;
    commit->journal_bytes = journal_bytes(commit);
    atoll_buffer_init(&commit->state, STATE_LIMIT_BYTES);
    return commit;
}

static void round_clear(struct atoll_commit *commit)
{
    for (size_t i = 0; i < commit->count; i++)
        atoll_event_fini(&commit->events[i]);
    commit->count = commit->stepped = 0;
}

void atoll_commit_destroy(struct atoll_commit *commit)
{
    if (!commit)
        return;
    round_clear(commit);
    atoll_decisions_fini(&commit->decisions);
    atoll_buffer_fini(&commit->state);
    atoll_engine_destroy(commit->engine);
    atoll_journal_destroy(commit->journal);
    free(commit);
}

struct atoll_engine *atoll_commit_engine(struct atoll_commit *commit)
{
    return commit->engine;
}

struct atoll_journal *atoll_commit_journal(struct atoll_commit *commit)
{
    return commit->journal;
}

void atoll_commit_snapshots(struct atoll_commit *commit, uint64_t every_events,
                            const struct atoll_snapshot_age *age)
{
    commit->every_events = every_events ? every_events : ATOLL_SNAPSHOT_EVENTS;
    commit->age = *age;
}

const struct atoll_event *atoll_commit_events(const struct atoll_commit *commit, size_t *ret_count)
{
    *ret_count = commit->count;
    return commit->events;
}

size_t atoll_commit_round_count(const struct atoll_commit *commit)
{
    return commit->count;
}

int atoll_commit_add(struct atoll_commit *commit, struct atoll_event *event, struct atoll_err *err)
{
    size_t index = commit->count;
    if (index == ATOLL_COMMIT_ROUND_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d events in one round",
                             ATOLL_COMMIT_ROUND_LIMIT);
    }
    if (atoll_journal_append_event(commit->journal, event, &commit->numbers[index], err) != 0)
        return -1;
    commit->events[index] = *event;
    commit->count++;
    atoll_event_init(event, event->type);
    return 0;
}

/* A process may be stopped at any line and go on when another one writes: so the lease is checked on both sides of the
 * sync. */
int atoll_commit_sync(struct atoll_commit *commit, struct atoll_err *err)
{
    if (commit->count == 0 && !commit->is_closed)
        return 0;
    if (atoll_lease_renewer_check(commit->lease_renewer, err) != 0 ||
        atoll_journal_sync(commit->journal, err) != 0) {
        return -1;
    }
    return atoll_lease_renewer_check(commit->lease_renewer, err);
}

/* After the last event of a round, when all of its decisions are appended.  A search runs as well without: a
 * state that cannot be saved is tried again when the journal has grown as if it had been. */
static void snapshot_when_due(struct atoll_commit *commit, uint64_t event)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer *state = &commit->state;
    uint64_t bytes = journal_bytes(commit);
    commit->age.events += commit->count;
    commit->age.bytes += bytes - commit->journal_bytes;
    commit->journal_bytes = bytes;
    if (!atoll_snapshot_is_due(&commit->age, commit->every_events))
        return;
    atoll_buffer_clear(state);
    if (atoll_engine_save(commit->engine, state, &err) != 0 || atoll_buffer_check(state, &err) != 0 ||
        atoll_journal_append_snapshot(commit->journal, event, state->data, state->length, &err) != 0) {
        atoll_log(ATOLL_LOG_WARNING, "eval.snapshot", "no snapshot after event %llu: %s",
                  (unsigned long long)event, err.text);
    }
    commit->age = (struct atoll_snapshot_age){.snapshot_bytes = state->length};
    commit->journal_bytes = journal_bytes(commit);
}

int atoll_commit_step(struct atoll_commit *commit, struct atoll_commit_step *ret_step, struct atoll_err *err)
{
    struct atoll_decisions *decisions = &commit->decisions;
    size_t index = commit->stepped;
    if (index == commit->count) {
        if (commit->count > 0)
            snapshot_when_due(commit, commit->numbers[commit->count - 1]);
        round_clear(commit);
        return 0;
    }
    atoll_decisions_clear(decisions);
    if (atoll_engine_step(commit->engine, &commit->events[index], atoll_decisions_sink, decisions, err) !=
            0 ||
        atoll_decisions_check(decisions, err) != 0 ||
        atoll_journal_append_decisions(commit->journal, commit->numbers[index], decisions->items,
                                       decisions->count, err) != 0) {
        round_clear(commit);
        return -1;
    }
    commit->stepped++;
    *ret_step = (struct atoll_commit_step){&commit->events[index], decisions->items, decisions->count};
    return 1;
}

int atoll_commit_close(struct atoll_commit *commit, int64_t unix_ns, const char *reason,
                       struct atoll_err *err)
{
    commit->is_closed = 1;
    return atoll_journal_append_close(commit->journal, unix_ns, reason, err);
}
