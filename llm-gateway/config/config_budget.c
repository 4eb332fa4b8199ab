/* config_budget.c - the file of budget and exchanges, and its limits. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/config/config_draft.h"

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
    if (atoll_config_choose(walk, node, "scope", names, ATOLL_SCOPE_COUNT, &i))
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

#define AT(m) offsetof(struct atoll_spending_limit, m)
static const struct atoll_yaml_row limit_rows[] = {
    {"scope", ATOLL_YAML_REQUIRED, read_scope, AT(scope)},
    {"name", ATOLL_YAML_OPTIONAL, read_limit_name, AT(name)},
    {"money", ATOLL_YAML_OPTIONAL, read_money, AT(money)},
    {"tokens", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count64, AT(tokens)},
};
static const struct atoll_yaml_section limit_section = {limit_rows, sizeof limit_rows / sizeof *limit_rows};

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
    if (atoll_config_choose(walk, node, "mode", names, ATOLL_EXCHANGE_MODE_COUNT, &i))
        return -1;
    *(enum atoll_exchange_mode *)target = (enum atoll_exchange_mode)i;
    return 0;
}

#define CONFIG(m) offsetof(struct atoll_gateway_config, m)
static const struct atoll_yaml_row rows[] = {
    {"ledger", ATOLL_YAML_HIDDEN, atoll_config_refuse_old_files, 0},
    {"holder", ATOLL_YAML_HIDDEN, atoll_config_refuse_old_files, 0},
    {"file", ATOLL_YAML_REQUIRED, atoll_config_read_path, CONFIG(file)},
    {"mode", ATOLL_YAML_OPTIONAL, read_mode, CONFIG(mode)},
    {"permanent_host", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, CONFIG(is_permanent_host)},
    {"limits", ATOLL_YAML_OPTIONAL, read_limits, 0},
};
static const struct atoll_yaml_section section = {rows, sizeof rows / sizeof *rows};

int atoll_config_read_budget(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    d->config.mode = ATOLL_EXCHANGE_REPLAY_THEN_LIVE;
    return atoll_yaml_map(walk, &section, node, &d->config);
}
