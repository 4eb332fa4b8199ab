/* resume.c - starting and resuming.
 * A killed start leaves any prefix of: START, TASK 0, TASK 1, ..., the events of prior.atl; what is missing is added.
 * EXTEND is added where more budget is given, and RESUME when a former attempt got as far as all of them. */
#include "mpi-eval/coordinator/resume.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/campaign/prior.h"
#include "base/word_list.h"
#include "mpi-eval/coordinator/replay.h"

#define PRIOR_BYTES        (64u << 20) /* texts of one round */
#define TASK_BYTES_LIMIT   (64u << 20)
#define ARCHIVE_LONGEST_NS 1800e9

struct resume {
    const struct atoll_resume_settings *settings;
    const struct atoll_config *config;
    struct atoll_commit *commit;
    struct atoll_decisions *decisions; /* grows */
    int64_t campaign_ns;
};

static void event_of_now(const struct resume *r, struct atoll_event *event, enum atoll_event_type type)
{
    atoll_event_init(event, type);
    event->campaign_ns = r->campaign_ns;
    event->unix_ns = r->settings->now_unix_ns;
}

/* Makes the round durable, waits for space where the disk is full, and gives its events to the engine. */
static int commit_round(struct resume *r, struct atoll_err *err)
{
    const struct atoll_resume_settings *s = r->settings;
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_commit_step step;
    int got;
    while (atoll_commit_sync(r->commit, &own) != 0) {
        if (own.code != ATOLL_E_FULL || !s->shutdown ||
            atoll_shutdown_wait_for_space(s->shutdown, atoll_campaign_clock_now_ns(s->clock), &own) != 0) {
            if (err)
                *err = own;
            return -1;
        }
        atoll_err_clear(&own);
    }
    while ((got = atoll_commit_step(r->commit, &step, err)) == 1) {
        for (size_t i = 0; i < step.decision_count; i++) {
            enum atoll_decision_type type = step.decisions[i].type;
            if (type == ATOLL_DECIDE_EVALUATE || type == ATOLL_DECIDE_DUEL || type == ATOLL_DECIDE_RIVAL ||
                type == ATOLL_DECIDE_ABANDON || type == ATOLL_DECIDE_ASK) {
                atoll_decisions_sink(r->decisions, &step.decisions[i]);
            }
        }
    }
    return got < 0 ? -1 : atoll_decisions_check(r->decisions, err);
}

static int add_start(struct resume *r, struct atoll_err *err)
{
    struct atoll_event event;
    const char *backend = "";
    for (size_t i = 0; i < r->config->option_count; i++)
        if (strcmp(r->config->options[i].key, "backend") == 0)
            backend = r->config->options[i].value;
    event_of_now(r, &event, ATOLL_EVENT_START);
    event.search = r->config->search;
    event.search.language = atoll_language_of_backend(backend, event.search.triton);
    return atoll_commit_add(r->commit, &event, err) != 0 ? -1 : commit_round(r, err);
}

/* One that begins with its baselines alone. */
static int is_seedless(const struct resume *r, const struct atoll_task *task)
{
    for (size_t i = 0; i < r->config->option_count; i++)
        if (strcmp(r->config->options[i].key, ATOLL_RESUME_SEEDLESS_OPTION) == 0)
            return atoll_word_is_in(r->config->options[i].value, task->name);
    return 0;
}

/* The encoded task is borrowed by the event, so the round is committed while it lives. */
static int add_task(struct resume *r, uint32_t number, struct atoll_err *err)
{
    const struct atoll_campaign_task *listed = &r->config->tasks[number];
    struct atoll_event event;
    struct atoll_buffer bytes;
    int rc = -1;
    struct atoll_task *task = atoll_task_load(listed->dir, err);
    atoll_buffer_init(&bytes, TASK_BYTES_LIMIT);
    if (!task)
        goto done;
    if (!atoll_id_equal(&task->id, &listed->id)) {
        atoll_err_set(err, ATOLL_E_MISMATCH,
                      "%s: task '%s' was changed after the campaign was made; a campaign's files are never "
                      "edited: start a new campaign",
                      listed->dir, listed->name);
        goto done;
    }
    if (is_seedless(r, task))
        atoll_task_drop_seeds(task);
    if (atoll_task_encode(task, &bytes, err) != 0)
        goto done;
    event_of_now(r, &event, ATOLL_EVENT_TASK);
    event.task = number;
    event.task_bytes = bytes.data;
    event.task_length = bytes.length;
    rc = atoll_commit_add(r->commit, &event, err) != 0 ? -1 : commit_round(r, err);
done:
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
    return rc;
}

/* The events of prior.atl, in rounds; the first `known` of them are there already. */
static int add_prior(struct resume *r, const struct atoll_prior *prior, uint64_t known, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(PRIOR_BYTES, err); /* what the events of a round borrow */
    size_t cursor = 0;
    uint64_t number = 0;
    int got = arena ? 1 : -1;
    while (got == 1) {
        while (got == 1 && atoll_commit_round_count(r->commit) < ATOLL_COMMIT_ROUND_LIMIT) {
            struct atoll_event event;
            got = atoll_prior_next(prior, &cursor, arena, &event, err);
            if (got != 1 || number++ < known)
                continue;
            event.campaign_ns = r->campaign_ns;
            event.unix_ns = r->settings->now_unix_ns;
            if (atoll_commit_add(r->commit, &event, err) != 0)
                got = -1;
        }
        if (got >= 0 && commit_round(r, err) != 0)
            got = -1;
        atoll_arena_reset(arena);
    }
    atoll_arena_destroy(arena);
    return got;
}

/* event_count: those that former attempts left. */
static int add_events(struct resume *r, uint64_t event_count, struct atoll_err *err)
{
    struct atoll_prior prior;
    uint64_t before_prior = 1 + (uint64_t)r->config->task_count;
    if (atoll_prior_read(r->settings->campaign, &prior, err) != 0)
        return -1;
    uint32_t task = atoll_engine_task_count(atoll_commit_engine(r->commit));
    int rc = event_count == 0 ? add_start(r, err) : 0;
    while (rc == 0 && task < r->config->task_count)
        rc = add_task(r, task++, err);
    int is_resume = event_count >= before_prior + prior.count;
    if (rc == 0 && !is_resume && prior.count)
        rc = add_prior(r, &prior, event_count > before_prior ? event_count - before_prior : 0, err);
    if (rc == 0 && r->settings->extension) {
        struct atoll_event event;
        event_of_now(r, &event, ATOLL_EVENT_EXTEND);
        event.extension = *r->settings->extension;
        rc = atoll_commit_add(r->commit, &event, err);
    }
    if (rc == 0 && is_resume) {
        struct atoll_event event;
        event_of_now(r, &event, ATOLL_EVENT_RESUME);
        rc = atoll_commit_add(r->commit, &event, err);
    }
    if (rc == 0 && atoll_commit_round_count(r->commit) > 0)
        rc = commit_round(r, err);
    atoll_prior_fini(&prior);
    return rc;
}

/* Opens the next attempt's journal and writes into it what the attempt before was killed over: it wrote the events of a round,
 * and not all of what the engine decided on them. */
static struct atoll_journal *start_journal(const struct atoll_resume_settings *s,
                                           const struct atoll_replayed *replayed, const char **ret_dir,
                                           struct atoll_err *err)
{
    struct atoll_journal *journal =
        atoll_campaign_start_attempt(s->campaign, s->job, ATOLL_ENGINE_VERSION, s->now_unix_ns, ret_dir, err);
    for (size_t i = 0; journal && i < replayed->undecided_count; i++) {
        const struct atoll_undecided *step = &replayed->undecided[i];
        if (atoll_journal_append_decisions(journal, step->event, replayed->decisions + step->first,
                                           step->count, err) != 0) {
            atoll_journal_destroy(journal);
            journal = NULL;
        }
    }
    return journal;
}

int atoll_resume(const struct atoll_resume_settings *settings, struct atoll_resumed *ret_resumed,
                 struct atoll_err *err)
{
    struct atoll_replayed replayed;
    struct atoll_engine_status status;
    struct atoll_journal *journal;
    int rc = -1;
    if (atoll_replay_latest(settings->campaign, &replayed, err) != 0)
        return -1;
    struct atoll_resumed resumed = {.campaign_ns = replayed.campaign_ns,
                                    .lost_bytes = replayed.report.torn_bytes,
                                    .event_count = replayed.report.event_count,
                                    .stepped_count = replayed.stepped_count,
                                    .quarantined_count = replayed.report.quarantined_count};
    memcpy(resumed.quarantined, replayed.report.quarantined, sizeof(resumed.quarantined));
    /* The journal says whether the search is over; the replayed search must agree. */
    resumed.is_finished = atoll_journal_is_final(replayed.report.ending, replayed.report.reason);
    atoll_engine_status(replayed.engine, &status);
    if (resumed.is_finished && settings->extension && status.stopped && replayed.undecided_count == 0) {
        resumed.is_finished = 0;
    } else if (resumed.is_finished) {
        rc = status.stopped && replayed.undecided_count == 0
                 ? 0
                 : atoll_err_set(err, ATOLL_E_CORRUPT,
                                 "attempt %s was closed with reason '%s', but the search that its journals "
                                 "give has not stopped; restore the campaign from a copy",
                                 replayed.report.last, replayed.report.reason);
        goto done;
    }
    if (atoll_lease_renewer_check(settings->lease_renewer, err) != 0)
        goto done;
    journal = start_journal(settings, &replayed, &resumed.attempt_dir, err);
    if (!journal)
        goto done;
    resumed.commit = atoll_commit_create(replayed.engine, journal, settings->lease_renewer, err);
    replayed.engine = NULL;
    if (!resumed.commit)
        goto done;
    atoll_commit_snapshots(resumed.commit, settings->snapshot_events, &replayed.age);
    struct resume r = {settings, atoll_campaign_config(settings->campaign), resumed.commit,
                       &resumed.decisions, replayed.campaign_ns};
    rc = add_events(&r, replayed.report.event_count, err);
done:
    atoll_replayed_fini(&replayed);
    if (rc == 0) {
        *ret_resumed = resumed;
    } else {
        atoll_commit_destroy(resumed.commit);
        atoll_decisions_fini(&resumed.decisions);
    }
    return rc;
}

int atoll_resume_extend(const char *dir, const char *job, const struct atoll_extension *extension,
                        struct atoll_err *err)
{
    struct atoll_lease_holder self;
    struct atoll_resumed resumed;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    struct atoll_resume_settings settings = {
        .campaign = campaign, .job = job, .now_unix_ns = atoll_clock_unix_ns(), .extension = extension};
    int rc = -1;
    atoll_lease_holder_self(job, 0, &self);
    if (campaign && atoll_campaign_claim(campaign, &self, 0, NULL, err) == 0 &&
        atoll_resume(&settings, &resumed, err) == 0) {
        rc = atoll_commit_close(resumed.commit, atoll_clock_unix_ns(), ATOLL_CLOSE_DRAINED, err) != 0 ||
                     atoll_commit_sync(resumed.commit, err) != 0
                 ? -1
                 : 0;
        atoll_commit_destroy(resumed.commit);
        atoll_decisions_fini(&resumed.decisions);
    }
    atoll_campaign_close(campaign);
    return rc;
}

/* From the last record of its journal to its segment; archive.h5 takes as long again.  Times of files are what a copy may
 * have made of them: none beyond ARCHIVE_LONGEST_NS is believed. */
static double archive_ns_of(const struct atoll_campaign *campaign, const char *attempt)
{
    char path[PATH_MAX];
    struct stat journal, segment;
    const char *dir = atoll_campaign_dir(campaign);
    if ((size_t)snprintf(path, sizeof(path), "%s/jobs/%s/" ATOLL_JOURNAL_FILE, dir, attempt) >=
            sizeof(path) ||
        stat(path, &journal) != 0) {
        return 0;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/jobs/%s/segment-0000.h5", dir, attempt) >= sizeof(path) ||
        stat(path, &segment) != 0) {
        return 0;
    }
    double ns = 2e9 * (double)(segment.st_mtim.tv_sec - journal.st_mtim.tv_sec) +
                2.0 * (double)(segment.st_mtim.tv_nsec - journal.st_mtim.tv_nsec);
    return ns > 0 && ns < ARCHIVE_LONGEST_NS ? ns : 0;
}

double atoll_resume_last_archive_ns(const struct atoll_campaign *campaign)
{
    struct atoll_attempt *attempts;
    size_t count;
    double ns = 0;
    if (atoll_campaign_attempts(campaign, &attempts, &count, NULL) != 0)
        return 0;
    for (size_t i = count; i > 0 && ns <= 0; i--)
        ns = archive_ns_of(campaign, attempts[i - 1].name);
    free(attempts);
    return ns;
}
