/* lease.c - claims by link(2).
 *
 * A claim of epoch n follows the claim n - 1 that its claimer judged to be free, and counts where both hold:
 * - link(2) of a prepared file to the number n succeeded (or its answer was lost and the file is there);
 * - afterwards claim n - 1 is still there, byte for byte, and no higher number is.
 * Claims are removed from the lowest up, so whoever finds n - 1 in place knows that n was never taken
 * before: a claimer that slept between looking and linking cannot win a number again.  One whose claim does not count marks it
 * released and leaves it to be removed.
 *
 * Epoch 0, or a number that writers without leases have come to, is placed as a released claim first, so that every claim
 * follows one.
 *
 *   lease/000007                       the claim of epoch 7
 *   lease/.claim+PID+START+BOOT+TOKEN  prepared by a claimer, linked to its number, then unlinked */
#include "base/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lease_record.h"

#define FOLDER             "lease"
#define PREPARED           ".claim+"
#define PREPARED_OLD_S     600
#define VANISHED_LIMIT     1000
#define SWEEP_LIMIT        4096 /* claims in one sweep; those beyond wait for the next */
#define EPOCH_DIGITS_LIMIT 10
#define LOOKS              16 /* until a claim gives way to others that are as fast */

struct atoll_lease {
    const struct atoll_file_ops *ops;
    char *folder;
    int fd; /* of the claim, -1 none */
    struct atoll_lease_record record;
    struct atoll_lease_seen before; /* what the claim follows */
    char follows[ATOLL_LEASE_HEAD_BYTES];
    int is_lost;
};

/* ---- the claim files ---- */

/* Paths below folder (which is DIR/lease).  LIMIT when they are too long. */
static int claim_path(const char *folder, uint32_t epoch, char *ret_path, size_t bytes, struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/%06u", folder, epoch) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", folder);
    return 0;
}

static int prepared_path(const char *folder, const struct atoll_lease_record *r, char *ret_path, size_t bytes,
                         struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/" PREPARED "%lld+%llu+%s+%016llx", folder,
                         (long long)r->holder.pid, (unsigned long long)r->holder.pid_start,
                         *r->holder.boot ? r->holder.boot : "-", (unsigned long long)r->token) >= bytes) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", folder);
    }
    return 0;
}

/* 1 when the name is a claim's. */
static int is_claim(const char *name, uint32_t *ret_epoch)
{
    size_t length = strspn(name, "0123456789");
    unsigned long long epoch = strtoull(name, NULL, 10);
    if (length < 6 || length > EPOCH_DIGITS_LIMIT || name[length] || epoch > UINT32_MAX)
        return 0;
    *ret_epoch = (uint32_t)epoch;
    return 1;
}

/* The highest number.  1 found, 0 none (also no folder), -1 error. */
static int newest_epoch(const char *folder, uint32_t *ret_epoch, struct atoll_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    uint32_t epoch;
    int found = 0;
    if (!d)
        return errno == ENOENT ? 0 : atoll_err_errno(err, errno, "%s: cannot list the claims", folder);
    errno = 0;
    for (; (e = readdir(d)); errno = 0) {
        if (is_claim(e->d_name, &epoch) && (!found || epoch > *ret_epoch)) {
            *ret_epoch = epoch;
            found = 1;
        }
    }
    int failed = errno;
    closedir(d);
    return failed ? atoll_err_errno(err, failed, "%s: cannot list the claims", folder) : found;
}

/* The newest claim, read.  1, 0, -1 alike. */
static int newest_read(const char *folder, struct atoll_lease_record *ret_record, struct atoll_err *err)
{
    char path[PATH_MAX];
    for (int i = 0; i < VANISHED_LIMIT; i++) { /* a newer claim's holder removes what was listed */
        struct atoll_err own = ATOLL_ERR_INIT;
        uint32_t epoch = 0;
        int found = newest_epoch(folder, &epoch, err);
        if (found <= 0)
            return found;
        if (claim_path(folder, epoch, path, sizeof(path), err) != 0)
            return -1;
        if (atoll_lease_record_read(path, ret_record, &own) == 0) {
            ret_record->epoch = epoch;
            return 1;
        }
        if (own.code != ATOLL_E_NOTFOUND) {
            if (err)
                *err = own;
            return -1;
        }
    }
    return atoll_err_set(err, ATOLL_E_IO, "%s: the newest claim is listed and cannot be found; look again",
                         folder);
}

static int by_epoch(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* In order, up to the first that stays. */
static void claims_remove(const char *folder, uint32_t *epochs, size_t count,
                          const struct atoll_file_ops *ops)
{
    char path[PATH_MAX];
    qsort(epochs, count, sizeof(*epochs), by_epoch);
    for (size_t i = 0; i < count; i++) {
        if (claim_path(folder, epochs[i], path, sizeof(path), NULL) != 0 ||
            (ops->unlink(ops->context, path) != 0 && errno != ENOENT)) {
            return;
        }
    }
}

static void prepared_sweep(const char *folder, const char *name, const struct timespec *now,
                           const struct atoll_lease_holder *self, const struct atoll_file_ops *ops)
{
    struct atoll_lease_holder of = {.pid = 0};
    struct stat st;
    char path[PATH_MAX];
    long long pid = 0;
    unsigned long long start = 0;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return;
    if (sscanf(name, PREPARED "%lld+%llu+%39[^+]", &pid, &start, of.boot) == 3) {
        of.pid = pid;
        of.pid_start = start;
    }
    if (atoll_lease_holder_is_dead(&of, self) ||
        (stat(path, &st) == 0 && now->tv_sec - st.st_mtim.tv_sec > PREPARED_OLD_S)) {
        ops->unlink(ops->context, path);
    }
}

/* Removes claims below `newest`, the lowest first and none above one that stays: whoever finds its predecessor in place
 * knows that its own number was never taken.  And prepared files of processes that are gone, as self sees it, or that are
 * older than `newest` by ten minutes of the file system's clock.  What cannot be removed stays for the next time. */
static void sweep(const char *folder, uint32_t newest, const struct atoll_lease_holder *self,
                  const struct atoll_file_ops *ops)
{
    uint32_t epochs[SWEEP_LIMIT], epoch;
    size_t count = 0, seen = 0;
    char path[PATH_MAX];
    struct stat st;
    DIR *d = opendir(folder);
    if (!d)
        return;
    int has_now = claim_path(folder, newest, path, sizeof(path), NULL) == 0 && stat(path, &st) == 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (has_now && strncmp(e->d_name, PREPARED, strlen(PREPARED)) == 0)
            prepared_sweep(folder, e->d_name, &st.st_mtim, self, ops);
        if (!is_claim(e->d_name, &epoch) || epoch >= newest)
            continue;
        seen++;
        if (count < SWEEP_LIMIT)
            epochs[count++] = epoch;
    }
    closedir(d);
    if (seen == count) /* else the lowest may be among those that were not kept */
        claims_remove(folder, epochs, count, ops);
}

/* ---- looking ---- */

static struct atoll_lease_seen seen_of(const struct atoll_lease_record *r,
                                       const struct atoll_lease_holder *self)
{
    enum atoll_lease_state state = ATOLL_LEASE_HELD;
    if (r->is_beat_good && r->is_released)
        state = r->epoch == 0 ? ATOLL_LEASE_FREE : ATOLL_LEASE_RELEASED;
    else if (r->is_head_good && atoll_lease_holder_is_dead(&r->holder, self))
        state = ATOLL_LEASE_DEAD;
    return (struct atoll_lease_seen){state, r->epoch, r->beat, r->holder};
}

int atoll_lease_look(const char *dir, const struct atoll_lease_holder *self,
                     struct atoll_lease_seen *ret_seen, struct atoll_err *err)
{
    char folder[PATH_MAX];
    struct atoll_lease_record record;
    if ((size_t)snprintf(folder, sizeof(folder), "%s/" FOLDER, dir) >= sizeof(folder))
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", dir);
    int found = newest_read(folder, &record, err);
    if (found < 0)
        return -1;
    *ret_seen = found ? seen_of(&record, self) : (struct atoll_lease_seen){.state = ATOLL_LEASE_FREE};
    return 0;
}

double atoll_lease_watch_note(struct atoll_lease_watch *watch, const struct atoll_lease_seen *seen,
                              double now_ns)
{
    if (!watch->is_started || watch->epoch != seen->epoch || watch->beat != seen->beat)
        *watch = (struct atoll_lease_watch){seen->epoch, seen->beat, now_ns, 1};
    return (now_ns - watch->since_ns) / 1e9;
}

/* ---- claiming ---- */

static int busy(const struct atoll_lease *l, const struct atoll_lease_seen *by, struct atoll_err *err)
{
    const struct atoll_lease_holder *h = &by->holder;
    if (h->pid == 0) {
        return atoll_err_set(err, ATOLL_E_BUSY,
                             "%s/%06u: another process works here and its claim cannot be read; wait for it",
                             l->folder, by->epoch);
    }
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "%s/%06u: another process works here: pid %lld on host %s, job %s; wait for it or stop it, or "
        "choose another folder. Where that host is gone: if the number behind \"beat\" in this file, now "
        "%llu, stands still for %.0f s, `atoll-eval --takeover %u` may go on",
        l->folder, by->epoch, (long long)h->pid, h->host, h->job, (unsigned long long)by->beat,
        ATOLL_LEASE_TIME_S, by->epoch);
}

/* Names whoever has the newest claim now. */
static int busy_by_newest(const struct atoll_lease *l, struct atoll_err *err)
{
    struct atoll_lease_record newest;
    int found = newest_read(l->folder, &newest, err);
    if (found < 0)
        return -1;
    if (found == 0 || newest.epoch <= l->record.epoch) {
        return atoll_err_set(err, ATOLL_E_BUSY, "%s: the claim of epoch %u was removed by hand; start again",
                             l->folder, l->record.epoch);
    }
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "%s: epoch %u of this process was taken over by epoch %u: pid %lld on host %s, job %s", l->folder,
        l->record.epoch, newest.epoch, (long long)newest.holder.pid,
        *newest.holder.host ? newest.holder.host : "?", newest.holder.job);
}

static void file_close(struct atoll_lease *l)
{
    if (l->fd >= 0)
        l->ops->close(l->ops->context, l->fd);
    l->fd = -1;
}

/* Writes l->record into a new file, durable, and keeps it open. */
static int record_write(struct atoll_lease *l, const char *path, struct atoll_err *err)
{
    char bytes[ATOLL_LEASE_RECORD_BYTES];
    atoll_lease_record_encode(&l->record, bytes);
    l->fd = l->ops->open(l->ops->context, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (l->fd < 0) {
        return errno == EEXIST ? atoll_err_errno(err, errno, "%s: cannot claim", path)
                               : atoll_file_write_failed(path, "create the claim", errno, err);
    }
    if (atoll_file_write_all(l->ops, l->fd, bytes, sizeof(bytes), 0) == 0 &&
        l->ops->fsync(l->ops->context, l->fd) == 0) {
        return 0;
    }
    int failed = errno;
    file_close(l);
    l->ops->unlink(l->ops->context, path);
    return atoll_file_write_failed(path, "write the claim", failed, err);
}

/* The answer of a link may be lost on its way (NFS): then the file says whether it was made. */
static int is_linked(const struct atoll_lease *l, const char *path)
{
    struct stat mine, there;
    return fstat(l->fd, &mine) == 0 && mine.st_nlink == 2 && stat(path, &there) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* A file system without links makes a new file for one caller alone as well, but shows it before it is written. */
static int file_place_new(struct atoll_lease *l, const char *path, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    file_close(l);
    if (record_write(l, path, &own) == 0)
        return 1;
    if (own.code == ATOLL_E_EXISTS)
        return 0;
    if (err)
        *err = own;
    return -1;
}

/* Gives the prepared file its number.  1: ours; 0: somebody else was faster; -1 error. */
static int place(struct atoll_lease *l, const char *prepared, const char *path, struct atoll_err *err)
{
    int failed = l->ops->link(l->ops->context, prepared, path) == 0 ? 0 : errno;
    if (!failed || is_linked(l, path))
        return 1;
    switch (failed) {
    case EEXIST:
    case ENOENT: return 0; /* ENOENT: slept so long that the prepared file was swept */
    case EPERM:
    case ENOSYS:
    case EMLINK:
    case EOPNOTSUPP: return file_place_new(l, path, err);
    default: return atoll_file_write_failed(path, "claim", failed, err);
    }
}

/* A file of l->record under its number.  1, 0, -1 as place. */
static int number_take(struct atoll_lease *l, struct atoll_err *err)
{
    char prepared[PATH_MAX], path[PATH_MAX];
    if (getrandom(&l->record.token, sizeof(l->record.token), 0) != (ssize_t)sizeof(l->record.token))
        return atoll_err_errno(err, errno, "%s: no random number for a claim", l->folder);
    if (prepared_path(l->folder, &l->record, prepared, sizeof(prepared), err) != 0 ||
        claim_path(l->folder, l->record.epoch, path, sizeof(path), err) != 0 ||
        record_write(l, prepared, err) != 0) {
        return -1;
    }
    int placed = place(l, prepared, path, err);
    l->ops->unlink(l->ops->context, prepared);
    if (placed != 1)
        file_close(l);
    return placed;
}

/* A claim that is released from the start. */
static int released_place(struct atoll_lease *l, uint32_t epoch, struct atoll_err *err)
{
    l->record.epoch = epoch;
    l->record.is_released = 1;
    int placed = number_take(l, err);
    file_close(l);
    return placed < 0 ? -1 : 0;
}

static int beat_write(struct atoll_lease *l, struct atoll_err *err)
{
    char bytes[ATOLL_LEASE_BEAT_BYTES];
    atoll_lease_record_encode_beat(&l->record, bytes);
    if (atoll_file_write_all(l->ops, l->fd, bytes, sizeof(bytes), ATOLL_LEASE_HEAD_BYTES) == 0 &&
        l->ops->fdatasync(l->ops->context, l->fd) == 0) {
        return 0;
    }
    return atoll_file_write_failed(l->folder, "renew the claim", errno, err);
}

static void mark_released(struct atoll_lease *l)
{
    l->record.beat++;
    l->record.is_released = 1;
    for (int i = 0; i < 2 && beat_write(l, NULL) != 0; i++)
        continue; /* where it cannot be said, the end of this process says it */
    file_close(l);
}

/* 1: the claim that was followed is there still and none is newer than ours; 0 not; -1 error. */
static int counts(const struct atoll_lease *l, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_lease_record before;
    uint32_t newest = 0;
    if (claim_path(l->folder, l->before.epoch, path, sizeof(path), err) != 0)
        return -1;
    if (atoll_lease_record_read(path, &before, &own) != 0) {
        if (own.code == ATOLL_E_NOTFOUND)
            return 0;
        if (err)
            *err = own;
        return -1;
    }
    if (memcmp(before.head, l->follows, sizeof(before.head)) != 0)
        return 0;
    if (newest_epoch(l->folder, &newest, err) < 0)
        return -1;
    return newest == l->record.epoch;
}

/* Claims the number behind what was seen.  1, 0 (look again), -1. */
static int follow(struct atoll_lease *l, const struct atoll_lease_record *newest, struct atoll_err *err)
{
    if (newest->epoch == UINT32_MAX)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: no number is left", l->folder);
    memcpy(l->follows, newest->head, sizeof(l->follows));
    l->record.epoch = newest->epoch + 1;
    l->record.beat = 1;
    l->record.is_released = 0;
    int placed = number_take(l, err);
    if (placed == 0)
        return 0;
    if (placed > 0)
        placed = atoll_file_sync_directory(l->ops, l->folder, err) == 0 ? counts(l, err) : -1;
    if (placed != 1 && l->fd >= 0)
        mark_released(l);
    return placed == 0 ? busy_by_newest(l, err) : placed;
}

static int claim_once(struct atoll_lease *l, uint32_t silent_epoch, uint32_t after, struct atoll_err *err)
{
    struct atoll_lease_record newest;
    int found = newest_read(l->folder, &newest, err);
    if (found < 0)
        return -1;
    if (found == 0)
        return released_place(l, after, err);
    l->before = seen_of(&newest, &l->record.holder);
    if (l->before.state == ATOLL_LEASE_HELD && (silent_epoch == 0 || silent_epoch != newest.epoch))
        return busy(l, &l->before, err);
    return newest.epoch < after ? released_place(l, after, err) : follow(l, &newest, err);
}

static void lease_destroy(struct atoll_lease *l)
{
    file_close(l);
    free(l->folder);
    free(l);
}

struct atoll_lease *atoll_lease_claim_after(const char *dir, const struct atoll_lease_holder *self,
                                            uint32_t silent_epoch, uint32_t after,
                                            const struct atoll_file_ops *ops, struct atoll_err *err)
{
    struct atoll_lease *l = calloc(1, sizeof(*l));
    int got = 0;
    if (!l || asprintf(&l->folder, "%s/" FOLDER, dir) < 0) {
        free(l);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a lease");
        return NULL;
    }
    l->ops = ops ? ops : atoll_file_ops_real();
    l->fd = -1;
    l->record.holder = *self;
    if (l->ops->mkdir(l->ops->context, l->folder, 0777) == 0)
        got = atoll_file_sync_parent(l->ops, l->folder, err);
    else if (errno != EEXIST)
        got = atoll_file_write_failed(l->folder, "make the folder", errno, err);
    for (int i = 0; got == 0 && i < LOOKS; i++)
        got = claim_once(l, silent_epoch, after, err);
    if (got == 0)
        atoll_err_set(err, ATOLL_E_BUSY, "%s: others claim faster; try again", l->folder);
    if (got == 1) {
        sweep(l->folder, l->record.epoch, &l->record.holder, l->ops);
        return l;
    }
    lease_destroy(l);
    return NULL;
}

struct atoll_lease *atoll_lease_claim(const char *dir, const struct atoll_lease_holder *self,
                                      uint32_t silent_epoch, const struct atoll_file_ops *ops,
                                      struct atoll_err *err)
{
    return atoll_lease_claim_after(dir, self, silent_epoch, 0, ops, err);
}

/* ---- holding ---- */

/* The beat first: what a watcher sees then is no older than what this call found out. */
int atoll_lease_renew(struct atoll_lease *l, struct atoll_err *err)
{
    uint32_t newest = 0;
    if (l->is_lost)
        return busy_by_newest(l, err);
    l->record.beat++;
    if (beat_write(l, err) != 0)
        return -1;
    int found = newest_epoch(l->folder, &newest, err);
    if (found < 0)
        return -1;
    if (found == 0 || newest != l->record.epoch) {
        l->is_lost = 1;
        return busy_by_newest(l, err);
    }
    sweep(l->folder, newest, &l->record.holder, l->ops);
    return 0;
}

uint32_t atoll_lease_epoch(const struct atoll_lease *lease)
{
    return lease->record.epoch;
}

struct atoll_lease_seen atoll_lease_before(const struct atoll_lease *lease)
{
    return lease->before;
}

void atoll_lease_release(struct atoll_lease *l)
{
    if (!l)
        return;
    if (!l->is_lost)
        mark_released(l);
    lease_destroy(l);
}
