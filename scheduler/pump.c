/* pump.c - one look at all campaigns, one list of jobs per launcher, then one submission after the other to whom it is due.
 * The turn (a lease of the queue's folder) keeps two pumps apart; who does not get it within some seconds leaves the work to
 * the other. */
#include "scheduler/pump.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive-h5/lease.h"
#include "archive-h5/standing.h"
#include "mpi-eval/clock.h"
#include "scheduler/job_list.h"
#include "scheduler/queue.h"
#include "scheduler/sweep_request.h"

#define KINDS       4
#define ARENA_BYTES ((size_t)16 << 20)
#define TURN_WAIT_S 20.0

struct want {
    const struct atoll_campaign_queue_entry *entry;
    struct atoll_sweep *sweep;
    struct atoll_site *site;
    enum atoll_launcher_kind kind;
    size_t live, missing;
};

struct line {
    struct atoll_launcher *launcher; /* NULL: not asked yet, or it failed */
    struct atoll_job_list jobs;
    size_t queued; /* of the user, not ended */
    int has_failed;
};

struct pump {
    const struct atoll_pump_settings *settings;
    struct atoll_pump_result result;
    struct atoll_campaign_queue queue;
    struct want *wants;
    size_t count;
    struct line lines[KINDS]; /* by launcher kind */
    struct atoll_err failure; /* the last one that was no end of the work */
};

static void say(const struct pump *p, const char *campaign, const char *text)
{
    if (p->settings->say) {
        fprintf(p->settings->say, "%s: %s\n", campaign, text);
    }
}

static void fail(struct pump *p, const char *campaign, const struct atoll_err *why)
{
    p->result.failed++;
    p->failure = *why;
    say(p, campaign, why->text);
}

/* ---- what each wants ---- */

int atoll_pump_open_parts(const struct atoll_sweep *sweep, size_t *ret_count, struct atoll_err *err)
{
    char path[PATH_MAX];
    size_t count = 0;

    for (size_t i = 0; i < sweep->part_count; i++) {
        struct atoll_standing standing;

        if (atoll_sweep_part_path(sweep, i, path, sizeof(path), err) != 0 ||
            atoll_standing_read(path, &standing, err) != 0) {
            return -1;
        }
        count += standing.phase != ATOLL_STANDING_ENDED;
        atoll_standing_fini(&standing);
    }
    *ret_count = count;
    return 0;
}

/* A campaign that it waits for and that is not there any more holds nobody up. */
static const char *waits_for(const struct atoll_campaign_queue_entry *entry)
{
    for (size_t i = 0; i < entry->after_count; i++) {
        if (atoll_sweep_is(entry->after[i]) && !atoll_sweep_is_done(entry->after[i])) {
            return entry->after[i];
        }
    }
    return NULL;
}

/* The job that asks ends in a moment: what it takes of a limit is free for the next one. */
static int is_excepted(const struct pump *p, const char *job)
{
    return p->settings->except_job && strcmp(p->settings->except_job, job) == 0;
}

static struct line *line_of(struct pump *p, enum atoll_launcher_kind kind)
{
    struct line *line = &p->lines[kind];
    struct atoll_err err = ATOLL_ERR_INIT;

    if (line->launcher || line->has_failed) {
        return line->has_failed ? NULL : line;
    }
    line->launcher = atoll_launcher_create(kind, p->settings->timeout_s, &err);
    if (!line->launcher || atoll_job_list_ask(line->launcher, kind, &line->jobs, &err) != 0) {
        line->has_failed = 1;
        fail(p, "queue", &err);
        return NULL;
    }
    for (size_t i = 0; i < line->jobs.count; i++) {
        const struct atoll_job *job = &line->jobs.jobs[i];

        line->queued += !atoll_job_has_ended(job->state) && !is_excepted(p, job->id);
    }
    return line;
}

static int want_open(struct pump *p, const struct atoll_campaign_queue_entry *entry, struct want *want,
                     struct atoll_err *err)
{
    char name[ATOLL_SWEEP_NAME_BYTES];
    struct line *line;
    size_t open;

    *want = (struct want){.entry = entry, .sweep = atoll_sweep_open(entry->campaign, err)};
    want->site = want->sweep ? atoll_sweep_site(want->sweep, err) : NULL;
    if (!want->site || atoll_pump_open_parts(want->sweep, &open, err) != 0) {
        return -1;
    }
    want->kind = want->site->launcher;
    line = line_of(p, want->kind);
    if (!line) {
        return 0;
    }
    atoll_sweep_job_name(want->sweep, name);
    want->live = atoll_job_list_live(&line->jobs, name, p->settings->except_job);
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

/* 1: it wants to be looked at. */
static int is_eligible(struct pump *p, const struct atoll_campaign_queue_entry *entry)
{
    const char *other;

    if (p->settings->only && strcmp(p->settings->only, entry->id) != 0) {
        return 0;
    }
    if (atoll_sweep_is_done(entry->campaign) ||
        atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_CANCELLED) || !atoll_sweep_is(entry->campaign)) {
        atoll_campaign_queue_remove(entry->id, NULL);
        return 0;
    }
    if (atoll_sweep_is_marked(entry->campaign, ATOLL_SWEEP_PAUSED)) {
        say(p, entry->campaign, "paused; atoll continue lets it go on");
        return 0;
    }
    other = waits_for(entry);
    if (other && p->settings->say) {
        fprintf(p->settings->say, "%s: waits until %s is done\n", entry->campaign, other);
    }
    return !other;
}

static int wants_collect(struct pump *p, struct atoll_err *err)
{
    p->wants = calloc(p->queue.count + 1, sizeof(*p->wants));
    if (!p->wants) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the queue");
    }
    for (size_t i = 0; i < p->queue.count; i++) {
        const struct atoll_campaign_queue_entry *entry = &p->queue.entries[i];
        struct atoll_err own = ATOLL_ERR_INIT;

        if (!is_eligible(p, entry)) {
            continue;
        }
        if (want_open(p, entry, &p->wants[p->count], &own) == 0) {
            p->count++;
        } else {
            fail(p, entry->campaign, &own);
            want_fini(&p->wants[p->count]);
        }
    }
    return 0;
}

/* ---- to whom the next job is due ---- */

static unsigned ceiling_of(const struct pump *p, const struct want *want)
{
    return p->settings->ceiling ? p->settings->ceiling : want->site->limits.queued;
}

static int has_room(struct pump *p, const struct want *want)
{
    const struct line *line = line_of(p, want->kind);
    unsigned ceiling = ceiling_of(p, want);

    return line && (ceiling == 0 || line->queued < ceiling);
}

/* Higher priority first; among equals the one that has least for its share; then the older one. */
static struct want *next_due(struct pump *p)
{
    struct want *best = NULL;

    for (size_t i = 0; i < p->count; i++) {
        struct want *w = &p->wants[i];

        if (w->missing == 0 || !has_room(p, w)) {
            continue;
        }
        if (!best || w->entry->priority > best->entry->priority ||
            (!(w->entry->priority < best->entry->priority) &&
             (double)w->live / w->entry->share < (double)best->live / best->entry->share)) {
            best = w;
        }
    }
    return best;
}

/* How many elements one array may bring now; 1: no array. */
static unsigned elements_for(const struct pump *p, const struct want *want)
{
    const struct atoll_site *site = want->site;
    unsigned ceiling = ceiling_of(p, want), room = UINT_MAX, count = (unsigned)want->missing;

    if (!site->limits.has_arrays || p->count > 1) {
        return 1;
    }
    if (ceiling) {
        room = ceiling - (unsigned)p->lines[want->kind].queued;
    }
    if (site->limits.array_size && count > site->limits.array_size) {
        count = site->limits.array_size;
    }
    return count < room ? count : room;
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

/* A limit of the site ends what one launcher takes now; a refusal is the campaign's own. */
static void submit_failed(struct pump *p, struct want *want, const struct atoll_err *why)
{
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
    fail(p, want->sweep->dir, why);
}

static int submit_all(struct pump *p, struct atoll_err *err)
{
    struct want *want;

    while ((want = next_due(p)) != NULL) {
        struct atoll_err own = ATOLL_ERR_INIT;
        struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, err);

        if (!arena) {
            return -1;
        }
        if (submit_some(p, want, arena, &own) != 0) {
            submit_failed(p, want, &own);
        }
        atoll_arena_destroy(arena);
    }
    for (size_t i = 0; i < p->count; i++) {
        p->result.wanted += (unsigned)p->wants[i].missing;
    }
    return 0;
}

/* ---- one at a time ---- */

static struct atoll_lease *turn_take(const char *dir, struct atoll_err *err)
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
        struct atoll_lease *lease = atoll_lease_claim(dir, &self, silent, NULL, &own);

        if (lease || own.code != ATOLL_E_BUSY || atoll_lease_look(dir, &self, &seen, &own) != 0 ||
            silent == seen.epoch) {
            *err = own;
            return lease;
        }
        /* A pump holds its turn for seconds and does not renew it. */
        atoll_lease_watch_note(&watch, &seen, atoll_clock_mono_ns());
        silent = atoll_clock_mono_ns() > until_ns ? seen.epoch : 0;
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

int atoll_pump(const struct atoll_pump_settings *settings, struct atoll_pump_result *ret_result,
               struct atoll_err *err)
{
    struct pump p = {.settings = settings};
    struct atoll_lease *turn;
    char dir[PATH_MAX];
    int status;

    if (atoll_campaign_queue_load(&p.queue, err) != 0) {
        return -1;
    }
    turn = atoll_campaign_queue_folder(dir, sizeof(dir), err) == 0 ? turn_take(dir, err) : NULL;
    if (!turn) {
        atoll_campaign_queue_fini(&p.queue);
        return -1;
    }
    err->code = ATOLL_OK;
    atoll_campaign_queue_fini(&p.queue); /* as it is now that it is our turn */
    status = atoll_campaign_queue_load(&p.queue, err);
    status = status == 0 ? wants_collect(&p, err) : status;
    status = status == 0 ? submit_all(&p, err) : status;
    if (status == 0 && p.result.submitted == 0 && p.failure.code != ATOLL_OK) {
        *err = p.failure;
        status = -1;
    }
    *ret_result = p.result;
    pump_fini(&p);
    atoll_lease_release(turn);
    return status;
}
