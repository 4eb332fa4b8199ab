/* gateway_check.c - `atoll gateway check`: what stands between here and a model's answer, one line a step. */
#include "llm-gateway/check/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/print.h"
#include "llm-gateway/http/secret.h"
#include "scheduler/cli/gateway_file.h"
#include "base/json.h"
#include "scheduler/campaign/model_options.h"
#include "scheduler/cli/command.h"

struct check_settings {
    const char *config, *gateway, *model, *token_file;
    double deadline_s;
    int call, json;
};

#define FIELD(name) offsetof(struct check_settings, name)

static const struct atoll_option check_options[] = {
    {"config", 'c', ATOLL_OPT_TEXT, FIELD(config), "FILE", NULL, 0, 0, NULL, ATOLL_GATEWAY_FILE_HELP},
    {"gateway", 'g', ATOLL_OPT_TEXT, FIELD(gateway), "WHERE", NULL, 0, 0, NULL,
     "Look at a gateway from where a run would: http://HOST:PORT, unix:PATH, spool:DIR or replay:FILE. "
     "ATOLL_GATEWAY when neither this nor -c is given."},
    {"model", 'm', ATOLL_OPT_TEXT, FIELD(model), "NAME", NULL, 0, 0, NULL,
     "With --gateway: ask this model or ensemble, as a run would; without it nothing is asked."},
    {"gateway-token", 0, ATOLL_OPT_TEXT, FIELD(token_file), "FILE", NULL, 0, 0, NULL,
     "File with the gateway's token; ATOLL_GATEWAY_TOKEN_FILE when not given."},
    {"call", 0, ATOLL_OPT_FLAG, FIELD(call), NULL, NULL, 0, 0, NULL,
     "Ask for a token or few; --no-call asks for nothing that costs money."},
    {"deadline", 0, ATOLL_OPT_DURATION, FIELD(deadline_s), "TIME", "30s", 0.1, 86400, NULL,
     "Each step is given so long; where a person answers a spool, allow for that."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "A JSON array of steps."},
    {0}};

static const struct atoll_command check_command = {
    "gateway check",
    "",
    "say whether models can be reached, and which step fails",
    "With a configuration: every endpoint, from its key over proxy, name, certificates and connection to "
    "one small call of each model, and what the endpoint says of its limits; no budget counts "
    "these calls. Keys in the environment must be there as for `atoll gateway serve`. Then the roles: which "
    "model plans, writes, judges, and with which parameters.\n\n"
    "With --gateway: what a run sees, from inside a job too; the gateway counts that call as any other.\n\n"
    "A step that is skipped says why. Exit status 0 when no step failed, else 1.",
    "atoll gateway check -c jobscripts/gateway.yaml --no-call\n"
    "srun -N 1 atoll gateway check --gateway spool:/scratch/me/spool --model strong",
    check_options,
    NULL};

struct table {
    json_t *rows; /* NULL: lines are printed */
    char subject[512];
};

static void print_step(struct table *table, const struct atoll_check_step *step)
{
    static const char *const marks[ATOLL_CHECK_RESULT_COUNT] = {"ok", "FAIL", "--"};

    if (strncmp(table->subject, step->subject, sizeof(table->subject) - 1) != 0) {
        atoll_print(stdout, "%s%s\n", *table->subject ? "\n" : "", step->subject);
        snprintf(table->subject, sizeof(table->subject), "%s", step->subject);
    }
    atoll_print(stdout, "  %-4s %-9s", marks[step->result], step->name);
    if (*step->model)
        atoll_print(stdout, " %s:", step->model);
    atoll_print(stdout, " %s", step->text);
    if (step->result != ATOLL_CHECK_SKIPPED && step->elapsed_s >= 0.001)
        printf(" (%.3f s)", step->elapsed_s);
    putchar('\n');
    fflush(stdout);
}

static void on_step(void *context, const struct atoll_check_step *step)
{
    struct table *table = context;

    if (!table->rows) {
        print_step(table, step);
        return;
    }
    json_array_append_new(table->rows, json_pack("{s:o, s:s, s:o, s:s, s:f, s:o}", "subject",
                                                 atoll_json_text(step->subject), "step", step->name, "model",
                                                 atoll_json_text(step->model), "result",
                                                 atoll_check_result_name(step->result), "seconds",
                                                 step->elapsed_s, "text", atoll_json_text(step->text)));
}

static int check_config(const struct check_settings *settings, const struct atoll_check_settings *how,
                        struct table *table, unsigned *ret_failed, struct atoll_err *err)
{
    struct atoll_gateway_config *config;
    struct atoll_err hardening = ATOLL_ERR_INIT;
    int status;

    if (settings->model) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll gateway check: --model goes with --gateway; of a configuration every "
                             "model is checked");
    }
    if (atoll_secret_harden(&hardening) != 0) /* keys are read from here on */
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.harden", &hardening);
    config = atoll_gateway_file_load(settings->config, err);
    if (!config)
        return -1;
    status = atoll_check_endpoints(config, how, on_step, table, ret_failed, err);
    atoll_gateway_config_destroy(config);
    return status;
}

static int check_where(const char *gateway, const struct check_settings *settings,
                       const struct atoll_check_settings *how, struct table *table, unsigned *ret_failed,
                       struct atoll_err *err)
{
    char *where = atoll_model_where(gateway, err);
    int status = where ? atoll_check_gateway(where, settings->token_file, settings->model, how, on_step,
                                             table, ret_failed, err)
                       : -1;

    free(where);
    return status;
}

static int check(const struct check_settings *settings, struct table *table, unsigned *ret_failed,
                 struct atoll_err *err)
{
    struct atoll_check_settings how;
    const char *gateway = settings->gateway;

    if (gateway && settings->config) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll gateway check: give -c FILE or --gateway WHERE, not both");
    }
    atoll_check_defaults(&how);
    how.deadline_s = settings->deadline_s;
    how.has_no_call = !settings->call;
    if (!gateway && !settings->config)
        gateway = getenv("ATOLL_GATEWAY");
    if (!gateway || !*gateway)
        return check_config(settings, &how, table, ret_failed, err);
    return check_where(gateway, settings, &how, table, ret_failed, err);
}

static int run_check(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct check_settings *settings = given;
    struct table table = {.rows = settings->json ? json_array() : NULL};
    unsigned failed = 0;
    int status = check(settings, &table, &failed, err);

    if (status == 0 && table.rows)
        atoll_json_print(json_incref(table.rows), JSON_INDENT(2), stdout);
    else if (status == 0)
        atoll_print(stdout, "\n%u %s failed\n", failed, failed == 1 ? "step" : "steps");
    json_decref(table.rows);
    return status == 0 ? failed > 0 : -1;
}

static const struct check_settings defaults = {.call = 1};

const struct atoll_subcommand atoll_command_gateway_check = {
    .command = &check_command, .settings_bytes = sizeof(defaults), .defaults = &defaults, .run = run_check};
