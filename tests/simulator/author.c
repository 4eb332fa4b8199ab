#include "tests/simulator/author.h"

#include <string.h>

#include "core/issue.h"
#include "base/random.h"

#define DRAFT_STEPS   8
#define TURNS         6    /* away from what was tried */
#define TOKENS        2000 /* of a reply, in and out */
#define COST_USD      0.01
#define SEEN_SHARE    0.9 /* of what is wrong that an analysis finds */
#define FANCIED_SHARE 0.1 /* of what is right that it reports */

struct writing {
    const struct atoll_author_settings *author;
    const struct atoll_landscape *landscape;
    const struct atoll_engine *engine;
    const struct atoll_ask *ask;
    const struct atoll_author_told *told; /* NULL nothing */
    struct atoll_random random;
};

void atoll_author_defaults(struct atoll_author_settings *ret_settings)
{
    *ret_settings = (struct atoll_author_settings){.structure = 0.4,
                                                   .leap = 0.05,
                                                   .loss = 0.1,
                                                   .advised = 0.6,
                                                   .cast = 0.5,
                                                   .inspired = 0.4,
                                                   .heeds = 0.5,
                                                   .recalls = 0.7};
}

static int happens(struct writing *w, double share)
{
    return atoll_random_unit(atoll_random_next(&w->random)) < share;
}

static unsigned below(struct writing *w, unsigned bound)
{
    return (unsigned)atoll_random_below(atoll_random_next(&w->random), bound);
}

/* 0, or -1 when the engine does not know the candidate. */
static int look_up(const struct writing *w, const struct atoll_id *candidate,
                   struct atoll_landscape_point *ret_point)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text;
    if (atoll_id_is_zero(candidate) ||
        atoll_engine_candidate(w->engine, w->ask->task, candidate, &source, &choice) ||
        atoll_engine_source(w->engine, &source, &language, &text)) {
        return -1;
    }
    return atoll_landscape_parse(text, &choice, ret_point);
}

struct step {
    unsigned dimension;
    int up;
};

/* In proportion to the weights. */
static struct step follow_advice(struct writing *w)
{
    const struct atoll_ask *ask = w->ask;
    double sum = 0;
    for (size_t i = 0; i < ask->advice_count; i++)
        sum += ask->advice[i].weight;
    double at = atoll_random_unit(atoll_random_next(&w->random)) * sum;
    size_t i = 0;
    while (i + 1 < ask->advice_count && at >= ask->advice[i].weight)
        at -= ask->advice[i++].weight;
    return (struct step){ask->advice[i].dimension % 3u, ask->advice[i].sign > 0};
}

static const uint8_t role_dimensions[ATOLL_ISLAND_ROLE_COUNT] = {[ATOLL_ISLAND_FUSION] = 1,
                                                                 [ATOLL_ISLAND_MEMORY] = 0,
                                                                 [ATOLL_ISLAND_PARALLELISM] = 2,
                                                                 [ATOLL_ISLAND_ALGORITHM] = 1,
                                                                 [ATOLL_ISLAND_NUMERICS] = 3};

/* 3: the traits. */
static const uint8_t stage_dimensions[ATOLL_ISSUE_STAGE_COUNT] = {
    [ATOLL_ISSUE_STAGE_ALGORITHM] = 1,  [ATOLL_ISSUE_STAGE_DISCOVERY] = 1, [ATOLL_ISSUE_STAGE_DTYPE] = 3,
    [ATOLL_ISSUE_STAGE_FUSION] = 1,     [ATOLL_ISSUE_STAGE_MEMORY] = 0,    [ATOLL_ISSUE_STAGE_ADDRESSING] = 0,
    [ATOLL_ISSUE_STAGE_PERSISTENT] = 2, [ATOLL_ISSUE_STAGE_DEVICE] = 2,    [ATOLL_ISSUE_STAGE_TUNING] = 3,
};

/* Where the ask's role or stage points: a dimension, 3 the traits, 4 nowhere. */
static unsigned focus(struct writing *w)
{
    const struct atoll_ask *ask = w->ask;
    if (ask->op == ATOLL_OPERATOR_STAGED && ask->stage < ATOLL_ISSUE_STAGE_COUNT)
        return stage_dimensions[ask->stage];
    if (ask->role < ATOLL_ISLAND_ROLE_COUNT && happens(w, w->author->cast))
        return role_dimensions[ask->role];
    return 4;
}

static void change_level(struct writing *w, unsigned dimension, int up, struct atoll_landscape_point *p)
{
    unsigned count = happens(w, w->author->leap) ? 2 : 1;
    uint8_t *level = &p->levels[dimension];
    for (unsigned i = 0; i < count; i++)
        if (up && *level < ATOLL_BEHAVIOUR_LEVELS - 1)
            ++*level;
        else if (!up && *level > 0)
            --*level;
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++)
        if (happens(w, w->author->loss))
            p->traits[k] = (uint8_t)below(w, atoll_landscape_ideas(w->landscape, p, k));
}

/* One step of a trait, or another idea for it.  Values beyond the author's ideas are kept, not found. */
static void change_trait(struct writing *w, struct atoll_landscape_point *p)
{
    unsigned k = below(w, ATOLL_LANDSCAPE_TRAITS), ideas = atoll_landscape_ideas(w->landscape, p, k);
    if (happens(w, 0.5)) {
        p->traits[k] = (uint8_t)below(w, ideas);
        return;
    }
    int next = p->traits[k] + (happens(w, 0.5) ? 1 : -1);
    if (next >= 0 && next < ATOLL_LANDSCAPE_VALUES && (next < (int)ideas || next < p->traits[k]))
        p->traits[k] = (uint8_t)next;
}

/* Each of the other's traits with even chance: what somebody adopts who reads another kernel. */
static int adopt(struct writing *w, struct atoll_landscape_point *p)
{
    struct atoll_landscape_point other;
    if (!w->ask->inspiration_count || !happens(w, w->author->inspired) ||
        look_up(w, &w->ask->inspirations[below(w, (unsigned)w->ask->inspiration_count)], &other)) {
        return 0;
    }
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++)
        if (happens(w, 0.5))
            p->traits[k] = other.traits[k];
    return 1;
}

static void change_structure(struct writing *w, unsigned where, struct atoll_landscape_point *p)
{
    struct step step = {where < 3 ? where : below(w, 3), happens(w, 0.5)};
    if (w->ask->advice_count && happens(w, w->author->advised))
        step = follow_advice(w);
    change_level(w, step.dimension, step.up, p);
}

/* ---- what it is told ---- */

void atoll_author_told_move(struct atoll_author_told *told, unsigned coordinate, int sign)
{
    if (told->move_count < ATOLL_AUTHOR_MOVES)
        told->moves[told->move_count++] =
            (struct atoll_author_move){(uint8_t)(coordinate % ATOLL_AUTHOR_COORDINATES), sign > 0 ? 1 : -1};
}

static uint8_t *coordinate_of(struct atoll_landscape_point *p, unsigned coordinate)
{
    return coordinate < 3 ? &p->levels[coordinate] : &p->traits[coordinate - 3];
}

const char *atoll_author_rewrite(const struct atoll_landscape_point *slow,
                                 const struct atoll_landscape_point *fast,
                                 char ret_title[ATOLL_AUTHOR_REWRITE])
{
    struct atoll_landscape_point from = *slow, to = *fast;
    size_t at = 0;
    for (unsigned c = 0; c < ATOLL_AUTHOR_COORDINATES; c++) {
        int difference = *coordinate_of(&to, c) - *coordinate_of(&from, c);
        if (difference) {
            ret_title[at++] = (char)('0' + c);
            ret_title[at++] = difference > 0 ? '+' : '-';
        }
    }
    ret_title[at] = 0;
    return ret_title;
}

void atoll_author_told_rewrite(struct atoll_author_told *told, const char *title)
{
    for (; title[0] >= '0' && title[0] <= '8' && (title[1] == '+' || title[1] == '-'); title += 2)
        atoll_author_told_move(told, (unsigned)(title[0] - '0'), title[1] == '+' ? 1 : -1);
}

/* 0: it follows none. */
static int follow_move(struct writing *w, struct atoll_landscape_point *p)
{
    if (!w->told || !w->told->move_count || !happens(w, w->author->heeds))
        return 0;
    const struct atoll_author_move *move = &w->told->moves[below(w, w->told->move_count)];
    uint8_t *at = coordinate_of(p, move->coordinate);
    int next = *at + move->sign,
        limit = move->coordinate < 3 ? ATOLL_BEHAVIOUR_LEVELS : ATOLL_LANDSCAPE_VALUES;
    if (move->coordinate < 3)
        change_level(w, move->coordinate, move->sign > 0, p);
    else if (next >= 0 && next < limit)
        *at = (uint8_t)next;
    return 1;
}

static int was_tried(const struct writing *w, const struct atoll_landscape_point *p)
{
    for (uint32_t i = 0; w->told && i < w->told->tried_count; i++) {
        const struct atoll_landscape_point *t = &w->told->tried[i];
        if (memcmp(t->levels, p->levels, sizeof(p->levels)) == 0 &&
            memcmp(t->traits, p->traits, sizeof(p->traits)) == 0) {
            return 1;
        }
    }
    return 0;
}

static void mutate(struct writing *w, struct atoll_landscape_point *p)
{
    if (follow_move(w, p))
        return;
    unsigned where = focus(w);
    int structure = where == 3 ? 0 : where < 3 ? 1 : happens(w, w->author->structure);
    if (structure)
        change_structure(w, where, p);
    else if (!adopt(w, p))
        change_trait(w, p);
}

/* A step to where nobody was, as far as it remembers. */
static void mutate_anew(struct writing *w, struct atoll_landscape_point *p)
{
    struct atoll_landscape_point from = *p;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        *p = from;
        mutate(w, p);
        if (!was_tried(w, p) || !happens(w, w->author->recalls))
            return;
    }
}

/* A plan is a step from the parent, known by the ask that made it and its place there; whoever carries it out may
 * touch another trait too. */
static void carry_out(struct writing *w, uint64_t seed, struct atoll_landscape_point *p)
{
    struct atoll_random own = w->random;
    w->random = (struct atoll_random){atoll_random_at(seed ^ w->ask->plan, w->ask->plan_index), 0};
    mutate(w, p);
    w->random = own;
    if (happens(w, 0.5))
        change_trait(w, p);
}

/* What is obvious is done, and no advice is needed for it; 0: nothing is. */
static int do_the_obvious(struct writing *w, struct atoll_landscape_point *p)
{
    struct atoll_task_status status;
    struct atoll_landscape_point best;
    if (!(w->author->obvious > 0) || atoll_engine_task_status(w->engine, w->ask->task, 0, &status) ||
        look_up(w, &status.best, &best) ||
        !(atoll_landscape_time_ns(w->landscape, p) >
          w->author->obvious * atoll_landscape_time_ns(w->landscape, &best)))
        return 0;
    *p = best;
    change_trait(w, p);
    return 1;
}

static void draft(struct writing *w, struct atoll_landscape_point *p)
{
    for (unsigned steps = 1 + below(w, DRAFT_STEPS); steps; steps--)
        mutate(w, p);
}

static void write_source(struct writing *w, uint64_t seed, uint32_t index, struct atoll_buffer *texts)
{
    struct atoll_landscape_point p = {{0}, {0}, 0};
    w->random = (struct atoll_random){atoll_random_at(seed ^ w->ask->number, index), 0};
    if (look_up(w, &w->ask->parent, &p))
        draft(w, &p);
    else if (w->ask->plan)
        carry_out(w, seed, &p);
    else if (!do_the_obvious(w, &p))
        mutate_anew(w, &p);
    p.attempt = w->ask->number * ATOLL_ASK_COUNT_LIMIT + index;
    if (happens(w, w->author->garbled))
        atoll_buffer_printf(texts, "garbled %llu", (unsigned long long)p.attempt);
    else
        atoll_landscape_print(&p, texts);
    atoll_buffer_put_u8(texts, 0);
}

static void write_sources(struct writing *w, uint64_t seed, struct atoll_buffer *texts,
                          struct atoll_reply *reply)
{
    size_t offsets[ATOLL_REPLY_SOURCE_LIMIT];
    reply->source_count = w->ask->count < ATOLL_REPLY_SOURCE_LIMIT ? w->ask->count : ATOLL_REPLY_SOURCE_LIMIT;
    for (uint32_t i = 0; i < reply->source_count; i++) {
        offsets[i] = texts->length;
        write_source(w, seed, i, texts);
    }
    for (uint32_t i = 0; i < reply->source_count; i++)
        reply->sources[i] = (struct atoll_reply_source){"c", (const char *)texts->data + offsets[i]};
}

/* Whether a step upwards in a dimension (3: the way to the middle of the traits) would make the parent faster. */
static int wants(const struct writing *w, unsigned dimension, const struct atoll_landscape_point *p)
{
    struct atoll_landscape_point better = *p;
    if (dimension < 3)
        better.levels[dimension] = (uint8_t)(p->levels[dimension] < 3 ? p->levels[dimension] + 1 : 3);
    return dimension == 3 ||
           atoll_landscape_time_ns(w->landscape, &better) < atoll_landscape_time_ns(w->landscape, p);
}

static uint64_t analyse(struct writing *w)
{
    struct atoll_landscape_point p = {{0}, {0}, 0};
    uint64_t issues = 0;
    look_up(w, &w->ask->parent, &p);
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++) {
        if (happens(w, wants(w, stage_dimensions[atoll_issue_row((enum atoll_issue)i)->stage], &p)
                           ? SEEN_SHARE
                           : FANCIED_SHARE)) {
            issues |= UINT64_C(1) << i;
        }
    }
    return issues;
}

/* Any order; the engine mends what breaks a precedence. */
static void order(struct writing *w, struct atoll_reply *reply)
{
    for (unsigned i = 0; i < ATOLL_ISSUE_STAGE_COUNT; i++) {
        unsigned at = below(w, i + 1);
        reply->order[i] = reply->order[at];
        reply->order[at] = (uint8_t)i;
    }
    reply->order_count = ATOLL_ISSUE_STAGE_COUNT;
}

/* What tells the fast kernel from the slow one. */
static void summarise(struct writing *w, struct atoll_buffer *texts, struct atoll_reply *reply)
{
    struct atoll_landscape_point slow, fast;
    char title[ATOLL_AUTHOR_REWRITE];
    if (!w->ask->inspiration_count || look_up(w, &w->ask->parent, &slow) ||
        look_up(w, &w->ask->inspirations[0], &fast)) {
        return;
    }
    atoll_buffer_put_bytes(texts, atoll_author_rewrite(&slow, &fast, title), strlen(title) + 1);
    reply->item_count = texts->failed || !title[0] ? 0 : 1;
    reply->items[0] =
        (struct atoll_reply_item){.kind = ATOLL_ITEM_REWRITE, .title = (const char *)texts->data};
}

static enum atoll_reply_status status(struct writing *w)
{
    double at = atoll_random_unit(atoll_random_next(&w->random));
    const double shares[] = {w->author->refused, w->author->failed, w->author->empty};
    static const enum atoll_reply_status states[] = {ATOLL_REPLY_REFUSED, ATOLL_REPLY_FAILED,
                                                     ATOLL_REPLY_EMPTY};
    for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        if (at < shares[i])
            return states[i];
        at -= shares[i];
    }
    return ATOLL_REPLY_OK;
}

void atoll_author_answer(const struct atoll_author_settings *author, uint64_t seed,
                         const struct atoll_landscape *landscape, const struct atoll_engine *engine,
                         const struct atoll_ask *ask, const struct atoll_author_told *told,
                         struct atoll_buffer *texts, struct atoll_reply *ret_reply)
{
    struct writing w = {author, landscape, engine, ask, told, {atoll_random_at(seed, ask->number), 0}};
    atoll_buffer_clear(texts);
    memset(ret_reply, 0, sizeof(*ret_reply));
    ret_reply->ask = ask->number;
    ret_reply->origin = "author";
    ret_reply->tokens = TOKENS;
    ret_reply->cost_usd = COST_USD;
    ret_reply->status = status(&w);
    if (ret_reply->status != ATOLL_REPLY_OK)
        return;
    switch (ask->kind) {
    case ATOLL_ASK_WRITE: write_sources(&w, seed, texts, ret_reply); break;
    case ATOLL_ASK_PLAN: ret_reply->plan_count = ask->count; break;
    case ATOLL_ASK_ANALYSE: ret_reply->issues = analyse(&w); break;
    case ATOLL_ASK_ORDER: order(&w, ret_reply); break;
    case ATOLL_ASK_SUMMARISE: summarise(&w, texts, ret_reply); break;
    default: break;
    }
}
