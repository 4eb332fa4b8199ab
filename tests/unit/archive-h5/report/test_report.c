/* Queries, exports, verification and the report, on the sample campaign. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include <math.h>

#include "core/evaluation.h"
#include "archive-h5/report/export.h"
#include "archive-h5/hdf5/archive.h"
#include "archive-h5/table/project.h"
#include "archive-h5/report/archive_summary.h"
#include "archive-h5/report/failure.h"
#include "archive-h5/report/query_name.h"
#include "archive-h5/report/report.h"
#include "archive-h5/report/report_page.h"
#include "archive-h5/report/task_rival.h"
#include "archive-h5/report/time_split.h"
#include "archive-h5/hdf5/segment.h"
#include "archive-h5/hdf5/verify_file.h"
#include "tests/unit/archive-h5/sample_campaign.h"

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;
static struct atoll_query *query;

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    assert_non_null(projection);
    tables = atoll_projection_tables(projection);
    query = atoll_query_create(tables, NULL);
    assert_non_null(query);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_query_destroy(query);
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

static void test_find_candidate(void **state)
{
    (void)state;
    static const struct {
        const char *prefix;
        enum atoll_code code;
        const char *text;
    } cases[] = {{"abc", ATOLL_E_INPUT, "4 to 64"},
                 {"xyzw", ATOLL_E_INPUT, "start of a candidate"},
                 {"", ATOLL_E_INPUT, "4 to 64"},
                 {"0000000000000000", ATOLL_E_NOTFOUND, "atoll best"}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_row_candidate c;
    char hex[ATOLL_ID_HEX];
    uint64_t row = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(atoll_query_candidate_prefix(query, cases[i].prefix, &row, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, 5, &c);
    atoll_id_hex(&c.id, hex);
    hex[12] = '\0';
    assert_int_equal(atoll_query_candidate_prefix(query, hex, &row, &err), 0);
    assert_int_equal(row, 5);
}

/* What a person types: a task, or as many digits as the tables print. */
static void test_find_word(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum atoll_code code;
        const char *text;
    } cases[] = {{"abc", ATOLL_E_NOTFOUND, "neither a task nor"},
                 {"../x", ATOLL_E_NOTFOUND, "4 to 64"},
                 {"0000000", ATOLL_E_NOTFOUND, "no candidate"}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_row_task task;
    struct atoll_row_candidate c;
    char hex[ATOLL_ID_HEX], wrong[80];
    uint64_t row = 0;
    int digits = atoll_query_id_digits(query);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(atoll_query_find(query, cases[i].word, &row, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    assert_in_range(digits, 7, 16);
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES); i++) {
        atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, i, &c);
        atoll_id_hex(&c.id, hex);
        hex[digits] = '\0';
        assert_int_equal(atoll_query_find(query, hex, &row, NULL), 0);
        assert_int_equal(atoll_query_candidate(query, c.campaign, &c.id), row);
    }
    assert_int_equal(atoll_query_task_row(query, 0, 1, 0), 1);
    assert_int_equal(atoll_query_task_row(query, 0, 1, 5), 1); /* its first device model */
    assert_int_equal(atoll_query_task_row(query, 0, 2, 0), -1);
    assert_int_equal(atoll_query_task_row(query, 1, 1, 0), -1);
    assert_string_equal(atoll_query_task_name(query, 0, 1), "softmax_rows");
    assert_string_equal(atoll_query_task_name(query, 0, 9), "");
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 0, &task);
    assert_int_equal(atoll_query_find(query, atoll_tables_text(tables, task.name), &row, NULL), 0);
    assert_int_equal(row, atoll_query_candidate(query, task.campaign, &task.best));
    snprintf(wrong, sizeof(wrong), "%s/baseline", atoll_tables_text(tables, task.name));
    assert_int_equal(atoll_query_find(query, wrong, &row, NULL), 0);
    assert_int_equal(row, atoll_query_candidate(query, task.campaign, &task.baseline));
    snprintf(wrong, sizeof(wrong), "%sx", atoll_tables_text(tables, task.name));
    assert_int_equal(atoll_query_find(query, wrong, &row, &err), -1);
    assert_non_null(strstr(err.text, "did you mean '"));
}

/* As many digits as tell all apart, and no more; what two parts of a campaign share does not count. */
static void test_digits(void **state)
{
    (void)state;
    static const struct {
        const char *ids[3];
        int digits;
    } cases[] = {
        {{"00", "11", "22"}, 7},
        {{"1234567800", "1234567900", "22"}, 8},
        {{"1234567800", "1234567800", "1234567811"}, 9},
        {{"ff", "ff", "ff"}, 7},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_tables *own = atoll_tables_create(1 << 20, NULL);
        for (size_t k = 0; k < 3; k++) {
            struct atoll_row_candidate c = {.campaign = (uint32_t)k};
            for (size_t b = 0; cases[i].ids[k][2 * b]; b++) {
                char byte[3] = {cases[i].ids[k][2 * b], cases[i].ids[k][2 * b + 1], 0};
                c.id.bytes[b] = (uint8_t)strtoul(byte, NULL, 16);
            }
            assert_int_equal(atoll_tables_append(own, ATOLL_TABLE_CANDIDATES, &c, NULL), 0);
        }
        struct atoll_query *q = atoll_query_create(own, NULL);
        assert_int_equal(atoll_query_id_digits(q), cases[i].digits);
        atoll_query_destroy(q);
        atoll_tables_destroy(own);
    }
}

static void test_rows_of_candidate(void **state)
{
    (void)state;
    uint64_t evaluations = 0, samples = 0, lineage[64];
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES); i++) {
        struct atoll_rows rows = atoll_query_evaluations(query, i);
        evaluations += rows.count;
        for (size_t k = 0; k < rows.count; k++) {
            struct atoll_row_evaluation e;
            atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, rows.rows[k], &e);
            assert_int_equal(atoll_query_candidate(query, 0, &e.candidate), i);
            samples += atoll_query_samples(query, rows.rows[k]).count;
        }
        size_t length = atoll_query_lineage(query, i, lineage, 64);
        assert_true(length >= 1 && length < 64);
        assert_int_equal(lineage[0], i);
    }
    assert_int_equal(evaluations,
                     atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS)); /* none lost, none doubled */
    assert_int_equal(samples, atoll_tables_count(tables, ATOLL_TABLE_SAMPLES));
    assert_int_equal(atoll_query_evaluations(query, 1u << 30).count, 0);
}

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
    assert_true(!eager->is_final && fabs(eager->ratio - row.eager_ns / row.best_ns) < 1e-12);
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
    /* Before the final comparison: the quotient of two medians. */
    row.final_rival_ratio = 0;
    atoll_tables_set((struct atoll_tables *)(uintptr_t)tables, ATOLL_TABLE_TASKS, 1, &row);
    atoll_query_task_summary(query, 1, &t);
    assert_true(!rival->is_final && fabs(rival->ratio - row.rival_ns / row.best_ns) < 1e-12);
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

static char *export_text(enum atoll_table table, enum atoll_export_format format)
{
    char path[PATH_MAX];
    size_t length;
    FILE *f = fopen(scratch_join(path, dir, "export"), "wb");
    assert_int_equal(atoll_export_table(tables, table, format, f, NULL), 0);
    fclose(f);
    return scratch_read(path, &length);
}

/* A table with one text, as a person gets it. */
static char *export_detail(const char *detail, enum atoll_export_format format)
{
    struct atoll_row_duel row = {.campaign = 0};
    char path[PATH_MAX];
    size_t length;
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    assert_non_null(t);
    assert_int_equal(atoll_tables_add_text(t, detail, strlen(detail), &row.detail, NULL), 0);
    row.ratio = -1.5;
    assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_DUELS, &row, NULL), 0);
    FILE *f = fopen(scratch_join(path, dir, "export"), "wb");
    assert_int_equal(atoll_export_table(t, ATOLL_TABLE_DUELS, format, f, NULL), 0);
    fclose(f);
    atoll_tables_destroy(t);
    return scratch_read(path, &length);
}

static void test_export_for_people(void **state)
{
    static const struct {
        const char *detail, *csv, *jsonl;
    } rows[] = {{"=cmd|' /C calc'!A0", ",\"'=cmd|' /C calc'!A0\",", "\"detail\": \"=cmd|"},
                {"+1", ",\"'+1\",", "\"+1\""},
                {"-1", ",\"'-1\",", "\"-1\""},
                {"@SUM(1+1)", ",\"'@SUM(1+1)\",", "\"@SUM(1+1)\""},
                {"a=b", ",a=b,", "\"a=b\""},
                {"\033[31m, \xc2\x9b", ",\"\\033[31m, \\302\\233\",", "\"\\u001B[31m, \\u009b\""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *csv = export_detail(rows[i].detail, ATOLL_EXPORT_CSV),
             *jsonl = export_detail(rows[i].detail, ATOLL_EXPORT_JSONL);
        assert_non_null(strstr(csv, rows[i].csv));
        assert_non_null(strstr(csv, ",-1.5,")); /* a number is no formula */
        assert_non_null(strstr(jsonl, rows[i].jsonl));
        free(csv);
        free(jsonl);
    }
}

static unsigned count_text(const char *text, const char *what)
{
    unsigned n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void test_export(void **state)
{
    (void)state;
    char *csv = export_text(ATOLL_TABLE_CANDIDATES, ATOLL_EXPORT_CSV);
    assert_memory_equal(csv, "campaign,id,event,", 18);
    assert_non_null(strstr(csv, "& \"\"quotes\"\" 'too'")); /* doubled inside a quoted field */
    assert_non_null(strstr(csv, "\"model <b>\"\"x\"\"</b>\",0,0\r\n"));
    free(csv);
    char *json = export_text(ATOLL_TABLE_CANDIDATES, ATOLL_EXPORT_JSONL);
    assert_non_null(strstr(json, "\"operator\": \"tune\""));
    assert_int_equal(count_text(json, "\n"), atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES));
    free(json);
    json = export_text(ATOLL_TABLE_EVALUATIONS, ATOLL_EXPORT_JSONL);
    assert_non_null(strstr(json, "\"verdict\": \"wrong\""));
    free(json);
    if (system("/usr/bin/python3 -c ''") == 0) {
        char command[2 * PATH_MAX];
        snprintf(command, sizeof(command),
                 "/usr/bin/python3 -c \"import json; [json.loads(x) for x in open('%.2000s/export', "
                 "encoding='utf-8')]\"",
                 dir);
        assert_int_equal(system(command), 0);
    }
    FILE *full = fopen("/dev/full", "wb");
    if (full) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_export_table(tables, ATOLL_TABLE_SAMPLES, ATOLL_EXPORT_CSV, full, &err), -1);
        assert_int_equal(err.code, ATOLL_E_FULL);
        fclose(full);
    }
}

static void test_verify(void **state)
{
    (void)state;
    struct atoll_verify_report report;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    size_t length;
    const char *root = atoll_campaign_dir(campaign);
    assert_int_equal(atoll_archive_build(campaign, scratch_join(path, root, "archive.h5"), NULL, NULL, NULL),
                     0);
    if (atoll_verify_path(root, NULL, NULL, &report, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(report.first_problem, "");
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.journals, 1);
    assert_int_equal(report.archives, 1);
    assert_true(report.events > 50 && report.decisions > 50 && report.rows > 100);
    scratch_join(path, root, "jobs/local.0/journal.atl");
    char *bytes = scratch_read(path, &length);
    bytes[length / 2] ^= 1;
    scratch_write(path, bytes, length);
    free(bytes);
    /* The whole sample was one unsynced group, so damage in it is a torn tail: what follows is missing from
     * the archive's view, not a problem of the file. */
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, &err), 0);
    assert_true(report.torn_bytes > 0);
    scratch_write(path, "text that is no journal", 23);
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, &err), 0);
    assert_int_equal(report.problems, 1);
    assert_non_null(strstr(report.first_problem, "not a journal"));
    scratch_join(path, root, "nothing.h5");
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

static void test_verify_finds_loose_ends(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct atoll_verify_report report;
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    struct atoll_row_campaign c;
    struct atoll_row_elite e;
    memset(&c, 0, sizeof(c));
    memset(&e, 0, sizeof(e));
    c.stop_reason = 200;
    e.candidate = sample_id(1);
    e.time_ns = -1;
    atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &c, NULL);
    atoll_tables_append(t, ATOLL_TABLE_ELITES, &e, NULL);
    int status = atoll_segment_write(scratch_join(path, dir, "loose.h5"), t, NULL, NULL, NULL);
    atoll_tables_destroy(t); /* whatever is found below */
    assert_int_equal(status, 0);
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, NULL), 0);
    assert_int_equal(report.problems, 3);
    assert_non_null(strstr(report.first_problem, "stop_reason has 1 values out of range"));
}

static void test_escape(void **state)
{
    (void)state;
    static const struct {
        const char *text, *html;
    } cases[] = {{"a<b>&\"'", "a&#60;b&#62;&#38;&#34;&#39;"},
                 {"\x01\x7f", "&#65533;&#65533;"},
                 {"\xff\xc3", "&#65533;&#65533;"},
                 {"\xc3\xa9\n\t", "\xc3\xa9\n\t"},
                 {"\xed\xa0\x80", "&#65533;&#65533;&#65533;"},
                 {"\xc0\xbc", "&#65533;&#65533;"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_buffer out;
        atoll_buffer_init(&out, 4096);
        atoll_html_text(&out, cases[i].text);
        assert_int_equal(out.length, strlen(cases[i].html));
        assert_memory_equal(out.data, cases[i].html, out.length);
        atoll_buffer_fini(&out);
    }
}

static void test_report(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX], command[2 * PATH_MAX];
    size_t length;
    if (atoll_report_write(tables, scratch_join(path, dir, "report.html"), NULL, &err) != 0)
        fail_msg("%s", err.text);
    char *page = scratch_read(path, &length);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "model <b>"));
    assert_null(strstr(page, "http://"));
    assert_null(strstr(page, "https://"));
    assert_null(strstr(page, " src="));
    assert_non_null(strstr(page, "&#60;script&#62;alert(1)&#60;/script&#62;"));
    assert_int_equal(count_text(page, "<svg class=\"plot\""), 2);
    assert_int_equal(count_text(page, "<svg class=\"elites\""), 2);
    assert_int_equal(count_text(page, "<svg class=\"roofline\""), 2);
    assert_non_null(strstr(page, "Limited by: <b>"));
    assert_non_null(strstr(page, "<td class=\"l\">dram throughput</td><td>"));
    assert_non_null(strstr(page, "tensor f16</text>"));
    assert_non_null(strstr(page, "132 multiprocessors"));
    assert_non_null(strstr(page, "geometric mean speedup over the rival, 1 of 2 tasks"));
    assert_non_null(strstr(page, "<th class=\"l\">rival</th><th>its time</th>"));
    assert_non_null(strstr(page, "Speedup over the rival</h3>"));
    assert_non_null(strstr(page, "Speedup over the seed</h3>")); /* of the task without one */
    assert_non_null(strstr(page, "unsupported: torch.compile needs &#60;Triton&#62;"));
    assert_non_null(strstr(page, "torch 2.11.0, CUDA 13.0, Triton 3.5"));
    assert_non_null(strstr(page, "<h2>By level</h2>"));
    assert_non_null(strstr(page, "<h2>By category</h2>"));
    assert_non_null(strstr(page, "<td class=\"l\">0, node1</td><td>4.00 s</td><td>25&#8201;%</td>"));
    assert_non_null(strstr(page, "<h3>By task, of the time of all devices</h3>"));
    assert_non_null(
        strstr(page, "softmax_rows</a></td><td>1.40 s</td><td>5&#8201;%</td><td>30&#8201;%</td>"));
    assert_non_null(strstr(page, "devices occupied; 25&#8201;% by candidates"));
    assert_null(strstr(page, "no rival measured"));
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf\""));
    free(page);
    snprintf(command, sizeof(command),
             "/usr/bin/python3 -c \"import xml.dom.minidom as m; m.parse('%.2000s')\"", path);
    if (system("/usr/bin/python3 -c ''") == 0)
        assert_int_equal(system(command), 0); /* well-formed */
    else
        print_message("no /usr/bin/python3: the page was not parsed\n");
}

/* Candidate `id` of source `source`, and what became of it. */
static void add_judged(struct atoll_tables *t, uint64_t event, unsigned id, unsigned source, unsigned op,
                       enum atoll_verdict verdict, double ns)
{
    struct atoll_row_candidate c = {
        .event = event, .id = sample_id(id), .source_id = sample_id(source), .operator_ = (uint8_t)op};
    struct atoll_row_evaluation e = {.event = event,
                                     .evaluation = event,
                                     .candidate = sample_id(id),
                                     .verdict = (uint8_t)verdict,
                                     .time_ns = ns,
                                     .time_lo_ns = ns * 0.9,
                                     .time_hi_ns = ns * 1.1};
    const char *detail = verdict == ATOLL_V_COMPILE_ERROR ? "line 3: 'x' undeclared" : "element 7";
    if (verdict != ATOLL_V_CORRECT)
        assert_int_equal(atoll_tables_add_text(t, detail, strlen(detail), &e.detail, NULL), 0);
    assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CANDIDATES, &c, NULL), 0);
    assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_EVALUATIONS, &e, NULL), 0);
}

/* A task with seed 100 (500 ns), its tuned instance (400), a model's source (250), an imported one (300), a template that
 * never compiles, one that is wrong, one that was disturbed.  best: id of the best. */
static struct atoll_tables *judged_task(unsigned best, double final_ratio)
{
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    struct atoll_row_campaign c = {.id = sample_id(1)};
    struct atoll_row_task task = {.baseline = sample_id(10),
                                  .best = sample_id(best),
                                  .baseline_ns = 500,
                                  .best_ns = 250,
                                  .evaluated = 9,
                                  .correct = 5,
                                  .final_ratio = final_ratio,
                                  .final_p = 0.001,
                                  .final_pairs = 6,
                                  .final_lo = 1.9,
                                  .final_hi = 2.1};
    assert_non_null(t);
    assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &c, NULL), 0);
    assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_TASKS, &task, NULL), 0);
    add_judged(t, 1, 10, 100, ATOLL_OPERATOR_SEED, ATOLL_V_CORRECT, 500);
    add_judged(t, 2, 11, 100, ATOLL_OPERATOR_TUNE, ATOLL_V_CORRECT, 400);
    add_judged(t, 3, 12, 101, ATOLL_OPERATOR_UNIVERSAL, ATOLL_V_CORRECT, 260);
    add_judged(t, 4, 13, 101, ATOLL_OPERATOR_TUNE, ATOLL_V_CORRECT, 250);
    add_judged(t, 5, 14, 102, ATOLL_OPERATOR_IMPORT, ATOLL_V_CORRECT, 300);
    add_judged(t, 6, 15, 103, ATOLL_OPERATOR_SEED, ATOLL_V_COMPILE_ERROR, 0);
    add_judged(t, 7, 16, 103, ATOLL_OPERATOR_TUNE, ATOLL_V_COMPILE_ERROR, 0);
    add_judged(t, 8, 17, 104, ATOLL_OPERATOR_TUNE, ATOLL_V_WRONG, 0);
    add_judged(t, 9, 18, 104, ATOLL_OPERATOR_TUNE, ATOLL_V_UNSTABLE, 0);
    return t;
}

static void test_who_made_the_best(void **state)
{
    static const struct {
        unsigned best;
        enum atoll_maker made_by;
        double gain;
    } rows[] = {{10, ATOLL_MAKER_SEED, 1},
                {11, ATOLL_MAKER_TUNER, 1.25},
                {12, ATOLL_MAKER_MODEL, 500.0 / 260},
                {13, ATOLL_MAKER_MODEL, 2}, /* a model's template, tuned */
                {14, ATOLL_MAKER_MIGRANT, 500.0 / 300}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_tables *t = judged_task(rows[i].best, 2);
        struct atoll_query *q = atoll_query_create(t, NULL);
        struct atoll_task_summary s;
        assert_non_null(q);
        atoll_query_task_summary(q, 0, &s);
        assert_string_equal(atoll_maker_name(s.made_by), atoll_maker_name(rows[i].made_by));
        assert_true(fabs(s.gain_over_seeds - rows[i].gain) < 1e-9);
        assert_true(s.is_baseline_best == (rows[i].best == 10));
        atoll_query_destroy(q);
        atoll_tables_destroy(t);
    }
}

/* Papers count what is faster by more than p; noise says nothing of a kernel; a template that never compiles is named. */
static void test_what_is_counted(void **state)
{
    struct atoll_tables *t = judged_task(13, 2);
    struct atoll_query *q = atoll_query_create(t, NULL);
    struct atoll_task_summary s;
    struct atoll_archive_summary all;
    struct atoll_dead_template dead[4];
    uint64_t failures[4];
    struct atoll_buffer page;
    assert_non_null(q);
    atoll_query_task_summary(q, 0, &s);
    atoll_query_summary(q, &all);
    assert_int_equal(s.verdicts[ATOLL_V_CORRECT], 5);
    assert_int_equal(s.verdicts[ATOLL_V_COMPILE_ERROR], 2);
    assert_int_equal(s.verdicts[ATOLL_V_UNSTABLE], 1);
    assert_true(fabs(s.correct_share - 5.0 / 8) < 1e-12);
    assert_int_equal(all.tasks.judged, 8);
    assert_true(s.over[ATOLL_OVER_SEED].lo == 1.9 && s.over[ATOLL_OVER_SEED].hi == 2.1);
    assert_true(s.best_lo_ns == 225 && fabs(s.best_hi_ns - 275) < 1e-9);
    assert_int_equal(s.over[ATOLL_OVER_SEED].pair_count, 6);
    const double *fast = all.tasks.over[ATOLL_OVER_SEED].fast_share;
    assert_true(fast[1] == 1 && fast[2] == 0); /* 2.0 is not more than 2 */
    assert_int_equal(atoll_query_failures(q, 0, failures, 4), 3);
    assert_int_equal(failures[0], 7);
    assert_int_equal(atoll_query_dead_templates(q, 0, dead, 4), 1);
    assert_int_equal(dead[0].combinations, 2);
    atoll_query_destroy(q);
    atoll_buffer_init(&page, 1 << 20);
    assert_int_equal(atoll_report_render(t, &page, NULL), 0);
    atoll_buffer_put_u8(&page, 0);
    assert_non_null(strstr((char *)page.data, "none of the 2 combinations that were tried compiles: line 3"));
    assert_non_null(strstr((char *)page.data, "<td class=\"l\">model<br/>"));
    assert_null(strstr((char *)page.data, "Under the roofline")); /* there is none */
    assert_non_null(strstr((char *)page.data, "<th>seed</th>"));
    assert_null(strstr((char *)page.data, "its time</th>"));
    assert_null(strstr((char *)page.data, "In the grids"));
    atoll_buffer_fini(&page);
    atoll_tables_destroy(t);
    t = judged_task(10, 1); /* the baseline is the best: as fast as itself is no success */
    struct atoll_row_task task;
    atoll_tables_get(t, ATOLL_TABLE_TASKS, 0, &task);
    task.final_pairs = 0;
    task.final_p = 1;
    atoll_tables_set(t, ATOLL_TABLE_TASKS, 0, &task);
    q = atoll_query_create(t, NULL);
    assert_non_null(q);
    atoll_query_summary(q, &all);
    assert_true(all.tasks.over[ATOLL_OVER_SEED].fast_share[0] == 0);
    atoll_query_destroy(q);
    atoll_buffer_init(&page, 1 << 20);
    assert_int_equal(atoll_report_render(t, &page, NULL), 0);
    atoll_buffer_put_u8(&page, 0);
    assert_non_null(strstr((char *)page.data, "baseline is best"));
    assert_null(strstr((char *)page.data, "p = 1.0000"));
    atoll_buffer_fini(&page);
    atoll_tables_destroy(t);
}

static void test_report_of_nothing(void **state)
{
    (void)state;
    struct atoll_buffer out;
    struct atoll_tables *empty = atoll_tables_create(1 << 20, NULL);
    atoll_buffer_init(&out, 1 << 20);
    assert_int_equal(atoll_report_render(empty, &out, NULL), 0);
    atoll_buffer_fini(&out);
    atoll_buffer_init(&out, 100);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_report_render(empty, &out, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&out);
    atoll_tables_destroy(empty);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_find_candidate),
        CASE(test_find_word),
        CASE(test_digits),
        CASE(test_rows_of_candidate),
        CASE(test_summary),
        CASE(test_times),
        CASE(test_between_parts),
        CASE(test_no_times),
        CASE(test_rivals_first),
        CASE(test_groups),
        CASE(test_shares_of_floors),
        CASE(test_export),
        CASE(test_export_for_people),
        CASE(test_verify),
        CASE(test_verify_finds_loose_ends),
        CASE(test_escape),
        CASE(test_report),
        CASE(test_report_of_nothing),
        CASE(test_who_made_the_best),
        CASE(test_what_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
