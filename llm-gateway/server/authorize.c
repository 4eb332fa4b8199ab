/* authorize.c - who may come in, and with what: every check that needs no more than a request's headers. */
#include <string.h>
#include <strings.h>

#include "llm-gateway/server/http_request.h"

static const struct {
    const char *url, *method;
    int is_open; /* needs no token */
} paths[ATOLL_DOOR_PATH_COUNT] = {
    [ATOLL_DOOR_CHAT] = {"/v1/chat/completions", "POST", 0},
    [ATOLL_DOOR_EMBEDDINGS] = {"/v1/embeddings", "POST", 0},
    [ATOLL_DOOR_MODELS] = {"/v1/models", "GET", 0},
    [ATOLL_DOOR_HEALTH] = {"/healthz", "GET", 1},
    [ATOLL_DOOR_METRICS] = {"/metrics", "GET", 0},
};

void atoll_visit_release_body(struct atoll_visit *x)
{
    x->server->held_bytes -= x->body.length;
    atoll_buffer_fini(&x->body);
}
const char *atoll_visit_header(const struct atoll_visit *x, const char *name)
{
    const char *value = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

static int is_authorized(const struct atoll_visit *x)
{
    static const char scheme[] = "Bearer ";
    const char *given = atoll_visit_header(x, "Authorization");
    size_t skip = sizeof scheme - 1;
    if (!x->server->token)
        return 1;
    if (strncasecmp(given, scheme, skip) != 0)
        return 0;
    return atoll_secret_matches(x->server->token, given + skip, strlen(given + skip));
}

/* Without a token a web page in a browser of this machine could ask, also under a name that points here: what only
 * programs send is demanded. */
static int is_from_browser(const struct atoll_visit *x)
{
    static const char *const hosts[] = {"127.", "localhost", "[::1]"};
    const char *host = atoll_visit_header(x, "Host");
    if (x->server->token || x->server->is_unix)
        return 0;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (strncasecmp(host, hosts[i], strlen(hosts[i])) == 0)
            return atoll_visit_header(x, "Origin")[0] != 0;
    return 1;
}

static int find_path(struct atoll_visit *x, const char *url, const char *method)
{
    size_t i = 0;
    while (i < ATOLL_DOOR_PATH_COUNT && strcmp(paths[i].url, url) != 0)
        i++;
    if (i == ATOLL_DOOR_PATH_COUNT) {
        x->path = ATOLL_DOOR_METRICS; /* whatever needs a token */
        return 404;
    }
    x->path = (enum atoll_door_path)i;
    return strcmp(paths[i].method, method) == 0 ? 0 : 405;
}

void atoll_visit_refuse(struct atoll_visit *x, int http_status, const char *code, const char *text)
{
    atoll_answer_refuse(&x->answer, http_status,
                        http_status >= 500 ? "server_error" : "invalid_request_error", code, "%s", text);
    x->is_refused = 1;
    atoll_visit_release_body(x);
}

void atoll_visit_judge(struct atoll_visit *x, const char *url, const char *method)
{
    const struct atoll_server *s = x->server;
    int wrong = find_path(x, url, method);
    int is_json = strncasecmp(atoll_visit_header(x, "Content-Type"), "application/json", 16) == 0;
    if (s->is_closing) {
        atoll_visit_refuse(x, 503, "gateway_ends", "the gateway ends; ask another one");
        x->answer.retry_after_s = 1;
    } else if (s->connection_count > s->connection_limit) {
        atoll_visit_refuse(x, 503, "gateway_full", "too many connections; come back later");
        x->answer.retry_after_s = 1;
    } else if (!paths[x->path].is_open && !is_authorized(x)) {
        atoll_visit_refuse(x, 401, "invalid_api_key",
                           "the gateway's token is missing or wrong; send Authorization: Bearer TOKEN");
    } else if (!paths[x->path].is_open && is_from_browser(x)) {
        atoll_visit_refuse(x, 403, "not_local",
                           "this door has no token: it is for programs of this machine, not for web pages");
    } else if (wrong == 404) {
        atoll_visit_refuse(x, 404, "unknown_url",
                           "no such path; there are /v1/chat/completions, /v1/embeddings, /v1/models, "
                           "/healthz, /metrics");
    } else if (wrong == 405) {
        atoll_visit_refuse(x, 405, "method_not_supported", "wrong method for this path");
        x->answer.allow = paths[x->path].method;
    } else if (x->path <= ATOLL_DOOR_EMBEDDINGS && !s->token && !is_json) {
        atoll_visit_refuse(x, 415, NULL, "send Content-Type: application/json");
    }
}
