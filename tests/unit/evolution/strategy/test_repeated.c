/* The control of every comparison: independent samples, a count of them per task, and the paper's form, in which every
 * prompt shows the same kernel. */
#include "tests/support/operator.h"

static const struct sim_seed seeds[] = {
    {"k0", NULL, NULL},
    {"tiled", "\"A\": [1, 2, 3, 4, 5, 6], \"B\": [1, 2, 3, 4]", NULL},
};
static struct atoll_buffer with_template, without;

static int set_up(void **state)
{
    atoll_buffer_init(&with_template, 1u << 24);
    atoll_buffer_init(&without, 1u << 24);
    sim_task("copy", seeds, 2, 1, &with_template);
    sim_task("copy", seeds, 1, 1, &without);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&with_template);
    atoll_buffer_fini(&without);
    return 0;
}

static struct sim *begin(const struct atoll_buffer *task, uint32_t samples, double ask_share)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = ATOLL_STRATEGY_REPEATED;
    search.samples = samples;
    search.repeated_parent = 1;
    search.ask_share = ask_share;
    search.noop_interval = 0;
    search.stagnation_limit = 0;
    struct sim *s = op_start(7, &search, task, 2);
    sim_capacity(s, 4);
    return s;
}

static struct atoll_task_status status_of(const struct sim *s, uint32_t task)
{
    struct atoll_task_status status;
    assert_int_equal(atoll_engine_task_status(s->engine, task, 0, &status), 0);
    return status;
}

/* The tuner alone: both seeds, and so many instances of the template. */
static void samples_are_counted(void **state)
{
    struct sim *s = begin(&with_template, 10, 0);
    for (int i = 0; i < 400 && s->order_count; i++) {
        sim_answer(s);
        if (i == 9)
            sim_reload(s); /* a snapshot keeps the count */
    }
    for (uint32_t task = 0; task < 2; task++) {
        struct atoll_task_status status = status_of(s, task);
        assert_int_equal(status.evaluated, 12);
        assert_int_equal(status.reason, ATOLL_REASON_SAMPLES);
    }
    op_finish(s);
}

/* Asked outside: every answer counts, whatever is in it; failures of the operator do not. */
static void answers_are_counted(void **state)
{
    static const double times_ms[64] = {[0] = 9, [1] = 8, [2] = 0, [3] = 7};
    struct sim *s = begin(&without, 5, 1);
    uint32_t answered[2] = {0, 0}, failed = 0, next = 1;
    op_evaluate(s, times_ms);
    for (int i = 0; i < 100 && op_count(s); i++) {
        const struct atoll_ask ask = *op_at(s, 0);
        if (failed < 4) {
            failed++;
            op_status(s, ask.number, ATOLL_REPLY_FAILED);
        } else if (++answered[ask.task] % 2) {
            op_status(s, ask.number, ATOLL_REPLY_EMPTY);
        } else {
            op_kernel(s, ask.number, next++);
        }
        op_evaluate(s, times_ms);
    }
    assert_int_equal(failed, 4);
    assert_int_equal(answered[0], 5);
    assert_int_equal(answered[1], 5);
    assert_int_equal(status_of(s, 1).reason, ATOLL_REASON_SAMPLES);
    op_finish(s);
}

/* Every ask is about the baseline, and tells nothing of what was found since. */
static void parents_are_the_baseline(void **state)
{
    static const double times_ms[64] = {
        [0] = 9, [1] = 8, [2] = 7, [3] = 6, [4] = 5, [5] = 4, [6] = 3, [7] = 2};
    struct sim *s = begin(&without, 3, 1);
    struct atoll_ask first = {0};
    op_evaluate(s, times_ms);
    for (uint32_t next = 1; op_count(s) && next < 64; next++) {
        struct atoll_ask ask = *op_at(s, 0);
        if (!first.number)
            first = ask;
        assert_int_equal(op_number(s, ask.task, &ask.parent), 0);
        assert_int_equal(ask.op, ATOLL_OPERATOR_UNIVERSAL);
        assert_int_equal(ask.role, ATOLL_ISLAND_ROLE_COUNT);
        assert_true(ask.best_ns == 0 && ask.baseline_ns == first.baseline_ns);
        assert_int_equal(ask.inspiration_count, 0);
        assert_int_equal(ask.advice_count, 0);
        op_kernel(s, ask.number, next);
        op_evaluate(s, times_ms);
    }
    op_finish(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_counted),
        cmocka_unit_test(answers_are_counted),
        cmocka_unit_test(parents_are_the_baseline),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
