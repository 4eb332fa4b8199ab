/* lease_record.c - the two lines, as text that a person can read too, and the holder, in words that another process on the
 * same kernel can check: `boot` joins the kernel's boot id and the process's pid namespace, for a pid means something in one
 * namespace only. */
#include "base/lease_record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/frame.h"

#define CRC_BYTES      8u
#define TORN_BEAT      (1ull << 63)
#define BOOT_ID_DIGITS 32u /* of boot; a hyphen and its namespace follow */

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

void atoll_lease_record_encode(struct atoll_lease_record *r, char ret_bytes[ATOLL_LEASE_RECORD_BYTES])
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
    atoll_lease_record_encode_beat(r, ret_bytes + sizeof(r->head));
}

void atoll_lease_record_encode_beat(const struct atoll_lease_record *r,
                                    char ret_bytes[ATOLL_LEASE_BEAT_BYTES])
{
    snprintf(ret_bytes, ATOLL_LEASE_BEAT_BYTES, "........ beat %llu %s", (unsigned long long)r->beat,
             r->is_released ? "released" : "held");
    line_close(ret_bytes, ATOLL_LEASE_BEAT_BYTES);
}

static int head_scan(struct atoll_lease_record *r)
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

static int beat_scan(const char *line, struct atoll_lease_record *r)
{
    unsigned long long beat;
    char state[16] = "";
    if (sscanf(line + CRC_BYTES, " beat %llu %15s", &beat, state) != 2)
        return 0;
    r->beat = beat;
    r->is_released = strcmp(state, "released") == 0;
    return 1;
}

void atoll_lease_record_decode(const char *bytes, size_t length, struct atoll_lease_record *ret_record)
{
    char all[ATOLL_LEASE_RECORD_BYTES + 1] = "";
    struct atoll_lease_record r = {.epoch = 0};
    memcpy(all, bytes, length < ATOLL_LEASE_RECORD_BYTES ? length : ATOLL_LEASE_RECORD_BYTES);
    memcpy(r.head, all, sizeof(r.head));
    r.head[sizeof(r.head) - 1] = '\0'; /* sscanf needs an end; a good line has its newline there */
    const char *beat = all + ATOLL_LEASE_HEAD_BYTES;
    r.is_head_good = line_is_good(all, ATOLL_LEASE_HEAD_BYTES) && head_scan(&r);
    memcpy(r.head, all, sizeof(r.head));
    r.is_beat_good = line_is_good(beat, ATOLL_LEASE_BEAT_BYTES) && beat_scan(beat, &r);
    if (!r.is_beat_good)
        r.beat = TORN_BEAT | atoll_crc32c(0, all, ATOLL_LEASE_RECORD_BYTES);
    if (!r.is_head_good)
        r.holder = (struct atoll_lease_holder){.pid = 0};
    *ret_record = r;
}

int atoll_lease_record_read(const char *path, struct atoll_lease_record *ret_record, struct atoll_err *err)
{
    char bytes[ATOLL_LEASE_RECORD_BYTES];
    size_t length = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
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
    atoll_lease_record_decode(bytes, length, ret_record);
    return 0;
}

/* ---- the holder ---- */

/* The whole of a small file; "" when it is not there. */
static void read_text(const char *path, char *ret_text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
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

int atoll_lease_holder_is_dead(const struct atoll_lease_holder *holder, const struct atoll_lease_holder *self)
{
    if (!self)
        return 0;
    if (*self->boot && strcmp(holder->boot, self->boot) == 0 && process_is_gone(holder))
        return 1;
    if (is_rebooted(holder, self))
        return 1;
    return *self->job && strcmp(holder->job, self->job) == 0 && holder->restarts < self->restarts;
}
