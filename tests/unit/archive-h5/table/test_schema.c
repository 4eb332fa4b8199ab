/* The schema is consistent, and docs/spec/archive.md says what it says. */
#include "tests/support/expect.h"

#include "archive-h5/table/table.h"
#include "tests/unit/archive-h5/scratch.h"

static void test_schema(void **state)
{
    (void)state;
    for (size_t t = 0; t < ATOLL_TABLE_COUNT; t++) {
        const struct atoll_table_schema *s = atoll_table_schema((enum atoll_table)t);
        enum atoll_table found;
        unsigned keys = 0;
        assert_true(s->column_count > 0 && s->column_count <= ATOLL_COLUMN_LIMIT);
        assert_int_equal(atoll_table_find(s->name, &found), 0);
        assert_int_equal(found, t);
        assert_non_null(strstr(ATOLL_TABLE_NAMES, s->name));
        for (size_t c = 0; c < s->column_count; c++) {
            const struct atoll_column *k = &s->columns[c];
            keys += k->is_key != 0;
            assert_true(k->offset + atoll_column_bytes(k->type) <= s->row_bytes);
            for (size_t d = 0; d < c; d++) {
                const struct atoll_column *o = &s->columns[d];
                assert_string_not_equal(o->name, k->name);
                assert_true(o->offset + atoll_column_bytes(o->type) <= k->offset ||
                            k->offset + atoll_column_bytes(k->type) <= o->offset);
            }
            for (unsigned v = 0; v < k->value_count; v++)
                assert_true(*k->value_name(v));
        }
        assert_true(keys > 0);
        if (t != ATOLL_TABLE_CAMPAIGN) /* readers rely on it */
            assert_int_equal(s->columns[0].type, ATOLL_COLUMN_CAMPAIGN);
    }
    enum atoll_table none;
    assert_int_equal(atoll_table_find("nothing", &none), -1);
}

static void test_documentation(void **state)
{
    (void)state;
    size_t length, at = 0;
    char *doc = scratch_read(ATOLL_SOURCE_DIR "/docs/spec/archive.md", &length), *want = malloc(65536);
    for (size_t t = 0; t < ATOLL_TABLE_COUNT; t++) {
        const struct atoll_table_schema *s = atoll_table_schema((enum atoll_table)t);
        at += (size_t)snprintf(want + at, 65536 - at,
                               "### %s\n\n%s.\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
                               s->name, s->description);
        for (size_t c = 0; c < s->column_count; c++) {
            const struct atoll_column *k = &s->columns[c];
            at += (size_t)snprintf(want + at, 65536 - at, "| `%s`%s | %s | %s | %s |\n", k->name,
                                   k->is_key ? " (key)" : "", atoll_column_type_name(k->type), k->unit,
                                   k->description);
        }
        at += (size_t)snprintf(want + at, 65536 - at, t + 1 < ATOLL_TABLE_COUNT ? "\n" : "");
    }
    char *tables = strstr(doc, "### campaign\n");
    assert_non_null(tables);
    if (strcmp(tables, want) != 0) {
        print_message("docs/spec/archive.md, section Tables, should read:\n");
        fputs(want, stderr); /* longer than cmocka prints */
        fail();
    }
    free(want);
    free(doc);
}

/* A counter has the column that core calls it, and each table that came later says since when. */
static void test_profile_columns(void **state)
{
    (void)state;
    const struct atoll_table_schema *s = atoll_table_schema(ATOLL_TABLE_PROFILES);
    size_t counters = 0, mixes = 0;
    assert_int_equal(s->since, 2);
    for (size_t c = 0; c < s->column_count; c++) {
        const struct atoll_column *k = &s->columns[c];
        assert_non_null(k->name);
        size_t counter = (k->offset - offsetof(struct atoll_row_profile, counters)) / sizeof(double);
        size_t mix = (k->offset - offsetof(struct atoll_row_profile, mix)) / sizeof(uint32_t);
        if (k->may_be_nan) {
            const char *unit = atoll_counter_unit((enum atoll_counter)counter);
            assert_string_equal(k->name, atoll_counter_name((enum atoll_counter)counter));
            assert_string_equal(k->unit, strcmp(unit, "bytes") == 0 ? "B" : unit);
            counters++;
        } else if (k->offset >= offsetof(struct atoll_row_profile, mix) && mix < ATOLL_MIX_COUNT) {
            assert_string_equal(k->name + strlen("mix_"), atoll_mix_name((enum atoll_mix)mix));
            mixes++;
        }
    }
    assert_int_equal(counters, ATOLL_COUNTER_COUNT);
    assert_int_equal(mixes, ATOLL_MIX_COUNT);
}

static void test_rows(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_tables *t = atoll_tables_create(1 << 20, &err);
    struct atoll_row_elite row, got;
    uint32_t a, b, c;
    memset(&row, 0, sizeof(row));
    assert_int_equal(atoll_tables_text_count(t), 1);
    assert_string_equal(atoll_tables_text(t, 0), "");
    assert_int_equal(atoll_tables_add_text(t, "one", 3, &a, &err), 0);
    assert_int_equal(atoll_tables_add_text(t, "two", 3, &b, &err), 0);
    assert_int_equal(atoll_tables_add_text(t, "one", 3, &c, &err), 0);
    assert_int_equal(a, c);
    assert_int_not_equal(a, b);
    assert_string_equal(atoll_tables_text(t, b), "two");
    assert_string_equal(atoll_tables_text(t, 99), "");
    for (uint32_t i = 0; i < 1000; i++) {
        row.event = i;
        row.time_ns = i * 0.5;
        row.candidate = sample_id(i);
        assert_int_equal(atoll_tables_append(t, ATOLL_TABLE_ELITES, &row, &err), 0);
    }
    atoll_tables_get(t, ATOLL_TABLE_ELITES, 777, &got);
    assert_int_equal(got.event, 777);
    assert_true(got.time_ns == 388.5);
    struct atoll_id want = sample_id(777);
    assert_memory_equal(&got.candidate, &want, sizeof(want));
    int failed = 0;
    for (uint32_t i = 0; i < 100000 && !failed; i++)
        failed = atoll_tables_append(t, ATOLL_TABLE_ELITES, &row, &err);
    assert_int_equal(failed, -1); /* born with a limit */
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_tables_destroy(t);
    atoll_tables_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_documentation),
        cmocka_unit_test(test_profile_columns),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
