/* run.c - `atoll run`. */
#include "scheduler/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "mpi-eval/node/gpus.h"
#include "scheduler/campaign/campaign_plan.h"
#include "scheduler/cli/local_run.h"
#include "scheduler/site/site.h"

struct run_settings {
    struct atoll_plan_settings plan; /* first: the rows of atoll_plan_options (campaign/campaign_plan.c) */
    const char *out, *ack_log;
    long long ranks;
    int list_settings, json, quiet, create_only;
};

#define FIELD(name) offsetof(struct run_settings, name)

static const struct atoll_option run_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(out), "DIR", "my-campaign", 0, 0, NULL,
     "Directory of the campaign; must not hold one yet."},
    {"ranks", 'n', ATOLL_OPT_INT, FIELD(ranks), "N", "1", 1, 4096, NULL,
     "MPI ranks. 1 needs no mpirun; with more, rank 0 coordinates and every other rank has an evaluator."},
    {"list-settings", 0, ATOLL_OPT_FLAG, FIELD(list_settings), NULL, NULL, 0, 0, NULL,
     "Print every setting of the search with its values, default and meaning; with --json as JSON."},
    {"create-only", 0, ATOLL_OPT_FLAG, FIELD(create_only), NULL, NULL, 0, 0, NULL,
     "Only make the campaign directory; `atoll resume DIR` starts it."},
    {"ack-log", 0, ATOLL_OPT_TEXT, FIELD(ack_log), "FILE", NULL, 0, 0, NULL,
     "Append the number of each evaluation once it is durable (for tests)."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "Progress as JSON lines on standard error and the result as JSON on standard output."},
    {"quiet", 'q', ATOLL_OPT_FLAG, FIELD(quiet), NULL, NULL, 0, 0, NULL, "No progress, only the result."},
    {0}};

static const struct atoll_command run_command = {
    "run",
    "SUITE...",
    "evolve the tasks of a suite on this machine",
    "Creates a campaign directory, evaluates seeds and tuned candidates of every task on this machine's "
    "evaluators, and leaves "
    "archive.h5 and report.html in it. SUITE is a folder of tasks or one task's folder.\n\n"
    "The first interrupt (Ctrl-C, SIGTERM) waits for what is under way and stops, the second stops at once; "
    "the exit status "
    "is 130 or 143 then. A campaign that was killed or interrupted goes on with `atoll resume DIR` and what "
    "is left of its "
    "budget; nothing acknowledged is lost. The last comparisons are made when the budget is used, or with "
    "`atoll resume DIR "
    "--finish`.",
    "atoll run suites/starter -o my-campaign\natoll run suites/starter -o quick --seconds 30 --only "
    "softmax_rows --seed 7\n"
    "atoll run suites/starter -o again --reuse my-campaign\n"
    "atoll run suites/starter -o trees --strategy tree --set tree_drafts=4 --evaluations 500",
    run_options,
    atoll_plan_options};

/* Said before a campaign is made that could not begin. */
static int devices_check(const struct run_settings *settings, struct atoll_err *err)
{
    struct atoll_gpus *gpus;
    if (settings->create_only)
        return 0;
    if (atoll_local_run_check(atoll_local_run_cores(), settings->ranks, settings->plan.threads, err) != 0)
        return -1;
    if (strcmp(settings->plan.backend, "cuda") != 0)
        return 0;
    gpus = calloc(1, sizeof(*gpus));
    if (gpus == NULL)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of GPUs");
    atoll_gpus_list(getenv("CUDA_VISIBLE_DEVICES"), "/dev", gpus);
    int status = gpus->count > 0
                     ? 0
                     : atoll_err_set(err, ATOLL_E_MISSING,
                                     "%s; run on a node with one, or make the campaign here with "
                                     "--create-only and resume it there",
                                     gpus->are_hidden ? "CUDA_VISIBLE_DEVICES hides every GPU of this machine"
                                                      : "this machine has no NVIDIA GPU");
    free(gpus);
    return status;
}

static int campaign_make(struct run_settings *settings, const char *const *suites, size_t count,
                         struct atoll_err *err)
{
    struct atoll_campaign_plan plan;
    struct atoll_plan_part whole;
    struct atoll_site *site;
    double evaluators = settings->ranks > 1 ? (double)(settings->ranks - 1) : 1;

    if (atoll_site_named(&site, err) != 0)
        return -1;
    settings->plan.site_knowledge = site ? site->knowledge : NULL;
    int status = atoll_campaign_plan_make(&plan, &settings->plan, suites, count, evaluators,
                                          settings->quiet || settings->json, err);

    status = status == 0 ? devices_check(settings, err) : status;
    if (status == 0) {
        whole = atoll_campaign_plan_whole(&plan, (unsigned)settings->ranks);
        status = atoll_campaign_plan_create(&plan, &whole, settings->out, err);
    }
    if (status == 0)
        atoll_campaign_plan_log_reuse(&plan);
    atoll_campaign_plan_fini(&plan);
    atoll_site_destroy(site);
    return status;
}

static int run_run(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    struct run_settings *settings = given;
    int is_listing = settings->list_settings;

    for (size_t i = 0; i < settings->plan.search.set.count; i++)
        is_listing |= strcmp(settings->plan.search.set.items[i], "help") == 0;
    if (is_listing) {
        struct atoll_search defaults;

        atoll_plan_search_defaults(&settings->plan, &defaults);
        if (settings->json)
            atoll_search_options_list_json(&defaults, stdout);
        else
            atoll_search_options_list(&defaults, stdout);
        return 0;
    }
    if (count == 0) {
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "atoll run: name a suite, for example `atoll run suites/starter -o my-campaign`");
    }
    if (campaign_make(settings, arguments, count, err) != 0)
        return -1;
    if (settings->create_only) {
        atoll_print(stdout, "%s is ready; next: atoll resume %s\n", settings->out, settings->out);
        return 0;
    }
    return atoll_local_run(&(struct atoll_local_run){.campaign = settings->out,
                                                     .ranks = (unsigned)settings->ranks,
                                                     .ack_log = settings->ack_log,
                                                     .is_json = settings->json,
                                                     .is_quiet = settings->quiet},
                           err);
}

const struct atoll_subcommand atoll_command_run = {
    .command = &run_command, .settings_bytes = sizeof(struct run_settings), .most = 16, .run = run_run};
