/* job.c - `atoll job`: what the batch script of a submitted campaign runs. */
#include "scheduler/cli/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "scheduler/job/pilot.h"

struct job_settings {
    const char *site, *queue;
    struct atoll_option_list eval_words;
    double lease_time_s, call_timeout_s;
};

#define FIELD(name) offsetof(struct job_settings, name)

static const struct atoll_option job_options[] = {
    {"site", 0, ATOLL_OPT_TEXT, FIELD(site), "FILE", NULL, 0, 0, NULL,
     "The site's profile; the campaign's own copy when not given."},
    {"queue", 0, ATOLL_OPT_TEXT, FIELD(queue), "DIR", NULL, 0, 0, NULL,
     "The user's queue of campaigns, from which others are started when this one is done."},
    {"eval-option", 0, ATOLL_OPT_LIST, FIELD(eval_words), "WORD", NULL, 0, 0, NULL,
     "A further word for atoll-eval."},
    {"call-timeout", 0, ATOLL_OPT_DURATION, FIELD(call_timeout_s), "TIME", "30s", 1, 3600, NULL,
     "What one call to the scheduler may take."},
    {"lease-time", 0, ATOLL_OPT_DURATION, FIELD(lease_time_s), "TIME", "90s", 0.5, 1e6, NULL,
     "A holder whose lease stands still for so long is lost (for tests: all jobs of a campaign must agree)."},
    {0}};

static const struct atoll_command job_command = {
    "job",
    "CAMPAIGN",
    "work on a submitted campaign inside a job",
    "The batch script of `atoll submit` runs this on the first node of a job: it takes the next part of the "
    "campaign that "
    "nobody works on, starts atoll-eval on the job's nodes as one step, watches it, and takes the next part "
    "when it ended, "
    "until every part has ended or the job's time is over; then the job is queued again, or its successor "
    "is. Parts of lost "
    "jobs become free when their lease has stood still. A step that fails is repeated without the nodes that "
    "the scheduler "
    "calls bad.\n\n"
    "SIGTERM and SIGINT ask for an orderly end: what is under way is waited for. A kill without notice loses "
    "only what was "
    "not acknowledged.",
    "atoll job /scratch/me/tonight\n",
    job_options,
    NULL};

static volatile sig_atomic_t interrupts;

static void on_signal(int number)
{
    (void)number;
    interrupts++;
}

static const char *const ends[] = {
    [ATOLL_PILOT_DONE] = "the campaign is done",
    [ATOLL_PILOT_CONTINUES] = "time is over; the campaign goes on in the next job",
    [ATOLL_PILOT_NO_WORK] = "there is nothing left for this job",
    [ATOLL_PILOT_PAUSED] = "the campaign was paused or cancelled",
    [ATOLL_PILOT_LEFT] = "asked to go, or time is over; atoll resume lets the campaign go on",
};

static int run_job(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct job_settings *settings = given;
    struct sigaction action = {.sa_handler = on_signal};
    struct atoll_sweep *sweep;
    struct atoll_site *site = NULL;
    enum atoll_pilot_end end = ATOLL_PILOT_LEFT;
    char profile[4096];
    int status = -1;

    if (settings->queue)
        setenv("ATOLL_QUEUE", settings->queue, 1);
    atoll_log_setup(2, ATOLL_LOG_INFO, "pilot");
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    sweep = atoll_sweep_open(arguments[0], err);
    if (sweep && atoll_sweep_path(sweep, ATOLL_SITE_FILE, profile, sizeof(profile), err) == 0)
        site = atoll_site_load(settings->site ? settings->site : profile, err);
    if (site) {
        const struct atoll_pilot_settings pilot = {.sweep = sweep,
                                                   .site = site,
                                                   .eval_words = settings->eval_words.items,
                                                   .eval_word_count = settings->eval_words.count,
                                                   .interrupts = &interrupts,
                                                   .call_timeout_s = settings->call_timeout_s,
                                                   .lease_time_s = settings->lease_time_s};

        status = atoll_pilot_run(&pilot, &end, err);
    }
    if (status == 0)
        atoll_log(ATOLL_LOG_INFO, "pilot.end", "%s", ends[end]);
    atoll_site_destroy(site);
    atoll_sweep_close(sweep);
    return status;
}

const struct atoll_subcommand atoll_command_job = {.command = &job_command,
                                                   .settings_bytes = sizeof(struct job_settings),
                                                   .least = 1,
                                                   .most = 1,
                                                   .missing = "name the campaign's folder",
                                                   .run = run_job};
