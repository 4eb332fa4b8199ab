/* config.c - gateway.yaml: the file's own keys, and the checks between its sections.
 * The sections are read in the order of the table, whatever their order in the file: models name endpoints and prices,
 * ensembles and limits name models. */
#include "llm-gateway/config/config.h"

#include <limits.h>
#include <stdio.h>
#include <stddef.h>
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
        atoll_program_data(text, installed, sizeof installed, NULL) == 0) {
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

static const struct atoll_yaml_row call_rows[] = {
    {"deadline", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, CONFIG(deadline_s)},
    {"hedge", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
    {"in_flight", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, CONFIG(in_flight_limit)},
    {"tries", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, RETRY(try_limit)},
    {"first_backoff", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, RETRY(first_s)},
    {"longest_backoff", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, RETRY(longest_s)},
};
static const struct atoll_yaml_section call_section = {call_rows, sizeof call_rows / sizeof *call_rows};

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
        size_t bytes = path ? strlen(path) + sizeof "unix:" : 0;
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
                                                         sizeof listen_rows / sizeof *listen_rows};

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
    {"budget", ATOLL_YAML_OPTIONAL, atoll_config_read_budget, 0},
    {"store", ATOLL_YAML_HIDDEN, atoll_config_refuse_old_files, 0},
    {"calls", ATOLL_YAML_OPTIONAL, read_calls, 0},
    {"listen", ATOLL_YAML_OPTIONAL, read_listen, 0},
    {"spool", ATOLL_YAML_OPTIONAL, atoll_config_read_path, CONFIG(spool)},
    {"batch_poll", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
};
static const struct atoll_yaml_section file_section = {file_rows, sizeof file_rows / sizeof *file_rows};

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

static const char *folder_of(struct atoll_arena *arena, const char *path, struct atoll_err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return atoll_arena_text(arena, ".", 1, err);
    return atoll_arena_text(arena, path, slash == path ? 1 : (size_t)(slash - path), err);
}

static void set_defaults(struct atoll_config_draft *d)
{
    struct atoll_gateway_config *c = &d->config;
    c->endpoints = d->endpoints;
    c->models = d->models;
    c->ensembles = d->ensembles;
    c->limits = d->limits;
    c->mode = ATOLL_EXCHANGE_LIVE;
    atoll_retry_defaults(&c->retry);
    c->deadline_s = 600;
    c->in_flight_limit = 4096;
}

static struct atoll_gateway_config *read_file(const struct atoll_yaml *yaml, const char *path,
                                              struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, err);
    struct atoll_config_draft *d = arena ? atoll_arena_alloc(arena, sizeof *d, err) : NULL;
    struct atoll_yaml_walk walk = {yaml, arena, d, err};
    if (!d) {
        atoll_arena_destroy(arena);
        return NULL;
    }
    d->arena = arena;
    set_defaults(d);
    d->folder = folder_of(arena, path, err);
    if (d->folder && !atoll_yaml_map(&walk, &file_section, atoll_yaml_root(yaml), &d->config) &&
        !check(&walk, atoll_yaml_root(yaml)))
        return &d->config;
    atoll_gateway_config_destroy(&d->config);
    return NULL;
}

struct atoll_gateway_config *atoll_gateway_config_load(const char *path, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_load(path, err);
    struct atoll_gateway_config *config = yaml ? read_file(yaml, path, err) : NULL;
    atoll_yaml_destroy(yaml);
    return config;
}

void atoll_gateway_config_destroy(struct atoll_gateway_config *config)
{
    struct atoll_config_draft *d = (struct atoll_config_draft *)config;
    if (!d)
        return;
    atoll_prices_destroy(d->prices);
    atoll_arena_destroy(d->arena);
}
