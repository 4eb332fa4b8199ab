/* hints.yaml in a campaign's folder, as earlier versions froze hints: whole or refused. */
#include "tests/support/expect.h"

#include "archive-h5/campaign/hints.h"
#include "archive-h5/table/project.h"
#include "tests/unit/archive-h5/scratch.h"

#define TASK_DIR ATOLL_SOURCE_DIR "/tests/fixtures/archive/tasks/matmul"
#define TEXT     "version: 1\nhints:\n  - {name: a, trigger: limiter dram, advice: Do it.}\n"

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

/* As an earlier version made it; text NULL: without hints. */
static struct atoll_campaign *create(const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_id id = atoll_id_of(text ? text : "", text ? strlen(text) : 0);
    char hex[ATOLL_ID_HEX], path[PATH_MAX];
    atoll_id_hex(&id, hex);
    struct atoll_task *task = atoll_task_load(TASK_DIR, &err);
    if (!task)
        fail_msg("%s", err.text);
    const struct atoll_campaign_task told = {task->name, TASK_DIR, task->id};
    const struct atoll_config_option option = {ATOLL_HINTS_OPTION, hex};
    struct atoll_config config = {.engine_version = 1,
                                  .atoll_version = "0.1.0",
                                  .task_count = 1,
                                  .tasks = &told,
                                  .option_count = text != NULL,
                                  .options = &option};
    atoll_search_defaults(&config.search);
    struct atoll_campaign *c = atoll_campaign_create(campaign_dir, &config, NULL, &err);
    if (!c)
        fail_msg("%s", err.text);
    atoll_task_destroy(task);
    if (text)
        scratch_write(scratch_join(path, campaign_dir, ATOLL_HINTS_FILE), text, strlen(text));
    return c;
}

/* They are read back, and rows of the archive before anything was told. */
static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_hint_file file;
    struct atoll_row_hint row;
    struct atoll_campaign *c = create(TEXT);
    assert_int_equal(atoll_campaign_hints_read(c, &file, NULL), 0);
    assert_int_equal(file.hint_count, 1);
    assert_string_equal(file.hints[0].advice, "Do it.");
    atoll_hint_file_fini(&file);
    struct atoll_projection *p = atoll_projection_create(atoll_campaign_config(c), NULL);
    assert_int_equal(atoll_projection_knowledge(p, c, NULL), 0);
    const struct atoll_tables *tables = atoll_projection_tables(p);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_HINTS), 1);
    atoll_tables_get(tables, ATOLL_TABLE_HINTS, 0, &row);
    assert_string_equal(atoll_tables_text(tables, row.trigger), "limiter dram");
    assert_true(row.lift == 1 && row.confidence == 0.25 && !row.dropped);
    atoll_projection_destroy(p);
    atoll_campaign_close(c);
}

static void test_none(void **state)
{
    (void)state;
    struct atoll_hint_file file = {.hint_count = 9};
    struct atoll_campaign *c = create(NULL);
    assert_int_equal(atoll_campaign_hints_read(c, &file, NULL), 0);
    assert_true(file.hint_count == 0 && !file.hints);
    atoll_hint_file_fini(&file);
    atoll_campaign_close(c);
}

static void test_damaged(void **state)
{
    (void)state;
    struct atoll_hint_file file;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    struct atoll_campaign *c = create(TEXT);
    scratch_join(path, campaign_dir, ATOLL_HINTS_FILE);
    scratch_write(path, TEXT "#", strlen(TEXT) + 1);
    assert_int_equal(atoll_campaign_hints_read(c, &file, &err), -1);
    expect_err(&err, ATOLL_E_CORRUPT, "is not the file that the campaign was made with");
    atoll_err_clear(&err);
    unlink(path);
    assert_int_equal(atoll_campaign_hints_read(c, &file, &err), -1);
    expect_err(&err, ATOLL_E_CORRUPT, ATOLL_HINTS_FILE);
    atoll_campaign_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
