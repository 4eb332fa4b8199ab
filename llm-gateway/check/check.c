/* check.c - the steps of an endpoint: from its key to a model's first token. */
#include "llm-gateway/check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/check/check_run.h"

#define ENDPOINT_LIMIT 64

/* One endpoint's part of a run. */
struct look {
    struct atoll_check_run *run;
    const struct atoll_gateway_config *config;
    unsigned endpoint;
    const struct atoll_endpoint *e;
    struct atoll_buffer headers;
    struct atoll_reply_headers limits; /* of the last reply that said any */
    int is_usable;                     /* the key was not refused */
};

static int provider_words(struct look *look, const struct atoll_secret *key, struct atoll_err *err)
{
    atoll_buffer_init(&look->headers, 16384);
    return atoll_provider_headers(look->e->provider, key ? atoll_secret_text(key) : NULL, &look->headers,
                                  err);
}

/* A variable is read once and is gone from the environment then: endpoints that name the same one share it. */
static const struct atoll_secret *take_key(struct look *look, struct atoll_secret **keys,
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
    const struct atoll_secret *key = NULL;
    int has_key = look->e->key_file || look->e->key_env;
    atoll_check_begin(look->run);
    if (has_key && !(key = take_key(look, keys, &err))) {
        atoll_check_tell(look->run, "key", "", ATOLL_CHECK_FAILED, "%s", err.text);
        return -1;
    }
    if (provider_words(look, key, &err)) {
        atoll_check_tell(look->run, "key", "", ATOLL_CHECK_FAILED, "%s", err.text);
        return -1;
    }
    if (has_key)
        atoll_check_tell(look->run, "key", "", ATOLL_CHECK_OK, "from %s",
                         look->e->key_file ? look->e->key_file : look->e->key_env);
    else
        atoll_check_tell(look->run, "key", "", ATOLL_CHECK_SKIPPED, "the endpoint has none");
    return 0;
}

/* ---- models ---- */

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

static void check_model(struct look *look, const struct atoll_gateway_model *model,
                        const struct atoll_buffer *body)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct list list = {.wanted = model->traits.model};
    if (atoll_provider_models(look->e->provider, body->data, body->length, on_model, &list, &err))
        atoll_check_tell(look->run, "models", model->name, ATOLL_CHECK_SKIPPED, "no list of models: %s",
                         err.text);
    else if (list.is_there)
        atoll_check_tell(look->run, "models", model->name, ATOLL_CHECK_OK, "'%s' is one of %zu", list.wanted,
                         list.count);
    else /* lists come in pages, and some leave out aliases: the call decides */
        atoll_check_tell(look->run, "models", model->name, ATOLL_CHECK_SKIPPED,
                         "'%s' is not among the %zu listed; is it spelt as the endpoint spells it?",
                         list.wanted, list.count);
}

static void check_models(struct look *look, const struct atoll_check_reply *reply)
{
    const struct atoll_gateway_config *c = look->config;
    for (size_t i = 0; i < c->model_count; i++) {
        const struct atoll_gateway_model *model = &c->models[i];
        if (model->endpoint != look->endpoint)
            continue;
        if (reply->end.http_status == 200 && reply->end.status == ATOLL_LLM_OK)
            check_model(look, model, &reply->body);
        else
            atoll_check_tell(look->run, "models", model->name, ATOLL_CHECK_SKIPPED,
                             "the endpoint gives no list (HTTP %d)", reply->end.http_status);
    }
}

static void check_token(struct look *look, int http_status)
{
    int is_refused = http_status == 401 || http_status == 403;
    look->is_usable = !is_refused;
    if (is_refused)
        atoll_check_tell(look->run, "token", "", ATOLL_CHECK_FAILED,
                         "the endpoint refuses %s (HTTP %d); is it of this provider, is it still valid?",
                         look->headers.length ? "the key" : "callers without a key", http_status);
    else if (http_status == 200)
        atoll_check_tell(look->run, "token", "", ATOLL_CHECK_OK, "the endpoint accepts it");
    else
        atoll_check_tell(look->run, "token", "", ATOLL_CHECK_SKIPPED,
                         "HTTP %d says nothing of it; the call will", http_status);
}

/* ---- a call ---- */

/* 16 is the least that OpenAI's Responses accept. */
static int put_question(const struct look *look, const struct atoll_gateway_model *model,
                        struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_llm_request request;
    atoll_llm_request_init(&request);
    request.model = model->name;
    request.message_count = 1;
    request.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "Say: ok"};
    request.max_output_tokens = look->e->provider == ATOLL_PROVIDER_RESPONSES ? 16 : 1;
    return atoll_provider_body(look->e->provider, &request, &model->traits, out, err);
}

static void tell_call(struct look *look, const struct atoll_gateway_model *model,
                      const struct atoll_check_reply *reply, const struct atoll_llm_outcome *outcome)
{
    int is_well = outcome->status <= ATOLL_LLM_REFUSED;
    if (is_well)
        atoll_check_tell(look->run, "call", model->name, ATOLL_CHECK_OK,
                         "%s answered: %llu tokens in, %llu out, first byte after %.2f s",
                         outcome->model[0] ? outcome->model : model->traits.model,
                         (unsigned long long)outcome->usage.input, (unsigned long long)outcome->usage.output,
                         reply->end.first_byte_s);
    else
        atoll_check_tell(look->run, "call", model->name, ATOLL_CHECK_FAILED, "%s: %s",
                         atoll_llm_status_name(outcome->status), outcome->detail);
}

static void read_reply(struct look *look, const struct atoll_check_reply *reply,
                       struct atoll_llm_outcome *outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_reply_reader *reader = NULL;
    if (!reply->end.http_status) {
        atoll_llm_outcome_set(outcome, reply->end.status, "%s", reply->end.detail);
        return;
    }
    reader = atoll_reply_reader_create(look->e->provider, ATOLL_LLM_CHAT, &err);
    if (!reader) {
        atoll_llm_outcome_set(outcome, ATOLL_LLM_PROTOCOL, "%s", err.text);
        return;
    }
    atoll_reply_reader_feed(reader, reply->body.data ? (const void *)reply->body.data : "",
                            reply->body.length);
    atoll_reply_reader_finish(reader, reply->end.http_status, reply->end.status == ATOLL_LLM_OK, outcome);
    atoll_reply_reader_destroy(reader);
}

static int says_limits(const struct atoll_reply_headers *h)
{
    return !isnan(h->request_limit) || !isnan(h->token_limit);
}

static void check_call(struct look *look, const struct atoll_gateway_model *model)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer body;
    struct atoll_check_reply reply;
    struct atoll_llm_outcome outcome;
    atoll_buffer_init(&body, 65536);
    atoll_llm_outcome_init(&outcome);
    atoll_check_begin(look->run);
    if (put_question(look, model, &body, &err)) {
        atoll_check_tell(look->run, "call", model->name, ATOLL_CHECK_FAILED, "%s", err.text);
    } else {
        atoll_check_exchange(look->run, atoll_provider_path(look->e->provider, ATOLL_LLM_CHAT),
                             &look->headers, &body, &reply);
        read_reply(look, &reply, &outcome);
        tell_call(look, model, &reply, &outcome);
        if (says_limits(&reply.headers))
            look->limits = reply.headers;
        atoll_check_reply_fini(&reply);
    }
    atoll_llm_outcome_fini(&outcome);
    atoll_buffer_fini(&body);
}

static void check_calls(struct look *look)
{
    const struct atoll_gateway_config *c = look->config;
    for (size_t i = 0; i < c->model_count; i++) {
        if (c->models[i].endpoint != look->endpoint)
            continue;
        if (look->run->settings->has_no_call)
            atoll_check_tell(look->run, "call", c->models[i].name, ATOLL_CHECK_SKIPPED,
                             "nothing that costs money was wanted");
        else if (!look->is_usable)
            atoll_check_tell(look->run, "call", c->models[i].name, ATOLL_CHECK_SKIPPED, "the key is refused");
        else
            check_call(look, &c->models[i]);
    }
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

static void check_limits(struct look *look)
{
    char text[256] = "";
    const struct atoll_reply_headers *h = &look->limits;
    put_limit(text, sizeof text, "requests", h->request_limit, h->request_left);
    put_limit(text, sizeof text, "tokens", h->token_limit, h->token_left);
    if (text[0])
        atoll_check_tell(look->run, "limits", "", ATOLL_CHECK_OK, "the replies' headers say: %s", text);
    else
        atoll_check_tell(look->run, "limits", "", ATOLL_CHECK_SKIPPED,
                         "the replies' headers say nothing of them");
}

/* ---- an endpoint ---- */

static void skip_rest(struct look *look, const char *why)
{
    static const char *const names[] = {"token", "models", "call", "limits"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        atoll_check_tell(look->run, names[i], "", ATOLL_CHECK_SKIPPED, "%s", why);
}

static void check_endpoint(struct look *look, struct atoll_secret **keys)
{
    struct atoll_check_reply reply;
    int has_key = !check_key(look, keys);
    if (atoll_check_network(look->run)) {
        atoll_check_tell(look->run, "connect", "", ATOLL_CHECK_SKIPPED, "a step before it failed");
        atoll_check_tell(look->run, "tls", "", ATOLL_CHECK_SKIPPED, "a step before it failed");
        skip_rest(look, "there is no way to the endpoint");
        return;
    }
    atoll_check_begin(look->run);
    atoll_check_exchange(look->run, atoll_provider_models_path(look->e->provider), &look->headers, NULL,
                         &reply);
    if (says_limits(&reply.headers))
        look->limits = reply.headers;
    if (atoll_check_connected(look->run, &reply)) {
        skip_rest(look, "there was no reply");
    } else if (!has_key) {
        skip_rest(look, "there is no key");
    } else {
        check_token(look, reply.end.http_status);
        check_models(look, &reply);
        check_calls(look);
        check_limits(look);
    }
    atoll_check_reply_fini(&reply);
}

int atoll_check_endpoints(const struct atoll_gateway_config *config,
                          const struct atoll_check_settings *settings, atoll_check_sink *sink, void *context,
                          unsigned *ret_failed, struct atoll_err *err)
{
    struct atoll_check_run run = {.settings = settings, .sink = sink, .context = context};
    struct atoll_secret *keys[ENDPOINT_LIMIT] = {NULL};
    if (config->endpoint_count > ENDPOINT_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d endpoints", ENDPOINT_LIMIT);
    if (atoll_check_run_open(&run, err))
        return -1;
    for (unsigned i = 0; i < config->endpoint_count; i++) {
        struct look look = {.run = &run, .config = config, .endpoint = i, .e = &config->endpoints[i]};
        run.subject = look.e->name;
        run.url = look.e->url;
        run.site = &look.e->site;
        atoll_reply_headers_init(&look.limits);
        check_endpoint(&look, keys);
        if (look.headers.data)
            explicit_bzero(look.headers.data, look.headers.capacity);
        atoll_buffer_fini(&look.headers);
    }
    for (size_t i = 0; i < config->endpoint_count; i++)
        atoll_secret_destroy(keys[i]);
    atoll_check_run_close(&run);
    *ret_failed = run.failed;
    return 0;
}
