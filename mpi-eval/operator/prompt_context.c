/* prompt_context.c - encoded results one after the other, found by candidate and device model. */
#include "mpi-eval/operator/prompt_context.h"

#include <stdlib.h>
#include <string.h>

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
    size_t count, capacity;
    struct atoll_index index; /* by candidate; equal ones lie beside each other in probing order */
    struct atoll_buffer bytes;
    struct atoll_device_info *devices;
    size_t device_count;
    const char
        *models[ATOLL_MODEL_LIMIT]; /* borrowed from devices: names, in the order of their appearance */
    uint32_t model_count;
    int is_full; /* later results are not told: prompts say less */
};

struct atoll_prompt_context *atoll_prompt_context_create(struct atoll_err *err)
{
    struct atoll_prompt_context *d = calloc(1, sizeof *d);
    if (d)
        d->devices = calloc(DEVICE_LIMIT, sizeof *d->devices);
    if (!d || !d->devices) {
        free(d);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what prompts tell of candidates");
        return NULL;
    }
    atoll_buffer_init(&d->bytes, ATOLL_PROMPT_CONTEXT_LIMIT_BYTES);
    return d;
}

void atoll_prompt_context_destroy(struct atoll_prompt_context *d)
{
    if (!d)
        return;
    atoll_index_fini(&d->index);
    atoll_buffer_fini(&d->bytes);
    free(d->entries);
    free(d->devices);
    free(d);
}

void atoll_prompt_context_limit(struct atoll_prompt_context *d, size_t limit_bytes)
{
    d->bytes.limit_bytes = limit_bytes;
}

static uint32_t model_of(const struct atoll_prompt_context *d, const char *name)
{
    uint32_t i = 0;
    while (name && i < d->model_count && strcmp(d->models[i], name) != 0)
        i++;
    return name && i < d->model_count ? i : ANY_MODEL;
}

/* Devices beyond the limits are like none: prompts say less. */
int atoll_prompt_context_add_device(struct atoll_prompt_context *d, const struct atoll_device_info *device,
                                    struct atoll_err *err)
{
    (void)err;
    for (size_t i = 0; i < d->device_count; i++) {
        if (d->devices[i].key == device->key)
            return 0;
    }
    if (d->device_count == DEVICE_LIMIT)
        return 0;
    struct atoll_device_info *kept = &d->devices[d->device_count++];
    *kept = *device;
    if (model_of(d, kept->model) == ANY_MODEL && d->model_count < ATOLL_MODEL_LIMIT)
        d->models[d->model_count++] = kept->model;
    return 0;
}

static uint32_t model_of_device(const struct atoll_prompt_context *d, uint64_t key)
{
    for (size_t i = 0; i < d->device_count; i++) {
        if (d->devices[i].key == key)
            return model_of(d, d->devices[i].model);
    }
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

static int find(const struct atoll_prompt_context *d, const struct atoll_id *candidate, uint32_t model,
                uint32_t *ret_row)
{
    struct wanted wanted = {d, candidate, model};
    *ret_row = atoll_index_find(&d->index, atoll_id_u64(candidate), is_wanted, &wanted);
    return *ret_row != ATOLL_NONE;
}

static int grow(struct atoll_prompt_context *d, struct atoll_err *err)
{
    if (d->count < d->capacity)
        return 0;
    size_t capacity = d->capacity ? 2 * d->capacity : 256;
    struct entry *grown = realloc(d->entries, capacity * sizeof *grown);
    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu results in prompts", capacity);
    d->entries = grown;
    d->capacity = capacity;
    return 0;
}

/* The samples stay in the journal: a prompt tells their median and interval. */
static void put_without_samples(const struct atoll_evaluation *evaluation, struct atoll_buffer *out)
{
    struct atoll_evaluation brief = *evaluation;
    for (size_t i = 0; i < brief.timing_count; i++) {
        brief.timings[i].sample_count = 0;
        brief.timings[i].samples_ns = NULL;
    }
    atoll_evaluation_encode(&brief, out);
}

/* 1: it is in bytes; 0: there is no room for it, nor for any after it; -1. */
static int keep(struct atoll_prompt_context *d, const struct atoll_evaluation *evaluation,
                struct entry *entry, struct atoll_err *err)
{
    entry->offset = d->bytes.length;
    put_without_samples(evaluation, &d->bytes);
    entry->length = d->bytes.length - entry->offset;
    if (!d->bytes.failed)
        return 1;
    d->is_full = d->bytes.failed == ATOLL_E_LIMIT;
    int rc = d->is_full ? 0 : atoll_buffer_check(&d->bytes, err);
    d->bytes.failed = 0;
    d->bytes.length = entry->offset;
    return rc;
}

static int add_entry(struct atoll_prompt_context *d, const struct entry *entry, struct atoll_err *err)
{
    if (grow(d, err) != 0)
        return -1;
    d->entries[d->count] = *entry;
    if (atoll_index_add(&d->index, atoll_id_u64(&entry->candidate), (uint32_t)(d->count), err) != 0)
        return -1;
    d->count++;
    return 0;
}

static int add_evaluation(struct atoll_prompt_context *d, const struct atoll_evaluation *evaluation,
                          struct atoll_err *err)
{
    uint32_t row;
    struct entry entry = {.candidate = evaluation->candidate,
                          .model = model_of_device(d, evaluation->device),
                          .is_shaky = evaluation->verdict == ATOLL_V_UNSTABLE};
    int is_known = find(d, &entry.candidate, entry.model, &row);
    if (d->is_full || evaluation->verdict == ATOLL_V_INFRASTRUCTURE ||
        (is_known && !d->entries[row].is_shaky))
        return 0;
    int kept = keep(d, evaluation, &entry, err);
    if (kept <= 0)
        return kept;
    if (!is_known)
        return add_entry(d, &entry, err);
    entry.model = d->entries[row].model;
    d->entries[row] = entry;
    return 0;
}

int atoll_prompt_context_add_event(struct atoll_prompt_context *d, const struct atoll_event *event,
                                   struct atoll_err *err)
{
    return event->type == ATOLL_EVENT_EVALUATED ? add_evaluation(d, &event->evaluation, err) : 0;
}

struct filling {
    struct atoll_prompt_context *context;
    struct atoll_arena *arena;
};

static int fill_record(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                       struct atoll_err *err)
{
    struct filling *f = context;
    struct atoll_event event;
    (void)attempt;
    if (record->type == ATOLL_RECORD_DEVICE)
        return atoll_prompt_context_add_device(f->context, &record->device, err);
    if (record->type != ATOLL_RECORD_EVENT || record->length == 0 ||
        *(const unsigned char *)record->bytes != ATOLL_EVENT_EVALUATED)
        return 0;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    atoll_arena_reset(f->arena);
    int rc = atoll_event_decode(record->bytes, record->length, f->arena, &event, err);
    if (rc == 0)
        rc = atoll_prompt_context_add_event(f->context, &event, err);
    atoll_event_fini(&event);
    return rc;
}

int atoll_prompt_context_add_campaign(struct atoll_prompt_context *d, const struct atoll_campaign *campaign,
                                      struct atoll_err *err)
{
    struct filling filling = {d, atoll_arena_create(EVENT_ARENA_BYTES, err)};
    int rc = filling.arena ? atoll_campaign_replay(campaign, fill_record, &filling, NULL, err) : -1;
    atoll_arena_destroy(filling.arena);
    return rc;
}

int atoll_prompt_context_find(const struct atoll_prompt_context *d, const struct atoll_id *candidate,
                              const char *model, struct atoll_evaluation *ret_evaluation,
                              struct atoll_err *err)
{
    uint32_t row;
    if (!find(d, candidate, model_of(d, model), &row) && !find(d, candidate, ANY_MODEL, &row))
        return 0;
    atoll_evaluation_init(ret_evaluation);
    return atoll_evaluation_decode(d->bytes.data + d->entries[row].offset, d->entries[row].length,
                                   ret_evaluation, err) == 0
               ? 1
               : -1;
}

const struct atoll_device_info *atoll_prompt_context_device(const struct atoll_prompt_context *d,
                                                            const char *model)
{
    for (size_t i = 0; model && i < d->device_count; i++) {
        if (strcmp(d->devices[i].model, model) == 0)
            return &d->devices[i];
    }
    return d->device_count ? &d->devices[0] : NULL;
}
