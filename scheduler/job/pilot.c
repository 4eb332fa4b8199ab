/* pilot.c - the loop of a job.
 *
 * CHOOSE a part -> RUN a step on it -> JUDGE by its journals -> CHOOSE ...
 * Devices do not wait for processes: when a step tells that it is ending (handover.h), another one is started that stands by,
 * and when it tells that its search is over the next part is chosen, and given to the one that stands by; it gets the devices
 * when the first tells that they are free, and works while that one writes its last files.  So at most two steps are there:
 * `running` and either `ahead`, which stands by, or `leaving`.  The one that stands by has claimed nothing: without a part for
 * it, or with the nodes changed, it is sent away.
 *
 * until every part has ended (the job finishes the campaign), none is free, time is over (the campaign continues in another
 * job), or the user or the scheduler wants this one to go.  A step that failed is repeated without the nodes that the scheduler
 * calls bad; three without any result give the part up. */
#include "scheduler/job/pilot.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "scheduler/campaign/finalize.h"
#include "scheduler/campaign/learned.h"
#include "scheduler/campaign/sweep_jobs.h"
#include "scheduler/job/calibration_folder.h"
#include "scheduler/job/job_submitter.h"
#include "scheduler/job/pilot_seat.h"
#include "scheduler/launcher/local/launch.h"
#include "scheduler/site/node_list.h"

#define LOOK_AGAIN_S  2
#define END_RESERVE_S 30.0 /* before the job's end nothing of ours runs any more */
#define RESERVE_SHARE 0.05 /* but at most this share of the job */
/* With less time left no step is started: it would only drain (mpi-eval/coordinator). */
#define START_WORTH_S 45.0
#define WORTH_SHARE   0.75
#define WARNING_SLACK 1.2 /* of the time at which the site warns */
#define STEP_FAILED_S 5   /* after a failed step: the scheduler learns of a lost node a little later */
#define NODE_ASKS     20u /* until the scheduler knows of a lost node, or it was no node */

/* A step that works, or did. */
struct worker {
    struct atoll_seat *seat; /* NULL: none */
    uint64_t before;         /* results of its part, before it began */
};

struct pilot {
    const struct atoll_pilot_settings *settings;
    struct atoll_seat_job seats; /* what all steps have in common; the rest of this struct lives as long */
    struct worker running, leaving;
    struct atoll_seat *ahead; /* NULL: none */
    int is_ahead_tried;       /* for this part; it is done once */
    uint64_t evaluators;      /* of the running step: most that answered */
    unsigned asked;           /* for nodes that lost some */
    const struct atoll_sweep *sweep;
    struct atoll_launcher *launcher; /* NULL: none answers */
    struct atoll_allocation allocation;
    struct atoll_lease_holder self;
    struct atoll_pilot_choice *choice;
    struct atoll_node_list nodes, bad;
    double total_s;      /* of the job, when it began */
    double reserve_s;    /* of that so much is kept for the job's own end */
    double lease_time_s; /* of the parts' leases */
    char programs[PATH_MAX], drain_file[PATH_MAX], paused_file[PATH_MAX];
    char calibrations[PATH_MAX]; /* folder; "" none */
    uint64_t results;            /* of all steps of this pilot */
};

static double left_s(const struct pilot *p)
{
    return atoll_allocation_remaining_s(&p->allocation) - p->reserve_s;
}

static int is_interrupted(const struct pilot *p)
{
    return p->settings->interrupts && *p->settings->interrupts;
}

/* ---- a step on a part ---- */

static int evaluated_count(const char *part, uint64_t *ret_count, int *ret_ended, struct atoll_err *err)
{
    struct atoll_campaign_progress progress;

    if (atoll_campaign_progress_read(part, &progress, err) != 0)
        return -1;
    *ret_count = progress.evaluated + progress.duelled;
    *ret_ended = progress.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
    atoll_campaign_progress_fini(&progress);
    return 0;
}

/* After a step, also a good one, which goes on when it loses a node: nodes that the scheduler calls bad are left out from now
 * on, and named. */
static void bad_nodes_find(struct pilot *p)
{
    char names[ATOLL_ALLOCATION_NODES_BYTES];
    struct atoll_node_list bad;
    struct atoll_err err = ATOLL_ERR_INIT;

    if (!p->launcher || p->nodes.count < 2 ||
        atoll_launcher_bad_nodes(p->launcher, p->allocation.nodes, names, sizeof(names), &err) != 0 ||
        atoll_node_list_parse(names, &bad, &err) != 0) {
        return;
    }
    for (size_t i = 0; i < bad.count; i++) {
        if (!atoll_node_list_has(&p->bad, bad.names[i])) {
            atoll_log(ATOLL_LOG_WARNING, "pilot.node",
                      "node %s is down or draining: the job goes on without it", bad.names[i]);
            atoll_sweep_record(p->sweep->dir, p->allocation.job, "node",
                               "node %s is left out: the scheduler calls it bad", bad.names[i]);
        }
    }
    atoll_node_list_fini(&p->bad);
    p->bad = bad;
}

/* A step goes on without what it lost.  Evaluators that are missing may be on a node that is down, of which the scheduler learns
 * a little later; only while some are missing is it asked. */
static void step_look(void *context)
{
    struct pilot *p = context;
    struct atoll_campaign_progress progress;
    size_t known = p->bad.count;
    uint64_t now;

    if (p->nodes.count < 2 || !p->running.seat ||
        atoll_campaign_progress_read(atoll_seat_part_path(p->running.seat), &progress, NULL) != 0) {
        return;
    }
    now = progress.has_hint ? progress.hint.evaluators : 0;
    atoll_campaign_progress_fini(&progress);
    if (now >= p->evaluators) {
        p->evaluators = now;
        p->asked = 0;
    } else if (p->asked++ < NODE_ASKS) {
        bad_nodes_find(p);
        p->evaluators = p->bad.count > known ? now : p->evaluators;
    }
}

/* What the step brought is in the part's journals; it is recorded when it did not go as it should. */
static void step_judge(struct pilot *p, size_t part, const struct atoll_pilot_step_result *result,
                       uint64_t gained, int has_ended, int is_beside)
{
    static const char *const ends[] = {[ATOLL_STEP_EXITED] = "ended",
                                       [ATOLL_STEP_SILENT] = "stood still and was killed",
                                       [ATOLL_STEP_LATE] = "was still there at the job's end and was killed"};
    const char *name = p->sweep->parts[part].name;
    int is_good = result->end == ATOLL_STEP_EXITED && result->status == 0;

    p->results += gained;
    atoll_log(is_good ? ATOLL_LOG_INFO : ATOLL_LOG_WARNING, "pilot.step",
              "part %s: the step %s with status %d after %llu results%s", name, ends[result->end],
              result->status, (unsigned long long)gained, has_ended ? "; the part has ended" : "");
    if (result->end == ATOLL_STEP_EXITED && result->status == atoll_code_exit_status(ATOLL_E_BUSY))
        return; /* another job took the part first */
    if (!is_good) {
        atoll_sweep_record(p->sweep->dir, p->allocation.job, "lost",
                           "part %s: the step %s with status %d after %llu results%s%s%s%s", name,
                           ends[result->end], result->status, (unsigned long long)gained,
                           *result->reason ? ": " : "", result->reason, *result->log ? "; its log is " : "",
                           result->log);
        if (!is_interrupted(p) && !is_beside)
            sleep(STEP_FAILED_S);
    }
    bad_nodes_find(p);
    atoll_pilot_choice_record(p->choice, part, is_good || gained > 0);
}

/* ---- who is there ---- */

/* A second step of the same allocation comes up beside the first, where the launcher lets it. */
static int can_overlap(const struct atoll_site *site)
{
    return site->step.start == ATOLL_SITE_SRUN ? site->step.has_overlap
                                               : site->step.start != ATOLL_SITE_IBRUN;
}

static int worker_judge(struct pilot *p, const struct worker *worker,
                        const struct atoll_pilot_step_result *result, int is_beside, struct atoll_err *err)
{
    uint64_t after;
    int has_ended;

    if (evaluated_count(atoll_seat_part_path(worker->seat), &after, &has_ended, err) != 0)
        return -1;
    step_judge(p, atoll_seat_part(worker->seat), result, after > worker->before ? after - worker->before : 0,
               has_ended, is_beside);
    return 0;
}

static void worker_end(struct worker *worker)
{
    atoll_seat_destroy(worker->seat);
    *worker = (struct worker){NULL, 0};
}

/* Sends the one that stands by away; it has claimed nothing, so nothing is asked of how it goes. */
static void ahead_dismiss(struct pilot *p)
{
    atoll_seat_dismiss(p->ahead);
    p->ahead = NULL;
}

static int leaving_look(struct pilot *p, struct atoll_err *err)
{
    const struct atoll_pilot_step_result *result = atoll_seat_look(p->leaving.seat);
    int status = result ? worker_judge(p, &p->leaving, result, 1, err) : 0;

    if (result)
        worker_end(&p->leaving);
    return status;
}

/* Afterwards no step is there. */
static int seats_empty(struct pilot *p, struct atoll_err *err)
{
    int status = 0;

    ahead_dismiss(p);
    while (p->leaving.seat && status == 0) {
        status = leaving_look(p, err);
        if (p->leaving.seat)
            atoll_pilot_step_pause();
    }
    return status;
}

static struct atoll_seat *seat_create(struct pilot *p, size_t part, uint32_t silent_epoch, int stands_by,
                                      struct atoll_err *err)
{
    return atoll_seat_create(&p->seats, part, silent_epoch, stands_by, left_s(p), p->reserve_s / 2, err);
}

static double worth_s(const struct pilot *p)
{
    return WORTH_SHARE * p->total_s < START_WORTH_S ? WORTH_SHARE * p->total_s : START_WORTH_S;
}

static int is_marked(const struct pilot *p)
{
    return atoll_sweep_is_marked(p->sweep->dir, ATOLL_SWEEP_PAUSED) ||
           atoll_sweep_is_marked(p->sweep->dir, ATOLL_SWEEP_CANCELLED);
}

/* What fails here costs a few seconds later: the next step is started when the part is taken. */
static void ahead_start(struct pilot *p)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    enum atoll_offer offer;
    uint32_t silent_epoch;
    size_t part;

    p->is_ahead_tried = 1;
    if (!can_overlap(p->settings->site) || is_interrupted(p) || is_marked(p) || left_s(p) < worth_s(p) ||
        atoll_pilot_choose(p->choice, atoll_clock_mono_ns(), &offer, &part, &silent_epoch, &err) != 0 ||
        offer != ATOLL_OFFER_PART) {
        return;
    }
    p->ahead = seat_create(p, part, 0, 1, &err);
    if (!p->ahead)
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.ahead", &err);
    else
        atoll_log(ATOLL_LOG_INFO, "pilot.ahead",
                  "a step for the next part comes up beside the end of this one");
}

/* The step that stands by gets the part; else one is started, behind a gate where another one is leaving. */
static struct atoll_seat *seat_for(struct pilot *p, size_t part, uint32_t silent_epoch, struct atoll_err *err)
{
    struct atoll_seat *seat = p->ahead;
    struct atoll_err why = ATOLL_ERR_INIT;

    if (seat && atoll_seat_has_good_nodes(seat) && !atoll_seat_look(seat) &&
        atoll_seat_give_part(seat, part, silent_epoch, &why) == 0) {
        p->ahead = NULL;
        return seat;
    }
    if (why.code != ATOLL_OK)
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.ahead", &why);
    ahead_dismiss(p);
    seat = p->leaving.seat ? seat_create(p, part, silent_epoch, 1, &why) : NULL;
    if (seat && atoll_seat_give_part(seat, part, silent_epoch, &why) == 0)
        return seat;
    atoll_seat_destroy(seat);
    return seats_empty(p, err) != 0 ? NULL : seat_create(p, part, silent_epoch, 0, err);
}

/* The devices go to a step when the one that is leaving has let go of them, or is gone. */
static int are_devices_free(const struct pilot *p)
{
    return !p->leaving.seat || atoll_seat_stage(p->leaving.seat) >= ATOLL_HANDOVER_RELEASED;
}

/* Until the running step has ended, or is leaving while the next part may begin. */
static int running_watch(struct pilot *p, struct atoll_err *err)
{
    struct atoll_seat *seat = p->running.seat;

    for (;;) {
        const struct atoll_pilot_step_result *result = atoll_seat_look(seat);

        if (leaving_look(p, err) != 0 || result) {
            int status = result ? worker_judge(p, &p->running, result, 0, err) : -1;

            worker_end(&p->running);
            return status;
        }
        if (are_devices_free(p))
            atoll_seat_give_devices(seat);
        if (!p->leaving.seat && atoll_seat_stage(seat) >= ATOLL_HANDOVER_STOPPED && !is_interrupted(p) &&
            can_overlap(p->settings->site)) {
            atoll_seat_let_leave(seat);
            p->leaving = p->running;
            p->running = (struct worker){NULL, 0};
            return 0;
        }
        if (!p->leaving.seat && !p->is_ahead_tried && atoll_seat_stage(seat) >= ATOLL_HANDOVER_ENDING)
            ahead_start(p);
        if (p->ahead && atoll_seat_look(p->ahead)) {
            atoll_log(ATOLL_LOG_WARNING, "pilot.ahead",
                      "the step that stood by has ended; another one is started");
            ahead_dismiss(p);
        }
        atoll_pilot_step_pause();
    }
}

/* A part that begins gets what others have learned; without that it is as good as the first one. */
static void learned_give(const struct pilot *p, size_t part)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t hints, parts;

    if (atoll_learned_give(p->sweep, part, &hints, &parts, &err) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.learned", &err);
    else if (hints)
        atoll_log(ATOLL_LOG_INFO, "pilot.learned",
                  "part %s begins with what %zu ended parts learned: %zu hints", p->sweep->parts[part].name,
                  parts, hints);
}

/* silent_epoch: as atoll_pilot_choose gives it. */
static int part_run(struct pilot *p, size_t part, uint32_t silent_epoch, struct atoll_err *err)
{
    char dir[PATH_MAX];
    uint64_t before;
    int has_ended;

    if (atoll_sweep_part_path(p->sweep, part, dir, sizeof(dir), err) != 0 ||
        evaluated_count(dir, &before, &has_ended, err) != 0) {
        return -1;
    }
    atoll_log(ATOLL_LOG_INFO, "pilot.part", "takes part %s%s", p->sweep->parts[part].name,
              silent_epoch ? ", whose job was lost" : "");
    atoll_sweep_record(p->sweep->dir, p->allocation.job, silent_epoch ? "takeover" : "part",
                       "takes part %s%s", p->sweep->parts[part].name,
                       silent_epoch ? ", whose holder stood still" : "");
    p->evaluators = p->asked = 0;
    learned_give(p, part);
    p->running = (struct worker){seat_for(p, part, silent_epoch, err), before};
    p->is_ahead_tried = 0;
    return p->running.seat ? running_watch(p, err) : -1;
}

/* ---- the end of the job ---- */

/* The campaign goes on without this job: under the same id where the site does that, else as a new job.  why: "time is over" */
static int campaign_continue(struct pilot *p, const char *why, struct atoll_err *err)
{
    const struct atoll_job_submitter_settings submitter = {.mine = p->sweep->id,
                                                           .except_job = p->allocation.job,
                                                           .timeout_s = p->settings->call_timeout_s,
                                                           .log = stderr};
    struct atoll_job_submitter_result result;

    if (p->settings->site->end.go_on == ATOLL_SITE_REQUEUE && p->launcher && p->allocation.is_job) {
        atoll_sweep_record(p->sweep->dir, p->allocation.job, "requeue", "%s: the job asks to be queued again",
                           why);
        if (atoll_launcher_requeue(p->launcher, p->allocation.job, err) == 0)
            return 0;
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.requeue", err);
        atoll_err_clear(err);
    }
    atoll_sweep_record(p->sweep->dir, p->allocation.job, "successor", "%s: another job is submitted", why);
    return atoll_job_submitter_run(&submitter, &result, err);
}

/* Files of steps that were killed with their pilot; whoever still stands by somewhere has nothing to wait for. */
static void step_files_remove(const struct atoll_sweep *sweep)
{
    DIR *dir = opendir(sweep->dir);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (strncmp(e->d_name, ATOLL_SEAT_FILE, strlen(ATOLL_SEAT_FILE)) == 0)
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
}

/* Every part has ended: archive and report are made, jobs of the campaign that still wait are cancelled, and campaigns that
 * waited for this one get their jobs. */
static int campaign_finish(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    const struct atoll_job_submitter_settings submitter = {
        .except_job = p->allocation.job, .timeout_s = p->settings->call_timeout_s, .log = stderr};
    struct atoll_job_submitter_result result;
    struct atoll_err own = ATOLL_ERR_INIT;
    unsigned count;
    int done = atoll_finalize(p->sweep, 0, err);

    if (done < 0)
        return -1;
    *ret_end = done ? ATOLL_PILOT_DONE : ATOLL_PILOT_NO_WORK;
    if (!done)
        return 0;
    step_files_remove(p->sweep);
    atoll_calibration_folder_remove_all(p->sweep->dir);
    /* Also where another job wrote the archive: nobody knows whether that one came to the rest. */
    atoll_log(ATOLL_LOG_INFO, "pilot.done", "every part has ended: %s/archive.h5 and report.html are there",
              p->sweep->dir);
    if (p->launcher && atoll_sweep_jobs_cancel(p->sweep, p->settings->call_timeout_s, 1, &count, &own) != 0) {
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.waiting", &own);
        atoll_err_clear(&own);
    }
    if (atoll_job_submitter_run(&submitter, &result, &own) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.submit", &own);
    return 0;
}

/* Whether the scheduler itself is ending the job: 1, 0, -1 nobody answers.  A job that the user cancelled is "completing" like
 * one that was preempted or requeued from outside: the first must not come back, the others come back by themselves.  One that
 * ran into its limit is ended too, and nobody else lets it go on. */
static int is_being_ended(struct pilot *p)
{
    struct atoll_job job;

    if (!p->launcher || atoll_launcher_ask(p->launcher, p->allocation.job, &job, NULL) != 0)
        return -1;
    if (job.state == ATOLL_JOB_RUNNING || job.state == ATOLL_JOB_SUSPENDED)
        return 0;
    return strcmp(job.reason, "TimeLimit") != 0 && atoll_allocation_remaining_s(&p->allocation) > 0;
}

/* Asked to go: a warning that time is nearly over, a preemption, or a cancel, which alone ends the job for good. */
static int interrupted_leave(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    double warned_s = WARNING_SLACK * p->settings->site->end.before_s;
    int is_time = atoll_allocation_remaining_s(&p->allocation) < warned_s, is_ended = is_being_ended(p);

    *ret_end = ATOLL_PILOT_LEFT;
    if (p->settings->site->end.go_on == ATOLL_SITE_END || is_ended > 0 || (is_ended < 0 && !is_time)) {
        atoll_sweep_record(p->sweep->dir, p->allocation.job, "left", "the job was asked to go");
        return 0;
    }
    *ret_end = ATOLL_PILOT_CONTINUES;
    return campaign_continue(p, is_time ? "time is nearly over" : "the scheduler wants the nodes", err);
}

static int time_over_leave(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    atoll_log(ATOLL_LOG_INFO, "pilot.time", "%.0f s are left: no step is started any more",
              atoll_allocation_remaining_s(&p->allocation));
    if (p->settings->site->end.go_on == ATOLL_SITE_END) {
        *ret_end = ATOLL_PILOT_LEFT;
        return 0;
    }
    if (p->results == 0) {
        return atoll_err_set(
            err, ATOLL_E_CHILD,
            "the job's time is over and it brought no result: another one would not either; see "
            "the lines above for why");
    }
    *ret_end = ATOLL_PILOT_CONTINUES;
    return campaign_continue(p, "time is over", err);
}

static int no_work_leave(const struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    size_t count = atoll_pilot_choice_given_up(p->choice);

    *ret_end = ATOLL_PILOT_NO_WORK;
    if (count == 0) {
        atoll_log(ATOLL_LOG_INFO, "pilot.no-work",
                  "every open part has a job that works on it: this one leaves");
        return 0;
    }
    atoll_sweep_record(p->sweep->dir, p->allocation.job, "given-up",
                       "%zu parts were given up: damaged, or three steps without a result", count);
    return atoll_err_set(err, ATOLL_E_CHILD,
                         "%zu parts were given up, damaged or after three steps in a row without any result; "
                         "the log above says why; when "
                         "that is mended: atoll resume %s",
                         count, p->sweep->dir);
}

/* ---- the loop ---- */

static int parts_run(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    for (;;) {
        enum atoll_offer offer;
        uint32_t silent_epoch = 0;
        size_t part = 0;

        if (is_marked(p)) {
            *ret_end = ATOLL_PILOT_PAUSED;
            return seats_empty(p, err);
        }
        if ((is_interrupted(p) || left_s(p) < worth_s(p)) && seats_empty(p, err) != 0)
            return -1;
        /* Nobody is submitted for a campaign whose parts have all ended: what is left to write is written here. */
        if ((is_interrupted(p) || left_s(p) < worth_s(p)) && !atoll_pilot_choice_all_ended(p->choice))
            return is_interrupted(p) ? interrupted_leave(p, ret_end, err) : time_over_leave(p, ret_end, err);
        if (atoll_pilot_choose(p->choice, atoll_clock_mono_ns(), &offer, &part, &silent_epoch, err) != 0)
            return -1;
        if (offer != ATOLL_OFFER_PART && (p->ahead || p->leaving.seat)) {
            if (seats_empty(p, err) != 0)
                return -1;
            continue; /* what was leaving has left its part */
        }
        switch (offer) {
        case ATOLL_OFFER_ENDED: return campaign_finish(p, ret_end, err);
        case ATOLL_OFFER_NONE: return no_work_leave(p, ret_end, err);
        case ATOLL_OFFER_WAIT: sleep(LOOK_AGAIN_S); break;
        case ATOLL_OFFER_PART:
            if (part_run(p, part, silent_epoch, err) != 0)
                return -1;
            break;
        }
    }
}

/* The part with which a job begins: jobs that start together have numbers that differ. */
static size_t first_part(const char *job)
{
    size_t sum = 0;

    for (; *job; job++)
        sum = *job >= '0' && *job <= '9' ? sum * 10 + (size_t)(*job - '0') : sum * 7;
    return sum;
}

static int pilot_init(struct pilot *p, const struct atoll_pilot_settings *settings, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;

    *p = (struct pilot){.settings = settings,
                        .sweep = settings->sweep,
                        .lease_time_s =
                            settings->lease_time_s > 0 ? settings->lease_time_s : ATOLL_LEASE_TIME_S};
    p->launcher = atoll_launcher_create(settings->site->launcher, settings->call_timeout_s, &why);
    if (!p->launcher)
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.launcher", &why);
    atoll_allocation_find(p->launcher, &p->allocation);
    p->seats = (struct atoll_seat_job){.settings = settings,
                                       .allocation = &p->allocation,
                                       .self = &p->self,
                                       .nodes = &p->nodes,
                                       .bad = &p->bad,
                                       .programs = p->programs,
                                       .drain_file = p->drain_file,
                                       .paused_file = p->paused_file,
                                       .calibrations = p->calibrations,
                                       .lease_time_s = p->lease_time_s,
                                       .look = step_look,
                                       .context = p};
    p->total_s = atoll_allocation_remaining_s(&p->allocation);
    p->reserve_s = RESERVE_SHARE * p->total_s < END_RESERVE_S ? RESERVE_SHARE * p->total_s : END_RESERVE_S;
    atoll_lease_holder_self(p->allocation.job, p->allocation.restarts, &p->self);
    snprintf(p->drain_file, sizeof(p->drain_file), "%.3900s/.drain-%.60s", p->sweep->dir, p->allocation.job);
    snprintf(p->paused_file, sizeof(p->paused_file), "%.4000s/paused", p->sweep->dir);
    if (atoll_node_list_parse(p->allocation.nodes[0] ? p->allocation.nodes : "localhost", &p->nodes, err) !=
        0) {
        return -1;
    }
    p->choice =
        atoll_pilot_choice_create(p->sweep, &p->self, first_part(p->allocation.job), p->lease_time_s, err);
    return p->choice ? 0 : -1;
}

/* Where the programs are started from: the nodes' own disks where the site wants that and it works. */
static int programs_place(struct pilot *p, struct atoll_err *err)
{
    char beside[PATH_MAX];
    struct atoll_err why = ATOLL_ERR_INIT;
    int is_copied;

    if (atoll_launch_beside("atoll-eval", beside, sizeof(beside), err) != 0)
        return -1;
    *strrchr(beside, '/') = '\0';
    is_copied = atoll_step_programs_copy(p->settings->site, &p->nodes, p->allocation.job, beside, p->programs,
                                         sizeof(p->programs), &why) == 0;
    atoll_log(is_copied ? ATOLL_LOG_INFO : ATOLL_LOG_WARNING, "pilot.programs",
              "%s%sthe programs are started from %s", why.text, is_copied ? "" : "; ", p->programs);
    return 0;
}

int atoll_pilot_run(const struct atoll_pilot_settings *settings, enum atoll_pilot_end *ret_end,
                    struct atoll_err *err)
{
    struct pilot p;
    char left[32];
    int status = pilot_init(&p, settings, err);

    if (status == 0) {
        atoll_log(ATOLL_LOG_INFO, "pilot.start", "job %s (start %u) on %zu nodes, %s left", p.allocation.job,
                  p.allocation.restarts + 1, p.nodes.count,
                  p.total_s < HUGE_VAL ? atoll_duration_text(p.total_s * 1e9, left, sizeof(left))
                                       : "time without limit");
        if (p.allocation.restarts > 0) {
            atoll_sweep_record(p.sweep->dir, p.allocation.job, "restart", "started again (%u times so far)",
                               p.allocation.restarts);
        }
        atoll_calibration_folder_make(p.sweep->dir, p.allocation.job, p.calibrations, sizeof(p.calibrations));
        status = programs_place(&p, err) != 0 ? -1 : parts_run(&p, ret_end, err);
    }
    atoll_seat_destroy(p.ahead);
    worker_end(&p.leaving);
    atoll_calibration_folder_remove(p.calibrations);
    atoll_pilot_choice_destroy(p.choice);
    atoll_node_list_fini(&p.nodes);
    atoll_node_list_fini(&p.bad);
    atoll_launcher_destroy(p.launcher);
    return status;
}
