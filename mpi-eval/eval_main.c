/* eval_main.c - the program atoll-eval: one rank of an evaluation run.
 *
 *   atoll-eval CAMPAIGN --local        one process: coordinator and its evaluators on this machine, no MPI
 *   mpirun -n N atoll-eval CAMPAIGN    rank 0 coordinates; every other rank forwards to an evaluator process
 * of its own (with N = 1 the same as --local) atoll-eval --evaluator             an evaluator process;
 * started by the spawner only, socket on descriptor 3
 *
 * The spawner is forked before anything else: before MPI_Init, before the campaign's lock is taken, before a
 * thread exists. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "base/clock.h"
#include "base/program.h"
#include "mpi-eval/operator/roles.h"
#include "mpi-eval/backend/kept_calibration.h"
#include "mpi-eval/comm/comm.h"
#include "mpi-eval/coordinator/coordinator.h"
#include "mpi-eval/evaluator/evaluator.h"
#include "mpi-eval/node/evaluator_pool.h"
#include "mpi-eval/node/forwarder.h"
#include "mpi-eval/node/gpus.h"
#include "mpi-eval/node/spawner.h"
#include "mpi-eval/coordinator/setup.h"
#include "mpi-eval/coordinator/lease_renewer.h"

#define ANSWERS_NS      8e9
#define LEAVE_SENT_NS   0.3e9
#define GATE_LOOK_NS    50000000L
#define DEVICES_LOOK_NS 15e6
#define POOL_ENDS_NS    4e9 /* what evaluators of this machine get to leave */
#define LIFE_TOLD_NS    2e9 /* between two words to ranks that wait for the end */

struct settings {
    int local, evaluator, null_backend, verbose;
    long long evaluators, progress_fd;
    const char *ack_log, *job, *gateway, *model, *role, *token_file, *gate, *stage, *keep_calibration;
    double heartbeat_timeout_s, wall_s, lease_time_s;
    long long takeover, restarts, until;
    int on_signal, finish;
    struct atoll_option_list drain_files, extend;
};

static const struct atoll_option options[] = {
    {"local", 0, ATOLL_OPT_FLAG, offsetof(struct settings, local), NULL, NULL, 0, 0, NULL,
     "Run on this machine alone, without MPI."},
    {"evaluators", 0, ATOLL_OPT_INT, offsetof(struct settings, evaluators), "N", "0", 0,
     ATOLL_SPAWNER_CHILD_LIMIT, NULL,
     "With --local: evaluator processes; 0 is one, and with the backend cuda one for each GPU. More than one "
     "on the "
     "cores of one machine disturb each other."},
    {"job", 0, ATOLL_OPT_TEXT, offsetof(struct settings, job), "ID", "local", 0, 0, NULL,
     "Name of the job this attempt belongs to; attempts are kept in jobs/ID.<n>."},
    {"wall", 0, ATOLL_OPT_DURATION, offsetof(struct settings, wall_s), "TIME", "0", 0, 1e9, NULL,
     "Ask for an orderly end after this time of this attempt; 0 means never."},
    {"until", 0, ATOLL_OPT_INT, offsetof(struct settings, until), "UNIX_SECONDS", "0", 0, 1e11, NULL,
     "Be gone by then: nothing is sent that may not come back in time, what is under way is waited for, "
     "journal and "
     "segment are closed, and the search is left unfinished for a resume; 0 means never."},
    {"on-signal", 0, ATOLL_OPT_CHOICE, offsetof(struct settings, on_signal), NULL, "finish", 0, 0,
     "finish|drain",
     "What the first signal does: finish the search in order, with its last comparisons, or drain it as "
     "--until "
     "does."},
    {"finish", 0, ATOLL_OPT_FLAG, offsetof(struct settings, finish), NULL, NULL, 0, 0, NULL,
     "Search no more: make the last comparisons and end, whatever is left of the budget."},
    {"extend", 0, ATOLL_OPT_LIST, offsetof(struct settings, extend), "NAME=VALUE", NULL, 0, 0, NULL,
     "More budget from here on: evaluation_budget, device_budget_ns, wall_budget_ns, token_budget or "
     "money_budget_usd. A "
     "campaign that has ended goes on."},
    {"drain-file", 0, ATOLL_OPT_LIST, offsetof(struct settings, drain_files), "FILE", NULL, 0, 0, NULL,
     "Drain the search when this file is there."},
    {"restarts", 0, ATOLL_OPT_INT, offsetof(struct settings, restarts), "N", "0", 0, 1e9, NULL,
     "How often the scheduler has started this job again under the same ID; then what held the campaign "
     "before under "
     "that ID is gone."},
    {"takeover", 0, ATOLL_OPT_INT, offsetof(struct settings, takeover), "EPOCH", "0", 0, 4294967295.0, NULL,
     "Take over from the holder of this epoch of the campaign's lease, whose beat you have watched stand "
     "still for 90 "
     "s."},
    {"lease-time", 0, ATOLL_OPT_DURATION, offsetof(struct settings, lease_time_s), "TIME", "90s", 0.1, 1e6,
     NULL,
     "A holder whose lease stands still for so long is lost (for tests: all who work on a campaign must "
     "agree)."},
    {"heartbeat-timeout", 0, ATOLL_OPT_DURATION, offsetof(struct settings, heartbeat_timeout_s), "TIME",
     "15s", 0.1, 1e6, NULL, "An evaluator that is silent for longer is lost: its orders go to others."},
    {"progress-fd", 0, ATOLL_OPT_INT, offsetof(struct settings, progress_fd), "FD", "-1", -1, 1024, NULL,
     "Write progress as JSON lines to this open descriptor."},
    {"ack-log", 0, ATOLL_OPT_TEXT, offsetof(struct settings, ack_log), "FILE", NULL, 0, 0, NULL,
     "Append the number of every evaluation whose result is durable to this file (for tests)."},
    {"gateway", 0, ATOLL_OPT_TEXT, offsetof(struct settings, gateway), "WHERE", NULL, 0, 0, NULL,
     "Gateway to language models: http://HOST:PORT, unix:PATH, spool:DIR, replay:FILE, or none; instead of "
     "the campaign's."},
    {"model", 0, ATOLL_OPT_TEXT, offsetof(struct settings, model), "NAME", NULL, 0, 0, NULL,
     "Model or ensemble, as the gateway calls it, or one a role; instead of the campaign's."},
    {"role", 0, ATOLL_OPT_TEXT, offsetof(struct settings, role), "ROLE:KEY=VALUE,...;...", NULL, 0, 0, NULL,
     "Parameters of roles; instead of the campaign's."},
    {"gateway-token", 0, ATOLL_OPT_TEXT, offsetof(struct settings, token_file), "FILE", NULL, 0, 0, NULL,
     "File with the gateway's token; instead of the campaign's."},
    {"gate", 0, ATOLL_OPT_TEXT, offsetof(struct settings, gate), "FILE", NULL, 0, 0, NULL,
     "Stand by: come up, and touch neither a campaign nor a device before FILE names the campaign. Leave "
     "when "
     "FILE is gone (internal; `atoll job` starts the next part's run so, beside the end of the one before)."},
    {"stage", 0, ATOLL_OPT_TEXT, offsetof(struct settings, stage), "FILE", NULL, 0, 0, NULL,
     "Tell in FILE, which is there, how far this run is with its devices (internal)."},
    {"keep-calibration", 0, ATOLL_OPT_TEXT, offsetof(struct settings, keep_calibration), "FOLDER", NULL, 0, 0,
     NULL,
     "Keep what the calibration of a device finds in FOLDER, where that is there and yours alone, for two "
     "hours, and "
     "believe what an earlier run kept there once a probe agrees with it (`atoll job` does, within a job)."},
    {"null-backend", 0, ATOLL_OPT_FLAG, offsetof(struct settings, null_backend), NULL, NULL, 0, 0, NULL,
     "Measure nothing: results are invented from the candidates' identities (for tests and benchmarks)."},
    {"verbose", 'v', ATOLL_OPT_FLAG, offsetof(struct settings, verbose), NULL, NULL, 0, 0, NULL, "Log more."},
    {"evaluator", 0, ATOLL_OPT_FLAG, offsetof(struct settings, evaluator), NULL, NULL, 0, 0, NULL,
     "Be an evaluator process that speaks on descriptor 3 (internal)."},
    {NULL, 0, ATOLL_OPT_FLAG, 0, NULL, NULL, 0, 0, NULL, NULL},
};

static const struct atoll_command command = {
    .name = "atoll-eval",
    .synopsis = "CAMPAIGN",
    .summary = "run or resume a campaign on the devices of an allocation",
    .description =
        "Runs the campaign in the directory CAMPAIGN until its budget is spent. Started on a campaign that "
        "was killed it goes on where that stopped; there is no other way of resuming.\n\n"
        "Under mpirun or srun rank 0 coordinates and every other rank has one evaluator process; with "
        "--local, or with one rank, everything runs on this machine. The first SIGINT or SIGTERM asks for an "
        "orderly end (see --on-signal), the second ends the process at once; nothing that was acknowledged "
        "is lost by "
        "either.\n\n"
        "One process at a time works on a campaign: whoever has its lease (CAMPAIGN/lease). A second one is "
        "refused, "
        "exit status 75. A holder that was killed on this machine is seen to be gone; where it was on "
        "another one, see "
        "--takeover and --restarts.",
    .examples = "atoll-eval my-campaign --local\nmpirun -n 5 atoll-eval my-campaign\n",
    .options = options,
};

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    if (++interrupts > 1)
        _exit(128 + signal_number);
}

static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR2, &action, NULL); /* which mpirun passes on without ending the run */
    signal(SIGPIPE, SIG_IGN);
}

static int64_t log_failure(struct atoll_err *err)
{
    atoll_log_err(ATOLL_LOG_ERROR, "eval.failed", err);
    return atoll_code_exit_status(err->code);
}

static struct atoll_spawner *start_spawner(const struct settings *settings, struct atoll_err *err)
{
    static char program[PATH_MAX];
    static const char *const quiet[] = {"atoll-eval", "--evaluator", NULL};
    static const char *const verbose[] = {"atoll-eval", "--evaluator", "--verbose", NULL};
    if (atoll_program_path(program, sizeof(program), err) != 0)
        return NULL;
    return atoll_spawner_create(program, settings->verbose ? verbose : quiet, err);
}

/* ---- rank 0 ---- */

static void log_result(const struct atoll_coordinator_result *r)
{
    uint64_t results = r->evaluated + r->duelled;
    if (r->was_finished) {
        atoll_log(ATOLL_LOG_INFO, "eval.finished.before",
                  "the campaign had finished before; nothing was run");
        return;
    }
    if (r->is_drained) {
        atoll_log(ATOLL_LOG_INFO, "eval.drained",
                  "the journal is closed and the search is not finished: a resume goes on");
    }
    atoll_log(ATOLL_LOG_INFO, "eval.finished",
              "%llu evaluations, %llu comparisons in %.2f s; rank 0 used %.1f us of CPU for each; %llu "
              "results ignored, "
              "%llu bad messages, %llu evaluators lost",
              (unsigned long long)r->evaluated, (unsigned long long)r->duelled, r->elapsed_ns / 1e9,
              results ? r->cpu_ns / 1e3 / (double)results : 0.0, (unsigned long long)r->ignored,
              (unsigned long long)r->bad_messages, (unsigned long long)r->peers_lost);
}

static void log_claim(const struct atoll_campaign *campaign, enum atoll_campaign_hold hold)
{
    static const char *const states[] = {"it was never claimed", "it was taken over by its silence from",
                                         "it was released by", "it is taken over from one that is gone:"};
    struct atoll_lease *lease = atoll_campaign_lease(campaign);
    struct atoll_lease_seen before = atoll_lease_before(lease);
    if (before.state == ATOLL_LEASE_FREE) {
        atoll_log(ATOLL_LOG_INFO, "eval.lease", "epoch %u of the lease", atoll_lease_epoch(lease));
    } else {
        atoll_log(ATOLL_LOG_INFO, "eval.lease", "epoch %u of the lease; %s pid %lld on host %s, job %s",
                  atoll_lease_epoch(lease), states[before.state], (long long)before.holder.pid,
                  before.holder.host, before.holder.job);
    }
    if (hold == ATOLL_HOLD_NO_LOCKS) {
        atoll_log(ATOLL_LOG_WARNING, "eval.lock.none",
                  "%s: this file system has no locks; the lease alone keeps others away",
                  atoll_campaign_dir(campaign));
    }
    if (hold == ATOLL_HOLD_PASSED_OVER) {
        atoll_log(ATOLL_LOG_WARNING, "eval.lock.passed",
                  "%s: the one whose lease was taken over has the lock still; what it writes is kept aside",
                  atoll_campaign_dir(campaign));
    }
}

static struct atoll_campaign *open_campaign(const struct settings *settings, const char *dir,
                                            struct atoll_err *err)
{
    struct atoll_lease_holder self;
    enum atoll_campaign_hold hold;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    atoll_lease_holder_self(settings->job, (uint32_t)settings->restarts, &self);
    if (campaign && atoll_campaign_claim(campaign, &self, (uint32_t)settings->takeover, &hold, err) == 0) {
        log_claim(campaign, hold);
        return campaign;
    }
    atoll_campaign_close(campaign);
    return NULL;
}

/* What is given here, else what the campaign was made with. */
static const char *given_or_kept(const char *given, const struct atoll_campaign *campaign, const char *option)
{
    const char *kept = atoll_campaign_option(campaign, option);
    return given ? given : kept && *kept ? kept : NULL;
}

static struct atoll_llm_queue_settings llm_settings_of(const struct settings *settings,
                                                       const struct atoll_campaign *campaign)
{
    const char *deadline = atoll_campaign_option(campaign, "ask-deadline");
    struct atoll_llm_queue_settings llm = {
        .gateway = given_or_kept(settings->gateway, campaign, "gateway"),
        .model = given_or_kept(settings->model, campaign, ATOLL_ROLES_MODEL_OPTION),
        .roles = given_or_kept(settings->role, campaign, ATOLL_ROLES_OPTION),
        .token_file = given_or_kept(settings->token_file, campaign, "gateway-token"),
        .deadline_s = deadline ? strtod(deadline, NULL) : 0};
    if (!llm.model || (llm.gateway && strcmp(llm.gateway, "none") == 0))
        llm.gateway = NULL;
    return llm;
}

/* 1 and the sum of all that was given; 0: nothing was. */
static int extension_of(const struct settings *settings, struct atoll_extension *ret_extension,
                        struct atoll_err *err)
{
    struct atoll_search given = {0};
    for (size_t i = 0; i < settings->extend.count; i++) {
        const char *text = settings->extend.items[i], *equals = strchr(text, '=');
        char name[32];
        snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - text) : 0, text);
        const struct atoll_search_field *field = strstr(name, "_budget") ? atoll_search_field(name) : NULL;
        if (!field)
            return atoll_err_set(err, ATOLL_E_USAGE, "--extend %.64s: no budget has this name", text);
        if (atoll_search_set(&given, field, equals + 1, err) != 0)
            return -1;
    }
    *ret_extension = (struct atoll_extension){.evaluations = given.evaluation_budget,
                                              .device_ns = given.device_budget_ns,
                                              .wall_ns = given.wall_budget_ns,
                                              .tokens = given.token_budget,
                                              .money_usd = given.money_budget_usd};
    return settings->extend.count > 0;
}

/* 0 is never; a time that is over already is the first one there is. */
static double until_mono_ns(long long until_unix_s)
{
    double left_ns = (double)until_unix_s * 1e9 - (double)atoll_clock_unix_ns();
    double until_ns = atoll_clock_mono_ns() + left_ns;
    return until_unix_s <= 0 ? 0 : until_ns > 1 ? until_ns : 1;
}

/* The run as its carrier sees it: processes of this machine, or ranks. */
struct carrier {
    const struct settings *settings;
    struct atoll_peers peers;
    struct atoll_evaluator_pool *pool; /* NULL: ranks */
    unsigned unanswered;               /* ranks whose evaluator is not known to be gone */
    int is_stopped;                    /* they were asked for their answer */
    double said_ns;                    /* when ranks were told last that files are being written */
    double gate_ns;                    /* when the gate was looked at */
};

static unsigned wait_for_ranks(const struct atoll_peers *peers);

/* 1: no evaluator is left, so nobody has a device. */
static int wait_for_pool(struct carrier *carrier)
{
    double until_ns = atoll_clock_mono_ns() + POOL_ENDS_NS;
    atoll_evaluator_pool_retire(carrier->pool);
    while (atoll_evaluator_pool_alive(carrier->pool) > 0 && atoll_clock_mono_ns() < until_ns) {
        struct atoll_frame frame;
        unsigned peer;
        if (carrier->peers.receive(carrier->peers.context, &peer, &frame) == 0)
            carrier->peers.wait(carrier->peers.context, NULL, 0, 10);
    }
    return atoll_evaluator_pool_alive(carrier->pool) == 0;
}

/* Nobody is told that devices are free before all processes that had one are gone. */
static void on_stage(void *context, enum atoll_handover_stage stage)
{
    struct carrier *carrier = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_true = 1;
    if (stage == ATOLL_HANDOVER_RELEASED && carrier->pool) {
        is_true = wait_for_pool(carrier);
    } else if (stage == ATOLL_HANDOVER_RELEASED) {
        carrier->is_stopped = 1;
        carrier->unanswered = wait_for_ranks(&carrier->peers);
        is_true = carrier->unanswered == 0;
    }
    if (is_true && atoll_handover_tell(carrier->settings->stage, stage, &err) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "eval.stage", &err);
}

static void send_stop(const struct atoll_peers *peers, const unsigned char *last);

/* Ranks wait for the last word as long as they hear that files are still written. */
static void on_life(void *context)
{
    static const unsigned char wait = ATOLL_STOP_WAIT;
    struct carrier *carrier = context;
    double now_ns = atoll_clock_mono_ns();
    if (carrier->pool || now_ns - carrier->said_ns < LIFE_TOLD_NS)
        return;
    carrier->said_ns = now_ns;
    send_stop(&carrier->peers, &wait);
    carrier->peers.wait(carrier->peers.context, NULL, 0, 0); /* MPI moves while it is called */
}

static int has_devices(void *context)
{
    struct carrier *carrier = context;
    double now_ns = atoll_clock_mono_ns();
    if (now_ns - carrier->gate_ns < DEVICES_LOOK_NS)
        return 0;
    carrier->gate_ns = now_ns;
    return atoll_handover_has_devices(carrier->settings->gate);
}

static int run_campaign(const struct settings *settings, struct atoll_campaign *campaign,
                        struct atoll_lease_renewer *lease_renewer, struct carrier *carrier,
                        struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct atoll_setup setup;
    struct atoll_extension extension;
    int extends = extension_of(settings, &extension, err);
    int rc = extends < 0 ? -1 : atoll_setup_of_campaign(campaign, settings->null_backend, &setup, err);
    if (rc == 0) {
        const struct atoll_coordinator_settings run = {.peers = carrier->peers,
                                                       .campaign = campaign,
                                                       .lease_renewer = lease_renewer,
                                                       .setup = &setup,
                                                       .job = settings->job,
                                                       .ack_log = settings->ack_log,
                                                       .progress_fd = (int)settings->progress_fd,
                                                       .heartbeat_timeout_ns =
                                                           settings->heartbeat_timeout_s * 1e9,
                                                       .wall_ns = settings->wall_s * 1e9,
                                                       .is_to_finish = settings->finish,
                                                       .extension = extends ? &extension : NULL,
                                                       .interrupts = &interrupts,
                                                       .drains_on_interrupt = settings->on_signal,
                                                       .drain_files = settings->drain_files.items,
                                                       .drain_file_count = settings->drain_files.count,
                                                       .until_ns = until_mono_ns(settings->until),
                                                       .llm = llm_settings_of(settings, campaign),
                                                       .on_stage = on_stage,
                                                       .on_life = on_life,
                                                       .has_devices = settings->gate ? has_devices : NULL,
                                                       .stage_context = carrier};
        rc = atoll_coordinator_run(&run, ret_result, err);
    }
    explicit_bzero(&setup, sizeof(setup));
    return rc;
}

static int coordinate(const struct settings *settings, const char *dir, struct carrier *carrier,
                      struct atoll_err *err)
{
    const struct atoll_lease_renewer_settings times = {.time_s = settings->lease_time_s};
    struct atoll_coordinator_result result = {0};
    struct atoll_campaign *campaign = open_campaign(settings, dir, err);
    struct atoll_lease_renewer *lease_renewer =
        campaign ? atoll_lease_renewer_create(atoll_campaign_lease(campaign), &times, err) : NULL;
    int rc = lease_renewer ? run_campaign(settings, campaign, lease_renewer, carrier, &result, err) : -1;
    if (rc == 0)
        log_result(&result);
    atoll_lease_renewer_destroy(lease_renewer);
    atoll_campaign_close(campaign);
    return rc;
}

static int is_drain_asked(const struct settings *settings)
{
    for (size_t i = 0; i < settings->drain_files.count; i++)
        if (access(settings->drain_files.items[i], F_OK) == 0)
            return 1;
    return 0;
}

/* Waits until the gate opens; nothing is received meanwhile, so that the first frames of the evaluators are there when the run
 * begins.  1: it is to run, on the campaign in ret_dir; 0: it is to leave. */
static int stand_by(struct settings *settings, char *ret_dir, size_t bytes, struct atoll_err *err)
{
    const struct timespec pause = {.tv_nsec = GATE_LOOK_NS};
    struct rusage used = {.ru_maxrss = 0};
    uint32_t epoch = 0;
    int rc = 0;
    getrusage(RUSAGE_SELF, &used);
    atoll_log(ATOLL_LOG_INFO, "eval.gate",
              "stands by for the devices, with %ld MiB of memory in this process", used.ru_maxrss >> 10);
    if (atoll_handover_tell(settings->stage, ATOLL_HANDOVER_STANDS_BY, err) != 0)
        return -1;
    while (!interrupts && !is_drain_asked(settings)) {
        struct atoll_err why = ATOLL_ERR_INIT;
        rc = atoll_handover_look_at_gate(settings->gate, ret_dir, bytes, &epoch, &why);
        if (rc > 0 || why.code == ATOLL_E_NOTFOUND)
            break;
        if (rc < 0 && why.code != ATOLL_E_IO) {
            *err = why;
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    if (rc <= 0)
        atoll_log(ATOLL_LOG_INFO, "eval.gate", "was not needed and leaves");
    settings->takeover = epoch;
    return rc > 0;
}

/* given: as on the command line; a run that stands by is told later. */
static int run_when_wanted(const struct settings *given, const char *dir, struct carrier *carrier,
                           struct atoll_err *err)
{
    struct settings settings = *given;
    char named[PATH_MAX];
    int is_wanted = given->gate ? stand_by(&settings, named, sizeof(named), err) : 1;
    return is_wanted <= 0 ? is_wanted : coordinate(&settings, given->gate ? named : dir, carrier, err);
}

static int run_local(const struct settings *settings, const char *dir, struct atoll_spawner *spawner)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct carrier carrier = {.settings = settings};
    int rc = -1;
    carrier.pool = atoll_evaluator_pool_create(spawner, (unsigned)settings->evaluators, &err);
    if (carrier.pool) {
        carrier.peers = atoll_evaluator_pool_peers(carrier.pool);
        rc = run_when_wanted(settings, dir, &carrier, &err);
        atoll_evaluator_pool_retire(carrier.pool);
    }
    atoll_evaluator_pool_destroy(carrier.pool);
    return rc == 0 ? 0 : (int)log_failure(&err);
}

/* ---- MPI ---- */

/* Sends STOP to all ranks.  last: NULL, or the byte of one that follows it (enum atoll_stop_word). */
static void send_stop(const struct atoll_peers *peers, const unsigned char *last)
{
    struct atoll_buffer frame;
    atoll_buffer_init(&frame, 4096);
    if (atoll_frame_encode(&frame, ATOLL_MSG_STOP, last ? last : (const unsigned char *)"", last != NULL,
                           NULL) == 0) {
        for (unsigned i = 0; i < peers->count; i++)
            peers->send(peers->context, i, frame.data, frame.length, NULL);
    }
    atoll_buffer_fini(&frame);
}

/* Waits until every rank has reported that its evaluator is gone for good.  How many did not. */
static unsigned wait_for_ranks(const struct atoll_peers *peers)
{
    double until_ns = atoll_clock_mono_ns() + ANSWERS_NS;
    char *answered = calloc(peers->count, 1);
    unsigned left = peers->count, peer;
    while (answered && left > 0 && atoll_clock_mono_ns() < until_ns) {
        struct atoll_frame frame;
        if (peers->receive(peers->context, &peer, &frame) == 0) {
            peers->wait(peers->context, NULL, 0, 100);
            continue;
        }
        if (frame.type != ATOLL_MSG_PEER_LOST || frame.length != 1 || frame.payload[0] != ATOLL_PEER_GONE ||
            peer >= peers->count || answered[peer]) {
            continue;
        }
        answered[peer] = 1;
        left--;
    }
    free(answered);
    return left;
}

/* The last word to the ranks.  1: all may call MPI_Finalize; 0: some did not answer. */
static int dismiss_ranks(const struct carrier *carrier)
{
    static const unsigned char finalize = ATOLL_STOP_FINALIZE, leave = ATOLL_STOP_LEAVE;
    const struct atoll_peers *peers = &carrier->peers;
    if (carrier->unanswered > 0) {
        atoll_log(ATOLL_LOG_WARNING, "eval.ranks.unanswered",
                  "%u ranks did not answer; they are ended with the run, without MPI_Finalize",
                  carrier->unanswered);
        /* Those that live need not wait for what never comes.  What is sent to lost ranks stays unsent, so the wait is short. */
        double until_ns = atoll_clock_mono_ns() + LEAVE_SENT_NS;
        send_stop(peers, &leave);
        while (peers->waiting(peers->context) > 0 && atoll_clock_mono_ns() < until_ns)
            peers->wait(peers->context, NULL, 0, 10);
        return 0;
    }
    send_stop(peers, &finalize);
    return 1;
}

static int run_rank0(const struct settings *settings, const char *dir, struct atoll_comm *comm,
                     int *ret_answered)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct carrier carrier = {.settings = settings, .peers = atoll_comm_peers(comm)};
    int rc = run_when_wanted(settings, dir, &carrier, &err);
    int status = rc == 0 ? 0 : (int)log_failure(&err);
    if (!carrier.is_stopped) {
        send_stop(&carrier.peers, NULL); /* a run that failed early has sent none */
        carrier.unanswered = wait_for_ranks(&carrier.peers);
    }
    *ret_answered = dismiss_ranks(&carrier);
    return status;
}

static int run_forwarder(const struct settings *settings, struct atoll_comm *comm,
                         struct atoll_spawner *spawner, int *ret_answered)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_peers peers = atoll_comm_peers(comm);
    struct atoll_evaluator_pool *pool = atoll_evaluator_pool_create(spawner, 1, &err);
    if (!pool)
        return (int)log_failure(&err);
    const struct atoll_forwarder_times times = {.heartbeat_timeout_ns = settings->heartbeat_timeout_s * 1e9};
    *ret_answered = atoll_forwarder_run(&peers, pool, &times);
    atoll_evaluator_pool_destroy(pool);
    return 0;
}

static int run_ranks(const struct settings *settings, const char *dir, struct atoll_spawner **spawner,
                     int *argc, char ***argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_comm *comm = atoll_comm_create(argc, argv, &err);
    char prefix[32];
    int answered = 0, status;
    if (!comm)
        return (int)log_failure(&err);
    snprintf(prefix, sizeof(prefix), "rank %u", atoll_comm_rank(comm));
    atoll_log_setup(2, settings->verbose ? ATOLL_LOG_DEBUG : ATOLL_LOG_INFO, prefix);
    if (atoll_comm_size(comm) == 1) {
        status = run_local(settings, dir, *spawner);
        answered = 1;
    } else if (atoll_comm_rank(comm) == 0) {
        atoll_spawner_destroy(*spawner); /* rank 0 has no evaluator of its own */
        *spawner = NULL;
        status = run_rank0(settings, dir, comm, &answered);
    } else {
        status = run_forwarder(settings, comm, *spawner, &answered);
    }
    if (answered) {
        atoll_comm_destroy(comm, 1);
        return status;
    }
    atoll_spawner_destroy(*spawner);
    fflush(NULL);
    if (atoll_comm_rank(comm) == 0)
        atoll_comm_abort(comm, status);
    _exit(status);
}

static int is_launched_by_mpi(void)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (getenv(marks[i]))
            return 1;
    return 0;
}

static int run_evaluator(const struct settings *settings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_log_setup(2, settings->verbose ? ATOLL_LOG_DEBUG : ATOLL_LOG_INFO, "evaluator");
    return atoll_evaluator_run(ATOLL_SPAWNER_CHILD_FD, &err) == 0 ? 0 : atoll_code_exit_status(err.code);
}

/* One for each GPU where the campaign wants them; a campaign that does not open is complained about later. */
static unsigned evaluators_for(const char *dir, int is_null)
{
    struct atoll_gpus gpus = {0};
    struct atoll_campaign *campaign = is_null ? NULL : atoll_campaign_open(dir, NULL, NULL);
    const char *backend = campaign ? atoll_campaign_option(campaign, "backend") : NULL;
    if (backend && strcmp(backend, "cuda") == 0 && !getenv(ATOLL_GPU_VARIABLE))
        atoll_gpus_list(getenv("CUDA_VISIBLE_DEVICES"), "/dev", &gpus);
    atoll_campaign_close(campaign);
    return gpus.count < 1                           ? 1
           : gpus.count < ATOLL_SPAWNER_CHILD_LIMIT ? gpus.count
                                                    : ATOLL_SPAWNER_CHILD_LIMIT;
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *arguments[1] = {NULL};
    size_t argument_count = 0;
    if (argc == 2 &&
        strcmp(argv[1], "--man") == 0) { /* for docs/man/write, and the test that compares the page */
        atoll_option_man(&command, "", stdout);
        return 0;
    }
    int rc = atoll_option_parse(&command, argc, argv, &settings, arguments, 1, &argument_count, &err);
    if (rc > 0) {
        atoll_option_help(&command, stdout);
        return 0;
    }
    if (rc == 0 && settings.evaluator)
        return run_evaluator(&settings);
    if (rc == 0 && argument_count != 1)
        rc = atoll_err_set(&err, ATOLL_E_USAGE, "name one campaign directory; atoll-eval --help says more");
    if (rc != 0)
        return (int)log_failure(&err);
    atoll_log_setup(2, settings.verbose ? ATOLL_LOG_DEBUG : ATOLL_LOG_INFO, "");
    int is_local = settings.local || !is_launched_by_mpi();
    if (settings.evaluators == 0)
        settings.evaluators = evaluators_for(arguments[0], settings.null_backend);
    char here[24];
    snprintf(here, sizeof(here), "%lld", settings.evaluators);
    if (is_local)
        setenv("ATOLL_EVALUATORS_HERE", here, 1); /* the spawner gives each a slice of the cores */
    else
        unsetenv("ATOLL_EVALUATORS_HERE");
    if (settings.keep_calibration)
        setenv(ATOLL_KEPT_CALIBRATION_VARIABLE, settings.keep_calibration, 1); /* for the evaluators */
    struct atoll_spawner *spawner = start_spawner(&settings, &err);
    if (!spawner)
        return (int)log_failure(&err);
    catch_interrupts();
    int status = is_local ? run_local(&settings, arguments[0], spawner)
                          : run_ranks(&settings, arguments[0], &spawner, &argc, &argv);
    atoll_spawner_destroy(spawner);
    return status;
}
