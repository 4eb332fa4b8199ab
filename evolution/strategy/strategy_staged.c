/* Staged optimisation (ALGORITHMS.md 9, papers/002 IV).  A run takes the task's best kernel; its issues are analysed and
 * the stages that have some are ordered; a stage asks for candidates until one is faster than the kernel it was given,
 * or its rounds are used up, and then gives back what it was given; after every stage the issues are analysed again.
 *
 * Protocol: propose moves one run from a state that wants something into one that waits; replied and settled move it
 * on.  A run waits for one ask or one round of candidates.  Whatever an answer is, it closes what waited for it: without
 * a usable analysis the issues stay what they were (at first what the built-in operator sees), without a usable order
 * the default one is taken, without a candidate the round is lost.  All random numbers are the tuner's, of t->random:
 * runs differ because they draw one after the other. */
#include "evolution/strategy/strategy_staged.h"

#include <stdlib.h>

#include "evolution/strategy/ask.h"
#include "evolution/strategy/embedded_staged.h"
#include "evolution/strategy/strategy.h"

#define KNOWN_ISSUES ((UINT64_C(1) << ATOLL_ISSUE_COUNT) - 1)
#define TUNING_COUNT 12 /* instances of one round of tuning (papers/002 IV-C 10) */

static struct atoll_staged *staged_of(const struct atoll_engine_task *t)
{
    return t->strategy;
}

static int create(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    uint32_t count = e->search.staged_runs;
    struct atoll_staged *s = calloc(1, sizeof *s + count * sizeof *s->runs);
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

static uint32_t island_of(const struct atoll_engine *e, const struct atoll_staged *s,
                          const struct atoll_staged_run *run)
{
    return (uint32_t)(run - s->runs) % e->search.islands;
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

/* The first runs begin when every seed and every duel over them is answered. */
static int may_begin(const struct atoll_engine *e, const struct atoll_engine_task *t,
                     const struct atoll_staged *s, uint32_t at)
{
    if (at >= e->search.islands)
        return s->runs[at - e->search.islands].state == ATOLL_STAGED_OVER;
    return s->runs[0].state != ATOLL_STAGED_WAITING || !t->under_way;
}

static int is_tuned_here(const struct atoll_engine *e, const struct atoll_staged_run *run)
{
    return run->state == ATOLL_STAGED_WRITE && run->stage == ATOLL_ISSUE_STAGE_TUNING &&
           atoll_embedded_is_tunable(e, run->kernel);
}

static void move(struct atoll_engine_task *t, struct atoll_staged_run *run, enum atoll_staged_event event)
{
    staged_of(t)->strays += atoll_staged_happen(run, event) != 0;
}

static int may_act(const struct atoll_engine *e, const struct atoll_engine_task *t,
                   const struct atoll_staged *s, uint32_t at)
{
    const struct atoll_staged_run *run = &s->runs[at];
    switch (run->state) {
    case ATOLL_STAGED_WAITING: return may_begin(e, t, s, at);
    case ATOLL_STAGED_ANALYSE:
    case ATOLL_STAGED_ORDER: return atoll_ask_allowed(e, t);
    case ATOLL_STAGED_WRITE: return atoll_ask_allowed(e, t) || is_tuned_here(e, run);
    default: return 0;
    }
}

/* The first in turn that may act; run_count: none. */
static uint32_t next_run(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    const struct atoll_staged *s = staged_of(t);
    for (uint32_t i = 0; i < s->run_count; i++) {
        uint32_t at = (s->next + i) % s->run_count;
        if (may_act(e, t, s, at))
            return at;
    }
    return s->run_count;
}

static int ready(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    return next_run(e, t) < staged_of(t)->run_count;
}

/* A kernel that a duel proved wrong gives way to the task's best. */
static int find_kernel(const struct atoll_engine *e, const struct atoll_engine_task *t,
                       struct atoll_staged_run *run)
{
    if (is_correct(e, run->kernel))
        return 1;
    run->kernel = is_correct(e, t->best) ? t->best : ATOLL_NONE;
    return run->kernel != ATOLL_NONE;
}

static void fill_write(const struct atoll_engine *e, const struct atoll_staged_run *run,
                       struct atoll_ask *ask)
{
    ask->stage = run->stage;
    ask->round = run->round;
    ask->issues = atoll_issues_of_stage(run->issues, (enum atoll_issue_stage)run->stage);
    ask->failure_count = run->failure_count;
    for (unsigned i = 0; i < run->failure_count; i++)
        ask->failures[i] = e->individuals.items[run->failures[i]].id;
}

static int ask_for(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_staged_run *run,
                   struct atoll_err *err)
{
    static const enum atoll_ask_kind kinds[ATOLL_STAGED_STATE_COUNT] = {
        [ATOLL_STAGED_ANALYSE] = ATOLL_ASK_ANALYSE,
        [ATOLL_STAGED_ORDER] = ATOLL_ASK_ORDER,
        [ATOLL_STAGED_WRITE] = ATOLL_ASK_WRITE,
    };
    int is_write = run->state == ATOLL_STAGED_WRITE, is_tuned = is_tuned_here(e, run);
    struct atoll_asked asked = atoll_ask_about(e, t, kinds[run->state], ATOLL_OPERATOR_STAGED,
                                               island_of(e, staged_of(t), run), run->kernel);
    asked.ask.issues = atoll_staged_open_issues(run);
    if (is_write)
        fill_write(e, run, &asked.ask);
    if (is_tuned)
        asked.ask.count = TUNING_COUNT;
    run->ask = asked.ask.number;
    move(t, run, ATOLL_STAGED_ASKED); /* before it is made: it may be answered at once */
    return (is_tuned ? atoll_ask_make_here : atoll_ask_make)(e, t, &asked, err);
}

static int propose(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    struct atoll_staged *s = staged_of(t);
    uint32_t at = next_run(e, t);
    struct atoll_staged_run *run = &s->runs[at];
    s->next = (at + 1) % s->run_count;
    if (!find_kernel(e, t, run)) {
        move(t, run, ATOLL_STAGED_LOST);
        return 0;
    }
    if (run->state != ATOLL_STAGED_WAITING)
        return ask_for(e, t, run, err);
    run->issues = atoll_embedded_issues(e, t, run->kernel);
    move(t, run, ATOLL_STAGED_BEGUN);
    return 0;
}

/* ---- what happens to a run ---- */

/* NULL: no run waits for it in this state, which is counted. */
static struct atoll_staged_run *waiting_for(struct atoll_staged *s, uint64_t ask,
                                            enum atoll_staged_state state)
{
    for (uint32_t i = 0; i < s->run_count; i++)
        if (s->runs[i].ask == ask && s->runs[i].state == state)
            return &s->runs[i];
    s->strays++;
    return NULL;
}

static void next_stage(struct atoll_engine_task *t, struct atoll_staged_run *run)
{
    if (!run->order_count) {
        move(t, run, ATOLL_STAGED_FINISHED);
        return;
    }
    atoll_staged_enter(run);
    move(t, run, ATOLL_STAGED_STAGE);
}

static void close_round(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_staged_run *run)
{
    const struct atoll_individual *all = e->individuals.items;
    /* duels may have changed what is known of either */
    if (run->winner != ATOLL_NONE && !atoll_staged_beats(&e->search, &all[run->winner], &all[run->kernel]))
        run->winner = ATOLL_NONE;
    move(t, run, atoll_staged_close_round(run, e->search.stage_rounds));
}

/* The order of the stages that are left stays as it was wished, with what is new put in. */
static void analysed(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_staged_run *run,
                     const struct atoll_reply *reply, uint32_t accepted)
{
    if (reply->status == ATOLL_REPLY_OK)
        run->issues = reply->issues & KNOWN_ISSUES;
    atoll_staged_arrange(run, run->order, run->order_count);
    if (!run->done && run->order_count > 1)
        move(t, run, ATOLL_STAGED_UNORDERED);
    else
        next_stage(t, run);
}

static void ordered(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_staged_run *run,
                    const struct atoll_reply *reply, uint32_t accepted)
{
    if (reply->status == ATOLL_REPLY_OK)
        atoll_staged_arrange(run, reply->order, reply->order_count);
    next_stage(t, run);
}

static void written(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_staged_run *run,
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

static int replied(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    static const struct {
        enum atoll_staged_state state;
        void (*handle)(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_staged_run *run,
                       const struct atoll_reply *reply, uint32_t accepted);
    } answers[ATOLL_ASK_KIND_COUNT] = {
        [ATOLL_ASK_ANALYSE] = {ATOLL_STAGED_ANALYSING, analysed},
        [ATOLL_ASK_ORDER] = {ATOLL_STAGED_ORDERING, ordered},
        [ATOLL_ASK_WRITE] = {ATOLL_STAGED_WRITING, written},
        [ATOLL_ASK_PLAN] = {ATOLL_STAGED_STATE_COUNT, NULL}, /* never asked */
    };
    enum atoll_ask_kind kind = asked->ask.kind;
    struct atoll_staged_run *run = waiting_for(staged_of(t), asked->ask.number, answers[kind].state);
    if (run)
        answers[kind].handle(e, t, run, reply, accepted);
    return 0;
}

/* What was abandoned has no verdict that could be told. */
static void weigh(const struct atoll_engine *e, struct atoll_staged_run *run, uint32_t individual)
{
    const struct atoll_individual *all = e->individuals.items, *r = &all[individual];
    if (!atoll_staged_beats(&e->search, r, &all[run->kernel])) {
        if (r->state != ATOLL_INDIVIDUAL_ABANDONED)
            atoll_staged_fail(run, individual);
    } else if (run->winner == ATOLL_NONE || r->time_ns < all[run->winner].time_ns) {
        run->winner = individual;
    }
}

static int settled(struct atoll_engine *e, struct atoll_engine_task *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    struct atoll_staged_run *run = ask ? waiting_for(staged_of(t), ask, ATOLL_STAGED_TRYING) : NULL;
    if (!run)
        return 0;
    if (individual != ATOLL_NONE)
        weigh(e, run, individual);
    if (!--run->left)
        close_round(e, t, run);
    return 0;
}

static int is_of(const struct atoll_engine *e, const struct atoll_engine_task *t, uint32_t kernel)
{
    return kernel == ATOLL_NONE ||
           (kernel < e->individuals.count && e->individuals.items[kernel].task == atoll_task_position(e, t));
}

static int codec(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_codec *c,
                 struct atoll_err *err)
{
    struct atoll_staged *s = staged_of(t);
    atoll_codec_u32(c, &s->next);
    atoll_codec_u64(c, &s->strays);
    for (uint32_t i = 0; i < s->run_count && !atoll_codec_failed(c); i++) {
        atoll_staged_codec(&s->runs[i], e->individuals.count, c);
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
