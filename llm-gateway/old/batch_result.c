/* batch_result.c - lines of results to outcomes: each holds one whole reply of the provider's ordinary API. */
#include "llm-gateway/old/batch_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define VALUE_LIMIT 1000000

static void read_body(const struct atoll_batches *batches, const json_t *body, int http_status,
                      struct atoll_llm_outcome *outcome)
{
    char *text = json_dumps(body, JSON_COMPACT);
    struct atoll_reply_reader *reader =
        atoll_reply_reader_create(batches->settings.endpoint->provider, ATOLL_LLM_CHAT, NULL);
    if (text && reader) {
        atoll_reply_reader_feed(reader, text, strlen(text));
        atoll_reply_reader_finish(reader, http_status, 1, outcome);
    } else {
        atoll_llm_outcome_set(outcome, ATOLL_LLM_UNKNOWN, "no memory to read the batch's result");
        outcome->usage.is_estimated = 1;
    }
    outcome->http_status = http_status;
    atoll_reply_reader_destroy(reader);
    free(text);
}

/* -1: no line of results. */
static int take_line(struct atoll_batches *batches, const char *text, size_t length)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_outcome outcome;
    const char *id = NULL, *why = "";
    int http_status = 0;
    json_t *line = atoll_json_load(text, length, VALUE_LIMIT, JSON_ALLOW_NUL, &err);
    const json_t *body = batches->row->line(line, &id, &http_status, &why);
    struct atoll_batch_item *item = id ? atoll_batch_item(batches, id) : NULL;
    if (item && item->done) { /* what nobody waits for now may be asked for again */
        atoll_llm_outcome_init(&outcome);
        if (body)
            read_body(batches, body, http_status, &outcome);
        else
            atoll_llm_outcome_set(&outcome, ATOLL_LLM_OVERLOADED, "batch: %.300s", why);
        atoll_batch_item_end(item, &outcome);
        atoll_llm_outcome_fini(&outcome);
    }
    json_decref(line);
    return id ? 0 : -1;
}

int atoll_batch_take_results(struct atoll_batch *batch, const void *bytes, size_t length)
{
    struct atoll_buffer *kept = &batch->reply;
    const char *at = bytes, *end = at + length;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        atoll_buffer_put_bytes(kept, at, (size_t)((stop ? stop : end) - at));
        if (kept->failed)
            return -1;
        if (!stop)
            return 0;
        if (kept->length > 1 && take_line(batch->owner, (const char *)kept->data, kept->length))
            batch->is_wrong = 1;
        atoll_buffer_clear(kept);
        at = stop + 1;
    }
    return 0;
}
