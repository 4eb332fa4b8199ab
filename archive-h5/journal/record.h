/* record.h - the records of a journal and their bytes (docs/spec/journal.md).
 * Layer: archive-h5, pure.  A record is the payload of one frame (base/frame.h) whose type is the record's
 * type. */
#ifndef ATOLL_ARCHIVE_H5_JOURNAL_RECORD_H
#define ATOLL_ARCHIVE_H5_JOURNAL_RECORD_H

#include "core/decision.h"
#include "core/event.h"
#include "core/message.h"

#define ATOLL_JOURNAL_SCHEMA 3 /* 2: profiles, limits of devices; 3: rivals */
/* Events of one group commit: so many may lack their decisions when their writer was killed; its successor
 * writes them first. */
#define ATOLL_JOURNAL_UNDECIDED_LIMIT 256
#define ATOLL_ATTEMPT_NAME_BYTES      64 /* "<job>.<attempt>" with the NUL */

enum atoll_record_type {
    ATOLL_RECORD_HEADER = 128, /* first of every journal, exactly once */
    ATOLL_RECORD_EVENT,        /* what the engine consumes */
    ATOLL_RECORD_DECISIONS,    /* what it decided about one event, all of it; count may be 0 */
    ATOLL_RECORD_SNAPSHOT,     /* the engine after an event; an aid, never the truth */
    ATOLL_RECORD_DEVICE, /* a device that joined, so that an archive can be rebuilt from journals alone */
    ATOLL_RECORD_CLOSE   /* the attempt ended in order; nothing follows */
};

const char *
atoll_record_type_name(enum atoll_record_type type); /* "header" ...; "unknown" beyond the table */

struct atoll_journal_header {
    uint32_t schema;         /* of the journal; atoll_journal_create fills it */
    uint32_t engine_version; /* ATOLL_ENGINE_VERSION of the writer */
    char atoll_version[32];
    struct atoll_id campaign;
    uint32_t attempt;                    /* 0, 1, ... in the order in which attempts took the campaign over */
    char name[ATOLL_ATTEMPT_NAME_BYTES]; /* own folder below jobs/ */
    char previous[ATOLL_ATTEMPT_NAME_BYTES]; /* predecessor's folder; "" for the first */
    uint64_t sealed_offset; /* bytes of the predecessor that count; what it has beyond is quarantined */
    struct atoll_id sealed_digest; /* BLAKE2b of those bytes; zero for the first attempt */
    uint64_t first_event;          /* number of the first event this journal will hold */
    int64_t created_unix_ns;
};

/* One decoded record.  Which fields count depends on the type; pointers are borrowed from the bytes it was
 * decoded from. */
struct atoll_record {
    enum atoll_record_type type;
    uint64_t offset, end_offset;        /* place in the file, set by the reader */
    uint64_t durable_bytes;             /* how much of the file was durable before this record was written */
    struct atoll_journal_header header; /* HEADER */
    uint64_t event;    /* EVENT, DECISIONS, SNAPSHOT: number of the event in the campaign, from 0 */
    const void *bytes; /* EVENT: atoll_event_encode; SNAPSHOT: atoll_engine_save */
    size_t length;
    uint32_t decision_count;         /* DECISIONS; step through them with atoll_record_decision */
    struct atoll_device_info device; /* DEVICE */
    int64_t unix_ns;                 /* CLOSE, DEVICE */
    char reason[128];                /* CLOSE */
};

/* Payloads.  Each starts with u64 durable_bytes. */
void atoll_record_put_header(struct atoll_buffer *out, const struct atoll_journal_header *header);
void atoll_record_put_event(struct atoll_buffer *out, uint64_t durable_bytes, uint64_t number,
                            const struct atoll_event *e);
void atoll_record_put_decisions(struct atoll_buffer *out, uint64_t durable_bytes, uint64_t event,
                                const struct atoll_decision *decisions, size_t count);
void atoll_record_put_snapshot(struct atoll_buffer *out, uint64_t durable_bytes, uint64_t event,
                               const void *bytes, size_t length);
void atoll_record_put_device(struct atoll_buffer *out, uint64_t durable_bytes, int64_t unix_ns,
                             const struct atoll_device_info *device);
void atoll_record_put_close(struct atoll_buffer *out, uint64_t durable_bytes, int64_t unix_ns,
                            const char *reason);

/* Decodes the payload of one frame.  Errors: ATOLL_E_SCHEMA (a newer journal, or a record type this version
 * does not know), ATOLL_E_PROTOCOL (the bytes do not decode). */
int atoll_record_decode(uint16_t type, const void *payload, size_t length, struct atoll_record *ret_record,
                        struct atoll_err *err);

/* Steps through a DECISIONS record: *cursor starts at 0.  1 and ret_decision, 0 after the last, -1 error. */
int atoll_record_decision(const struct atoll_record *record, size_t *cursor,
                          struct atoll_decision *ret_decision, struct atoll_err *err);

#endif
