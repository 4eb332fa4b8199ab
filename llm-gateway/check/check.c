/* check.c - the steps of an endpoint, from its key to a model's first token; and what every step does. */
#include "llm-gateway/check/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "llm-gateway/check/check_run.h"

#define ENDPOINT_LIMIT 64
#define HEADER_LIMIT   8
#define URL_BYTES      2048
#define REPLY_BYTES    ((size_t)8 << 20)

const char *atoll_check_result_name(enum atoll_check_result result)
{
    static const char *const names[ATOLL_CHECK_RESULT_COUNT] = {"ok", "failed", "skipped"};
    return result < ATOLL_CHECK_RESULT_COUNT ? names[result] : "unknown";
}

void atoll_check_defaults(struct atoll_check_settings *settings)
{
    *settings = (struct atoll_check_settings){.deadline_s = 30};
}

/* ---- a run of steps ---- */

int atoll_check_run_open(struct atoll_check_run *run, struct atoll_err *err)
{
    run->loop = atoll_loop_create(NULL, NULL, err);
    run->transfers = run->loop ? atoll_transfers_create(run->loop, 0, err) : NULL;
    if (run->transfers)
        return 0;
    atoll_check_run_close(run);
    return -1;
}

void atoll_check_run_close(struct atoll_check_run *run)
{
    atoll_transfers_destroy(run->transfers);
    atoll_loop_destroy(run->loop);
    run->transfers = NULL;
    run->loop = NULL;
}

void atoll_check_begin(struct atoll_check_run *run)
{
    run->step_ns = atoll_loop_now_ns(run->loop);
}

void atoll_check_report(struct atoll_check_run *run, const char *name, const char *model,
                        enum atoll_check_result result, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    struct atoll_check_step step = {.subject = run->subject, .name = name, .model = model, .result = result};
    if (result != ATOLL_CHECK_SKIPPED)
        step.elapsed_s = (atoll_loop_now_ns(run->loop) - run->step_ns) / 1e9;
    atoll_secret_scrub_line(run->secret, text);
    atoll_utf8_line(step.text, sizeof(step.text), text, strlen(text));
    run->failed += result == ATOLL_CHECK_FAILED;
    run->sink(run->context, &step);
}

/* ---- one exchange ---- */

static void on_header(void *context, const char *name, const char *value)
{
    struct atoll_check_reply *reply = context;
    atoll_reply_headers_read(&reply->headers, name, value, (double)time(NULL));
}

static int on_data(void *context, int http_status, const void *bytes, size_t length)
{
    struct atoll_check_reply *reply = context;
    atoll_buffer_put_bytes(&reply->body, bytes, length);
    return reply->body.failed;
}

static void on_done(void *context, const struct atoll_transfer_end *end)
{
    struct atoll_check_reply *reply = context;
    reply->end = *end;
    reply->is_done = 1;
}

void atoll_check_exchange(struct atoll_check_run *run, const char *path, const struct atoll_buffer *headers,
                          const struct atoll_buffer *body, struct atoll_check_reply *ret_reply)
{
    char url[URL_BYTES];
    const char *lines[HEADER_LIMIT];
    size_t count = 0;
    uint64_t number;
    struct atoll_err err = ATOLL_ERR_INIT;
    *ret_reply = (struct atoll_check_reply){.is_done = 0};
    atoll_buffer_init(&ret_reply->body, REPLY_BYTES);
    atoll_reply_headers_init(&ret_reply->headers);
    for (size_t at = 0; headers && at < headers->length && count < HEADER_LIMIT - 1; count++) {
        lines[count] = (const char *)headers->data + at;
        at += strlen(lines[count]) + 1;
    }
    lines[count++] = "Content-Type: application/json";
    struct atoll_transfer transfer = {
        .method = body ? "POST" : "GET",
        .url = url,
        .headers = lines,
        .header_count = count,
        .body = body ? body->data : NULL,
        .body_length = body ? body->length : 0,
        .site = run->site,
        .deadline_ns = atoll_loop_now_ns(run->loop) + run->settings->deadline_s * 1e9,
        .body_limit_bytes = REPLY_BYTES,
        .on_header = on_header,
        .on_data = on_data,
        .on_done = on_done,
        .context = ret_reply,
    };
    int is_long = snprintf(url, sizeof(url), "%s%s", run->url, path) >= (int)sizeof(url);
    int failed = is_long ? atoll_err_set(&err, ATOLL_E_INPUT, "the url is too long")
                         : atoll_transfers_start(run->transfers, &transfer, &number, &err);
    while (!failed && !ret_reply->is_done)
        failed = atoll_loop_run(run->loop, atoll_loop_wait_ms(run->loop, 1000), &err);
    if (failed) {
        ret_reply->end.status = ATOLL_LLM_NETWORK;
        snprintf(ret_reply->end.detail, sizeof(ret_reply->end.detail), "%.250s", err.text);
    }
}

int atoll_check_connected(struct atoll_check_run *run, const struct atoll_check_reply *reply)
{
    const char *detail = reply->end.detail;
    int is_tls = strncmp(run->url, "https:", 6) == 0, is_answered = reply->end.http_status > 0;
    /* libcurl tells no time of a connection whose TLS failed: the words of the failure do. */
    int is_refused =
        is_tls && (strstr(detail, "certificate") || strstr(detail, "TLS") || strstr(detail, "SSL"));
    if (!is_answered && (!is_tls || (reply->end.connected_s <= 0 && !is_refused))) {
        if (run->site->unix_socket) {
            atoll_check_report(run, "connect", "", ATOLL_CHECK_FAILED,
                               "nobody listens at the socket %s; does the gateway run on this node?",
                               run->site->unix_socket);
        } else {
            atoll_check_report(run, "connect", "", ATOLL_CHECK_FAILED, "%s", detail);
        }
        atoll_check_report(run, "tls", "", ATOLL_CHECK_SKIPPED, "no connection");
        return -1;
    }
    atoll_check_report(run, "connect", "", ATOLL_CHECK_OK, "%s",
                       run->site->unix_socket ? run->site->unix_socket : run->url);
    if (!is_tls) {
        atoll_check_report(run, "tls", "", ATOLL_CHECK_SKIPPED, "http has none");
    } else {
        atoll_check_report(run, "tls", "", is_answered ? ATOLL_CHECK_OK : ATOLL_CHECK_FAILED, "%s",
                           is_answered ? "the certificate is accepted" : detail);
    }
    return is_answered ? 0 : -1;
}

/* ---- an endpoint's key ---- */

/* One endpoint's part of a run. */
struct look {
    struct atoll_check_run *run;
    const struct atoll_gateway_config *config;
    unsigned endpoint;
    const struct atoll_endpoint *e;
    struct atoll_buffer headers;
    struct atoll_reply_headers limits; /* of the last reply that said any */
    int is_usable;                     /* the key was not refused */
    char why[512];                     /* the question with a tool was refused */
};

/* A variable is read once and is gone from the environment then: endpoints that name the same one share it. */
static struct atoll_secret *take_key(const struct look *look, struct atoll_secret **keys,
                                     struct atoll_err *err)
{
    const struct atoll_endpoint *all = look->config->endpoints;
    if (look->e->key_file)
        return keys[look->endpoint] = atoll_secret_of_file(look->e->key_file, err);
    for (unsigned i = 0; i < look->endpoint; i++)
        if (all[i].key_env && strcmp(all[i].key_env, look->e->key_env) == 0 && keys[i])
            return keys[i];
    return keys[look->endpoint] = atoll_secret_of_environment(look->e->key_env, err);
}

static int check_key(struct look *look, struct atoll_secret **keys)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_secret *key = NULL;
    int has_key = look->e->key_file || look->e->key_env;
    atoll_check_begin(look->run);
    atoll_buffer_init(&look->headers, 16384);
    if (has_key)
        look->run->secret = key = take_key(look, keys, &err);
    if ((has_key && !key) || atoll_provider_headers(look->e->provider, key ? atoll_secret_text(key) : NULL,
                                                    &look->headers, &err) != 0) {
        atoll_check_report(look->run, "key", "", ATOLL_CHECK_FAILED, "%s", err.text);
        return -1;
    }
    if (has_key) {
        atoll_check_report(look->run, "key", "", ATOLL_CHECK_OK, "from %s",
                           look->e->key_file ? look->e->key_file : look->e->key_env);
    } else {
        atoll_check_report(look->run, "key", "", ATOLL_CHECK_SKIPPED, "the endpoint has none");
    }
    return 0;
}

/* ---- its models ---- */

struct list {
    const char *wanted;
    int is_there;
    size_t count;
};

static void on_model(void *context, const char *id)
{
    struct list *list = context;
    list->is_there |= strcmp(id, list->wanted) == 0;
    list->count++;
}

static void check_models(const struct look *look, const struct atoll_check_reply *reply)
{
    const struct atoll_gateway_config *c = look->config;
    int is_listed = reply->end.http_status == 200 && reply->end.status == ATOLL_LLM_OK;
    for (size_t i = 0; i < c->model_count; i++) {
        const struct atoll_gateway_model *model = &c->models[i];
        struct list list = {.wanted = model->traits.model};
        struct atoll_err err = ATOLL_ERR_INIT;
        if (model->endpoint != look->endpoint)
            continue;
        if (!is_listed) {
            atoll_check_report(look->run, "models", model->name, ATOLL_CHECK_SKIPPED,
                               "the endpoint gives no list (HTTP %d)", reply->end.http_status);
        } else if (atoll_provider_models(look->e->provider, reply->body.data, reply->body.length, on_model,
                                         &list, &err) != 0) {
            atoll_check_report(look->run, "models", model->name, ATOLL_CHECK_SKIPPED, "no list of models: %s",
                               err.text);
        } else if (list.is_there) {
            atoll_check_report(look->run, "models", model->name, ATOLL_CHECK_OK, "'%s' is one of %zu",
                               list.wanted, list.count);
        } else { /* lists come in pages, and some leave out aliases: the call decides */
            atoll_check_report(look->run, "models", model->name, ATOLL_CHECK_SKIPPED,
                               "'%s' is not among the %zu listed; is it spelt as the endpoint spells it?",
                               list.wanted, list.count);
        }
    }
}

static void read_limits(struct look *look, const struct atoll_reply_headers *h)
{
    if (!isnan(h->request_limit) || !isnan(h->token_limit))
        look->limits = *h;
}

/* Asks for as little as there is: 16 tokens are the least that OpenAI's Responses accept.  1: the question itself was refused, and it
 * may be for the tool in it: nothing is reported yet. */
static int call(struct look *look, const struct atoll_gateway_model *model, int has_tool)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_refused = 0;
    enum atoll_provider provider = look->e->provider;
    struct atoll_reply_reader *reader = NULL;
    struct atoll_buffer body;
    struct atoll_check_reply reply;
    struct atoll_llm_outcome outcome;
    struct atoll_llm_request request;
    atoll_buffer_init(&body, 65536);
    atoll_llm_outcome_init(&outcome);
    atoll_llm_request_init(&request);
    request.model = model->name;
    request.message_count = 1;
    request.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "Say: ok"};
    request.max_output_tokens = provider == ATOLL_PROVIDER_RESPONSES ? 16 : 1;
    if (has_tool)
        request.tools[request.tool_count++] =
            (struct atoll_llm_tool){"look", "Looks.", "{\"type\":\"object\",\"properties\":{}}"};
    atoll_check_begin(look->run);
    if (atoll_provider_body(provider, &request, &model->traits, &body, &err) != 0 ||
        !(reader = atoll_reply_reader_create(provider, ATOLL_LLM_CHAT, &err))) {
        atoll_check_report(look->run, "call", model->name, ATOLL_CHECK_FAILED, "%s", err.text);
        goto done;
    }
    atoll_check_exchange(look->run, atoll_provider_path(provider, ATOLL_LLM_CHAT), &look->headers, &body,
                         &reply);
    if (reply.end.http_status) {
        atoll_reply_reader_feed(reader, reply.body.data ? (const void *)reply.body.data : "",
                                reply.body.length);
        atoll_reply_reader_finish(reader, reply.end.http_status, reply.end.status == ATOLL_LLM_OK, &outcome);
    } else {
        atoll_llm_outcome_set(&outcome, reply.end.status, "%s", reply.end.detail);
    }
    atoll_secret_scrub_outcome(look->run->secret, &outcome);
    is_refused = has_tool && outcome.status == ATOLL_LLM_INVALID;
    if (is_refused) {
        snprintf(look->why, sizeof(look->why), "%s", outcome.detail);
    } else if (atoll_llm_status_is_final(outcome.status)) {
        atoll_check_report(look->run, "call", model->name, ATOLL_CHECK_OK,
                           "%s answered: %llu tokens in, %llu out, first byte after %.2f s",
                           outcome.model[0] ? outcome.model : model->traits.model,
                           (unsigned long long)outcome.usage.input, (unsigned long long)outcome.usage.output,
                           reply.end.first_byte_s);
    } else {
        atoll_check_report(look->run, "call", model->name, ATOLL_CHECK_FAILED, "%s: %s",
                           atoll_llm_status_name(outcome.status), outcome.detail);
    }
    read_limits(look, &reply.headers);
    atoll_buffer_fini(&reply.body);
done:
    atoll_reply_reader_destroy(reader);
    atoll_llm_outcome_fini(&outcome);
    atoll_buffer_fini(&body);
    return is_refused;
}

/* With a tool, where the model should be able to call some: servers can be started without. */
static void check_call(struct look *look, const struct atoll_gateway_model *model)
{
    if (!call(look, model, !model->traits.has_no_tools))
        return;
    unsigned failed = look->run->failed;
    call(look, model, 0);
    if (look->run->failed == failed)
        atoll_check_report(
            look->run, "tools", model->name, ATOLL_CHECK_FAILED,
            "it answers, but refuses tools; write tools: no for it, or start its server with calls of "
            "tools: %.300s",
            look->why);
}

static void put_limit(char *text, size_t bytes, const char *what, double limit, double left)
{
    size_t used = strlen(text);
    if (isnan(limit))
        return;
    used += (size_t)snprintf(text + used, bytes - used, "%s%.0f %s", used ? ", " : "", limit, what);
    if (!isnan(left) && used < bytes)
        snprintf(text + used, bytes - used, " (%.0f left)", left);
}

/* What the endpoint says of its key, of each model and of its limits. */
static void check_service(struct look *look, const struct atoll_check_reply *reply)
{
    struct atoll_check_run *run = look->run;
    const struct atoll_gateway_config *c = look->config;
    const struct atoll_reply_headers *h = &look->limits;
    int status = reply->end.http_status;
    char text[256] = "";
    look->is_usable = status != 401 && status != 403;
    if (!look->is_usable) {
        atoll_check_report(run, "token", "", ATOLL_CHECK_FAILED,
                           "the endpoint refuses %s (HTTP %d); is it of this provider, is it still valid?",
                           look->headers.length ? "the key" : "callers without a key", status);
    } else if (status == 200) {
        atoll_check_report(run, "token", "", ATOLL_CHECK_OK, "the endpoint accepts it");
    } else {
        atoll_check_report(run, "token", "", ATOLL_CHECK_SKIPPED, "HTTP %d says nothing of it; the call will",
                           status);
    }
    check_models(look, reply);
    for (size_t i = 0; i < c->model_count; i++) {
        const char *why = run->settings->has_no_call ? "nothing that costs money was wanted"
                          : !look->is_usable         ? "the key is refused"
                                                     : NULL;
        if (c->models[i].endpoint != look->endpoint)
            continue;
        if (why)
            atoll_check_report(run, "call", c->models[i].name, ATOLL_CHECK_SKIPPED, "%s", why);
        else
            check_call(look, &c->models[i]);
    }
    put_limit(text, sizeof(text), "requests", h->request_limit, h->request_left);
    put_limit(text, sizeof(text), "tokens", h->token_limit, h->token_left);
    if (text[0]) {
        atoll_check_report(run, "limits", "", ATOLL_CHECK_OK, "the replies' headers say: %s", text);
    } else {
        atoll_check_report(run, "limits", "", ATOLL_CHECK_SKIPPED,
                           "the replies' headers say nothing of them");
    }
}

static void check_endpoint(struct look *look, struct atoll_secret **keys)
{
    static const char *const rest[] = {"token", "models", "call", "limits"};
    struct atoll_check_reply reply;
    int has_key = !check_key(look, keys);
    atoll_check_begin(look->run);
    atoll_check_exchange(look->run, atoll_provider_models_path(look->e->provider), &look->headers, NULL,
                         &reply);
    read_limits(look, &reply.headers);
    int is_reached = !atoll_check_connected(look->run, &reply);
    if (is_reached && has_key)
        check_service(look, &reply);
    for (size_t i = 0; !(is_reached && has_key) && i < sizeof(rest) / sizeof(*rest); i++) {
        atoll_check_report(look->run, rest[i], "", ATOLL_CHECK_SKIPPED, "%s",
                           is_reached ? "there is no key" : "there was no reply");
    }
    atoll_buffer_fini(&reply.body);
}

/* ---- roles: what the file says was checked when it was read; here it is shown ---- */

static void put_part(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void put_part(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    if (used < bytes)
        vsnprintf(text + used, bytes - used, format, list);
    va_end(list);
}

static void show_role(struct atoll_check_run *run, const char *name, const struct atoll_gateway_role *role)
{
    char text[256] = "";
    if (!isnan(role->temperature))
        put_part(text, sizeof(text), ", temperature %g", role->temperature);
    if (!isnan(role->top_p))
        put_part(text, sizeof(text), ", top_p %g", role->top_p);
    if (role->effort)
        put_part(text, sizeof(text), ", effort %s", atoll_llm_effort_name(role->effort));
    if (role->max_tokens)
        put_part(text, sizeof(text), ", at most %u tokens", role->max_tokens);
    if (role->candidates)
        put_part(text, sizeof(text), ", %u candidate%s", role->candidates, role->candidates == 1 ? "" : "s");
    atoll_check_begin(run);
    atoll_check_report(run, "role", role->model ? role->model : "", ATOLL_CHECK_OK, "%s%s%s", name,
                       role->model ? "" : ", the model that is asked for", text);
}

static void show_roles(struct atoll_check_run *run, const struct atoll_gateway_config *config)
{
    run->subject = "roles";
    run->secret = NULL;
    for (size_t i = 0; i < ATOLL_GATEWAY_ROLE_COUNT; i++)
        if (config->roles[i].is_said)
            show_role(run,
                      i < ATOLL_MODEL_ROLE_COUNT ? atoll_model_role_name((enum atoll_model_role)i)
                                                 : "* (all others)",
                      &config->roles[i]);
}

int atoll_check_endpoints(const struct atoll_gateway_config *config,
                          const struct atoll_check_settings *settings, atoll_check_sink *sink, void *context,
                          unsigned *ret_failed, struct atoll_err *err)
{
    struct atoll_check_run run = {.settings = settings, .sink = sink, .context = context};
    struct atoll_secret *keys[ENDPOINT_LIMIT] = {NULL};
    if (config->endpoint_count > ENDPOINT_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d endpoints", ENDPOINT_LIMIT);
    if (atoll_check_run_open(&run, err) != 0)
        return -1;
    for (unsigned i = 0; i < config->endpoint_count; i++) {
        struct look look = {.run = &run, .config = config, .endpoint = i, .e = &config->endpoints[i]};
        run.subject = look.e->name;
        run.url = look.e->url;
        run.site = &look.e->site;
        run.secret = NULL;
        atoll_reply_headers_init(&look.limits);
        check_endpoint(&look, keys);
        if (look.headers.data)
            explicit_bzero(look.headers.data, look.headers.capacity);
        atoll_buffer_fini(&look.headers);
    }
    show_roles(&run, config);
    for (size_t i = 0; i < config->endpoint_count; i++)
        atoll_secret_destroy(keys[i]);
    atoll_check_run_close(&run);
    *ret_failed = run.failed;
    return 0;
}
