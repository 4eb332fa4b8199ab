/* experience.c - statistics are sums over asks, so that they do not depend on the order in which results came, but for the yardstick:
 * an ask is measured by the share of wins before it. */
#include "evolution/experience/experience.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "base/random.h"
#include "base/utf8.h"

#define TEXT_BYTES    ((size_t)64 << 20)
#define TOLD_BYTES    ((size_t)64 << 10)
#define PRIOR_MOST    16.0 /* outcomes of earlier campaigns that count */
#define CURIOSITY     0.5  /* what an unknown hint has ahead of a known one of the same lift, at first */
#define SIDE_OUTCOMES 4.0  /* with which a stratum begins at its side's share */
#define FIRST_SHARE   0.25 /* of wins, before anything is known */
#define STRATUM_COUNT (ATOLL_ERROR_COUNT + ATOLL_LIMITER_COUNT)

struct held_hint {
    struct atoll_experience_hint hint; /* texts in the arena */
    struct atoll_id id;
    struct atoll_hint_statistics prior, own; /* prior: cut to what counts */
};

struct told_ask {
    uint64_t number;
    uint32_t stratum, first, count; /* its hints, in told */
    int has_outcome, is_win, has_gain;
    double log_gain;
};

struct share {
    double outcomes, wins;
};

struct atoll_experience {
    struct atoll_arena *texts, *told_texts;
    struct held_hint *hints;
    struct told_ask *asks;
    uint32_t *told; /* positions of hints */
    uint32_t hint_count, hint_capacity, ask_count, ask_capacity, told_count, told_capacity;
    struct atoll_index ask_index;
    struct share strata[STRATUM_COUNT], sides[2]; /* sides: repairs and improvements */
};

struct atoll_experience *atoll_experience_create(struct atoll_err *err)
{
    struct atoll_experience *e = calloc(1, sizeof(*e));
    if (!e) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for hints");
        return NULL;
    }
    e->texts = atoll_arena_create(TEXT_BYTES, err);
    e->told_texts = e->texts ? atoll_arena_create(TOLD_BYTES, err) : NULL;
    if (e->told_texts)
        return e;
    atoll_experience_destroy(e);
    return NULL;
}

void atoll_experience_destroy(struct atoll_experience *e)
{
    if (!e)
        return;
    atoll_arena_destroy(e->texts);
    atoll_arena_destroy(e->told_texts);
    atoll_index_fini(&e->ask_index);
    free(e->hints);
    free(e->asks);
    free(e->told);
    free(e);
}

/* ---- hints ---- */

static uint32_t find_hint(const struct atoll_experience *e, const struct atoll_id *id)
{
    for (uint32_t i = 0; i < e->hint_count; i++)
        if (atoll_id_equal(&e->hints[i].id, id))
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

int atoll_experience_add_hint(struct atoll_experience *e, const struct atoll_experience_hint *hint,
                              struct atoll_id *ret_id, struct atoll_err *err)
{
    struct atoll_id id = atoll_experience_hint_id(hint);
    struct held_hint held = {.hint = *hint, .id = id, .prior = cut_prior(&hint->prior)};
    const char **texts[] = {&held.hint.name,    &held.hint.language, &held.hint.device, &held.hint.category,
                            &held.hint.context, &held.hint.advice,   &held.hint.source};
    if (atoll_experience_hint_check(hint, err) != 0)
        return -1;
    if (find_hint(e, &id) == ATOLL_NONE) {
        if (e->hint_count == ATOLL_EXPERIENCE_HINT_LIMIT)
            return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d hints", ATOLL_EXPERIENCE_HINT_LIMIT);
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
            if (!(*texts[i] = atoll_arena_text(e->texts, *texts[i], strlen(*texts[i]), err)))
                return -1;
        if (atoll_array_reserve(&e->hints, &e->hint_capacity, e->hint_count + 1, sizeof(*e->hints), err) != 0)
            return -1;
        e->hints[e->hint_count++] = held;
    }
    if (ret_id)
        *ret_id = id;
    return 0;
}

int atoll_experience_add_item(struct atoll_experience *e, const struct atoll_reply_item *item,
                              const char *language, const char *device, struct atoll_err *err)
{
    char advice[ATOLL_HINT_ADVICE_BYTES + 1], context[ATOLL_HINT_CONTEXT_BYTES + 1],
        trigger[ATOLL_HINT_TRIGGER_BYTES], name[ATOLL_HINT_NAME_BYTES + 1], hex[ATOLL_ID_HEX];
    struct atoll_experience_hint hint = {.name = "distilled",
                                         .language = language,
                                         .device = device,
                                         .category = "",
                                         .role = ATOLL_ISLAND_ROLE_COUNT,
                                         .context = context,
                                         .advice = advice,
                                         .source = "",
                                         .origin = ATOLL_HINT_DISTILLED};
    const char *title = item->title ? item->title : "", *text = item->text ? item->text : "",
               *why = item->why ? item->why : "";
    atoll_utf8_line(trigger, sizeof(trigger), title, strlen(title));
    atoll_utf8_line(advice, sizeof(advice), text, strlen(text));
    atoll_utf8_line(context, sizeof(context), why, strlen(why));
    if (item->kind != ATOLL_ITEM_HINT || atoll_trigger_parse(trigger, &hint.trigger, NULL) != 0 ||
        atoll_experience_hint_check(&hint, NULL) != 0 || e->hint_count == ATOLL_EXPERIENCE_HINT_LIMIT) {
        return 0;
    }
    struct atoll_id id = atoll_experience_hint_id(&hint);
    if (find_hint(e, &id) != ATOLL_NONE)
        return 0;
    atoll_id_hex(&id, hex);
    snprintf(name, sizeof(name), "distilled-%.8s", hex);
    hint.name = name;
    return atoll_experience_add_hint(e, &hint, NULL, err) == 0 ? 1 : -1;
}

static struct atoll_hint_statistics whole_of(const struct held_hint *h)
{
    struct atoll_hint_statistics whole = h->prior;
    atoll_hint_statistics_add(&whole, &h->own);
    return whole;
}

/* ---- what is told ---- */

struct ranked {
    const struct held_hint *hint;
    double score;
    uint64_t turn; /* the smaller first among equals */
};

static int is_better(const struct ranked *a, const struct ranked *b)
{
    return a->score > b->score || (a->score == b->score && a->turn < b->turn);
}

static double score_of(const struct held_hint *h, const struct atoll_experience_query *q)
{
    struct atoll_hint_statistics whole = whole_of(h);
    double known = 1 / sqrt(1 + whole.outcomes), gain = log(atoll_hint_gain(&whole));
    double fit = 1 + 0.2 * (*h->hint.device && strcmp(h->hint.device, q->device) == 0) +
                 0.1 * (*h->hint.language != '\0') + 0.2 * (*h->hint.category != '\0') +
                 0.2 * (h->hint.role == q->role && q->role < ATOLL_ISLAND_ROLE_COUNT);
    return fit * (atoll_hint_lift(&whole) * (1 + fmin(1, fmax(0, gain))) + CURIOSITY * known);
}

static int fits(const struct held_hint *h, const struct atoll_experience_query *q)
{
    const struct atoll_experience_hint *hint = &h->hint;
    struct atoll_hint_statistics whole = whole_of(h);
    return atoll_trigger_holds(&hint->trigger, q->diagnosis) && !atoll_hint_is_losing(&whole) &&
           (!*hint->language || strcmp(hint->language, q->language) == 0) &&
           (!*hint->device || (*q->device && atoll_device_family_holds(hint->device, q->device))) &&
           (!*hint->category || strcmp(hint->category, q->category) == 0);
}

static int is_of_role(const struct held_hint *h, const struct atoll_experience_query *q)
{
    return q->role >= ATOLL_ISLAND_ROLE_COUNT || h->hint.role >= ATOLL_ISLAND_ROLE_COUNT ||
           h->hint.role == q->role;
}

static size_t rank(const struct atoll_experience *e, const struct atoll_experience_query *q, int of_role,
                   size_t limit, struct ranked *best)
{
    size_t count = 0;
    for (uint32_t i = 0; i < e->hint_count; i++) {
        const struct held_hint *h = &e->hints[i];
        struct ranked r = {h, 0, atoll_mix64(q->ask ^ atoll_id_u64(&h->id))};
        if (!fits(h, q) || (of_role && !is_of_role(h, q)))
            continue;
        r.score = score_of(h, q);
        size_t at = count < limit ? count++ : limit;
        for (; at > 0 && is_better(&r, &best[at - 1]); at--)
            if (at < limit)
                best[at] = best[at - 1];
        if (at < limit)
            best[at] = r;
    }
    return count;
}

/* Context, advice, and what came of it so far. */
static const char *told_text(struct atoll_experience *e, const struct held_hint *h)
{
    char text[ATOLL_HINT_CONTEXT_BYTES + ATOLL_HINT_ADVICE_BYTES + 128];
    struct atoll_hint_statistics whole = whole_of(h);
    int used =
        snprintf(text, sizeof(text), "%s%s%s", h->hint.context, *h->hint.context ? ": " : "", h->hint.advice);
    if (whole.outcomes >= 1)
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         " (Followed by a gain in %.0f of %.0f tries.)", whole.wins, whole.outcomes);
    return atoll_arena_text(e->told_texts, text, (size_t)used, NULL);
}

size_t atoll_experience_retrieve(struct atoll_experience *e, const struct atoll_experience_query *q,
                                 size_t limit, struct atoll_brief *ret_briefs)
{
    struct ranked best[ATOLL_EXPERIENCE_TOLD];
    int is_wrong = q->diagnosis && q->diagnosis->error != ATOLL_ERROR_NONE;
    limit = limit < ATOLL_EXPERIENCE_TOLD ? limit : ATOLL_EXPERIENCE_TOLD;
    size_t count = limit ? rank(e, q, !is_wrong, limit, best) : 0, told = 0;
    if (limit && !count && !is_wrong)
        count = rank(e, q, 0, limit, best);
    atoll_arena_reset(e->told_texts);
    for (size_t i = 0; i < count; i++) {
        const char *text = told_text(e, best[i].hint);
        if (text) /* else no memory: it goes untold */
            ret_briefs[told++] = (struct atoll_brief){.kind = ATOLL_BRIEF_HINT,
                                                      .id = best[i].hint->id,
                                                      .title = best[i].hint->hint.name,
                                                      .text = text,
                                                      .score = best[i].score};
    }
    return told;
}

/* ---- what came of it ---- */

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

static double share_of_wins(const struct atoll_experience *e, uint32_t stratum)
{
    const struct share *side = &e->sides[stratum >= ATOLL_ERROR_COUNT], *own = &e->strata[stratum];
    double share = (side->wins + SIDE_OUTCOMES * FIRST_SHARE) / (side->outcomes + SIDE_OUTCOMES);
    return (own->wins + SIDE_OUTCOMES * share) / (own->outcomes + SIDE_OUTCOMES);
}

int atoll_experience_used(struct atoll_experience *e, const struct atoll_diagnosis *diagnosis,
                          const struct atoll_briefing *briefing, struct atoll_err *err)
{
    struct told_ask ask = {.number = briefing->ask, .stratum = stratum_of(diagnosis), .first = e->told_count};
    if (atoll_index_find(&e->ask_index, briefing->ask, is_ask, NULL) != ATOLL_NONE)
        return 0;
    if (atoll_array_reserve(&e->told, &e->told_capacity, e->told_count + briefing->count, sizeof(*e->told),
                            err) != 0 ||
        atoll_array_reserve(&e->asks, &e->ask_capacity, e->ask_count + 1, sizeof(*e->asks), err) != 0 ||
        atoll_index_add(&e->ask_index, briefing->ask, e->ask_count, err) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < briefing->count; i++) {
        const struct atoll_brief *b = &briefing->briefs[i];
        uint32_t position = b->kind == ATOLL_BRIEF_HINT ? find_hint(e, &b->id) : ATOLL_NONE;
        if (position == ATOLL_NONE)
            continue;
        e->told[e->told_count++] = position;
        e->hints[position].own.uses++;
        ask.count++;
    }
    e->asks[e->ask_count++] = ask;
    return 0;
}

/* Sums of the ask's hints and strata move by so much. */
static void account(struct atoll_experience *e, const struct told_ask *a,
                    const struct atoll_hint_statistics *by)
{
    struct share *shares[] = {&e->strata[a->stratum], &e->sides[a->stratum >= ATOLL_ERROR_COUNT]};
    for (uint32_t i = 0; i < a->count; i++)
        atoll_hint_statistics_add(&e->hints[e->told[a->first + i]].own, by);
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        shares[i]->outcomes += by->outcomes;
        shares[i]->wins += by->wins;
    }
}

void atoll_experience_credit(struct atoll_experience *e, uint64_t number, double parent_ns,
                             enum atoll_verdict verdict, double child_ns)
{
    uint32_t position = atoll_index_find(&e->ask_index, number, is_ask, NULL);
    if (position == ATOLL_NONE || verdict == ATOLL_V_INFRASTRUCTURE || verdict == ATOLL_V_UNSTABLE)
        return;
    struct told_ask *a = &e->asks[position];
    int is_win = atoll_hint_is_win(parent_ns, verdict, child_ns),
        has_gain = verdict == ATOLL_V_CORRECT && parent_ns > 0 && child_ns > 0;
    double log_gain = has_gain ? log(parent_ns / child_ns) : 0;
    struct atoll_hint_statistics by = {0};
    if (!a->has_outcome) {
        by.outcomes = 1;
        by.expected = share_of_wins(e, a->stratum);
    }
    if (is_win && !a->is_win)
        by.wins = 1;
    if (has_gain && (!a->has_gain || log_gain > a->log_gain)) {
        by.gains = a->has_gain ? 0 : 1;
        by.log_gain = log_gain - (a->has_gain ? a->log_gain : 0);
        a->has_gain = 1;
        a->log_gain = log_gain;
    }
    a->has_outcome = 1;
    a->is_win |= is_win;
    account(e, a, &by);
}

/* ---- as it stands ---- */

size_t atoll_experience_count(const struct atoll_experience *e)
{
    return e->hint_count;
}

void atoll_experience_standing(const struct atoll_experience *e, size_t index,
                               struct atoll_experience_standing *ret_standing)
{
    const struct held_hint *h = &e->hints[index];
    struct atoll_hint_statistics whole = whole_of(h);
    *ret_standing = (struct atoll_experience_standing){
        .hint = &h->hint,
        .id = h->id,
        .own = h->own,
        .confidence =
            atoll_hint_confidence(&whole, whole.outcomes > 0 ? whole.expected / whole.outcomes : FIRST_SHARE),
        .lift = atoll_hint_lift(&whole),
        .is_dropped = atoll_hint_is_losing(&whole)};
}
