/* batch_openai.c - OpenAI: a JSONL file is uploaded (POST /files, purpose batch), a batch is made of it (POST /batches), looked
 * after (GET /batches/ID), and its output and error files are fetched (GET /files/ID/content).  API reference, "Batch". */
#include "llm-gateway/old/batch_state.h"

#include <stdio.h>
#include <string.h>

static void put(struct atoll_buffer *out, const char *text)
{
    atoll_buffer_put_bytes(out, text, strlen(text));
}

static const char *path_of_model(const struct atoll_batch *batch)
{
    return atoll_provider_path(batch->owner->settings.endpoint->provider, ATOLL_LLM_CHAT);
}

static void put_file(const struct atoll_batch *batch, struct atoll_buffer *out)
{
    put(out, "--" ATOLL_BATCH_BOUNDARY "\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
             "--" ATOLL_BATCH_BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; "
             "filename=\"batch.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n");
    for (const struct atoll_batch_item *item = batch->items; item; item = item->next) {
        atoll_buffer_printf(out,
                            "{\"custom_id\":\"%s\",\"method\":\"POST\",\"url\":\"/v1%s\",\"body\":", item->id,
                            path_of_model(batch));
        put(out, item->body);
        put(out, "}\n");
    }
    put(out, "\r\n--" ATOLL_BATCH_BOUNDARY "--\r\n");
}

static int compose(const struct atoll_batch *batch, enum atoll_batch_step step, char ret_url[ATOLL_BATCH_URL],
                   struct atoll_buffer *body, struct atoll_err *err)
{
    const char *base = batch->owner->settings.endpoint->url;
    int length = -1;
    if (step == ATOLL_BATCH_UPLOAD) {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s/files", base);
        put_file(batch, body);
    } else if (step == ATOLL_BATCH_CREATE) {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s/batches", base);
        atoll_buffer_printf(body,
                            "{\"input_file_id\":\"%s\",\"endpoint\":\"/v1%s\",\"completion_window\":\"24h\"}",
                            batch->file, path_of_model(batch));
    } else if (step == ATOLL_BATCH_LOOK) {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s/batches/%s", base, batch->number);
    } else {
        length = snprintf(ret_url, ATOLL_BATCH_URL, "%s", batch->fetches[batch->fetch]);
    }
    if (length < 0 || length >= ATOLL_BATCH_URL)
        return atoll_err_set(err, ATOLL_E_LIMIT, "batch: the endpoint's url is too long");
    return atoll_buffer_check(body, err);
}

static int take_name(const json_t *reply, const char *member, char ret_name[ATOLL_BATCH_NAME],
                     struct atoll_err *err)
{
    const char *name = json_string_value(json_object_get(reply, member));
    if (!name || !atoll_batch_is_name(name))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "batch: the reply has no %s that can be one", member);
    snprintf(ret_name, ATOLL_BATCH_NAME, "%s", name);
    return 0;
}

/* 0 where there is no such file, too. */
static int take_fetch(struct atoll_batch *batch, const json_t *reply, const char *member,
                      struct atoll_err *err)
{
    char name[ATOLL_BATCH_NAME];
    unsigned at = batch->fetches[0][0] ? 1 : 0;
    if (!json_is_string(json_object_get(reply, member)))
        return 0;
    if (take_name(reply, member, name, err))
        return -1;
    int length = snprintf(batch->fetches[at], ATOLL_BATCH_URL, "%s/files/%s/content",
                          batch->owner->settings.endpoint->url, name);
    return length < ATOLL_BATCH_URL
               ? 0
               : atoll_err_set(err, ATOLL_E_LIMIT, "batch: the endpoint's url is too long");
}

static int read_look(struct atoll_batch *batch, const json_t *reply, struct atoll_err *err)
{
    static const char *const ended[] = {"completed", "failed", "expired", "cancelled"};
    const char *status = json_string_value(json_object_get(reply, "status"));
    if (!status)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "batch: the reply has no status");
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
        if (strcmp(status, ended[i]) == 0)
            return take_fetch(batch, reply, "output_file_id", err) ||
                           take_fetch(batch, reply, "error_file_id", err)
                       ? -1
                       : 1;
    }
    return 0;
}

static int read_reply(struct atoll_batch *batch, enum atoll_batch_step step, const json_t *reply,
                      struct atoll_err *err)
{
    if (step == ATOLL_BATCH_LOOK)
        return read_look(batch, reply, err);
    return take_name(reply, "id", step == ATOLL_BATCH_UPLOAD ? batch->file : batch->number, err);
}

static const json_t *read_line(const json_t *line, const char **ret_id, int *ret_http_status,
                               const char **ret_why)
{
    const json_t *response = json_object_get(line, "response");
    const char *message = json_string_value(json_object_get(json_object_get(line, "error"), "message"));
    *ret_id = json_string_value(json_object_get(line, "custom_id"));
    *ret_http_status = (int)json_integer_value(json_object_get(response, "status_code"));
    *ret_why = message ? message : "the batch ended before this request";
    return json_object_get(response, "body");
}

const struct atoll_batch_row atoll_batch_openai = {ATOLL_BATCH_UPLOAD, compose, read_reply, read_line};
