#include "core/experience/hint_ledger.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"

#define PRIOR_MOST    32.0 /* outcomes of earlier campaigns that count */
#define RECENT        32.0 /* outcomes of a share: the better kernels are, the fewer asks win */
#define SIDE_OUTCOMES 4.0  /* with which a stratum begins at its side's share */
#define FIRST_SHARE   0.25 /* of wins, before anything is known */

struct atoll_told_ask {
    uint32_t stratum, first, count; /* its hints, in told */
    int has_outcome, is_win, has_gain;
    double log_gain;
};

void atoll_hint_ledger_fini(struct atoll_hint_ledger *l)
{
    atoll_index_fini(&l->ask_index);
    free(l->accounts);
    free(l->asks);
    free(l->told);
    *l = (struct atoll_hint_ledger){0};
}

uint32_t atoll_hint_ledger_find(const struct atoll_hint_ledger *l, const struct atoll_id *id)
{
    for (uint32_t i = 0; i < l->account_count; i++)
        if (atoll_id_equal(&l->accounts[i].id, id))
            return i;
    return ATOLL_NONE;
}

/* What earlier campaigns saw was of other kernels: it is where this one begins, not what it must outweigh. */
static struct atoll_hint_statistics cut_prior(const struct atoll_hint_statistics *prior)
{
    struct atoll_hint_statistics cut = *prior;
    if (prior->outcomes > PRIOR_MOST) {
        double ratio = PRIOR_MOST / prior->outcomes;
        cut = (struct atoll_hint_statistics){.uses = ratio * prior->uses,
                                             .outcomes = PRIOR_MOST,
                                             .wins = ratio * prior->wins,
                                             .expected = ratio * prior->expected,
                                             .gains = ratio * prior->gains,
                                             .log_gain = ratio * prior->log_gain};
    }
    return cut;
}

int atoll_hint_ledger_add(struct atoll_hint_ledger *l, const struct atoll_id *id,
                          const struct atoll_hint_statistics *prior, struct atoll_err *err)
{
    if (atoll_array_reserve(&l->accounts, &l->account_capacity, l->account_count + 1, sizeof(*l->accounts),
                            err) != 0)
        return -1;
    l->accounts[l->account_count++] = (struct atoll_hint_account){.id = *id, .prior = cut_prior(prior)};
    return 0;
}

struct atoll_hint_statistics atoll_hint_account_whole(const struct atoll_hint_account *account)
{
    struct atoll_hint_statistics whole = account->prior;
    atoll_hint_statistics_add(&whole, &account->own);
    return whole;
}

static int is_ask(const void *context, uint32_t position)
{
    (void)context;
    (void)position;
    return 1; /* the key is the ask's number */
}

static uint32_t stratum_of(const struct atoll_diagnosis *diagnosis)
{
    struct atoll_trigger t = atoll_trigger_of(diagnosis);
    return t.kind == ATOLL_TRIGGER_ERROR ? t.value : ATOLL_ERROR_COUNT + t.value;
}

static double share_of_wins(const struct atoll_hint_ledger *l, uint32_t stratum)
{
    const struct atoll_hint_share *side = &l->sides[stratum >= ATOLL_ERROR_COUNT], *own = &l->strata[stratum];
    double share = (side->wins + SIDE_OUTCOMES * FIRST_SHARE) / (side->outcomes + SIDE_OUTCOMES);
    return (own->wins + SIDE_OUTCOMES * share) / (own->outcomes + SIDE_OUTCOMES);
}

int atoll_hint_ledger_used(struct atoll_hint_ledger *l, const struct atoll_diagnosis *diagnosis,
                           const struct atoll_briefing *briefing, struct atoll_err *err)
{
    struct atoll_told_ask ask = {.stratum = stratum_of(diagnosis), .first = l->told_count};
    uint32_t kinds = l->kinds ? l->kinds : 1u << ATOLL_BRIEF_HINT;
    if (atoll_index_find(&l->ask_index, briefing->ask, is_ask, NULL) != ATOLL_NONE)
        return 0;
    if (atoll_array_reserve(&l->told, &l->told_capacity, l->told_count + briefing->count, sizeof(*l->told),
                            err) != 0 ||
        atoll_array_reserve(&l->asks, &l->ask_capacity, l->ask_count + 1, sizeof(*l->asks), err) != 0 ||
        atoll_index_add(&l->ask_index, briefing->ask, l->ask_count, err) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < briefing->count; i++) {
        const struct atoll_brief *b = &briefing->briefs[i];
        uint32_t position =
            kinds >> b->kind & 1u && atoll_brief_is_told(b) ? atoll_hint_ledger_find(l, &b->id) : ATOLL_NONE;
        if (position == ATOLL_NONE)
            continue;
        l->told[l->told_count++] = position;
        l->accounts[position].own.uses++;
        ask.count++;
    }
    l->asks[l->ask_count++] = ask;
    return 0;
}

/* Sums of the ask's hints and strata move by so much. */
static void account(struct atoll_hint_ledger *l, const struct atoll_told_ask *a,
                    const struct atoll_hint_statistics *by)
{
    struct atoll_hint_share *shares[] = {&l->strata[a->stratum], &l->sides[a->stratum >= ATOLL_ERROR_COUNT]};
    for (uint32_t i = 0; i < a->count; i++)
        atoll_hint_statistics_add(&l->accounts[l->told[a->first + i]].own, by);
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        double kept = by->outcomes > 0 ? 1 - 1 / RECENT : 1;
        shares[i]->outcomes = kept * shares[i]->outcomes + by->outcomes;
        shares[i]->wins = kept * shares[i]->wins + by->wins;
    }
}

int atoll_hint_ledger_credit(struct atoll_hint_ledger *l, uint64_t number, double parent_ns,
                             enum atoll_verdict verdict, double child_ns)
{
    uint32_t position = atoll_index_find(&l->ask_index, number, is_ask, NULL);
    if (position == ATOLL_NONE || verdict == ATOLL_V_INFRASTRUCTURE || verdict == ATOLL_V_UNSTABLE)
        return 0;
    struct atoll_told_ask *a = &l->asks[position];
    int is_win = atoll_hint_is_win(parent_ns, verdict, child_ns),
        has_gain = verdict == ATOLL_V_CORRECT && parent_ns > 0 && child_ns > 0;
    double log_gain = has_gain ? log(parent_ns / child_ns) : 0;
    int is_first = !a->has_outcome, is_repair = is_win && !a->is_win,
        is_faster = has_gain && (!a->has_gain || log_gain > a->log_gain);
    struct atoll_hint_statistics by = {
        .outcomes = is_first, .wins = is_repair, .expected = is_first ? share_of_wins(l, a->stratum) : 0};
    if (is_faster) {
        by.gains = a->has_gain ? 0 : 1;
        by.log_gain = log_gain - (a->has_gain ? a->log_gain : 0);
        a->log_gain = log_gain;
        a->has_gain = 1;
    }
    a->has_outcome = 1;
    a->is_win |= is_win;
    account(l, a, &by);
    return is_first || is_repair || is_faster;
}
