/* spending_peer.c - the journals of other holders, read as far as they go; and sums over all of them. */
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/budget/spending_cover.h"

static struct atoll_spending_peer *peer_of(struct atoll_spending *spending, uint64_t holder,
                                           struct atoll_err *err)
{
    if (spending->peer_count < spending->ledger->holder_count) {
        size_t count = spending->ledger->holder_count;
        struct atoll_spending_peer *peers = realloc(spending->peers, count * sizeof *peers);
        if (!peers) {
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu holders", count);
            return NULL;
        }
        memset(peers + spending->peer_count, 0, (count - spending->peer_count) * sizeof *peers);
        spending->peers = peers;
        spending->peer_count = count;
    }
    return &spending->peers[holder - 1];
}

static void forget(struct atoll_spending_peer *peer)
{
    atoll_spending_journal_close(peer->journal);
    memset(peer, 0, sizeof *peer);
}

static struct atoll_spending_journal *open_journal(const struct atoll_spending *spending, uint64_t holder,
                                                   struct atoll_err *err)
{
    char path[4096];
    if (atoll_spending_journal_path(spending, spending->ledger->holders[holder - 1].name, path, sizeof path,
                                    err) != 0)
        return NULL;
    return atoll_spending_journal_open(path, ATOLL_FRAME_FILE_READ,
                                       atoll_frame_file_number(spending->ledger->file), holder, spending->ops,
                                       err);
}

struct atoll_spending_book *atoll_spending_peer_book(struct atoll_spending *spending, uint64_t holder,
                                                     struct atoll_err *err)
{
    struct atoll_spending_peer *peer = peer_of(spending, holder, err);
    if (!peer)
        return NULL;
    peer->has_sum = 0;
    if (!peer->journal)
        peer->journal = open_journal(spending, holder, err);
    if (!peer->journal)
        return NULL;
    if (atoll_spending_journal_read(peer->journal, 1, err) == 0)
        return &peer->journal->book;
    forget(peer);
    return NULL;
}

void atoll_spending_peers_fini(struct atoll_spending *spending)
{
    for (size_t i = 0; i < spending->peer_count; i++)
        forget(&spending->peers[i]);
    free(spending->peers);
    spending->peers = NULL;
    spending->peer_count = 0;
}

static void add(struct atoll_spending_sum *sum, const struct atoll_spending_sum *more)
{
    sum->spent_money += more->spent_money;
    sum->reserved_money += more->reserved_money;
    sum->unknown_money += more->unknown_money;
    sum->excess_money += more->excess_money;
    sum->spent_tokens += more->spent_tokens;
    sum->reserved_tokens += more->reserved_tokens;
    sum->unknown_tokens += more->unknown_tokens;
    sum->excess_tokens += more->excess_tokens;
    sum->calls += more->calls;
    sum->unknown_calls += more->unknown_calls;
}

/* A journal nobody holds does not change: it is read once and closed. */
static int sum_of_inactive(struct atoll_spending *spending, uint64_t holder,
                           struct atoll_spending_sum *ret_sum, struct atoll_err *err)
{
    struct atoll_spending_peer *peer = peer_of(spending, holder, err);
    if (!peer)
        return -1;
    if (!peer->has_sum) {
        forget(peer);
        struct atoll_spending_journal *journal = open_journal(spending, holder, err);
        int rc = journal ? atoll_spending_journal_read(journal, 0, err) : -1;
        if (rc == 0) {
            atoll_spending_cover_presume(spending->ledger, journal, spending->boot);
            peer->sum = journal->book.sum;
        }
        atoll_spending_journal_close(journal);
        if (rc != 0)
            return -1;
        peer->has_sum = 1;
    }
    add(ret_sum, &peer->sum);
    return 0;
}

static int sum_of_active(struct atoll_spending *spending, uint64_t holder, struct atoll_spending_sum *ret_sum,
                         struct atoll_err *err)
{
    const struct atoll_spending_book *book = atoll_spending_peer_book(spending, holder, err);
    if (!book)
        return -1;
    add(ret_sum, &book->sum);
    return 0;
}

int atoll_spending_sum(struct atoll_spending *spending, struct atoll_spending_sum *ret_sum,
                       struct atoll_err *err)
{
    struct atoll_spending_sum sum = spending->journal->book.sum;
    if (atoll_spending_ledger_lock(spending->ledger, 1.0, err) != 0)
        return -1;
    atoll_spending_ledger_unlock(spending->ledger);
    for (uint64_t holder = 1; holder <= spending->ledger->holder_count; holder++) {
        const struct atoll_spending_holder *about = &spending->ledger->holders[holder - 1];
        if (holder == spending->self || !about->has_joined)
            continue;
        if ((about->is_active ? sum_of_active : sum_of_inactive)(spending, holder, &sum, err) != 0)
            return atoll_err_add(err, "while adding up what holder '%s' spent", about->name);
    }
    *ret_sum = sum;
    return 0;
}
