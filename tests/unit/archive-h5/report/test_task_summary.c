#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

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
        assert_int_equal(strstr((const char *)page.data, "unstable in all 2 tries") != NULL,
                         rows[row].told > 0);
        atoll_buffer_fini(&page);
        atoll_query_destroy(q);
        atoll_tables_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_unstable_baseline_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
