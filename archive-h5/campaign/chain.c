/* chain.c - which attempts count: the newest and those it goes back to through header.previous. */
#include <string.h>

#include "archive-h5/campaign/campaign_state.h"

static int corrupt(const struct atoll_campaign *c, const char *attempt, const char *what,
                   struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_CORRUPT, "%s/jobs/%s/%s: %s; restore the campaign from a copy", c->dir,
                         attempt, ATOLL_JOURNAL_FILE, what);
}

/* Index of the predecessor in attempts, -1 none; -2 error. */
static long predecessor(const struct atoll_campaign *c, const struct atoll_attempt *attempts, size_t count,
                        size_t of, struct atoll_err *err)
{
    const struct atoll_journal_header *h = &attempts[of].header;
    if (!h->previous[0])
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(attempts[i].name, h->previous)) {
            if (attempts[i].has_journal && attempts[i].header.attempt < h->attempt)
                return (long)i;
            break;
        }
    corrupt(c, attempts[of].name, "the journal it continues is missing", err);
    return -2;
}

int atoll_campaign_chain(const struct atoll_campaign *c, const struct atoll_attempt *attempts, size_t count,
                         long *chain, long *ret_length, struct atoll_err *err)
{
    long at = -1, length = 0;
    for (size_t i = 0; i < count; i++)
        if (attempts[i].has_journal)
            at = (long)i;
    while (at >= 0) {
        chain[length++] = at;
        at = predecessor(c, attempts, count, (size_t)at, err);
    }
    *ret_length = length;
    return at == -2 ? -1 : 0;
}

int atoll_campaign_own(const struct atoll_campaign *c, const struct atoll_attempt *a, struct atoll_err *err)
{
    if (!atoll_id_equal(&a->header.campaign, &c->config.id))
        return corrupt(c, a->name, "belongs to another campaign", err);
    if (strcmp(a->header.name, a->name) != 0)
        return corrupt(c, a->name, "was written in a folder of another name", err);
    return 0;
}
