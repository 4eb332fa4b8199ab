/* hint_ledger.h - what came of hints, or of entries of the knowledge base: which ask was told which, what answered it, and how that
 * compares with asks of its kind.
 * Layer: core, pure.  Lifetime: zero-initialised/fini.  Built from events, live and from a journal alike.
 *
 * A use is an ask that was told a hint; its outcome is the best of the kernels that answered it.  Asks about kernels of one error
 * class or limiter are a stratum: the share of the last ones that won, whatever they were told, is what a hint's wins are
 * compared with.  All are sums over asks, but for that share, which is the one before the ask's first outcome. */
#ifndef ATOLL_CORE_EXPERIENCE_HINT_LEDGER_H
#define ATOLL_CORE_EXPERIENCE_HINT_LEDGER_H

#include "base/hash_index.h"
#include "core/briefing.h"
#include "core/experience/hint.h"

#define ATOLL_HINT_STRATUM_COUNT (ATOLL_ERROR_COUNT + ATOLL_LIMITER_COUNT)

struct atoll_hint_account {
    struct atoll_id id;
    struct atoll_hint_statistics prior, own; /* prior: of earlier campaigns, cut to what counts of it */
};

struct atoll_hint_share {
    double outcomes, wins;
};

struct atoll_hint_ledger {
    uint32_t kinds; /* of briefs it keeps books of, a bit 1 << enum atoll_brief_kind each; 0: hints */
    struct atoll_hint_account *accounts; /* in the order in which they were added */
    struct atoll_told_ask *asks;
    uint32_t *told; /* positions of accounts */
    uint32_t account_count, account_capacity, ask_count, ask_capacity, told_count, told_capacity;
    struct atoll_index ask_index;
    struct atoll_hint_share strata[ATOLL_HINT_STRATUM_COUNT], sides[2]; /* sides: repairs and improvements */
};

void atoll_hint_ledger_fini(struct atoll_hint_ledger *ledger);
/* One that is not known yet.  MEMORY. */
int atoll_hint_ledger_add(struct atoll_hint_ledger *ledger, const struct atoll_id *id,
                          const struct atoll_hint_statistics *prior, struct atoll_err *err);
/* Its position; ATOLL_NONE. */
uint32_t atoll_hint_ledger_find(const struct atoll_hint_ledger *ledger, const struct atoll_id *id);
/* With what earlier campaigns said. */
struct atoll_hint_statistics atoll_hint_account_whole(const struct atoll_hint_account *account);

/* An ask about a kernel of this diagnosis (NULL: there is none yet) was told these; briefs of other kinds, what the prompt had no
 * room for and what was not added are passed over, and so is an ask that is known. */
int atoll_hint_ledger_used(struct atoll_hint_ledger *ledger, const struct atoll_diagnosis *diagnosis,
                           const struct atoll_briefing *briefing, struct atoll_err *err);
/* A kernel that answers the ask was measured.  parent_ns: 0 where the parent is wrong or there is none.  1: it is the best so far
 * of that ask; 0: it is not, the ask is not known, or the failure is not the kernel's. */
int atoll_hint_ledger_credit(struct atoll_hint_ledger *ledger, uint64_t ask, double parent_ns,
                             enum atoll_verdict verdict, double child_ns);

#endif
