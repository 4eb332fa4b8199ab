/* pilot.c - the loop of a job.
 *
 * CHOOSE a part -> RUN a step on it -> JUDGE by its journals -> CHOOSE ...
 * until every part has ended (FINALIZE), none is free, time is over (CONTINUE), or the user or the scheduler wants it to go.
 * A step that failed is repeated without the nodes that the scheduler calls bad; three without any result give the part up. */
#include "scheduler/job/pilot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "base/clock.h"
#include "scheduler/job/broadcast.h"
#include "scheduler/launcher/local/launch.h"
#include "scheduler/job/pilot_state.h"

#define LOOK_AGAIN_S  2
#define END_RESERVE_S 30.0 /* before the job's end nothing of ours runs any more */
#define RESERVE_SHARE 0.05 /* but at most this share of the job */
#define START_WORTH_S                                                                                        \
    45.0 /* with less time left no step is started: it would only drain (mpi-eval/coordinator/drain.h) */
#define WORTH_SHARE 0.75

double atoll_pilot_reserve_s(const struct pilot *p)
{
    double share = RESERVE_SHARE * p->total_s;

    return share < END_RESERVE_S ? share : END_RESERVE_S;
}

double atoll_pilot_left_s(const struct pilot *p)
{
    return atoll_allocation_remaining_s(&p->allocation) - atoll_pilot_reserve_s(p);
}

static int is_time_over(const struct pilot *p)
{
    double worth = WORTH_SHARE * p->total_s;

    return atoll_pilot_left_s(p) < (worth < START_WORTH_S ? worth : START_WORTH_S);
}

static int is_unwanted(const struct pilot *p)
{
    return atoll_sweep_is_marked(p->sweep->dir, ATOLL_SWEEP_PAUSED) ||
           atoll_sweep_is_marked(p->sweep->dir, ATOLL_SWEEP_CANCELLED);
}

int atoll_pilot_is_interrupted(const struct pilot *p)
{
    return p->settings->interrupts && *p->settings->interrupts;
}

double atoll_pilot_lease_time_s(const struct pilot *p)
{
    return p->settings->lease_time_s > 0 ? p->settings->lease_time_s : ATOLL_LEASE_TIME_S;
}

/* Where the programs are started from: the nodes' own disks where the site wants that and it works. */
static int programs_place(struct pilot *p, struct atoll_err *err)
{
    char beside[PATH_MAX];
    struct atoll_err why = ATOLL_ERR_INIT;

    if (atoll_launch_beside("atoll-eval", beside, sizeof(beside), err) != 0) {
        return -1;
    }
    *strrchr(beside, '/') = '\0';
    if (atoll_broadcast(p->settings->site, &p->nodes, p->allocation.job, beside, p->programs,
                        sizeof(p->programs), &why) != 0) {
        atoll_log(ATOLL_LOG_WARNING, "pilot.programs", "%s; the programs are started from %s", why.text,
                  p->programs);
    } else {
        atoll_log(ATOLL_LOG_INFO, "pilot.programs", "the programs are started from %s", p->programs);
    }
    return 0;
}

/* 1: go on; 0: *ret_end says why not. */
static int may_go_on(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    if (is_unwanted(p)) {
        *ret_end = ATOLL_PILOT_PAUSED;
        return 0;
    }
    if (!atoll_pilot_is_interrupted(p) && !is_time_over(p)) {
        return 1;
    }
    /* Nobody is submitted for a campaign whose parts have all ended: what is left to write is written here. */
    if (atoll_pilot_choice_all_ended(p->choice)) {
        return 1;
    }
    if (atoll_pilot_is_interrupted(p)) {
        return atoll_pilot_interrupted(p, ret_end, err);
    }
    atoll_log(ATOLL_LOG_INFO, "pilot.time", "%.0f s are left: no step is started any more",
              atoll_allocation_remaining_s(&p->allocation));
    *ret_end = ATOLL_PILOT_CONTINUES;
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
    return atoll_pilot_continue(p, "time is over", err) == 0 ? 0 : -1;
}

static int given_up(const struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    size_t count = atoll_pilot_choice_given_up(p->choice);

    *ret_end = ATOLL_PILOT_NO_WORK;
    if (count == 0) {
        atoll_log(ATOLL_LOG_INFO, "pilot.no-work",
                  "every open part has a job that works on it: this one leaves");
        return 0;
    }
    atoll_sweep_tell(p->sweep->dir, p->allocation.job, "given-up",
                     "%zu parts were given up: damaged, or three steps without a result", count);
    return atoll_err_set(err, ATOLL_E_CHILD,
                         "%zu parts were given up, damaged or after three steps in a row without any result; "
                         "the log above says why; when "
                         "that is mended: atoll resume %s",
                         count, p->sweep->dir);
}

/* 1: again; 0: left; -1. */
static int turn(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    enum atoll_offer choice;
    uint32_t silent_epoch = 0;
    size_t part = 0;
    int status;

    if (atoll_pilot_choose(p->choice, atoll_clock_mono_ns(), &choice, &part, &silent_epoch, err) != 0) {
        return -1;
    }
    switch (choice) {
    case ATOLL_OFFER_ENDED: return atoll_pilot_finish(p, ret_end, err);
    case ATOLL_OFFER_NONE: return given_up(p, ret_end, err);
    case ATOLL_OFFER_WAIT: sleep(LOOK_AGAIN_S); return 1;
    case ATOLL_OFFER_PART: break;
    }
    status = atoll_pilot_part_run(p, part, silent_epoch, err);
    return status == 0 ? 1 : -1;
}

static int loop(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    int go_on;

    do {
        go_on = may_go_on(p, ret_end, err);
        go_on = go_on > 0 ? turn(p, ret_end, err) : go_on;
    } while (go_on > 0);
    return go_on;
}

static size_t place_of_job(const char *job)
{
    size_t sum = 0;

    for (; *job; job++) {
        sum = *job >= '0' && *job <= '9' ? sum * 10 + (size_t)(*job - '0') : sum * 7;
    }
    return sum;
}

static int pilot_init(struct pilot *p, const struct atoll_pilot_settings *settings, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;

    *p = (struct pilot){.settings = settings, .sweep = settings->sweep};
    p->launcher = atoll_launcher_create(settings->site->launcher, settings->call_timeout_s, &why);
    if (!p->launcher) {
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.launcher", &why);
    }
    atoll_allocation_find(p->launcher, &p->allocation);
    p->total_s = atoll_allocation_remaining_s(&p->allocation);
    atoll_lease_holder_self(p->allocation.job, p->allocation.restarts, &p->self);
    snprintf(p->drain_file, sizeof(p->drain_file), "%.3900s/.drain-%.60s", p->sweep->dir, p->allocation.job);
    snprintf(p->paused_file, sizeof(p->paused_file), "%.4000s/paused", p->sweep->dir);
    if (atoll_node_list_parse(p->allocation.nodes[0] ? p->allocation.nodes : "localhost", &p->nodes, err) !=
        0) {
        return -1;
    }
    p->choice = atoll_pilot_choice_create(p->sweep, &p->self, place_of_job(p->allocation.job),
                                          atoll_pilot_lease_time_s(p), err);
    return p->choice ? 0 : -1;
}

static void pilot_fini(struct pilot *p)
{
    atoll_pilot_choice_destroy(p->choice);
    atoll_node_list_fini(&p->nodes);
    atoll_node_list_fini(&p->bad);
    atoll_launcher_destroy(p->launcher);
}

int atoll_pilot_run(const struct atoll_pilot_settings *settings, enum atoll_pilot_end *ret_end,
                    struct atoll_err *err)
{
    struct pilot pilot;
    char left[32];
    int status = pilot_init(&pilot, settings, err);

    if (status == 0) {
        atoll_log(ATOLL_LOG_INFO, "pilot.start", "job %s (start %u) on %zu nodes, %s left",
                  pilot.allocation.job, pilot.allocation.restarts + 1, pilot.nodes.count,
                  pilot.total_s < HUGE_VAL ? atoll_duration_text(pilot.total_s * 1e9, left, sizeof(left))
                                           : "time without limit");
        if (pilot.allocation.restarts > 0) {
            atoll_sweep_tell(pilot.sweep->dir, pilot.allocation.job, "restart",
                             "started again (%u times so far)", pilot.allocation.restarts);
        }
        status = programs_place(&pilot, err);
        status = status == 0 ? loop(&pilot, ret_end, err) : status;
    }
    pilot_fini(&pilot);
    return status;
}
