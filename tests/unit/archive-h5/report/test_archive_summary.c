/* Sums of an archive: over its tasks, by level and category, and of the devices' time. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <math.h>

#include "archive-h5/hdf5/segment.h"
#include "archive-h5/report/archive_summary.h"
#include "archive-h5/report/query_name.h"
#include "archive-h5/report/report.h"
#include "archive-h5/report/task_rival.h"
#include "archive-h5/report/time_split.h"
#include "tests/unit/archive-h5/sample_query.h"

static void test_summary(void **state)
{
    (void)state;
    struct atoll_archive_summary s;
    struct atoll_task_summary t;
    atoll_query_summary(query, &s);
    const struct atoll_speedup_sums *seed = &s.tasks.over[ATOLL_OVER_SEED];
    assert_int_equal(s.tasks.task_count, 2);
    assert_int_equal(s.tasks.solved_count, 2);
    assert_int_equal(s.tasks.evaluated, 49);
    assert_int_equal(s.tasks.headline, ATOLL_OVER_RIVAL); /* one of the two has rivals */
    assert_int_equal(seed->timed_count, 2);
    assert_false(seed->are_final); /* the hostile source had no final comparison */
    assert_true(seed->fast_share[0] >= seed->fast_share[1] && seed->fast_share[1] >= seed->fast_share[4]);
    double ratios[2];
    for (uint64_t i = 0; i < 2; i++) {
        atoll_query_task_summary(query, i, &t);
        ratios[i] = t.over[ATOLL_OVER_SEED].ratio;
    }
    assert_true(ratios[0] > 1.5 && ratios[1] > 1.5 && fabs(ratios[0] - ratios[1]) > 0.01);
    assert_true(fabs(seed->geometric_mean - sqrt(ratios[0] * ratios[1])) < 1e-9);
    assert_true(fabs(seed->arithmetic_mean - (ratios[0] + ratios[1]) / 2) < 1e-9);
    const struct atoll_speedup_sums *rival = &s.tasks.over[ATOLL_OVER_RIVAL];
    assert_int_equal(rival->task_count, 1);
    assert_true(rival->are_final && fabs(rival->geometric_mean - SAMPLE_RIVAL_RATIO) < 1e-9);
    /* Of one task the mean's interval is the task's own; where one of two has none there is none. */
    for (uint64_t i = 0; i < 2; i++) {
        atoll_query_task_summary(query, i, &t);
        if (t.over[ATOLL_OVER_RIVAL].ratio > 0) {
            assert_true(t.over[ATOLL_OVER_RIVAL].hi > 0);
            assert_true(fabs(rival->geometric_lo - t.over[ATOLL_OVER_RIVAL].lo) < 1e-9);
            assert_true(fabs(rival->geometric_hi - t.over[ATOLL_OVER_RIVAL].hi) < 1e-9);
        }
    }
    assert_true(seed->geometric_lo == 0 && seed->geometric_hi == 0);
    assert_true(rival->fast_share[0] == 1 && rival->fast_share[1] == 0);
    /* By the account of the device, not by what evaluations and duels say. */
    expect_close(s.candidate_ns, 1e9, 1e-12);
    expect_close(s.occupied_ns, 2.6e9, 1e-12);
    expect_close(s.device_wall_ns, 4e9, 1e-12);
    assert_int_equal(atoll_query_task(query, "softmax_rows"), 1);
    assert_int_equal(atoll_query_task(query, "0"), 0);
    assert_int_equal(atoll_query_task(query, "nothing"), -1);
    atoll_query_task_summary(query, 1, &t);
    assert_true(t.over[ATOLL_OVER_SEED].is_final && t.over[ATOLL_OVER_SEED].ratio > 1 && t.floor_share > 0 &&
                t.floor_share < 1);
}

static void test_times(void **state)
{
    (void)state;
    struct atoll_device_time time;
    assert_int_equal(atoll_query_device_time(query, 0, &time), 1);
    expect_close(atoll_device_time_whole_ns(&time), 4e9, 1e-12);
    expect_close(time.ns[ATOLL_TIME_ANSWERS], 1.2e9,
                 1e-12); /* what was said last, not the sum of what was said */
    assert_int_equal(atoll_query_task_time(query, 0, &time), 1);
    expect_close(atoll_device_time_whole_ns(&time), 1.2e9, 1e-12);
    assert_int_equal(atoll_query_task_time(query, 1, &time), 1);
    expect_close(atoll_device_time_whole_ns(&time), 1.4e9, 1e-12);
    struct atoll_timed_task task;
    uint64_t at = 0;
    for (uint64_t row = 0; row < 2; row++) {
        assert_int_equal(atoll_query_next_timed_task(query, &at, &task), 1);
        assert_int_equal(task.row, row);
        assert_int_equal(atoll_query_task(query, task.name), row);
        expect_close(atoll_device_time_whole_ns(&task.time), row ? 1.4e9 : 1.2e9, 1e-12);
    }
    assert_int_equal(atoll_query_next_timed_task(query, &at, &task), 0);
    assert_int_equal(atoll_query_campaign_time(query, 1, &time), 0);
    expect_close(atoll_device_time_whole_ns(&time), 0, 1e-12);
}

/* Parts of a job follow each other on a device; what lies between them is told.  Attempts that nobody numbered do not. */
static void test_between_parts(void **state)
{
    (void)state;
    static const struct {
        uint32_t campaign;
        uint64_t device;
        const char *job;
        int64_t began, told;
    } parts[] = {{0, 1, "77.0", 0, 100},       {1, 1, "77.1", 103, 200}, {1, 1, "77.1", 103, 150},
                 {2, 1, "77.0", 190, 300},     {3, 1, "78.0", 400, 500}, {3, 1, "local.1", 600, 700},
                 {4, 1, "local.0", 900, 1000}, {0, 2, "77.0", 0, 100},   {1, 2, "77.1", 150, 200}};
    struct atoll_tables *own = atoll_tables_create(1 << 20, NULL);
    for (uint32_t i = 0; i < 6; i++) {
        struct atoll_row_device device = {.campaign = i / 2, .key = 1 + i % 2};
        assert_int_equal(atoll_tables_append(own, ATOLL_TABLE_DEVICES, &device, NULL), 0);
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        struct atoll_row_device_time row = {.campaign = parts[i].campaign,
                                            .attempt = (uint32_t)i,
                                            .device = parts[i].device,
                                            .task = (uint32_t)i,
                                            .began_unix_ns = parts[i].began,
                                            .told_unix_ns = parts[i].told};
        row.attempt -= i == 2; /* another task of the attempt before */
        atoll_tables_add_text(own, parts[i].job, strlen(parts[i].job), &row.job, NULL);
        assert_int_equal(atoll_tables_append(own, ATOLL_TABLE_DEVICE_TIME, &row, NULL), 0);
    }
    struct atoll_query *of_own = atoll_query_create(own, NULL);
    assert_non_null(of_own);
    expect_close(atoll_query_device_gaps_ns(of_own, 0), 3,
                 1e-12); /* the third begins before the second ends */
    expect_close(atoll_query_device_gaps_ns(of_own, 2), 3, 1e-12); /* the same device in another campaign */
    expect_close(atoll_query_device_gaps_ns(of_own, 1), 50, 1e-12);
    assert_int_equal(atoll_query_device_first(of_own, 5), 1);
    atoll_query_destroy(of_own);
    atoll_tables_destroy(own);
}

/* An archive of before there were such accounts: nothing is shown of them, and shares are those of the evaluations. */
static void test_no_times(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_archive_summary s;
    struct atoll_buffer page;
    struct atoll_tables *old =
        atoll_segment_read(ATOLL_SOURCE_DIR "/tests/fixtures/archive/schema-5.h5", &err);
    assert_non_null(old);
    struct atoll_query *of_old = atoll_query_create(old, NULL);
    atoll_query_summary(of_old, &s);
    assert_true(s.occupied_ns > s.candidate_ns && s.candidate_ns > 0 && s.device_wall_ns > s.occupied_ns);
    atoll_query_destroy(of_old);
    atoll_buffer_init(&page, 64u << 20);
    assert_int_equal(atoll_report_render(old, &page, &err), 0);
    atoll_buffer_put_u8(&page, 0);
    assert_null(strstr((const char *)page.data, "Where the devices"));
    atoll_buffer_fini(&page);
    atoll_tables_destroy(old);
}

/* Over the rival first: of the final comparison; over eager and, of a task without rivals, over the seed. */
static void test_rivals_first(void **state)
{
    (void)state;
    struct atoll_task_summary t;
    struct atoll_row_task row;
    char text[32];
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT];
    atoll_query_task_summary(query, 1, &t);
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &row);
    const struct atoll_speedup *rival = &t.over[ATOLL_OVER_RIVAL], *eager = &t.over[ATOLL_OVER_EAGER];
    assert_int_equal(t.headline, ATOLL_OVER_RIVAL);
    assert_true(rival->is_final && rival->ratio == SAMPLE_RIVAL_RATIO && rival->pair_count == 12);
    assert_true(rival->yardstick_ns == 1e6 * SAMPLE_RIVAL_RATIO && t.best_ns == 1e6 &&
                t.best_lo_ns == 0.99e6);
    assert_true(!eager->is_final && fabs(eager->ratio - row.eager_ns / t.best_ns) < 1e-12);
    assert_true(t.best_ns != row.best_ns);
    assert_true(t.over[ATOLL_OVER_SEED].is_final && t.over[ATOLL_OVER_SEED].pair_count == 16);
    assert_string_equal(t.rival, "compiled");
    assert_string_equal(t.rival_versions, "torch 2.11.0, CUDA 13.0, Triton 3.5");
    assert_true(t.rival_host_ns > rival->yardstick_ns);
    assert_string_equal(atoll_speedup_text(rival, text, sizeof(text)), "1.25x");
    assert_int_equal(*atoll_speedup_text(eager, text, sizeof(text)), '~');
    assert_string_equal(atoll_speedup_text(&(struct atoll_speedup){.ratio = 0}, text, sizeof(text)), "-");
    assert_int_equal(atoll_query_rivals(query, 1, rows), 3);
    assert_int_equal(atoll_query_rivals(query, 0, rows), 0);
    atoll_query_task_summary(query, 0, &t);
    assert_int_equal(t.headline, ATOLL_OVER_SEED);
    assert_true(!(t.over[ATOLL_OVER_RIVAL].ratio > 0) && t.over[ATOLL_OVER_SEED].ratio > 1);
    assert_string_equal(t.rival, "");
    /* Before the final comparison: the quotient of two medians, of those that stand in the table. */
    row.final_rival_ratio = 0;
    atoll_tables_set((struct atoll_tables *)(uintptr_t)tables, ATOLL_TABLE_TASKS, 1, &row);
    atoll_query_task_summary(query, 1, &t);
    assert_true(!rival->is_final && fabs(rival->ratio - row.rival_ns / row.final_best_ns) < 1e-12);
    assert_true(t.best_ns == row.final_best_ns && t.best_ns != row.best_ns);
    assert_true(rival->yardstick_lo_ns > 0 && rival->pair_count == 0);
}

/* Of levels and categories; those without one stand last. */
static void test_groups(void **state)
{
    (void)state;
    struct atoll_task_group groups[4];
    struct atoll_row_task row;
    assert_int_equal(atoll_query_groups(query, ATOLL_BY_LEVEL, groups, 4), 2);
    assert_true(groups[0].level == 1 && groups[1].level == 0);
    assert_int_equal(groups[0].sums.task_count, 1);
    assert_int_equal(groups[0].sums.over[ATOLL_OVER_RIVAL].task_count, 1);
    assert_int_equal(groups[1].sums.over[ATOLL_OVER_RIVAL].task_count, 0);
    assert_int_equal(groups[1].sums.solved_count, 1);
    assert_int_equal(atoll_query_groups(query, ATOLL_BY_CATEGORY, groups, 4), 2);
    assert_string_equal(groups[0].category, "softmax");
    assert_string_equal(groups[1].category, "");
    for (uint64_t i = 0; i < 2; i++) {
        atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &row);
        row.level = 0;
        row.category = 0;
        atoll_tables_set((struct atoll_tables *)(uintptr_t)tables, ATOLL_TABLE_TASKS, i, &row);
    }
    assert_int_equal(atoll_query_groups(query, ATOLL_BY_LEVEL, groups, 4), 0);
    assert_int_equal(atoll_query_groups(query, ATOLL_BY_CATEGORY, groups, 4), 0);
}

/* No share above 105 %, and none beside that of a floor which was made in another way. */
static void test_shares_of_floors(void **state)
{
    struct atoll_tables *t = (struct atoll_tables *)(uintptr_t)tables;
    struct atoll_row_task kept[2], row;
    struct atoll_task_summary s;
    (void)state;
    for (uint64_t i = 0; i < 2; i++)
        atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &kept[i]);
    atoll_query_task_summary(query, 1, &s);
    double best_ns = s.best_ns;
    assert_true(s.floor_share > 0 && !s.floors_differ);
    static const struct {
        double share;
        int is_told;
    } cases[] = {{0.5, 1}, {1, 1}, {1.049, 1}, {1.06, 0}, {6.1, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        row = kept[1];
        row.floor_ns = cases[i].share * best_ns;
        atoll_tables_set(t, ATOLL_TABLE_TASKS, 1, &row);
        atoll_query_task_summary(query, 1, &s);
        assert_int_equal(s.floor_share > 0, cases[i].is_told);
        assert_int_equal(s.floor_ns > 0, cases[i].is_told);
        assert_true(s.floor_share <= 1.05);
    }
    row = kept[1];
    row.floor_model = row.floor_model ? ATOLL_FLOOR_UNTOLD : ATOLL_FLOOR_SINGLE;
    row.floor_ns = 0.5 * best_ns;
    atoll_tables_set(t, ATOLL_TABLE_TASKS, 1, &row);
    row = kept[0];
    row.floor_ns = row.floor_ns > 0 ? row.floor_ns : 1e5;
    atoll_tables_set(t, ATOLL_TABLE_TASKS, 0, &row);
    for (uint64_t i = 0; i < 2; i++) {
        atoll_query_task_summary(query, i, &s);
        assert_true(s.floors_differ && s.floor_share == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_summary),      CASE(test_times),  CASE(test_between_parts),    CASE(test_no_times),
        CASE(test_rivals_first), CASE(test_groups), CASE(test_shares_of_floors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
