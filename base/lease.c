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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/frame.h"

#define FOLDER             "lease"
#define PREPARED           ".claim+"
#define PREPARED_OLD_S     600
#define VANISHED_LIMIT     1000
#define SWEEP_LIMIT        4096 /* claims in one sweep; those beyond wait for the next */
#define EPOCH_DIGITS_LIMIT 10
#define LOOKS              16 /* until a claim gives way to others that are as fast */
#define CRC_BYTES          8u
#define TORN_BEAT          (1ull << 63)
#define BOOT_ID_DIGITS     32u /* of boot; a hyphen and its namespace follow */

/* ---- one claim file ----
 *
 * Two lines of fixed length, as text that a person can read too, each with the CRC-32C (hex) of what follows it.  The first
 * says who claims what and never changes; the second is the beat, rewritten in place by a write that no sector boundary cuts,
 * so that a torn one leaves the name of its holder readable.  `boot` joins the kernel's boot id and the process's pid
 * namespace, for a pid means something in one namespace only. */

#define HEAD_BYTES   448u
#define BEAT_BYTES   64u
#define RECORD_BYTES (HEAD_BYTES + BEAT_BYTES)

struct record {
    uint32_t epoch;
    struct atoll_lease_holder holder;
    uint64_t token; /* random: tells two claims of one number apart */
    uint64_t beat;
    int is_released;
    int is_head_good, is_beat_good; /* checksums hold; 0: the fields of that line are zero */
    char head[HEAD_BYTES];          /* as read or encoded */
};

struct atoll_lease {
    const struct atoll_file_ops *ops;
    char *folder;
    int fd; /* of the claim, -1 none */
    struct record record;
    struct atoll_lease_seen before; /* what the claim follows */
    char follows[HEAD_BYTES];
    int is_lost;
};

/* Pads with spaces up to the newline at the end and writes the checksum in front. */
static void line_close(char *line, size_t bytes)
{
    char crc[CRC_BYTES + 1];
    size_t used = strnlen(line, bytes - 1);
    memset(line + used, ' ', bytes - 1 - used);
    line[bytes - 1] = '\n';
    snprintf(crc, sizeof(crc), "%08x", atoll_crc32c(0, line + CRC_BYTES, bytes - CRC_BYTES));
    memcpy(line, crc, CRC_BYTES);
}

static int line_is_good(const char *line, size_t bytes)
{
    char crc[CRC_BYTES + 1];
    snprintf(crc, sizeof(crc), "%08x", atoll_crc32c(0, line + CRC_BYTES, bytes - CRC_BYTES));
    return memcmp(line, crc, CRC_BYTES) == 0;
}

/* A word of the line: printable, never empty. */
static const char *word_of(const char *text, char ret_word[64])
{
    size_t length = 0;
    for (; length < 63 && text[length]; length++)
        ret_word[length] = text[length] > ' ' && text[length] <= '~' ? text[length] : '_';
    if (length == 0)
        ret_word[length++] = '-';
    ret_word[length] = '\0';
    return ret_word;
}

/* The second line alone, which stands behind the first. */
static void beat_encode(const struct record *r, char ret_bytes[BEAT_BYTES])
{
    snprintf(ret_bytes, BEAT_BYTES, "........ beat %llu %s", (unsigned long long)r->beat,
             r->is_released ? "released" : "held");
    line_close(ret_bytes, BEAT_BYTES);
}

/* Both lines; fills r->head. */
static void record_encode(struct record *r, char ret_bytes[RECORD_BYTES])
{
    char job[64], host[64], boot[64];
    snprintf(r->head, sizeof(r->head),
             "........ atoll-lease 1 epoch %u job %s restarts %u host %s boot %s pid %lld start %llu token "
             "%016llx",
             r->epoch, word_of(r->holder.job, job), r->holder.restarts, word_of(r->holder.host, host),
             word_of(r->holder.boot, boot), (long long)r->holder.pid, (unsigned long long)r->holder.pid_start,
             (unsigned long long)r->token);
    line_close(r->head, sizeof(r->head));
    memcpy(ret_bytes, r->head, sizeof(r->head));
    beat_encode(r, ret_bytes + sizeof(r->head));
}

static int head_scan(struct record *r)
{
    struct atoll_lease_holder *h = &r->holder;
    long long pid;
    unsigned long long start, token;
    int fields = sscanf(
        r->head + CRC_BYTES,
        " atoll-lease 1 epoch %u job %63s restarts %u host %63s boot %39s pid %lld start %llu token %llx",
        &r->epoch, h->job, &h->restarts, h->host, h->boot, &pid, &start, &token);
    if (fields != 8)
        return 0;
    h->pid = pid;
    h->pid_start = start;
    r->token = token;
    return 1;
}

static int beat_scan(const char *line, struct record *r)
{
    unsigned long long beat;
    char state[16] = "";
    if (sscanf(line + CRC_BYTES, " beat %llu %15s", &beat, state) != 2)
        return 0;
    r->beat = beat;
    r->is_released = strcmp(state, "released") == 0;
    return 1;
}

/* Never fails; a beat that is torn gets a value of its own, so that a watcher sees a change. */
static void record_decode(const char *bytes, size_t length, struct record *ret_record)
{
    char all[RECORD_BYTES + 1] = "";
    struct record r = {.epoch = 0};
    memcpy(all, bytes, length < RECORD_BYTES ? length : RECORD_BYTES);
    memcpy(r.head, all, sizeof(r.head));
    r.head[sizeof(r.head) - 1] = '\0'; /* sscanf needs an end; a good line has its newline there */
    const char *beat = all + HEAD_BYTES;
    r.is_head_good = line_is_good(all, HEAD_BYTES) && head_scan(&r);
    memcpy(r.head, all, sizeof(r.head));
    r.is_beat_good = line_is_good(beat, BEAT_BYTES) && beat_scan(beat, &r);
    if (!r.is_beat_good)
        r.beat = TORN_BEAT | atoll_crc32c(0, all, RECORD_BYTES);
    if (!r.is_head_good)
        r.holder = (struct atoll_lease_holder){.pid = 0};
    *ret_record = r;
}

/* Opens the file anew: that is when NFS asks its server.  Errors: NOTFOUND, DENIED, IO. */
static int record_read(const char *path, struct record *ret_record, struct atoll_err *err)
{
    char bytes[RECORD_BYTES];
    size_t length = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return atoll_err_errno(err, errno == ESTALE ? ENOENT : errno, "%s: cannot read the claim", path);
    while (n > 0 && length < sizeof(bytes)) {
        n = read(fd, bytes + length, sizeof(bytes) - length);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            length += (size_t)n;
    }
    int failed = n < 0 ? errno : 0;
    close(fd);
    if (failed) /* ESTALE: removed on another client while it was open here */
        return atoll_err_errno(err, failed == ESTALE ? ENOENT : failed, "%s: cannot read the claim", path);
    record_decode(bytes, length, ret_record);
    return 0;
}

/* ---- the holder ---- */

/* The whole of a small file; "" when it is not there. */
static void read_text(const char *path, char *ret_text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = fd >= 0 ? read(fd, ret_text, bytes - 1) : 0;
    ret_text[length > 0 ? length : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* From /proc/PID/stat: the start in clock ticks since boot, and the state's letter ('Z' and 'X': it has ended, and its parent
 * was not told yet).  1, or 0 when it cannot be read: no such process, or hidden from us. */
static int process_stat(int64_t pid, unsigned long long *ret_start_ticks, char *ret_state)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    read_text(path, text, sizeof(text));
    const char *at =
        strrchr(text, ')'); /* the name may hold blanks and parentheses, so fields count from its end */
    return at &&
           sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                  ret_state, ret_start_ticks) == 2;
}

/* 32 digits of the boot id without hyphens, a hyphen, 6 of the namespace; "" when the kernel does not say. */
static void boot_read(char ret_boot[40])
{
    char id[64], link[64] = "", digits[BOOT_ID_DIGITS + 1];
    unsigned long inode = 0;
    size_t count = 0;
    read_text("/proc/sys/kernel/random/boot_id", id, sizeof(id));
    for (const char *c = id; *c && count < BOOT_ID_DIGITS; c++)
        if (strchr("0123456789abcdef", *c))
            digits[count++] = *c;
    digits[count] = '\0';
    ret_boot[0] = '\0';
    if (count == BOOT_ID_DIGITS && readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0 &&
        sscanf(link, "pid:[%lu]", &inode) == 1) {
        snprintf(ret_boot, 40, "%s-%06lx", digits, inode & 0xfffffful);
    }
}

void atoll_lease_holder_self(const char *job, uint32_t restarts, struct atoll_lease_holder *ret_holder)
{
    unsigned long long start;
    char state;
    *ret_holder = (struct atoll_lease_holder){.restarts = restarts, .pid = getpid()};
    snprintf(ret_holder->job, sizeof(ret_holder->job), "%s", job);
    gethostname(ret_holder->host, sizeof(ret_holder->host) - 1);
    boot_read(ret_holder->boot);
    if (process_stat(getpid(), &start, &state))
        ret_holder->pid_start = start;
}

static int process_is_gone(const struct atoll_lease_holder *h)
{
    unsigned long long start;
    char state;
    if (h->pid <= 0)
        return 0;
    if (kill((pid_t)h->pid, 0) != 0 && errno == ESRCH)
        return 1;
    if (!process_stat(h->pid, &start, &state))
        return 0; /* hidden from us, or ended just now */
    if (state == 'Z' || state == 'X')
        return 1; /* its parent has not been told yet */
    return h->pid_start != 0 && start != h->pid_start;
}

/* The machine was started again since.  A name that any machine may have says nothing. */
static int is_rebooted(const struct atoll_lease_holder *h, const struct atoll_lease_holder *self)
{
    return *self->boot && h->boot[0] != '-' && strncmp(h->boot, self->boot, BOOT_ID_DIGITS) != 0 &&
           strcmp(h->host, self->host) == 0 && *h->host &&
           strncmp(h->host, "localhost", strlen("localhost")) != 0;
}

/* Provably gone, as seen from self: same kernel and no such process, same host that was started again since, or same job with
 * fewer restarts. */
static int holder_is_dead(const struct atoll_lease_holder *holder, const struct atoll_lease_holder *self)
{
    if (!self)
        return 0;
    if (*self->boot && strcmp(holder->boot, self->boot) == 0 && process_is_gone(holder))
        return 1;
    if (is_rebooted(holder, self))
        return 1;
    return *self->job && strcmp(holder->job, self->job) == 0 && holder->restarts < self->restarts;
}

/* ---- the claim files ---- */

/* Paths below folder (which is DIR/lease).  LIMIT when they are too long. */
static int claim_path(const char *folder, uint32_t epoch, char *ret_path, size_t bytes, struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/%06u", folder, epoch) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", folder);
    return 0;
}

static int prepared_path(const char *folder, const struct record *r, char *ret_path, size_t bytes,
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
static int newest_read(const char *folder, struct record *ret_record, struct atoll_err *err)
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
        if (record_read(path, ret_record, &own) == 0) {
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
    if (holder_is_dead(&of, self) ||
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

static struct atoll_lease_seen seen_of(const struct record *r, const struct atoll_lease_holder *self)
{
    enum atoll_lease_state state = ATOLL_LEASE_HELD;
    if (r->is_beat_good && r->is_released)
        state = r->epoch == 0 ? ATOLL_LEASE_FREE : ATOLL_LEASE_RELEASED;
    else if (r->is_head_good && holder_is_dead(&r->holder, self))
        state = ATOLL_LEASE_DEAD;
    return (struct atoll_lease_seen){state, r->epoch, r->beat, r->holder};
}

int atoll_lease_look(const char *dir, const struct atoll_lease_holder *self,
                     struct atoll_lease_seen *ret_seen, struct atoll_err *err)
{
    char folder[PATH_MAX];
    struct record record;
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
    struct record newest;
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
    char bytes[RECORD_BYTES];
    record_encode(&l->record, bytes);
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
    char bytes[BEAT_BYTES];
    beat_encode(&l->record, bytes);
    if (atoll_file_write_all(l->ops, l->fd, bytes, sizeof(bytes), HEAD_BYTES) == 0 &&
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
    struct record before;
    uint32_t newest = 0;
    if (claim_path(l->folder, l->before.epoch, path, sizeof(path), err) != 0)
        return -1;
    if (record_read(path, &before, &own) != 0) {
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
static int follow(struct atoll_lease *l, const struct record *newest, struct atoll_err *err)
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
    struct record newest;
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
