/* The report's page, and what it and the tables say of a task whose candidates were judged. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <math.h>

#include "core/evaluation.h"
#include "archive-h5/report/archive_summary.h"
#include "archive-h5/report/failure.h"
#include "archive-h5/report/report.h"
#include "archive-h5/report/report_page.h"
#include "archive-h5/report/task_words.h"
#include "tests/unit/archive-h5/sample_query.h"

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
    assert_non_null(strstr(page, "</span><br/><span>geometric mean speedup over the rival, 1 of 2 tasks"));
    assert_non_null(strstr(page, "<th>rival</th><th>best</th>"));
    assert_non_null(
        strstr(page, "&#8201;% correct")); /* in the cell of evaluations: the table fits its page */
    assert_null(strstr(page, "<th>final comparison</th>"));
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
    assert_null(strstr((char *)page.data, "<th>rival</th>"));
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

/* A share of a floor that knows no operations is marked, and the legend says why; another one is not. */
static void test_floors_of_memory(void **state)
{
    static const struct {
        const char *definition;
        int is_of_memory;
    } rows[] = {{"name: a\nwork:\n  flops: unknown\n", 1},
                {"name: a\nsummary: of unknown size\nwork:\n  flops: \"2 * N\"\n", 0},
                {"work: {flops: unknown", 0}, /* no YAML */
                {"name: unknown\n", 0},
                {"", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_tables *t = judged_task(13, 2);
        struct atoll_task_summary s;
        struct atoll_archive_summary all;
        struct atoll_row_task task;
        struct atoll_buffer page;
        atoll_tables_get(t, ATOLL_TABLE_TASKS, 0, &task);
        task.floor_ns = 125;
        assert_int_equal(
            atoll_tables_add_text(t, rows[i].definition, strlen(rows[i].definition), &task.definition, NULL),
            0);
        atoll_tables_set(t, ATOLL_TABLE_TASKS, 0, &task);
        struct atoll_query *q = atoll_query_create(t, NULL);
        assert_non_null(q);
        atoll_query_task_summary(q, 0, &s);
        atoll_query_summary(q, &all);
        assert_true(s.floor_share == 0.5 && s.is_memory_floor == rows[i].is_of_memory);
        assert_int_equal(all.tasks.memory_floor_count, rows[i].is_of_memory);
        atoll_query_destroy(q);
        atoll_buffer_init(&page, 1 << 20);
        assert_int_equal(atoll_report_render(t, &page, NULL), 0);
        atoll_buffer_put_u8(&page, 0);
        assert_true(!strstr((char *)page.data, "50&#8201;%*</td>") == !rows[i].is_of_memory);
        assert_true(!strstr((char *)page.data, "the floor is of memory alone") == !rows[i].is_of_memory);
        atoll_buffer_fini(&page);
        atoll_tables_destroy(t);
    }
}

/* What single words of a task's archived text are, and that the page tells where a tolerance is from. */
static void test_words_of_a_task(void **state)
{
    static const struct {
        const char *definition, *key, *inner, *word;
        int is_there;
    } rows[] = {{"unseeded: <no> matrices\n", "unseeded", NULL, "<no> mat", 1},
                {"tolerance: {rtol: 1, from: \"a < b\"}\n", "tolerance", "from", "a < b", 1},
                {"tolerance: {rtol: 1}\nfrom: b\n", "tolerance", "from", "", 0},
                {"from: b\n", "tolerance", "from", "", 0},
                {"unseeded: [1, 2]\n", "unseeded", NULL, "", 0},
                {"unseeded: {", "unseeded", NULL, "", 0}, /* no YAML */
                {"", "unseeded", NULL, "", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_tables *t = judged_task(13, 2);
        struct atoll_row_task task;
        struct atoll_buffer page;
        char word[9] = "before";
        atoll_tables_get(t, ATOLL_TABLE_TASKS, 0, &task);
        assert_int_equal(
            atoll_tables_add_text(t, rows[i].definition, strlen(rows[i].definition), &task.definition, NULL),
            0);
        atoll_tables_set(t, ATOLL_TABLE_TASKS, 0, &task);
        assert_int_equal(atoll_task_word(t, &task, rows[i].key, rows[i].inner, word, sizeof(word)),
                         rows[i].is_there);
        assert_string_equal(word, rows[i].word);
        atoll_buffer_init(&page, 1 << 20);
        assert_int_equal(atoll_report_render(t, &page, NULL), 0);
        atoll_buffer_put_u8(&page, 0);
        assert_true(!strstr((char *)page.data, "<br/>Tolerance: a &#60; b</p>") == (i != 1));
        assert_true(!strstr((char *)page.data, "Tolerance: ") == (i != 1));
        atoll_buffer_fini(&page);
        atoll_tables_destroy(t);
    }
}

static void test_report_of_nothing(void **state)
{
    (void)state;
    struct atoll_buffer out;
    struct atoll_tables *empty = atoll_tables_create(1 << 20, NULL);
    atoll_buffer_init(&out, 1 << 20);
    assert_int_equal(atoll_report_render(empty, &out, NULL), 0);
    atoll_buffer_put_u8(&out, 0);
    assert_non_null(strstr((const char *)out.data, "<b>0</b><span>evaluations</span>"));
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
    const struct CMUnitTest tests[] = {
        CASE(test_escape),
        CASE(test_report),
        CASE(test_report_of_nothing),
        CASE(test_who_made_the_best),
        CASE(test_what_is_counted),
        cmocka_unit_test(test_floors_of_memory),
        cmocka_unit_test(test_words_of_a_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
