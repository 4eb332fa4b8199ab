/* learned.yaml of a part: made once, whole or refused, and told beside what the campaign was made with. */
#include "tests/support/expect.h"

#include "archive-h5/campaign/hints.h"
#include "archive-h5/campaign/learned.h"
#include "tests/unit/archive-h5/scratch.h"

#define TASK_DIR ATOLL_SOURCE_DIR "/tests/fixtures/archive/tasks/matmul"

static char dir[PATH_MAX], campaign_dir[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_join(campaign_dir, dir, "campaign");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static void parse(const char *text, struct atoll_hint_file *ret_file)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_hint_file_parse("x", text, strlen(text), ret_file, &err) != 0)
        fail_msg("%s", err.text);
}

static const char one[] =
    "version: 1\nhints:\n  - {name: a, trigger: limiter dram, advice: Do it., statistics: "
    "{uses: 3, outcomes: 3, wins: 2, expected: 1, gains: 2, log_gain: 0.5}}\n";
static const char other[] = "version: 1\nhints:\n  - {name: b, trigger: error race, advice: Wait.}\n";

static void it_is_made_once(void **state)
{
    struct atoll_hint_file file, other_file, back;
    (void)state;
    assert_int_equal(atoll_campaign_learned_read(dir, &back, NULL), 0);
    assert_true(back.hint_count == 0 && !back.arena);
    parse(one, &file);
    parse(other, &other_file);
    assert_int_equal(atoll_campaign_learned_write(dir, &file, NULL), 1);
    assert_int_equal(atoll_campaign_learned_write(dir, &other_file, NULL), 0);
    assert_int_equal(atoll_campaign_learned_read(dir, &back, NULL), 1);
    assert_int_equal(back.hint_count, 1);
    assert_string_equal(back.hints[0].name, "a");
    assert_true(back.hints[0].prior.uses == 3 && back.hints[0].prior.wins == 2);
    atoll_hint_file_fini(&back);
    atoll_hint_file_fini(&file);
    atoll_hint_file_fini(&other_file);
    char path[PATH_MAX];
    assert_int_equal(unlink(scratch_join(path, dir, ATOLL_LEARNED_FILE)), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left */
}

static void damage_is_refused(void **state)
{
    struct atoll_hint_file file;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    size_t length;
    (void)state;
    parse(one, &file);
    assert_int_equal(atoll_campaign_learned_write(dir, &file, NULL), 1);
    atoll_hint_file_fini(&file);
    char *bytes = scratch_read(scratch_join(path, dir, ATOLL_LEARNED_FILE), &length);
    const size_t lengths[] = {0, 10, length - 1, length};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        bytes[length - 5] ^= (char)(lengths[i] == length);
        scratch_write(path, bytes, lengths[i]);
        assert_int_equal(atoll_campaign_learned_read(dir, &file, &err), -1);
        expect_err(&err, ATOLL_E_CORRUPT, "is not as it was made");
        atoll_err_clear(&err);
    }
    free(bytes);
}

/* The campaign's own file of hints is none here: what was learned is all there is, where hints are told. */
static void it_is_told_where_hints_are(void **state)
{
    (void)state;
    for (uint32_t hints = 0; hints < 2; hints++) {
        struct atoll_hint_file file;
        struct atoll_task *task = atoll_task_load(TASK_DIR, NULL);
        assert_non_null(task);
        const struct atoll_campaign_task told = {task->name, TASK_DIR, task->id};
        struct atoll_config config = {
            .engine_version = 1, .atoll_version = "0.1.0", .task_count = 1, .tasks = &told};
        atoll_search_defaults(&config.search);
        config.search.hints = hints;
        struct atoll_campaign *c = atoll_campaign_create(campaign_dir, &config, NULL, NULL);
        assert_non_null(c);
        parse(one, &file);
        assert_int_equal(atoll_campaign_learned_write(campaign_dir, &file, NULL), 1);
        atoll_hint_file_fini(&file);
        assert_int_equal(atoll_campaign_hints_read(c, &file, NULL), 0);
        assert_int_equal(file.hint_count, hints);
        assert_true(!hints || file.hints[0].prior.uses == 3);
        atoll_hint_file_fini(&file);
        atoll_campaign_close(c);
        atoll_task_destroy(task);
        scratch_remove(campaign_dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_made_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_told_where_hints_are, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
