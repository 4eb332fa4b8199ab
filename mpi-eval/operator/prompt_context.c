/* prompt_context.c - encoded results one after the other, found by candidate and device model. */
#include "mpi-eval/operator/prompt_context.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

#define DEVICE_LIMIT      1024u
#define EVENT_ARENA_BYTES ((size_t)64 << 20)
#define ANY_MODEL         UINT32_MAX

struct entry {
    struct atoll_id candidate;
    uint32_t model;
    int is_shaky;          /* unstable: an engine that needs its time measures it again */
    size_t offset, length; /* of bytes */
};

struct atoll_prompt_context {
    struct entry *entries;
    uint32_t count, capacity;
    struct atoll_index index; /* by candidate; equal ones lie beside each other in probing order */
    struct atoll_buffer bytes;
    struct atoll_device_info *devices;
    size_t device_count;
    const char
        *models[ATOLL_MODEL_LIMIT]; /* borrowed from devices: names, in the order of their appearance */
    uint32_t model_count;
    int is_full; /* later results are left out of prompts */
    struct atoll_ask_history *asks;
};

struct atoll_prompt_context *atoll_prompt_context_create(size_t limit_bytes, struct atoll_err *err)
{
    struct atoll_prompt_context *c = calloc(1, sizeof(*c));
    if (c)
        c->devices = calloc(DEVICE_LIMIT, sizeof(*c->devices));
    if (!c || !c->devices) {
        free(c);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what prompts say of candidates");
        return NULL;
    }
    c->asks = atoll_ask_history_create(err);
    if (!c->asks) {
        atoll_prompt_context_destroy(c);
        return NULL;
    }
    atoll_buffer_init(&c->bytes, limit_bytes ? limit_bytes : ATOLL_PROMPT_CONTEXT_LIMIT_BYTES);
    return c;
}

void atoll_prompt_context_destroy(struct atoll_prompt_context *c)
{
    if (!c)
        return;
    atoll_index_fini(&c->index);
    atoll_buffer_fini(&c->bytes);
    free(c->entries);
    free(c->devices);
    atoll_ask_history_destroy(c->asks);
    free(c);
}

static uint32_t model_of(const struct atoll_prompt_context *c, const char *name)
{
    uint32_t i = 0;
    while (name && i < c->model_count && strcmp(c->models[i], name) != 0)
        i++;
    return name && i < c->model_count ? i : ANY_MODEL;
}

/* Devices beyond the limits are left out of prompts. */
int atoll_prompt_context_add_device(struct atoll_prompt_context *c, const struct atoll_device_info *device,
                                    struct atoll_err *err)
{
    (void)err;
    for (size_t i = 0; i < c->device_count; i++)
        if (c->devices[i].key == device->key)
            return 0;
    if (c->device_count == DEVICE_LIMIT)
        return 0;
    struct atoll_device_info *kept = &c->devices[c->device_count++];
    *kept = *device;
    if (model_of(c, kept->model) == ANY_MODEL && c->model_count < ATOLL_MODEL_LIMIT)
        c->models[c->model_count++] = kept->model;
    return 0;
}

static uint32_t model_of_device(const struct atoll_prompt_context *c, uint64_t key)
{
    for (size_t i = 0; i < c->device_count; i++)
        if (c->devices[i].key == key)
            return model_of(c, c->devices[i].model);
    return ANY_MODEL;
}

struct wanted {
    const struct atoll_prompt_context *context;
    const struct atoll_id *candidate;
    uint32_t model;
};

static int is_wanted(const void *context, uint32_t row)
{
    const struct wanted *w = context;
    const struct entry *entry = &w->context->entries[row];
    return atoll_id_equal(&entry->candidate, w->candidate) &&
           (w->model == ANY_MODEL || entry->model == w->model);
}

static int find(const struct atoll_prompt_context *c, const struct atoll_id *candidate, uint32_t model,
                uint32_t *ret_row)
{
    struct wanted wanted = {c, candidate, model};
    *ret_row = atoll_index_find(&c->index, atoll_id_u64(candidate), is_wanted, &wanted);
    return *ret_row != ATOLL_NONE;
}

/* Appends the encoded result.  The samples stay in the journal: a prompt tells their median and interval.
 * 1: it is in bytes; 0: there is no room for it, nor for any after it; -1. */
static int append_result(struct atoll_prompt_context *c, const struct atoll_evaluation *evaluation,
                         struct entry *entry, struct atoll_err *err)
{
    struct atoll_evaluation brief = *evaluation;
    for (size_t i = 0; i < brief.timing_count; i++) {
        brief.timings[i].sample_count = 0;
        brief.timings[i].samples_ns = NULL;
    }
    entry->offset = c->bytes.length;
    atoll_evaluation_encode(&brief, &c->bytes);
    entry->length = c->bytes.length - entry->offset;
    if (!c->bytes.failed)
        return 1;
    c->is_full = c->bytes.failed == ATOLL_E_LIMIT;
    int rc = c->is_full ? 0 : atoll_buffer_check(&c->bytes, err);
    c->bytes.failed = 0;
    c->bytes.length = entry->offset;
    return rc;
}

static int add_evaluation(struct atoll_prompt_context *c, const struct atoll_evaluation *evaluation,
                          struct atoll_err *err)
{
    uint32_t row;
    struct entry entry = {.candidate = evaluation->candidate,
                          .model = model_of_device(c, evaluation->device),
                          .is_shaky = evaluation->verdict == ATOLL_V_UNSTABLE};
    int is_known = find(c, &entry.candidate, entry.model, &row);
    if (c->is_full || evaluation->verdict == ATOLL_V_INFRASTRUCTURE ||
        (is_known && !c->entries[row].is_shaky)) {
        return 0;
    }
    int kept = append_result(c, evaluation, &entry, err);
    if (kept <= 0)
        return kept;
    if (is_known) {
        entry.model = c->entries[row].model;
        c->entries[row] = entry;
        return 0;
    }
    if (atoll_array_reserve(&c->entries, &c->capacity, c->count + 1, sizeof(*c->entries), err) != 0 ||
        atoll_index_add(&c->index, atoll_id_u64(&entry.candidate), c->count, err) != 0) {
        return -1;
    }
    c->entries[c->count++] = entry;
    return 0;
}

int atoll_prompt_context_add_event(struct atoll_prompt_context *c, const struct atoll_event *event,
                                   struct atoll_err *err)
{
    return event->type == ATOLL_EVENT_EVALUATED ? add_evaluation(c, &event->evaluation, err)
                                                : atoll_ask_history_add_event(c->asks, event, err);
}

int atoll_prompt_context_add_ask(struct atoll_prompt_context *c, const struct atoll_ask *ask,
                                 struct atoll_err *err)
{
    return atoll_ask_history_add(c->asks, ask, err);
}

const struct atoll_ask_history *atoll_prompt_context_asks(const struct atoll_prompt_context *c)
{
    return c->asks;
}

struct filling {
    struct atoll_prompt_context *context;
    struct atoll_arena *arena;
    atoll_prompt_context_seen *seen;
    void *seen_context;
};

static int fill_asks(struct atoll_prompt_context *c, const struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_decision decision;
    size_t cursor = 0;
    int rc;
    while ((rc = atoll_record_decision(record, &cursor, &decision, err)) == 1)
        if (decision.type == ATOLL_DECIDE_ASK && atoll_ask_history_add(c->asks, &decision.ask, err) != 0)
            return -1;
    return rc;
}

static int is_kept(unsigned event)
{
    return event == ATOLL_EVENT_EVALUATED || event == ATOLL_EVENT_BRIEFING || event == ATOLL_EVENT_TOOL ||
           event == ATOLL_EVENT_REPLY;
}

static int fill_record(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                       struct atoll_err *err)
{
    struct filling *f = context;
    struct atoll_event event;
    (void)attempt;
    if (record->type == ATOLL_RECORD_DEVICE)
        return atoll_prompt_context_add_device(f->context, &record->device, err);
    if (record->type == ATOLL_RECORD_DECISIONS)
        return fill_asks(f->context, record, err);
    if (record->type != ATOLL_RECORD_EVENT || record->length == 0 ||
        !is_kept(*(const unsigned char *)record->bytes)) {
        return 0;
    }
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    atoll_arena_reset(f->arena);
    int rc = atoll_event_decode(record->bytes, record->length, f->arena, &event, err);
    if (rc == 0)
        rc = atoll_prompt_context_add_event(f->context, &event, err);
    if (rc == 0 && f->seen)
        rc = f->seen(f->seen_context, &event, err);
    atoll_event_fini(&event);
    return rc;
}

int atoll_prompt_context_add_campaign(struct atoll_prompt_context *c, const struct atoll_campaign *campaign,
                                      atoll_prompt_context_seen *seen, void *seen_context,
                                      struct atoll_err *err)
{
    struct filling filling = {c, atoll_arena_create(EVENT_ARENA_BYTES, err), seen, seen_context};
    int rc = filling.arena ? atoll_campaign_replay(campaign, fill_record, &filling, NULL, err) : -1;
    atoll_arena_destroy(filling.arena);
    return rc;
}

int atoll_prompt_context_find(const struct atoll_prompt_context *c, const struct atoll_id *candidate,
                              const char *model, struct atoll_evaluation *ret_evaluation,
                              struct atoll_err *err)
{
    uint32_t row;
    if (!find(c, candidate, model_of(c, model), &row) && !find(c, candidate, ANY_MODEL, &row))
        return 0;
    atoll_evaluation_init(ret_evaluation);
    return atoll_evaluation_decode(c->bytes.data + c->entries[row].offset, c->entries[row].length,
                                   ret_evaluation, err) == 0
               ? 1
               : -1;
}

const struct atoll_device_info *atoll_prompt_context_device(const struct atoll_prompt_context *c,
                                                            const char *model)
{
    for (size_t i = 0; model && i < c->device_count; i++)
        if (strcmp(c->devices[i].model, model) == 0)
            return &c->devices[i];
    return c->device_count ? &c->devices[0] : NULL;
}
