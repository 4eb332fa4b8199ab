/* batch_anthropic.c - Anthropic: POST /messages/batches with all requests, GET /messages/batches/ID until processing_status is
 * "ended", then GET results_url, which must be of the endpoint's own host: the key goes there. */
#include "llm-gateway/old/batch_state.h"

#include <stdio.h>
#include <string.h>

static void put(struct atoll_buffer *out, const char *text)
{
    atoll_buffer_put_bytes(out, text, strlen(text));
}

static void put_requests(const struct atoll_batch *batch, struct atoll_buffer *out)
{
    put(out, "{\"requests\":[");
    for (const struct atoll_batch_item *item = batch->items; item; item = item->next) {
        atoll_buffer_printf(out, "%s{\"custom_id\":\"%s\",\"params\":", item == batch->items ? "" : ",",
                            item->id);
        put(out, item->body);
        put(out, "}");
    }
    put(out, "]}");
}

static int compose(const struct atoll_batch *batch, enum atoll_batch_step step, char ret_url[ATOLL_BATCH_URL],
                   struct atoll_buffer *body, struct atoll_err *err)
{
    const char *base = batch->owner->settings.endpoint->url;
    int length;
    if (step == ATOLL_BATCH_CREATE) {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s/messages/batches", base);
        put_requests(batch, body);
    } else if (step == ATOLL_BATCH_LOOK) {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s/messages/batches/%s", base, batch->number);
    } else {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s", batch->fetches[0]);
    }
    if (length < 0 || length >= ATOLL_BATCH_URL)
        return atoll_err_set(err, ATOLL_E_LIMIT, "batch: the endpoint's url is too long");
    return atoll_buffer_check(body, err);
}

/* Scheme, host and port of an address end at the first slash behind "://". */
static int is_same_host(const char *base, const char *url)
{
    const char *host = strstr(base, "://");
    size_t length = host ? (size_t)(host + 3 - base) + strcspn(host + 3, "/?#") : 0;
    return length > 0 && strncmp(base, url, length) == 0 && url[length] == '/' &&
           strlen(url) < ATOLL_BATCH_URL && !strpbrk(url, " \r\n\t");
}

static int read_reply(struct atoll_batch *batch, enum atoll_batch_step step, const json_t *reply,
                      struct atoll_err *err)
{
    const char *number = json_string_value(json_object_get(reply, "id"));
    const char *status = json_string_value(json_object_get(reply, "processing_status"));
    const char *results = json_string_value(json_object_get(reply, "results_url"));
    if (!number || !atoll_batch_is_name(number) || !status)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "batch: the reply has no id and processing_status");
    if (step == ATOLL_BATCH_CREATE) {
        snprintf(batch->number, sizeof batch->number, "%s", number);
        return 0;
    }
    if (strcmp(status, "ended") != 0)
        return 0;
    if (!results)
        return 1;
    if (!is_same_host(batch->owner->settings.endpoint->url, results))
        return atoll_err_set(
            err, ATOLL_E_PROTOCOL,
            "batch: its results are said to be at '%.120s', which is not the endpoint's host", results);
    snprintf(batch->fetches[0], ATOLL_BATCH_URL, "%s", results);
    return 1;
}

static const json_t *read_line(const json_t *line, const char **ret_id, int *ret_http_status,
                               const char **ret_why)
{
    const json_t *result = json_object_get(line, "result");
    const char *type = json_string_value(json_object_get(result, "type"));
    *ret_id = json_string_value(json_object_get(line, "custom_id"));
    *ret_http_status = 0;
    *ret_why = type && strcmp(type, "expired") == 0 ? "the batch expired before this request"
                                                    : "the batch was cancelled before this request";
    if (type && strcmp(type, "succeeded") == 0) {
        *ret_http_status = 200;
        return json_object_get(result, "message");
    }
    if (!type || strcmp(type, "errored") != 0)
        return NULL;
    *ret_http_status = 500; /* the error object's type says more */
    return json_object_get(result, "error");
}

const struct atoll_batch_row atoll_batch_anthropic = {ATOLL_BATCH_CREATE, compose, read_reply, read_line};
