/* config_models.c - endpoints: where requests go, and with which key; models: names of clients for models of endpoints, how they
 * want to be asked, what they cost; ensembles: several models under one name. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/random.h"
#include "llm-gateway/config/config_draft.h"

/* ---- endpoints ---- */

/* An endpoint with what is only checked, not kept. */
struct endpoint_draft {
    struct atoll_endpoint endpoint;
    int allows_plain; /* a key may go over http */
};

static int read_provider(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_PROVIDER_COUNT] = {0};
    size_t i;
    for (i = 0; i < ATOLL_PROVIDER_COUNT; i++)
        names[i] = atoll_provider_name((enum atoll_provider)i);
    if (atoll_yaml_choose(walk, node, "provider", names, ATOLL_PROVIDER_COUNT, &i))
        return -1;
    *(enum atoll_provider *)target = (enum atoll_provider)i;
    return 0;
}

static int has_user(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    const char *at = strchr(host, '@');
    return at && (size_t)(at - host) < strcspn(host, "/?#");
}

static int read_url(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *url;
    if (atoll_yaml_read_text(walk, node, &url))
        return -1;
    const char *host = strstr(url, "://");
    if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || !host[3] || host[3] == '/' ||
        strpbrk(url, " \"<>\\^`{|}"))
        return atoll_yaml_fail(walk, node, "url '%.120s' is none; write one like https://api.openai.com/v1",
                               url);
    if (has_user(url))
        return atoll_config_refuse_secret(walk, node, target);
    if (strpbrk(url, "?#"))
        return atoll_yaml_fail(walk, node, "url '%.120s' has a query or fragment; leave it out", url);
    size_t length = strlen(url);
    while (url[length - 1] == '/')
        length--;
    const char *copy = atoll_arena_text(walk->arena, url, length, walk->err);
    if (!copy)
        return -1;
    *(const char **)target = copy;
    return 0;
}

/* "none": no proxy, whatever the environment says. */
static int read_proxy(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *url;
    if (atoll_yaml_read_text(walk, node, &url))
        return -1;
    if (has_user(url))
        return atoll_config_refuse_secret(walk, node, target);
    if (strcmp(url, "none") == 0)
        url = "";
    else if (!strstr(url, "://"))
        return atoll_yaml_fail(walk, node,
                               "proxy '%.120s' is none; write one like http://proxy.site:3128, or "
                               "none",
                               url);
    *(const char **)target = url;
    return 0;
}

static int read_endpoint_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *name;
    if (atoll_config_read_name(walk, node, &name))
        return -1;
    for (size_t i = 0; i < d->config.endpoint_count; i++)
        if (strcmp(d->endpoints[i].name, name) == 0)
            return atoll_yaml_fail(walk, node, "endpoint '%s' stands here twice; rename one", name);
    *(const char **)target = name;
    return 0;
}

#define ENDPOINT(m) offsetof(struct endpoint_draft, endpoint.m)
static const struct atoll_yaml_row endpoint_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_endpoint_name, ENDPOINT(name)},
    {"provider", ATOLL_YAML_REQUIRED, read_provider, ENDPOINT(provider)},
    {"url", ATOLL_YAML_REQUIRED, read_url, ENDPOINT(url)},
    ATOLL_CONFIG_SECRET_ROWS,
    {"key_file", ATOLL_YAML_OPTIONAL, atoll_config_read_path, ENDPOINT(key_file)},
    {"key_env", ATOLL_YAML_OPTIONAL, atoll_config_read_variable, ENDPOINT(key_env)},
    {"key_over_http", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag,
     offsetof(struct endpoint_draft, allows_plain)},
    {"proxy", ATOLL_YAML_OPTIONAL, read_proxy, ENDPOINT(site.proxy)},
    {"ca_file", ATOLL_YAML_OPTIONAL, atoll_config_read_path, ENDPOINT(site.ca_file)},
    {"unix_socket", ATOLL_YAML_OPTIONAL, atoll_config_read_path, ENDPOINT(site.unix_socket)},
    {"connect", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, ENDPOINT(site.connect_s)},
    {"silence", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, ENDPOINT(site.silence_s)},
    {"requests_per_minute", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, ENDPOINT(requests_per_minute)},
    {"tokens_per_minute", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, ENDPOINT(tokens_per_minute)},
    {"concurrency", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, ENDPOINT(concurrency)},
    {"batch", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
};
static const struct atoll_yaml_section endpoint_section = {endpoint_rows,
                                                           sizeof(endpoint_rows) / sizeof(*endpoint_rows)};

static int read_endpoint(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1",
                                        "[::1]"}; /* this machine, by its usual names */
    struct atoll_config_draft *d = target;
    struct endpoint_draft draft = {
        .endpoint = {.concurrency = 64, .site = {.connect_s = 10, .silence_s = 300}}};
    const struct atoll_endpoint *e = &draft.endpoint;
    int is_local = 0;
    if (atoll_yaml_map(walk, &endpoint_section, node, &draft) != 0)
        return -1;
    const char *host = strstr(e->url, "://") + 3;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        size_t length = strlen(hosts[i]);
        is_local |= strncmp(host, hosts[i], length) == 0 && strchr(":/", host[length]);
    }
    if (e->key_file && e->key_env)
        return atoll_yaml_fail(walk, node, "endpoint '%s' has both key_file and key_env; keep one", e->name);
    if ((e->key_file || e->key_env) && strncmp(e->url, "http:", 5) == 0 && !is_local &&
        !e->site.unix_socket && !draft.allows_plain) {
        return atoll_yaml_fail(walk, node,
                               "endpoint '%s' would send its key in plain text; use https, or say "
                               "key_over_http: true where the network is trusted",
                               e->name);
    }
    d->endpoints[d->config.endpoint_count++] = draft.endpoint;
    return 0;
}

int atoll_config_read_endpoints(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_CONFIG_ENDPOINT_LIMIT, "endpoints", read_endpoint, walk->owner);
}

/* ---- models ---- */

struct model_draft {
    struct atoll_gateway_model model;
    int has_sampling, has_tools;
    const struct atoll_yaml_node *price;
};

int atoll_config_find_model(const struct atoll_config_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->config.model_count; i++)
        if (strcmp(draft->models[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* What clients say for "that of my role" is nobody's name. */
static int read_free_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                          const char **ret_name)
{
    if (atoll_config_read_name(walk, node, ret_name))
        return -1;
    return strcmp(*ret_name, ATOLL_LLM_BY_ROLE) == 0
               ? atoll_yaml_fail(walk, node, "'%s' stands for the model of a request's role; rename it",
                                 *ret_name)
               : 0;
}

static int read_model_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *name;
    if (read_free_name(walk, node, &name))
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
    if (atoll_yaml_choose(walk, node, "endpoint", names, d->config.endpoint_count, &i))
        return -1;
    *(unsigned *)target = (unsigned)i;
    return 0;
}

static int keep_node(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    *(const struct atoll_yaml_node **)target = node;
    return 0;
}

/* yes and no read better for what a model can do. */
static int read_yes(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    int is_yes = text && strcmp(text, "yes") == 0;
    if (!is_yes && (!text || strcmp(text, "no") != 0))
        return atoll_yaml_read_flag(walk, node, target);
    *(int *)target = is_yes;
    return 0;
}

#define MODEL(m) offsetof(struct model_draft, model.m)
static const struct atoll_yaml_row model_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_model_name, MODEL(name)},
    {"endpoint", ATOLL_YAML_REQUIRED, read_endpoint_index, MODEL(endpoint)},
    {"model", ATOLL_YAML_OPTIONAL, atoll_yaml_read_text, MODEL(traits.model)},
    ATOLL_CONFIG_SECRET_ROWS,
    {"max_output_tokens", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count,
     MODEL(traits.max_output_tokens)},
    {"context_tokens", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, MODEL(context_tokens)},
    {"effort", ATOLL_YAML_OPTIONAL, atoll_config_read_effort, MODEL(traits.effort)},
    {"temperature", ATOLL_YAML_OPTIONAL, atoll_config_read_temperature, MODEL(traits.temperature)},
    {"top_p", ATOLL_YAML_OPTIONAL, atoll_yaml_read_share, MODEL(traits.top_p)},
    {"sampling", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, offsetof(struct model_draft, has_sampling)},
    {"tools", ATOLL_YAML_OPTIONAL, read_yes, offsetof(struct model_draft, has_tools)},
    {"old_limit", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, MODEL(traits.has_old_limit)},
    {"price", ATOLL_YAML_OPTIONAL, keep_node, offsetof(struct model_draft, price)},
};
static const struct atoll_yaml_section model_section = {model_rows, sizeof(model_rows) / sizeof(*model_rows)};

/* By `price`, else by the provider's name of the model; `free` costs nothing and says so. */
static int find_price(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                      struct model_draft *draft)
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
    struct model_draft draft = {
        .has_sampling = 1,
        .has_tools = 1,
        .model = {.traits = {.max_output_tokens = 16384, .temperature = NAN, .top_p = NAN}}};
    if (atoll_yaml_map(walk, &model_section, node, &draft))
        return -1;
    if (!draft.model.traits.model)
        draft.model.traits.model = draft.model.name;
    draft.model.traits.has_no_sampling = !draft.has_sampling;
    draft.model.traits.has_no_tools = !draft.has_tools;
    if (draft.model.context_tokens && draft.model.traits.max_output_tokens > draft.model.context_tokens)
        return atoll_yaml_fail(walk, node,
                               "model '%s' has max_output_tokens above its context_tokens; lower it",
                               draft.model.name);
    draft.model.traits.has_temperature = !isnan(draft.model.traits.temperature);
    draft.model.traits.has_top_p = !isnan(draft.model.traits.top_p);
    if (!draft.has_sampling && (draft.model.traits.has_temperature || draft.model.traits.has_top_p))
        return atoll_yaml_fail(walk, node,
                               "model '%s' says temperature or top_p, and sampling: false; keep one of them",
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

/* ---- ensembles ---- */

static int read_model_index(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *names[ATOLL_CONFIG_MODEL_LIMIT] = {0};
    size_t i;
    for (i = 0; i < d->config.model_count; i++)
        names[i] = d->models[i].name;
    if (atoll_yaml_choose(walk, node, "model", names, d->config.model_count, &i))
        return -1;
    *(unsigned *)target = (unsigned)i;
    return 0;
}

static int read_ensemble_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_config_draft *d = walk->owner;
    const char *name;
    if (read_free_name(walk, node, &name))
        return -1;
    if (atoll_config_find_model(d, name) >= 0)
        return atoll_yaml_fail(walk, node, "'%s' is the name of a model already; rename one", name);
    for (size_t i = 0; i < d->config.ensemble_count; i++)
        if (strcmp(d->ensembles[i].name, name) == 0)
            return atoll_yaml_fail(walk, node, "ensemble '%s' stands here twice; rename one", name);
    *(const char **)target = name;
    return 0;
}

#define MEMBER(m) offsetof(struct atoll_ensemble_member, m)
static const struct atoll_yaml_row member_rows[] = {
    {"model", ATOLL_YAML_REQUIRED, read_model_index, MEMBER(model)},
    {"weight", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, MEMBER(weight)},
    {"from", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count, MEMBER(from_generation)},
    {"until", ATOLL_YAML_OPTIONAL, atoll_yaml_read_count, MEMBER(until_generation)},
};
static const struct atoll_yaml_section member_section = {member_rows,
                                                         sizeof(member_rows) / sizeof(*member_rows)};

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
static const struct atoll_yaml_row ensemble_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_ensemble_name, offsetof(struct atoll_ensemble, name)},
    {"members", ATOLL_YAML_REQUIRED, read_members, 0},
    {"fallbacks", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
};
static const struct atoll_yaml_section ensemble_section = {ensemble_rows,
                                                           sizeof(ensemble_rows) / sizeof(*ensemble_rows)};

static int read_ensemble(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = walk->owner;
    struct atoll_ensemble *e = &d->ensembles[d->config.ensemble_count];
    double sum = 0;
    if (atoll_yaml_map(walk, &ensemble_section, node, e))
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

/* ---- one of an ensemble, by weight; members without weight are taken only where no other one fits ---- */

static int fits(const struct atoll_ensemble_member *member, uint32_t generation, int any)
{
    return any || (generation >= member->from_generation && generation < member->until_generation);
}

int atoll_ensemble_choose(const struct atoll_ensemble *ensemble, uint32_t generation,
                          const struct atoll_id *request)
{
    struct atoll_random random = {atoll_id_u64(request), 0};
    double unit = atoll_random_unit(atoll_random_next(&random));
    for (int any = 0; any < 2; any++) {
        double total = 0.0;
        int chosen = -1;
        for (size_t i = 0; i < ensemble->member_count; i++)
            total += fits(&ensemble->members[i], generation, any) ? ensemble->members[i].weight : 0.0;
        double at = unit * total;
        for (size_t i = 0; i < ensemble->member_count; i++) {
            const struct atoll_ensemble_member *member = &ensemble->members[i];
            if (!fits(member, generation, any) || (total > 0.0 && !(member->weight > 0.0)))
                continue;
            chosen = (int)member->model;
            at -= member->weight;
            if (total <= 0.0 || at < 0.0)
                break;
        }
        if (chosen >= 0)
            return chosen;
    }
    return -1;
}

size_t atoll_gateway_config_names(const struct atoll_gateway_config *config,
                                  const char *ret_names[ATOLL_CONFIG_NAMES_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < config->ensemble_count && count < ATOLL_CONFIG_NAMES_MOST; i++)
        ret_names[count++] = config->ensembles[i].name;
    for (size_t i = 0; i < config->model_count && count < ATOLL_CONFIG_NAMES_MOST; i++)
        ret_names[count++] = config->models[i].name;
    return count;
}
