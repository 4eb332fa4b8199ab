#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/config/config_draft.h"

int atoll_config_refuse_secret(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_fail(walk, node,
                           "keys never stand in this file; remove it, and name a file of mode 600 (key_file, "
                           "token_file) or a variable (key_env, token_env) that holds it");
}

int atoll_config_refuse_old_files(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                  void *target)
{
    return atoll_yaml_fail(
        walk, node,
        "ledger, holder and store are one file now: write budget: {file: gateway/gateway.sqlite}; "
        "`atoll gateway convert exchanges.atl gateway/gateway.sqlite` brings old answers along; what a "
        "ledger says was spent is not: lower the limits by it");
}

int atoll_config_refuse_removed(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                void *target)
{
    return atoll_yaml_fail(
        walk, node,
        "batch, batch_poll, hedge and fallbacks were removed, with what they did; delete this key");
}

int atoll_config_read_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_config_read_long_name(walk, node, ATOLL_CONFIG_NAME_LIMIT, target);
}

int atoll_config_read_long_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                size_t limit, const char **ret_name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@+-";
    const char *text = atoll_yaml_scalar(node);
    if (!text || strlen(text) > limit || strspn(text, letters) != strlen(text))
        return atoll_yaml_fail(walk, node, "name '%.80s' must be 1 to %zu letters, digits or ._/:@+-",
                               text ? text : "", limit);
    return atoll_yaml_read_text(walk, node, ret_name);
}

const char *atoll_config_path(struct atoll_config_draft *draft, const char *text, struct atoll_err *err)
{
    const char *base = draft->folder;
    if (text[0] == '/')
        base = "";
    else if (strncmp(text, "~/", 2) == 0) {
        base = getenv("HOME");
        text += 2;
    }
    if (!base) {
        atoll_err_set(err, ATOLL_E_INPUT, "'~/%.80s' needs HOME, which is not set; write the whole path",
                      text);
        return NULL;
    }
    size_t total = strlen(base) + strlen(text) + 2;
    char *path = atoll_arena_alloc(draft->arena, total, err);
    if (path)
        snprintf(path, total, "%s%s%s", base, *base ? "/" : "", text);
    return path;
}

int atoll_config_read_path(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *text;
    if (atoll_yaml_read_text(walk, node, &text))
        return -1;
    if (strncmp(text, "sk-", 3) == 0)
        return atoll_config_refuse_secret(walk, node, target);
    const char *path = atoll_config_path(walk->owner, text, &inner);
    if (!path)
        return atoll_yaml_pass(walk, node, &inner);
    *(const char **)target = path;
    return 0;
}

int atoll_config_read_variable(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const char *text = atoll_yaml_scalar(node);
    if (text && strncmp(text, "sk-", 3) == 0)
        return atoll_config_refuse_secret(walk, node, target);
    if (!text || strspn(text, letters) != strlen(text) || strchr("0123456789", text[0]))
        return atoll_yaml_fail(
            walk, node,
            "a name of an environment variable is expected here, like OPENAI_API_KEY (without $)");
    return atoll_yaml_read_text(walk, node, target);
}

int atoll_config_read_positive_duration(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                        void *target)
{
    double seconds;
    if (atoll_yaml_read_duration(walk, node, &seconds))
        return -1;
    if (!(seconds > 0))
        return atoll_yaml_fail(walk, node, "'%.40s' must be longer than 0", atoll_yaml_scalar(node));
    *(double *)target = seconds;
    return 0;
}

int atoll_config_read_positive_count(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                     void *target)
{
    uint32_t count;
    if (atoll_yaml_read_count(walk, node, &count))
        return -1;
    if (!count)
        return atoll_yaml_fail(walk, node, "0 is too few; write at least 1");
    *(uint32_t *)target = count;
    return 0;
}

int atoll_config_read_effort(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_LLM_EFFORT_COUNT] = {0};
    size_t i;
    for (i = 1; i < ATOLL_LLM_EFFORT_COUNT; i++)
        names[i - 1] = atoll_llm_effort_name((enum atoll_llm_effort)i);
    if (atoll_yaml_choose(walk, node, "effort", names, ATOLL_LLM_EFFORT_COUNT - 1, &i))
        return -1;
    *(enum atoll_llm_effort *)target = (enum atoll_llm_effort)(i + 1);
    return 0;
}

int atoll_config_read_temperature(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                  void *target)
{
    double temperature;
    if (atoll_yaml_read_number(walk, node, &temperature))
        return -1;
    if (temperature > 2)
        return atoll_yaml_fail(walk, node, "'%.40s' must lie between 0 and 2", atoll_yaml_scalar(node));
    *(double *)target = temperature;
    return 0;
}
