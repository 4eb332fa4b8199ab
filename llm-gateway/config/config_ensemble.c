/* config_ensemble.c - ensembles: several models under one name. */
#include <stddef.h>
#include <string.h>

#include "llm-gateway/config/config_draft.h"

static int read_model_index(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *names[ATOLL_CONFIG_MODEL_LIMIT] = {0};
    size_t i;
    for (i = 0; i < d->config.model_count; i++)
        names[i] = d->models[i].name;
    if (atoll_config_choose(walk, node, "model", names, d->config.model_count, &i))
        return -1;
    *(unsigned *)target = (unsigned)i;
    return 0;
}

static int read_ensemble_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *name;
    if (atoll_config_read_name(walk, node, &name))
        return -1;
    if (atoll_config_find_model(d, name) >= 0)
        return atoll_yaml_fail(walk, node, "'%s' is the name of a model already; rename one", name);
    for (size_t i = 0; i < d->config.ensemble_count; i++)
        if (strcmp(d->ensembles[i].name, name) == 0)
            return atoll_yaml_fail(walk, node, "ensemble '%s' stands here twice; rename one", name);
    *(const char **)target = name;
    return 0;
}

#define AT(m) offsetof(struct atoll_ensemble_member, m)
static const struct atoll_yaml_row member_rows[] = {
    {"model", ATOLL_YAML_REQUIRED, read_model_index, AT(model)},
    {"weight", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, AT(weight)},
    {"from", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count, AT(from_generation)},
    {"until", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count, AT(until_generation)},
};
static const struct atoll_yaml_section member_section = {member_rows,
                                                         sizeof member_rows / sizeof *member_rows};

static int read_member(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_ensemble *e = target;
    struct atoll_ensemble_member member = {.weight = 1, .until_generation = UINT32_MAX};
    if (atoll_yaml_map(walk, &member_section, node, &member))
        return -1;
    if (member.from_generation >= member.until_generation)
        return atoll_yaml_fail(walk, node, "from must lie below until; no generation is in between");
    e->members[e->member_count++] = member;
    return 0;
}

static int read_members(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_ENSEMBLE_MEMBER_LIMIT, "members", read_member, target);
}

/* members fill the ensemble itself: offset 0 */
static const struct atoll_yaml_row rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_ensemble_name, offsetof(struct atoll_ensemble, name)},
    {"members", ATOLL_YAML_REQUIRED, read_members, 0},
    {"fallbacks", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
};
static const struct atoll_yaml_section section = {rows, sizeof rows / sizeof *rows};

static int read_ensemble(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    struct atoll_ensemble *e = &d->ensembles[d->config.ensemble_count];
    double sum = 0;
    if (atoll_yaml_map(walk, &section, node, e))
        return -1;
    for (size_t i = 0; i < e->member_count; i++)
        sum += e->members[i].weight;
    if (!(sum > 0))
        return atoll_yaml_fail(walk, node, "ensemble '%s' has no member with a weight above 0; add one",
                               e->name);
    d->config.ensemble_count++;
    return 0;
}

int atoll_config_read_ensembles(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_CONFIG_ENSEMBLE_LIMIT, "ensembles", read_ensemble, walk->owner);
}
