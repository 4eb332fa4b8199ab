/* gateway_spend.c - `atoll gateway spend` and `atoll gateway convert`: a gateway's file, for people. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "llm-gateway/budget/database.h"
#include "llm-gateway/budget/exchange_store.h"
#include "llm-gateway/budget/spend_summary.h"
#include "scheduler/cli/gateway_file.h"
#include "scheduler/cli/command.h"
#include "base/json.h"
#include "base/print.h"

#define COPY_WAIT_S 60.0

struct spend_settings {
    const char *config, *copy;
    int json;
};

#define FIELD(name) offsetof(struct spend_settings, name)

static const struct atoll_option spend_options[] = {
    {"config", 'c', ATOLL_OPT_TEXT, FIELD(config), "FILE", NULL, 0, 0, NULL, ATOLL_GATEWAY_FILE_HELP},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object; money in US dollars."},
    {"copy", 0, ATOLL_OPT_TEXT, FIELD(copy), "FILE", NULL, 0, 0, NULL,
     "Print nothing, and write a consistent copy of the gateway's file there, for sqlite3: limits, spend, "
     "reservations and "
     "exchanges are its tables."},
    {0}};

static const struct atoll_command spend_command = {
    "gateway spend",
    "",
    "what was spent on models, and what is left of every limit",
    "Tells for every campaign, task, model and day: its limit, what was spent, what is reserved for calls "
    "under way, what is "
    "unknown (calls that a kill cut short count as spent at their reservation), and what is left. A running "
    "gateway owns its "
    "file and nobody else opens it: then this is what the gateway last wrote beside it, at most a second "
    "old.",
    "atoll gateway spend -c jobscripts/gateway.yaml\n"
    "atoll gateway spend --json\n"
    "atoll gateway spend --copy copy.sqlite && sqlite3 copy.sqlite 'SELECT status, count(*) FROM exchanges "
    "GROUP BY 1'",
    spend_options,
    NULL};

/* ---- as a table ---- */

static void print_figures(const char *unit, const json_t *figures)
{
    static const char *const columns[] = {"limit", "spent", "reserved", "unknown", "left"};
    atoll_print(stdout, " %-6s", unit);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        const json_t *value = json_object_get(figures, columns[i]);
        if (json_is_real(value))
            printf(" %12.6f", json_real_value(value));
        else if (json_is_integer(value))
            printf(" %12lld", (long long)json_integer_value(value));
        else
            atoll_print(stdout, " %12s", "-");
    }
    putchar('\n');
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A campaign's name is mostly an id, of which twelve digits are enough to know it by. */
static void print_account(const json_t *account)
{
    const char *scope = text_of(account, "scope"), *name = text_of(account, "name"),
               *task = text_of(account, "task");
    int is_campaigns = strcmp(scope, "campaign") == 0 || strcmp(scope, "task") == 0;
    char shown[300];
    snprintf(shown, sizeof(shown), "%.*s%s%s", is_campaigns ? 12 : 127, *name ? name : "-", *task ? "/" : "",
             task);
    atoll_print(stdout, "%-9s %-28s", scope, shown);
    print_figures("USD", json_object_get(account, "money_usd"));
    atoll_print(stdout, "%-9s %-28s", "", "");
    print_figures("tokens", json_object_get(account, "tokens"));
}

static void print_summary(const json_t *summary)
{
    const json_t *owner = json_object_get(summary, "owner"), *accounts = json_object_get(summary, "accounts");
    atoll_print(stdout, "%-9s %-28s %-6s %12s %12s %12s %12s %12s\n", "of", "name", "in", "limit", "spent",
                "reserved", "unknown", "left");
    for (size_t i = 0; i < json_array_size(accounts); i++)
        print_account(json_array_get(accounts, i));
    atoll_print(stdout, "\n%lld calls, %lld cut short; the gateway is %s",
                (long long)json_integer_value(json_object_get(summary, "calls")),
                (long long)json_integer_value(json_object_get(summary, "unknown_calls")),
                text_of(owner, "state"));
    if (*text_of(owner, "host")) {
        atoll_print(stdout, " (pid %lld on %s, job %s)",
                    (long long)json_integer_value(json_object_get(owner, "pid")), text_of(owner, "host"),
                    text_of(owner, "job"));
    }
    putchar('\n');
}

/* ---- */

static int spend(const struct spend_settings *settings, const struct atoll_gateway_config *config,
                 struct atoll_err *err)
{
    if (!config->file) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "%s names no file, so nothing is counted; add budget: {file: gateway/gateway.sqlite}",
            atoll_gateway_file_path(settings->config));
    }
    if (settings->copy)
        return atoll_database_copy(config->file, settings->copy, COPY_WAIT_S, err);
    json_t *summary = atoll_spend_summary_read(config->file, config->limits, config->limit_count, err);
    if (!summary) {
        return err->code == ATOLL_E_NOTFOUND
                   ? atoll_err_add(err, "no gateway has spent from this file yet, or it is elsewhere")
                   : -1;
    }
    if (settings->json) {
        atoll_json_print(summary, JSON_INDENT(2), stdout);
        return 0;
    }
    print_summary(summary);
    json_decref(summary);
    return 0;
}

static int run_spend(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct spend_settings *settings = given;
    struct atoll_gateway_config *config = atoll_gateway_file_load(settings->config, err);
    int status = config ? spend(settings, config, err) : -1;

    atoll_gateway_config_destroy(config);
    return status;
}

const struct atoll_subcommand atoll_command_gateway_spend = {
    .command = &spend_command, .settings_bytes = sizeof(struct spend_settings), .run = run_spend};

/* ---- convert ---- */

static const struct atoll_option convert_options[] = {{0}};

static const struct atoll_command convert_command = {
    "gateway convert",
    "OLD NEW",
    "bring the answers of an earlier version along",
    "Reads OLD, an exchanges.atl that a gateway or `atoll replay --record` of an earlier version wrote, and "
    "puts what it holds "
    "into NEW, which may be a recording or become a gateway's file. OLD is left as it is. NEW must not be in "
    "use.",
    "atoll gateway convert gateway/exchanges.atl gateway/gateway.sqlite",
    convert_options,
    NULL};

static int run_convert(void *given, const char *const *paths, size_t count, struct atoll_err *err)
{
    size_t exchanges = 0, left_bytes = 0;
    struct atoll_lease_seen seen;

    if (atoll_database_owner(paths[1], &seen, err) != 0)
        return -1;
    if (seen.state == ATOLL_LEASE_HELD) {
        return atoll_err_set(err, ATOLL_E_BUSY, "%s is owned by a gateway (pid %lld on %s); stop it first",
                             paths[1], (long long)seen.holder.pid, seen.holder.host);
    }
    if (atoll_old_exchanges_convert(paths[0], paths[1], &exchanges, &left_bytes, err) != 0)
        return -1;
    printf("%zu exchanges", exchanges);
    if (left_bytes)
        atoll_print(stdout, "; %zu bytes at the end of %s are not whole and were left out", left_bytes,
                    paths[0]);
    putchar('\n');
    return 0;
}

const struct atoll_subcommand atoll_command_gateway_convert = {
    .command = &convert_command, .least = 2, .most = 2, .missing = "OLD and NEW", .run = run_convert};
