/* experience.c - hints and their accounts (core/experience/hint_ledger.h) stand at the same positions. */
#include "evolution/experience/experience.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/random.h"
#include "base/word_list.h"
#include "core/experience/hint_ledger.h"

#define TEXT_BYTES ((size_t)64 << 20)
#define TOLD_BYTES ((size_t)64 << 10)
#define CURIOSITY  0.5 /* what an unknown hint has ahead of a known one of the same lift, at first */

/* Texts in the arena. */
struct atoll_experience {
    struct atoll_arena *texts, *told_texts;
    struct atoll_experience_hint *hints; /* as many as accounts, in their order */
    uint32_t hint_count, hint_capacity;
    struct atoll_hint_ledger ledger;
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
    atoll_hint_ledger_fini(&e->ledger);
    free(e->hints);
    free(e);
}

/* ---- hints ---- */

int atoll_experience_add_hint(struct atoll_experience *e, const struct atoll_experience_hint *hint,
                              struct atoll_id *ret_id, struct atoll_err *err)
{
    struct atoll_id id;
    struct atoll_experience_hint held = *hint;
    const char **texts[] = {&held.name,    &held.language, &held.device, &held.category,
                            &held.context, &held.advice,   &held.source};
    if (atoll_experience_hint_check(hint, err) != 0)
        return -1;
    id = atoll_experience_hint_id(hint);
    if (atoll_hint_ledger_find(&e->ledger, &id) == ATOLL_NONE) {
        if (e->hint_count == ATOLL_EXPERIENCE_HINT_LIMIT)
            return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d hints", ATOLL_EXPERIENCE_HINT_LIMIT);
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
            if (!(*texts[i] = atoll_arena_text(e->texts, *texts[i], strlen(*texts[i]), err)))
                return -1;
        if (atoll_array_reserve(&e->hints, &e->hint_capacity, e->hint_count + 1, sizeof(*e->hints), err) != 0)
            return -1;
        if (atoll_hint_ledger_add(&e->ledger, &id, &hint->prior, err) != 0)
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
    struct atoll_hint_words words;
    struct atoll_experience_hint hint;
    if (!atoll_experience_hint_of_item(item, language, device, &words, &hint) ||
        e->hint_count == ATOLL_EXPERIENCE_HINT_LIMIT) {
        return 0;
    }
    struct atoll_id id = atoll_experience_hint_id(&hint);
    if (atoll_hint_ledger_find(&e->ledger, &id) != ATOLL_NONE)
        return 0;
    return atoll_experience_add_hint(e, &hint, NULL, err) == 0 ? 1 : -1;
}

/* ---- what is told ---- */

struct ranked {
    uint32_t hint;
    double score;
    uint64_t turn; /* the smaller first among equals */
};

static int is_better(const struct ranked *a, const struct ranked *b)
{
    return a->score > b->score || (a->score == b->score && a->turn < b->turn);
}

static double score_of(const struct atoll_experience *e, uint32_t at, const struct atoll_experience_query *q)
{
    const struct atoll_experience_hint *h = &e->hints[at];
    struct atoll_hint_statistics whole = atoll_hint_account_whole(&e->ledger.accounts[at]);
    double known = 1 / sqrt(1 + whole.outcomes), gain = log(atoll_hint_gain(&whole));
    double fit = 1 + 0.2 * (*h->device && strcmp(h->device, q->device) == 0) + 0.1 * (*h->language != '\0') +
                 0.2 * (*h->category != '\0') +
                 0.2 * (h->role == q->role && q->role < ATOLL_ISLAND_ROLE_COUNT);
    return fit * (atoll_hint_lift(&whole) * (1 + fmin(1, fmax(0, gain))) + CURIOSITY * known);
}

static int fits(const struct atoll_experience *e, uint32_t at, const struct atoll_experience_query *q)
{
    const struct atoll_experience_hint *hint = &e->hints[at];
    struct atoll_hint_statistics whole = atoll_hint_account_whole(&e->ledger.accounts[at]);
    return atoll_trigger_holds(&hint->trigger, q->diagnosis) && !atoll_hint_is_losing(&whole) &&
           (!*hint->language || strcmp(hint->language, q->language) == 0) &&
           (!*hint->device || (*q->device && atoll_device_family_holds(hint->device, q->device))) &&
           (!*hint->category || atoll_word_is_in(hint->category, q->category));
}

static int is_of_role(const struct atoll_experience_hint *h, const struct atoll_experience_query *q)
{
    return q->role >= ATOLL_ISLAND_ROLE_COUNT || h->role >= ATOLL_ISLAND_ROLE_COUNT || h->role == q->role;
}

static size_t rank(const struct atoll_experience *e, const struct atoll_experience_query *q, int of_role,
                   size_t limit, struct ranked *best)
{
    size_t count = 0;
    for (uint32_t i = 0; i < e->hint_count; i++) {
        struct ranked r = {i, 0, atoll_mix64(q->ask ^ atoll_id_u64(&e->ledger.accounts[i].id))};
        if (!fits(e, i, q) || (of_role && !is_of_role(&e->hints[i], q)))
            continue;
        r.score = score_of(e, i, q);
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
static const char *told_text(struct atoll_experience *e, uint32_t at)
{
    char text[ATOLL_HINT_CONTEXT_BYTES + ATOLL_HINT_ADVICE_BYTES + 128];
    const struct atoll_experience_hint *h = &e->hints[at];
    struct atoll_hint_statistics whole = atoll_hint_account_whole(&e->ledger.accounts[at]);
    int used = snprintf(text, sizeof(text), "%s%s%s", h->context, *h->context ? ": " : "", h->advice);
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
                                                      .id = e->ledger.accounts[best[i].hint].id,
                                                      .title = e->hints[best[i].hint].name,
                                                      .text = text,
                                                      .score = best[i].score};
    }
    return told;
}

/* ---- what came of it ---- */

int atoll_experience_used(struct atoll_experience *e, const struct atoll_diagnosis *diagnosis,
                          const struct atoll_briefing *briefing, struct atoll_err *err)
{
    return atoll_hint_ledger_used(&e->ledger, diagnosis, briefing, err);
}

void atoll_experience_credit(struct atoll_experience *e, uint64_t ask, double parent_ns,
                             enum atoll_verdict verdict, double child_ns)
{
    atoll_hint_ledger_credit(&e->ledger, ask, parent_ns, verdict, child_ns);
}

/* ---- as it stands ---- */

size_t atoll_experience_count(const struct atoll_experience *e)
{
    return e->hint_count;
}

void atoll_experience_standing(const struct atoll_experience *e, size_t index,
                               struct atoll_experience_standing *ret_standing)
{
    const struct atoll_hint_account *a = &e->ledger.accounts[index];
    struct atoll_hint_statistics whole = atoll_hint_account_whole(a);
    *ret_standing = (struct atoll_experience_standing){.hint = &e->hints[index],
                                                       .id = a->id,
                                                       .own = a->own,
                                                       .confidence = atoll_hint_confidence(&whole),
                                                       .lift = atoll_hint_lift(&whole),
                                                       .is_dropped = atoll_hint_is_losing(&whole)};
}
