/* operator.h - a scripted operator outside the engine (core/ask.h), on top of the simulation: sees which asks are under
 * way, and answers what a test says.  Its kernels are numbered; so are seeds named k0, k1 ...; a test gives each number
 * a time. */
#ifndef ATOLL_TESTS_SUPPORT_OPERATOR_H
#define ATOLL_TESTS_SUPPORT_OPERATOR_H

#include "tests/support/simulation.h"

#include "evolution/engine/state.h"

#define OP_TEXT      256
#define OP_RESPELLED (1u << 31) /* of a kernel's number: the same candidate from another text */

/* Nothing is asked but what the strategy itself asks. */
static inline void op_strategy_alone(struct atoll_search *search)
{
    search->memory = search->distil = search->template_rounds = search->prompt_evolution = search->analyses =
        0;
}

static inline uint32_t op_count(const struct sim *s)
{
    return s->engine->asks.count;
}

static inline const struct atoll_ask *op_at(const struct sim *s, uint32_t at)
{
    assert_true(at < op_count(s));
    return &s->engine->asks.items[at].ask;
}

static inline void op_reply(struct sim *s, const struct atoll_reply *reply)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_REPLY);
    event.reply = *reply;
    event.reply.origin = "script";
    sim_step(s, &event);
}

static inline void op_status(struct sim *s, uint64_t ask, enum atoll_reply_status status)
{
    op_reply(s, &(struct atoll_reply){.ask = ask, .status = status});
}

static inline void op_plans(struct sim *s, uint64_t ask, uint32_t count)
{
    op_reply(s, &(struct atoll_reply){.ask = ask, .plan_count = count});
}

/* So many things that an analyser found. */
static inline void op_issues(struct sim *s, uint64_t ask, uint32_t count)
{
    struct atoll_reply reply = {.ask = ask, .item_count = count};
    for (uint32_t i = 0; i < count; i++)
        reply.items[i] = (struct atoll_reply_item){.kind = ATOLL_ITEM_ISSUE, .text = "Rows are read twice."};
    atoll_reply_count_items(&reply);
    op_reply(s, &reply);
}

/* So likely the kernel that the ask is about cheats. */
static inline void op_judge(struct sim *s, uint64_t ask, double likelihood)
{
    struct atoll_reply reply = {.ask = ask, .item_count = 1};
    reply.items[0] = (struct atoll_reply_item){
        .kind = ATOLL_ITEM_JUDGEMENT, .gain_low = likelihood, .text = "It skips work."};
    op_reply(s, &reply);
}

/* Kernels of these numbers. */
static inline void op_kernels(struct sim *s, uint64_t ask, const uint32_t *numbers, uint32_t count)
{
    static char texts[ATOLL_REPLY_SOURCE_LIMIT][OP_TEXT];
    struct atoll_reply reply = {.ask = ask, .source_count = count};
    for (uint32_t i = 0; i < count; i++) {
        snprintf(texts[i], OP_TEXT,
                 "/* atoll-plan {%s\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", "
                 "\"args\": [\"x\", \"y\"]}]} */\nvoid f(long a, long b, const float *x, float *y) /* k%u */",
                 numbers[i] & OP_RESPELLED ? " " : "", numbers[i] & ~OP_RESPELLED);
        reply.sources[i] = (struct atoll_reply_source){"c", texts[i]};
    }
    op_reply(s, &reply);
}

static inline void op_kernel(struct sim *s, uint64_t ask, uint32_t number)
{
    op_kernels(s, ask, &number, 1);
}

/* The number of a candidate's kernel. */
static inline uint32_t op_number(const struct sim *s, uint32_t task, const struct atoll_id *candidate)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text, *at;
    unsigned number;
    assert_int_equal(atoll_engine_candidate(s->engine, task, candidate, &source, &choice), 0);
    assert_int_equal(atoll_engine_source(s->engine, &source, &language, &text), 0);
    at = strstr(text, "/* k");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "/* k%u", &number), 1);
    return number;
}

/* A campaign of copies of one task; op_finish frees it. */
static inline struct sim *op_start(uint64_t seed, const struct atoll_search *search,
                                   const struct atoll_buffer *task, uint32_t tasks)
{
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    sim_start(s, seed, search);
    for (uint32_t i = 0; i < tasks; i++)
        sim_add_task(s, i, task);
    return s;
}

/* It is over, with nothing under way, and replays. */
static inline void op_finish(struct sim *s)
{
    struct atoll_engine_status status;
    atoll_engine_status(s->engine, &status);
    assert_true(status.stopped);
    assert_int_equal(status.under_way, 0);
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

/* Evaluates everything that is under way, in order: kernel n takes times_ms[n], 0: it is wrong.  Challengers win,
 * so that times stay what they are. */
static inline void op_evaluate(struct sim *s, const double *times_ms)
{
    while (s->order_count) {
        size_t first = 0;
        for (size_t i = 1; i < s->order_count; i++)
            if (s->orders[i].evaluation < s->orders[first].evaluation)
                first = i;
        struct atoll_decision order = sim_take(s, first);
        double ns = 1e6 * times_ms[op_number(s, order.task, &order.candidate)];
        if (order.type == ATOLL_DECIDE_EVALUATE)
            sim_evaluated(s, &order, ns > 0 ? ATOLL_V_CORRECT : ATOLL_V_WRONG, ns);
        else
            sim_duelled(s, &order, ATOLL_V_CORRECT, 1, order.incumbent_ns / ns);
    }
}

/* ---- a moody operator: answers late, out of order, twice, too much, or nothing of use ---- */

struct op_moods {
    unsigned failed, empty, repeated, known; /* in percent */
    uint32_t next;                           /* kernel that is new */
};

/* Evaluators and operator; next: the first kernel that no seed is. */
static inline struct op_moods op_random_moods(struct sim *s, uint32_t next)
{
    s->infrastructure = (unsigned)sim_below(s, 40);
    s->wrong = (unsigned)sim_below(s, 60);
    s->wrong_duel = (unsigned)sim_below(s, 20);
    s->noise = 0.3 * sim_unit(s);
    return (struct op_moods){.failed = (unsigned)(sim_below(s, 5) * 25),
                             .empty = (unsigned)sim_below(s, 30),
                             .repeated = (unsigned)sim_below(s, 30),
                             .known = (unsigned)(sim_below(s, 3) * 50),
                             .next = next};
}

static inline void op_write_some(struct sim *s, struct op_moods *m, const struct atoll_ask *ask)
{
    uint32_t numbers[ATOLL_REPLY_SOURCE_LIMIT], count = (uint32_t)sim_below(s, 2 * (uint64_t)ask->count + 1);
    if (count > ATOLL_REPLY_SOURCE_LIMIT)
        count = ATOLL_REPLY_SOURCE_LIMIT;
    for (uint32_t i = 0; i < count; i++) {
        int known = m->next && sim_percent(s, m->known);
        numbers[i] = known ? (uint32_t)sim_below(s, m->next) : m->next++;
        numbers[i] |= known && sim_below(s, 2) ? OP_RESPELLED : 0;
    }
    op_kernels(s, ask->number, numbers, count);
}

/* Answers one of the asks that are under way. */
static inline void op_answer(struct sim *s, struct op_moods *m)
{
    static const enum atoll_reply_status statuses[] = {ATOLL_REPLY_EMPTY, ATOLL_REPLY_REFUSED,
                                                       ATOLL_REPLY_FAILED};
    struct atoll_ask ask = *op_at(s, (uint32_t)sim_below(s, op_count(s)));
    if (sim_percent(s, m->failed))
        op_status(s, ask.number, statuses[sim_below(s, 3)]);
    else if (sim_percent(s, m->empty))
        op_status(s, ask.number, ATOLL_REPLY_OK);
    else if (ask.kind == ATOLL_ASK_JUDGE)
        op_judge(s, ask.number, sim_unit(s));
    else if (ask.kind == ATOLL_ASK_ANALYSE)
        op_issues(s, ask.number, (uint32_t)sim_below(s, 3));
    else if (ask.kind == ATOLL_ASK_PLAN)
        op_plans(s, ask.number, (uint32_t)sim_below(s, 2 * (uint64_t)ask.count + 1));
    else
        op_write_some(s, m, &ask);
    if (sim_percent(s, m->repeated))
        op_status(s, ask.number, ATOLL_REPLY_SPENT); /* too late to say that */
}

/* One random thing happens: mostly answers of both kinds. */
static inline void op_happen(struct sim *s, struct op_moods *m)
{
    switch (sim_below(s, 24)) {
    case 0: sim_reload(s); break;
    case 1:
        sim_simple(s, ATOLL_EVENT_RESUME);
        sim_capacity(s, (uint32_t)sim_below(s, 5));
        break;
    case 2: sim_capacity(s, 1 + (uint32_t)sim_below(s, 64)); break;
    case 3: op_status(s, 1 + sim_below(s, 1000000), ATOLL_REPLY_FAILED); break;
    case 4: sim_simple(s, ATOLL_EVENT_TICK); break;
    default:
        if (op_count(s) && sim_below(s, 2))
            op_answer(s, m);
        else
            sim_answer(s);
    }
}

/* Up to 200 random things; at one of them the operator may have spent its budget. */
static inline void op_happen_often(struct sim *s, struct op_moods *m)
{
    uint64_t spent_at = sim_below(s, 200);
    sim_capacity(s, 1 + (uint32_t)sim_below(s, 64));
    for (unsigned i = 0; i < 200 && !s->counts[ATOLL_DECIDE_STOP]; i++) {
        op_happen(s, m);
        if (i == spent_at && op_count(s))
            op_status(s, op_at(s, 0)->number, ATOLL_REPLY_SPENT);
    }
}

/* A snapshot cut anywhere is refused; one with a wrong byte is refused or loads. */
static inline void op_check_snapshot(const struct sim *s)
{
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 26);
    assert_int_equal(atoll_engine_save(s->engine, &bytes, NULL), 0);
    for (size_t length = 0; length < bytes.length; length += 1 + bytes.length / 100)
        assert_null(atoll_engine_load(bytes.data, length, NULL));
    for (size_t i = bytes.length / 2; i < bytes.length; i += EVERY_BYTE) {
        bytes.data[i] ^= 0xa5;
        atoll_engine_destroy(atoll_engine_load(bytes.data, bytes.length, NULL));
        bytes.data[i] ^= 0xa5;
    }
    atoll_buffer_fini(&bytes);
}

/* One answer of either kind.  Something is under way before the end, so it comes. */
static inline void op_advance(struct sim *s, struct op_moods *m)
{
    assert_true(s->order_count + op_count(s) > 0);
    if (op_count(s) && (!s->order_count || sim_below(s, 2)))
        op_answer(s, m);
    else
        sim_answer(s);
}

static inline void op_drain(struct sim *s, struct op_moods *m)
{
    sim_capacity(s, 4);
    while (!s->counts[ATOLL_DECIDE_STOP])
        op_advance(s, m);
    assert_int_equal(s->order_count, 0);
}

/* A whole campaign of one task with random answers, few of them of no use; look sees it behind each event. */
static inline void op_live(const struct atoll_search *search, const struct atoll_buffer *task,
                           void (*look)(const struct sim *s, void *seen), void *seen)
{
    struct sim *s = op_start(search->seed, search, task, 1);
    struct op_moods moods = op_random_moods(s, 2);
    s->wrong = 10;
    moods.failed = moods.known = 20;
    moods.empty %= 30;
    sim_capacity(s, 1 + (uint32_t)sim_below(s, 8));
    for (unsigned i = 0; i < 300 && !s->counts[ATOLL_DECIDE_STOP]; i++) {
        op_happen(s, &moods);
        look(s, seen);
    }
    sim_capacity(s, 4);
    while (!s->counts[ATOLL_DECIDE_STOP]) {
        op_advance(s, &moods);
        look(s, seen);
    }
    op_finish(s);
}

/* Of a campaign in its middle. */
static inline void op_check_snapshots(const struct atoll_search *search, const struct atoll_buffer *task)
{
    struct sim *s = op_start(search->seed, search, task, 1);
    struct op_moods moods = {.next = 3};
    sim_capacity(s, 8);
    for (unsigned i = 0; i < 30; i++)
        op_happen(s, &moods);
    op_check_snapshot(s);
    op_drain(s, &moods);
    op_finish(s);
}

#endif
