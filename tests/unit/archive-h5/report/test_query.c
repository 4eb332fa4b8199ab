/* What a person types is found, and rows that belong together. */
#include "tests/support/expect.h"

#include "archive-h5/report/query_name.h"
#include "tests/unit/archive-h5/sample_query.h"

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

/* A campaign that was only made, and a task of which nothing is correct: what to do is said. */
static void test_nothing_to_find(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_row_task task;
    uint32_t name;
    uint64_t row;
    (void)state;
    struct atoll_tables *own = atoll_tables_create(1 << 20, NULL);
    struct atoll_query *q = atoll_query_create(own, NULL);
    assert_int_equal(atoll_query_find(q, "softmax_rows", &row, &err), -1);
    assert_non_null(strstr(err.text, "nothing was begun: atoll resume"));
    atoll_err_clear(&err);
    assert_int_equal(atoll_query_task_named(q, "softmax_rows", &err), -1);
    assert_non_null(strstr(err.text, "nothing was begun: atoll resume"));
    atoll_query_destroy(q);
    assert_int_equal(atoll_tables_add_text(own, "rows", 4, &name, NULL), 0);
    task = (struct atoll_row_task){.name = name};
    assert_int_equal(atoll_tables_append(own, ATOLL_TABLE_TASKS, &task, NULL), 0);
    q = atoll_query_create(own, NULL);
    atoll_err_clear(&err);
    assert_int_equal(atoll_query_find(q, "rows", &row, &err), -1);
    assert_non_null(strstr(err.text, "atoll list --task rows"));
    atoll_query_destroy(q);
    atoll_tables_destroy(own);
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

/* Of several that a judge said of a source the last counts; what it said of others, or of another task, does not. */
static void test_last_judgement(void **state)
{
    static const struct {
        unsigned source;
        uint32_t task;
        uint8_t discarded;
    } said[] = {{1, 0, 1}, {1, 0, 0}, {2, 0, 0}, {2, 0, 1}, {1, 1, 1}, {3, 0, 1}};
    static const struct {
        unsigned source;
        int is_judged, is_discarded;
    } rows[] = {{1, 1, 0}, {2, 1, 1}, {3, 1, 1}, {4, 0, 0}};
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    struct atoll_query *q;
    struct atoll_row_judgement got;
    assert_non_null(t);
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        struct atoll_row_judgement j = {.event = i,
                                        .source_id = sample_id(said[i].source),
                                        .task = said[i].task,
                                        .discarded = said[i].discarded};
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_JUDGEMENTS, &j, NULL), 0);
    }
    q = atoll_query_create(t, NULL);
    assert_non_null(q);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct atoll_row_candidate c = {.source_id = sample_id(rows[i].source)};
        assert_int_equal(atoll_query_judgement(q, &c, &got), rows[i].is_judged);
        assert_int_equal(atoll_query_discarded(q, &c, &got), rows[i].is_discarded);
    }
    atoll_query_destroy(q);
    atoll_tables_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_find_candidate),
        CASE(test_find_word),
        CASE(test_digits),
        cmocka_unit_test(test_nothing_to_find),
        CASE(test_rows_of_candidate),
        cmocka_unit_test(test_last_judgement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
