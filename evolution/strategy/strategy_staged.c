/* strategy_staged.c - staged optimisation (ALGORITHMS.md 9, papers/002 IV).  A run takes the task's best kernel; its issues are analysed and
 * the stages that have some are ordered; a stage asks for candidates until one is faster than the kernel it was given,
 * or its rounds are used up, and then gives back what it was given; after every stage the issues are analysed again.
 *
 * Protocol: propose moves one run from a state that wants something into one that waits; replied and settled move it
 * on.  A run waits for one ask or one round of candidates.  Whatever an answer is, it closes what waited for it: without
 * a usable analysis what the built-in operator sees joins the issues that there were, without a usable order
 * the default one is taken, without a candidate the round is lost.  An issue of a type that
 * its analyser made up opens the stage it names, an open proposal that of discovery; their words are in the reply whose ask stands in those that follow from it.  When the rounds are
 * used up and somebody outside tried, a last ask is for what can be made of these tries (papers/002 IV-B).  All random numbers are the tuner's, of t->random:
 * runs differ because they draw one after the other.  An elite of another language or device model
 * is asked to be translated beside the runs, when one is due; none begins before that is settled, for it may be the best by then. */
#include "evolution/strategy/strategy_staged.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/strategy/ask.h"
#include "evolution/strategy/builtin.h"
#include "evolution/strategy/strategy.h"
#include "evolution/strategy/translate.h"

#define STAGE_BIT(stage) ((uint32_t)1 << (stage))
#define KNOWN_ISSUES     ((UINT64_C(1) << ATOLL_ISSUE_COUNT) - 1)
#define TUNING_COUNT     12 /* instances of one round of tuning (papers/002 IV-C 10) */

static const struct transition {
    uint8_t state, event, next;
} transitions[] = {
    {ATOLL_STAGED_WAITING, ATOLL_STAGED_BEGUN, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_WAITING, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ANALYSE, ATOLL_STAGED_ASKED, ATOLL_STAGED_ANALYSING},
    {ATOLL_STAGED_ANALYSE, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_UNORDERED, ATOLL_STAGED_ORDER},
    {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_STAGE, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ORDER, ATOLL_STAGED_ASKED, ATOLL_STAGED_ORDERING},
    {ATOLL_STAGED_ORDER, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_ORDERING, ATOLL_STAGED_STAGE, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_WRITE, ATOLL_STAGED_ASKED, ATOLL_STAGED_WRITING},
    {ATOLL_STAGED_WRITE, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_QUEUED, ATOLL_STAGED_TRYING},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_MISSED, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_CLOSED, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_MISSED, ATOLL_STAGED_WRITE},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_CLOSED, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_WRITING, ATOLL_STAGED_USED_UP, ATOLL_STAGED_EXTRACT},
    {ATOLL_STAGED_TRYING, ATOLL_STAGED_USED_UP, ATOLL_STAGED_EXTRACT},
    {ATOLL_STAGED_EXTRACT, ATOLL_STAGED_ASKED, ATOLL_STAGED_EXTRACTING},
    {ATOLL_STAGED_EXTRACT, ATOLL_STAGED_LOST, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_EXTRACTING, ATOLL_STAGED_QUEUED, ATOLL_STAGED_VERIFYING},
    {ATOLL_STAGED_EXTRACTING, ATOLL_STAGED_CLOSED, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_EXTRACTING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
    {ATOLL_STAGED_VERIFYING, ATOLL_STAGED_CLOSED, ATOLL_STAGED_ANALYSE},
    {ATOLL_STAGED_VERIFYING, ATOLL_STAGED_FINISHED, ATOLL_STAGED_OVER},
};

int atoll_staged_step(enum atoll_staged_state state, enum atoll_staged_event event, uint8_t *ret_state)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
        if (transitions[i].state == state && transitions[i].event == event) {
            *ret_state = transitions[i].next;
            return 0;
        }
    }
    return -1;
}

void atoll_staged_init(struct atoll_staged_run *run)
{
    memset(run, 0, sizeof(*run));
    run->kernel = run->winner = ATOLL_NONE;
}

/* Stages that may not be worked on any more. */
static uint32_t barred(const struct atoll_staged_run *run)
{
    uint32_t stages = run->done;
    for (unsigned a = 0; a < ATOLL_ISSUE_STAGE_COUNT; a++) {
        for (unsigned b = 0; b < ATOLL_ISSUE_STAGE_COUNT; b++) {
            if ((run->done & STAGE_BIT(b)) &&
                atoll_stage_precedes((enum atoll_issue_stage)a, (enum atoll_issue_stage)b)) {
                stages |= STAGE_BIT(a);
            }
        }
    }
    return stages;
}

uint64_t atoll_staged_open_issues(const struct atoll_staged_run *run)
{
    uint64_t issues = run->issues;
    uint32_t closed = barred(run);
    for (unsigned stage = 0; stage < ATOLL_ISSUE_STAGE_COUNT; stage++)
        if (closed & STAGE_BIT(stage))
            issues &= ~atoll_issues_of_stage(run->issues, (enum atoll_issue_stage)stage);
    return issues;
}

uint32_t atoll_staged_open_stages(const struct atoll_staged_run *run)
{
    return atoll_issue_stages(atoll_staged_open_issues(run)) | (run->named & ~barred(run));
}

void atoll_staged_arrange(struct atoll_staged_run *run, const uint8_t *wished, size_t count)
{
    uint8_t order[ATOLL_ISSUE_STAGE_COUNT];
    size_t ordered = atoll_stage_order_complete(atoll_staged_open_stages(run), wished, count, order);
    memset(run->order, 0, sizeof(run->order));
    memcpy(run->order, order, ordered);
    run->order_count = (uint8_t)ordered;
}

static void enter_stage(struct atoll_staged_run *run)
{
    run->stage = run->order[0];
    run->order_count--;
    memmove(run->order, run->order + 1, run->order_count);
    run->order[run->order_count] = 0;
    run->round = run->failure_count = 0;
    memset(run->failures, 0, sizeof(run->failures));
    run->idle |= STAGE_BIT(run->stage);
}

enum atoll_staged_event atoll_staged_close_round(struct atoll_staged_run *run, unsigned rounds)
{
    if (run->winner == ATOLL_NONE && run->round + 1u < rounds) {
        run->round++;
        return ATOLL_STAGED_MISSED;
    }
    if (run->winner != ATOLL_NONE) {
        run->kernel = run->winner;
        run->improved |= STAGE_BIT(run->stage);
    }
    run->winner = ATOLL_NONE;
    run->done |= STAGE_BIT(run->stage);
    return barred(run) == STAGE_BIT(ATOLL_ISSUE_STAGE_COUNT) - 1 ? ATOLL_STAGED_FINISHED
                                                                 : ATOLL_STAGED_CLOSED;
}

static void small_codec(uint8_t *v, unsigned limit, struct atoll_codec *c)
{
    atoll_codec_u8(c, v);
    if (c->in && *v >= limit) {
        *v = 0;
        c->in->failed = 1;
    }
}

static void kernel_codec(uint32_t *kernel, uint32_t individual_count, int may_be_none, struct atoll_codec *c)
{
    atoll_codec_u32(c, kernel);
    if (c->in && *kernel >= individual_count && !(may_be_none && *kernel == ATOLL_NONE))
        c->in->failed = 1;
}

static void run_codec(struct atoll_staged_run *run, uint32_t individual_count, struct atoll_codec *c)
{
    small_codec(&run->state, ATOLL_STAGED_STATE_COUNT, c);
    small_codec(&run->stage, ATOLL_ISSUE_STAGE_COUNT, c);
    atoll_codec_u8(c, &run->round);
    small_codec(&run->order_count, ATOLL_ISSUE_STAGE_COUNT + 1, c);
    for (unsigned i = 0; i < run->order_count; i++)
        small_codec(&run->order[i], ATOLL_ISSUE_STAGE_COUNT, c);
    int has_kernel = run->state != ATOLL_STAGED_WAITING && run->state != ATOLL_STAGED_OVER;
    kernel_codec(&run->kernel, individual_count, !has_kernel, c);
    kernel_codec(&run->winner, individual_count, 1, c);
    small_codec(&run->failure_count, ATOLL_ASK_FAILURE_LIMIT + 1, c);
    for (unsigned i = 0; i < run->failure_count; i++)
        kernel_codec(&run->failures[i], individual_count, 0, c);
    atoll_codec_u32(c, &run->left);
    atoll_codec_u64(c, &run->ask);
    atoll_codec_u64(c, &run->analysis);
    atoll_codec_u64(c, &run->issues);
    uint32_t *const stages[] = {&run->done, &run->improved, &run->idle, &run->named};
    for (unsigned i = 0; i < 4; i++) {
        atoll_codec_u32(c, stages[i]);
        if (c->in && *stages[i] >= STAGE_BIT(ATOLL_ISSUE_STAGE_COUNT))
            c->in->failed = 1;
    }
    if (c->in && (run->state == ATOLL_STAGED_TRYING || run->state == ATOLL_STAGED_VERIFYING) && !run->left)
        c->in->failed = 1;
}

static struct atoll_staged *staged_of(const struct atoll_task_state *t)
{
    return t->strategy;
}

static int create(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t count = e->search.staged_runs;
    struct atoll_staged *s = calloc(1, sizeof(*s) + count * sizeof(*s->runs));
    if (!s)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the runs of task %s", t->task->name);
    s->run_count = count;
    for (uint32_t i = 0; i < count; i++)
        atoll_staged_init(&s->runs[i]);
    t->strategy = s;
    return 0;
}

static void destroy(void *state)
{
    free(state);
}

static int is_correct(const struct atoll_engine *e, uint32_t kernel)
{
    return kernel != ATOLL_NONE && e->individuals.items[kernel].state == ATOLL_V_CORRECT;
}

int atoll_staged_beats(const struct atoll_search *search, const struct atoll_individual *candidate,
                       const struct atoll_individual *given)
{
    return candidate->state == ATOLL_V_CORRECT && given->state == ATOLL_V_CORRECT &&
           candidate->time_ns * (1 + search->margin) < given->time_ns && candidate->hi_ns > 0 &&
           candidate->hi_ns < given->lo_ns;
}

/* ---- what a run does ---- */

static int is_tuned_here(const struct atoll_engine *e, const struct atoll_staged_run *run)
{
    return run->state == ATOLL_STAGED_WRITE && run->stage == ATOLL_ISSUE_STAGE_TUNING &&
           atoll_builtin_is_tunable(e, run->kernel);
}

static void move(struct atoll_task_state *t, struct atoll_staged_run *run, enum atoll_staged_event event)
{
    staged_of(t)->strays += atoll_staged_step((enum atoll_staged_state)run->state, event, &run->state) != 0;
}

/* The first in turn that may act; run_count: none. */
static uint32_t next_run(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct atoll_staged *s = staged_of(t);
    for (uint32_t i = 0; i < s->run_count; i++) {
        uint32_t at = (s->next + i) % s->run_count;
        const struct atoll_staged_run *run = &s->runs[at];
        int may_act = 0;
        switch (run->state) {
        case ATOLL_STAGED_WAITING: /* the first runs begin when every seed and every duel over them is answered */
            may_act = s->translation            ? 0 /* which may be where it begins */
                      : at >= e->search.islands ? s->runs[at - e->search.islands].state == ATOLL_STAGED_OVER
                                                : s->runs[0].state != ATOLL_STAGED_WAITING || !t->under_way;
            break;
        case ATOLL_STAGED_ANALYSE:
        case ATOLL_STAGED_ORDER:
        case ATOLL_STAGED_EXTRACT: may_act = atoll_ask_allowed(e, t); break;
        case ATOLL_STAGED_WRITE: may_act = atoll_ask_allowed(e, t) || is_tuned_here(e, run); break;
        default: break;
        }
        if (may_act)
            return at;
    }
    return s->run_count;
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return next_run(e, t) < staged_of(t)->run_count;
}

static int ask_for(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_staged_run *run,
                   struct atoll_err *err)
{
    static const enum atoll_ask_kind kinds[ATOLL_STAGED_STATE_COUNT] = {
        [ATOLL_STAGED_ANALYSE] = ATOLL_ASK_ANALYSE,
        [ATOLL_STAGED_ORDER] = ATOLL_ASK_ORDER,
        [ATOLL_STAGED_WRITE] = ATOLL_ASK_WRITE,
        [ATOLL_STAGED_EXTRACT] = ATOLL_ASK_WRITE,
    };
    int is_tuned = is_tuned_here(e, run), is_last = run->state == ATOLL_STAGED_EXTRACT;
    struct atoll_asked asked =
        atoll_ask_about(e, t, kinds[run->state], is_last ? ATOLL_OPERATOR_EXTRACT : ATOLL_OPERATOR_STAGED,
                        (uint32_t)(run - staged_of(t)->runs) % e->search.islands, run->kernel);
    asked.ask.issues = atoll_staged_open_issues(run);
    if (run->state != ATOLL_STAGED_ANALYSE)
        asked.ask.plan = run->analysis;
    if (run->state == ATOLL_STAGED_WRITE || is_last) {
        asked.ask.stage = run->stage;
        asked.ask.round = run->round;
        asked.ask.issues = atoll_issues_of_stage(run->issues, (enum atoll_issue_stage)run->stage);
        asked.ask.failure_count = run->failure_count;
        for (unsigned i = 0; i < run->failure_count; i++)
            asked.ask.failures[i] = e->individuals.items[run->failures[i]].id;
    }
    if (is_tuned)
        asked.ask.count = TUNING_COUNT;
    run->ask = asked.ask.number;
    move(t, run, ATOLL_STAGED_ASKED); /* before it is made: it may be answered at once */
    return (is_tuned ? atoll_ask_make_here : atoll_ask_make)(e, t, &asked, err);
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    struct atoll_staged *s = staged_of(t);
    uint32_t at = next_run(e, t),
             elite = atoll_ask_is_outside(e, t) && atoll_ask_allowed(e, t) && !s->translation
                         ? atoll_translate_elite(e, t)
                         : ATOLL_NONE;
    struct atoll_staged_run *run = &s->runs[at];
    if (elite != ATOLL_NONE) {
        struct atoll_asked asked = atoll_translate_ask(e, t, elite, at % e->search.islands);
        s->translation = asked.ask.number;
        s->left = ATOLL_NONE;
        return atoll_ask_make(e, t, &asked, err);
    }
    s->next = (at + 1) % s->run_count;
    if (!is_correct(e, run->kernel)) /* a kernel that a duel proved wrong gives way to the task's best */
        run->kernel = is_correct(e, t->best) ? t->best : ATOLL_NONE;
    if (run->kernel == ATOLL_NONE) {
        move(t, run, ATOLL_STAGED_LOST);
        return 0;
    }
    if (run->state != ATOLL_STAGED_WAITING)
        return ask_for(e, t, run, err);
    run->issues = atoll_builtin_issues(e, t, run->kernel);
    move(t, run, ATOLL_STAGED_BEGUN);
    return 0;
}

/* ---- what happens to a run ---- */

/* NULL: no run waits for it in one of these states, which is counted. */
static struct atoll_staged_run *waiting_for(struct atoll_staged *s, uint64_t ask,
                                            enum atoll_staged_state state, enum atoll_staged_state or_state)
{
    for (uint32_t i = 0; i < s->run_count; i++)
        if (s->runs[i].ask == ask && (s->runs[i].state == state || s->runs[i].state == or_state))
            return &s->runs[i];
    s->strays++;
    return NULL;
}

static void next_stage(struct atoll_task_state *t, struct atoll_staged_run *run)
{
    if (!run->order_count) {
        move(t, run, ATOLL_STAGED_FINISHED);
        return;
    }
    enter_stage(run);
    move(t, run, ATOLL_STAGED_STAGE);
}

static int was_tried_outside(const struct atoll_engine *e, const struct atoll_staged_run *run)
{
    for (unsigned i = 0; i < run->failure_count; i++)
        if (e->individuals.items[run->failures[i]].op == ATOLL_OPERATOR_STAGED)
            return 1;
    return 0;
}

static void close_round(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_staged_run *run)
{
    const struct atoll_individual *all = e->individuals.items;
    /* duels may have changed what is known of either */
    if (run->winner != ATOLL_NONE && !atoll_staged_beats(&e->search, &all[run->winner], &all[run->kernel]))
        run->winner = ATOLL_NONE;
    int is_extracted = run->state == ATOLL_STAGED_EXTRACTING || run->state == ATOLL_STAGED_VERIFYING;
    int is_lost = run->winner == ATOLL_NONE && run->round + 1u >= e->search.stage_rounds;
    if (is_lost && !is_extracted && was_tried_outside(e, run) && atoll_ask_is_outside(e, t))
        move(t, run, ATOLL_STAGED_USED_UP);
    else
        move(t, run, atoll_staged_close_round(run, is_extracted ? 0 : e->search.stage_rounds));
}

/* A proposal, and a type that no issue has, stand for themselves in the reply: the one opens discovery, the other the stage
 * that its analyser named. */
static void read_issues(struct atoll_staged_run *run, const struct atoll_reply *reply)
{
    run->issues = reply->issues & KNOWN_ISSUES;
    run->named = 0;
    for (uint32_t i = 0; i < reply->item_count; i++) {
        const struct atoll_reply_item *item = &reply->items[i];
        if (item->kind == ATOLL_ITEM_PROPOSAL)
            run->issues |= UINT64_C(1) << ATOLL_ISSUE_OPEN_ENDED;
        else if (item->kind == ATOLL_ITEM_ISSUE && item->issue == ATOLL_ISSUE_COUNT)
            run->named |=
                STAGE_BIT(item->stage < ATOLL_ISSUE_STAGE_COUNT ? item->stage : ATOLL_ISSUE_STAGE_DISCOVERY);
    }
}

/* The order of the stages that are left stays as it was wished, with what is new put in. */
static void analysed(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_staged_run *run,
                     const struct atoll_reply *reply, uint32_t accepted)
{
    if (reply->status == ATOLL_REPLY_OK) {
        read_issues(run, reply);
        run->analysis = reply->item_count ? reply->ask : 0;
    } else if (is_correct(e, run->kernel)) {
        run->issues |= atoll_builtin_issues(e, t, run->kernel);
    }
    atoll_staged_arrange(run, run->order, run->order_count);
    if (!run->done && run->order_count > 1)
        move(t, run, ATOLL_STAGED_UNORDERED);
    else
        next_stage(t, run);
}

static void ordered(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_staged_run *run,
                    const struct atoll_reply *reply, uint32_t accepted)
{
    if (reply->status == ATOLL_REPLY_OK)
        atoll_staged_arrange(run, reply->order, reply->order_count);
    next_stage(t, run);
}

static void written(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_staged_run *run,
                    const struct atoll_reply *reply, uint32_t accepted)
{
    run->left = accepted;
    if (!accepted) {
        close_round(e, t, run);
        return;
    }
    run->idle &= ~((uint32_t)1 << run->stage);
    move(t, run, ATOLL_STAGED_QUEUED);
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    static const struct {
        enum atoll_staged_state state, or_state;
        void (*handle)(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_staged_run *run,
                       const struct atoll_reply *reply, uint32_t accepted);
    } answers[ATOLL_ASK_KIND_COUNT] = {
        [ATOLL_ASK_ANALYSE] = {ATOLL_STAGED_ANALYSING, ATOLL_STAGED_ANALYSING, analysed},
        [ATOLL_ASK_ORDER] = {ATOLL_STAGED_ORDERING, ATOLL_STAGED_ORDERING, ordered},
        [ATOLL_ASK_WRITE] = {ATOLL_STAGED_WRITING, ATOLL_STAGED_EXTRACTING, written},
        [ATOLL_ASK_PLAN] = {ATOLL_STAGED_STATE_COUNT, ATOLL_STAGED_STATE_COUNT, NULL}, /* never asked */
    };
    struct atoll_staged *s = staged_of(t);
    enum atoll_ask_kind kind = asked->ask.kind;
    if (asked->ask.number == s->translation) {
        s->left = accepted;
        s->translation = accepted ? s->translation : 0;
        return 0;
    }
    struct atoll_staged_run *run =
        waiting_for(s, asked->ask.number, answers[kind].state, answers[kind].or_state);
    if (run && answers[kind].handle)
        answers[kind].handle(e, t, run, reply, accepted);
    return 0;
}

static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    struct atoll_staged *s = staged_of(t);
    if (ask && ask == s->translation) {
        s->left -= s->left && s->left != ATOLL_NONE;
        s->translation = s->left ? s->translation : 0;
        return 0;
    }
    struct atoll_staged_run *run =
        ask ? waiting_for(s, ask, ATOLL_STAGED_TRYING, ATOLL_STAGED_VERIFYING) : NULL;
    if (!run)
        return 0;
    if (individual != ATOLL_NONE) {
        const struct atoll_individual *all = e->individuals.items, *r = &all[individual];
        int beats = atoll_staged_beats(&e->search, r, &all[run->kernel]);
        if (beats && (run->winner == ATOLL_NONE || r->time_ns < all[run->winner].time_ns))
            run->winner = individual;
        if (!beats &&
            r->state != ATOLL_INDIVIDUAL_ABANDONED) { /* what was abandoned has no verdict to show */
            if (run->failure_count == ATOLL_ASK_FAILURE_LIMIT)
                memmove(run->failures, run->failures + 1, --run->failure_count * sizeof(*run->failures));
            run->failures[run->failure_count++] = individual;
        }
    }
    if (!--run->left)
        close_round(e, t, run);
    return 0;
}

static int is_of(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t kernel)
{
    return kernel == ATOLL_NONE ||
           (kernel < e->individuals.count && e->individuals.items[kernel].task == atoll_task_position(e, t));
}

static int codec(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                 struct atoll_err *err)
{
    struct atoll_staged *s = staged_of(t);
    atoll_codec_u32(c, &s->next);
    atoll_codec_u64(c, &s->strays);
    atoll_codec_u64(c, &s->translation);
    atoll_codec_u32(c, &s->left);
    if (c->in && (s->translation >= e->next_ask || (s->translation != 0) != (s->left != 0) ||
                  (s->left != ATOLL_NONE && s->left > ATOLL_ASK_COUNT_LIMIT)))
        c->in->failed = 1;
    for (uint32_t i = 0; i < s->run_count && !atoll_codec_failed(c); i++) {
        run_codec(&s->runs[i], e->individuals.count, c);
        if (c->in && (!is_of(e, t, s->runs[i].kernel) || !is_of(e, t, s->runs[i].winner)))
            c->in->failed = 1;
    }
    if (c->in && s->next >= s->run_count)
        c->in->failed = 1;
    return 0;
}

const struct atoll_strategy atoll_strategy_staged = {.name = "staged",
                                                     .create = create,
                                                     .destroy = destroy,
                                                     .ready = ready,
                                                     .propose = propose,
                                                     .settled = settled,
                                                     .replied = replied,
                                                     .codec = codec};
