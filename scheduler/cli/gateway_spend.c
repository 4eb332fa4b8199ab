/* gateway_spend.c - `atoll gateway spend`: what the ledger of a gateway says. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "llm-gateway/budget/spending_view.h"
#include "scheduler/cli/gateway_file.h"
#include "base/json.h"
#include "scheduler/cli/command.h"

struct spend_settings {
    const char *config;
    int json;
};

#define FIELD(name) offsetof(struct spend_settings, name)

static const struct atoll_option spend_options[] = {
    {"config", 'c', ATOLL_OPT_TEXT, FIELD(config), "FILE", NULL, 0, 0, NULL, ATOLL_GATEWAY_FILE_HELP},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object; money in US dollars."},
    {0}};

static const struct atoll_command spend_command = {
    "gateway spend",
    "",
    "what was spent on models, and what is left of every limit",
    "Reads the ledger of a configuration; gateways that spend from it are not disturbed. For every campaign, "
    "task, model and day: its limit, what was spent, what is reserved for calls under way, what is unknown "
    "(calls that a kill cut short count as spent at their reservation), and what is left. Granted is what "
    "gateways took from the limit to spend from. Then the gateways themselves.",
    "atoll gateway spend -c jobscripts/gateway.yaml\natoll gateway spend --json",
    spend_options,
    NULL};

static const char *const scopes[ATOLL_SCOPE_COUNT] = {"campaign", "task", "model", "day"};

/* ---- as a table ---- */

/* A campaign's name is mostly an id, of which twelve digits are enough to know it by. */
static void name_of(const struct atoll_spending_view_row *row, char *ret_name, size_t bytes)
{
    int is_campaigns = row->scope == ATOLL_SCOPE_CAMPAIGN || row->scope == ATOLL_SCOPE_TASK;

    snprintf(ret_name, bytes, "%.*s%s%s", is_campaigns ? 12 : (int)sizeof(row->name) - 1,
             *row->name ? row->name : "-", row->scope == ATOLL_SCOPE_TASK ? "/" : "", row->task);
}

static const char *money_text(uint64_t nanousd, char *ret_text, size_t bytes)
{
    snprintf(ret_text, bytes, "%.6f", (double)nanousd / 1e9);
    return nanousd == UINT64_MAX ? "-" : ret_text;
}

static const char *tokens_text(uint64_t tokens, char *ret_text, size_t bytes)
{
    snprintf(ret_text, bytes, "%llu", (unsigned long long)tokens);
    return tokens == UINT64_MAX ? "-" : ret_text;
}

static void print_figures(const struct atoll_spending_figures *figures, const char *unit,
                          const char *(*text)(uint64_t, char *, size_t))
{
    const uint64_t columns[] = {figures->limit,   figures->spent,   figures->reserved,
                                figures->unknown, figures->granted, figures->left};
    char cell[32];

    printf(" %-6s", unit);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        printf(" %12s", text(columns[i], cell, sizeof(cell)));
    }
    putchar('\n');
}

static void print_rows(const struct atoll_spending_view *view)
{
    char name[300];

    printf("%-9s %-28s %-6s %12s %12s %12s %12s %12s %12s\n", "of", "name", "in", "limit", "spent",
           "reserved", "unknown", "granted", "left");
    for (size_t i = 0; i < view->row_count; i++) {
        const struct atoll_spending_view_row *row = &view->rows[i];

        name_of(row, name, sizeof(name));
        printf("%-9s %-28s", scopes[row->scope], name);
        print_figures(&row->money, "USD", money_text);
        printf("%-9s %-28s", "", "");
        print_figures(&row->tokens, "tokens", tokens_text);
    }
}

static void print_holders(const struct atoll_spending_view *view)
{
    char spent[32], reserved[32], unknown[32];

    printf("\n%-28s %-7s %10s %12s %12s %12s %14s\n", "gateway", "state", "calls", "USD spent", "reserved",
           "unknown", "tokens spent");
    for (size_t i = 0; i < view->holder_count; i++) {
        const struct atoll_spending_view_holder *holder = &view->holders[i];
        const struct atoll_spending_sum *sum = &holder->sum;

        printf("%-28s %-7s %10llu %12s %12s %12s %14llu\n", holder->name,
               atoll_spending_holder_state_name(holder->state), (unsigned long long)sum->calls,
               money_text(sum->spent_money, spent, sizeof(spent)),
               money_text(sum->reserved_money, reserved, sizeof(reserved)),
               money_text(sum->unknown_money, unknown, sizeof(unknown)),
               (unsigned long long)sum->spent_tokens);
    }
}

/* ---- as JSON ---- */

static json_t *money_json(uint64_t nanousd)
{
    return nanousd == UINT64_MAX ? json_null() : json_real((double)nanousd / 1e9);
}

static json_t *tokens_json(uint64_t tokens)
{
    return tokens == UINT64_MAX ? json_null() : json_integer((json_int_t)tokens);
}

static json_t *figures_json(const struct atoll_spending_figures *figures, json_t *(*json)(uint64_t))
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "limit", json(figures->limit), "spent",
                     json(figures->spent), "reserved", json(figures->reserved), "unknown",
                     json(figures->unknown), "granted", json(figures->granted), "left", json(figures->left));
}

static json_t *row_json(const struct atoll_spending_view_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "scope", scopes[row->scope], "name",
                     atoll_json_text(row->name), "task", atoll_json_text(row->task), "money_usd",
                     figures_json(&row->money, money_json), "tokens",
                     figures_json(&row->tokens, tokens_json));
}

static json_t *holder_json(const struct atoll_spending_view_holder *holder)
{
    const struct atoll_spending_sum *sum = &holder->sum;

    return json_pack("{s:o, s:s, s:I, s:I, s:{s:f, s:f, s:f, s:f}, s:{s:I, s:I, s:I, s:I}}", "name",
                     atoll_json_text(holder->name), "state", atoll_spending_holder_state_name(holder->state),
                     "calls", (json_int_t)sum->calls, "unknown_calls", (json_int_t)sum->unknown_calls,
                     "money_usd", "spent", (double)sum->spent_money / 1e9, "reserved",
                     (double)sum->reserved_money / 1e9, "unknown", (double)sum->unknown_money / 1e9, "excess",
                     (double)sum->excess_money / 1e9, "tokens", "spent", (json_int_t)sum->spent_tokens,
                     "reserved", (json_int_t)sum->reserved_tokens, "unknown", (json_int_t)sum->unknown_tokens,
                     "excess", (json_int_t)sum->excess_tokens);
}

static void print_json(const char *folder, const struct atoll_spending_view *view)
{
    json_t *rows = json_array(), *holders = json_array(), *object;

    for (size_t i = 0; i < view->row_count; i++) {
        json_array_append_new(rows, row_json(&view->rows[i]));
    }
    for (size_t i = 0; i < view->holder_count; i++) {
        json_array_append_new(holders, holder_json(&view->holders[i]));
    }
    object = json_pack("{s:o, s:o, s:o}", "ledger", atoll_json_text(folder), "accounts", rows, "gateways",
                       holders);
    atoll_json_print(object, JSON_INDENT(2), stdout);
}

/* ---- */

static int spend(const struct spend_settings *settings, const struct atoll_gateway_config *config,
                 struct atoll_err *err)
{
    struct atoll_spending_view *view;

    if (!config->ledger) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "%s names no ledger, so nothing is counted; add budget: {ledger: FOLDER}",
                             atoll_gateway_file_path(settings->config));
    }
    view = atoll_spending_view_read(config->ledger, config->limits, config->limit_count, err);
    if (!view) {
        return err->code == ATOLL_E_NOTFOUND
                   ? atoll_err_add(err, "no gateway has spent from this ledger yet, or it is elsewhere")
                   : -1;
    }
    if (settings->json) {
        print_json(config->ledger, view);
    } else {
        print_rows(view);
        print_holders(view);
    }
    atoll_spending_view_destroy(view);
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
