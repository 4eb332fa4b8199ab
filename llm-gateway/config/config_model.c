/* config_model.c - models: names of clients for models of endpoints, how they want to be asked, what they cost. */
#include <stddef.h>
#include <string.h>

#include "llm-gateway/config/config_draft.h"

struct draft {
    struct atoll_gateway_model model;
    int has_sampling;
    const struct atoll_yaml_node *price;
};

int atoll_config_find_model(const struct atoll_config_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->config.model_count; i++)
        if (strcmp(draft->models[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int read_model_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *name;
    if (atoll_config_read_name(walk, node, &name))
        return -1;
    if (atoll_config_find_model(walk->owner, name) >= 0)
        return atoll_yaml_fail(walk, node, "model '%s' stands here twice; rename one", name);
    *(const char **)target = name;
    return 0;
}

static int read_endpoint_index(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *names[ATOLL_CONFIG_ENDPOINT_LIMIT] = {0};
    size_t i;
    for (i = 0; i < d->config.endpoint_count; i++)
        names[i] = d->endpoints[i].name;
    if (atoll_config_choose(walk, node, "endpoint", names, d->config.endpoint_count, &i))
        return -1;
    *(unsigned *)target = (unsigned)i;
    return 0;
}

static int read_effort(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_LLM_EFFORT_COUNT] = {0};
    size_t i;
    for (i = 1; i < ATOLL_LLM_EFFORT_COUNT; i++)
        names[i - 1] = atoll_llm_effort_name((enum atoll_llm_effort)i);
    if (atoll_config_choose(walk, node, "effort", names, ATOLL_LLM_EFFORT_COUNT - 1, &i))
        return -1;
    *(enum atoll_llm_effort *)target = (enum atoll_llm_effort)(i + 1);
    return 0;
}

static int keep_node(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    *(const struct atoll_yaml_node **)target = node;
    return 0;
}

#define AT(m) offsetof(struct draft, model.m)
static const struct atoll_yaml_row rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_model_name, AT(name)},
    {"endpoint", ATOLL_YAML_REQUIRED, read_endpoint_index, AT(endpoint)},
    {"model", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, AT(traits.model)},
    ATOLL_CONFIG_SECRET_ROWS,
    {"max_output_tokens", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count,
     AT(traits.max_output_tokens)},
    {"context_tokens", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, AT(context_tokens)},
    {"effort", ATOLL_YAML_OPTIONAL, read_effort, AT(traits.effort)},
    {"sampling", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, offsetof(struct draft, has_sampling)},
    {"old_limit", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, AT(traits.has_old_limit)},
    {"price", ATOLL_YAML_OPTIONAL, keep_node, offsetof(struct draft, price)},
};
static const struct atoll_yaml_section section = {rows, sizeof rows / sizeof *rows};

/* By `price`, else by the provider's name of the model; `free` costs nothing and says so. */
static int find_price(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, struct draft *draft)
{
    struct atoll_config_draft *d = walk->owner;
    const char *row = draft->price ? atoll_yaml_scalar(draft->price) : draft->model.traits.model;
    if (draft->price && row && strcmp(row, "free") == 0)
        return 0;
    if (d->prices && row)
        draft->model.price = atoll_prices_find(d->prices, row);
    if (draft->model.price)
        return 0;
    if (draft->price)
        return atoll_yaml_fail(walk, draft->price, "price '%.80s' has no row in %s; add one, or write free",
                               row ? row : "", d->prices ? "the price table" : "a price table (key prices)");
    if (!d->unpriced)
        d->unpriced = node;
    return 0;
}

static int read_model(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = target;
    struct draft draft = {.has_sampling = 1, .model = {.traits = {.max_output_tokens = 16384}}};
    if (atoll_yaml_map(walk, &section, node, &draft))
        return -1;
    if (!draft.model.traits.model)
        draft.model.traits.model = draft.model.name;
    draft.model.traits.has_no_sampling = !draft.has_sampling;
    if (draft.model.context_tokens && draft.model.traits.max_output_tokens > draft.model.context_tokens)
        return atoll_yaml_fail(walk, node,
                               "model '%s' has max_output_tokens above its context_tokens; lower it",
                               draft.model.name);
    if (find_price(walk, node, &draft))
        return -1;
    d->models[d->config.model_count++] = draft.model;
    return 0;
}

int atoll_config_read_models(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_CONFIG_MODEL_LIMIT, "models", read_model, walk->owner);
}
