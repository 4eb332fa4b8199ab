#include "evolution/strategy/prompts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evolution/strategy/ask.h"
#include "evolution/strategy/wording.h"

#define OUTCOMES_LEAST 4 /* answers of a task since its last edits, that there is something to learn from */

static const char *language_of(const struct atoll_engine *e, uint32_t individual)
{
    return e->sources.items[e->individuals.items[individual].source].language;
}

/* ---- what became of it ---- */

/* Held against its parent, else against what the task began with. */
static struct atoll_prompt_outcome outcome_of(const struct atoll_engine *e, const struct atoll_task_state *t,
                                              const struct atoll_individual *r)
{
    const struct atoll_individual *parent = r->parent == ATOLL_NONE ? NULL : &e->individuals.items[r->parent];
    return (struct atoll_prompt_outcome){
        .is_correct = r->state == ATOLL_V_CORRECT,
        .time_ns = r->time_ns,
        .from_ns = parent && parent->state == ATOLL_V_CORRECT ? parent->time_ns : t->yardstick_ns,
        .best_ns = t->best_before_ns};
}

static uint64_t generation_of(const struct atoll_engine *e, const struct atoll_prompts *pool)
{
    return pool->evaluated / ((uint64_t)e->search.generation_size * e->search.islands);
}

static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    (void)ask;
    (void)err;
    if (!atoll_wording_is_on(e) || individual == ATOLL_NONE)
        return 0;
    const struct atoll_individual *r = &e->individuals.items[individual];
    struct atoll_prompts *pool = atoll_wording_pool(e, t);
    if (r->state >= ATOLL_VERDICT_COUNT)
        return 0;
    pool->evaluated++;
    enum atoll_language language = atoll_wording_language(language_of(e, individual));
    if (!r->prompt || language >= ATOLL_PROMPT_LANGUAGES)
        return 0;
    t->prompts.outcomes[language]++;
    struct atoll_prompt_outcome outcome = outcome_of(e, t, r);
    atoll_prompt_archive_credit(&pool->archives[language], &t->prompts.levels[language], r->prompt - 1,
                                &outcome);
    return 0;
}

/* ---- edits ---- */

/* Of those that there is something to learn about; ATOLL_PROMPT_LANGUAGES: of none. */
static enum atoll_language language_to_edit(const struct atoll_task_state *t)
{
    unsigned most = ATOLL_PROMPT_LANGUAGES;
    for (unsigned i = 0; i < ATOLL_PROMPT_LANGUAGES; i++)
        if (t->prompts.outcomes[i] >= OUTCOMES_LEAST &&
            (most == ATOLL_PROMPT_LANGUAGES || t->prompts.outcomes[i] > t->prompts.outcomes[most]))
            most = i;
    return (enum atoll_language)most;
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct atoll_prompts *pool = atoll_wording_pool(e, t);
    return atoll_wording_is_on(e) && !pool->ask && e->next_ask < UINT32_MAX &&
           generation_of(e, pool) >= pool->generation + e->search.prompt_interval &&
           language_to_edit(t) < ATOLL_PROMPT_LANGUAGES && atoll_ask_is_outside(e, t);
}

/* The newest kernels of a version: correct ones, and others. */
struct outcomes {
    uint32_t best, correct[ATOLL_ASK_INSPIRATION_LIMIT], failed[ATOLL_ASK_FAILURE_LIMIT];
    size_t correct_count, failed_count;
};

static struct outcomes outcomes_of(const struct atoll_engine *e, const struct atoll_task_state *t,
                                   enum atoll_language language, uint32_t version)
{
    struct outcomes o = {.best = ATOLL_NONE};
    for (uint32_t i = e->individuals.count; i-- > 0;) {
        const struct atoll_individual *r = &e->individuals.items[i];
        if (r->task != atoll_task_position(e, t) || r->prompt != version + 1 ||
            r->state >= ATOLL_VERDICT_COUNT || atoll_wording_language(language_of(e, i)) != language)
            continue;
        if (r->state != ATOLL_V_CORRECT && o.failed_count < ATOLL_ASK_FAILURE_LIMIT)
            o.failed[o.failed_count++] = i;
        if (r->state != ATOLL_V_CORRECT)
            continue;
        if (o.best == ATOLL_NONE || r->time_ns < e->individuals.items[o.best].time_ns)
            o.best = i;
        if (o.correct_count < ATOLL_ASK_INSPIRATION_LIMIT)
            o.correct[o.correct_count++] = i;
    }
    return o;
}

/* The version of the task's newest kernel in the language that has one; 0 as well when there is none. */
static uint32_t newest_version(const struct atoll_engine *e, const struct atoll_task_state *t,
                               enum atoll_language language)
{
    for (uint32_t i = e->individuals.count; i-- > 0;) {
        const struct atoll_individual *r = &e->individuals.items[i];
        if (r->task == atoll_task_position(e, t) && r->prompt && r->state < ATOLL_VERDICT_COUNT &&
            atoll_wording_language(language_of(e, i)) == language)
            return r->prompt - 1;
    }
    return 0;
}

static void name_outcomes(const struct atoll_engine *e, const struct outcomes *o, struct atoll_ask *ask)
{
    const struct atoll_individual *all = e->individuals.items;
    for (size_t i = 0; i < o->correct_count; i++)
        if (o->correct[i] != o->best)
            ask->inspirations[ask->inspiration_count++] = all[o->correct[i]].id;
    for (size_t i = 0; i < o->failed_count; i++)
        ask->failures[ask->failure_count++] = all[o->failed[i]].id;
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    struct atoll_prompts *pool = atoll_wording_pool(e, t);
    enum atoll_language language = language_to_edit(t);
    uint32_t version = atoll_prompt_archive_draw(&pool->archives[language], &e->search, &t->random);
    struct outcomes o = outcomes_of(e, t, language, version);
    if (!o.correct_count && !o.failed_count) { /* nobody used it here */
        version = newest_version(e, t, language);
        o = outcomes_of(e, t, language, version);
    }
    pool->generation = generation_of(e, pool);
    t->prompts.outcomes[language] = 0;
    uint32_t about = o.best != ATOLL_NONE ? o.best : o.failed_count ? o.failed[0] : ATOLL_NONE;
    if (about == ATOLL_NONE)
        return 0;
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_META, ATOLL_OPERATOR_PLAN, e->individuals.items[about].island, about);
    asked.ask.role = ATOLL_ISLAND_ROLE_COUNT;
    asked.ask.count = ATOLL_PROMPT_EDITS;
    asked.ask.prompt = version;
    name_outcomes(e, &o, &asked.ask);
    pool->ask = asked.ask.number;
    return atoll_ask_make(e, t, &asked, err);
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    (void)accepted;
    (void)err;
    struct atoll_prompts *pool = atoll_wording_pool(e, t);
    uint32_t edits = 0;
    if (asked->ask.kind != ATOLL_ASK_META)
        return 0;
    if (pool->ask == asked->ask.number)
        pool->ask = 0;
    for (uint32_t i = 0; i < reply->item_count; i++)
        edits += reply->items[i].kind == ATOLL_ITEM_EDIT;
    enum atoll_language language = atoll_wording_language_of_ask(e, asked);
    if (reply->status == ATOLL_REPLY_OK && edits && language < ATOLL_PROMPT_LANGUAGES)
        atoll_prompt_archive_add(&pool->archives[language], (uint32_t)asked->ask.number, asked->ask.prompt,
                                 e->search.prompt_archive);
    return 1;
}

const struct atoll_strategy atoll_strategy_prompts = {
    .name = "prompts", .ready = ready, .propose = propose, .settled = settled, .replied = replied};

void atoll_prompts_fini(struct atoll_prompts *prompts)
{
    free(prompts->authors);
    memset(prompts, 0, sizeof(*prompts));
}

/* ---- as bytes ---- */

static void number_codec(double *v, struct atoll_codec *c)
{
    atoll_codec_f64(c, v);
    if (c->in && !isfinite(*v)) {
        *v = 0;
        c->in->failed = 1;
    }
}

static void level_codec(struct atoll_prompt_level *level, struct atoll_codec *c)
{
    number_codec(&level->level, c);
    atoll_codec_u64(c, &level->answers);
}

static void parents_codec(struct atoll_prompt_parents *p, struct atoll_codec *c)
{
    atoll_codec_u64(c, &p->answers);
    number_codec(&p->behind, c);
    number_codec(&p->gain, c);
    number_codec(&p->squares, c);
    number_codec(&p->products, c);
}

static void archive_codec(struct atoll_prompt_archive *a, struct atoll_codec *c)
{
    atoll_codec_count(c, &a->count, 32);
    if (c->in && a->count > ATOLL_PROMPT_ARCHIVE_LIMIT) {
        a->count = 0;
        c->in->failed = 1;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        struct atoll_prompt_version *v = &a->versions[i];
        atoll_codec_u32(c, &v->version);
        atoll_codec_u32(c, &v->parent);
        atoll_codec_u32(c, &v->uses);
        atoll_codec_u32(c, &v->answers);
        number_codec(&v->fitness, c);
        number_codec(&v->best, c);
        if (c->in && i && v->version <= a->versions[i - 1].version)
            c->in->failed = 1;
    }
    number_codec(&a->spread, c);
    atoll_codec_u64(c, &a->answers);
    parents_codec(&a->parents, c);
}

int atoll_prompts_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err)
{
    struct atoll_prompts *p = &t->prompts;
    uint32_t count = p->author_count;
    if (!atoll_wording_is_on(e))
        return 0;
    for (unsigned i = 0; i < ATOLL_PROMPT_LANGUAGES; i++) {
        archive_codec(&p->archives[i], c);
        level_codec(&p->levels[i], c);
        atoll_codec_u64(c, &p->outcomes[i]);
    }
    atoll_codec_u64(c, &p->evaluated);
    atoll_codec_u64(c, &p->generation);
    atoll_codec_u64(c, &p->ask);
    atoll_codec_count(c, &count, 12);
    if (c->in && (count > ATOLL_WORDING_AUTHORS || p->ask >= e->next_ask)) {
        count = 0;
        c->in->failed = 1;
    }
    if (c->in && atoll_array_reserve(&p->authors, &p->author_capacity, count, sizeof(*p->authors), err))
        return -1;
    p->author_count = count;
    for (uint32_t i = 0; i < count; i++) {
        atoll_codec_u64(c, &p->authors[i].ask);
        atoll_codec_u32(c, &p->authors[i].version);
    }
    return 0;
}
