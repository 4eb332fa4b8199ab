/* The end of a task's search: its best becomes a template, and the tuner goes through it. */
#include "tests/support/operator.h"

#include "evolution/strategy/template_phase.h"

static struct atoll_buffer task;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0", NULL, NULL}, {"k1", NULL, NULL}};
    atoll_buffer_init(&task, 1u << 24);
    sim_task("plain", seeds, 2, 1, &task);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&task);
    return 0;
}

static struct atoll_search settings(enum atoll_strategy_kind strategy)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = strategy;
    search.ask_share = 1;
    search.template_rounds = 2;
    search.template_count = 3;
    search.stagnation_limit = search.noop_interval = 0;
    search.asks = 4;
    search.islands = search.beam_width = search.beam_plans = search.beam_attempts = search.beam_iterations =
        1;
    return search;
}

/* Kernel n as a template of one parameter with four values. */
static void reply_templates(struct sim *s, uint64_t ask, uint32_t first, uint32_t count)
{
    static char texts[8][OP_TEXT];
    struct atoll_reply reply = {.ask = ask, .source_count = count};
    for (uint32_t i = 0; i < count; i++) {
        snprintf(
            texts[i], OP_TEXT,
            "/* atoll-plan {\"version\": 1, \"params\": {\"T\": [1, 2, 3, 4]}, \"launch\": [{\"function\": "
            "\"f\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]} */\n/* k%u */",
            first + i);
        reply.sources[i] = (struct atoll_reply_source){"c", texts[i]};
    }
    op_reply(s, &reply);
}

static const double times[] = {4, 3, 2, 2.5, 1.9, 5, 6, 1.2, 7, 8};

static struct atoll_ask expect_template_ask(const struct sim *s, uint32_t kernel, unsigned round)
{
    assert_int_equal(op_count(s), 1);
    struct atoll_ask ask = *op_at(s, 0);
    assert_int_equal(ask.kind, ATOLL_ASK_WRITE);
    assert_int_equal(ask.op, ATOLL_OPERATOR_TEMPLATE);
    assert_int_equal(ask.count, 3);
    assert_int_equal(ask.round, round);
    assert_int_equal(op_number(s, 0, &ask.parent), kernel);
    return ask;
}

/* A beam that has nothing left: two rounds, each of what is the best then, and all that their templates have. */
static struct sim *end_of_beam(const struct atoll_search *search)
{
    struct sim *s = op_start(1, search, &task, 1);
    sim_capacity(s, 2);
    op_evaluate(s, times);
    op_plans(s, 1, 1);
    op_kernel(s, 2, 2);
    op_evaluate(s, times);
    return s;
}

static void a_search_ends_with_templates(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_BEAM);
    struct sim *s = end_of_beam(&search);
    struct atoll_ask ask = expect_template_ask(s, 2, 0);
    sim_reload(s);
    reply_templates(s, ask.number, 3, 2);
    sim_reload(s);
    assert_int_equal(op_count(s), 0);
    op_evaluate(s, times);
    ask = expect_template_ask(s, 2, 1); /* 4 is hardly faster: no duel for it yet, or it is the best */
    reply_templates(s, ask.number, 5, 3);
    op_evaluate(s, times);
    assert_int_equal(op_count(s), 0);
    uint32_t tuned = 0;
    for (uint32_t i = 0; i < s->engine->individuals.count; i++)
        tuned += s->engine->individuals.items[i].op == ATOLL_OPERATOR_TUNE;
    assert_int_equal(tuned, 5 * 3);
    assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_EXHAUSTED);
    op_finish(s);
}

/* Whatever comes of them, rounds end; what nobody answers is none, nor what is switched off. */
static void useless_rounds_end(void **state)
{
    static const enum atoll_reply_status statuses[] = {ATOLL_REPLY_EMPTY,   ATOLL_REPLY_REFUSED,
                                                       ATOLL_REPLY_FAILED,  ATOLL_REPLY_OK,
                                                       ATOLL_REPLY_BUILTIN, ATOLL_REPLY_SPENT};
    struct atoll_search search = settings(ATOLL_STRATEGY_BEAM);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        struct sim *s = end_of_beam(&search);
        struct atoll_ask ask = expect_template_ask(s, 2, 0);
        op_status(s, ask.number, statuses[i]);
        if (statuses[i] != ATOLL_REPLY_SPENT)
            op_status(s, expect_template_ask(s, 2, 1).number, statuses[i]);
        assert_int_equal(op_count(s), 0);
        op_evaluate(s, times);
        op_finish(s);
    }
    search.template_rounds = 0;
    struct sim *s = end_of_beam(&search);
    assert_int_equal(op_count(s), 0);
    op_finish(s);
    search = settings(ATOLL_STRATEGY_REPEATED);
    search.samples = 4;
    s = op_start(1, &search, &task, 1);
    struct op_moods moods = {.next = 2};
    sim_capacity(s, 2);
    while (!s->counts[ATOLL_DECIDE_STOP]) {
        for (uint32_t i = 0; i < op_count(s); i++)
            assert_int_not_equal(op_at(s, i)->op, ATOLL_OPERATOR_TEMPLATE);
        op_advance(s, &moods);
    }
    op_finish(s);
}

/* The tuner stops when nothing better comes for as long as a task may stagnate. */
static void tuning_has_an_end(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_BEAM);
    search.stagnation_limit = 4;
    search.queue_depth = search.template_rounds = 1;
    struct sim *s = end_of_beam(&search);
    struct atoll_ask ask = expect_template_ask(s, 2, 0);
    reply_templates(s, ask.number, 3, 3); /* nine further instances */
    op_evaluate(s, times);
    uint32_t tuned = 0;
    for (uint32_t i = 0; i < s->engine->individuals.count; i++)
        tuned += s->engine->individuals.items[i].op == ATOLL_OPERATOR_TUNE;
    assert_in_range(tuned, 4, 4 + 2);
    op_finish(s);
}

/* Four fifths of a budget are the search's; while a round is under way the strategy rests. */
static void a_budget_leaves_room(void **state)
{
    static const struct {
        const char *what;
        uint64_t evaluations, tokens, samples;
        double device_ns;
    } rows[] = {{"evaluations", 20, 0, 0, 0},
                {"tokens", 0, 2000, 0, 0},
                {"samples", 0, 0, 20, 0},
                {"device", 0, 0, 0, 4e9}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
        search.evaluation_budget = rows[row].evaluations;
        search.token_budget = rows[row].tokens;
        search.samples = (uint32_t)rows[row].samples;
        search.device_budget_ns = rows[row].device_ns;
        search.template_rounds = 1;
        struct sim *s = op_start(1, &search, &task, 1);
        uint32_t next = 2, templates = 0, before = 0, after = 0;
        sim_capacity(s, 1);
        while (!s->counts[ATOLL_DECIDE_STOP]) {
            assert_true(next < 200);
            if (!op_count(s)) {
                sim_answer(s);
                continue;
            }
            struct atoll_ask ask = *op_at(s, 0);
            templates += ask.op == ATOLL_OPERATOR_TEMPLATE;
            *(templates ? &after : &before) += 1;
            if (ask.op == ATOLL_OPERATOR_TEMPLATE) {
                reply_templates(s, ask.number, next, 1);
            } else {
                char text[OP_TEXT];
                snprintf(
                    text, sizeof(text),
                    "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", "
                    "\"args\": [\"x\", \"y\"]}]} */\n/* k%u */",
                    next);
                op_reply(s,
                         &(struct atoll_reply){
                             .ask = ask.number, .tokens = 100, .source_count = 1, .sources = {{"c", text}}});
            }
            next++;
        }
        if (templates != 1)
            fail_msg("%s: %u rounds", rows[row].what, templates);
        if (before < 3)
            fail_msg("%s: %u asks before", rows[row].what, before);
        op_finish(s);
    }
}

/* With two tasks one that stagnates has its phase, and is given up behind it, though no candidate of it is answered any more. */
static void stagnation_waits_for_the_phase(void **state)
{
    struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS);
    search.stagnation_limit = 3;
    search.template_rounds = 1;
    search.asks = 1;
    struct sim *s = op_start(1, &search, &task, 2);
    unsigned templates = 0, asks = 0;
    uint32_t next = 2;
    sim_capacity(s, 1);
    for (; !s->counts[ATOLL_DECIDE_TASK_DONE]; asks++) {
        assert_true(asks < 200);
        if (!op_count(s)) {
            sim_answer(s);
            continue;
        }
        struct atoll_ask ask = *op_at(s, 0);
        s->wrong = 100; /* the seeds are there: no elite any more */
        if (ask.op == ATOLL_OPERATOR_TEMPLATE) {
            templates++;
            op_status(s, ask.number, ATOLL_REPLY_FAILED);
        } else if (templates) { /* from here on nothing new */
            op_status(s, ask.number, ATOLL_REPLY_EMPTY);
        } else {
            op_kernel(s, ask.number, next++);
        }
    }
    assert_true(templates > 0);
    assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_STAGNATION);
    sim_simple(s, ATOLL_EVENT_FINISH);
    while (s->order_count)
        sim_answer(s);
    op_finish(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_ends_with_templates),
        cmocka_unit_test(useless_rounds_end),
        cmocka_unit_test(tuning_has_an_end),
        cmocka_unit_test(a_budget_leaves_room),
        cmocka_unit_test(stagnation_waits_for_the_phase),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
