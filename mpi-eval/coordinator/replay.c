/* replay.c - journals through the engine.
 * An EVENT record steps the engine; the DECISIONS record of the same event, later in this journal or at the
 * start of the next, is compared with what the step decided.  The events of one round come before the decisions
 * of all of them, so what was derived waits in a queue.  Only the last round of a campaign may lack
 * decisions: its writer was killed.  Of events that a snapshot has seen only the last is decoded, for its
 * time. */
#include "mpi-eval/coordinator/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/frame.h"
#include "base/log.h"
#include "mpi-eval/coordinator/decisions.h"

#define EVENT_ARENA_BYTES    (64u << 20)
#define DECISION_LIMIT_BYTES (64u << 10)

struct replayer {
    struct atoll_engine *engine;
    struct atoll_arena *arena;
    struct atoll_decisions derived; /* of the events in the queue */
    struct atoll_undecided queue[ATOLL_JOURNAL_UNDECIDED_LIMIT];
    size_t head, count;
    struct atoll_buffer left, right;
    int64_t campaign_ns;
    uint64_t skipped_count; /* events that the engine's snapshot has seen */
    uint64_t stepped_count;
    int compares_snapshots;
    struct atoll_prompt_replay *replay; /* borrowed; NULL: prompts are not worded again */
    struct atoll_snapshot_age age;
};

static void replayer_destroy(struct replayer *r)
{
    if (!r)
        return;
    atoll_engine_destroy(r->engine);
    atoll_arena_destroy(r->arena);
    atoll_buffer_fini(&r->left);
    atoll_buffer_fini(&r->right);
    atoll_decisions_fini(&r->derived);
    free(r);
}

/* engine: taken, also on failure; NULL = a new one. */
static struct replayer *replayer_create(struct atoll_engine *engine, struct atoll_err *err)
{
    struct replayer *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_engine_destroy(engine);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a replay");
        return NULL;
    }
    atoll_buffer_init(&r->left, DECISION_LIMIT_BYTES);
    atoll_buffer_init(&r->right, DECISION_LIMIT_BYTES);
    r->engine = engine ? engine : atoll_engine_create(err);
    r->arena = r->engine ? atoll_arena_create(EVENT_ARENA_BYTES, err) : NULL;
    if (r->arena)
        return r;
    replayer_destroy(r);
    return NULL;
}

static int step_event(struct replayer *r, const struct atoll_attempt *attempt,
                      const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_event event;
    int is_seen = record->event < r->skipped_count;
    if (r->head + r->count == ATOLL_JOURNAL_UNDECIDED_LIMIT) {
        return atoll_err_set(err, ATOLL_E_CORRUPT, "attempt %s: the decisions of event %llu are missing",
                             attempt->name, (unsigned long long)r->queue[r->head].event);
    }
    if (is_seen && record->event + 1 < r->skipped_count)
        return 0;
    struct atoll_undecided *step = &r->queue[r->head + r->count];
    *step = (struct atoll_undecided){.event = record->event, .first = r->derived.count};
    atoll_event_init(&event, ATOLL_EVENT_START);
    atoll_arena_reset(r->arena);
    int rc = atoll_event_decode(record->bytes, record->length, r->arena, &event, err);
    if (rc == 0)
        r->campaign_ns = event.campaign_ns;
    if (rc == 0 && !is_seen) {
        rc = atoll_engine_step(r->engine, &event, atoll_decisions_sink, &r->derived, err);
        if (rc == 0)
            rc = atoll_decisions_check(&r->derived, err);
        step->count = r->derived.count - step->first;
        if (rc == 0 && r->replay) {
            rc = atoll_prompt_replay_step(r->replay, r->engine, &event,
                                          step->count ? r->derived.items + step->first : NULL, step->count,
                                          err);
        }
        r->count++;
        r->stepped_count++;
    }
    atoll_event_fini(&event);
    return rc;
}

static int is_equal(struct replayer *r, const struct atoll_decision *left, const struct atoll_decision *right)
{
    atoll_buffer_clear(&r->left);
    atoll_buffer_clear(&r->right);
    atoll_decision_encode(left, &r->left);
    atoll_decision_encode(right, &r->right);
    return r->left.length == r->right.length && memcmp(r->left.data, r->right.data, r->left.length) == 0;
}

static int compare_decisions(struct replayer *r, const struct atoll_attempt *attempt,
                             const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_decision decision;
    size_t cursor = 0, index = 0;
    int rc = 0;
    if (record->event < r->skipped_count)
        return 0;
    if (r->count == 0 || r->queue[r->head].event != record->event) {
        return atoll_err_set(err, ATOLL_E_CORRUPT,
                             "attempt %s: decisions of event %llu where others were due", attempt->name,
                             (unsigned long long)record->event);
    }
    const struct atoll_undecided *step = &r->queue[r->head];
    while ((rc = atoll_record_decision(record, &cursor, &decision, err)) == 1) {
        if (index >= step->count || !is_equal(r, &decision, &r->derived.items[step->first + index]))
            break;
        index++;
    }
    if (rc < 0)
        return -1;
    if (rc > 0 || index != step->count) {
        return atoll_err_set(
            err, ATOLL_E_MISMATCH,
            "attempt %s, event %llu: decision %zu of the journal is not what the engine decides now (%u "
            "recorded, %zu derived)",
            attempt->name, (unsigned long long)record->event, index + 1, record->decision_count, step->count);
    }
    r->head++;
    if (--r->count == 0) {
        r->head = 0;
        atoll_decisions_clear(&r->derived);
    }
    return 0;
}

static int compare_snapshot(struct replayer *r, const struct atoll_attempt *attempt,
                            const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_buffer state;
    atoll_buffer_init(&state, ATOLL_FRAME_PAYLOAD_LIMIT);
    int rc = atoll_engine_save(r->engine, &state, err);
    if (rc == 0 && (r->count > 0 || state.length != record->length ||
                    memcmp(state.data, record->bytes, state.length) != 0)) {
        rc = atoll_err_set(err, ATOLL_E_MISMATCH,
                           "attempt %s: the snapshot after event %llu is not the state that the events give",
                           attempt->name, (unsigned long long)record->event);
    }
    atoll_buffer_fini(&state);
    return rc;
}

static int visit(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                 struct atoll_err *err)
{
    struct replayer *r = context;
    r->age.bytes += record->end_offset - record->offset;
    r->age.events += record->type == ATOLL_RECORD_EVENT;
    switch (record->type) {
    case ATOLL_RECORD_HEADER:
        if (record->header.engine_version == ATOLL_ENGINE_VERSION)
            return 0;
        return atoll_err_set(err, ATOLL_E_SCHEMA,
                             "attempt %s was written by engine version %u, this is version %u: use that "
                             "version of Atoll, or start a new campaign",
                             attempt->name, record->header.engine_version, ATOLL_ENGINE_VERSION);
    case ATOLL_RECORD_EVENT: return step_event(r, attempt, record, err);
    case ATOLL_RECORD_DECISIONS: return compare_decisions(r, attempt, record, err);
    case ATOLL_RECORD_SNAPSHOT:
        if (r->compares_snapshots && compare_snapshot(r, attempt, record, err) != 0)
            return -1;
        r->age = (struct atoll_snapshot_age){.snapshot_bytes = record->length};
        return 0;
    case ATOLL_RECORD_DEVICE:
        return r->replay ? atoll_prompt_replay_device(r->replay, &record->device, err) : 0;
    default: return 0;
    }
}

/* replayer: taken; NULL = its creation failed. */
static int run_replay(const struct atoll_campaign *campaign, struct replayer *replayer,
                      struct atoll_replayed *ret_replayed, struct atoll_err *err)
{
    struct atoll_replayed replayed = {.engine = NULL};
    int rc = replayer ? atoll_campaign_replay(campaign, visit, replayer, &replayed.report, err) : -1;
    if (rc == 0 && replayer->count > 0) { /* the last round lacks decisions: they are handed over */
        replayed.undecided = calloc(replayer->count, sizeof(*replayed.undecided));
        if (!replayed.undecided) {
            rc = atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a replay");
        } else {
            memcpy(replayed.undecided, replayer->queue + replayer->head,
                   replayer->count * sizeof(*replayed.undecided));
            replayed.undecided_count = replayer->count;
            replayed.decisions = replayer->derived.items;
            replayer->derived = (struct atoll_decisions){NULL, 0, 0, 0};
        }
    }
    if (rc == 0) {
        replayed.engine = replayer->engine;
        replayed.campaign_ns = replayer->campaign_ns;
        replayed.stepped_count = replayer->stepped_count;
        replayed.age = replayer->age;
        replayer->engine = NULL;
        *ret_replayed = replayed;
    }
    replayer_destroy(replayer);
    return rc;
}

int atoll_replay_campaign(const struct atoll_campaign *campaign, struct atoll_prompt_replay *replay,
                          struct atoll_replayed *ret_replayed, struct atoll_err *err)
{
    struct replayer *replayer = replayer_create(NULL, err);
    if (replayer) {
        replayer->compares_snapshots = 1;
        replayer->replay = replay;
    }
    return run_replay(campaign, replayer, ret_replayed, err);
}

/* The engine of the last snapshot and how many events it has seen; 0 without one that loads. */
static int load_snapshot(const struct atoll_campaign *campaign, struct atoll_engine **ret_engine,
                         uint64_t *ret_seen, struct atoll_err *err)
{
    struct atoll_buffer state;
    struct atoll_err why = ATOLL_ERR_INIT;
    uint64_t event;
    atoll_buffer_init(&state, ATOLL_FRAME_PAYLOAD_LIMIT);
    int got = atoll_campaign_last_snapshot(campaign, ATOLL_ENGINE_VERSION, &event, &state, err);
    if (got == 1) {
        *ret_engine = atoll_engine_load(state.data, state.length, &why);
        *ret_seen = event + 1;
        got = *ret_engine != NULL;
        if (!got) {
            atoll_log(ATOLL_LOG_WARNING, "eval.snapshot.ignored", "the snapshot after event %llu: %s",
                      (unsigned long long)event, why.text);
        }
    }
    atoll_buffer_fini(&state);
    return got;
}

static int replay_from(const struct atoll_campaign *campaign, struct atoll_engine *engine, uint64_t seen,
                       struct atoll_replayed *ret_replayed, struct atoll_err *err)
{
    struct replayer *replayer = replayer_create(engine, err);
    if (replayer)
        replayer->skipped_count = seen;
    return run_replay(campaign, replayer, ret_replayed, err);
}

int atoll_replay_latest(const struct atoll_campaign *campaign, struct atoll_replayed *ret_replayed,
                        struct atoll_err *err)
{
    struct atoll_engine *engine;
    struct atoll_err why = ATOLL_ERR_INIT;
    uint64_t seen;
    int got = load_snapshot(campaign, &engine, &seen, err);
    if (got < 0)
        return -1;
    if (got == 1 && replay_from(campaign, engine, seen, ret_replayed, &why) == 0)
        return 0;
    if (got == 1) {
        atoll_log(ATOLL_LOG_WARNING, "eval.snapshot.ignored", "the snapshot after event %llu: %s",
                  (unsigned long long)seen - 1, why.text);
    }
    return replay_from(campaign, NULL, 0, ret_replayed, err);
}

void atoll_replayed_fini(struct atoll_replayed *replayed)
{
    atoll_engine_destroy(replayed->engine);
    free(replayed->undecided);
    free(replayed->decisions);
    *replayed = (struct atoll_replayed){.engine = NULL};
}

int atoll_replay(const char *dir, const char *recording, const char *record,
                 struct atoll_replay_report *ret_report, struct atoll_prompt_replay_report *ret_prompts,
                 struct atoll_id *ret_digest, struct atoll_err *err)
{
    struct atoll_replayed replayed;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    struct atoll_prompt_replay *replay =
        campaign ? atoll_prompt_replay_create(campaign, recording, record, err) : NULL;
    int rc = replay ? atoll_replay_campaign(campaign, replay, &replayed, err) : -1;
    if (rc == 0 && atoll_prompt_replay_finish(replay, err) != 0) {
        atoll_replayed_fini(&replayed);
        rc = -1;
    }
    if (rc == 0) {
        if (ret_prompts)
            atoll_prompt_replay_report(replay, ret_prompts);
        if (ret_report)
            *ret_report = replayed.report;
        if (ret_digest)
            *ret_digest = atoll_engine_digest(replayed.engine);
        atoll_replayed_fini(&replayed);
    }
    atoll_prompt_replay_destroy(replay);
    atoll_campaign_close(campaign);
    return rc;
}
