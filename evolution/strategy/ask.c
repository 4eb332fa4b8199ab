/* ask.c - asks are numbered, kept until they are answered, and charged when they are. */
#include "evolution/strategy/ask.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evolution/engine/budget.h"
#include "evolution/engine/decide.h"
#include "evolution/strategy/builtin.h"
#include "evolution/engine/propose.h"
#include "evolution/strategy/wording.h"
#include "evolution/strategy/strategy.h"

int atoll_ask_is_outside(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return e->search.ask_share > 0 && !e->asks_spent && !t->asks_spent && !atoll_budget_asks_reason(e);
}

int atoll_ask_allowed(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return !atoll_ask_is_outside(e, t) || t->asks - t->lesson_asks < e->search.asks;
}

struct atoll_asked atoll_ask_about(const struct atoll_engine *e, const struct atoll_task_state *t,
                                   enum atoll_ask_kind kind, enum atoll_operator op, uint32_t island,
                                   uint32_t parent)
{
    struct atoll_asked a;
    memset(&a, 0, sizeof(a));
    a.task = atoll_task_position(e, t);
    a.parent = parent;
    a.ask.number = e->next_ask;
    a.ask.kind = kind;
    a.ask.op = op;
    a.ask.task = t->number;
    a.ask.model = t->model;
    a.ask.island = island;
    a.ask.generation = (uint32_t)(t->islands[island].evaluated / e->search.generation_size);
    a.ask.role = (uint8_t)(e->search.roles ? island % ATOLL_ISLAND_ROLE_COUNT : ATOLL_ISLAND_ROLE_COUNT);
    a.ask.count = 1;
    a.ask.baseline_ns = t->baseline_ns;
    a.ask.floor_ns = fmax(0, t->floor_ns);
    if (t->best != ATOLL_NONE)
        a.ask.best_ns = e->individuals.items[t->best].time_ns;
    if (parent != ATOLL_NONE)
        a.ask.parent = e->individuals.items[parent].id;
    return a;
}

static void send(struct atoll_engine *e, const struct atoll_asked *asked)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = ATOLL_DECIDE_ASK;
    d.task = asked->ask.task;
    d.model = asked->ask.model;
    d.island = asked->ask.island;
    d.ask = asked->ask;
    atoll_decide(e, &d);
}

static int answer_here(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                       struct atoll_err *err)
{
    struct atoll_asked made = *asked;
    struct atoll_reply reply;
    uint32_t accepted = 0;
    made.is_here = 1;
    memset(&reply, 0, sizeof(reply));
    reply.ask = made.ask.number;
    if (atoll_builtin_answer(e, t, &made, &reply, &accepted, err))
        return -1;
    return atoll_strategy_replied(e, t, &made, &reply, accepted, err);
}

int atoll_ask_make_here(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                        struct atoll_err *err)
{
    struct atoll_asked made = *asked;
    made.ask.number = e->next_ask++;
    return answer_here(e, t, &made, err);
}

/* The attempts at a plan and the templates at the end have a number of their own, and an extractor gives one. */
static int has_free_count(enum atoll_operator op)
{
    return op == ATOLL_OPERATOR_UNIVERSAL || op == ATOLL_OPERATOR_INITIALISE || op == ATOLL_OPERATOR_STAGED ||
           op == ATOLL_OPERATOR_TRANSLATE;
}

/* The ask whose reply tells what an analyser found in the kernel that is started from (analysis.h); 0: nobody knows, or it is not for
 * this ask. */
static uint64_t report_on_parent(const struct atoll_engine *e, const struct atoll_asked *asked)
{
    enum atoll_operator op = asked->ask.op;
    int is_told = asked->ask.kind == ATOLL_ASK_PLAN ||
                  (asked->ask.kind == ATOLL_ASK_WRITE &&
                   (op == ATOLL_OPERATOR_UNIVERSAL || op == ATOLL_OPERATOR_TEMPLATE));
    if (!is_told || asked->parent == ATOLL_NONE || !e->search.analyses)
        return 0;
    const struct atoll_source *s = &e->sources.items[e->individuals.items[asked->parent].source];
    return s->analysed == ATOLL_ANALYSED_TOLD ? s->analysis : 0;
}

int atoll_ask_make(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   struct atoll_err *err)
{
    struct atoll_asks *asks = &e->asks;
    if (!atoll_ask_is_outside(e, t))
        return atoll_ask_make_here(e, t, asked, err);
    struct atoll_asked made = *asked;
    made.ask.number = e->next_ask++;
    if (made.ask.kind == ATOLL_ASK_WRITE && has_free_count(made.ask.op))
        made.ask.count = e->search.ask_candidates;
    if (!made.ask.plan)
        made.ask.plan = report_on_parent(e, &made);
    if (atoll_wording_choose(e, t, &made, err))
        return -1;
    if (atoll_array_reserve(&asks->items, &asks->capacity, asks->count + 1, sizeof(*asks->items), err))
        return -1;
    asks->items[asks->count++] = made;
    t->asks++;
    t->lesson_asks += (uint32_t)atoll_ask_is_lesson(made.ask.kind);
    send(e, &made);
    return 0;
}

int atoll_ask_stays_here(const struct atoll_engine *e, struct atoll_task_state *t)
{
    return atoll_ask_is_outside(e, t) && e->search.ask_share < 1 && t->template_count &&
           atoll_random_unit(atoll_random_next(&t->random)) >= e->search.ask_share;
}

/* Sources that are new to the task are queued, as many as were wanted. */
static int accept(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                  const struct atoll_reply *reply, uint32_t *ret_accepted, struct atoll_err *err)
{
    *ret_accepted = 0;
    if (asked->ask.kind != ATOLL_ASK_WRITE || t->done)
        return 0;
    for (uint32_t i = 0; i < reply->source_count && *ret_accepted < asked->ask.count; i++) {
        const struct atoll_reply_source *s = &reply->sources[i];
        if (!s->language || !s->text || !atoll_language_takes(e->search.language, s->language) ||
            strlen(s->text) > ATOLL_SOURCE_LIMIT) {
            continue;
        }
        struct atoll_pending p = {.island = asked->ask.island,
                                  .parent = asked->parent,
                                  .ask = asked->ask.number,
                                  .prompt = atoll_wording_mark(e, &asked->ask),
                                  .op = (uint8_t)asked->ask.op};
        int queued = atoll_propose_text(e, t, s->language, s->text, &p, err);
        if (queued < 0)
            return -1;
        *ret_accepted += (uint32_t)queued;
    }
    return 0;
}

/* What was spent never becomes less, whatever an answer says. */
static void charge(struct atoll_engine *e, uint64_t tokens, double cost_usd)
{
    e->tokens += tokens < UINT64_MAX - e->tokens ? tokens : UINT64_MAX - e->tokens;
    if (cost_usd > 0)
        e->cost_usd = fmin(e->cost_usd + cost_usd, DBL_MAX);
}

void atoll_ask_turned(struct atoll_engine *e, const struct atoll_tool_turn *turn)
{
    charge(e, turn->tokens_in, turn->cost_usd);
    charge(e, turn->tokens_out, 0);
}

int atoll_ask_answered(struct atoll_engine *e, const struct atoll_reply *reply, struct atoll_err *err)
{
    struct atoll_asks *asks = &e->asks;
    uint32_t at = 0, accepted;
    while (at < asks->count && asks->items[at].ask.number != reply->ask)
        at++;
    if (at == asks->count)
        return 1;
    struct atoll_asked asked = asks->items[at];
    struct atoll_task_state *t = &e->tasks[asked.task];
    memmove(&asks->items[at], &asks->items[at + 1], (asks->count - at - 1) * sizeof(*asks->items));
    asks->count--;
    t->asks--;
    t->lesson_asks -= (uint32_t)atoll_ask_is_lesson(asked.ask.kind);
    charge(e, reply->tokens, reply->cost_usd);
    if (reply->status == ATOLL_REPLY_SPENT)
        e->asks_spent = 1;
    if (reply->status == ATOLL_REPLY_TASK_SPENT)
        t->asks_spent = 1;
    if (reply->status == ATOLL_REPLY_BUILTIN)
        return answer_here(e, t, &asked, err);
    if (accept(e, t, &asked, reply, &accepted, err))
        return -1;
    int is_answer = reply->status == ATOLL_REPLY_OK || reply->status == ATOLL_REPLY_EMPTY;
    t->samples += asked.ask.kind == ATOLL_ASK_WRITE && is_answer && !accepted;
    t->fruitless += asked.ask.kind == ATOLL_ASK_WRITE && is_answer;
    return atoll_strategy_replied(e, t, &asked, reply, accepted, err);
}

void atoll_ask_repeat(struct atoll_engine *e)
{
    for (uint32_t i = 0; i < e->asks.count; i++)
        send(e, &e->asks.items[i]);
}

void atoll_asks_fini(struct atoll_asks *asks)
{
    free(asks->items);
    memset(asks, 0, sizeof(*asks));
}

int atoll_asks_codec(struct atoll_engine *e, struct atoll_codec *codec, struct atoll_err *err)
{
    struct atoll_asks *asks = &e->asks;
    atoll_codec_count(codec, &asks->count, 64);
    if (codec->in &&
        atoll_array_reserve(&asks->items, &asks->capacity, asks->count, sizeof(*asks->items), err)) {
        asks->count = 0;
        return -1;
    }
    uint64_t last = 0;
    for (uint32_t i = 0; i < asks->count && !atoll_codec_failed(codec); i++) {
        struct atoll_asked *a = &asks->items[i];
        atoll_codec_u32(codec, &a->task);
        atoll_codec_u32(codec, &a->parent);
        if (codec->out)
            atoll_ask_encode(&a->ask, codec->out);
        else
            atoll_ask_decode(codec->in, &a->ask);
        int is_odd = codec->in && (a->ask.number <= last || a->ask.number >= e->next_ask ||
                                   a->task >= e->task_count || a->ask.island >= e->search.islands ||
                                   (a->parent != ATOLL_NONE && a->parent >= e->individuals.count));
        if (codec->in && !is_odd && atoll_ask_is_lesson(a->ask.kind))
            is_odd = ++e->tasks[a->task].lesson_asks > e->tasks[a->task].asks;
        if (is_odd)
            codec->in->failed = 1;
        last = a->ask.number;
    }
    return 0;
}
