/* config_draft.h - a configuration while its file is read: tables of keys fill it, checks between keys come last.
 * Layer: llm-gateway, private to config*.c.  Lives in the configuration's arena. */
#ifndef ATOLL_LLM_GATEWAY_CONFIG_CONFIG_DRAFT_H
#define ATOLL_LLM_GATEWAY_CONFIG_CONFIG_DRAFT_H

#include "base/yaml.h"
#include "llm-gateway/config/config.h"

#define ATOLL_CONFIG_ENDPOINT_LIMIT 64
#define ATOLL_CONFIG_MODEL_LIMIT    256
#define ATOLL_CONFIG_ENSEMBLE_LIMIT 64
#define ATOLL_CONFIG_NAME_LIMIT     63

struct atoll_config_draft {
    struct atoll_gateway_config config; /* first: destroy gets its address */
    struct atoll_arena *arena;
    const char *folder;          /* of the file; relative paths begin there */
    struct atoll_prices *prices; /* owned */
    struct atoll_endpoint endpoints[ATOLL_CONFIG_ENDPOINT_LIMIT];
    struct atoll_gateway_model models[ATOLL_CONFIG_MODEL_LIMIT];
    struct atoll_ensemble ensembles[ATOLL_CONFIG_ENSEMBLE_LIMIT];
    struct atoll_spending_limit limits[ATOLL_SPENDING_LIMIT_COUNT];
    const struct atoll_yaml_node *unpriced; /* the first model that has no price and does not say `free` */
};

/* Rows for keys that would hold a secret: their reader says where secrets belong. */
#define ATOLL_CONFIG_SECRET_ROWS                                                                             \
    {"key", ATOLL_YAML_HIDDEN, atoll_config_refuse_secret, 0},                                               \
        {"api_key", ATOLL_YAML_HIDDEN, atoll_config_refuse_secret, 0},                                       \
        {"token", ATOLL_YAML_HIDDEN, atoll_config_refuse_secret, 0},                                         \
        {"password", ATOLL_YAML_HIDDEN, atoll_config_refuse_secret, 0},                                      \
    {                                                                                                        \
        "secret", ATOLL_YAML_HIDDEN, atoll_config_refuse_secret, 0                                           \
    }

/* config_value.c: readers of values that several nouns have; walk->owner is the draft. */
atoll_yaml_reader atoll_config_refuse_secret;
atoll_yaml_reader atoll_config_refuse_old_files; /* ledger, holder, store: one file now */
atoll_yaml_reader
    atoll_config_refuse_removed;          /* a key of an earlier version, whose work is not done any more */
atoll_yaml_reader atoll_config_read_name; /* const char *: [A-Za-z0-9._/:@+-]{1,63} */
atoll_yaml_reader atoll_config_read_path; /* const char *: absolute, below the file's folder, or from ~/ */
atoll_yaml_reader atoll_config_read_variable;          /* const char *: name of an environment variable */
atoll_yaml_reader atoll_config_read_positive_duration; /* double */
atoll_yaml_reader atoll_config_read_positive_count;    /* uint32_t or unsigned */
/* A path as the file's reader sees it, in the arena; NULL and err. */
const char *atoll_config_path(struct atoll_config_draft *draft, const char *text, struct atoll_err *err);

atoll_yaml_reader atoll_config_read_effort;      /* enum atoll_llm_effort */
atoll_yaml_reader atoll_config_read_temperature; /* double: 0 to 2 */
/* config_roles.c */
atoll_yaml_reader atoll_config_read_roles;
void atoll_config_roles_init(struct atoll_gateway_config *config); /* all unsaid */
/* config_models.c: the file's longer sections. */
atoll_yaml_reader atoll_config_read_endpoints;
atoll_yaml_reader atoll_config_read_models;
atoll_yaml_reader atoll_config_read_ensembles;
/* Index of a model by name; -1. */
int atoll_config_find_model(const struct atoll_config_draft *draft, const char *name);
/* A name of up to limit bytes: campaigns are called by their ids. */
int atoll_config_read_long_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                size_t limit, const char **ret_name);

#endif
