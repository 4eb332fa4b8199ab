/* frame_file.c - writing and locking.
 * Invariants: the file holds `end` good bytes; `pending` holds whole frames, those from `base` on: first what is written and
 * not synced, then what is not written.  A failed sync drops nothing of it, so repeating it writes the same bytes to the
 * same place: after a failed fdatasync the kernel may have dropped the dirty pages.  A new file's folder is synced with its
 * first record. */
#include "llm-gateway/budget/frame_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "llm-gateway/budget/frame_file_inside.h"

#define PENDING_LIMIT_BYTES ((size_t)160 << 20)
#define KEPT_BYTES          ((size_t)1 << 20) /* buffers that grew beyond are given back */

struct atoll_frame_file *atoll_frame_file_open(const char *path, enum atoll_frame_file_mode mode,
                                               const struct atoll_frame_file_ops *ops, struct atoll_err *err)
{
    struct atoll_frame_file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open it", path);
        return NULL;
    }
    file->ops = ops ? ops : atoll_frame_file_real_ops();
    atoll_buffer_init(&file->pending, PENDING_LIMIT_BYTES);
    atoll_buffer_init(&file->scratch, ATOLL_FRAME_PAYLOAD_LIMIT);
    int flags = mode == ATOLL_FRAME_FILE_WRITE ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC;
    file->fd = file->ops->open(file->ops->context, path, flags, 0600);
    struct stat st;
    if (file->fd >= 0 && fstat(file->fd, &st) == 0 && S_ISREG(st.st_mode))
        return file;
    if (file->fd >= 0)
        atoll_err_set(err, ATOLL_E_INPUT, "%s: is not a regular file", path);
    else if (mode == ATOLL_FRAME_FILE_WRITE)
        atoll_frame_file_write_failed(path, "open the file", errno, err);
    else
        atoll_err_errno(err, errno, "%s: cannot open the file", path);
    atoll_frame_file_close(file);
    return NULL;
}

void atoll_frame_file_close(struct atoll_frame_file *file)
{
    if (!file)
        return;
    if (file->is_syncing)
        atoll_syncer_wait(file->syncer, &file->job);
    if (file->fd >= 0)
        file->ops->close(file->ops->context, file->fd);
    atoll_buffer_fini(&file->pending);
    atoll_buffer_fini(&file->scratch);
    free(file->window);
    free(file->path);
    free(file);
}

static void nap(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* Polled: a waiting fcntl could not be given up, and network file systems poll as well. */
int atoll_frame_file_lock(struct atoll_frame_file *file, double wait_s, struct atoll_err *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    double waited_s = 0, nap_s = 0.0002;
    for (;;) {
        if (fcntl(file->fd, F_OFD_SETLK, &lock) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            atoll_err_errno(err, errno, "%s: cannot lock", file->path);
            return atoll_err_add(err,
                                 "this file system seems to have no locks: choose a folder on one that has");
        }
        if (waited_s >= wait_s)
            return atoll_err_set(err, ATOLL_E_BUSY, "%s: another process holds its lock", file->path);
        nap(nap_s);
        waited_s += nap_s;
        nap_s = nap_s < 0.02 ? nap_s * 1.5 : nap_s;
    }
}

void atoll_frame_file_unlock(struct atoll_frame_file *file)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(file->fd, F_OFD_SETLK, &lock);
}

int atoll_frame_file_is_locked(const struct atoll_frame_file *file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int atoll_frame_file_has_more(struct atoll_frame_file *file, struct atoll_err *err)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return atoll_err_errno(err, errno, "%s: cannot look at the file", file->path);
    return (uint64_t)st.st_size > file->end;
}

int atoll_frame_file_cut(struct atoll_frame_file *file, struct atoll_err *err)
{
    int more = atoll_frame_file_has_more(file, err);
    if (more <= 0)
        return more;
    if (file->ops->ftruncate(file->ops->context, file->fd, (off_t)file->end) != 0)
        return atoll_frame_file_write_failed(file->path, "cut its torn end", errno, err);
    return 0;
}

static void put_prefix(struct atoll_frame_file *file)
{
    if (file->number == 0) /* the first record of a new file */
        do
            randombytes_buf(&file->number, sizeof file->number);
        while (file->number == 0);
    atoll_buffer_clear(&file->scratch);
    atoll_buffer_put_u64(&file->scratch, file->durable);
    atoll_buffer_put_u64(&file->scratch, file->number);
}

int atoll_frame_file_append(struct atoll_frame_file *file, uint16_t type, const struct atoll_buffer *payload,
                            uint64_t *ret_offset, struct atoll_err *err)
{
    size_t before = file->pending.length;
    if (atoll_buffer_check(payload, err) != 0)
        return -1;
    put_prefix(file);
    atoll_buffer_put_bytes(&file->scratch, payload->data, payload->length);
    int rc = atoll_buffer_check(&file->scratch, err);
    if (rc == 0)
        rc = atoll_frame_encode(&file->pending, type, file->scratch.data, file->scratch.length, err);
    if (file->scratch.capacity > KEPT_BYTES)
        atoll_buffer_fini(&file->scratch);
    if (rc != 0) {
        file->pending.length = before;
        file->pending.failed = 0;
        return atoll_err_add(err, "while appending to %s", file->path);
    }
    if (ret_offset)
        *ret_offset = file->base + before;
    return 0;
}

static int write_all(struct atoll_frame_file *file)
{
    uint64_t from = file->is_suspect ? file->base : file->end;
    const unsigned char *at = file->pending.data + (from - file->base);
    size_t left = file->pending.length - (size_t)(from - file->base);
    off_t offset = (off_t)from;
    while (left > 0) {
        ssize_t n = file->ops->write_at(file->ops->context, file->fd, at, left, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* a regular file that takes nothing and gives no reason */
        if (n <= 0)
            return -1;
        at += n;
        left -= (size_t)n;
        offset += n;
    }
    return 0;
}

/* Cutting back may fail too: then what stands there was never acknowledged, and is written over or cut later. */
static int sync_failed(struct atoll_frame_file *file, const char *doing, int sys_errno, struct atoll_err *err)
{
    file->is_suspect = file->base < file->end;
    file->ops->ftruncate(file->ops->context, file->fd, (off_t)file->end);
    return atoll_frame_file_write_failed(file->path, doing, sys_errno, err);
}

static int flush(struct atoll_frame_file *file, struct atoll_err *err)
{
    if (write_all(file) != 0)
        return sync_failed(file, "write the file", errno, err);
    if (file->ops->fdatasync(file->ops->context, file->fd) != 0)
        return sync_failed(file, "sync the file", errno, err);
    file->is_suspect = 0;
    return file->base == 0 ? atoll_frame_file_sync_parent(file->ops, file->path, err) : 0;
}

/* Everything until there is durable. */
static void drop_until(struct atoll_frame_file *file, uint64_t durable)
{
    size_t done = (size_t)(durable - file->base);
    file->pending.length -= done;
    if (file->pending.length)
        memmove(file->pending.data, file->pending.data + done, file->pending.length);
    else if (file->pending.capacity > KEPT_BYTES)
        atoll_buffer_fini(&file->pending);
    file->base = file->durable = durable;
}

enum atoll_frame_file_sync atoll_frame_file_sync_end(struct atoll_frame_file *file)
{
    if (!file->is_syncing)
        return ATOLL_SYNC_NONE;
    if (!atoll_syncer_is_done(file->syncer, &file->job))
        return ATOLL_SYNC_RUNS;
    file->is_syncing = 0;
    if (file->job.error) {
        file->is_suspect = 1;
        return ATOLL_SYNC_FAILED;
    }
    drop_until(file, file->job_end);
    return ATOLL_SYNC_ENDED;
}

/* An error is told to one fdatasync only: who syncs while another goes on must not take its own success for both. */
static void await_syncer(struct atoll_frame_file *file)
{
    if (!file->is_syncing)
        return;
    atoll_syncer_wait(file->syncer, &file->job);
    atoll_frame_file_sync_end(file);
}

int atoll_frame_file_sync(struct atoll_frame_file *file, struct atoll_err *err)
{
    await_syncer(file);
    if (file->pending.length == 0)
        return 0;
    if (flush(file, err) != 0)
        return -1;
    file->end = file->base + file->pending.length;
    drop_until(file, file->end);
    return 0;
}

int atoll_frame_file_sync_all(struct atoll_frame_file *file, struct atoll_err *err)
{
    if (file->pending.length)
        return atoll_frame_file_sync(file, err);
    if (file->ops->fdatasync(file->ops->context, file->fd) != 0)
        return atoll_frame_file_write_failed(file->path, "sync the file", errno, err);
    return 0;
}

int atoll_frame_file_write(struct atoll_frame_file *file, struct atoll_err *err)
{
    if (!atoll_frame_file_is_dirty(file))
        return 0;
    if (file->is_suspect || file->base == 0)
        return atoll_frame_file_sync(file, err);
    if (write_all(file) != 0) {
        int sys_errno = errno;
        file->ops->ftruncate(file->ops->context, file->fd, (off_t)file->end);
        return atoll_frame_file_write_failed(file->path, "write the file", sys_errno, err);
    }
    file->end = file->base + file->pending.length;
    return 0;
}

int atoll_frame_file_sync_begin(struct atoll_frame_file *file, struct atoll_syncer *syncer,
                                struct atoll_err *err)
{
    if (file->is_syncing)
        return 0;
    if (atoll_frame_file_write(file, err) != 0)
        return -1;
    if (file->pending.length == 0)
        return 0;
    file->job = (struct atoll_syncer_job){
        .sync = file->ops->fdatasync, .context = file->ops->context, .fd = file->fd};
    file->job_end = file->end;
    file->syncer = syncer;
    file->is_syncing = 1;
    atoll_syncer_start(syncer, &file->job);
    return 0;
}

int atoll_frame_file_sync_into(struct atoll_frame_file *file, atoll_frame_file_sink *sink, void *context,
                               struct atoll_err *err)
{
    if (file->pending.length && flush(file, err) != 0)
        return -1;
    int rc = 0;
    for (size_t at = 0, used; rc == 0 && at < file->pending.length; at += used) {
        struct atoll_frame frame;
        int got = atoll_frame_decode(file->pending.data + at, file->pending.length - at, &frame, &used, err);
        if (got != 1)
            return got == 0 ? atoll_err_set(err, ATOLL_E_INTERNAL, "%s: half a record", file->path) : -1;
        struct atoll_frame record = {.type = frame.type,
                                     .payload = frame.payload + ATOLL_FRAME_FILE_PREFIX_BYTES,
                                     .length = frame.length - ATOLL_FRAME_FILE_PREFIX_BYTES};
        rc = sink(context, file->end, &record, err);
        file->end += rc == 0 ? used : 0;
        file->durable = file->end;
    }
    atoll_buffer_clear(&file->pending);
    file->base = file->end;
    atoll_frame_file_discard(file);
    return rc;
}

void atoll_frame_file_discard(struct atoll_frame_file *file)
{
    file->pending.length = (size_t)(file->end - file->base);
    file->pending.failed = 0;
    if (file->pending.length == 0 && file->pending.capacity > KEPT_BYTES)
        atoll_buffer_fini(&file->pending);
    if (file->end == 0)
        file->number = 0;
}

void atoll_frame_file_take_back(struct atoll_frame_file *file, uint64_t offset)
{
    file->pending.length = (size_t)(offset - file->base);
}

int atoll_frame_file_is_dirty(const struct atoll_frame_file *file)
{
    return file->is_suspect || file->base + file->pending.length > file->end;
}

int atoll_frame_file_is_synced(const struct atoll_frame_file *file)
{
    return file->pending.length == 0;
}

uint64_t atoll_frame_file_end(const struct atoll_frame_file *file)
{
    return file->end;
}

uint64_t atoll_frame_file_number(const struct atoll_frame_file *file)
{
    return file->number;
}

const char *atoll_frame_file_path(const struct atoll_frame_file *file)
{
    return file->path;
}
