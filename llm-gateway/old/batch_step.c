/* batch_step.c - the steps of a batch, each one HTTP exchange.
 * What was said with success is never said again: a batch that was perhaps made (a timeout after the request was sent) is given
 * up, and its requests end as if billed, and so do those of a batch that was made and whose results cannot be had.  Looking
 * and fetching are repeated as long as somebody waits. */
#include "llm-gateway/old/batch_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/log.h"

#define TRY_LIMIT     5u
#define STEP_S        600.0
#define JSON_BYTES    ((size_t)4 << 20)
#define RESULT_BYTES  ((size_t)1 << 30)
#define REQUEST_BYTES ((size_t)128 << 20)
#define HEADER_BYTES  8192
#define HEADER_LIMIT  16

static void rang(void *context)
{
    struct atoll_batch *batch = context;
    batch->timer = 0;
    atoll_batch_step(batch);
}

void atoll_batch_step_after(struct atoll_batch *batch, double wait_s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_loop *loop = batch->owner->loop;
    if (batch->transfer)
        return;
    atoll_loop_cancel(loop, batch->timer);
    batch->timer = 0;
    if (atoll_loop_at(loop, atoll_loop_now_ns(loop) + wait_s * 1e9, rang, batch, &batch->timer, &err))
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.timer", &err);
}

/* ---- the end of a batch ---- */

/* Everybody who waits gets the same outcome. */
static void end_waiting(struct atoll_batch *batch, const struct atoll_llm_outcome *outcome)
{
    struct atoll_batch_item *item = batch->items;
    while (batch->waiting_count > 0 && item) {
        struct atoll_batch_item *next = item->next;
        if (item->done)
            atoll_batch_item_end(item, outcome);
        item = next;
    }
}

static void give_up(struct atoll_batch *batch, enum atoll_llm_status status, int may_be_billed,
                    const char *why)
{
    struct atoll_llm_outcome outcome;
    atoll_llm_outcome_init(&outcome);
    atoll_llm_outcome_set(&outcome, status, "batch: %s", why);
    outcome.usage.is_estimated = may_be_billed;
    outcome.http_status =
        may_be_billed ? 0 : batch->http_status; /* of another exchange than the one that is billed */
    end_waiting(batch, &outcome);
    atoll_llm_outcome_fini(&outcome);
    if (batch->step <= ATOLL_BATCH_CREATE) {
        atoll_batch_destroy(batch); /* nothing came of it */
    } else {
        batch->step = ATOLL_BATCH_ENDED;
    }
}

static void finish(struct atoll_batch *batch)
{
    if (batch->reply.length) /* a last line without its end */
        atoll_batch_take_results(batch, "\n", 1);
    if (batch->fetch == 0 && batch->fetches[1][0]) {
        batch->fetch = 1;
        atoll_batch_step_after(batch, 0);
        return;
    }
    batch->step = ATOLL_BATCH_ENDED;
    batch->http_status = 0;
    if (batch->waiting_count)
        give_up(batch, ATOLL_LLM_OVERLOADED, batch->is_wrong, "it ended without a result for this request");
    if (batch->item_count == 0) {
        atoll_batch_remove(batch);
        atoll_batch_destroy(batch);
    }
}

/* ---- replies ---- */

static void take_reply(struct atoll_batch *batch)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *reply = json_loadb((const char *)batch->reply.data, batch->reply.length, 0, NULL);
    int result = batch->owner->row->read(batch, batch->step, reply, &err);
    json_decref(reply);
    batch->tries = 0;
    if (result == 0 && batch->step == ATOLL_BATCH_CREATE)
        result = atoll_batch_save(batch, &err) ? -2 : 0;
    if (result == -2) { /* it goes on; a restart would not find it */
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.batch.file", &err);
        result = 0;
    }
    if (result < 0) {
        give_up(batch, ATOLL_LLM_PROTOCOL, batch->step >= ATOLL_BATCH_CREATE, err.text);
    } else if (batch->step == ATOLL_BATCH_LOOK && result == 0) {
        atoll_batch_step_after(batch, batch->owner->settings.poll_s);
    } else if (batch->step == ATOLL_BATCH_LOOK) {
        batch->step = ATOLL_BATCH_FETCH;
        if (batch->fetches[0][0])
            atoll_batch_step_after(batch, 0);
        else
            finish(batch);
    } else {
        int is_made = batch->step == ATOLL_BATCH_CREATE;
        batch->step = is_made ? ATOLL_BATCH_LOOK : ATOLL_BATCH_CREATE;
        atoll_batch_step_after(batch, is_made ? batch->owner->settings.poll_s : 0);
    }
}

static void fail(struct atoll_batch *batch, const struct atoll_transfer_end *end)
{
    char why[400];
    int status = end->http_status;
    int is_cut = status >= 200 && status < 300; /* success, of which not all arrived */
    int is_passing =
        is_cut || status == 0 || status == 408 || status == 409 || status == 429 || status >= 500;
    int is_doubtful = batch->step == ATOLL_BATCH_CREATE && (is_cut || (status == 0 && end->is_sent));
    double wait_s = fmin(batch->owner->settings.poll_s, ldexp(1.0, (int)batch->tries));
    if (is_passing && !is_doubtful && (batch->step > ATOLL_BATCH_CREATE || ++batch->tries < TRY_LIMIT)) {
        atoll_batch_step_after(batch,
                               batch->step > ATOLL_BATCH_CREATE ? batch->owner->settings.poll_s : wait_s);
        return;
    }
    snprintf(why, sizeof why, "HTTP %d: %.*s %s", status,
             (int)(batch->reply.length < 160 ? batch->reply.length : 160),
             batch->reply.data ? (const char *)batch->reply.data : "", end->detail);
    int is_forgotten = batch->step > ATOLL_BATCH_CREATE && (status == 404 || status == 410);
    give_up(batch, status == 401 || status == 403 ? ATOLL_LLM_DENIED : ATOLL_LLM_OVERLOADED,
            is_doubtful || batch->step > ATOLL_BATCH_CREATE, why);
    if (is_forgotten) {
        atoll_batch_remove(batch);
        atoll_batch_destroy(batch);
    }
}

static int on_data(void *context, int http_status, const void *bytes, size_t length)
{
    const struct atoll_batch_errand *errand = context;
    struct atoll_batch *batch = errand->batch;
    if (!batch)
        return 1;
    if (batch->step == ATOLL_BATCH_FETCH && http_status == 200)
        return atoll_batch_take_results(batch, bytes, length);
    if (batch->reply.length < JSON_BYTES)
        atoll_buffer_put_bytes(&batch->reply, bytes, length);
    return batch->reply.failed;
}

static void on_done(void *context, const struct atoll_transfer_end *end)
{
    struct atoll_batch_errand *errand = context;
    struct atoll_batch *batch = errand->batch;
    free(errand);
    if (!batch)
        return;
    batch->transfer = 0;
    batch->errand = NULL;
    batch->http_status = end->http_status;
    if (end->status != ATOLL_LLM_OK || end->http_status != 200)
        fail(batch, end);
    else if (batch->step == ATOLL_BATCH_FETCH)
        finish(batch);
    else
        take_reply(batch);
}

/* ---- requests ---- */

static size_t collect_headers(const struct atoll_buffer *lines, const char *type,
                              const char *ret_headers[HEADER_LIMIT])
{
    size_t count = 0;
    if (type)
        ret_headers[count++] = type;
    for (size_t at = 0; at < lines->length && count < HEADER_LIMIT;
         at += strlen((const char *)lines->data + at) + 1)
        ret_headers[count++] = (const char *)lines->data + at;
    return count;
}

static const char *type_of(enum atoll_batch_step step)
{
    return step == ATOLL_BATCH_UPLOAD   ? "Content-Type: multipart/form-data; boundary=" ATOLL_BATCH_BOUNDARY
           : step == ATOLL_BATCH_CREATE ? "Content-Type: application/json"
                                        : NULL;
}

static int start(struct atoll_batch *batch, const char *url, const struct atoll_buffer *body,
                 const struct atoll_buffer *lines, struct atoll_err *err)
{
    const struct atoll_batches *owner = batch->owner;
    const char *headers[HEADER_LIMIT];
    struct atoll_batch_errand *errand = calloc(1, sizeof *errand);
    if (!errand)
        return atoll_err_set(err, ATOLL_E_MEMORY, "batch: no memory");
    errand->batch = batch;
    const struct atoll_transfer transfer = {
        .method = batch->step <= ATOLL_BATCH_CREATE ? "POST" : "GET",
        .url = url,
        .headers = headers,
        .header_count = collect_headers(lines, type_of(batch->step), headers),
        .body = body->data,
        .body_length = body->length,
        .site = &owner->settings.endpoint->site,
        .deadline_ns = atoll_loop_now_ns(owner->loop) + STEP_S * 1e9,
        .body_limit_bytes = batch->step == ATOLL_BATCH_FETCH ? RESULT_BYTES : JSON_BYTES,
        .on_data = on_data,
        .on_done = on_done,
        .context = errand};
    if (atoll_transfers_start(owner->transfers, &transfer, &batch->transfer, err)) {
        free(errand);
        return -1;
    }
    batch->errand = errand;
    return 0;
}

/* The headers' room is there before the key is: it never moves, and is wiped. */
static int send(struct atoll_batch *batch, struct atoll_err *err)
{
    static const char room[HEADER_BYTES];
    const struct atoll_batches *owner = batch->owner;
    struct atoll_buffer body, lines;
    char url[ATOLL_BATCH_URL];
    int result = -1;
    atoll_buffer_init(&body, REQUEST_BYTES);
    atoll_buffer_init(&lines, HEADER_BYTES);
    atoll_buffer_put_bytes(&lines, room, sizeof room);
    if (atoll_buffer_check(&lines, err) == 0) {
        atoll_buffer_clear(&lines);
        if (owner->row->compose(batch, batch->step, url, &body, err) == 0 &&
            atoll_provider_headers(owner->settings.endpoint->provider, owner->settings.key, &lines, err) == 0)
            result = start(batch, url, &body, &lines, err);
        sodium_memzero(lines.data, lines.capacity);
    }
    atoll_buffer_fini(&lines);
    atoll_buffer_fini(&body);
    return result;
}

void atoll_batch_step(struct atoll_batch *batch)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (batch->step == ATOLL_BATCH_COLLECT) {
        atoll_batch_hand_in(batch);
        return;
    }
    if (batch->transfer || batch->step == ATOLL_BATCH_ENDED)
        return;
    if (batch->waiting_count == 0) { /* whoever asks again goes on here */
        if (batch->step <= ATOLL_BATCH_CREATE)
            atoll_batch_destroy(batch);
        else
            batch->step = ATOLL_BATCH_ENDED;
        return;
    }
    if (batch->step == ATOLL_BATCH_LOOK) {
        batch->fetch = 0;
        batch->fetches[0][0] = batch->fetches[1][0] = '\0';
    }
    atoll_buffer_clear(&batch->reply);
    if (send(batch, &err) == 0)
        return;
    if (batch->step > ATOLL_BATCH_CREATE)
        atoll_batch_step_after(batch, batch->owner->settings.poll_s);
    else
        give_up(batch, ATOLL_LLM_NETWORK, 0, err.text);
}
