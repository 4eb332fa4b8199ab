/* campaign_claim.c - the right to write a campaign: the lease, and beneath it the lock.
 * The lease holds between hosts and on every file system; the lock sees, on one host, processes of an Atoll that knew no leases.
 * So a busy lock counts, except where its owner has lost the lease by its silence, or sat on another host: a stalled process
 * keeps its lock for as long as it lives, and the server of a lost host may keep it for longer. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign_state.h"
#include "base/lock.h"

int atoll_campaign_lock(struct atoll_campaign *c, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (c->lock_fd >= 0)
        return 0;
    if (atoll_campaign_path(c, path, sizeof path, "campaign.lock", err) != 0)
        return -1;
    return atoll_lock_take(path, &c->lock_fd, err);
}

static int has_no_locks(const struct atoll_err *err)
{
    return err->sys_errno == ENOLCK || err->sys_errno == EOPNOTSUPP || err->sys_errno == ENOSYS ||
           err->sys_errno == EINVAL;
}

int atoll_campaign_is_held(const struct atoll_campaign *c)
{
    return c->lock_fd >= 0 || c->lease;
}

/* The highest number of an attempt, 0 without one. */
static int attempts_last(const struct atoll_campaign *c, uint32_t *ret_last, struct atoll_err *err)
{
    struct atoll_attempt *attempts;
    size_t count;
    if (atoll_campaign_attempts(c, &attempts, &count, err) != 0)
        return -1;
    *ret_last = 0;
    for (size_t i = 0; i < count; i++)
        if (attempts[i].has_journal && attempts[i].header.attempt > *ret_last)
            *ret_last = attempts[i].header.attempt;
    free(attempts);
    return 0;
}

static int is_lock_passed_over(const struct atoll_lease_seen *before, const struct atoll_lease_holder *self)
{
    return before->state == ATOLL_LEASE_HELD ||
           (before->state == ATOLL_LEASE_DEAD && strcmp(before->holder.host, self->host) != 0);
}

static int lock_beneath(struct atoll_campaign *c, const struct atoll_lease_holder *self,
                        enum atoll_campaign_hold *ret_hold, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_lease_seen before = atoll_lease_before(c->lease);
    *ret_hold = ATOLL_HOLD_LOCKED;
    if (atoll_campaign_lock(c, &own) == 0)
        return 0;
    *ret_hold = own.code == ATOLL_E_BUSY ? ATOLL_HOLD_PASSED_OVER : ATOLL_HOLD_NO_LOCKS;
    if (own.code == ATOLL_E_BUSY ? is_lock_passed_over(&before, self) : has_no_locks(&own))
        return 0;
    if (err)
        *err = own;
    return -1;
}

int atoll_campaign_claim(struct atoll_campaign *c, const struct atoll_lease_holder *self,
                         uint32_t silent_epoch, enum atoll_campaign_hold *ret_hold, struct atoll_err *err)
{
    enum atoll_campaign_hold hold;
    uint32_t last;
    if (c->lease)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "%s: is claimed already", c->dir);
    if (attempts_last(c, &last, err) != 0 ||
        !(c->lease = atoll_lease_claim_after(c->dir, self, silent_epoch, last, c->ops, err)))
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

/* Without locks the lease keeps two creators apart. */
int atoll_campaign_hold_new(struct atoll_campaign *c, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_lease_holder self;
    if (atoll_campaign_lock(c, &own) == 0)
        return 0;
    if (!has_no_locks(&own)) {
        if (err)
            *err = own;
        return -1;
    }
    atoll_lease_holder_self("create", 0, &self);
    c->lease = atoll_lease_claim(c->dir, &self, 0, c->ops, err);
    return c->lease ? 0 : -1;
}

/* The lock first: whoever finds the lease released finds the lock free. */
void atoll_campaign_let_go(struct atoll_campaign *c)
{
    atoll_lock_release(c->lock_fd);
    c->lock_fd = -1;
    atoll_lease_release(c->lease);
    c->lease = NULL;
}

struct atoll_lease *atoll_campaign_lease(const struct atoll_campaign *c)
{
    return c->lease;
}
