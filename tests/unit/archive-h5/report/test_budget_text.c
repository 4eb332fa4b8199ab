/* What a campaign may use and what extensions added, in words and on the report's page. */
#include "tests/support/expect.h"

#include "archive-h5/report/budget_text.h"
#include "archive-h5/report/report.h"

static const struct {
    struct atoll_row_campaign campaign;
    const char *budget, *extended;
} rows[] = {{{.seed = 1}, "not limited", ""},
            {{.wall_budget_ns = 2e10}, "20.0 s of clock", ""},
            {{.device_budget_ns = 3e11, .evaluation_budget = 7}, "5m 00s of devices, 7 evaluations", ""},
            {{.token_budget = 1000, .money_budget_usd = 2.5, .extensions = 1, .extended_tokens = 500},
             "1000 tokens, $2.50",
             "1 time, by 500 tokens"},
            {{.extensions = 2,
              .extended_wall_ns = 1e9,
              .extended_device_ns = 2e9,
              .extended_evaluations = 3,
              .extended_tokens = 4,
              .extended_money_usd = 0.25},
             "not limited",
             "2 times, by 1.00 s of clock, 2.00 s of devices, 3 evaluations, 4 tokens, $0.25"}};
#define ROWS (sizeof(rows) / sizeof(*rows))

static void budgets_in_words(void **state)
{
    char text[ATOLL_BUDGET_TEXT_BYTES];
    for (size_t i = 0; i < ROWS; i++) {
        assert_string_equal(atoll_budget_text(&rows[i].campaign, text), rows[i].budget);
        assert_string_equal(atoll_budget_extended_text(&rows[i].campaign, text), rows[i].extended);
    }
}

/* Whatever the numbers are, nothing is cut. */
static void the_longest_fits(void **state)
{
    const struct atoll_row_campaign most = {.extensions = UINT32_MAX,
                                            .extended_wall_ns = 1e18,
                                            .extended_device_ns = 1e18,
                                            .extended_evaluations = UINT64_MAX,
                                            .extended_tokens = UINT64_MAX,
                                            .extended_money_usd = 123456789.25};
    char text[ATOLL_BUDGET_TEXT_BYTES];
    assert_string_equal(strrchr(atoll_budget_extended_text(&most, text), ','), ", $123456789.25");
}

static void the_page_has_them(void **state)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
        struct atoll_row_campaign campaign = rows[i].campaign;
        struct atoll_buffer page;
        char budget[2 * ATOLL_BUDGET_TEXT_BYTES];
        assert_non_null(t);
        assert_int_equal(atoll_tables_add_text(t, "seed: 1\n", 8, &campaign.settings, NULL), 0);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &campaign, NULL), 0);
        atoll_buffer_init(&page, 1 << 20);
        assert_int_equal(atoll_report_render(t, &page, NULL), 0);
        atoll_buffer_put_u8(&page, 0);
        snprintf(budget, sizeof(budget), ", budget %s%s%s</p>", rows[i].budget,
                 *rows[i].extended ? ", extended " : "", rows[i].extended);
        assert_non_null(strstr((char *)page.data, budget));
        atoll_buffer_fini(&page);
        atoll_tables_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(budgets_in_words), cmocka_unit_test(the_longest_fits),
                                       cmocka_unit_test(the_page_has_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
