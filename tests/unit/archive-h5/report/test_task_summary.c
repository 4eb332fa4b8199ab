#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/report/ask_summary.h"
#include "archive-h5/report/report_page.h"
#include "archive-h5/report/task_summary.h"
#include "core/ask.h"
#include "core/verdict.h"

/* A task without a correct kernel says how often its baseline was tried; one with a rival goes on without it. */
static void an_unstable_baseline_is_told(void **state)
{
    static const struct {
        uint64_t tries;
        double rival_ns;
        uint64_t told;
    } rows[] = {{0, 0, 0}, {2, 0, 2}, {2, 7, 0}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
        struct atoll_row_campaign c = {.stop_reason = 0};
        struct atoll_row_task task = {.evaluated = rows[row].tries, .rival_ns = rows[row].rival_ns};
        struct atoll_row_candidate seed = {.event = 1, .operator_ = ATOLL_OPERATOR_SEED};
        struct atoll_task_summary s;
        struct atoll_buffer page;
        assert_non_null(t);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &c, NULL), 0);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_TASKS, &task, NULL), 0);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CANDIDATES, &seed, NULL), 0);
        for (uint64_t i = 0; i < rows[row].tries; i++) {
            struct atoll_row_evaluation e = {
                .event = i + 1, .evaluation = i + 1, .verdict = ATOLL_V_UNSTABLE};
            assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_EVALUATIONS, &e, NULL), 0);
        }
        struct atoll_query *q = atoll_query_create(t, NULL);
        assert_non_null(q);
        atoll_query_task_summary(q, 0, &s);
        assert_int_equal(s.unstable_tries, rows[row].told);
        atoll_buffer_init(&page, 1 << 20);
        atoll_html_failures(&page, q, 0);
        atoll_buffer_put_u8(&page, 0);
        assert_int_equal(strstr((const char *)page.data, "unstable in all 2 tries (a round has several)") !=
                             NULL,
                         rows[row].told > 0);
        atoll_buffer_fini(&page);
        atoll_query_destroy(q);
        atoll_tables_destroy(t);
    }
}

/* Two times that were measured apart: 2 % and 2 % are 2.8 % of the quotient. */
static void a_quotient_has_the_interval_of_both(void **state)
{
    static const struct {
        enum atoll_yardstick over;
        double lo, hi, best_lo, best_hi; /* of the yardstick's time, and the kernel's */
        double ratio, percent;           /* percent: half the interval, 0 = none */
    } rows[] = {
        {ATOLL_OVER_SEED, 392, 408, 98, 102, 4, 2.8},
        {ATOLL_OVER_RIVAL, 294, 306, 98, 102, 3, 2.8},
        {ATOLL_OVER_SEED, 400, 400, 98, 102, 4, 2},
        {ATOLL_OVER_SEED, 0, 0, 98, 102, 4, 0},
        {ATOLL_OVER_RIVAL, 0, 0, 98, 102, 3, 0},
        {ATOLL_OVER_SEED, 392, 408, 0, 0, 4, 0},
        {ATOLL_OVER_EAGER /* itself */, 392, 408, 392, 408, 1, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
        struct atoll_row_campaign c = {.stop_reason = 0};
        struct atoll_row_task task = {.baseline_ns = 400,
                                      .rival_ns = 300,
                                      .rival_lo_ns = rows[i].lo,
                                      .rival_hi_ns = rows[i].hi,
                                      .baseline = {{1}}};
        struct atoll_row_candidate seed = {.operator_ = ATOLL_OPERATOR_SEED, .id = {{1}}};
        struct atoll_row_evaluation e = {.event = 1,
                                         .evaluation = 1,
                                         .verdict = ATOLL_V_CORRECT,
                                         .time_ns = 400,
                                         .time_lo_ns = rows[i].lo,
                                         .time_hi_ns = rows[i].hi,
                                         .candidate = {{1}}};
        int is_itself = rows[i].over == ATOLL_OVER_EAGER;
        struct atoll_speedup s;
        assert_non_null(t);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &c, NULL), 0);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_TASKS, &task, NULL), 0);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CANDIDATES, &seed, NULL), 0);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_EVALUATIONS, &e, NULL), 0);
        struct atoll_query *q = atoll_query_create(t, NULL);
        assert_non_null(q);
        e.candidate.bytes[0] = is_itself ? 1 : 2;
        e.time_ns = is_itself ? 400 : 100;
        e.time_lo_ns = rows[i].best_lo;
        e.time_hi_ns = rows[i].best_hi;
        atoll_query_speedup_of(q, &task, &e, is_itself ? ATOLL_OVER_SEED : rows[i].over, &s);
        assert_true(fabs(s.ratio - rows[i].ratio) < 1e-9);
        if (!(fabs(50 * (s.hi - s.lo) / s.ratio - rows[i].percent) < 0.05))
            fail_msg("row %zu: %f to %f", i, s.lo, s.hi);
        assert_true(s.lo > 0 || rows[i].percent <= 0);
        assert_false(s.is_final);
        e.time_ns = 0;
        atoll_query_speedup_of(q, &task, &e, ATOLL_OVER_SEED, &s);
        assert_true(s.ratio <= 0 && s.hi <= 0);
        atoll_query_destroy(q);
        atoll_tables_destroy(t);
    }
}

/* A model's kernel counts once, by its first result that says something of it; who was asked counts it. */
static void first_tries_are_counted_by_role(void **state)
{
    static const struct {
        uint64_t ask;
        uint8_t op, count, verdicts[3];
    } rows[] = {
        {1, ATOLL_OPERATOR_EXECUTE, 2, {ATOLL_V_CORRECT, ATOLL_V_WRONG}},
        {1, ATOLL_OPERATOR_EXECUTE, 3, {ATOLL_V_UNSTABLE, ATOLL_V_INFRASTRUCTURE, ATOLL_V_CORRECT}},
        {1, ATOLL_OPERATOR_EXECUTE, 2, {ATOLL_V_COMPILE_ERROR, ATOLL_V_CORRECT}},
        {1,
         ATOLL_OPERATOR_EXECUTE,
         2,
         {ATOLL_V_UNSTABLE, ATOLL_V_INFRASTRUCTURE}},      /* nothing is known of it */
        {2, ATOLL_OPERATOR_EXECUTE, 1, {ATOLL_V_CORRECT}}, /* the built-in's */
        {0, ATOLL_OPERATOR_TUNE, 1, {ATOLL_V_CORRECT}},
        {3, ATOLL_OPERATOR_INITIALISE, 1, {ATOLL_V_WRONG}},
    };
    static const uint8_t roles[] = {ATOLL_MODEL_ROLE_EXECUTOR, ATOLL_MODEL_ROLE_EXECUTOR,
                                    ATOLL_MODEL_ROLE_DRAFTER};
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    struct atoll_row_campaign c = {.stop_reason = 0};
    struct atoll_role_sum sums[ATOLL_MODEL_ROLE_COUNT], whole;
    uint64_t number = 0;
    assert_non_null(t);
    assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &c, NULL), 0);
    for (size_t i = 0; i < sizeof(roles); i++) {
        struct atoll_row_ask ask = {.number = i + 1, .role = roles[i]};
        ask.request.bytes[0] = i != 1;
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_ASKS, &ask, NULL), 0);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_row_candidate candidate = {.operator_ = rows[i].op, .ask = rows[i].ask};
        candidate.id.bytes[0] = (uint8_t)(i + 1);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CANDIDATES, &candidate, NULL), 0);
    }
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            struct atoll_row_evaluation e = {.verdict = rows[i].verdicts[k]};
            e.event = e.evaluation = ++number;
            e.candidate.bytes[0] = (uint8_t)(i + 1);
            if (k < rows[i].count)
                assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_EVALUATIONS, &e, NULL), 0);
        }
    }
    struct atoll_query *q = atoll_query_create(t, NULL);
    assert_non_null(q);
    atoll_query_role_sums(q, sums, &whole);
    assert_int_equal(whole.first_tries, 4);
    assert_int_equal(whole.first_correct, 2);
    assert_int_equal(sums[ATOLL_MODEL_ROLE_EXECUTOR].first_tries, 3);
    assert_int_equal(sums[ATOLL_MODEL_ROLE_EXECUTOR].first_correct, 2);
    assert_int_equal(sums[ATOLL_MODEL_ROLE_DRAFTER].first_tries, 1);
    assert_int_equal(sums[ATOLL_MODEL_ROLE_DRAFTER].first_correct, 0);
    atoll_query_destroy(q);
    atoll_tables_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_unstable_baseline_is_told),
                                       cmocka_unit_test(a_quotient_has_the_interval_of_both),
                                       cmocka_unit_test(first_tries_are_counted_by_role)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
