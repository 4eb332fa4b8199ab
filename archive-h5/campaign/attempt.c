/* attempt.c - attempts of a campaign: listing them, and starting the next one, which seals its predecessor.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_state.h"
#include "base/arena.h"

int atoll_campaign_journal_path(const struct atoll_campaign *c, char *ret_path, size_t bytes,
                                const char *attempt, struct atoll_err *err)
{
    char name[ATOLL_ATTEMPT_NAME_BYTES + 32];
    snprintf(name, sizeof name, "jobs/%.63s/%s", attempt, ATOLL_JOURNAL_FILE);
    return atoll_campaign_path(c, ret_path, bytes, name, err);
}

int atoll_campaign_digest(const char *path, uint64_t length, struct atoll_id *ret_digest,
                          struct atoll_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int failed = errno;
        if (fd >= 0)
            close(fd);
        return atoll_err_errno(err, failed, "%s: cannot read the journal", path);
    }
    if ((uint64_t)st.st_size < length || length == 0) {
        close(fd);
        return atoll_err_set(err, ATOLL_E_CORRUPT,
                             "%s: has %llu bytes, its successor sealed %llu; restore the file from a copy",
                             path, (unsigned long long)st.st_size, (unsigned long long)length);
    }
    void *map = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0);
    int failed = errno;
    close(fd);
    if (map == MAP_FAILED)
        return atoll_err_errno(err, failed, "%s: cannot map the journal", path);
    *ret_digest = atoll_id_of(map, (size_t)length);
    munmap(map, (size_t)length);
    return 0;
}

int atoll_campaign_has_segment(const struct atoll_campaign *c, const char *attempt)
{
    char name[ATOLL_ATTEMPT_NAME_BYTES + 32], path[PATH_MAX];
    snprintf(name, sizeof name, "jobs/%s/segment-0000.h5", attempt);
    return atoll_campaign_path(c, path, sizeof path, name, NULL) == 0 && access(path, F_OK) == 0;
}

static int lost_journal(const char *path, struct atoll_err *err)
{
    return atoll_err_set(
        err, ATOLL_E_CORRUPT,
        "%s: is missing or empty although the segment beside it was made of it; restore it from a copy",
        path);
}

/* Reads the header of one attempt; an attempt without a readable journal was killed before it began. */
static int read_attempt(const struct atoll_campaign *c, const char *name, struct atoll_attempt *ret_attempt,
                        struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_err local = ATOLL_ERR_INIT;
    const struct atoll_record *record;
    memset(ret_attempt, 0, sizeof *ret_attempt);
    snprintf(ret_attempt->name, sizeof ret_attempt->name, "%.63s", name);
    if (atoll_campaign_journal_path(c, path, sizeof path, name, err) != 0)
        return -1;
    struct atoll_journal_reader *reader = atoll_journal_reader_open(path, &local);
    if (!reader && local.code == ATOLL_E_NOTFOUND)
        return atoll_campaign_has_segment(c, name) ? lost_journal(path, err) : 0;
    int got = reader ? atoll_journal_reader_next(reader, &record, &local) : -1;
    if (got == 1) {
        ret_attempt->has_journal = 1;
        ret_attempt->header = record->header;
    }
    atoll_journal_reader_close(reader);
    if (got < 0 && err)
        *err = local;
    if (got == 0 && atoll_campaign_has_segment(c, name))
        return lost_journal(path, err);
    return got < 0 ? -1 : 0;
}

static int by_number(const void *a, const void *b)
{
    const struct atoll_attempt *x = a, *y = b;
    if (x->has_journal != y->has_journal)
        return x->has_journal ? -1 : 1;
    if (x->header.attempt != y->header.attempt)
        return x->header.attempt < y->header.attempt ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int add_attempt(const struct atoll_campaign *c, const char *name, struct atoll_attempt **attempts,
                       size_t *count, struct atoll_err *err)
{
    struct atoll_attempt *grown = realloc(*attempts, (*count + 1) * sizeof *grown);
    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of attempts");
    *attempts = grown;
    if (read_attempt(c, name, &grown[*count], err) != 0)
        return -1;
    ++*count;
    return 0;
}

int atoll_campaign_attempts(const struct atoll_campaign *c, struct atoll_attempt **ret_attempts,
                            size_t *ret_count, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_attempt *attempts = malloc(sizeof *attempts);
    size_t count = 0;
    int failed = !attempts ? atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of attempts")
                           : atoll_campaign_path(c, path, sizeof path, "jobs", err);
    DIR *d = failed ? NULL : opendir(path);
    if (!failed && !d && errno != ENOENT)
        failed = atoll_err_errno(err, errno, "%s: cannot list the attempts", path);
    for (struct dirent *e; !failed && d && (e = readdir(d));)
        if (e->d_name[0] != '.' && strlen(e->d_name) < ATOLL_ATTEMPT_NAME_BYTES)
            failed = add_attempt(c, e->d_name, &attempts, &count, err);
    if (d)
        closedir(d);
    if (failed) {
        free(attempts);
        return -1;
    }
    qsort(attempts, count, sizeof *attempts, by_number);
    *ret_attempts = attempts;
    *ret_count = count;
    return 0;
}

/* The suffix of "<job>.<n>" when name belongs to job, else -1. */
static long suffix_of(const char *name, const char *job)
{
    size_t length = strlen(job);
    char *end;
    if (strncmp(name, job, length) != 0 || name[length] != '.' || !isdigit((unsigned char)name[length + 1]))
        return -1;
    long n = strtol(name + length + 1, &end, 10);
    return *end ? -1 : n;
}

static int check_job(const char *job, struct atoll_err *err)
{
    if (!*job || strlen(job) > ATOLL_ATTEMPT_NAME_BYTES - 16 || strpbrk(job, "/ \n") || job[0] == '.')
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "'%.60s' cannot be the name of a job: up to %d characters without / and space",
                             job, ATOLL_ATTEMPT_NAME_BYTES - 16);
    return 0;
}

/* What is sealed must be durable first: a killed predecessor may have left good records in the page cache
 * only. */
static int seal(const struct atoll_campaign *c, struct atoll_journal_header *h, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (atoll_campaign_journal_path(c, path, sizeof path, h->previous, err) != 0)
        return -1;
    int fd = c->ops->open(c->ops->context, path, O_RDONLY | O_CLOEXEC, 0);
    int failed = fd < 0 || c->ops->fsync(c->ops->context, fd) != 0 ? errno : 0;
    if (fd >= 0)
        c->ops->close(c->ops->context, fd);
    if (failed)
        return atoll_file_write_failed(path, "sync the journal that is taken over", failed, err);
    if (atoll_file_sync_parent(c->ops, path, err) != 0)
        return -1;
    return atoll_campaign_digest(path, h->sealed_offset, &h->sealed_digest, err);
}

static int newer_attempt(const struct atoll_campaign *c, uint32_t newer, uint32_t own, struct atoll_err *err)
{
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "%s: attempt %u has begun while this process held epoch %u: its lease was taken over; nothing "
        "was written",
        c->dir, newer, own);
}

/* Names the attempt and links it to its predecessor. */
static int fill_header(const struct atoll_campaign *c, const char *job, struct atoll_journal_header *h,
                       struct atoll_err *err)
{
    struct atoll_attempt *attempts;
    struct atoll_replay_report report;
    size_t count;
    long n = 0;
    uint32_t next = 0; /* above the number of every attempt there is */
    if (c->seen->valid)
        report = c->seen->report;
    else if (atoll_campaign_replay(c, NULL, NULL, &report, err) != 0)
        return -1;
    if (atoll_campaign_attempts(c, &attempts, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        long suffix = suffix_of(attempts[i].name, job);
        n = suffix >= n ? suffix + 1 : n;
        if (attempts[i].has_journal && attempts[i].header.attempt >= next)
            next = attempts[i].header.attempt + 1;
    }
    free(attempts);
    h->attempt = c->lease ? atoll_lease_epoch(c->lease) : next;
    if (next > h->attempt)
        return newer_attempt(c, next - 1, h->attempt, err);
    snprintf(h->name, sizeof h->name, "%.48s.%ld", job, n % 1000000000);
    h->first_event = report.event_count;
    if (!report.last[0])
        return 0;
    memcpy(h->previous, report.last, sizeof h->previous);
    h->sealed_offset = report.last_good_bytes;
    return seal(c, h, err);
}

struct atoll_journal *atoll_campaign_start_attempt(struct atoll_campaign *c, const char *job,
                                                   uint32_t engine_version, int64_t now_unix_ns,
                                                   const char **ret_dir, struct atoll_err *err)
{
    struct atoll_journal_header h = {.engine_version = engine_version,
                                     .atoll_version = ATOLL_VERSION,
                                     .campaign = c->config.id,
                                     .created_unix_ns = now_unix_ns};
    char dir[PATH_MAX], path[PATH_MAX], name[ATOLL_ATTEMPT_NAME_BYTES + 8];
    if (!atoll_campaign_is_held(c)) {
        atoll_err_set(err, ATOLL_E_INTERNAL, "%s: an attempt needs the campaign's lease or lock", c->dir);
        return NULL;
    }
    /* The entry of campaign.yaml first: its create may have been killed between rename and sync. */
    if (check_job(job, err) != 0 || atoll_file_sync_directory(c->ops, c->dir, err) != 0 ||
        fill_header(c, job, &h, err) != 0)
        return NULL;
    snprintf(name, sizeof name, "jobs/%s", h.name);
    if (atoll_campaign_path(c, dir, sizeof dir, name, err) != 0 ||
        atoll_campaign_journal_path(c, path, sizeof path, h.name, err) != 0 ||
        atoll_file_make_directory(c->ops, dir, 0, err) != 0)
        return NULL;
    const char *kept = atoll_arena_text(c->arena, dir, strlen(dir), err);
    struct atoll_journal *journal = kept ? atoll_journal_create(path, &h, c->ops, err) : NULL;
    c->seen->valid = 0;
    if (journal && ret_dir)
        *ret_dir = kept;
    return journal;
}
