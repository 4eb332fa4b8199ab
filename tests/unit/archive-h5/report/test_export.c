/* Tables as CSV and JSON lines. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "archive-h5/report/export.h"
#include "tests/unit/archive-h5/sample_query.h"

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

static char *export_row(enum atoll_table table, const void *row, enum atoll_export_format format)
{
    char path[PATH_MAX];
    size_t length;
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    assert_non_null(t);
    assert_int_equal(atoll_tables_append(t, table, row, NULL), 0);
    FILE *f = fopen(scratch_join(path, dir, "export"), "wb");
    assert_int_equal(atoll_export_table(t, table, format, f, NULL), 0);
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

/* What a binary cannot tell is nothing, not 0: a GPU's none of a processor's, and the other way round. */
static void test_export_of_what_is_known(void **state)
{
    static const struct {
        struct atoll_row_profile row;
        const char *says[5], *csv;
    } rows[] = {
        {{.registers = 40, .kernel_count = 1, .mix = {[ATOLL_MIX_OTHER] = 9}},
         {"\"registers\": 40,", "\"stack_bytes\": 0,", "\"mix_fp32\": 0,", "\"mix_fused\": null,",
          "\"clock_hz\": null,"},
         ",1,40,0,0,0,0,0,,"},
        {{.kernel_count = 2, .clock_hz = 2e9, .mix = {[ATOLL_MIX_OTHER] = 9, [ATOLL_MIX_VECTOR_256] = 4}},
         {"\"registers\": null,", "\"spill_load_bytes\": null,", "\"mix_fp32\": null,", "\"mix_fused\": 0,",
          "\"mix_other\": 9,"},
         ",2,,,,,,,,"},
        {{.kernel_count = 2}, /* of a processor whose instructions nobody reads */
         {"\"kernel_count\": 2,", "\"blocks\": null,", "\"mix_fused\": null,", "\"mix_other\": null,",
          "\"cluster_blocks\": null,"},
         ",2,,,,,,,,"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *jsonl = export_row(ATOLL_TABLE_PROFILES, &rows[i].row, ATOLL_EXPORT_JSONL),
             *csv = export_row(ATOLL_TABLE_PROFILES, &rows[i].row, ATOLL_EXPORT_CSV);
        for (size_t k = 0; k < 5; k++)
            if (!strstr(jsonl, rows[i].says[k]))
                fail_msg("row %zu, no %s in %s", i, rows[i].says[k], jsonl);
        if (!strstr(csv, rows[i].csv))
            fail_msg("row %zu: %s", i, csv);
        free(jsonl);
        free(csv);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_export),
        CASE(test_export_for_people),
        CASE(test_export_of_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
