/* journal.c - the writing half of a journal.
 * Invariants: the file holds exactly durable_bytes good bytes after every successful sync; `pending` holds
 * whole frames, the next of which belongs at durable_bytes.  A failed sync changes neither, so repeating it
 * writes the same bytes to the same place.  That matters beyond ENOSPC: after a failed fdatasync the kernel
 * may have dropped the dirty pages, so only writing them again makes a later success mean what it says. */
#include "archive-h5/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"

struct atoll_journal {
    const struct atoll_file_ops *ops;
    char *path;
    int fd;
    uint64_t durable_bytes;
    uint64_t next_event; /* number of the next event */
    uint64_t undecided;  /* the lowest event whose decisions may still come */
    int closed;
    struct atoll_buffer pending; /* frames not yet durable */
    struct atoll_buffer payload; /* of the frame being built */
};

/* Frames the payload into pending; on failure pending is what it was. */
static int append_frame(struct atoll_journal *j, enum atoll_record_type type, struct atoll_err *err)
{
    size_t before = j->pending.length;
    if (atoll_buffer_check(&j->payload, err) == 0 &&
        atoll_frame_encode(&j->pending, (uint16_t)type, j->payload.data, j->payload.length, err) == 0 &&
        atoll_buffer_check(&j->pending, err) == 0) {
        return 0;
    }
    j->pending.length = before;
    j->pending.failed = 0;
    return atoll_err_add(err, "while appending a %s record to %s", atoll_record_type_name(type), j->path);
}

static int payload_begin(struct atoll_journal *j, struct atoll_err *err)
{
    if (j->closed)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%s: append after close", j->path);
    atoll_buffer_clear(&j->payload);
    return 0;
}

struct atoll_journal *atoll_journal_create(const char *path, const struct atoll_journal_header *header,
                                           const struct atoll_file_ops *ops, struct atoll_err *err)
{
    struct atoll_journal_header own = *header;
    struct atoll_journal *j = calloc(1, sizeof(*j));
    if (!j || !(j->path = strdup(path))) {
        free(j);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a journal");
        return NULL;
    }
    j->fd = -1;
    j->ops = ops ? ops : atoll_file_ops_real();
    j->next_event = own.first_event;
    j->undecided =
        own.first_event > ATOLL_JOURNAL_UNDECIDED_LIMIT ? own.first_event - ATOLL_JOURNAL_UNDECIDED_LIMIT : 0;
    atoll_buffer_init(&j->pending, ATOLL_JOURNAL_PENDING_LIMIT_BYTES);
    atoll_buffer_init(&j->payload, ATOLL_FRAME_PAYLOAD_LIMIT);
    own.schema = ATOLL_JOURNAL_SCHEMA;
    atoll_record_put_header(&j->payload, &own);
    if (append_frame(j, ATOLL_RECORD_HEADER, err) != 0)
        goto failed;
    j->fd = j->ops->open(j->ops->context, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (j->fd < 0) {
        if (errno == EEXIST) {
            atoll_err_set(err, ATOLL_E_EXISTS, "%s: is there already; a journal is never written twice",
                          path);
        } else {
            atoll_file_write_failed(path, "create the journal", errno, err);
        }
        goto failed;
    }
    if (atoll_journal_sync(j, err) != 0 || atoll_file_sync_parent(j->ops, path, err) != 0) {
        j->ops->unlink(j->ops->context, path);
        goto failed;
    }
    return j;
failed:
    atoll_journal_destroy(j);
    return NULL;
}

void atoll_journal_destroy(struct atoll_journal *j)
{
    if (!j)
        return;
    if (j->fd >= 0)
        j->ops->close(j->ops->context, j->fd);
    atoll_buffer_fini(&j->pending);
    atoll_buffer_fini(&j->payload);
    free(j->path);
    free(j);
}

int atoll_journal_append_event(struct atoll_journal *j, const struct atoll_event *event, uint64_t *ret_number,
                               struct atoll_err *err)
{
    if (payload_begin(j, err) != 0)
        return -1;
    atoll_record_put_event(&j->payload, j->durable_bytes, j->next_event, event);
    if (append_frame(j, ATOLL_RECORD_EVENT, err) != 0)
        return -1;
    if (ret_number)
        *ret_number = j->next_event;
    j->next_event++;
    return 0;
}

int atoll_journal_append_decisions(struct atoll_journal *j, uint64_t event,
                                   const struct atoll_decision *decisions, size_t count,
                                   struct atoll_err *err)
{
    if (payload_begin(j, err) != 0)
        return -1;
    if (event >= j->next_event || event < j->undecided) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%s: decisions of event %llu out of order", j->path,
                             (unsigned long long)event);
    }
    atoll_record_put_decisions(&j->payload, j->durable_bytes, event, decisions, count);
    if (append_frame(j, ATOLL_RECORD_DECISIONS, err) != 0)
        return -1;
    j->undecided = event + 1;
    return 0;
}

int atoll_journal_append_snapshot(struct atoll_journal *j, uint64_t event, const void *bytes, size_t length,
                                  struct atoll_err *err)
{
    if (payload_begin(j, err) != 0)
        return -1;
    atoll_record_put_snapshot(&j->payload, j->durable_bytes, event, bytes, length);
    return append_frame(j, ATOLL_RECORD_SNAPSHOT, err);
}

int atoll_journal_append_device(struct atoll_journal *j, int64_t unix_ns,
                                const struct atoll_device_info *device, struct atoll_err *err)
{
    if (payload_begin(j, err) != 0)
        return -1;
    atoll_record_put_device(&j->payload, j->durable_bytes, unix_ns, device);
    return append_frame(j, ATOLL_RECORD_DEVICE, err);
}

int atoll_journal_append_close(struct atoll_journal *j, int64_t unix_ns, const char *reason,
                               struct atoll_err *err)
{
    if (payload_begin(j, err) != 0)
        return -1;
    atoll_record_put_close(&j->payload, j->durable_bytes, unix_ns, reason);
    if (append_frame(j, ATOLL_RECORD_CLOSE, err) != 0)
        return -1;
    j->closed = 1;
    return 0;
}

/* Cuts the file back to what is durable.  It may fail too (the disk is in trouble): the next sync overwrites
 * the same place, and a reader takes the rest for what it is, a tail never acknowledged. */
static int sync_failed(struct atoll_journal *j, const char *doing, int sys_errno, struct atoll_err *err)
{
    j->ops->ftruncate(j->ops->context, j->fd, (off_t)j->durable_bytes);
    return atoll_file_write_failed(j->path, doing, sys_errno, err);
}

int atoll_journal_sync(struct atoll_journal *j, struct atoll_err *err)
{
    if (j->pending.length == 0)
        return 0;
    if (atoll_file_write_all(j->ops, j->fd, j->pending.data, j->pending.length, (off_t)j->durable_bytes) != 0)
        return sync_failed(j, "write the journal", errno, err);
    if (j->ops->fdatasync(j->ops->context, j->fd) != 0)
        return sync_failed(j, "sync the journal", errno, err);
    j->durable_bytes += j->pending.length;
    atoll_buffer_clear(&j->pending);
    return 0;
}

uint64_t atoll_journal_durable_bytes(const struct atoll_journal *j)
{
    return j->durable_bytes;
}

size_t atoll_journal_pending_bytes(const struct atoll_journal *j)
{
    return j->pending.length;
}

uint64_t atoll_journal_next_event(const struct atoll_journal *j)
{
    return j->next_event;
}
