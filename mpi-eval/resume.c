/* resume.c - starting and resuming.
 * A killed start leaves any prefix of: START, TASK 0, TASK 1, ...; what is missing is added.  RESUME is said
 * when a former attempt got as far as all tasks. */
#include "mpi-eval/resume.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/replay.h"

#define TASK_BYTES_LIMIT (64u << 20)

static const char *option_value(const struct atoll_campaign_config *config, const char *key)
{
    for (size_t i = 0; i < config->option_count; i++)
        if (strcmp(config->options[i].key, key) == 0)
            return config->options[i].value;
    return "";
}

static int add_start(struct atoll_ledger *ledger, const struct atoll_campaign_config *config, int64_t unix_ns,
                     struct atoll_err *err)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.unix_ns = unix_ns;
    event.search = config->search;
    event.search.language = atoll_language_of_backend(option_value(config, "backend"));
    return atoll_ledger_add(ledger, &event, err);
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
static int add_task(struct atoll_ledger *ledger, const struct atoll_campaign_task *told, uint32_t number,
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
        rc = atoll_ledger_add(ledger, &event, err);
        if (rc == 0)
            rc = atoll_ledger_commit(ledger, err);
    }
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
    return rc;
}

static int add_resume(struct atoll_ledger *ledger, int64_t campaign_ns, int64_t unix_ns,
                      struct atoll_err *err)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_RESUME);
    event.campaign_ns = campaign_ns;
    event.unix_ns = unix_ns;
    if (atoll_ledger_add(ledger, &event, err) != 0)
        return -1;
    return atoll_ledger_commit(ledger, err);
}

static int events_add(struct atoll_ledger *ledger, const struct atoll_campaign_config *config,
                      uint64_t event_count, int64_t campaign_ns, int64_t unix_ns, struct atoll_err *err)
{
    uint32_t known = atoll_engine_task_count(atoll_ledger_engine(ledger));
    if (event_count == 0 &&
        (add_start(ledger, config, unix_ns, err) != 0 || atoll_ledger_commit(ledger, err) != 0))
        return -1;
    for (uint32_t i = known; i < config->task_count; i++) {
        if (add_task(ledger, &config->tasks[i], i, campaign_ns, unix_ns, err) != 0)
            return -1;
    }
    return known == config->task_count ? add_resume(ledger, campaign_ns, unix_ns, err) : 0;
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
                        const struct atoll_ledger_hooks *hooks, struct atoll_resumed *resumed,
                        struct atoll_err *err)
{
    const struct atoll_campaign_config *config = atoll_campaign_config(campaign);
    struct atoll_journal *journal = atoll_campaign_start_attempt(campaign, job, ATOLL_ENGINE_VERSION,
                                                                 now_unix_ns, &resumed->attempt_dir, err);
    if (!journal || decisions_complete(journal, replayed, err) != 0) {
        atoll_journal_destroy(journal);
        return -1;
    }
    resumed->ledger = atoll_ledger_create(replayed->engine, journal, hooks, err);
    replayed->engine = NULL;
    if (!resumed->ledger)
        return -1;
    atoll_ledger_snapshots(resumed->ledger, snapshot_events, &replayed->age);
    return events_add(resumed->ledger, config, replayed->report.event_count, replayed->campaign_ns,
                      now_unix_ns, err);
}

int atoll_resume(struct atoll_campaign *campaign, const char *job, int64_t now_unix_ns,
                 uint64_t snapshot_events, const struct atoll_ledger_hooks *hooks,
                 struct atoll_resumed *ret_resumed, struct atoll_err *err)
{
    struct atoll_replayed replayed;
    struct atoll_engine_status status;
    if (atoll_replay_latest(campaign, &replayed, err) != 0)
        return -1;
    struct atoll_resumed resumed = {.campaign_ns = replayed.campaign_ns,
                                    .lost_bytes = replayed.report.torn_bytes,
                                    .event_count = replayed.report.event_count,
                                    .stepped_count = replayed.stepped_count};
    atoll_engine_status(replayed.engine, &status);
    resumed.is_finished =
        status.stopped && replayed.undecided_count == 0 && replayed.report.ending == ATOLL_JOURNAL_CLOSED;
    int rc = 0;
    if (!resumed.is_finished)
        rc = ledger_start(campaign, job, now_unix_ns, snapshot_events, &replayed, hooks, &resumed, err);
    atoll_replayed_fini(&replayed);
    if (rc == 0)
        *ret_resumed = resumed;
    else
        atoll_ledger_destroy(resumed.ledger);
    return rc;
}
