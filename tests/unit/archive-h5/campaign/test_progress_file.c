/* progress.json torn at every byte, hostile in every field, and written on a disk that fails. */
#include "tests/support/expect.h"

#include "tests/unit/archive-h5/faulty_ops.h"
#include "tests/unit/archive-h5/progress_scene.h"

static void test_torn_hint(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    size_t length;
    attempt_start(c);
    group_write();
    hint_write();
    group_write();
    char *text = scratch_read(hint_path, &length);
    for (size_t cut = 0; cut <= length; cut += cut + 40 < length ? 11 : 1) {
        scratch_write(hint_path, text, cut);
        assert_int_equal(has_hint(), cut >= length - 1); /* the newline may go */
    }
    unlink(hint_path);
    assert_false(has_hint());
    mkdir(hint_path, 0777);
    assert_false(has_hint());
    free(text);
    write_end(c);
}

static const struct {
    const char *find, *replace;
} hostile_cases[] = {
    {"\"schema\":1", "\"schema\":2"},
    {"\"schema\":1", "\"schema\":\"1\""},
    {"\"campaign\":\"", "\"campaign\":\"0"},
    {"\"campaign\":\"", "\"campaine\":\""},
    {"\"attempt\":\"local.0\"", "\"attempt\":\"../../x\""},
    {"\"attempt\":\"local.0\"", "\"attempt\":\"local.1\""},
    {"\"attempt\":\"local.0\"", "\"attempt\":7"},
    {"\"journal_bytes\":", "\"journal_bytes\":-"},
    {"\"journal_bytes\":", "\"journal_bytes\":9"},
    {"\"journal_bytes\":", "\"journal_bytes\":1e3,\"x\":"},
    {"\"journal_bytes\":", "\"journal_bytes\":0,\"x\":"},
    {"\"journal_bytes\":", "\"journal_bytes\":9007199254740993,\"x\":"},
    {"\"evaluated\":2", "\"evaluated\":-2"},
    {"\"evaluated\":2", "\"evaluated\":18446744073709551616"},
    {"\"evaluated\":2", "\"evaluated\":null"},
    {"\"campaign_s\":12.5", "\"campaign_s\":1e19"},
    {"\"campaign_s\":12.5", "\"campaign_s\":NaN"},
    {"\"campaign_s\":12.5", "\"campaign_s\":-1"},
    {"\"busy\":0.875", "\"busy\":1.5"},
    {"\"finishing\":0", "\"finishing\":2"},
    {"\"finishing\":0", "\"finishing\":false"},
    {"\"reason\":\"none\"", "\"reason\":\"a\\u0007b\""},
    {"\"reason\":\"none\"", "\"reason\":\"a\\u0000b\""},
    {"\"reason\":\"none\"", "\"reason\":\"0123456789012345678901234567890123456789\""},
    {"\"asks\":{", "\"asks\":[],\"x\":{"},
    {"\"asks\":{\"open\":1", "\"asks\":{\"open\":\"1\""},
    {"\"tasks\":[", "\"tasks\":{},\"x\":["},
    {"\"tasks\":[", "\"tasks\":[1,"},
    {"\"name\":\"softmax\"", "\"name\":\"soft\\u001b[2Jmax\""},
    {"\"name\":\"softmax\"", "\"name\":\"another\""},
    {"\"best_ns\":1000000", "\"best_ns\":[1]"},
    {"\"best_ns\":1000000", "\"best_ns\":1e999"},
    {"\"evaluated\":7", "\"evaluated\":7,\"evaluated\":7"},
    {"\"best\":\"", "\"best\":\"0123456789abcdef0"},
    {"\"best\":\"", "\"best\":\"\\u001b"},
    {"\"best\":\"", "\"best\":7,\"x\":\""},
    {"\"devices\":[", "\"devices\":{},\"x\":["},
    {"\"devices\":[", "\"devices\":[1,"},
    {"\"candidates_s\":1.5", "\"candidates_s\":-1.5"},
    {"\"candidates_s\":1.5", "\"candidate_s\":1.5"},
};

static void test_hostile_hint(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    size_t length;
    attempt_start(c);
    group_write();
    hint_write();
    group_write();
    char *good = scratch_read(hint_path, &length);
    for (size_t i = 0; i < sizeof(hostile_cases) / sizeof(*hostile_cases); i++) {
        const char *at = strstr(good, hostile_cases[i].find);
        char *bad = malloc(length + 200);
        assert_non_null(bad);
        if (!at)
            fail_msg("%s is not in %s", hostile_cases[i].find, good);
        int bad_length = snprintf(bad, length + 200, "%.*s%s%s", (int)(at - good), good,
                                  hostile_cases[i].replace, at + strlen(hostile_cases[i].find));
        scratch_write(hint_path, bad, (size_t)bad_length);
        if (has_hint())
            fail_msg("case %zu was believed: %s", i, bad);
        free(bad);
    }
    scratch_write(hint_path, good, length);
    assert_true(has_hint());
    memcpy(strstr(good, "devices"), "devicez", 7); /* of a version that did not tell of them */
    scratch_write(hint_path, good, length);
    assert_true(has_hint());
    char *digit = strstr(good, "\"campaign\":\"") + strlen("\"campaign\":\"");
    *digit = *digit == '0' ? '1' : '0'; /* of another campaign */
    scratch_write(hint_path, good, length);
    assert_false(has_hint());
    free(good);
    write_end(c);
}

/* After a write that failed in any way the file is what it was, and nothing is left beside it. */
static void test_every_call_fails_once(void **state)
{
    (void)state;
    static const enum fault faults[] = {FAULT_SHORT, FAULT_INTERRUPT, FAULT_FULL, FAULT_IO,
                                        FAULT_PARTIAL_THEN_FULL};
    struct atoll_campaign_progress_task rows[2];
    struct atoll_campaign *c = create();
    char name[128], temporary[PATH_MAX];
    size_t length, now_length;
    int failures = 0;
    attempt_start(c);
    group_write();
    hint_write();
    char *before = scratch_read(hint_path, &length);
    struct atoll_progress_json hint = sample_hint(rows);
    hint.evaluators = 99;
    hint.evaluation_budget = 77;
    snprintf(name, sizeof(name), "jobs/%s/" ATOLL_CAMPAIGN_PROGRESS_FILE ".tmp", writer.attempt);
    scratch_join(temporary, target, name);
    for (size_t f = 0; f < sizeof(faults) / sizeof(*faults); f++) {
        for (long n = 0; n < 5; n++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            struct faulty faulty;
            faulty_init(&faulty, faults[f], n);
            scratch_write(hint_path, before, length);
            int rc = atoll_progress_json_write(target, &hint, &faulty.ops, &err);
            char *now = scratch_read(hint_path, &now_length);
            assert_int_equal(rc == 0, strstr(now, "\"evaluators\":99") != NULL);
            if (rc != 0) {
                failures++;
                assert_string_equal(now, before);
                assert_non_null(strstr(err.text, ATOLL_CAMPAIGN_PROGRESS_FILE));
            }
            if (access(temporary, F_OK) == 0)
                fail_msg("call %ld, fault %d: the temporary file stays", n, (int)faults[f]);
            free(now);
        }
    }
    assert_true(failures >= 9); /* open, write, rename with each of three */
    hint.busy = 0.0 / 0.0;
    assert_int_equal(atoll_progress_json_write(target, &hint, NULL, NULL), -1);
    free(before);
    write_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_torn_hint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_hint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_call_fails_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
