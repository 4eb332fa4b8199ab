/* frame_file_scan.c - reading: where the good records end, and whether what follows was torn or damaged.
 * The first bytes that are no valid frame of this file end it.  A later valid frame that says that more than up to there was
 * durable proves damage; without one the rest was never acknowledged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/budget/frame_file_inside.h"

#define WINDOW_BYTES ((size_t)256 << 10)

static int read_at(const struct atoll_frame_file *file, void *bytes, size_t length, uint64_t offset,
                   size_t *ret_length, struct atoll_err *err)
{
    size_t have = 0;
    while (have < length) {
        ssize_t n = pread(file->fd, (unsigned char *)bytes + have, length - have, (off_t)(offset + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return atoll_err_errno(err, errno, "%s: cannot read at offset %llu", file->path,
                                   (unsigned long long)(offset + have));
        if (n == 0)
            break;
        have += (size_t)n;
    }
    *ret_length = have;
    return 0;
}

/* Makes the window start at the end of what is good and hold at least want bytes, or all there are. */
static int fill(struct atoll_frame_file *file, size_t want, struct atoll_err *err)
{
    size_t skip = (size_t)(file->end - file->window_offset);
    if (skip > file->window_length)
        skip = file->window_length;
    if (file->window_length > skip)
        memmove(file->window, file->window + skip, file->window_length - skip);
    file->window_length -= skip;
    file->window_offset = file->end;
    size_t capacity = want < WINDOW_BYTES ? WINDOW_BYTES : want, have;
    if (capacity > file->window_capacity) {
        unsigned char *window = realloc(file->window, capacity);
        if (!window)
            return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for a record of %zu bytes", file->path,
                                 capacity);
        file->window = window;
        file->window_capacity = capacity;
    }
    if (read_at(file, file->window + file->window_length, file->window_capacity - file->window_length,
                file->end + file->window_length, &have, err) != 0)
        return -1;
    file->window_length += have;
    return 0;
}

/* Whether a whole, valid frame is a record of this file: 1, and what it says was durable. */
static int is_record(const struct atoll_frame_file *file, const struct atoll_frame *frame,
                     uint64_t *ret_durable)
{
    struct atoll_reader prefix;
    atoll_reader_init(&prefix, frame->payload, frame->length);
    uint64_t durable = atoll_reader_u64(&prefix), number = atoll_reader_u64(&prefix);
    if (prefix.failed || number == 0 || (file->number && number != file->number))
        return 0;
    *ret_durable = durable;
    return 1;
}

/* 1: a frame at the end of what is good; 0: none, and the window holds what there is or enough to say so; -1 trouble. */
static int frame_here(struct atoll_frame_file *file, struct atoll_frame *ret_frame, size_t *ret_bytes,
                      struct atoll_err *err)
{
    size_t want = ATOLL_FRAME_HEADER_BYTES;
    for (;;) {
        struct atoll_err why = ATOLL_ERR_INIT;
        size_t skip = (size_t)(file->end - file->window_offset);
        if (skip > file->window_length || file->window_length - skip < want) {
            if (fill(file, want, err) != 0)
                return -1;
            skip = 0;
        }
        size_t have = file->window_length - skip;
        int got = have ? atoll_frame_decode(file->window + skip, have, ret_frame, ret_bytes, &why) : 0;
        if (got < 0 && why.code == ATOLL_E_SCHEMA)
            return atoll_err_set(err, ATOLL_E_SCHEMA, "%s: at offset %llu: %s", file->path,
                                 (unsigned long long)file->end, why.text);
        if (got != 0 || have < want)
            return got > 0;
        /* its header is whole and holds: the length says how much is needed */
        struct atoll_reader header;
        atoll_reader_init(&header, file->window + skip + 8, 4);
        want = ATOLL_FRAME_HEADER_BYTES + atoll_reader_u32(&header);
    }
}

/* The offset in bytes of a good record that proves that everything before place was durable, or -1. */
static ssize_t find_witness(const struct atoll_frame_file *file, const unsigned char *bytes, size_t length,
                            uint64_t place)
{
    const unsigned char *at = bytes, *end = bytes + length;
    while (at < end && (at = memmem(at, (size_t)(end - at), "ATLF", 4)) != NULL) {
        struct atoll_frame frame;
        size_t used;
        uint64_t durable;
        if (atoll_frame_decode(at, (size_t)(end - at), &frame, &used, NULL) == 1 &&
            is_record(file, &frame, &durable) && durable > place)
            return at - bytes;
        at++;
    }
    return -1;
}

static int is_foreign(const unsigned char *bytes, size_t length)
{
    static const unsigned char zeros[4];
    size_t n = length < 4 ? length : 4;
    return n && memcmp(bytes, "ATLF", n) != 0 && memcmp(bytes, zeros, n) != 0;
}

/* What stands at file->end is no record: 0 a torn end (or none), -1 damage. */
static int examine_rest(struct atoll_frame_file *file, struct atoll_err *err)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return atoll_err_errno(err, errno, "%s: cannot look at the file", file->path);
    if ((uint64_t)st.st_size <= file->end)
        return 0;
    size_t length = (size_t)((uint64_t)st.st_size - file->end), have = 0;
    unsigned char *rest = malloc(length);
    if (!rest)
        return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to look at the %zu bytes at its end",
                             file->path, length);
    int rc = read_at(file, rest, length, file->end, &have, err);
    ssize_t witness = rc == 0 ? find_witness(file, rest, have, file->end) : -1;
    int foreign = rc == 0 && file->end == 0 && is_foreign(rest, have);
    free(rest);
    if (foreign)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: is not a file of Atoll's gateway; name another",
                             file->path);
    if (witness >= 0)
        return atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s: damaged at offset %llu: a record behind it, at %llu, says that it was durable; "
            "restore the file from a copy",
            file->path, (unsigned long long)file->end, (unsigned long long)(file->end + (uint64_t)witness));
    return rc;
}

static int take(struct atoll_frame_file *file, const struct atoll_frame *frame, uint64_t durable,
                atoll_frame_file_sink *sink, void *context, struct atoll_err *err)
{
    struct atoll_frame record = {.type = frame->type,
                                 .payload = frame->payload + ATOLL_FRAME_FILE_PREFIX_BYTES,
                                 .length = frame->length - ATOLL_FRAME_FILE_PREFIX_BYTES};
    if (durable > file->durable)
        file->durable = durable < file->end ? durable : file->end;
    return sink(context, file->end, &record, err);
}

int atoll_frame_file_scan(struct atoll_frame_file *file, int is_live, atoll_frame_file_sink *sink,
                          void *context, struct atoll_err *err)
{
    int rc, got;
    file->window_length = 0; /* what was read behind the end may have been cut and written again */
    for (;;) {
        struct atoll_frame frame;
        size_t bytes;
        uint64_t durable = 0;
        got = frame_here(file, &frame, &bytes, err);
        if (got == 1 && !is_record(file, &frame, &durable))
            got = 0;
        if (got != 1)
            break;
        if ((rc = take(file, &frame, durable, sink, context, err)) != 0)
            return rc;
        struct atoll_reader prefix;
        atoll_reader_init(&prefix, frame.payload + 8, 8);
        file->number = atoll_reader_u64(&prefix);
        file->base = file->end += bytes; /* nothing is pending while a file is read on */
    }
    rc = got < 0 ? -1 : is_live ? 0 : examine_rest(file, err);
    if (file->window_capacity > WINDOW_BYTES) {
        free(file->window);
        file->window = NULL;
        file->window_capacity = 0;
    }
    file->window_length = 0;
    return rc;
}

/* Of a record that is still in memory: the pending bytes at that place. */
static int read_pending(struct atoll_frame_file *file, uint64_t offset, struct atoll_buffer *buffer)
{
    size_t skip = (size_t)(offset - file->base);
    struct atoll_frame frame;
    size_t used;
    if (skip >= file->pending.length ||
        atoll_frame_decode(file->pending.data + skip, file->pending.length - skip, &frame, &used, NULL) != 1)
        return -1;
    atoll_buffer_put_bytes(buffer, file->pending.data + skip, used);
    return 0;
}

static int read_durable(struct atoll_frame_file *file, uint64_t offset, struct atoll_buffer *buffer,
                        struct atoll_err *err)
{
    unsigned char header[ATOLL_FRAME_HEADER_BYTES];
    struct atoll_reader length;
    size_t have;
    if (read_at(file, header, sizeof header, offset, &have, err) != 0)
        return -1;
    atoll_reader_init(&length, header + 8, 4);
    size_t bytes = have == sizeof header ? sizeof header + atoll_reader_u32(&length) : 0;
    if (bytes == 0 || bytes > file->end - offset)
        return 0; /* no frame: the decoder says so */
    atoll_buffer_put_bytes(buffer, header, sizeof header);
    unsigned char *rest = malloc(bytes);
    if (!rest)
        return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for a record of %zu bytes", file->path,
                             bytes);
    int rc = read_at(file, rest, bytes - sizeof header, offset + sizeof header, &have, err);
    if (rc == 0)
        atoll_buffer_put_bytes(buffer, rest, have);
    free(rest);
    return rc;
}

int atoll_frame_file_read(struct atoll_frame_file *file, uint64_t offset, struct atoll_buffer *buffer,
                          struct atoll_frame *ret_record, struct atoll_err *err)
{
    struct atoll_frame frame;
    size_t used;
    uint64_t durable;
    atoll_buffer_clear(buffer);
    if (offset >= file->end ? read_pending(file, offset, buffer) != 0
                            : read_durable(file, offset, buffer, err) != 0)
        return offset >= file->end ? atoll_err_set(err, ATOLL_E_INTERNAL, "%s: no record at offset %llu",
                                                   file->path, (unsigned long long)offset)
                                   : -1;
    if (atoll_buffer_check(buffer, err) != 0)
        return -1;
    if (atoll_frame_decode(buffer->data, buffer->length, &frame, &used, NULL) != 1 ||
        !is_record(file, &frame, &durable))
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: damaged at offset %llu; restore the file from a copy",
                             file->path, (unsigned long long)offset);
    *ret_record = (struct atoll_frame){.type = frame.type,
                                       .payload = frame.payload + ATOLL_FRAME_FILE_PREFIX_BYTES,
                                       .length = frame.length - ATOLL_FRAME_FILE_PREFIX_BYTES};
    return 0;
}

int atoll_frame_file_peek(struct atoll_frame_file *file, uint64_t offset, void *ret_bytes, size_t limit,
                          size_t *ret_length, struct atoll_err *err)
{
    size_t head = ATOLL_FRAME_HEADER_BYTES + ATOLL_FRAME_FILE_PREFIX_BYTES;
    if (offset < file->end)
        return read_at(file, ret_bytes, limit, offset + head, ret_length, err);
    size_t skip = (size_t)(offset - file->base) + head;
    if (skip > file->pending.length)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%s: no record at offset %llu", file->path,
                             (unsigned long long)offset);
    size_t have = file->pending.length - skip;
    *ret_length = have < limit ? have : limit;
    if (*ret_length)
        memcpy(ret_bytes, file->pending.data + skip, *ret_length);
    return 0;
}
