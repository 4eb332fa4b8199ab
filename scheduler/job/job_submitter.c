/* job_submitter.c - one look at all campaigns, one list of jobs per launcher, then one submission after the other to whom it is due.
 * The turn (a lease of the queue's folder, renewed between the calls) keeps two pumps apart.  A pump that gave up waiting would
 * leave a job without successor: the one before counts it as one that is still there. */
#include "scheduler/job/job_submitter.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/lease.h"
#include "archive-h5/campaign/campaign_progress.h"
#include "base/clock.h"
#include "scheduler/job/job_list.h"
#include "scheduler/job/fair_share.h"
#include "scheduler/campaign/campaign_queue.h"
#include "scheduler/campaign/sweep_request.h"

#define KINDS       4
#define ARENA_BYTES ((size_t)16 << 20)
#define TURN_WAIT_S 900.0 /* for others, each of which takes seconds */

struct want {
    const struct atoll_campaign_queue_entry *entry;
    struct atoll_sweep *sweep;
    struct atoll_site *site;
    enum atoll_launcher_kind kind;
    size_t live, missing;
    int is_single; /* an array of it was refused */
};

struct line {
    struct atoll_launcher *launcher; /* NULL: not asked yet, or it failed */
    struct atoll_job_list jobs;
    size_t queued; /* of the user, not ended */
    int has_failed;
    struct atoll_err why; /* has_failed: it cannot be asked */
};

struct pump {
    const struct atoll_job_submitter_settings *settings;
    struct atoll_job_submitter_result result;
    struct atoll_campaign_queue queue;
    struct want *wants;
    size_t count;
    struct line lines[KINDS]; /* by launcher kind */
    struct atoll_err failure; /* the last one that was no end of the work */
    struct atoll_lease *turn;
};

static void say(const struct pump *p, const char *campaign, const char *text)
{
    if (p->settings->say) {
        fprintf(p->settings->say, "%s: %s\n", campaign, text);
    }
}

static void fail(struct pump *p, const struct atoll_campaign_queue_entry *entry, const struct atoll_err *why)
{
    p->result.failed++;
    if (!p->settings->mine || strcmp(p->settings->mine, entry->id) == 0) {
        p->failure = *why;
    }
    say(p, entry->campaign, why->text);
}

/* Between two calls to a scheduler.  Once another pump has the turn nothing more may be submitted here. */
static int turn_keep(struct pump *p, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;

    if (atoll_lease_renew(p->turn, &own) == 0 || own.code != ATOLL_E_BUSY) {
        return 0;
    }
    *err = own;
    return -1;
}

/* ---- what each wants ---- */

/* 1, 0, or -1. */
static int is_open(const struct atoll_sweep *sweep, size_t part, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_campaign_progress standing;
    int is_ended;

    if (atoll_sweep_part_path(sweep, part, path, sizeof(path), err) != 0 ||
        atoll_campaign_progress_read(path, &standing, err) != 0) {
        return -1;
    }
    is_ended = standing.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
    atoll_campaign_progress_fini(&standing);
    return !is_ended;
}

/* Parts that have not ended and can be worked on; those that are damaged are told and passed over, unless all are. */
static int open_count(const struct pump *p, const struct atoll_sweep *sweep, size_t *ret_count,
                      struct atoll_err *err)
{
    size_t count = 0, damaged = 0;

    for (size_t i = 0; i < sweep->part_count; i++) {
        struct atoll_err own = ATOLL_ERR_INIT;
        int found = is_open(sweep, i, &own);

        damaged += found < 0;
        if (found < 0 && (!atoll_sweep_is_damage(own.code) || damaged == sweep->part_count)) {
            *err = own;
            return -1;
        }
        if (found < 0) {
            say(p, sweep->dir, own.text);
        }
        count += found > 0;
    }
    *ret_count = count;
    return 0;
}

/* The job that asks ends in a moment: what it takes of a limit is free for the next one. */
static int is_excepted(const struct pump *p, const char *job)
{
    return p->settings->except_job && strcmp(p->settings->except_job, job) == 0;
}

static struct line *line_of(struct pump *p, const struct want *want)
{
    enum atoll_launcher_kind kind = want->kind;
    struct line *line = &p->lines[kind];
    struct atoll_err err = ATOLL_ERR_INIT;

    if (line->launcher || line->has_failed) {
        return line->has_failed ? NULL : line;
    }
    line->launcher = atoll_launcher_create(kind, p->settings->timeout_s, &err);
    if (!line->launcher || atoll_job_list_ask(line->launcher, kind, &line->jobs, &err) != 0) {
        line->has_failed = 1;
        line->why = err;
        return NULL;
    }
    for (size_t i = 0; i < line->jobs.count; i++) {
        const struct atoll_job *job = &line->jobs.jobs[i];

        line->queued += !atoll_job_has_ended(job->state) && !is_excepted(p, job->id);
    }
    return line;
}

static unsigned ending_count(const struct line *line, const char *name)
{
    unsigned count = 0;

    for (size_t i = 0; i < line->jobs.count; i++) {
        count +=
            line->jobs.jobs[i].state == ATOLL_JOB_COMPLETING && strcmp(line->jobs.jobs[i].name, name) == 0;
    }
    return count;
}

static int want_open(struct pump *p, const struct atoll_campaign_queue_entry *entry, struct want *want,
                     struct atoll_err *err)
{
    char name[ATOLL_SWEEP_NAME_BYTES];
    struct line *line;
    size_t open;

    *want = (struct want){.entry = entry, .sweep = atoll_sweep_open(entry->campaign, err)};
    want->site = want->sweep ? atoll_sweep_site(want->sweep, err) : NULL;
    if (!want->site || open_count(p, want->sweep, &open, err) != 0) {
        return -1;
    }
    want->kind = want->site->launcher;
    line = line_of(p, want);
    if (!line) { /* each campaign behind it is told, not only the first */
        fail(p, entry, &p->lines[want->kind].why);
        return 0;
    }
    atoll_sweep_job_name(want->sweep, name);
    want->live = atoll_job_list_live(&line->jobs, name, p->settings->except_job);
    if (p->settings->mine && strcmp(p->settings->mine, entry->id) == 0) {
        p->result.ending = ending_count(line, name);
    }
    if (open > want->sweep->jobs) {
        open = want->sweep->jobs;
    }
    want->missing = open > want->live ? open - want->live : 0;
    return 0;
}

static void want_fini(struct want *want)
{
    atoll_site_destroy(want->site);
    atoll_sweep_close(want->sweep);
}

/* 1: it is there and wants jobs at some time; 0: it was taken out of the queue, or cannot be seen from here. */
static int is_wanting(const struct pump *p, const struct atoll_campaign_queue_entry *entry)
{
    int is_there = atoll_sweep_look(entry->campaign);

    if (is_there < 0) {
        if (p->settings->say) {
            fprintf(p->settings->say,
                    "%s: cannot be seen from here and stays in the queue; where it is gone for good, remove "
                    "%s/%s.json\n",
                    entry->campaign, p->queue.dir, entry->id);
        }
        return 0;
    }
    if (is_there == 0 || atoll_sweep_is_done(entry->campaign) ||
        atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_CANCELLED)) {
        atoll_campaign_queue_remove(entry->id, NULL);
        return 0;
    }
    return 1;
}

/* 1: it wants to be looked at. */
static int is_eligible(const struct pump *p, const struct atoll_campaign_queue_entry *entry)
{
    const char *other;

    if (!is_wanting(p, entry)) {
        return 0;
    }
    if (atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_PAUSED)) {
        say(p, entry->campaign, "paused; atoll continue lets it go on");
        return 0;
    }
    other = atoll_sweep_waits_for((const char *const *)(uintptr_t)entry->after, entry->after_count);
    if (other && p->settings->say) {
        fprintf(p->settings->say, "%s: waits until %s is done\n", entry->campaign, other);
    }
    return !other;
}

static int wants_collect(struct pump *p, struct atoll_err *err)
{
    size_t count = 0;
    int status = 0;

    p->wants = calloc(p->queue.count + 1, sizeof(*p->wants));
    if (!p->wants) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the queue");
    }
    for (size_t i = 0; i < p->queue.count && status == 0; i++) {
        const struct atoll_campaign_queue_entry *entry = &p->queue.entries[i];
        struct atoll_err own = ATOLL_ERR_INIT;

        status = turn_keep(p, err);
        if (status != 0 || !is_eligible(p, entry)) {
            continue;
        }
        if (want_open(p, entry, &p->wants[count], &own) == 0) {
            count++;
        } else {
            fail(p, entry, &own);
            want_fini(&p->wants[count]);
        }
    }
    p->count = count;
    return status;
}

/* ---- to whom the next job is due ---- */

static unsigned ceiling_of(const struct want *want)
{
    return want->sweep->max_queued ? want->sweep->max_queued : want->site->limits.queued;
}

static int has_room(struct pump *p, const struct want *want)
{
    const struct line *line = line_of(p, want);
    unsigned ceiling = ceiling_of(want);

    return line && (ceiling == 0 || line->queued < ceiling);
}

static struct atoll_job_submitter_claim claim_of(struct pump *p, const struct want *want)
{
    return (struct atoll_job_submitter_claim){.priority = want->entry->priority,
                                              .share = want->entry->share,
                                              .live = want->live,
                                              .missing = want->missing,
                                              .has_room = has_room(p, want)};
}

static struct want *next_due(struct pump *p)
{
    struct atoll_job_submitter_claim best = {.missing = 0};
    struct want *found = NULL;

    for (size_t i = 0; i < p->count; i++) {
        struct atoll_job_submitter_claim claim = claim_of(p, &p->wants[i]);

        if (atoll_job_submitter_is_before(&claim, &best)) {
            best = claim;
            found = &p->wants[i];
        }
    }
    return found;
}

/* How many elements one array may bring now; 1: no array. */
static unsigned elements_for(const struct pump *p, const struct want *want)
{
    const struct atoll_job_submitter_array array = {.missing = want->missing,
                                                    .ceiling = ceiling_of(want),
                                                    .queued = (unsigned)p->lines[want->kind].queued,
                                                    .array_size = want->site->limits.array_size,
                                                    .is_allowed = want->site->limits.has_arrays &&
                                                                  p->count == 1 && !want->is_single};

    return atoll_job_submitter_elements(&array);
}

static int submit_some(struct pump *p, struct want *want, struct atoll_arena *arena, struct atoll_err *err)
{
    struct line *line = &p->lines[want->kind];
    unsigned count = elements_for(p, want);
    struct atoll_job_request request;
    char id[ATOLL_JOB_ID_BYTES];
    const char *script = atoll_sweep_script(want->sweep, arena, err);

    if (!script || atoll_sweep_request(want->sweep, want->site, script, arena, &request, err) != 0) {
        return -1;
    }
    request.array_count = count > 1 ? count : 0;
    if (atoll_launcher_submit(line->launcher, &request, id, err) != 0) {
        return -1;
    }
    atoll_sweep_tell(want->sweep->dir, id, "submitted", "through %s", atoll_launcher_name(line->launcher));
    if (p->settings->say) {
        fprintf(p->settings->say, "%s: job %s%s is in the queue (%s)\n", want->sweep->dir, id,
                count > 1 ? ", an array," : "", atoll_launcher_name(line->launcher));
    }
    atoll_job_list_forget(want->kind);
    p->result.submitted += count;
    want->live += count;
    want->missing -= count;
    line->queued += count;
    return 0;
}

/* A limit of the site ends what one launcher takes now; a refusal is the campaign's own.  An array is refused as a whole where
 * some of its elements would have been taken. */
static void submit_failed(struct pump *p, struct want *want, const struct atoll_err *why)
{
    if (why->code == ATOLL_E_LIMIT && elements_for(p, want) > 1) {
        want->is_single = 1;
        return;
    }
    p->result.wanted += (unsigned)want->missing;
    want->missing = 0;
    if (why->code == ATOLL_E_LIMIT) {
        say(p, want->sweep->dir, why->text);
        say(p, want->sweep->dir,
            want->live
                ? "the rest is submitted when its jobs have ended"
                : "it has no job in the queue; atoll watch, or atoll resume later, submits what it wants");
        p->lines[want->kind].has_failed = 1;
        return;
    }
    p->lines[want->kind].has_failed |= why->code == ATOLL_E_TIMEOUT;
    fail(p, want->entry, why);
}

static int submit_all(struct pump *p, struct atoll_err *err)
{
    struct want *want;

    while ((want = next_due(p)) != NULL) {
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_arena *arena = turn_keep(p, err) == 0 ? atoll_arena_create(ARENA_BYTES, err) : NULL;

        if (!arena) {
            return -1;
        }
        if (submit_some(p, want, arena, &own) != 0) {
            submit_failed(p, want, &own);
        }
        atoll_arena_destroy(arena);
    }
    for (size_t i = 0; p->wants && i < p->count; i++) {
        p->result.wanted += (unsigned)p->wants[i].missing;
    }
    return 0;
}

/* ---- one at a time ---- */

/* Longer than a pump takes between two beats: some calls to a scheduler. */
static double silence_s(const struct atoll_job_submitter_settings *settings)
{
    double calls_s = 3 * (settings->timeout_s > 0 ? settings->timeout_s : 30);

    return calls_s > ATOLL_LEASE_TIME_S ? calls_s : ATOLL_LEASE_TIME_S;
}

static struct atoll_lease *turn_take(const struct pump *p, struct atoll_err *err)
{
    struct atoll_lease_watch watch = {0};
    struct atoll_lease_holder self;
    double until_ns = atoll_clock_mono_ns() + TURN_WAIT_S * 1e9;
    uint32_t silent = 0;

    atoll_lease_holder_self("pump", 0, &self);
    for (;;) {
        const struct timespec pause = {.tv_nsec = 200000000};
        struct atoll_lease_seen seen;
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_lease *lease = atoll_lease_claim(p->queue.dir, &self, silent, NULL, &own);

        if (lease) {
            return lease;
        }
        if (own.code != ATOLL_E_BUSY || atoll_clock_mono_ns() > until_ns ||
            atoll_lease_look(p->queue.dir, &self, &seen, &own) != 0) {
            *err = own;
            return NULL;
        }
        silent = atoll_lease_watch_note(&watch, &seen, atoll_clock_mono_ns()) > silence_s(p->settings)
                     ? seen.epoch
                     : 0;
        nanosleep(&pause, NULL);
    }
}

static void pump_fini(struct pump *p)
{
    for (size_t i = 0; i < p->count; i++) {
        want_fini(&p->wants[i]);
    }
    free(p->wants);
    for (size_t i = 0; i < KINDS; i++) {
        atoll_job_list_fini(&p->lines[i].jobs);
        atoll_launcher_destroy(p->lines[i].launcher);
    }
    atoll_campaign_queue_fini(&p->queue);
}

/* With the turn: the queue as it is now. */
static int work(struct pump *p, struct atoll_err *err)
{
    atoll_campaign_queue_fini(&p->queue);
    if (atoll_campaign_queue_load(&p->queue, err) != 0 || wants_collect(p, err) != 0 ||
        submit_all(p, err) != 0) {
        return -1;
    }
    if (p->result.submitted == 0 && p->failure.code != ATOLL_OK) {
        *err = p->failure;
        return -1;
    }
    return 0;
}

int atoll_job_submitter(const struct atoll_job_submitter_settings *settings,
                        struct atoll_job_submitter_result *ret_result, struct atoll_err *err)
{
    struct pump p = {.settings = settings};
    int status = atoll_campaign_queue_load(&p.queue, err);

    p.turn = status == 0 ? turn_take(&p, err) : NULL;
    status = p.turn ? work(&p, err) : -1;
    *ret_result = p.result;
    pump_fini(&p);
    atoll_lease_release(p.turn);
    return status;
}
