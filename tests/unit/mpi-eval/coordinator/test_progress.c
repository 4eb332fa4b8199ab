/* The lines that a front end reads while a campaign runs, and progress.json beside them. */
#include "tests/unit/mpi-eval/coordinator/campaign_run.h"

#include <jansson.h>
#include <math.h>

/* The last line; owned by the caller. */
static json_t *last_line(void **state)
{
    static char line[16384], last[sizeof(line)];
    FILE *file = fopen(path_of(state, "progress"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        memcpy(last, line, sizeof(last));
    fclose(file);
    json_t *document = json_loads(last, 0, NULL);
    if (!document)
        fail_msg("no JSON: %s", last);
    return document;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("no number '%s'", key);
    return json_number_value(value);
}

static void test_lines_and_file_agree(void **state)
{
    static const char *const keys[] = {"evaluated",      "correct",     "baseline_ns", "baseline_lo_ns",
                                       "baseline_hi_ns", "best_ns",     "best_lo_ns",  "best_hi_ns",
                                       "final_ratio",    "final_lo",    "final_hi",    "final_pairs",
                                       "rival_ratio",    "rival_lo",    "rival_hi",    "rival_pairs",
                                       "rival_ns",       "rival_lo_ns", "rival_hi_ns"};
    struct atoll_coordinator_result result;
    struct peers *p = peers_create(RIVALS);
    campaign_make(state);
    assert_int_equal(campaign_run_with(state, p, 0, &result, NULL), 0);
    peers_destroy(p);
    json_t *line = last_line(state);
    json_t *file = json_load_file(path_of(state, "c/" ATOLL_CAMPAIGN_PROGRESS_FILE), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(line, "type")), "summary");
    assert_int_equal(json_integer_value(json_object_get(line, "stopped")), 1);
    assert_true(number(line, "disk_full") == 0);
    const json_t *told = json_object_get(line, "tasks"), *kept = json_object_get(file, "tasks");
    assert_int_equal(json_array_size(told), 2);
    assert_int_equal(json_array_size(kept), 2);
    for (size_t t = 0; t < 2; t++) {
        const json_t *one = json_array_get(told, t), *other = json_array_get(kept, t);
        assert_string_equal(json_string_value(json_object_get(one, "name")),
                            t ? "transpose" : "softmax_rows");
        assert_non_null(json_object_get(one, "rival"));
        for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
            double value = number(one, keys[k]);
            if (!(value > 0) || fabs(number(other, keys[k]) - value) > 1e-8 * value)
                fail_msg("task %zu: '%s' is %.17g in the line, %.17g in the file", t, keys[k], value,
                         number(other, keys[k]));
        }
    }
    json_decref(line);
    json_decref(file);
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_and_file_agree, dir_make, dir_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
