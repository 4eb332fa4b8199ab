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
    struct atoll_commit_hooks hooks;
    struct atoll_decisions decisions;
    struct atoll_event events[ATOLL_COMMIT_ROUND_LIMIT];
    uint64_t numbers[ATOLL_COMMIT_ROUND_LIMIT];
    size_t count;
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

static uint64_t journal_bytes(const struct atoll_commit *ledger)
{
    return atoll_journal_durable_bytes(ledger->journal) + atoll_journal_pending_bytes(ledger->journal);
}

struct atoll_commit *atoll_commit_create(struct atoll_engine *engine, struct atoll_journal *journal,
                                         const struct atoll_commit_hooks *hooks, struct atoll_err *err)
{
    struct atoll_commit *ledger = calloc(1, sizeof *ledger);
    if (!ledger) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the ledger");
        atoll_engine_destroy(engine);
        atoll_journal_destroy(journal);
        return NULL;
    }
    ledger->engine = engine;
    ledger->journal = journal;
    ledger->hooks = *hooks;
    ledger->every_events = ATOLL_SNAPSHOT_EVENTS;
    ledger->journal_bytes = journal_bytes(ledger);
    atoll_buffer_init(&ledger->state, STATE_LIMIT_BYTES);
    return ledger;
}

static void round_clear(struct atoll_commit *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        atoll_event_fini(&ledger->events[i]);
    ledger->count = 0;
}

void atoll_commit_destroy(struct atoll_commit *ledger)
{
    if (!ledger)
        return;
    round_clear(ledger);
    atoll_decisions_fini(&ledger->decisions);
    atoll_buffer_fini(&ledger->state);
    atoll_engine_destroy(ledger->engine);
    atoll_journal_destroy(ledger->journal);
    free(ledger);
}

struct atoll_engine *atoll_commit_engine(struct atoll_commit *ledger)
{
    return ledger->engine;
}

struct atoll_journal *atoll_commit_journal(struct atoll_commit *ledger)
{
    return ledger->journal;
}

size_t atoll_commit_round_count(const struct atoll_commit *ledger)
{
    return ledger->count;
}

int atoll_commit_add(struct atoll_commit *ledger, struct atoll_event *event, struct atoll_err *err)
{
    size_t index = ledger->count;
    if (index == ATOLL_COMMIT_ROUND_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d events in one round",
                             ATOLL_COMMIT_ROUND_LIMIT);
    if (atoll_journal_append_event(ledger->journal, event, &ledger->numbers[index], err) != 0)
        return -1;
    ledger->events[index] = *event;
    ledger->count++;
    atoll_event_init(event, event->type);
    return 0;
}

static int may_write(const struct atoll_commit *ledger, struct atoll_err *err)
{
    return ledger->hooks.may_write ? ledger->hooks.may_write(ledger->hooks.context, err) : 0;
}

/* A process may be stopped at any line and go on when another one writes: so it asks on both sides of the sync. */
static int sync_or_wait(struct atoll_commit *ledger, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    if (may_write(ledger, err) != 0)
        return -1;
    while (atoll_journal_sync(ledger->journal, &own) != 0) {
        if (own.code != ATOLL_E_FULL || !ledger->hooks.no_space ||
            ledger->hooks.no_space(ledger->hooks.context, &own) != 0) {
            if (err)
                *err = own;
            return -1;
        }
        atoll_err_clear(&own);
        if (may_write(ledger, err) != 0)
            return -1;
    }
    return may_write(ledger, err);
}

static int event_step(struct atoll_commit *ledger, size_t index, struct atoll_err *err)
{
    struct atoll_decisions *decisions = &ledger->decisions;
    const struct atoll_commit_hooks *hooks = &ledger->hooks;
    const struct atoll_event *event = &ledger->events[index];
    atoll_decisions_clear(decisions);
    if (atoll_engine_step(ledger->engine, event, atoll_decisions_sink, decisions, err) != 0 ||
        atoll_decisions_check(decisions, err) != 0 ||
        atoll_journal_append_decisions(ledger->journal, ledger->numbers[index], decisions->items,
                                       decisions->count, err) != 0)
        return -1;
    for (size_t i = 0; i < decisions->count && hooks->decided; i++) {
        if (hooks->decided(hooks->context, &decisions->items[i], err) != 0)
            return -1;
    }
    if (hooks->settled)
        hooks->settled(hooks->context, event);
    return 0;
}

void atoll_commit_snapshots(struct atoll_commit *ledger, uint64_t every_events,
                            const struct atoll_snapshot_age *age)
{
    ledger->every_events = every_events ? every_events : ATOLL_SNAPSHOT_EVENTS;
    ledger->age = *age;
}

/* After the last event of a round, when all of its decisions are appended.  A search runs as well without: a
 * state that cannot be saved is tried again when the journal has grown as if it had been. */
static void snapshot_consider(struct atoll_commit *ledger, uint64_t event)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer *state = &ledger->state;
    uint64_t bytes = journal_bytes(ledger);
    ledger->age.events += ledger->count;
    ledger->age.bytes += bytes - ledger->journal_bytes;
    ledger->journal_bytes = bytes;
    if (!atoll_snapshot_is_due(&ledger->age, ledger->every_events))
        return;
    atoll_buffer_clear(state);
    if (atoll_engine_save(ledger->engine, state, &err) != 0 || atoll_buffer_check(state, &err) != 0 ||
        atoll_journal_append_snapshot(ledger->journal, event, state->data, state->length, &err) != 0)
        atoll_log(ATOLL_LOG_WARNING, "eval.snapshot", "no snapshot after event %llu: %s",
                  (unsigned long long)event, err.text);
    ledger->age = (struct atoll_snapshot_age){.snapshot_bytes = state->length};
    ledger->journal_bytes = journal_bytes(ledger);
}

int atoll_commit_now(struct atoll_commit *ledger, struct atoll_err *err)
{
    int rc = 0;
    if (ledger->count == 0)
        return 0;
    if (sync_or_wait(ledger, err) != 0)
        return -1;
    if (ledger->hooks.durable)
        ledger->hooks.durable(ledger->hooks.context, ledger->events, ledger->count);
    for (size_t i = 0; i < ledger->count && rc == 0; i++)
        rc = event_step(ledger, i, err);
    if (rc == 0)
        snapshot_consider(ledger, ledger->numbers[ledger->count - 1]);
    round_clear(ledger);
    return rc;
}

int atoll_commit_close(struct atoll_commit *ledger, int64_t unix_ns, const char *reason,
                       struct atoll_err *err)
{
    if (atoll_journal_append_close(ledger->journal, unix_ns, reason, err) != 0)
        return -1;
    return sync_or_wait(ledger, err);
}
