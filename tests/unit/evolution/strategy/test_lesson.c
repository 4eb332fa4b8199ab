/* What tries taught: which pairs are summarised, and when; the way to the best. */
#include "tests/support/operator.h"

#include "evolution/strategy/lesson.h"

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

static struct atoll_search beam_settings(void)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = ATOLL_STRATEGY_BEAM;
    search.ask_share = search.memory = search.distil = 1;
    search.memory_top = 2;
    search.stagnation_limit = search.noop_interval = 0;
    search.asks = 64;
    search.islands = search.beam_width = 1;
    search.beam_plans = 3;
    search.beam_attempts = 2;
    search.beam_iterations = 2;
    return search;
}

/* The ask of this number, of this kind. */
static struct atoll_ask ask_of(const struct sim *s, uint64_t number, enum atoll_ask_kind kind)
{
    for (uint32_t i = 0; i < op_count(s); i++) {
        if (op_at(s, i)->number != number)
            continue;
        assert_int_equal(op_at(s, i)->kind, kind);
        return *op_at(s, i);
    }
    fail_msg("ask %u is not under way", (unsigned)number);
    return (struct atoll_ask){.number = 0};
}

static void expect_summary(const struct sim *s, uint64_t number, uint32_t slow, uint32_t fast, uint64_t plan)
{
    struct atoll_ask ask = ask_of(s, number, ATOLL_ASK_SUMMARISE);
    assert_int_equal(ask.op, ATOLL_OPERATOR_PLAN);
    assert_int_equal(op_number(s, 0, &ask.parent), slow);
    assert_int_equal(ask.inspiration_count, 1);
    assert_int_equal(op_number(s, 0, &ask.inspirations[0]), fast);
    assert_int_equal(ask.plan, plan);
    assert_int_equal(ask.plan_index, 0);
}

/* Of kernel 1 (3 ms) three plans: one is faster in both attempts, one hardly, of one the fastest is much slower. */
static struct sim *first_iteration(const struct atoll_search *search, const double *times)
{
    struct sim *s = op_start(1, search, &task, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    for (uint64_t ask = 1; ask <= 3; ask++)
        op_plans(s, ask, 1);
    for (uint32_t i = 0; i < 3; i++)
        op_kernels(s, 4 + i, (const uint32_t[]){2 + 2 * i, 3 + 2 * i}, 2);
    assert_int_equal(op_count(s), 0);
    op_evaluate(s, times);
    return s;
}

static const double times[] = {4, 3, 2.5, 2, 3.5, 2.8, 5, 9, 1.2, 0};

/* Half of them are gains; the strongest are asked about, and the next plans wait for what they bring. */
static void an_iteration_is_summarised(void **state)
{
    struct atoll_search search = beam_settings();
    struct sim *s = first_iteration(&search, times);
    assert_int_equal(op_count(s), 2);
    expect_summary(s, 7, 1, 3, 1);
    expect_summary(s, 8, 7, 1, 3);
    sim_reload(s);
    op_status(s, 7, ATOLL_REPLY_OK);
    assert_int_equal(op_count(s), 1); /* no plan yet */
    op_status(s, 8, ATOLL_REPLY_FAILED);
    assert_int_equal(op_count(s), 3);
    ask_of(s, 9, ATOLL_ASK_PLAN);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* Everything that was a gain or a loss where there is room, the gains first; nothing where it is off. */
static void settings_say_what_is_summarised(void **state)
{
    static const struct {
        uint32_t memory, top;
        double gain, loss;
        struct {
            uint32_t slow, fast;
        } pairs[4];
    } rows[] = {
        {1, 8, 1.04, 1.15, {{1, 3}, {1, 5}, {7, 1}}},
        {1, 1, 1.04, 1.15, {{1, 3}}},
        {1, 8, 1.1, 1.15, {{1, 3}, {7, 1}}},
        {1, 8, 1.6, 1.15, {{7, 1}}},
        {1, 8, 1.04, 2, {{1, 3}, {1, 5}}},
        {0, 8, 1.04, 1.15, {{0, 0}}},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct atoll_search search = beam_settings();
        search.memory = rows[row].memory;
        search.memory_top = rows[row].top;
        search.memory_gain = rows[row].gain;
        search.memory_loss = rows[row].loss;
        struct sim *s = first_iteration(&search, times);
        uint32_t count = 0;
        for (; rows[row].pairs[count].slow; count++)
            expect_summary(s, 7 + count, rows[row].pairs[count].slow, rows[row].pairs[count].fast,
                           rows[row].pairs[count].fast == 3   ? 1
                           : rows[row].pairs[count].fast == 5 ? 2
                                                              : 3);
        assert_int_equal(op_count(s), count ? count : 3);
        sim_simple(s, ATOLL_EVENT_FINISH);
        op_evaluate(s, times);
        op_finish(s);
    }
}

/* Two steps on, half as slow: what is to be learnt from it is asked once, with the way there. */
static void a_way_is_distilled(void **state)
{
    for (uint32_t distil = 0; distil < 2; distil++) {
        struct atoll_search search = beam_settings();
        search.memory = 0;
        search.distil = distil;
        search.beam_iterations = 3;
        struct sim *s = first_iteration(&search, times);
        op_plans(s, 7, 1);
        op_plans(s, 8, 0);
        op_plans(s, 9, 0);
        op_kernels(s, 10, (const uint32_t[]){8, 9}, 2);
        assert_int_equal(op_count(s), 0);
        op_evaluate(s, times);
        if (distil) {
            struct atoll_ask ask = ask_of(s, 11, ATOLL_ASK_DISTIL);
            assert_int_equal(op_count(s), 1);
            assert_int_equal(op_number(s, 0, &ask.parent), 8);
            assert_int_equal(ask.inspiration_count, 2);
            assert_int_equal(op_number(s, 0, &ask.inspirations[0]), 1);
            assert_int_equal(op_number(s, 0, &ask.inspirations[1]), 3);
            op_status(s, 11, ATOLL_REPLY_BUILTIN); /* nobody distils */
        }
        for (uint64_t ask = 11 + distil; op_count(s); ask++) { /* not once more */
            ask_of(s, ask, ATOLL_ASK_PLAN);
            op_status(s, ask, ATOLL_REPLY_EMPTY);
        }
        op_evaluate(s, times);
        op_finish(s);
    }
}

/* Where one is asked at a time the way goes before the pairs, whose next choice would take its turn. */
static void a_way_goes_before_summaries(void **state)
{
    struct atoll_search search = beam_settings();
    search.memory_top = 1;
    search.beam_iterations = 3;
    struct sim *s = first_iteration(&search, times);
    expect_summary(s, 7, 1, 3, 1);
    op_status(s, 7, ATOLL_REPLY_OK);
    op_plans(s, 8, 1);
    op_plans(s, 9, 0);
    op_plans(s, 10, 0);
    op_kernels(s, 11, (const uint32_t[]){8, 9}, 2);
    op_evaluate(s, times);
    assert_int_equal(op_count(s), 2);
    ask_of(s, 12, ATOLL_ASK_DISTIL);
    expect_summary(s, 13, 3, 8, 8);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* ---- whatever happens, with every strategy ---- */

struct seen {
    uint64_t asks; /* up to here */
    uint64_t evaluated;
    uint32_t summaries, distilled; /* since then */
};

static const struct atoll_individual *of_id(const struct sim *s, const struct atoll_id *id)
{
    uint32_t at = atoll_individuals_find(&s->engine->individuals, 0, id);
    assert_int_not_equal(at, ATOLL_NONE);
    return &s->engine->individuals.items[at];
}

static void check_lesson(const struct sim *s, const struct atoll_ask *ask, struct seen *seen)
{
    uint32_t generation = s->search.generation_size * s->search.islands;
    const struct atoll_individual *parent = of_id(s, &ask->parent);
    assert_int_not_equal(s->search.strategy, ATOLL_STRATEGY_REPEATED);
    assert_true(parent->state == ATOLL_V_CORRECT && ask->count == 1 && ask->inspiration_count > 0);
    if (ask->kind == ATOLL_ASK_DISTIL) {
        assert_true(ask->inspiration_count >= 2);
        assert_true(of_id(s, &ask->inspirations[0])->time_ns >= 1.1 * parent->time_ns);
        seen->distilled++;
    } else {
        const struct atoll_individual *fast = of_id(s, &ask->inspirations[0]);
        assert_true(fast->state == ATOLL_V_CORRECT);
        int is_gain = fast->parent != ATOLL_NONE &&
                      atoll_id_equal(&s->engine->individuals.items[fast->parent].id, &ask->parent);
        assert_true(is_gain || atoll_id_equal(&s->engine->individuals.items[parent->parent].id, &fast->id));
        seen->summaries++;
    }
    uint64_t ends = s->engine->tasks[0].evaluated / generation - seen->evaluated / generation + 1;
    if (s->search.strategy != ATOLL_STRATEGY_BEAM)
        assert_true(seen->summaries <= ends * s->search.memory_top && seen->distilled <= ends);
}

static void look(const struct sim *s, void *context)
{
    struct seen *seen = context;
    uint64_t last = seen->asks;
    uint32_t lessons = 0;
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        int is_lesson = ask->kind == ATOLL_ASK_SUMMARISE || ask->kind == ATOLL_ASK_DISTIL;
        lessons += (uint32_t)is_lesson;
        if (ask->number > seen->asks && is_lesson)
            check_lesson(s, ask, seen);
        last = ask->number > last ? ask->number : last;
    }
    assert_int_equal(lessons, s->engine->tasks[0].lesson_asks);
    assert_true(lessons <= s->search.asks && op_count(s) - lessons <= s->search.asks);
    seen->asks = last;
}

static void the_rule_holds_whatever_happens(void **state)
{
    unsigned summaries = 0, distilled = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct atoll_search search = beam_settings();
        search.strategy = (enum atoll_strategy_kind)(seed % ATOLL_STRATEGY_COUNT);
        search.islands = 1 + (uint32_t)(seed % 3);
        search.generation_size = 1 + (uint32_t)(seed % 7);
        search.memory_top = 1 + (uint32_t)(seed % 5);
        search.asks = 1 + (uint32_t)(seed % 4);
        search.beam_iterations = 4;
        search.seed = seed;
        search.evaluation_budget = 60;
        struct seen seen = {.asks = 0};
        op_live(&search, &task, look, &seen);
        summaries += seen.summaries;
        distilled += seen.distilled;
    }
    assert_true(summaries > 100);
    assert_true(distilled > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iteration_is_summarised),
        cmocka_unit_test(settings_say_what_is_summarised),
        cmocka_unit_test(a_way_is_distilled),
        cmocka_unit_test(a_way_goes_before_summaries),
        cmocka_unit_test(the_rule_holds_whatever_happens),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
