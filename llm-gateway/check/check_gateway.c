/* check_gateway.c - a gateway as a client sees it: over HTTP step by step, through a spool as one call,
 * a recording as a file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spelling.h"
#include "llm-gateway/check/check_run.h"
#include "llm-gateway/http/address.h"
#include "llm-gateway/client/client.h"
#include "llm-gateway/budget/exchange_store.h"

#define URL_BYTES 512

/* ---- one call, as clients make it ---- */

struct answer {
    struct atoll_check_run *run;
    const char *model;
    int is_there;
};

static void on_answer(void *context, const struct atoll_llm_outcome *outcome)
{
    struct answer *answer = context;
    answer->is_there = 1;
    if (atoll_llm_status_is_final(outcome->status))
        atoll_check_report(
            answer->run, "call", answer->model, ATOLL_CHECK_OK, "%s answered%s: %llu tokens in, %llu out",
            outcome->name[0] ? outcome->name : outcome->model,
            outcome->is_from_store ? " from its store" : "", (unsigned long long)outcome->usage.input,
            (unsigned long long)outcome->usage.output);
    else if (outcome->status == ATOLL_LLM_TIMEOUT)
        atoll_check_report(answer->run, "call", answer->model, ATOLL_CHECK_FAILED,
                           "nobody answered in time; does a gateway serve there? %s", outcome->detail);
    else
        atoll_check_report(answer->run, "call", answer->model, ATOLL_CHECK_FAILED, "%s: %s",
                           atoll_llm_status_name(outcome->status), outcome->detail);
}

static int ask(struct atoll_client *client, struct answer *answer, struct atoll_err *err)
{
    struct atoll_llm_request request;
    uint64_t call;
    char text[64]; /* another one each time: a gateway's store would answer what was asked before */
    snprintf(text, sizeof(text), "Say: ok (%lld)", (long long)time(NULL));
    atoll_llm_request_init(&request);
    request.model = answer->model;
    request.message_count = 1;
    request.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = text};
    request.max_output_tokens = 16;
    request.purpose = strcmp(answer->model, ATOLL_LLM_BY_ROLE) == 0 ? "writer" : "check";
    request.deadline_s = answer->run->settings->deadline_s;
    if (atoll_client_ask(client, &request, on_answer, answer, &call, err))
        return -1;
    while (!answer->is_there) {
        if (atoll_client_turn(client, err))
            return -1;
        if (!answer->is_there)
            usleep(20000);
    }
    atoll_client_settled(client, call);
    return 0;
}

static void check_call(struct atoll_check_run *run, const char *where, const char *token_file,
                       const char *model)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct answer answer = {.run = run, .model = model};
    if (!model || !model[0]) {
        atoll_check_report(run, "call", "", ATOLL_CHECK_SKIPPED, "no model was named");
        return;
    }
    if (run->settings->has_no_call) {
        atoll_check_report(run, "call", model, ATOLL_CHECK_SKIPPED, "nothing that costs money was wanted");
        return;
    }
    atoll_check_begin(run);
    struct atoll_client *client = atoll_client_create(where, token_file, &err);
    if ((!client || ask(client, &answer, &err)) && !answer.is_there)
        atoll_check_report(run, "call", model, ATOLL_CHECK_FAILED, "%s", err.text);
    atoll_client_destroy(client);
}

/* ---- over HTTP ---- */

static int put_token(struct atoll_check_run *run, const char *token_file, struct atoll_buffer *headers)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *path = token_file ? token_file : getenv("ATOLL_GATEWAY_TOKEN_FILE");
    if (!path || !*path)
        return 0;
    atoll_check_begin(run);
    run->secret = atoll_secret_of_file(path, &err);
    if (!run->secret) {
        atoll_check_report(run, "token", "", ATOLL_CHECK_FAILED, "%s", err.text);
        return -1;
    }
    atoll_buffer_printf(headers, "Authorization: Bearer %s", atoll_secret_text(run->secret));
    atoll_buffer_put_u8(headers, 0);
    return 0;
}

struct list {
    const char *wanted;
    size_t count;
    int is_there;
    char names[256]; /* as many as fit */
};

static void on_model(void *context, const char *id)
{
    struct list *list = context;
    size_t used = strlen(list->names), bytes = sizeof(list->names) - used;
    if (strlen(id) + sizeof(", ") <= bytes)
        snprintf(list->names + used, bytes, "%s%s", list->count ? ", " : "", id);
    list->count++;
    list->is_there |= list->wanted && strcmp(id, list->wanted) == 0;
}

static void report_models(struct atoll_check_run *run, const struct atoll_check_reply *reply,
                          const char *model)
{
    struct list list = {.wanted = model};
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *name = model ? model : "";
    char hint[ATOLL_SPELLING_HINT_BYTES];
    if (atoll_provider_models(ATOLL_PROVIDER_CHAT, reply->body.data, reply->body.length, on_model, &list,
                              &err))
        atoll_check_report(run, "models", name, ATOLL_CHECK_FAILED,
                           "HTTP %d and no list of models (%s); is this a gateway?", reply->end.http_status,
                           err.text);
    else if (name[0] && !list.is_there && atoll_spelling_hint_in(name, list.names, "", hint))
        atoll_check_report(run, "models", name, ATOLL_CHECK_FAILED,
                           "the gateway does not know it; it has %zu: %s%s%s", list.count, list.names,
                           *hint ? "; " : "", hint);
    else
        atoll_check_report(run, "models", name, ATOLL_CHECK_OK, "the gateway has %zu: %s", list.count,
                           list.names);
}

/* 0: a call is worth trying. */
static int check_list(struct atoll_check_run *run, const char *token_file, const char *model)
{
    struct atoll_buffer headers;
    struct atoll_check_reply reply;
    atoll_buffer_init(&headers, 16384);
    int is_usable = 0;
    if (!put_token(run, token_file, &headers)) {
        atoll_check_begin(run);
        atoll_check_exchange(run, "/v1/models", &headers, NULL, &reply);
        int is_refused = reply.end.http_status == 401 || reply.end.http_status == 403;
        is_usable = reply.end.http_status == 200;
        atoll_check_report(run, "token", "", is_refused ? ATOLL_CHECK_FAILED : ATOLL_CHECK_OK,
                           is_refused ? "the gateway refuses %s (HTTP %d); name its token file"
                                      : "%s: HTTP %d",
                           headers.length ? "the token" : "callers without a token", reply.end.http_status);
        if (!is_refused)
            report_models(run, &reply, model);
        atoll_buffer_fini(&reply.body);
    }
    if (headers.data)
        explicit_bzero(headers.data, headers.capacity);
    atoll_buffer_fini(&headers);
    return is_usable ? 0 : -1;
}

static void check_http(struct atoll_check_run *run, const char *token_file, const char *model)
{
    struct atoll_check_reply reply;
    const char *name = model ? model : "";
    atoll_check_begin(run);
    atoll_check_exchange(run, "/healthz", NULL, NULL, &reply);
    int is_reached = !atoll_check_connected(run, &reply);
    atoll_buffer_fini(&reply.body);
    if (!is_reached)
        atoll_check_report(run, "call", name, ATOLL_CHECK_SKIPPED, "there is no way to the gateway");
    else if (check_list(run, token_file, model) != 0)
        atoll_check_report(run, "call", name, ATOLL_CHECK_SKIPPED, "a step before it failed");
    else
        check_call(run, run->subject, token_file, model);
}

/* ---- through files ---- */

static int check_folder(struct atoll_check_run *run, const char *folder)
{
    struct stat status;
    atoll_check_begin(run);
    if (stat(folder, &status)) {
        atoll_check_report(run, "folder", "", ATOLL_CHECK_FAILED, "%s: %s; is the file system mounted here?",
                           folder, strerror(errno));
        return -1;
    }
    if (!S_ISDIR(status.st_mode) || access(folder, R_OK | W_OK | X_OK)) {
        atoll_check_report(run, "folder", "", ATOLL_CHECK_FAILED,
                           "%s is no folder that this user may write to", folder);
        return -1;
    }
    atoll_check_report(run, "folder", "", ATOLL_CHECK_OK, "%s", folder);
    return 0;
}

/* ---- from a recording ---- */

/* What it holds was asked by somebody else, so a call would only miss. */
static void check_recording(struct atoll_check_run *run, const char *path, const char *model)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_check_begin(run);
    struct atoll_store *store = atoll_store_open(path, ATOLL_STORE_READ, &err);
    long count = store ? atoll_store_count(store, &err) : -1;
    if (count >= 0)
        atoll_check_report(run, "recording", "", ATOLL_CHECK_OK, "%ld exchanges", count);
    else
        atoll_check_report(run, "recording", "", ATOLL_CHECK_FAILED, "%s", err.text);
    atoll_store_close(store);
    atoll_check_report(run, "call", model ? model : "", ATOLL_CHECK_SKIPPED,
                       "a recording answers what was asked when it was made, and nothing else");
}

/* ---- */

static int set_site(const char *where, struct atoll_transfer_site *site, char url[URL_BYTES])
{
    *site = (struct atoll_transfer_site){.connect_s = 10, .silence_s = 300};
    if (strncmp(where, "unix:", 5) == 0) {
        site->unix_socket = where + 5;
        snprintf(url, URL_BYTES, "http://localhost");
        return 0;
    }
    if (strncmp(where, "http://", 7) != 0 && strncmp(where, "https://", 8) != 0)
        return -1;
    size_t length = strlen(where);
    while (length && where[length - 1] == '/')
        length--;
    if (length >= 3 && memcmp(where + length - 3, "/v1", 3) == 0)
        length -= 3;
    site->proxy = atoll_address_is_here(strstr(where, "://") + 3) ? "" : NULL; /* as the client does */
    return snprintf(url, URL_BYTES, "%.*s", (int)length, where) < URL_BYTES ? 0 : -1;
}

/* ---- what it offers ---- */

static void ignore(void *context, const struct atoll_check_step *step)
{
}

static int offer_of_spool(const char *folder, struct atoll_offer *ret_offer, struct atoll_err *err)
{
    char path[PATH_MAX];
    size_t length;
    if (snprintf(path, sizeof(path), "%s/offer", folder) >= (int)sizeof(path))
        return atoll_err_set(err, ATOLL_E_INPUT, "the spool's path is too long");
    char *text = atoll_file_read(path, ATOLL_OFFER_BYTES, &length, err);
    int status = text ? atoll_offer_parse(text, length, ret_offer, err) : -1;
    free(text);
    return status;
}

static int offer_of_http(struct atoll_check_run *run, const char *token_file, struct atoll_offer *ret_offer,
                         struct atoll_err *err)
{
    struct atoll_buffer headers;
    struct atoll_check_reply reply;
    int status = -1;
    atoll_buffer_init(&headers, 16384);
    if (put_token(run, token_file, &headers)) {
        atoll_err_set(err, ATOLL_E_DENIED, "the token of the gateway cannot be read");
    } else {
        atoll_check_exchange(run, "/v1/models", &headers, NULL, &reply);
        if (reply.end.http_status == 200)
            status = atoll_offer_parse(reply.body.data, reply.body.length, ret_offer, err);
        else
            atoll_err_set(err, ATOLL_E_NOTFOUND, "no gateway says what it offers (HTTP %d): %s",
                          reply.end.http_status, reply.end.detail);
        atoll_buffer_fini(&reply.body);
    }
    if (headers.data)
        explicit_bzero(headers.data, headers.capacity);
    atoll_buffer_fini(&headers);
    return status;
}

int atoll_check_offer(const char *where, const char *token_file, double deadline_s,
                      struct atoll_offer *ret_offer, struct atoll_err *err)
{
    char url[URL_BYTES];
    struct atoll_transfer_site site;
    const struct atoll_check_settings settings = {.deadline_s = deadline_s};
    struct atoll_check_run run = {
        .settings = &settings, .sink = ignore, .subject = where, .site = &site, .url = url};
    if (strncmp(where, "spool:", 6) == 0)
        return offer_of_spool(where + 6, ret_offer, err);
    if (set_site(where, &site, url))
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "'%.120s' offers nothing", where);
    if (atoll_check_run_open(&run, err))
        return -1;
    int status = offer_of_http(&run, token_file, ret_offer, err);
    atoll_check_run_close(&run);
    atoll_secret_destroy(run.secret);
    return status;
}

int atoll_check_gateway(const char *where, const char *token_file, const char *model,
                        const struct atoll_check_settings *settings, atoll_check_sink *sink, void *context,
                        unsigned *ret_failed, struct atoll_err *err)
{
    char url[URL_BYTES];
    struct atoll_transfer_site site;
    struct atoll_check_run run = {.settings = settings, .sink = sink, .context = context, .subject = where};
    int is_spool = strncmp(where, "spool:", 6) == 0, is_replay = strncmp(where, "replay:", 7) == 0;
    if (!is_spool && !is_replay && set_site(where, &site, url))
        return atoll_err_set(
            err, ATOLL_E_USAGE,
            "'%.120s' is no gateway; write http://HOST:PORT, unix:PATH, spool:DIR or replay:FILE", where);
    if (strncmp(where, "unix:", 5) == 0 && strlen(where + 5) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "'%.120s...': a socket's path has at most %zu bytes; choose a shorter folder",
                             where, sizeof((struct sockaddr_un *)0)->sun_path - 1);
    if (atoll_check_run_open(&run, err))
        return -1;
    run.url = url;
    run.site = &site;
    if (is_replay)
        check_recording(&run, where + strlen("replay:"), model);
    else if (!is_spool)
        check_http(&run, token_file, model);
    else if (!check_folder(&run, where + 6))
        check_call(&run, where, token_file, model);
    atoll_check_run_close(&run);
    atoll_secret_destroy(run.secret);
    *ret_failed = run.failed;
    return 0;
}
