/* config.c - gateway.yaml: the file's own keys, and the checks between its sections.
 * The sections are read in the order of the table, whatever their order in the file: models name endpoints and prices,
 * ensembles and limits name models. */
#include "llm-gateway/config/config.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/program.h"
#include "llm-gateway/http/address.h"
#include "llm-gateway/config/config_draft.h"

#define CONFIG(m) offsetof(struct atoll_gateway_config, m)
#define RETRY(m)  offsetof(struct atoll_gateway_config, retry.m)

static int read_prices(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *path, *text;
    char installed[PATH_MAX];
    if (atoll_config_read_path(walk, node, &path) || atoll_yaml_read_text(walk, node, &text))
        return -1;
    d->prices = atoll_prices_load(path, &inner);
    if (!d->prices && inner.code == ATOLL_E_NOTFOUND && strncmp(text, "knowledge/", 10) == 0 &&
        atoll_program_data(text, installed, sizeof(installed), NULL) == 0) {
        atoll_err_clear(&inner);
        d->prices = atoll_prices_load(installed, &inner);
    }
    d->config.prices = d->prices;
    if (!d->prices && inner.code == ATOLL_E_NOTFOUND)
        atoll_err_add(
            &inner,
            "prices names a table by a path from this file's folder; knowledge/prices.yaml is Atoll's own");
    return d->prices ? 0 : atoll_yaml_pass(walk, node, &inner);
}

/* ---- the file of budget and exchanges, and its limits ---- */

/* Dollars into nanodollars, rounded down: a limit is never raised by rounding. */
static int read_money(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    double dollars;
    if (atoll_yaml_read_number(walk, node, &dollars))
        return -1;
    if (dollars > 1e9)
        return atoll_yaml_fail(walk, node, "'%.40s' dollars are more than 1e9", atoll_yaml_scalar(node));
    *(atoll_nanousd *)target = (atoll_nanousd)floor(dollars * 1e9 + 1e-3);
    return 0;
}

static int read_scope(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[ATOLL_SCOPE_COUNT] = {"campaign", "task", "model", "day"};
    size_t i;
    if (atoll_yaml_choose(walk, node, "scope", names, ATOLL_SCOPE_COUNT, &i))
        return -1;
    *(enum atoll_spending_scope *)target = (enum atoll_spending_scope)i;
    return 0;
}

static int read_limit_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *name;
    if (atoll_config_read_long_name(walk, node, sizeof((struct atoll_spending_limit *)0)->name - 1, &name))
        return -1;
    memcpy(target, name, strlen(name) + 1);
    return 0;
}

#define LIMIT(m) offsetof(struct atoll_spending_limit, m)
static const struct atoll_yaml_row limit_rows[] = {
    {"scope", ATOLL_YAML_REQUIRED, read_scope, LIMIT(scope)},
    {"name", ATOLL_YAML_OPTIONAL, read_limit_name, LIMIT(name)},
    {"money", ATOLL_YAML_OPTIONAL, read_money, LIMIT(money)},
    {"tokens", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count64, LIMIT(tokens)},
};
static const struct atoll_yaml_section limit_section = {limit_rows, sizeof(limit_rows) / sizeof(*limit_rows)};

static int check_limit(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                       const struct atoll_spending_limit *limit)
{
    const struct atoll_config_draft *d = walk->owner;
    if (limit->money == UINT64_MAX && limit->tokens == UINT64_MAX)
        return atoll_yaml_fail(walk, node, "this limits nothing; give money (US dollars) or tokens");
    if (limit->scope == ATOLL_SCOPE_DAY && limit->name[0])
        return atoll_yaml_fail(walk, node, "a day has no name; remove it");
    if (limit->scope == ATOLL_SCOPE_MODEL && atoll_config_find_model(d, limit->name) < 0)
        return atoll_yaml_fail(walk, node, "a limit of a model names one of the models; '%s' is none",
                               limit->name);
    for (size_t i = 0; i < d->config.limit_count; i++)
        if (d->limits[i].scope == limit->scope && strcmp(d->limits[i].name, limit->name) == 0)
            return atoll_yaml_fail(walk, node, "this scope and name have a limit already; keep one");
    return 0;
}

static int read_limit(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    struct atoll_spending_limit limit = {.money = UINT64_MAX, .tokens = UINT64_MAX};
    if (atoll_yaml_map(walk, &limit_section, node, &limit) || check_limit(walk, node, &limit))
        return -1;
    d->limits[d->config.limit_count++] = limit;
    return 0;
}

static int read_limits(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    return atoll_yaml_list(walk, node, ATOLL_SPENDING_LIMIT_COUNT, "limits", read_limit, d);
}

static int read_mode(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char *const names[ATOLL_EXCHANGE_MODE_COUNT] = {"live", "record", "replay",
                                                                 "replay-then-live"};
    size_t i;
    if (atoll_yaml_choose(walk, node, "mode", names, ATOLL_EXCHANGE_MODE_COUNT, &i))
        return -1;
    *(enum atoll_exchange_mode *)target = (enum atoll_exchange_mode)i;
    return 0;
}

static const struct atoll_yaml_row budget_rows[] = {
    {"ledger", ATOLL_YAML_HIDDEN, atoll_config_refuse_old_files, 0},
    {"holder", ATOLL_YAML_HIDDEN, atoll_config_refuse_old_files, 0},
    {"file", ATOLL_YAML_REQUIRED, atoll_config_read_path, CONFIG(file)},
    {"mode", ATOLL_YAML_OPTIONAL, read_mode, CONFIG(mode)},
    {"permanent_host", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, CONFIG(is_permanent_host)},
    {"limits", ATOLL_YAML_OPTIONAL, read_limits, 0},
};
static const struct atoll_yaml_section budget_section = {budget_rows,
                                                         sizeof(budget_rows) / sizeof(*budget_rows)};

static int read_budget(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    d->config.mode = ATOLL_EXCHANGE_REPLAY_THEN_LIVE;
    return atoll_yaml_map(walk, &budget_section, node, &d->config);
}

/* ---- calls ---- */

static const struct atoll_yaml_row call_rows[] = {
    {"deadline", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, CONFIG(deadline_s)},
    {"hedge", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
    {"in_flight", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, CONFIG(in_flight_limit)},
    {"tries", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, RETRY(try_limit)},
    {"first_backoff", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, RETRY(first_s)},
    {"longest_backoff", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, RETRY(longest_s)},
};
static const struct atoll_yaml_section call_section = {call_rows, sizeof(call_rows) / sizeof(*call_rows)};

static int read_calls(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    if (atoll_yaml_map(walk, &call_section, node, &d->config))
        return -1;
    if (d->config.retry.first_s > d->config.retry.longest_s)
        return atoll_yaml_fail(walk, node, "first_backoff is longer than longest_backoff; exchange them");
    return 0;
}

/* ---- where clients come in ---- */

static int read_address(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    struct atoll_err inner = ATOLL_ERR_INIT;
    struct atoll_address address;
    const char *text;
    if (atoll_yaml_read_text(walk, node, &text))
        return -1;
    if (strncmp(text, "unix:", 5) == 0 && text[5] && text[5] != '/') {
        const char *path = atoll_config_path(d, text + 5, &inner);
        size_t bytes = path ? strlen(path) + sizeof("unix:") : 0;
        char *whole = path ? atoll_arena_alloc(walk->arena, bytes, &inner) : NULL;
        if (!whole)
            return atoll_yaml_pass(walk, node, &inner);
        snprintf(whole, bytes, "unix:%s", path);
        text = whole;
    }
    if (atoll_address_parse(text, &address, &inner))
        return atoll_yaml_pass(walk, node, &inner);
    *(const char **)target = text;
    return 0;
}

static const struct atoll_yaml_row listen_rows[] = {
    {"address", ATOLL_YAML_REQUIRED, read_address, CONFIG(listen)},
    ATOLL_CONFIG_SECRET_ROWS,
    {"token_file", ATOLL_YAML_OPTIONAL, atoll_config_read_path, CONFIG(token_file)},
    {"token_env", ATOLL_YAML_OPTIONAL, atoll_config_read_variable, CONFIG(token_env)},
};
static const struct atoll_yaml_section listen_section = {listen_rows,
                                                         sizeof(listen_rows) / sizeof(*listen_rows)};

static int read_listen(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    struct atoll_gateway_config *c = &d->config;
    struct atoll_address address;
    if (atoll_yaml_map(walk, &listen_section, node, c))
        return -1;
    if (c->token_file && c->token_env)
        return atoll_yaml_fail(walk, node, "both token_file and token_env; keep one");
    if (atoll_address_parse(c->listen, &address, walk->err))
        return -1;
    if (!address.is_local && !c->token_file && !c->token_env)
        return atoll_yaml_fail(walk, atoll_yaml_find(node, "address"),
                               "others than this machine could use '%s'; add token_file or token_env, or "
                               "listen at 127.0.0.1",
                               c->listen);
    return 0;
}

static const struct atoll_yaml_row file_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    ATOLL_CONFIG_SECRET_ROWS,
    {"prices", ATOLL_YAML_OPTIONAL, read_prices, 0},
    {"endpoints", ATOLL_YAML_OPTIONAL, atoll_config_read_endpoints, 0},
    {"models", ATOLL_YAML_OPTIONAL, atoll_config_read_models, 0},
    {"ensembles", ATOLL_YAML_OPTIONAL, atoll_config_read_ensembles, 0},
    {"roles", ATOLL_YAML_OPTIONAL, atoll_config_read_roles, 0},
    {"budget", ATOLL_YAML_OPTIONAL, read_budget, 0},
    {"store", ATOLL_YAML_HIDDEN, atoll_config_refuse_old_files, 0},
    {"calls", ATOLL_YAML_OPTIONAL, read_calls, 0},
    {"listen", ATOLL_YAML_OPTIONAL, read_listen, 0},
    {"spool", ATOLL_YAML_OPTIONAL, atoll_config_read_path, CONFIG(spool)},
    {"batch_poll", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
};
static const struct atoll_yaml_section file_section = {file_rows, sizeof(file_rows) / sizeof(*file_rows)};

/* ---- between the sections ---- */

static int check(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *root)
{
    const struct atoll_config_draft *d = walk->owner;
    const struct atoll_gateway_config *c = &d->config;
    int limits_money = 0;
    for (size_t i = 0; i < c->limit_count; i++)
        limits_money |= c->limits[i].money != UINT64_MAX;
    if (limits_money && d->unpriced)
        return atoll_yaml_fail(
            walk, d->unpriced,
            "money is limited, and this model has no price; add its row to the price table and "
            "name it (price: ROW), or write price: free");
    if (!c->model_count && c->mode != ATOLL_EXCHANGE_REPLAY && !c->spool)
        return atoll_yaml_fail(
            walk, root, "no models; add endpoints and models, or a budget with a file and mode: replay");
    return 0;
}

struct atoll_gateway_config *atoll_gateway_config_load(const char *path, struct atoll_err *err)
{
    const char *slash = strrchr(path, '/');
    struct atoll_yaml *yaml = atoll_yaml_load(path, err);
    struct atoll_arena *arena = yaml ? atoll_arena_create((size_t)8 << 20, err) : NULL;
    struct atoll_config_draft *d = arena ? atoll_arena_alloc(arena, sizeof(*d), err) : NULL;
    struct atoll_yaml_walk walk = {yaml, arena, d, err};
    if (!d) {
        atoll_arena_destroy(arena);
        atoll_yaml_destroy(yaml);
        return NULL;
    }
    struct atoll_gateway_config *c = &d->config;
    d->arena = arena;
    c->endpoints = d->endpoints;
    c->models = d->models;
    c->ensembles = d->ensembles;
    c->limits = d->limits;
    c->mode = ATOLL_EXCHANGE_LIVE;
    atoll_retry_defaults(&c->retry);
    atoll_config_roles_init(c);
    c->deadline_s = 600;
    c->in_flight_limit = 4096;
    d->folder = slash ? atoll_arena_text(arena, path, slash == path ? 1 : (size_t)(slash - path), err)
                      : atoll_arena_text(arena, ".", 1, err);
    if (!d->folder || atoll_yaml_map(&walk, &file_section, atoll_yaml_root(yaml), c) != 0 ||
        check(&walk, atoll_yaml_root(yaml)) != 0) {
        atoll_gateway_config_destroy(c);
        c = NULL;
    }
    atoll_yaml_destroy(yaml);
    return c;
}

void atoll_gateway_config_destroy(struct atoll_gateway_config *config)
{
    struct atoll_config_draft *d = (struct atoll_config_draft *)config;
    if (!d)
        return;
    atoll_prices_destroy(d->prices);
    atoll_arena_destroy(d->arena);
}
