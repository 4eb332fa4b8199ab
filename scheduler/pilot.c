/* pilot.c - the loop of a job.
 *
 * CHOOSE a part -> RUN a step on it -> JUDGE by its journals -> CHOOSE ...
 * until every part has ended (FINALIZE), none is free, time is over (CONTINUE), or the user or the scheduler wants it to go.
 * A step that failed is repeated without the nodes that the scheduler calls bad; three without any result give the part up. */
#include "scheduler/pilot.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "archive-h5/file_ops.h"
#include "archive-h5/standing.h"
#include "core/log.h"
#include "core/units.h"
#include "mpi-eval/clock.h"
#include "scheduler/allocation.h"
#include "scheduler/broadcast.h"
#include "scheduler/finalize.h"
#include "scheduler/local/launch.h"
#include "scheduler/node_list.h"
#include "scheduler/pilot_choice.h"
#include "scheduler/pilot_step.h"
#include "scheduler/pump.h"
#include "scheduler/step.h"
#include "scheduler/sweep_jobs.h"

#define ARENA_BYTES   ((size_t)8 << 20)
#define LOOK_AGAIN_S  2
#define END_RESERVE_S 30.0 /* before the job's end nothing of ours runs any more */
#define RESERVE_SHARE 0.05 /* but at most this share of the job */
#define START_WORTH_S                                                                                        \
    45.0 /* with less time left no step is started: it would only drain (mpi-eval/drain.h) */
#define WORTH_SHARE    0.75
#define HOSTS_IN_WORDS 64
#define HOSTS_BYTES    ((size_t)4 << 20)
#define WORDS          48
#define WARNING_SLACK  1.2 /* of the time at which the site warns */
#define STEP_FAILED_S  5   /* after a failed step: the scheduler learns of a lost node a little later */

struct pilot {
    const struct atoll_pilot_settings *settings;
    const struct atoll_sweep *sweep;
    struct atoll_launcher *launcher; /* NULL: none answers */
    struct atoll_allocation allocation;
    struct atoll_lease_holder self;
    struct atoll_pilot_choice *choice;
    struct atoll_node_list nodes, bad;
    double total_s; /* of the job, when it began */
    char programs[PATH_MAX], drain_file[PATH_MAX], paused_file[PATH_MAX];
    uint64_t results; /* of all steps of this pilot */
};

static double reserve_s(const struct pilot *p)
{
    double share = RESERVE_SHARE * p->total_s;

    return share < END_RESERVE_S ? share : END_RESERVE_S;
}

static double left_s(const struct pilot *p)
{
    return atoll_allocation_remaining_s(&p->allocation) - reserve_s(p);
}

static int is_time_over(const struct pilot *p)
{
    double worth = WORTH_SHARE * p->total_s;

    return left_s(p) < (worth < START_WORTH_S ? worth : START_WORTH_S);
}

static int is_unwanted(const struct pilot *p)
{
    return atoll_sweep_is_marked(p->sweep->dir, ATOLL_SWEEP_PAUSED) ||
           atoll_sweep_is_marked(p->sweep->dir, ATOLL_SWEEP_CANCELLED);
}

static int is_interrupted(const struct pilot *p)
{
    return p->settings->interrupts && *p->settings->interrupts;
}

static double lease_time_s(const struct pilot *p)
{
    return p->settings->lease_time_s > 0 ? p->settings->lease_time_s : ATOLL_LEASE_TIME_S;
}

/* ---- the step ---- */

/* Nodes of the allocation that take part: all but the bad ones; when none is left, all. */
static size_t nodes_left(const struct pilot *p, const char **ret_nodes, const char **ret_out,
                         size_t *ret_out_count)
{
    size_t count = 0, out = 0;

    for (size_t i = 0; i < p->nodes.count; i++) {
        if (atoll_node_list_has(&p->bad, p->nodes.names[i])) {
            ret_out[out++] = p->nodes.names[i];
        } else {
            ret_nodes[count++] = p->nodes.names[i];
        }
    }
    *ret_out_count = out;
    return count;
}

struct step_texts {
    char part[PATH_MAX], program[PATH_MAX], takeover[16], restarts[16], until[32], lease[32], hosts[PATH_MAX];
    const char *arguments[WORDS];
};

static void add(struct step_texts *t, size_t *count, const char *word)
{
    if (*count < WORDS - 1) {
        t->arguments[(*count)++] = word;
        t->arguments[*count] = NULL;
    }
}

static void arguments_fill(const struct pilot *p, uint32_t silent_epoch, struct step_texts *t)
{
    size_t count = 0;

    snprintf(t->restarts, sizeof(t->restarts), "%u", p->allocation.restarts);
    add(t, &count, "--job");
    add(t, &count, p->allocation.job);
    add(t, &count, "--restarts");
    add(t, &count, t->restarts);
    add(t, &count, "--on-signal");
    add(t, &count, "drain");
    add(t, &count, "--drain-file");
    add(t, &count, p->drain_file);
    add(t, &count, "--drain-file");
    add(t, &count, p->paused_file);
    if (p->settings->lease_time_s > 0) {
        snprintf(t->lease, sizeof(t->lease), "%.17g", p->settings->lease_time_s);
        add(t, &count, "--lease-time");
        add(t, &count, t->lease);
    }
    if (silent_epoch) {
        snprintf(t->takeover, sizeof(t->takeover), "%u", silent_epoch);
        add(t, &count, "--takeover");
        add(t, &count, t->takeover);
    }
    if (left_s(p) < HUGE_VAL) {
        snprintf(t->until, sizeof(t->until), "%.0f", (double)time(NULL) + left_s(p));
        add(t, &count, "--until");
        add(t, &count, t->until);
    }
    for (size_t i = 0; i < p->settings->eval_word_count; i++) {
        add(t, &count, p->settings->eval_words[i]);
    }
    add(t, &count, t->part);
}

/* mpiexec leaves nodes out by it; for mpirun a long list is no word of a command line. */
static int needs_hosts(const struct atoll_site *site, const struct atoll_step_request *request)
{
    return site->step.start == ATOLL_SITE_MPIEXEC ||
           (site->step.start == ATOLL_SITE_MPIRUN && request->node_count > HOSTS_IN_WORDS);
}

/* The file of hosts that some launchers need; ret_path "" where this one needs none. */
static int hosts_write(const struct pilot *p, const struct atoll_step_request *request, char *ret_path,
                       size_t bytes, struct atoll_err *err)
{
    struct atoll_buffer text;
    int status;

    ret_path[0] = '\0';
    if (!needs_hosts(p->settings->site, request)) {
        return 0;
    }
    atoll_buffer_init(&text, HOSTS_BYTES);
    status = atoll_step_hosts(p->settings->site, request, &text, err);
    if (status == 0) {
        snprintf(ret_path, bytes, "%.3900s/.hosts-%.60s", p->sweep->dir, p->allocation.job);
        status = atoll_file_replace(atoll_file_ops_real(), ret_path, text.data, text.length, err);
    }
    atoll_buffer_fini(&text);
    return status;
}

static int step_words(const struct pilot *p, struct step_texts *texts, struct atoll_arena *arena,
                      const char *const **ret_words, struct atoll_err *err)
{
    const char **nodes = atoll_arena_alloc_array(arena, p->nodes.count + 1, sizeof(*nodes), err);
    const char **out = atoll_arena_alloc_array(arena, p->nodes.count + 1, sizeof(*out), err);
    struct atoll_step_request request = {.nodes = nodes,
                                         .left_out = out,
                                         .evaluators_per_node = p->sweep->evaluators_per_node,
                                         .gpus_per_node = p->sweep->gpus_per_node,
                                         .program = texts->program,
                                         .arguments = texts->arguments};

    if (!nodes || !out) {
        return -1;
    }
    request.node_count = nodes_left(p, nodes, out, &request.left_out_count);
    if (request.node_count == 0) {
        return atoll_err_set(err, ATOLL_E_CHILD, "no node of the job is left that the scheduler calls good");
    }
    if (hosts_write(p, &request, texts->hosts, sizeof(texts->hosts), err) != 0) {
        return -1;
    }
    request.host_file = texts->hosts[0] ? texts->hosts : NULL;
    return atoll_step_command(p->settings->site, &request, arena, ret_words, err);
}

static int evaluated_count(const char *part, uint64_t *ret_count, int *ret_ended, struct atoll_err *err)
{
    struct atoll_standing standing;

    if (atoll_standing_read(part, &standing, err) != 0) {
        return -1;
    }
    *ret_count = standing.evaluated + standing.duelled;
    *ret_ended = standing.phase == ATOLL_STANDING_ENDED;
    atoll_standing_fini(&standing);
    return 0;
}

/* After a step, also a good one, which goes on when it loses a node: nodes that the scheduler calls bad are left out from now
 * on, and named. */
static void bad_nodes_find(struct pilot *p)
{
    char names[8192];
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
            atoll_sweep_tell(p->sweep->dir, p->allocation.job, "node",
                             "node %s is left out: the scheduler calls it bad", bad.names[i]);
        }
    }
    atoll_node_list_fini(&p->bad);
    p->bad = bad;
}

#define NODE_ASKS 20u /* until the scheduler knows of a lost node, or it was no node */

struct step_watch {
    struct pilot *pilot;
    const char *part;
    uint64_t evaluators; /* most that answered */
    unsigned asked;
};

/* A step goes on without what it lost.  Evaluators that are missing may be on a node that is down, of which the scheduler learns
 * a little later; only while some are missing is it asked. */
static void step_look(void *context)
{
    struct step_watch *watch = context;
    struct pilot *p = watch->pilot;
    struct atoll_standing standing;
    size_t known = p->bad.count;
    uint64_t now;

    if (p->nodes.count < 2 || atoll_standing_read(watch->part, &standing, NULL) != 0) {
        return;
    }
    now = standing.has_hint ? standing.hint.evaluators : 0;
    atoll_standing_fini(&standing);
    if (now >= watch->evaluators) {
        watch->evaluators = now;
        watch->asked = 0;
    } else if (watch->asked++ < NODE_ASKS) {
        bad_nodes_find(p);
        watch->evaluators = p->bad.count > known ? now : watch->evaluators;
    }
}

static const char *const ends[] = {[ATOLL_STEP_EXITED] = "ended",
                                   [ATOLL_STEP_SILENT] = "stood still and was killed",
                                   [ATOLL_STEP_LATE] = "was still there at the job's end and was killed"};

/* A step is told of when it did not go as it should. */
static void step_judge(struct pilot *p, size_t part, const struct atoll_pilot_step_result *result,
                       uint64_t gained, int has_ended)
{
    const char *name = p->sweep->parts[part].name;
    int is_good = result->end == ATOLL_STEP_EXITED && result->status == 0;
    int is_taken = result->end == ATOLL_STEP_EXITED && result->status == atoll_code_exit_status(ATOLL_E_BUSY);

    p->results += gained;
    atoll_log(is_good ? ATOLL_LOG_INFO : ATOLL_LOG_WARNING, "pilot.step",
              "part %s: the step %s with status %d after %llu results%s", name, ends[result->end],
              result->status, (unsigned long long)gained, has_ended ? "; the part has ended" : "");
    if (is_taken) {
        return; /* somebody was faster */
    }
    if (!is_good) {
        atoll_sweep_tell(p->sweep->dir, p->allocation.job, "lost",
                         "part %s: the step %s with status %d after %llu results", name, ends[result->end],
                         result->status, (unsigned long long)gained);
        if (!is_interrupted(p)) {
            sleep(STEP_FAILED_S);
        }
    }
    bad_nodes_find(p);
    atoll_pilot_choice_note(p->choice, part, is_good || gained > 0);
}

static int step_run(struct pilot *p, size_t part, uint32_t silent_epoch, struct atoll_arena *arena,
                    struct atoll_err *err)
{
    struct step_texts texts = {.arguments = {NULL}};
    struct step_watch watch = {.pilot = p, .part = texts.part};
    struct atoll_pilot_step_settings settings = {.self = &p->self,
                                                 .look = step_look,
                                                 .context = &watch,
                                                 .drain_file = p->drain_file,
                                                 .interrupts = p->settings->interrupts,
                                                 .lease_time_s = lease_time_s(p),
                                                 .end_mono_ns = atoll_clock_mono_ns() +
                                                                (left_s(p) + reserve_s(p) / 2) * 1e9};
    struct atoll_pilot_step_result result;
    uint64_t before, after;
    int has_ended;

    if (atoll_sweep_part_path(p->sweep, part, texts.part, sizeof(texts.part), err) != 0 ||
        evaluated_count(texts.part, &before, &has_ended, err) != 0) {
        return -1;
    }
    snprintf(texts.program, sizeof(texts.program), "%.4000s/atoll-eval", p->programs);
    arguments_fill(p, silent_epoch, &texts);
    if (step_words(p, &texts, arena, &settings.words, err) != 0) {
        return -1;
    }
    settings.part = texts.part;
    atoll_log(ATOLL_LOG_INFO, "pilot.part", "takes part %s%s", p->sweep->parts[part].name,
              silent_epoch ? ", whose job was lost" : "");
    atoll_sweep_tell(p->sweep->dir, p->allocation.job, silent_epoch ? "takeover" : "part", "takes part %s%s",
                     p->sweep->parts[part].name, silent_epoch ? ", whose holder stood still" : "");
    if (atoll_pilot_step_run(&settings, &result, err) != 0 ||
        evaluated_count(texts.part, &after, &has_ended, err) != 0) {
        return -1;
    }
    step_judge(p, part, &result, after > before ? after - before : 0, has_ended);
    return 0;
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

/* ---- the end ---- */

/* Under the same id where the site does that, else as a new job. */
static int continue_job(struct pilot *p, const char *why, struct atoll_err *err)
{
    const struct atoll_pump_settings pump = {
        .except_job = p->allocation.job, .timeout_s = p->settings->call_timeout_s, .say = stderr};
    struct atoll_pump_result result;

    if (p->settings->site->end.go_on == ATOLL_SITE_REQUEUE && p->launcher && p->allocation.is_job) {
        atoll_sweep_tell(p->sweep->dir, p->allocation.job, "requeue", "%s: the job asks to be queued again",
                         why);
        if (atoll_launcher_requeue(p->launcher, p->allocation.job, err) == 0) {
            return 0;
        }
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.requeue", err);
        atoll_err_clear(err);
    }
    atoll_sweep_tell(p->sweep->dir, p->allocation.job, "successor", "%s: another job is submitted", why);
    return atoll_pump(&pump, &result, err);
}

/* Whether the scheduler itself is ending the job: 1, 0, -1 nobody answers.  A job that the user cancelled is told as
 * "completing" like one that was preempted or requeued from outside: the first must not come back, the others come back by
 * themselves.  One that ran into its limit is ended too, and nobody else lets it go on. */
static int is_being_ended(struct pilot *p)
{
    struct atoll_job job;

    if (!p->launcher || atoll_launcher_ask(p->launcher, p->allocation.job, &job, NULL) != 0) {
        return -1;
    }
    if (job.state == ATOLL_JOB_RUNNING || job.state == ATOLL_JOB_SUSPENDED) {
        return 0;
    }
    return strcmp(job.reason, "TimeLimit") != 0 && atoll_allocation_remaining_s(&p->allocation) > 0;
}

/* Campaigns that waited for this one get their jobs. */
static void others_start(const struct pilot *p)
{
    const struct atoll_pump_settings pump = {
        .except_job = p->allocation.job, .timeout_s = p->settings->call_timeout_s, .say = stderr};
    struct atoll_pump_result result;
    struct atoll_err err = ATOLL_ERR_INIT;

    if (atoll_pump(&pump, &result, &err) != 0) {
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.pump", &err);
    }
}

/* What waits in the queue for this campaign has nothing to do any more. */
static void waiting_cancel(const struct pilot *p)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned count;

    if (p->launcher && atoll_sweep_jobs_cancel(p->sweep, p->settings->call_timeout_s, 1, &count, &err) != 0) {
        atoll_log_err(ATOLL_LOG_WARNING, "pilot.waiting", &err);
    }
}

static int finish(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    int done = atoll_finalize(p->sweep, 0, err);

    if (done < 0) {
        return -1;
    }
    *ret_end = done ? ATOLL_PILOT_DONE : ATOLL_PILOT_NO_WORK;
    if (done) { /* also where another one wrote it: nobody knows whether that one came to the rest */
        atoll_log(ATOLL_LOG_INFO, "pilot.done",
                  "every part has ended: %s/archive.h5 and report.html are there", p->sweep->dir);
        waiting_cancel(p);
        others_start(p);
    }
    return 0;
}

/* ---- the loop ---- */

/* Asked to go: a warning that time is nearly over, a preemption, or a cancel, which alone ends the job for good. */
static int interrupted(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    double warned_s = WARNING_SLACK * p->settings->site->end.before_s;
    int is_time = atoll_allocation_remaining_s(&p->allocation) < warned_s, is_ended = is_being_ended(p);

    *ret_end = ATOLL_PILOT_LEFT;
    if (p->settings->site->end.go_on == ATOLL_SITE_END || is_ended > 0 || (is_ended < 0 && !is_time)) {
        atoll_sweep_tell(p->sweep->dir, p->allocation.job, "left", "the job was asked to go");
        return 0;
    }
    *ret_end = ATOLL_PILOT_CONTINUES;
    return continue_job(p, is_time ? "time is nearly over" : "the scheduler wants the nodes", err) == 0 ? 0
                                                                                                        : -1;
}

/* 1: go on; 0: *ret_end says why not. */
static int may_go_on(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    size_t open_count;

    if (is_unwanted(p)) {
        *ret_end = ATOLL_PILOT_PAUSED;
        return 0;
    }
    if (!is_interrupted(p) && !is_time_over(p)) {
        return 1;
    }
    /* Nobody is submitted for a campaign whose parts have all ended: what is left to write is written here. */
    if (atoll_pump_open_parts(p->sweep, &open_count, err) != 0) {
        return -1;
    }
    if (open_count == 0) {
        return 1;
    }
    if (is_interrupted(p)) {
        return interrupted(p, ret_end, err);
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
    return continue_job(p, "time is over", err) == 0 ? 0 : -1;
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
                     "%zu parts were given up after three steps without a result", count);
    return atoll_err_set(
        err, ATOLL_E_CHILD,
        "%zu parts were given up after three steps in a row without any result; the log above says why; when "
        "that is mended: atoll resume %s",
        count, p->sweep->dir);
}

/* 1: again; 0: left; -1. */
static int turn(struct pilot *p, enum atoll_pilot_end *ret_end, struct atoll_err *err)
{
    enum atoll_offer choice;
    uint32_t silent_epoch = 0;
    size_t part = 0;
    struct atoll_arena *arena;
    int status;

    if (atoll_pilot_choose(p->choice, atoll_clock_mono_ns(), &choice, &part, &silent_epoch, err) != 0) {
        return -1;
    }
    switch (choice) {
    case ATOLL_OFFER_ENDED: return finish(p, ret_end, err);
    case ATOLL_OFFER_NONE: return given_up(p, ret_end, err);
    case ATOLL_OFFER_WAIT: sleep(LOOK_AGAIN_S); return 1;
    case ATOLL_OFFER_PART: break;
    }
    arena = atoll_arena_create(ARENA_BYTES, err);
    status = arena ? step_run(p, part, silent_epoch, arena, err) : -1;
    atoll_arena_destroy(arena);
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
    p->choice =
        atoll_pilot_choice_create(p->sweep, &p->self, place_of_job(p->allocation.job), lease_time_s(p), err);
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
