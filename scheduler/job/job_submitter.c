/* job_submitter.c - one look at all campaigns, one list of jobs per launcher, then one submission after the other for the campaign
 * whose turn it is.
 * A lease of the queue's folder, renewed between the calls, keeps two processes that submit apart.  One that gave up waiting would
 * leave a job without successor: the one before counts it as one that is still there. */
#include "scheduler/job/job_submitter.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "base/clock.h"
#include "base/print.h"
#include "base/lease.h"
#include "scheduler/campaign/campaign_queue.h"
#include "scheduler/campaign/sweep_jobs.h"
#include "scheduler/campaign/job_list.h"

#define KINDS        4
#define ARENA_BYTES  ((size_t)16 << 20)
#define LEASE_WAIT_S 900.0 /* for others, each of which takes seconds */

struct want {
    const struct atoll_campaign_queue_entry *entry;
    struct atoll_sweep *sweep;
    struct atoll_site *site;
    enum atoll_launcher_kind kind;
    size_t live, missing;
    int is_single; /* an array of it was refused */
};

/* A scheduler, and the user's jobs in it. */
struct line {
    struct atoll_launcher *launcher; /* NULL: not asked yet, or it failed */
    struct atoll_job_list jobs;
    size_t queued; /* of the user, not ended */
    int has_failed;
    struct atoll_err why; /* has_failed: it cannot be asked */
};

struct submitter {
    const struct atoll_job_submitter_settings *settings;
    struct atoll_job_submitter_result result;
    struct atoll_campaign_queue queue;
    struct want *wants;
    size_t count;
    struct line lines[KINDS]; /* by launcher kind */
    struct atoll_err failure; /* the last one that was no end of the work */
    struct atoll_lease *lease;
};

static void log_line(const struct submitter *s, const char *campaign, const char *text)
{
    if (s->settings->log)
        atoll_print(s->settings->log, "%s: %s\n", campaign, text);
}

static int is_mine(const struct submitter *s, const struct atoll_campaign_queue_entry *entry)
{
    return s->settings->mine && strcmp(s->settings->mine, entry->id) == 0;
}

static void fail(struct submitter *s, const struct atoll_campaign_queue_entry *entry,
                 const struct atoll_err *why)
{
    s->result.failed++;
    if (!s->settings->mine || is_mine(s, entry))
        s->failure = *why;
    log_line(s, entry->campaign, why->text);
}

/* ---- what each campaign wants ---- */

/* Parts that have not ended and can be worked on; those that are damaged are named and passed over, unless all are. */
static int open_count(const struct submitter *s, const struct atoll_sweep *sweep, size_t *ret_count,
                      struct atoll_err *err)
{
    size_t count = 0, damaged = 0;

    for (size_t i = 0; i < sweep->part_count; i++) {
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_campaign_progress progress;
        char path[PATH_MAX];

        if (atoll_sweep_part_path(sweep, i, path, sizeof(path), &own) == 0 &&
            atoll_campaign_progress_read(path, &progress, &own) == 0) {
            count += progress.phase != ATOLL_CAMPAIGN_PROGRESS_ENDED;
            atoll_campaign_progress_fini(&progress);
        } else if (!atoll_sweep_is_damage(own.code) || ++damaged == sweep->part_count) {
            *err = own;
            return -1;
        } else {
            log_line(s, sweep->dir, own.text);
        }
    }
    *ret_count = count;
    return 0;
}

/* The job that asks ends in a moment: what it takes of a limit is free for the next one. */
static struct line *line_of(struct submitter *s, enum atoll_launcher_kind kind)
{
    struct line *line = &s->lines[kind];
    const char *except = s->settings->except_job;

    if (line->launcher || line->has_failed)
        return line->has_failed ? NULL : line;
    line->launcher = atoll_launcher_create(kind, s->settings->timeout_s, &line->why);
    if (!line->launcher || atoll_job_list_ask(line->launcher, kind, &line->jobs, &line->why) != 0) {
        line->has_failed = 1;
        return NULL;
    }
    for (size_t i = 0; i < line->jobs.count; i++) {
        const struct atoll_job *job = &line->jobs.jobs[i];

        line->queued += !atoll_job_has_ended(job->state) && !(except && strcmp(except, job->id) == 0);
    }
    return line;
}

static int want_open(struct submitter *s, const struct atoll_campaign_queue_entry *entry, struct want *want,
                     struct atoll_err *err)
{
    char name[ATOLL_SWEEP_NAME_BYTES];
    struct line *line;
    size_t open;

    *want = (struct want){.entry = entry, .sweep = atoll_sweep_open(entry->campaign, err)};
    want->site = want->sweep ? atoll_sweep_site(want->sweep, err) : NULL;
    if (!want->site || open_count(s, want->sweep, &open, err) != 0)
        return -1;
    want->kind = want->site->launcher;
    line = line_of(s, want->kind);
    if (!line) { /* each campaign behind it gets the reason, not only the first */
        fail(s, entry, &s->lines[want->kind].why);
        return 0;
    }
    atoll_sweep_job_name(want->sweep, name);
    want->live = atoll_job_list_live(&line->jobs, name, s->settings->except_job);
    for (size_t i = 0; is_mine(s, entry) && i < line->jobs.count; i++) {
        const struct atoll_job *job = &line->jobs.jobs[i];

        s->result.ending += job->state == ATOLL_JOB_COMPLETING && strcmp(job->name, name) == 0;
    }
    open = open > want->sweep->jobs ? want->sweep->jobs : open;
    want->missing = open > want->live ? open - want->live : 0;
    return 0;
}

static void want_fini(struct want *want)
{
    atoll_site_destroy(want->site);
    atoll_sweep_close(want->sweep);
}

/* 1: it wants jobs now.  A campaign that wants none at any time is taken out of the queue. */
static int is_eligible(const struct submitter *s, const struct atoll_campaign_queue_entry *entry)
{
    int is_there = atoll_sweep_look(entry->campaign);
    const char *other;

    if (is_there < 0) {
        if (s->settings->log) {
            atoll_print(
                s->settings->log,
                "%s: cannot be seen from here and stays in the queue; where it is gone for good, remove "
                "%s/%s.json\n",
                entry->campaign, s->queue.dir, entry->id);
        }
        return 0;
    }
    if (is_there == 0 || atoll_sweep_is_done(entry->campaign) ||
        atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_CANCELLED)) {
        atoll_campaign_queue_remove(entry->id, NULL);
        return 0;
    }
    if (atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_PAUSED)) {
        log_line(s, entry->campaign, "paused; atoll continue lets it go on");
        return 0;
    }
    other = atoll_sweep_waits_for((const char *const *)(uintptr_t)entry->after, entry->after_count);
    if (other && s->settings->log)
        atoll_print(s->settings->log, "%s: waits until %s is done\n", entry->campaign, other);
    return !other;
}

/* Between two calls to a scheduler.  Once another process has the lease nothing more may be submitted here. */
static int lease_keep(struct submitter *s, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;

    if (atoll_lease_renew(s->lease, &own) == 0 || own.code != ATOLL_E_BUSY)
        return 0;
    *err = own;
    return -1;
}

static int wants_collect(struct submitter *s, struct atoll_err *err)
{
    s->count = 0;
    s->wants = calloc(s->queue.count + 1, sizeof(*s->wants));
    if (!s->wants)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the queue");
    for (size_t i = 0; i < s->queue.count; i++) {
        const struct atoll_campaign_queue_entry *entry = &s->queue.entries[i];
        struct atoll_err own = ATOLL_ERR_INIT;

        if (!is_eligible(s, entry))
            continue;
        if (lease_keep(s, err) != 0)
            return -1;
        if (want_open(s, entry, &s->wants[s->count], &own) == 0) {
            s->count++;
        } else {
            fail(s, entry, &own);
            want_fini(&s->wants[s->count]);
        }
    }
    return 0;
}

/* ---- fair shares ---- */

static int has_turn(const struct atoll_fair_share_claim *claim)
{
    return claim->missing > 0 && claim->has_room;
}

int atoll_fair_share_is_before(const struct atoll_fair_share_claim *a, const struct atoll_fair_share_claim *b)
{
    if (!has_turn(a) || !has_turn(b))
        return has_turn(a) && !has_turn(b);
    if (a->priority > b->priority || a->priority < b->priority)
        return a->priority > b->priority;
    return (double)a->live / a->share < (double)b->live / b->share;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

unsigned atoll_fair_share_elements(const struct atoll_fair_share_array *array)
{
    size_t count = array->missing;

    if (!array->is_allowed)
        return 1;
    if (array->ceiling)
        count = least(count, array->ceiling > array->queued ? array->ceiling - array->queued : 0);
    if (array->array_size)
        count = least(count, array->array_size);
    return count > 1 ? (unsigned)count : 1;
}

/* ---- submitting ---- */

static unsigned ceiling_of(const struct want *want)
{
    return want->sweep->max_queued ? want->sweep->max_queued : want->site->limits.queued;
}

/* The campaign that gets the next job; NULL: none gets any. */
static struct want *next_want(struct submitter *s)
{
    struct atoll_fair_share_claim best = {.missing = 0};
    struct want *found = NULL;

    for (size_t i = 0; i < s->count; i++) {
        struct want *want = &s->wants[i];
        const struct line *line = line_of(s, want->kind);
        struct atoll_fair_share_claim claim = {
            .priority = want->entry->priority,
            .share = want->entry->share,
            .live = want->live,
            .missing = want->missing,
            .has_room = line && (ceiling_of(want) == 0 || line->queued < ceiling_of(want))};

        if (atoll_fair_share_is_before(&claim, &best)) {
            best = claim;
            found = want;
        }
    }
    return found;
}

/* How many elements one array may bring now; 1: no array. */
static unsigned elements_for(const struct submitter *s, const struct want *want)
{
    const struct atoll_fair_share_array array = {.missing = want->missing,
                                                 .ceiling = ceiling_of(want),
                                                 .queued = (unsigned)s->lines[want->kind].queued,
                                                 .array_size = want->site->limits.array_size,
                                                 .is_allowed = want->site->limits.has_arrays &&
                                                               s->count == 1 && !want->is_single};

    return atoll_fair_share_elements(&array);
}

static int submit_some(struct submitter *s, struct want *want, struct atoll_arena *arena,
                       struct atoll_err *err)
{
    struct line *line = &s->lines[want->kind];
    unsigned count = elements_for(s, want);
    struct atoll_job_request request;
    char id[ATOLL_JOB_ID_BYTES];
    const char *script = atoll_sweep_script(want->sweep, arena, err);

    if (!script || atoll_sweep_request(want->sweep, want->site, script, arena, &request, err) != 0)
        return -1;
    request.array_count = count > 1 ? count : 0;
    if (atoll_launcher_submit(line->launcher, &request, id, err) != 0)
        return -1;
    atoll_sweep_record(want->sweep->dir, id, "submitted", "through %s", atoll_launcher_name(line->launcher));
    if (s->settings->log) {
        atoll_print(s->settings->log, "%s: job %s%s is in the queue (%s)\n", want->sweep->dir, id,
                    count > 1 ? ", an array," : "", atoll_launcher_name(line->launcher));
    }
    atoll_job_list_forget(want->kind);
    s->result.submitted += count;
    want->live += count;
    want->missing -= count;
    line->queued += count;
    return 0;
}

/* A limit of the site ends what one launcher takes now; a refusal is the campaign's own.  An array is refused as a whole where
 * some of its elements would have been taken. */
static void submit_failed(struct submitter *s, struct want *want, const struct atoll_err *why)
{
    if (why->code == ATOLL_E_LIMIT && elements_for(s, want) > 1) {
        want->is_single = 1;
        return;
    }
    s->result.wanted += (unsigned)want->missing;
    want->missing = 0;
    if (why->code == ATOLL_E_LIMIT) {
        log_line(s, want->sweep->dir, why->text);
        log_line(
            s, want->sweep->dir,
            want->live
                ? "the rest is submitted when its jobs have ended"
                : "it has no job in the queue; atoll watch, or atoll resume later, submits what it wants");
        s->lines[want->kind].has_failed = 1;
        return;
    }
    s->lines[want->kind].has_failed |= why->code == ATOLL_E_TIMEOUT;
    fail(s, want->entry, why);
}

static int submit_all(struct submitter *s, struct atoll_err *err)
{
    for (struct want *want; (want = next_want(s)) != NULL;) {
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_arena *arena = lease_keep(s, err) == 0 ? atoll_arena_create(ARENA_BYTES, err) : NULL;

        if (!arena)
            return -1;
        if (submit_some(s, want, arena, &own) != 0)
            submit_failed(s, want, &own);
        atoll_arena_destroy(arena);
    }
    for (size_t i = 0; i < s->count; i++)
        s->result.wanted += (unsigned)s->wants[i].missing;
    return 0;
}

/* ---- one process at a time ---- */

static struct atoll_lease *lease_claim(const struct submitter *s, struct atoll_err *err)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    double calls_s = 3 * (s->settings->timeout_s > 0 ? s->settings->timeout_s : 30);
    /* Longer than a round takes between two beats: some calls to a scheduler. */
    double silence_s = calls_s > ATOLL_LEASE_TIME_S ? calls_s : ATOLL_LEASE_TIME_S;
    double until_ns = atoll_clock_mono_ns() + LEASE_WAIT_S * 1e9;
    struct atoll_lease_watch watch = {0};
    struct atoll_lease_holder self;
    uint32_t silent = 0;

    atoll_lease_holder_self("job-submitter", 0, &self);
    for (;;) {
        struct atoll_lease_seen seen;
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_lease *lease = atoll_lease_claim(s->queue.dir, &self, silent, NULL, &own);

        if (lease)
            return lease;
        if (own.code != ATOLL_E_BUSY || atoll_clock_mono_ns() > until_ns ||
            atoll_lease_look(s->queue.dir, &self, &seen, &own) != 0) {
            *err = own;
            return NULL;
        }
        silent = atoll_lease_watch_note(&watch, &seen, atoll_clock_mono_ns()) > silence_s ? seen.epoch : 0;
        nanosleep(&pause, NULL);
    }
}

int atoll_job_submitter_run(const struct atoll_job_submitter_settings *settings,
                            struct atoll_job_submitter_result *ret_result, struct atoll_err *err)
{
    struct submitter s = {.settings = settings};
    int status = atoll_campaign_queue_load(&s.queue, err);

    s.lease = status == 0 ? lease_claim(&s, err) : NULL;
    status = -1;
    if (s.lease) { /* the queue as it is now */
        atoll_campaign_queue_fini(&s.queue);
        status = atoll_campaign_queue_load(&s.queue, err) != 0 || wants_collect(&s, err) != 0 ||
                         submit_all(&s, err) != 0
                     ? -1
                     : 0;
    }
    if (status == 0 && s.result.submitted == 0 && s.failure.code != ATOLL_OK) {
        *err = s.failure;
        status = -1;
    }
    *ret_result = s.result;
    for (size_t i = 0; i < s.count; i++)
        want_fini(&s.wants[i]);
    free(s.wants);
    for (size_t i = 0; i < KINDS; i++) {
        atoll_job_list_fini(&s.lines[i].jobs);
        atoll_launcher_destroy(s.lines[i].launcher);
    }
    atoll_campaign_queue_fini(&s.queue);
    atoll_lease_release(s.lease);
    return status;
}
