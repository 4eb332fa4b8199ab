/* config_endpoint.c - endpoints: where requests go, and with which key. */
#include <stddef.h>
#include <string.h>

#include "llm-gateway/config/config_draft.h"

/* An endpoint with what is only checked, not kept. */
struct draft {
    struct atoll_endpoint endpoint;
    int allows_plain; /* a key may go over http */
};

static int read_provider(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *names[ATOLL_PROVIDER_COUNT] = {0};
    size_t i;
    for (i = 0; i < ATOLL_PROVIDER_COUNT; i++)
        names[i] = atoll_provider_name((enum atoll_provider)i);
    if (atoll_config_choose(walk, node, "provider", names, ATOLL_PROVIDER_COUNT, &i))
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

#define AT(m) offsetof(struct draft, endpoint.m)
static const struct atoll_yaml_row rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_endpoint_name, AT(name)},
    {"provider", ATOLL_YAML_REQUIRED, read_provider, AT(provider)},
    {"url", ATOLL_YAML_REQUIRED, read_url, AT(url)},
    ATOLL_CONFIG_SECRET_ROWS,
    {"key_file", ATOLL_YAML_OPTIONAL, atoll_config_read_path, AT(key_file)},
    {"key_env", ATOLL_YAML_OPTIONAL, atoll_config_read_variable, AT(key_env)},
    {"key_over_http", ATOLL_YAML_OPTIONAL, atoll_yaml_read_flag, offsetof(struct draft, allows_plain)},
    {"proxy", ATOLL_YAML_OPTIONAL, read_proxy, AT(site.proxy)},
    {"ca_file", ATOLL_YAML_OPTIONAL, atoll_config_read_path, AT(site.ca_file)},
    {"unix_socket", ATOLL_YAML_OPTIONAL, atoll_config_read_path, AT(site.unix_socket)},
    {"connect", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, AT(site.connect_s)},
    {"silence", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_duration, AT(site.silence_s)},
    {"requests_per_minute", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, AT(requests_per_minute)},
    {"tokens_per_minute", ATOLL_YAML_OPTIONAL, atoll_yaml_read_number, AT(tokens_per_minute)},
    {"concurrency", ATOLL_YAML_OPTIONAL, atoll_config_read_positive_count, AT(concurrency)},
    {"batch", ATOLL_YAML_HIDDEN, atoll_config_refuse_removed, 0},
};
static const struct atoll_yaml_section section = {rows, sizeof rows / sizeof *rows};

/* The host is this machine, by its usual names. */
static int is_local_url(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = strstr(url, "://") + 3;
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(hosts[i]);
        if (strncmp(host, hosts[i], length) == 0 && strchr(":/", host[length]))
            return 1;
    }
    return 0;
}

static int check(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, const struct draft *d)
{
    const struct atoll_endpoint *e = &d->endpoint;
    int has_key = e->key_file || e->key_env;
    if (e->key_file && e->key_env)
        return atoll_yaml_fail(walk, node, "endpoint '%s' has both key_file and key_env; keep one", e->name);
    if (has_key && strncmp(e->url, "http:", 5) == 0 && !is_local_url(e->url) && !e->site.unix_socket &&
        !d->allows_plain)
        return atoll_yaml_fail(walk, node,
                               "endpoint '%s' would send its key in plain text; use https, or say "
                               "key_over_http: true where the network is trusted",
                               e->name);
    return 0;
}

static int read_endpoint(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_config_draft *d = target;
    struct draft draft = {.endpoint = {.concurrency = 64, .site = {.connect_s = 10, .silence_s = 300}}};
    if (atoll_yaml_map(walk, &section, node, &draft) || check(walk, node, &draft))
        return -1;
    d->endpoints[d->config.endpoint_count++] = draft.endpoint;
    return 0;
}

int atoll_config_read_endpoints(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                                void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_CONFIG_ENDPOINT_LIMIT, "endpoints", read_endpoint, walk->owner);
}
