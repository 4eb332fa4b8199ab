#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/campaign/campaign_progress_view.h"
#include "tests/support/terminal.h"

#define NOW_NS 1700000012000000000

static struct atoll_campaign_progress_task timed[] = {
    {.name = "softmax",
     .evaluated = 60,
     .correct = 50,
     .baseline_ns = 4e6,
     .baseline_lo_ns = 3.88e6,
     .baseline_hi_ns = 4.12e6,
     .best_ns = 1e6,
     .best_lo_ns = 0.98e6,
     .best_hi_ns = 1.02e6,
     .final_ratio = 4.5,
     .final_lo = 4.4,
     .final_hi = 4.6,
     .final_pairs = 16,
     .is_done = 1,
     .reason = "floor",
     .best = "3fa9c1277e01b4aa"},
    {.name = "matmul",
     .model = "device \"B\"",
     .evaluated = 40,
     .correct = 30,
     .baseline_ns = 8e6,
     .best_ns = 4e6},
};
static struct atoll_campaign_progress_task named[] = {{.name = "layernorm"}};
static struct atoll_campaign_progress_task named_two[] = {{.name = "gemv"},
                                                          {.name = "a-name-that-is-longer-than-its-column"}};

static struct atoll_campaign_progress_device devices[] = {
    {.key = "a",
     .node = "n7",
     .model = "X",
     .part_s = {[ATOLL_TIME_CANDIDATES] = 41, [ATOLL_TIME_CHECKS] = 20, [ATOLL_TIME_IDLE] = 39}},
    {.key = "b", .node = "n8", .model = "X", .part_s = {[ATOLL_TIME_CANDIDATES] = 100}},
    {.key = "c", .node = "n9", .model = "X"}, /* it has told nothing */
};

static struct atoll_campaign_progress running = {.phase = ATOLL_CAMPAIGN_PROGRESS_OPEN,
                                                 .attempt_count = 2,
                                                 .attempt = "7.1",
                                                 .evaluated = 103,
                                                 .duelled = 9,
                                                 .campaign_s = 80,
                                                 .has_hint = 1,
                                                 .hint = {.evaluators = 4,
                                                          .correct = 80,
                                                          .device_s = 300,
                                                          .busy = 0.5,
                                                          .written_unix_ns = NOW_NS - 5000000000,
                                                          .task_count = 2,
                                                          .tasks = timed,
                                                          .device_count = 3,
                                                          .devices = devices}};
static const struct atoll_campaign_progress fresh = {.phase = ATOLL_CAMPAIGN_PROGRESS_FRESH,
                                                     .hint = {.task_count = 1, .tasks = named}};
static const struct atoll_campaign_progress unhinted = {.phase = ATOLL_CAMPAIGN_PROGRESS_OPEN,
                                                        .attempt = "8.0",
                                                        .attempt_count = 1,
                                                        .evaluated = 77,
                                                        .hint = {.task_count = 1, .tasks = named}};
static const struct atoll_campaign_progress ended = {.phase = ATOLL_CAMPAIGN_PROGRESS_ENDED,
                                                     .attempt = "9.0",
                                                     .attempt_count = 1,
                                                     .evaluated = 20,
                                                     .reason = "evaluations",
                                                     .hint = {.task_count = 2, .tasks = named_two}};

static const struct atoll_campaign_progress_row rows[] = {
    {"0000", &running, NULL, 1, "7"},
    {"0001", &fresh, NULL, 0, NULL},
    {"0002", &unhinted, NULL, 0, NULL},
    {"0003", &ended, NULL, 1, "9"},
    {"0004", NULL, "parts/0004/jobs/1.0/journal.atl: damaged", 0, NULL},
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static char *printed(size_t count, int by_task)
{
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);

    atoll_campaign_progress_view_print(stream, rows, count, by_task, NOW_NS);
    fclose(stream);
    return out;
}

static void states_follow_from_lease_and_progress(void **state)
{
    static const struct {
        const struct atoll_campaign_progress *progress;
        int is_held;
        const char *name;
    } cases[] = {{&fresh, 0, "fresh"},     {&fresh, 1, "running"}, {&running, 1, "running"},
                 {&running, 0, "waiting"}, {&ended, 0, "ended"},   {&ended, 1, "ended"},
                 {NULL, 1, "unreadable"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_campaign_progress_row row = {.progress = cases[i].progress, .is_held = cases[i].is_held};

        assert_string_equal(atoll_campaign_progress_state_name(atoll_campaign_progress_row_state(&row)),
                            cases[i].name);
    }
    assert_string_equal(atoll_campaign_progress_state_name(ATOLL_STATE_COUNT), "unknown");
}

static const char *line_with(const char *text, const char *start, char *ret_line, size_t bytes)
{
    const char *at = text;

    while (at && strncmp(at, start, strlen(start)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        fail_msg("no line starts with %s:\n%s", start, text);
    snprintf(ret_line, bytes, "%.*s", (int)strcspn(at, "\n"), at);
    return ret_line;
}

static void parts_have_a_line_each(void **state)
{
    char line[256], *out = printed(ROWS, 0);

    (void)state;
    assert_string_equal(
        line_with(out, "0000", line, sizeof(line)),
        "0000         running          1/2  ~3.00x           103       80       5m 00s     5.00 s  7");
    assert_string_equal(
        line_with(out, "0001", line, sizeof(line)),
        "0001         fresh            0/1            -        0        -            -          - ");
    assert_non_null(strstr(line_with(out, "0002", line, sizeof(line)), " 77 "));
    assert_non_null(strstr(out, "    parts/0004/jobs/1.0/journal.atl: damaged\n"));
    assert_non_null(strstr(out, "6 tasks in 5 parts: 1 fresh, 1 running, 1 waiting, 1 ended, 1 unreadable; "
                                "200 evaluations, 5m 00s of device time\n"));
    assert_non_null(
        strstr(out, "2 of 6 tasks timed; no rival measured, geometric mean ~3.00x over the seed (~"));
    free(out);
    out = printed(0, 0);
    assert_non_null(strstr(out, "0 tasks in 0 parts; 0 evaluations\n"));
    free(out);
}

/* What is used stands beside what is granted, where there is a limit; of several parts only where each has one. */
static void budgets_are_told(void **state)
{
    struct atoll_campaign_progress granted = running;
    const struct atoll_campaign_progress_row one[] = {{"0000", &granted, NULL, 1, "7"},
                                                      {"0001", &running, NULL, 1, "7"}};
    json_t *all, *part;

    (void)state;
    granted.evaluation_budget = 200;
    granted.hint.wall_budget_s = 120;
    granted.hint.device_budget_s = 600;
    granted.hint.tokens = 4000;
    granted.hint.token_budget = 9000;
    granted.hint.cost_usd = 0.25;
    granted.hint.money_budget_usd = 5;
    for (size_t count = 1; count <= 2; count++) {
        char *out = NULL;
        size_t length = 0;
        FILE *stream = open_memstream(&out, &length);

        atoll_campaign_progress_view_print(stream, one, count, 0, NOW_NS);
        fclose(stream);
        assert_non_null(strstr(out, count == 1
                                        ? "; 103 of 200 evaluations, 1m 20s of 2m 00s of clock, 5m 00s "
                                          "of 10m 00s of device time, 4000 of 9000 tokens, $0.25 of "
                                          "$5.00\n"
                                        : "; 206 evaluations, 10m 00s of device time, 4000 tokens, "
                                          "$0.25\n"));
        free(out);
    }
    /* More than a budget is not "of" it, unless both read alike. */
    for (unsigned alike = 0; alike < 2; alike++) {
        char *out = NULL;
        size_t length = 0;
        FILE *stream = open_memstream(&out, &length);

        granted.hint.wall_budget_s = alike ? granted.campaign_s - 1e-3 : 75;
        atoll_campaign_progress_view_print(stream, one, 1, 0, NOW_NS);
        fclose(stream);
        assert_non_null(
            strstr(out, alike ? ", 1m 20s of 1m 20s of clock, " : ", 1m 20s of clock (1m 15s were given), "));
        free(out);
    }
    granted.hint.wall_budget_s = 120;
    all = atoll_campaign_progress_view_json(one, 1, NOW_NS);
    part = json_array_get(json_object_get(all, "parts"), 0);
    assert_true(json_real_value(json_object_get(part, "wall_budget_s")) == 120);
    assert_true(json_real_value(json_object_get(part, "device_budget_s")) == 600);
    assert_int_equal(json_integer_value(json_object_get(part, "token_budget")), 9000);
    assert_int_equal(json_integer_value(json_object_get(part, "tokens")), 4000);
    assert_true(json_real_value(json_object_get(part, "cost_usd")) == 0.25);
    assert_true(json_real_value(json_object_get(part, "money_budget_usd")) == 5);
    json_decref(all);
}

static void tasks_have_a_line_each(void **state)
{
    char line[256], *out = printed(ROWS, 1);

    (void)state;
    assert_string_equal(
        line_with(out, "softmax", line, sizeof(line)),
        "softmax               4.00 ms   3%  1.00 ms   2%     4.50x     4.40-4.60    16       60 "
        "      50  3fa9c12 done     0000  "
        "floor goal reached");
    assert_string_equal(
        line_with(out, "matmul", line, sizeof(line)),
        "matmul                8.00 ms       4.00 ms         ~2.00x             -     -       40  "
        "     30  -       "
        "running  "
        "0000  device \"B\"");
    assert_string_equal(
        line_with(out, "gemv", line, sizeof(line)),
        "gemv                             -             -         -             -     -        -   "
        "     -  -       ended    0003");
    assert_non_null(strstr(out, "\n0004: unreadable\n    parts/0004"));
    free(out);
}

/* Columns stand below their names. */
static void heads_fit(void **state)
{
    char head[256], line[256], *out;

    (void)state;
    out = printed(1, 0);
    line_with(out, "part", head, sizeof(head));
    line_with(out, "0000", line, sizeof(line));
    assert_int_equal(strstr(head, "evals") + 5 - head, strstr(line, "103") + 3 - line);
    assert_int_equal(strstr(head, "told") + 4 - head, strstr(line, "5.00 s") + 6 - line);
    assert_int_equal(strstr(head, "job") - head, strrchr(line, '7') - line);
    free(out);
    out = printed(1, 1);
    line_with(out, "task", head, sizeof(head));
    line_with(out, "softmax", line, sizeof(line));
    assert_int_equal(strstr(head, "correct") + 7 - head, strstr(line, " 50 ") + 3 - line);
    assert_int_equal(strstr(head, "over seed") + 9 - head, strstr(line, "4.50x") + 5 - line);
    assert_int_equal(strstr(head, "part") - head, strstr(line, "0000") - line);
    free(out);
}

/* A line for each device while they are few, one for all of them together beyond. */
static void devices_say_where_their_time_went(void **state)
{
    struct atoll_campaign_progress_device many[13];
    char *out = printed(ROWS, 1);

    (void)state;
    assert_non_null(strstr(out, "\ndevice 0 (n7): candidates 41 %, idle 39 %, checks 20 %\n"
                                "device 1 (n8): candidates 100 %\n"));
    assert_null(strstr(out, "n9"));
    free(out);
    for (size_t i = 0; i < 13; i++)
        many[i] = devices[i % 2];
    running.hint.devices = many;
    running.hint.device_count = 13;
    out = printed(ROWS, 0); /* told of in several parts it is one device */
    assert_non_null(strstr(out, "\ndevice 0 (n7): candidates 41 %, idle 39 %, checks 20 %\n"
                                "device 1 (n8): candidates 100 %\n"));
    free(out);
    for (size_t i = 0; i < 13; i++)
        snprintf(many[i].key, sizeof(many[i].key), "%zx", i);
    out = printed(ROWS, 0);
    assert_non_null(strstr(out, "\nmore than 8 devices: candidates 68 %, idle 21 %, checks 11 %\n"));
    assert_null(strstr(out, "device 0"));
    free(out);
    running.hint.devices = devices;
    running.hint.device_count = 3;
    json_t *all = atoll_campaign_progress_view_json(rows, ROWS, NOW_NS);
    json_t *told = json_object_get(json_array_get(json_object_get(all, "parts"), 0), "devices");
    json_t *first = json_array_get(told, 0), *parts = json_object_get(first, "parts_s");
    assert_int_equal(json_array_size(told), 3);
    assert_string_equal(json_string_value(json_object_get(first, "node")), "n7");
    assert_string_equal(json_string_value(json_object_get(first, "key")), "a");
    assert_true(json_real_value(json_object_get(first, "whole_s")) == 100);
    expect_close(json_real_value(json_object_get(first, "occupied_share")), 0.61, 1e-12);
    expect_close(json_real_value(json_object_get(first, "candidate_share")), 0.41, 1e-12);
    assert_int_equal(json_object_size(parts), ATOLL_TIME_PART_COUNT);
    assert_true(json_real_value(json_object_get(parts, "checks")) == 20);
    json_decref(all);
}

/* Every time and ratio has its interval, also where a terminal is narrow; no line is longer than its terminal. */
static void lines_fit_their_terminal(void **state)
{
    static const unsigned short columns[] = {80, 100, 200};
    static const char *const figures[2][2] = {
        {" 1.00 ms   2%   4.50x   2%    16     60  done",
         " 4.00 ms   3%  1.00 ms   2%     4.50x     4.40-4.60    16       60 "},
        {" 1.00 ms   2%   1.90x   3%    24   4.50x   2%     60  done",
         " 2.00 ms   1%  1.00 ms   2%     1.90x     1.85-1.95    24   4.50x   2%       60 "}};
    struct atoll_campaign_progress_task *softmax = &timed[0], was = timed[0];

    (void)state;
    for (int has_rivals = 0; has_rivals < 2; has_rivals++) {
        for (size_t i = 0; i < 2 * sizeof(columns) / sizeof(*columns); i++) {
            char text[8192], line[256];
            unsigned width = columns[i / 2];
            int by_task = i % 2, wide_task = by_task && width == 200;
            FILE *stream;
            int master = terminal_open(24, columns[i / 2], &stream);

            atoll_campaign_progress_view_print(stream, rows, ROWS, by_task, NOW_NS);
            fputs("END\n", stream);
            fflush(stream);
            terminal_read(master, "END", text, sizeof(text));
            fclose(stream);
            close(master);
            for (const char *at = text; *at; at += strspn(at, "\r\n"), at += strcspn(at, "\r\n"))
                if (strcspn(at + strspn(at, "\r\n"), "\r\n") > width)
                    fail_msg("longer than %u columns:\n%s", width, at);
            if (!by_task)
                continue;
            line_with(text, "softmax", line, sizeof(line));
            if (!strstr(line, figures[has_rivals][wide_task]))
                fail_msg("at %u columns: %s", width, line);
            assert_non_null(strstr(text, "a-name-that-is-longer-than-its-column"));
        }
        snprintf(softmax->rival, sizeof(softmax->rival), "compiled");
        softmax->rival_ns = 2e6;
        softmax->rival_ratio = 1.9;
        softmax->rival_lo = 1.85;
        softmax->rival_hi = 1.95;
        softmax->rival_lo_ns = 1.98e6;
        softmax->rival_hi_ns = 2.02e6;
        softmax->rival_pairs = 24;
    }
    *softmax = was;
}

static int interval_is(const json_t *object, const char *key, double lo, double hi)
{
    const json_t *interval = json_object_get(object, key);

    return json_array_size(interval) == 2 &&
           fabs(json_real_value(json_array_get(interval, 0)) / lo - 1) < 1e-9 &&
           fabs(json_real_value(json_array_get(interval, 1)) / hi - 1) < 1e-9;
}

/* Over the rival first where one was measured, over the seed second; the mean is of those that have one. */
static void rivals_come_first(void **state)
{
    struct atoll_campaign_progress_task *softmax = &timed[0];
    char head[256], line[256], *out;

    (void)state;
    snprintf(softmax->rival, sizeof(softmax->rival), "compiled");
    softmax->rival_ns = 2e6;
    softmax->rival_ratio = 1.9;
    softmax->rival_lo = 1.85;
    softmax->rival_hi = 1.95;
    softmax->rival_lo_ns = 1.98e6;
    softmax->rival_hi_ns = 2.02e6;
    softmax->rival_pairs = 24;
    out = printed(ROWS, 1);
    line_with(out, "task", head, sizeof(head));
    assert_non_null(strstr(head, "rival"));
    line_with(out, "softmax", line, sizeof(line));
    assert_non_null(
        strstr(line, "2.00 ms   1%  1.00 ms   2%     1.90x     1.85-1.95    24   4.50x   2%       60"));
    assert_int_equal(strstr(head, "speedup") + 7 - head, strstr(line, "1.90x") + 5 - line);
    assert_int_equal(strstr(head, "over seed") + 9 - head, strstr(line, "4.50x") + 7 - line);
    assert_non_null(strstr(line_with(out, "matmul", line, sizeof(line)),
                           "       -  4.00 ms              -             -     -  ~2.00x     "));
    assert_non_null(strstr(
        out, "1 of 6 tasks timed beside a rival, geometric mean 1.90x (1.85-1.95) over the rival, ~3.00x "
             "over the seed (~ "));
    free(out);
    out = printed(ROWS, 0);
    line_with(out, "part", head, sizeof(head));
    line_with(out, "0000", line, sizeof(line));
    assert_int_equal(strstr(head, "speedup") + 7 - head, strstr(line, "1.90x") + 7 - line);
    assert_int_equal(strstr(head, "evals") + 5 - head, strstr(line, "103") + 3 - line);
    free(out);
    json_t *all = atoll_campaign_progress_view_json(rows, ROWS, NOW_NS);
    json_t *tasks = json_object_get(json_array_get(json_object_get(all, "parts"), 0), "tasks");
    json_t *first = json_array_get(tasks, 0), *second = json_array_get(tasks, 1);

    assert_true(json_real_value(json_object_get(first, "ratio")) == 1.9);
    assert_true(json_is_true(json_object_get(first, "final")));
    assert_string_equal(json_string_value(json_object_get(first, "ratio_over")), "rival");
    assert_string_equal(json_string_value(json_object_get(first, "rival")), "compiled");
    assert_true(json_real_value(json_object_get(first, "ratio_seed")) == 4.5);
    assert_true(interval_is(first, "ratio_interval", 1.85, 1.95) &&
                interval_is(first, "ratio_seed_interval", 4.4, 4.6) &&
                interval_is(first, "best_interval_ns", 0.98e6, 1.02e6) &&
                interval_is(first, "rival_interval_ns", 1.98e6, 2.02e6));
    assert_int_equal(json_integer_value(json_object_get(first, "pairs")), 24);
    assert_int_equal(json_integer_value(json_object_get(first, "pairs_seed")), 16);
    assert_true(json_is_null(json_object_get(second, "pairs")));
    assert_true(interval_is(first, "baseline_interval_ns", 3.88e6, 4.12e6) &&
                json_is_null(json_object_get(second, "ratio_interval")));
    json_t *sums = json_object_get(all, "sums");
    assert_true(interval_is(sums, "geometric_mean_interval", 1.85, 1.95));
    assert_true(json_is_null(json_object_get(sums, "geometric_mean_seed_interval")));
    assert_string_equal(json_string_value(json_object_get(second, "ratio_over")), "seed");
    json_decref(all);
    memset(softmax->rival, 0, sizeof(softmax->rival));
    softmax->rival_ns = softmax->rival_ratio = softmax->rival_lo = softmax->rival_hi = 0;
    softmax->rival_lo_ns = softmax->rival_hi_ns = 0;
    softmax->rival_pairs = 0;
}

static void json_tells_the_same(void **state)
{
    json_t *all = atoll_campaign_progress_view_json(rows, ROWS, NOW_NS);
    json_t *part = json_array_get(json_object_get(all, "parts"), 0), *sums = json_object_get(all, "sums");
    json_t *task = json_array_get(json_object_get(part, "tasks"), 1);

    (void)state;
    assert_non_null(all);
    assert_int_equal(json_array_size(json_object_get(all, "parts")), ROWS);
    assert_string_equal(json_string_value(json_object_get(part, "state")), "running");
    assert_int_equal(json_integer_value(json_object_get(part, "evaluated")), 103);
    assert_true(json_real_value(json_object_get(part, "hint_age_s")) == 5);
    assert_string_equal(json_string_value(json_object_get(task, "model")), "device \"B\"");
    assert_true(json_real_value(json_object_get(task, "ratio")) == 2);
    assert_true(json_is_false(json_object_get(task, "final")));
    assert_true(json_is_null(json_object_get(task, "reason")) &&
                json_is_null(json_object_get(task, "candidate")));
    task = json_array_get(json_object_get(part, "tasks"), 0);
    assert_string_equal(json_string_value(json_object_get(task, "reason")), "floor");
    assert_string_equal(json_string_value(json_object_get(task, "candidate")), "3fa9c1277e01b4aa");
    part = json_array_get(json_object_get(all, "parts"), 2);
    assert_true(json_is_null(json_object_get(part, "hint_age_s")));
    assert_int_equal(json_integer_value(json_object_get(part, "evaluated")), 77);
    part = json_array_get(json_object_get(all, "parts"), 4);
    assert_non_null(strstr(json_string_value(json_object_get(part, "error")), "damaged"));
    assert_int_equal(json_integer_value(json_object_get(sums, "evaluated")), 200);
    assert_int_equal(json_integer_value(json_object_get(sums, "unreadable")), 1);
    assert_int_equal(json_integer_value(json_object_get(sums, "evaluators")), 4);
    json_decref(all);
    all = atoll_campaign_progress_view_json(NULL, 0, NOW_NS);
    assert_true(json_is_null(json_object_get(json_object_get(all, "sums"), "geometric_mean")));
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_follow_from_lease_and_progress),
        cmocka_unit_test(parts_have_a_line_each),
        cmocka_unit_test(tasks_have_a_line_each),
        cmocka_unit_test(budgets_are_told),
        cmocka_unit_test(heads_fit),
        cmocka_unit_test(json_tells_the_same),
        cmocka_unit_test(devices_say_where_their_time_went),
        cmocka_unit_test(rivals_come_first),
        cmocka_unit_test(lines_fit_their_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
