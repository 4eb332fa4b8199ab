/* record.c - payloads of journal records.  Every payload starts with u64 durable_bytes, see journal_reader.c
 * for its use. */
#include "archive-h5/journal/record.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

static const char *const type_names[] = {"header", "event", "decisions", "snapshot", "device", "close"};

const char *atoll_record_type_name(enum atoll_record_type type)
{
    size_t index = (size_t)type - ATOLL_RECORD_HEADER;
    return index < sizeof(type_names) / sizeof(*type_names) ? type_names[index] : "unknown";
}

/* A blob whose length is known only after its content was put: the u32 is patched. */
static size_t blob_begin(struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, 0);
    return out->length;
}

static void blob_end(struct atoll_buffer *out, size_t begin)
{
    if (out->failed)
        return;
    size_t length = out->length - begin;
    for (unsigned i = 0; i < 4; i++)
        out->data[begin - 4 + i] = (unsigned char)(length >> (8 * i));
}

void atoll_record_put_header(struct atoll_buffer *out, const struct atoll_journal_header *h)
{
    atoll_buffer_put_u64(out, 0);
    atoll_buffer_put_u32(out, h->schema);
    atoll_buffer_put_u32(out, h->engine_version);
    atoll_buffer_put_text(out, h->atoll_version);
    atoll_buffer_put_bytes(out, h->campaign.bytes, ATOLL_ID_BYTES);
    atoll_buffer_put_u32(out, h->attempt);
    atoll_buffer_put_text(out, h->name);
    atoll_buffer_put_text(out, h->previous);
    atoll_buffer_put_u64(out, h->sealed_offset);
    atoll_buffer_put_bytes(out, h->sealed_digest.bytes, ATOLL_ID_BYTES);
    atoll_buffer_put_u64(out, h->first_event);
    atoll_buffer_put_i64(out, h->created_unix_ns);
}

void atoll_record_put_event(struct atoll_buffer *out, uint64_t durable_bytes, uint64_t number,
                            const struct atoll_event *e)
{
    atoll_buffer_put_u64(out, durable_bytes);
    atoll_buffer_put_u64(out, number);
    size_t begin = blob_begin(out);
    atoll_event_encode(e, out);
    blob_end(out, begin);
}

void atoll_record_put_decisions(struct atoll_buffer *out, uint64_t durable_bytes, uint64_t event,
                                const struct atoll_decision *decisions, size_t count)
{
    atoll_buffer_put_u64(out, durable_bytes);
    atoll_buffer_put_u64(out, event);
    atoll_buffer_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        size_t begin = blob_begin(out);
        atoll_decision_encode(&decisions[i], out);
        blob_end(out, begin);
    }
}

void atoll_record_put_snapshot(struct atoll_buffer *out, uint64_t durable_bytes, uint64_t event,
                               const void *bytes, size_t length)
{
    atoll_buffer_put_u64(out, durable_bytes);
    atoll_buffer_put_u64(out, event);
    atoll_buffer_put_blob(out, bytes, length);
}

void atoll_record_put_device(struct atoll_buffer *out, uint64_t durable_bytes, int64_t unix_ns,
                             const struct atoll_device_info *device)
{
    atoll_buffer_put_u64(out, durable_bytes);
    atoll_buffer_put_i64(out, unix_ns);
    size_t begin = blob_begin(out);
    atoll_device_info_encode(device, out);
    blob_end(out, begin);
}

void atoll_record_put_close(struct atoll_buffer *out, uint64_t durable_bytes, int64_t unix_ns,
                            const char *reason)
{
    char cut[sizeof((struct atoll_record *)0)->reason];
    snprintf(cut, sizeof(cut), "%s", reason ? reason : "");
    atoll_buffer_put_u64(out, durable_bytes);
    atoll_buffer_put_i64(out, unix_ns);
    atoll_buffer_put_text(out, cut);
}

/* Text into a fixed field: too long or with a NUL inside fails the reader. */
static void take_text(struct atoll_reader *r, char *ret_text, size_t bytes)
{
    size_t length;
    const void *text = atoll_reader_blob(r, &length);
    if (r->failed || length >= bytes || (length && memchr(text, 0, length))) {
        r->failed = 1;
        return;
    }
    if (length)
        memcpy(ret_text, text, length);
    ret_text[length] = '\0';
}

static int take_header(struct atoll_reader *r, struct atoll_record *record, struct atoll_err *err)
{
    struct atoll_journal_header *h = &record->header;
    h->schema = atoll_reader_u32(r);
    if (!r->failed && h->schema > ATOLL_JOURNAL_SCHEMA) {
        return atoll_err_set(err, ATOLL_E_SCHEMA,
                             "journal schema %u, this Atoll (" ATOLL_VERSION
                             ") knows up to %u; use the newer Atoll that wrote it",
                             h->schema, ATOLL_JOURNAL_SCHEMA);
    }
    h->engine_version = atoll_reader_u32(r);
    take_text(r, h->atoll_version, sizeof(h->atoll_version));
    atoll_reader_bytes(r, h->campaign.bytes, ATOLL_ID_BYTES);
    h->attempt = atoll_reader_u32(r);
    take_text(r, h->name, sizeof(h->name));
    take_text(r, h->previous, sizeof(h->previous));
    h->sealed_offset = atoll_reader_u64(r);
    atoll_reader_bytes(r, h->sealed_digest.bytes, ATOLL_ID_BYTES);
    h->first_event = atoll_reader_u64(r);
    h->created_unix_ns = atoll_reader_i64(r);
    if (h->schema == 0 || strchr(h->name, '/') || strchr(h->previous, '/'))
        r->failed = 1;
    return 0;
}

static int take_event(struct atoll_reader *r, struct atoll_record *record, struct atoll_err *err)
{
    record->event = atoll_reader_u64(r);
    record->bytes = atoll_reader_blob(r, &record->length);
    return 0;
}

/* Checks that the announced blobs are there; their content is decoded by atoll_record_decision. */
static int take_decisions(struct atoll_reader *r, struct atoll_record *record, struct atoll_err *err)
{
    record->event = atoll_reader_u64(r);
    record->decision_count = atoll_reader_count(r, 4);
    record->bytes = r->data + (r->failed ? 0 : r->offset);
    size_t begin = r->offset;
    for (uint32_t i = 0; i < record->decision_count && !r->failed; i++) {
        size_t length;
        atoll_reader_blob(r, &length);
    }
    record->length = r->offset - begin;
    return 0;
}

static int take_device(struct atoll_reader *r, struct atoll_record *record, struct atoll_err *err)
{
    size_t length;
    record->unix_ns = atoll_reader_i64(r);
    const void *bytes = atoll_reader_blob(r, &length);
    return r->failed ? 0 : atoll_device_info_decode(bytes, length, &record->device, err);
}

static int take_close(struct atoll_reader *r, struct atoll_record *record, struct atoll_err *err)
{
    record->unix_ns = atoll_reader_i64(r);
    take_text(r, record->reason, sizeof(record->reason));
    return 0;
}

typedef int taker(struct atoll_reader *r, struct atoll_record *record, struct atoll_err *err);
static taker *const takers[] = {take_header, take_event, take_decisions, take_event /* snapshot */,
                                take_device, take_close};

int atoll_record_decode(uint16_t type, const void *payload, size_t length, struct atoll_record *ret_record,
                        struct atoll_err *err)
{
    struct atoll_record record;
    struct atoll_reader r;
    size_t index = (size_t)type - ATOLL_RECORD_HEADER;
    if (index >= sizeof(takers) / sizeof(*takers)) {
        return atoll_err_set(
            err, ATOLL_E_SCHEMA,
            "record type %u, which this Atoll (" ATOLL_VERSION ") does not know; use a newer Atoll", type);
    }
    memset(&record, 0, sizeof(record));
    record.type = (enum atoll_record_type)type;
    atoll_reader_init(&r, payload, length);
    record.durable_bytes = atoll_reader_u64(&r);
    if (takers[index](&r, &record, err) != 0)
        return -1;
    if (atoll_reader_finish(&r, atoll_record_type_name(record.type), err) != 0)
        return -1;
    *ret_record = record;
    return 0;
}

int atoll_record_decision(const struct atoll_record *record, size_t *cursor,
                          struct atoll_decision *ret_decision, struct atoll_err *err)
{
    struct atoll_reader r;
    size_t length;
    if (*cursor >= record->length)
        return 0;
    atoll_reader_init(&r, record->bytes, record->length);
    r.offset = *cursor;
    const void *bytes = atoll_reader_blob(&r, &length);
    if (r.failed) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "decisions of event %llu: cut off",
                             (unsigned long long)record->event);
    }
    if (atoll_decision_decode(bytes, length, ret_decision, err) != 0)
        return -1;
    *cursor = r.offset;
    return 1;
}
