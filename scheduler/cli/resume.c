/* resume.c - `atoll resume`. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "core/search.h"
#include "mpi-eval/coordinator/resume.h"
#include "mpi-eval/operator/roles.h"
#include "scheduler/cli/continue.h"
#include "scheduler/cli/local_run.h"
#include "scheduler/campaign/model_options.h"
#include "scheduler/campaign/search_options.h"
#include "scheduler/campaign/submission.h"
#include "scheduler/cli/command.h"

#define FIELD(name) offsetof(struct resume_settings, name)

struct resume_settings {
    const char *ack_log;
    long long ranks; /* 0: as the campaign was made */
    struct atoll_model_options model;
    struct atoll_search_options more; /* budgets alone */
    int finish, json, quiet;
};

static const struct atoll_option resume_options[] = {
    {"seconds", 's', ATOLL_OPT_TEXT, FIELD(more.seconds), "TIME", NULL, 0, 0, NULL,
     "Extend the campaign: so much more time from now on, instead of what is left."},
    {"evaluations", 'e', ATOLL_OPT_TEXT, FIELD(more.evaluations), "N", NULL, 0, 0, NULL,
     "The same for evaluations."},
    {"device-seconds", 0, ATOLL_OPT_TEXT, FIELD(more.device_seconds), "TIME", NULL, 0, 0, NULL,
     "The same for device time."},
    {"tokens", 0, ATOLL_OPT_TEXT, FIELD(more.tokens), "N", NULL, 0, 0, NULL,
     "The same for the tokens that a language model may use."},
    {"money", 0, ATOLL_OPT_TEXT, FIELD(more.money), "DOLLARS", NULL, 0, 0, NULL,
     "The same for what a language model may cost."},
    {"finish", 0, ATOLL_OPT_FLAG, FIELD(finish), NULL, NULL, 0, 0, NULL,
     "Search no more: make the last comparisons and end, whatever is left of the budget."},
    {"ranks", 'n', ATOLL_OPT_INT, FIELD(ranks), "N", NULL, 0, 4096, NULL,
     "Another number of MPI ranks than the campaign was made with."},
    {"model", 'm', ATOLL_OPT_TEXT, FIELD(model.model), "NAME", NULL, 0, 0, NULL,
     "Another model or ensemble than the campaign was made with, or one a role (see atoll-run). Prompts stay "
     "as they were: a model with a smaller context, or without tools where they offer some, is refused."},
    {"role", 0, ATOLL_OPT_LIST, FIELD(model.role), "ROLE:KEY=VALUE,...", NULL, 0, 0, NULL,
     "Another temperature, top-p or effort of a role, or of all (*), for this resume (see atoll-run). What "
     "prompts and search follow from (max-tokens, candidates, context, tools) stays as the campaign was "
     "made."},
    {"gateway", 'g', ATOLL_OPT_TEXT, FIELD(model.gateway), "WHERE", NULL, 0, 0, NULL,
     "Another gateway than the campaign was made with (forms: see atoll-run), or none: the tuner goes on "
     "alone. Its models are looked at as with --model."},
    {"gateway-token", 0, ATOLL_OPT_TEXT, FIELD(model.token_file), "FILE", NULL, 0, 0, NULL,
     "Another file with the gateway's token."},
    {"ack-log", 0, ATOLL_OPT_TEXT, FIELD(ack_log), "FILE", NULL, 0, 0, NULL,
     "Append the number of each evaluation once it is durable (for tests)."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL,
     "Progress as JSON lines on standard error and the result as JSON on standard output."},
    {"quiet", 'q', ATOLL_OPT_FLAG, FIELD(quiet), NULL, NULL, 0, 0, NULL, "No progress, only the result."},
    {0}};

static const struct atoll_command resume_command = {
    "resume",
    "DIR",
    "go on with a campaign that was killed, interrupted or cancelled",
    "Replays the campaign's journals, dispatches again what was under way, and goes on until the budget is "
    "used. A campaign that "
    "has ended only gets its archive and report again, unless it is extended: with --seconds, --evaluations "
    "and the like it "
    "searches on from where it stopped. What is given counts from now on, beside what was used; a budget "
    "that is used up and "
    "not given ends nothing any more (but for tokens and money). For one that was submitted the jobs that it "
    "wants are "
    "submitted; an extension is shared among its parts, while none of its jobs runs.",
    "atoll resume my-campaign\natoll resume my-campaign --finish\natoll resume my-campaign --seconds 600",
    resume_options,
    NULL};

static const char *const budgets[] = {"evaluation_budget", "device_budget_ns", "wall_budget_ns",
                                      "token_budget", "money_budget_usd"};
#define BUDGETS (sizeof(budgets) / sizeof(*budgets))

/* ret_more: a search whose budgets are those that were given, and none else.  Returns how many were; -1: one cannot be used. */
static int extension_read(const struct atoll_search_options *more, struct atoll_search *ret_more,
                          struct atoll_err *err)
{
    int given = 0;
    atoll_search_defaults(ret_more);
    if (atoll_search_options_apply(more, ret_more, err) != 0)
        return -1;
    for (size_t i = 0; i < BUDGETS; i++) {
        const struct atoll_search_field *field = atoll_search_field(budgets[i]);
        struct atoll_buffer value;
        atoll_buffer_init(&value, 64);
        atoll_search_print(ret_more, field, &value);
        int is_given = atoll_search_options_has(more, budgets[i]);
        int is_nothing = value.length == 1 && value.data[0] == '0';
        atoll_buffer_fini(&value);
        if (is_given && is_nothing)
            return atoll_err_set(err, ATOLL_E_USAGE, "a campaign is extended by more than 0");
        if (!is_given && atoll_search_set(ret_more, field, "0", err) != 0)
            return -1;
        given += is_given;
    }
    return given;
}

/* "--extend name=value" for atoll-eval, of each budget that is not 0; into arguments from *used on. */
static void extension_arguments(const struct atoll_search *more, char texts[BUDGETS][64],
                                const char **arguments, size_t used)
{
    for (size_t i = 0; i < BUDGETS; i++) {
        struct atoll_buffer value;
        atoll_buffer_init(&value, 64);
        atoll_search_print(more, atoll_search_field(budgets[i]), &value);
        snprintf(texts[i], 64, "%s=%.*s", budgets[i], (int)value.length,
                 value.data ? (const char *)value.data : "0");
        atoll_buffer_fini(&value);
        if (strcmp(strchr(texts[i], '='), "=0") == 0)
            continue;
        arguments[used++] = "--extend";
        arguments[used++] = texts[i];
    }
}

/* Said of a campaign that had ended before, and was not extended. */
static void print_ended(const char *dir, const char *reason)
{
    fprintf(stderr,
            "atoll: %s has ended (%s); `atoll resume %s --seconds 600` goes on from where it stopped\n", dir,
            reason, dir);
}

/* Each part gets its share, as when it was submitted.  Nobody may work on them. */
static int sweep_extend(const struct atoll_sweep *sweep, const struct atoll_search *more,
                        struct atoll_err *err)
{
    struct atoll_budget_share share = {.parts = sweep->part_count, .jobs = sweep->jobs};
    char path[PATH_MAX];

    for (size_t i = 0; i < sweep->part_count; i++)
        share.tasks += sweep->parts[i].task_count;
    if (atoll_budget_share_check(more, share.parts, err) != 0 ||
        atoll_sweep_path(sweep, "done.json", path, sizeof(path), err) != 0) {
        return -1;
    }
    if (unlink(path) != 0 && errno != ENOENT)
        return atoll_err_errno(err, errno, "cannot remove %s", path);
    for (size_t i = 0; i < sweep->part_count; i++) {
        share.number = i;
        share.count = sweep->parts[i].task_count;
        struct atoll_search part = atoll_budget_share_of(more, &share);
        const struct atoll_extension by = {.evaluations = part.evaluation_budget,
                                           .device_ns = part.device_budget_ns,
                                           .wall_ns = part.wall_budget_ns,
                                           .tokens = part.token_budget,
                                           .money_usd = part.money_budget_usd};
        if (atoll_sweep_part_path(sweep, i, path, sizeof(path), err) != 0)
            return -1;
        if (atoll_resume_extend(path, "extend", &by, err) != 0)
            return atoll_err_add(err,
                                 i ? "parts before it are extended; give the rest again once it is free"
                                   : "a campaign is extended while none of its jobs runs: atoll pause first");
        share.first += share.count;
    }
    atoll_sweep_record(sweep->dir, "user", "extended", "more budget from here on");
    return 0;
}

/* Jobs keep the model and the gateway that the campaign was made with. */
static int resume_sweep(const struct resume_settings *settings, const char *dir,
                        const struct atoll_search *more, struct atoll_err *err)
{
    struct atoll_sweep *sweep;
    int status = -1;

    if (settings->model.model || settings->model.gateway || settings->model.role.count || settings->ack_log ||
        settings->finish || settings->ranks) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "%s was submitted: its jobs take no options of atoll resume but budgets", dir);
    }
    sweep = atoll_sweep_open(dir, err);
    if (sweep && (!more || sweep_extend(sweep, more, err) == 0)) {
        atoll_sweep_record(sweep->dir, "user", "resumed", "goes on");
        status = atoll_continue_campaign(sweep, 0, stdout, err);
    }
    atoll_sweep_close(sweep);
    return status;
}

/* Why the campaign ended, in the search's words; "" while it has not. */
static void ended_reason(const struct atoll_campaign *campaign, char *ret_reason, size_t bytes)
{
    struct atoll_campaign_progress progress;

    *ret_reason = '\0';
    if (atoll_campaign_progress_of(campaign, &progress, NULL) != 0)
        return;
    if (progress.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED)
        snprintf(ret_reason, bytes, "%s", progress.reason);
    atoll_campaign_progress_fini(&progress);
}

/* What is asked of models now fits what the campaign was made with, and what was not named is as it was kept. */
static int models_resume(struct resume_settings *settings, const struct atoll_campaign *campaign,
                         struct atoll_err *err)
{
    const struct atoll_model_kept kept = {
        atoll_campaign_option(campaign, ATOLL_ROLES_MODEL_OPTION),
        atoll_campaign_option(campaign, ATOLL_ROLES_OPTION), atoll_campaign_option(campaign, "gateway"),
        atoll_campaign_option(campaign, "gateway-token"), atoll_campaign_config(campaign)->search.tools};
    int rc = atoll_model_options_complete(&settings->model, err);

    if (rc == 0)
        rc = atoll_model_options_resume_roles(&settings->model, &kept, err);
    if (rc == 0 && (settings->model.model || settings->model.gateway) && !settings->finish)
        rc = atoll_model_options_fit(&settings->model, &kept, err);
    return rc;
}

static int run_resume(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    struct resume_settings *settings = given;
    const char *dir = arguments[0], *ranks, *threads;
    struct atoll_campaign *campaign;
    struct atoll_local_run run;
    struct atoll_search more;
    char extensions[BUDGETS][64], ended[128];
    int status, extended = extension_read(&settings->more, &more, err);

    if (extended < 0)
        return -1;
    if (atoll_sweep_is(dir))
        return resume_sweep(settings, dir, extended ? &more : NULL, err);
    campaign = atoll_campaign_open(dir, NULL, err);
    if (!campaign)
        return -1;
    if ((settings->model.model || settings->model.role.count) &&
        !(atoll_campaign_config(campaign)->search.ask_share > 0)) {
        atoll_campaign_close(campaign);
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "%s was made without a model, and a campaign's search is never changed: start a new one with "
            "--model and --reuse %s",
            dir, dir);
    }
    ended_reason(campaign, ended, sizeof(ended));
    ranks = atoll_campaign_option(campaign, "ranks");
    threads = atoll_campaign_option(campaign, "threads");
    unsigned rank_count = settings->ranks ? (unsigned)settings->ranks
                          : ranks         ? (unsigned)strtoul(ranks, NULL, 10)
                                          : 1u;
    if (atoll_local_resume_check(dir, atoll_local_run_cores(), rank_count,
                                 threads ? strtoll(threads, NULL, 10) : 0, err) != 0) {
        atoll_campaign_close(campaign);
        return -1;
    }
    run = (struct atoll_local_run){.campaign = dir,
                                   .ranks = rank_count,
                                   .ack_log = settings->ack_log,
                                   .is_json = settings->json,
                                   .is_quiet = settings->quiet};
    int rc = models_resume(settings, campaign, err);
    atoll_campaign_close(campaign);
    if (rc != 0) {
        atoll_model_options_fini(&settings->model);
        return -1;
    }
    size_t used = atoll_model_options_arguments(&settings->model, run.arguments);
    if (settings->finish)
        run.arguments[used++] = "--finish";
    extension_arguments(&more, extensions, run.arguments, used);
    status = atoll_local_run(&run, err);
    atoll_model_options_fini(&settings->model);
    if (status == 0 && *ended && !extended && !settings->json)
        print_ended(dir, ended);
    return status;
}

const struct atoll_subcommand atoll_command_resume = {.command = &resume_command,
                                                      .settings_bytes = sizeof(struct resume_settings),
                                                      .least = 1,
                                                      .most = 1,
                                                      .missing = "name the campaign's directory",
                                                      .run = run_resume};
