/* journal_tally.c - two passes.  The first looks at headers only and remembers where the last group of records begins: a
 * record's durable_bytes is how much of the file was durable when it was made, so a record that stands exactly there is the
 * first of its group, and everything before it is proven.  The second pass checks that last group byte by byte. */
#include "archive-h5/journal/journal_tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive-h5/journal/journal_reader.h"
#include "base/file.h"
#include "base/frame.h"

#define WINDOW_BYTES ((size_t)128 << 10)
/* Of an event's payload: durable_bytes, number, length of the blob, then what atoll_event_encode puts first. */
#define EVENT_TYPE_AT    20u
#define EVENT_HEAD_BYTES 37u /* with the type and both times */

struct walk {
    const char *path;
    int fd;
    uint64_t at, end; /* the next record; bytes of the file that count */
    unsigned char *window;
    size_t window_length, window_capacity;
    uint64_t window_offset;
    struct atoll_journal_tally tally;
    struct {
        uint64_t at;
        struct atoll_journal_tally tally;
    } group; /* the state before the last group */
};

/* What a pass found at w->at. */
enum found { FOUND_RECORD, FOUND_END, FOUND_NOTHING /* no good record */, FOUND_ERROR };

/* At least `want` bytes from w->at on, or what there is up to w->end. */
static int window_fill(struct walk *w, size_t want, struct atoll_err *err)
{
    uint64_t left = w->end - w->at;
    want = left < want ? (size_t)left : want;
    if (w->at >= w->window_offset && w->at + want <= w->window_offset + w->window_length)
        return 0;
    size_t capacity = want > WINDOW_BYTES ? want : WINDOW_BYTES;
    if (capacity > w->window_capacity) {
        unsigned char *window = realloc(w->window, capacity);
        if (!window) {
            return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for a record of %zu bytes", w->path,
                                 capacity);
        }
        w->window = window;
        w->window_capacity = capacity;
    }
    size_t goal = left < capacity ? (size_t)left : capacity;
    w->window_offset = w->at;
    w->window_length = 0;
    while (w->window_length < goal) {
        ssize_t n = pread(w->fd, w->window + w->window_length, goal - w->window_length,
                          (off_t)(w->window_offset + w->window_length));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return atoll_err_errno(err, errno, "%s: cannot read the journal", w->path);
        if (n == 0) { /* a writer cut it back: what it had not acknowledged is gone */
            w->end = w->window_offset + w->window_length;
            break;
        }
        w->window_length += (size_t)n;
    }
    return 0;
}

static const unsigned char *window_at(const struct walk *w, size_t *ret_length)
{
    size_t skip = (size_t)(w->at - w->window_offset);
    *ret_length = w->window_length - skip;
    return w->window + skip;
}

static int failed_at(const struct walk *w, const struct atoll_err *why, struct atoll_err *err)
{
    return atoll_err_set(err, why->code == ATOLL_E_PROTOCOL ? ATOLL_E_CORRUPT : why->code,
                         "%s: at offset %llu: %s", w->path, (unsigned long long)w->at, why->text);
}

/* Counts the record whose header was looked at; `have` bytes of its payload are at hand. */
static enum found record_count(struct walk *w, uint16_t type, const unsigned char *payload, size_t length,
                               size_t have, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_record record;
    if (type < ATOLL_RECORD_HEADER || type > ATOLL_RECORD_CLOSE) {
        atoll_record_decode(type, payload, have, &record, &why);
        failed_at(w, &why, err);
        return FOUND_ERROR;
    }
    if (w->tally.is_closed) {
        atoll_err_set(err, ATOLL_E_CORRUPT, "%s: at offset %llu: a record follows the close record", w->path,
                      (unsigned long long)w->at);
        return FOUND_ERROR;
    }
    if (type == ATOLL_RECORD_CLOSE) {
        if (atoll_record_decode(type, payload, length, &record, &why) != 0) {
            failed_at(w, &why, err);
            return FOUND_ERROR;
        }
        w->tally.is_closed = 1;
        memcpy(w->tally.reason, record.reason, sizeof(w->tally.reason));
    }
    if (type == ATOLL_RECORD_EVENT) { /* the head of its payload says enough */
        struct atoll_reader r;
        if (length < EVENT_HEAD_BYTES || have < EVENT_HEAD_BYTES)
            return FOUND_NOTHING;
        atoll_reader_init(&r, payload + EVENT_TYPE_AT, EVENT_HEAD_BYTES - EVENT_TYPE_AT);
        uint8_t event = atoll_reader_u8(&r);
        w->tally.campaign_ns = atoll_reader_i64(&r);
        w->tally.unix_ns = atoll_reader_i64(&r);
        w->tally.events++;
        w->tally.evaluated += event == ATOLL_EVENT_EVALUATED;
        w->tally.duelled += event == ATOLL_EVENT_DUELLED;
    }
    return FOUND_RECORD;
}

/* Whether the record at w->at is the first of a group: it says that all before it was durable.  0 when what it says
 * cannot be true. */
static int group_mark(struct walk *w, const unsigned char *payload, size_t length)
{
    struct atoll_reader r;
    atoll_reader_init(&r, payload, length);
    uint64_t durable = atoll_reader_u64(&r);
    if (r.failed || durable > w->at)
        return 0;
    if (durable == w->at) {
        w->group.at = w->at;
        w->group.tally = w->tally;
    }
    return 1;
}

/* The header at w->at, which must be of a record that ends within the file. */
static enum found head_look(struct walk *w, uint16_t *ret_type, size_t *ret_length, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    size_t have;
    if (w->at >= w->end)
        return FOUND_END;
    if (window_fill(w, ATOLL_FRAME_HEADER_BYTES + EVENT_HEAD_BYTES, err) != 0)
        return FOUND_ERROR;
    const unsigned char *bytes = window_at(w, &have);
    int got = atoll_frame_peek(bytes, have, ret_type, ret_length, &why);
    if (got < 0 && why.code == ATOLL_E_SCHEMA) {
        failed_at(w, &why, err);
        return FOUND_ERROR;
    }
    return got == 1 && w->end - w->at >= ATOLL_FRAME_HEADER_BYTES + *ret_length ? FOUND_RECORD
                                                                                : FOUND_NOTHING;
}

/* Looks at the record at w->at and steps over it when it is good.  is_checked: its payload's checksum too. */
static enum found step(struct walk *w, int is_checked, struct atoll_err *err)
{
    uint16_t type;
    size_t length, have;
    enum found found = head_look(w, &type, &length, err);
    if (found != FOUND_RECORD)
        return found;
    is_checked |= type == ATOLL_RECORD_CLOSE;
    if (is_checked && window_fill(w, ATOLL_FRAME_HEADER_BYTES + length, err) != 0)
        return FOUND_ERROR;
    const unsigned char *bytes = window_at(w, &have), *payload = bytes + ATOLL_FRAME_HEADER_BYTES;
    struct atoll_frame frame;
    size_t used;
    if (have < ATOLL_FRAME_HEADER_BYTES ||
        (is_checked && atoll_frame_decode(bytes, have, &frame, &used, NULL) != 1)) {
        return FOUND_NOTHING;
    }
    have -= ATOLL_FRAME_HEADER_BYTES;
    if (!group_mark(w, payload, have < length ? have : length))
        return FOUND_NOTHING;
    found = record_count(w, type, payload, length, have, err);
    if (found == FOUND_RECORD)
        w->at += ATOLL_FRAME_HEADER_BYTES + length;
    return found;
}

static enum found pass(struct walk *w, uint64_t until, int is_checked, struct atoll_err *err)
{
    enum found found = FOUND_RECORD;
    while (found == FOUND_RECORD && w->at < until)
        found = step(w, is_checked, err);
    return found;
}

/* Bytes without a good record at w->at: never acknowledged, or damaged when a later record proves them durable. */
static int tail_judge(struct walk *w, struct atoll_err *err)
{
    uint64_t witness;
    int found = atoll_journal_witness(w->fd, w->path, w->at, w->end, &witness, err);
    w->tally.lost_bytes = w->end - w->at;
    if (found <= 0)
        return found;
    return atoll_err_set(err, ATOLL_E_CORRUPT,
                         "%s: damaged at offset %llu although a later record says it was durable; restore "
                         "the file from a copy",
                         w->path, (unsigned long long)w->at);
}

static int open_count(struct walk *w, struct atoll_err *err)
{
    if (pass(w, UINT64_MAX, 0, err) == FOUND_ERROR)
        return -1;
    w->at = w->group.at;
    w->tally = w->group.tally;
    enum found found = pass(w, UINT64_MAX, 1, err);
    if (found == FOUND_ERROR || (found == FOUND_NOTHING && tail_judge(w, err) != 0))
        return -1;
    return 1;
}

int atoll_journal_tally(const char *path, uint64_t from, uint64_t until, struct atoll_journal_tally *tally,
                        struct atoll_err *err)
{
    struct walk w = {.path = path, .fd = -1, .at = from, .tally = *tally};
    struct atoll_err why = ATOLL_ERR_INIT;
    w.tally.is_closed = 0;
    w.tally.reason[0] = '\0';
    w.tally.lost_bytes = 0;
    w.group.at = from;
    w.group.tally = w.tally;
    w.fd = atoll_file_open(path, &w.end, &why);
    int rc = w.fd < 0 ? -1 : 0;
    if (rc == 0 && from <= w.end && from <= until) {
        if (until == UINT64_MAX) {
            rc = open_count(&w, &why);
        } else if (pass(&w, until, 0, &why) == FOUND_ERROR) {
            rc = -1;
        } else if (w.at == until) {
            rc = 1;
        } else {
            rc = atoll_err_set(
                &why, ATOLL_E_CORRUPT,
                "%s: %s at offset %llu, its successor sealed %llu bytes; restore the file from a copy", path,
                w.at > until ? "has a record that ends" : "ends or is damaged", (unsigned long long)w.at,
                (unsigned long long)until);
        }
    }
    if (from > 0 && w.at == from && w.end > from && until > from)
        rc = 0; /* not where a record starts */
    if (rc == 1) {
        w.tally.walked_bytes += w.at - from;
        *tally = w.tally;
    }
    if (rc < 0 && err)
        *err = why;
    if (w.fd >= 0)
        close(w.fd);
    free(w.window);
    return rc;
}
