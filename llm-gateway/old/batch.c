/* batch.c - batches and their items: who collects, who waits, who is left from an earlier life.
 * A batch of an earlier life is looked after only while somebody waits for one of its items; its file goes when all of its
 * items were answered, or when the provider has forgotten it. */
#include "llm-gateway/old/batch_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECT_S     5.0
#define POLL_S        60.0
#define REQUEST_LIMIT 10000u
#define BODIES_BYTES  ((size_t)32 << 20) /* of the requests of a batch */
#define BODY_BYTES    ((size_t)64 << 20)
#define REPLY_BYTES   ((size_t)80 << 20) /* of a line of results */

/* ---- items ---- */

static struct atoll_batch_item **row_of(struct atoll_batches *batches, const char *id)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *c = id; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return &batches->rows[(hash ^ hash >> 32) % ATOLL_BATCH_ROWS];
}

struct atoll_batch_item *atoll_batch_item(struct atoll_batches *batches, const char *id)
{
    struct atoll_batch_item *item = *row_of(batches, id);
    while (item && strcmp(item->id, id) != 0)
        item = item->next_in_row;
    return item;
}

struct atoll_batch_item *atoll_batch_add_item(struct atoll_batch *batch, const char *id,
                                              struct atoll_err *err)
{
    struct atoll_batch_item *item = calloc(1, sizeof *item);
    if (!item) {
        atoll_err_set(err, ATOLL_E_MEMORY, "batch: no memory for a request");
        return NULL;
    }
    struct atoll_batch_item **row = row_of(batch->owner, id);
    snprintf(item->id, sizeof item->id, "%s", id);
    item->batch = batch;
    item->next = batch->items;
    batch->items = item;
    batch->item_count++;
    item->next_in_row = *row;
    *row = item;
    return item;
}

static void item_destroy(struct atoll_batch_item *item)
{
    struct atoll_batch *batch = item->batch;
    struct atoll_batch_item **link = row_of(batch->owner, item->id);
    while (*link != item)
        link = &(*link)->next_in_row;
    *link = item->next_in_row;
    for (link = &batch->items; *link != item;)
        link = &(*link)->next;
    *link = item->next;
    batch->item_count--;
    batch->waiting_count -= item->done != NULL;
    free(item->body);
    free(item);
}

void atoll_batch_item_end(struct atoll_batch_item *item, const struct atoll_llm_outcome *outcome)
{
    void (*done)(void *, const struct atoll_llm_outcome *) = item->done;
    void *context = item->context;
    item_destroy(item);
    if (done)
        done(context, outcome);
}

/* ---- batches ---- */

struct atoll_batch *atoll_batch_create(struct atoll_batches *batches, struct atoll_err *err)
{
    struct atoll_batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        atoll_err_set(err, ATOLL_E_MEMORY, "batch: no memory");
        return NULL;
    }
    batch->owner = batches;
    atoll_buffer_init(&batch->reply, REPLY_BYTES);
    batch->next = batches->batches;
    batches->batches = batch;
    return batch;
}

void atoll_batch_destroy(struct atoll_batch *batch)
{
    struct atoll_batches *owner = batch->owner;
    struct atoll_batch **link = &owner->batches;
    while (*link != batch)
        link = &(*link)->next;
    *link = batch->next;
    if (owner->collecting == batch)
        owner->collecting = NULL;
    while (batch->items)
        item_destroy(batch->items);
    atoll_loop_cancel(owner->loop, batch->timer);
    if (batch->errand)
        batch->errand->batch = NULL; /* the transfer's end frees it */
    atoll_transfers_cancel(owner->transfers, batch->transfer);
    atoll_buffer_fini(&batch->reply);
    free(batch);
}

struct atoll_batches *atoll_batches_create(struct atoll_loop *loop, struct atoll_transfers *transfers,
                                           const struct atoll_batch_settings *settings, struct atoll_err *err)
{
    struct atoll_batches *batches = calloc(1, sizeof *batches);
    if (!batches) {
        atoll_err_set(err, ATOLL_E_MEMORY, "batch: no memory");
        return NULL;
    }
    batches->loop = loop;
    batches->transfers = transfers;
    batches->settings = *settings;
    if (!(settings->collect_s > 0))
        batches->settings.collect_s = COLLECT_S;
    if (!(settings->poll_s > 0))
        batches->settings.poll_s = POLL_S;
    if (!settings->request_limit)
        batches->settings.request_limit = REQUEST_LIMIT;
    batches->row = settings->endpoint->provider == ATOLL_PROVIDER_ANTHROPIC ? &atoll_batch_anthropic
                                                                            : &atoll_batch_openai;
    if (atoll_batches_load(batches, err)) {
        atoll_batches_destroy(batches);
        return NULL;
    }
    return batches;
}

void atoll_batches_destroy(struct atoll_batches *batches)
{
    if (!batches)
        return;
    struct atoll_batch *next;
    for (struct atoll_batch *batch = batches->batches; batch; batch = next) {
        next = batch->next;
        atoll_batch_destroy(batch);
    }
    free(batches);
}

/* ---- coming and going ---- */

/* Batches know no streams. */
static char *body_of(const struct atoll_batches *batches, const struct atoll_llm_request *request,
                     const struct atoll_provider_model *model, struct atoll_err *err)
{
    struct atoll_buffer text;
    char *body = NULL;
    atoll_buffer_init(&text, BODY_BYTES);
    if (atoll_provider_body(batches->settings.endpoint->provider, request, model, &text, err) == 0) {
        json_t *json = json_loadb((const char *)text.data, text.length, 0, NULL);
        json_object_del(json, "stream");
        json_object_del(json, "stream_options");
        body = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        if (!body)
            atoll_err_set(err, ATOLL_E_MEMORY, "batch: no memory for a request");
    }
    atoll_buffer_fini(&text);
    return body;
}

void atoll_batch_hand_in(struct atoll_batch *batch)
{
    batch->owner->collecting = NULL;
    batch->step = batch->owner->row->first;
    atoll_batch_step_after(batch, 0);
}

static struct atoll_batch *collecting(struct atoll_batches *batches, struct atoll_err *err)
{
    if (!batches->collecting) {
        batches->collecting = atoll_batch_create(batches, err);
        if (batches->collecting)
            atoll_batch_step_after(batches->collecting, batches->settings.collect_s);
    }
    return batches->collecting;
}

static struct atoll_batch_item *add_new(struct atoll_batches *batches, const char *id,
                                        const struct atoll_llm_request *request,
                                        const struct atoll_provider_model *model, struct atoll_err *err)
{
    char *body = body_of(batches, request, model, err);
    struct atoll_batch *batch = body ? collecting(batches, err) : NULL;
    struct atoll_batch_item *item = batch ? atoll_batch_add_item(batch, id, err) : NULL;
    if (!item) {
        free(body);
        return NULL;
    }
    item->body = body;
    batch->body_bytes += strlen(body);
    if (batch->item_count >= batches->settings.request_limit || batch->body_bytes >= BODIES_BYTES)
        atoll_batch_hand_in(batch);
    return item;
}

int atoll_batches_add(struct atoll_batches *batches, const char *id, const struct atoll_llm_request *request,
                      const struct atoll_provider_model *model,
                      void (*done)(void *context, const struct atoll_llm_outcome *outcome), void *context,
                      struct atoll_err *err)
{
    struct atoll_batch_item *item = atoll_batch_item(batches, id);
    if (!atoll_batch_is_name(id) || strlen(id) >= ATOLL_BATCH_ID_BYTES)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "batch: '%.80s' is no id for a batch", id);
    if (item && item->done)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "batch: somebody waits for '%s' already", id);
    if (!item)
        item = add_new(batches, id, request, model, err);
    if (!item)
        return -1;
    item->done = done;
    item->context = context;
    item->batch->waiting_count++;
    if (item->batch->step == ATOLL_BATCH_ENDED || (item->batch->step == ATOLL_BATCH_LOOK && !item->body)) {
        item->batch->step = ATOLL_BATCH_LOOK;
        atoll_batch_step_after(item->batch, 0);
    }
    return 0;
}

void atoll_batches_forget(struct atoll_batches *batches, const char *id)
{
    struct atoll_batch_item *item = atoll_batch_item(batches, id);
    if (!item || !item->done)
        return;
    item->done = NULL;
    item->batch->waiting_count--;
    if (item->batch->step == ATOLL_BATCH_COLLECT) /* never handed in */
        item_destroy(item);
}
