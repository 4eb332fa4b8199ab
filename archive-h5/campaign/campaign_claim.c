/* campaign_claim.c - taking a campaign over: the lease above the numbers of all attempts, beneath it the lock, then the next
 * attempt, which seals its predecessor.
 * The lease holds between hosts and on every file system; the lock sees, on one host, processes of an Atoll that knew no leases.
 * So a busy lock counts, except where its owner has lost the lease by its silence, or sat on another host: a stalled process
 * keeps its lock for as long as it lives, and the server of a lost host may keep it for longer. */
#include "archive-h5/campaign/campaign_state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static int lock_beneath(struct atoll_campaign *c, const struct atoll_lease_holder *self,
                        enum atoll_campaign_hold *ret_hold, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_lease_seen before = atoll_lease_before(c->lease);
    *ret_hold = ATOLL_HOLD_LOCKED;
    if (atoll_campaign_lock(c, &own) == 0)
        return 0;
    *ret_hold = own.code == ATOLL_E_BUSY ? ATOLL_HOLD_PASSED_OVER : ATOLL_HOLD_NO_LOCKS;
    int is_passed_over = before.state == ATOLL_LEASE_HELD ||
                         (before.state == ATOLL_LEASE_DEAD && strcmp(before.holder.host, self->host) != 0);
    if (own.code == ATOLL_E_BUSY ? is_passed_over : atoll_campaign_has_no_locks(&own))
        return 0;
    if (err)
        *err = own;
    return -1;
}

int atoll_campaign_claim(struct atoll_campaign *c, const struct atoll_lease_holder *self,
                         uint32_t silent_epoch, enum atoll_campaign_hold *ret_hold, struct atoll_err *err)
{
    enum atoll_campaign_hold hold;
    struct atoll_attempt *attempts;
    size_t count;
    uint32_t last = 0; /* the highest number of an attempt */
    if (c->lease)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%s: is claimed already", c->dir);
    if (atoll_campaign_attempts(c, &attempts, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (attempts[i].has_journal && attempts[i].header.attempt > last)
            last = attempts[i].header.attempt;
    free(attempts);
    if (!(c->lease = atoll_lease_claim_after(c->dir, self, silent_epoch, last, c->ops, err)))
        return -1;
    if (lock_beneath(c, self, &hold, err) != 0) {
        atoll_campaign_let_go(c);
        return -1;
    }
    c->seen->valid = 0;
    if (ret_hold)
        *ret_hold = hold;
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

/* What is sealed must be durable first: a killed predecessor may have left good records in the page cache
 * only. */
static int seal(const struct atoll_campaign *c, struct atoll_journal_header *h, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (atoll_campaign_journal_path(c, path, sizeof(path), h->previous, err) != 0)
        return -1;
    int fd = c->ops->open(c->ops->context, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    int failed = fd < 0 || c->ops->fsync(c->ops->context, fd) != 0 ? errno : 0;
    if (fd >= 0)
        c->ops->close(c->ops->context, fd);
    if (failed)
        return atoll_file_write_failed(path, "sync the journal that is taken over", failed, err);
    if (atoll_file_sync_parent(c->ops, path, err) != 0)
        return -1;
    return atoll_campaign_digest(path, h->sealed_offset, &h->sealed_digest, err);
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
    if (next > h->attempt) {
        return atoll_err_set(err, ATOLL_E_BUSY,
                             "%s: attempt %u has begun while this process held epoch %u: its lease was taken "
                             "over; nothing was written",
                             c->dir, next - 1, h->attempt);
    }
    snprintf(h->name, sizeof(h->name), "%.48s.%ld", job, n % 1000000000);
    h->first_event = report.event_count;
    if (!report.last[0])
        return 0;
    memcpy(h->previous, report.last, sizeof(h->previous));
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
    if (!*job || strlen(job) > ATOLL_ATTEMPT_NAME_BYTES - 16 || strpbrk(job, "/ \n") || job[0] == '.') {
        atoll_err_set(err, ATOLL_E_INPUT,
                      "'%.60s' cannot be the name of a job: up to %d characters without / and space", job,
                      ATOLL_ATTEMPT_NAME_BYTES - 16);
        return NULL;
    }
    /* The entry of campaign.yaml first: its create may have been killed between rename and sync. */
    if (atoll_file_sync_directory(c->ops, c->dir, err) != 0 || fill_header(c, job, &h, err) != 0)
        return NULL;
    snprintf(name, sizeof(name), "jobs/%s", h.name);
    if (atoll_campaign_path(c, dir, sizeof(dir), name, err) != 0 ||
        atoll_campaign_journal_path(c, path, sizeof(path), h.name, err) != 0 ||
        atoll_file_make_directory(c->ops, dir, 0, err) != 0) {
        return NULL;
    }
    const char *kept = atoll_arena_text(c->arena, dir, strlen(dir), err);
    struct atoll_journal *journal = kept ? atoll_journal_create(path, &h, c->ops, err) : NULL;
    c->seen->valid = 0;
    if (journal && ret_dir)
        *ret_dir = kept;
    return journal;
}
