/* config_roles.c - what a gateway answers the roles of a campaign with: a model, and parameters where a request says none. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "llm-gateway/config/config_draft.h"

/* A role with what is checked between its keys, at their place in the file. */
struct role_draft {
    struct atoll_gateway_role role;
    const struct atoll_yaml_node *temperature, *top_p, *max_tokens, *candidates;
};

static int read_model(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *names[ATOLL_CONFIG_NAMES_MOST];
    size_t count = atoll_gateway_config_names(&d->config, names), i;
    if (atoll_yaml_choose(walk, node, "model", names, count, &i))
        return -1;
    *(const char **)target = names[i];
    return 0;
}

static int read_temperature(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct role_draft *draft = target;
    draft->temperature = node;
    return atoll_config_read_temperature(walk, node, &draft->role.temperature);
}

static int read_top_p(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct role_draft *draft = target;
    draft->top_p = node;
    return atoll_yaml_read_share(walk, node, &draft->role.top_p);
}

static int read_max_tokens(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct role_draft *draft = target;
    draft->max_tokens = node;
    return atoll_config_read_positive_count(walk, node, &draft->role.max_tokens);
}

static int read_candidates(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    uint32_t count;
    if (atoll_config_read_positive_count(walk, node, &count))
        return -1;
    if (count > ATOLL_CONFIG_CANDIDATES_MOST)
        return atoll_yaml_fail(walk, node, "%u candidates of one ask are more than %d", count,
                               ATOLL_CONFIG_CANDIDATES_MOST);
    struct role_draft *draft = target;
    draft->candidates = node;
    draft->role.candidates = count;
    return 0;
}

#define ROLE(m) offsetof(struct role_draft, role.m)
static const struct atoll_yaml_row role_rows[] = {
    {"model", ATOLL_YAML_OPTIONAL, read_model, ROLE(model)},
    {"temperature", ATOLL_YAML_OPTIONAL, read_temperature, 0},
    {"top_p", ATOLL_YAML_OPTIONAL, read_top_p, 0},
    {"effort", ATOLL_YAML_OPTIONAL, atoll_config_read_effort, ROLE(effort)},
    {"max_tokens", ATOLL_YAML_OPTIONAL, read_max_tokens, 0},
    {"candidates", ATOLL_YAML_OPTIONAL, read_candidates, 0},
};
static const struct atoll_yaml_section role_section = {role_rows, sizeof(role_rows) / sizeof(*role_rows)};

/* What a role says must be something each of its models can take. */
static int check_model(struct atoll_yaml_walk *walk, const struct role_draft *draft,
                       const struct atoll_gateway_model *model)
{
    const struct atoll_yaml_node *sampling = draft->temperature ? draft->temperature : draft->top_p;
    if (sampling && model->traits.has_no_sampling)
        return atoll_yaml_fail(
            walk, sampling, "model '%s' takes none (sampling: false); remove it here, or there", model->name);
    if (draft->max_tokens && model->context_tokens && draft->role.max_tokens > model->context_tokens)
        return atoll_yaml_fail(walk, draft->max_tokens,
                               "more than the context_tokens of model '%s'; lower it", model->name);
    return 0;
}

static int check_role(struct atoll_yaml_walk *walk, const struct role_draft *draft)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *name = draft->role.model;
    for (size_t i = 0; name && i < d->config.model_count; i++)
        if (strcmp(d->models[i].name, name) == 0)
            return check_model(walk, draft, &d->models[i]);
    for (size_t i = 0; name && i < d->config.ensemble_count; i++)
        for (size_t k = 0; strcmp(d->ensembles[i].name, name) == 0 && k < d->ensembles[i].member_count; k++)
            if (check_model(walk, draft, &d->models[d->ensembles[i].members[k].model]))
                return -1;
    return 0;
}

static int read_role(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    struct atoll_gateway_role *role = target;
    struct role_draft draft = {.role = *role};
    ptrdiff_t which = role - d->config.roles;
    if (atoll_yaml_map(walk, &role_section, node, &draft) || check_role(walk, &draft))
        return -1;
    if (draft.candidates && which != ATOLL_MODEL_ROLE_COUNT &&
        !atoll_model_role_has_candidates((enum atoll_model_role)which))
        return atoll_yaml_fail(walk, draft.candidates,
                               "candidates of a role whose answer is one have no effect; writer, planner, "
                               "executor, refiner and templater take them");
    draft.role.is_said = 1;
    *role = draft.role;
    return 0;
}

/* The names of core/model_role.h, in its order, and the role of all that are not named. */
#define OF(i) (i) * sizeof(struct atoll_gateway_role)
static const struct atoll_yaml_row roles_rows[] = {
    {"writer", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_WRITER)},
    {"planner", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_PLANNER)},
    {"executor", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_EXECUTOR)},
    {"analyser", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_ANALYSER)},
    {"orderer", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_ORDERER)},
    {"refiner", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_REFINER)},
    {"extractor", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_EXTRACTOR)},
    {"templater", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_TEMPLATER)},
    {"summarizer", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_SUMMARIZER)},
    {"distiller", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_DISTILLER)},
    {"prompter", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_PROMPTER)},
    {"judge", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_JUDGE)},
    {"drafter", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_DRAFTER)},
    {"*", ATOLL_YAML_OPTIONAL, read_role, OF(ATOLL_MODEL_ROLE_COUNT)},
};
_Static_assert(sizeof(roles_rows) / sizeof(*roles_rows) == ATOLL_GATEWAY_ROLE_COUNT, "a role has no row");
static const struct atoll_yaml_section roles_section = {roles_rows, ATOLL_GATEWAY_ROLE_COUNT};

void atoll_config_roles_init(struct atoll_gateway_config *config)
{
    for (size_t i = 0; i < ATOLL_GATEWAY_ROLE_COUNT; i++)
        config->roles[i] = (struct atoll_gateway_role){.temperature = NAN, .top_p = NAN};
}

int atoll_config_read_roles(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    return atoll_yaml_map(walk, &roles_section, node, d->config.roles);
}

const struct atoll_gateway_role *atoll_gateway_role_of(const struct atoll_gateway_config *config,
                                                       const char *purpose)
{
    size_t role =
        purpose && *purpose ? atoll_model_role_find(purpose, strlen(purpose)) : ATOLL_MODEL_ROLE_COUNT;
    if (!config->roles[role].is_said)
        role = atoll_model_role_base((enum atoll_model_role)role);
    if (config->roles[role].is_said)
        return &config->roles[role];
    return config->roles[ATOLL_MODEL_ROLE_COUNT].is_said ? &config->roles[ATOLL_MODEL_ROLE_COUNT] : NULL;
}
