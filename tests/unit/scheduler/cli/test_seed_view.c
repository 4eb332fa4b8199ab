/* A task without a candidate says that it has no seed only where that is known. */
#include "tests/support/expect.h"

#include <string.h>

#include "archive-h5/report/query.h"
#include "archive-h5/table/table.h"
#include "core/ask.h"
#include "core/decision.h"
#include "scheduler/cli/seed_view.h"

static const struct row {
    const char *name;
    enum atoll_reason reason; /* NONE: it goes on */
    int operator_;            /* of its only candidate; -1: it has none */
    int is_said;
} rows[] = {
    {"goes on, none yet", ATOLL_REASON_NONE, -1, 0},
    {"time was over before its device was ready", ATOLL_REASON_WALL_TIME, -1, 0},
    {"interrupted", ATOLL_REASON_ASKED, -1, 0},
    {"ended for want of a baseline", ATOLL_REASON_NO_BASELINE, -1, 1},
    {"a seed", ATOLL_REASON_WALL_TIME, ATOLL_OPERATOR_SEED, 0},
    {"a model's kernel alone", ATOLL_REASON_NONE, ATOLL_OPERATOR_INITIALISE, 1},
};

static void only_what_is_known_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_tables *tables = atoll_tables_create(1 << 20, NULL);
        struct atoll_row_task task;
        struct atoll_row_candidate candidate;
        char text[256];

        assert_non_null(tables);
        memset(&task, 0, sizeof(task));
        memset(&candidate, 0, sizeof(candidate));
        task.done = rows[i].reason != ATOLL_REASON_NONE;
        task.reason = (uint8_t)rows[i].reason;
        candidate.operator_ = (uint8_t)rows[i].operator_;
        assert_int_equal(atoll_tables_append(tables, ATOLL_TABLE_TASKS, &task, NULL), 0);
        if (rows[i].operator_ >= 0)
            assert_int_equal(atoll_tables_append(tables, ATOLL_TABLE_CANDIDATES, &candidate, NULL), 0);
        struct atoll_query *query = atoll_query_create(tables, NULL);
        assert_non_null(query);
        atoll_seed_view_none(query, 0, text, sizeof(text));
        if ((strncmp(text, "none: ", 6) == 0) != rows[i].is_said || (!rows[i].is_said && *text))
            fail_msg("%s: \"%s\"", rows[i].name, text);
        atoll_query_destroy(query);
        atoll_tables_destroy(tables);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_is_known_is_said)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
