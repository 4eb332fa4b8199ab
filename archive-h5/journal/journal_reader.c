/* journal_reader.c - streaming reader.
 * Torn or corrupt?  A group of records is written at once and then synced; a power loss in between may
 * persist any subset of its pages, so good frames may follow bad ones inside the last group.  Every record
 * says how many bytes were durable when it was made (durable_bytes): a good record behind a bad place that
 * calls this place durable proves damage; otherwise the bad place was never acknowledged and is a torn tail.
 * Texts cannot fake such a frame: its header has NUL bytes. */
#include "archive-h5/journal/journal_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/frame.h"

#define FIRST_BYTES          ((size_t)4 << 10) /* enough for the header, which is often all that is wanted */
#define WINDOW_BYTES         ((size_t)1 << 20)
#define WITNESS_WINDOW_BYTES ((size_t)1 << 20)
#define WITNESS_READS        8u /* of a damaged end at most so many times its length */

struct atoll_journal_reader {
    char *path;
    int fd;
    unsigned char *window; /* bytes of the file from window_offset on */
    size_t window_length, window_capacity;
    uint64_t window_offset;
    uint64_t offset; /* of the next record */
    uint64_t next_event, undecided;
    int finished;
    struct atoll_journal_end end;
    struct atoll_record record;
    struct atoll_journal_header header;
};

int atoll_journal_is_final(enum atoll_journal_ending ending, const char *reason)
{
    if (ending != ATOLL_JOURNAL_CLOSED)
        return 0;
    for (unsigned r = 0; r < ATOLL_REASON_COUNT; r++)
        if (!strcmp(reason, atoll_reason_name((enum atoll_reason)r)))
            return 1;
    return 0;
}

struct atoll_journal_reader *atoll_journal_reader_open(const char *path, struct atoll_err *err)
{
    struct atoll_journal_reader *r = calloc(1, sizeof(*r));
    if (!r || !(r->path = strdup(path))) {
        free(r);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a journal reader");
        return NULL;
    }
    r->fd = atoll_file_open(path, NULL, err);
    if (r->fd < 0) {
        atoll_journal_reader_close(r);
        return NULL;
    }
    return r;
}

void atoll_journal_reader_close(struct atoll_journal_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->window);
    free(r->path);
    free(r);
}

/* Makes the window start at the next record and hold at least `want` bytes or all there are. */
static int fill(struct atoll_journal_reader *r, size_t want, struct atoll_err *err)
{
    size_t skip = (size_t)(r->offset - r->window_offset);
    if (r->window_length - skip >= want && r->window_length >= skip)
        return 0;
    if (skip) {
        memmove(r->window, r->window + skip, r->window_length - skip);
        r->window_length -= skip;
        r->window_offset = r->offset;
    }
    size_t least = r->offset == 0 ? FIRST_BYTES : WINDOW_BYTES;
    size_t capacity = want < least ? least : want;
    if (capacity > r->window_capacity) {
        unsigned char *window = realloc(r->window, capacity);
        if (!window) {
            return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for a record of %zu bytes", r->path,
                                 capacity);
        }
        r->window = window;
        r->window_capacity = capacity;
    }
    while (r->window_length < r->window_capacity) {
        ssize_t n = pread(r->fd, r->window + r->window_length, r->window_capacity - r->window_length,
                          (off_t)(r->window_offset + r->window_length));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return atoll_err_errno(err, errno, "%s: cannot read the journal", r->path);
        if (n == 0)
            break;
        r->window_length += (size_t)n;
    }
    return 0;
}

/* Through signals and short reads; how many bytes there were, -1. */
static ssize_t pread_all(int fd, unsigned char *bytes, size_t length, uint64_t at)
{
    size_t have = 0;
    while (have < length) {
        ssize_t n = pread(fd, bytes + have, length - have, (off_t)(at + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -1 : (ssize_t)have;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* 1 a frame, 0 no good frame here (ret_length: bytes there are), -1 error. */
static int frame_here(struct atoll_journal_reader *r, struct atoll_frame *ret_frame, size_t *ret_length,
                      struct atoll_err *err)
{
    struct atoll_err local = ATOLL_ERR_INIT;
    size_t want = ATOLL_FRAME_HEADER_BYTES;
    for (;;) {
        size_t have, used;
        if (fill(r, want, err) != 0)
            return -1;
        size_t skip = (size_t)(r->offset - r->window_offset);
        const unsigned char *bytes = r->window + skip;
        *ret_length = have = r->window_length - skip;
        int got = have ? atoll_frame_decode(bytes, have, ret_frame, &used, &local) : 0;
        if (got == 1) {
            *ret_length = used;
            return 1;
        }
        if (got < 0 && local.code == ATOLL_E_SCHEMA) {
            return atoll_err_set(err, ATOLL_E_SCHEMA, "%s: at offset %llu: %s", r->path,
                                 (unsigned long long)r->offset, local.text);
        }
        if (got < 0 || have < want || want > ATOLL_FRAME_PAYLOAD_LIMIT)
            return 0;
        want = have < WINDOW_BYTES ? WINDOW_BYTES : have * 2;
        if (want > ATOLL_FRAME_PAYLOAD_LIMIT + ATOLL_FRAME_HEADER_BYTES)
            want = ATOLL_FRAME_PAYLOAD_LIMIT + ATOLL_FRAME_HEADER_BYTES;
    }
}

/* The whole frame at `at` of a file, when it is good and says that more than `place` bytes were durable: 1; 0; -1. */
static int is_witness(int fd, const char *path, uint64_t at, size_t length, uint64_t place,
                      struct atoll_err *err)
{
    struct atoll_frame frame;
    struct atoll_reader payload;
    size_t used;
    unsigned char *bytes = malloc(length);
    if (!bytes)
        return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for a record of %zu bytes", path, length);
    int is_good = pread_all(fd, bytes, length, at) == (ssize_t)length &&
                  atoll_frame_decode(bytes, length, &frame, &used, NULL) == 1;
    if (is_good) {
        atoll_reader_init(&payload, frame.payload, frame.length);
        is_good = atoll_reader_u64(&payload) > place && !payload.failed;
    }
    free(bytes);
    return is_good;
}

int atoll_journal_witness(int fd, const char *path, uint64_t place, uint64_t end, uint64_t *ret_offset,
                          struct atoll_err *err)
{
    uint64_t at = place, weighed = 0, most = WITNESS_READS * (end - place) + ATOLL_FRAME_PAYLOAD_LIMIT;
    unsigned char *window = malloc(WITNESS_WINDOW_BYTES);
    int found = window ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to examine its end", path);
    while (found == 0 && at < end) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA); /* a hole holds no record */
        if (data < 0 && errno == ENXIO)
            break;
        at = data > (off_t)at ? (uint64_t)data : at;
        size_t want = end - at < WITNESS_WINDOW_BYTES ? (size_t)(end - at) : WITNESS_WINDOW_BYTES;
        ssize_t have = pread_all(fd, window, want, at);
        if (have <= 0)
            break;
        const unsigned char *begin = window, *magic = window;
        while (found == 0 && (magic = memmem(magic, (size_t)(begin + have - magic), "ATLF", 4)) != NULL) {
            uint16_t type;
            size_t length, left = (size_t)(begin + have - magic);
            uint64_t offset = at + (uint64_t)(magic - begin);
            if (left < ATOLL_FRAME_HEADER_BYTES && offset + left < end)
                break; /* its header is in the next window, too */
            if (atoll_frame_peek(magic, left, &type, &length, NULL) == 1 && (weighed += length) <= most) {
                *ret_offset = offset;
                found = is_witness(fd, path, offset, ATOLL_FRAME_HEADER_BYTES + length, place, err);
            }
            magic++;
        }
        if (weighed > most) {
            found =
                atoll_err_set(err, ATOLL_E_CORRUPT,
                              "%s: damaged at offset %llu, and what follows is made to cost time; restore "
                              "the file from a copy",
                              path, (unsigned long long)place);
        }
        /* Windows overlap by what a header needs. */
        at += (size_t)have == want && at + want == end  ? want
              : (size_t)have > ATOLL_FRAME_HEADER_BYTES ? (size_t)have - ATOLL_FRAME_HEADER_BYTES
                                                        : (size_t)have;
    }
    free(window);
    return found;
}

/* The bytes at r->offset are no record: torn tail, or corruption. */
static int end_of_good(struct atoll_journal_reader *r, struct atoll_err *err)
{
    struct stat st;
    unsigned char first[4];
    static const unsigned char zeros[4];
    uint64_t witness;
    if (fstat(r->fd, &st) != 0)
        return atoll_err_errno(err, errno, "%s: cannot read the journal", r->path);
    r->end.file_bytes = (uint64_t)st.st_size > r->offset ? (uint64_t)st.st_size : r->offset;
    ssize_t have = r->offset == 0 ? pread_all(r->fd, first, sizeof(first), 0) : 0;
    if (have > 0 && memcmp(first, "ATLF", (size_t)have) != 0 && memcmp(first, zeros, (size_t)have) != 0)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: is not a journal of Atoll", r->path);
    int found = atoll_journal_witness(r->fd, r->path, r->offset, r->end.file_bytes, &witness, err);
    if (found < 0)
        return -1;
    if (found) {
        return atoll_err_set(err, ATOLL_E_CORRUPT,
                             "%s: damaged at offset %llu although the record at offset %llu says it was "
                             "durable; restore the file from a copy",
                             r->path, (unsigned long long)r->offset, (unsigned long long)witness);
    }
    r->end.good_bytes = r->offset;
    r->end.lost_bytes = r->end.file_bytes - r->offset;
    r->end.ending = r->offset == 0 ? ATOLL_JOURNAL_STILLBORN : ATOLL_JOURNAL_TORN;
    r->finished = 1;
    return 0;
}

static int end_of_file(struct atoll_journal_reader *r)
{
    r->end.good_bytes = r->end.file_bytes = r->offset;
    r->end.lost_bytes = 0;
    r->end.ending = r->end.record_count == 0               ? ATOLL_JOURNAL_STILLBORN
                    : r->record.type == ATOLL_RECORD_CLOSE ? ATOLL_JOURNAL_CLOSED
                                                           : ATOLL_JOURNAL_KILLED;
    r->finished = 1;
    return 0;
}

static int out_of_order(const struct atoll_journal_reader *r, const struct atoll_record *record,
                        const char *what, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: at offset %llu: %s record %s", r->path,
                         (unsigned long long)r->offset, atoll_record_type_name(record->type), what);
}

/* Order rules of docs/spec/journal.md. */
static int check_order(struct atoll_journal_reader *r, const struct atoll_record *record,
                       struct atoll_err *err)
{
    int first = r->end.record_count == 0;
    if (first != (record->type == ATOLL_RECORD_HEADER))
        return out_of_order(r, record, first ? "comes before the header" : "comes twice", err);
    if (!first && r->record.type == ATOLL_RECORD_CLOSE)
        return out_of_order(r, record, "follows a close record", err);
    if (record->durable_bytes > r->offset)
        return out_of_order(r, record, "claims more durable bytes than lie before it", err);
    switch (record->type) {
    case ATOLL_RECORD_HEADER:
        r->header = record->header;
        r->next_event = record->header.first_event;
        r->undecided =
            r->next_event > ATOLL_JOURNAL_UNDECIDED_LIMIT ? r->next_event - ATOLL_JOURNAL_UNDECIDED_LIMIT : 0;
        return 0;
    case ATOLL_RECORD_EVENT:
        if (record->event != r->next_event)
            return out_of_order(r, record, "has a number out of order", err);
        r->next_event++;
        return 0;
    case ATOLL_RECORD_DECISIONS:
        if (record->event >= r->next_event || record->event < r->undecided)
            return out_of_order(r, record, "belongs to no event that waits for it", err);
        r->undecided = record->event + 1;
        return 0;
    case ATOLL_RECORD_SNAPSHOT:
        return record->event < r->next_event
                   ? 0
                   : out_of_order(r, record, "is of an event that is not there", err);
    default: return 0;
    }
}

int atoll_journal_reader_next(struct atoll_journal_reader *r, const struct atoll_record **ret_record,
                              struct atoll_err *err)
{
    struct atoll_frame frame;
    struct atoll_record record;
    size_t length;
    if (r->finished)
        return 0;
    int got = frame_here(r, &frame, &length, err);
    if (got < 0)
        return -1;
    if (got == 0)
        return length == 0 ? end_of_file(r) : end_of_good(r, err);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_record_decode(frame.type, frame.payload, frame.length, &record, &why) != 0) {
        return atoll_err_set(err, why.code == ATOLL_E_PROTOCOL ? ATOLL_E_CORRUPT : why.code,
                             "%s: at offset %llu: %s", r->path, (unsigned long long)r->offset, why.text);
    }
    if (check_order(r, &record, err) != 0)
        return -1;
    record.offset = r->offset;
    record.end_offset = r->offset + length;
    r->record = record;
    r->offset += length;
    r->end.record_count++;
    *ret_record = &r->record;
    return 1;
}

void atoll_journal_reader_end(const struct atoll_journal_reader *r, struct atoll_journal_end *ret_end)
{
    *ret_end = r->end;
}
