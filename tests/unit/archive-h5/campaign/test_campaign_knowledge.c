/* knowledge.json: what a campaign's models are told of, its own or that of the whole; whole or refused. */
#include "tests/support/expect.h"

#include "archive-h5/campaign/hints.h"
#include "archive-h5/campaign/knowledge.h"
#include "archive-h5/hdf5/segment.h"
#include "archive-h5/hdf5/verify_file.h"
#include "archive-h5/table/project.h"
#include "tests/unit/archive-h5/scratch.h"

#define TASK_DIR ATOLL_SOURCE_DIR "/tests/fixtures/archive/tasks/matmul"
#define TEXT                                                                                                 \
    "{\"version\":1,\"files\":{\"a.md\":\"A\",\"hints.yaml\":\"version: 1\\nhints:\\n  - {name: a, "         \
    "trigger: "                                                                                              \
    "limiter dram, advice: Do it.}\\n\"}}"
#define FILE_NAME ATOLL_CAMPAIGN_KNOWLEDGE_FILE

static char dir[PATH_MAX], part_dir[PATH_MAX];

static int set_up(void **state)
{
    char parts[PATH_MAX];
    (void)state;
    scratch_make(dir);
    scratch_join(parts, dir, "parts");
    scratch_join(part_dir, parts, "0000");
    return mkdir(parts, 0700);
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* A part's folder.  digest NULL: it names no knowledge; has_file: it has a file of its own. */
static struct atoll_campaign *create(const char *digest, int has_file, unsigned hints)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(TASK_DIR, &err);
    if (!task)
        fail_msg("%s", err.text);
    const struct atoll_campaign_task told = {task->name, TASK_DIR, task->id};
    const struct atoll_config_option option = {ATOLL_CAMPAIGN_KNOWLEDGE_OPTION, digest};
    struct atoll_config config = {.engine_version = 1,
                                  .atoll_version = "0.1.0",
                                  .task_count = 1,
                                  .tasks = &told,
                                  .option_count = digest != NULL,
                                  .options = &option,
                                  .knowledge = has_file ? TEXT : NULL,
                                  .knowledge_length = has_file ? strlen(TEXT) : 0};
    atoll_search_defaults(&config.search);
    config.search.hints = hints;
    struct atoll_campaign *c = atoll_campaign_create(part_dir, &config, NULL, &err);
    if (!c)
        fail_msg("%s", err.text);
    atoll_task_destroy(task);
    return c;
}

static const char *digest_of(const char *text)
{
    static char hex[ATOLL_ID_HEX];
    struct atoll_id id = atoll_id_of(text, strlen(text));
    atoll_id_hex(&id, hex);
    return hex;
}

static void expect_read(const struct atoll_campaign *c, size_t hints)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = NULL;
    struct atoll_hint_file file;
    if (atoll_campaign_knowledge_read(c, &pack, &err) != 0)
        fail_msg("%s", err.text);
    assert_non_null(pack);
    assert_string_equal(atoll_knowledge_pack_find(pack, "a.md")->text, "A");
    atoll_knowledge_pack_destroy(pack);
    assert_int_equal(atoll_campaign_hints_read(c, &file, &err), 0);
    assert_int_equal(file.hint_count, hints);
    atoll_hint_file_fini(&file);
}

static void expect_refused(const struct atoll_campaign *c, const char *part)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = NULL;
    struct atoll_hint_file file;
    assert_int_equal(atoll_campaign_knowledge_read(c, &pack, &err), -1);
    expect_err(&err, ATOLL_E_CORRUPT, part);
    assert_null(pack);
    assert_null(atoll_campaign_knowledge_or_installed(c, NULL));
    assert_int_equal(atoll_campaign_hints_read(c, &file, NULL), -1);
}

/* In its own folder, with leftovers of a create that was killed. */
static void test_own(void **state)
{
    (void)state;
    char path[PATH_MAX];
    assert_int_equal(mkdir(part_dir, 0700), 0);
    scratch_write(scratch_join(path, part_dir, FILE_NAME), "half", 4);
    scratch_write(scratch_join(path, part_dir, FILE_NAME ".tmp"), "half", 4);
    struct atoll_campaign *c = create(digest_of(TEXT), 1, 1);
    expect_read(c, 1);
    scratch_write(scratch_join(path, part_dir, FILE_NAME), TEXT " ", strlen(TEXT) + 1);
    expect_refused(c, "is not the file that the campaign was made with (its hash is ");
    scratch_write(scratch_join(path, part_dir, FILE_NAME), TEXT, strlen(TEXT) - 1);
    expect_refused(c, "restore it");
    atoll_campaign_close(c);
}

static void test_of_the_whole(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct atoll_campaign *c = create(digest_of(TEXT), 0, 1);
    expect_refused(
        c, "no knowledge.json is there, which the campaign was made with, nor in the folder of the whole");
    scratch_write(scratch_join(path, dir, FILE_NAME), TEXT, strlen(TEXT));
    expect_read(c, 1);
    atoll_campaign_close(c);
}

/* The setting says that no hints are told. */
static void test_without_hints(void **state)
{
    (void)state;
    struct atoll_campaign *c = create(digest_of(TEXT), 1, 0);
    expect_read(c, 0);
    atoll_campaign_close(c);
}

/* The hash fits and the file is none of ours. */
static void test_foreign(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = NULL;
    struct atoll_campaign *c = create(digest_of("[]"), 0, 1);
    scratch_write(scratch_join(path, dir, FILE_NAME), "[]", 2);
    assert_int_equal(atoll_campaign_knowledge_read(c, &pack, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "knowledge.json: is no frozen knowledge");
    atoll_campaign_close(c);
}

struct told {
    unsigned problems;
    char lines[4096];
};

static void hear(void *context, int is_problem, const char *line)
{
    struct told *told = context;
    size_t used = strlen(told->lines);
    told->problems += is_problem != 0;
    snprintf(told->lines + used, sizeof(told->lines) - used, "%s\n", line);
}

static void expect_verified(const char *path, unsigned problems, const char *part)
{
    struct told told = {0};
    struct atoll_verify_report report = {.problems = 0};
    assert_int_equal(atoll_verify_path(path, hear, &told, &report, NULL), 0);
    if (told.problems != problems || !strstr(told.lines, part))
        fail_msg("%s", told.lines);
}

/* The archive has the texts, and both it and the folder are held against the hash. */
static void test_archived(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_row_knowledge row;
    char path[PATH_MAX], file[PATH_MAX];
    struct atoll_campaign *c = create(digest_of(TEXT), 1, 1);
    struct atoll_projection *p = atoll_projection_of_campaign(c, NULL, &err);
    assert_non_null(p);
    struct atoll_tables *t = atoll_projection_cut(p, &err);
    assert_int_equal(atoll_tables_count(t, ATOLL_TABLE_KNOWLEDGE), 2);
    atoll_tables_get(t, ATOLL_TABLE_KNOWLEDGE, 0, &row);
    assert_string_equal(atoll_tables_text(t, row.path), "a.md");
    assert_string_equal(atoll_tables_text(t, row.text), "A");
    scratch_join(path, dir, "archive.h5");
    assert_int_equal(atoll_segment_write(path, t, "test", NULL, &err), 0);
    expect_verified(path, 0, "");
    row.text = row.path;
    atoll_tables_set(t, ATOLL_TABLE_KNOWLEDGE, 0, &row);
    assert_int_equal(atoll_segment_write(path, t, "test", NULL, &err), 0);
    expect_verified(path, 1,
                    "table knowledge of campaign 0: these are not the texts that the campaign names");
    expect_verified(part_dir, 0, "knowledge.json: 2 texts");
    scratch_write(scratch_join(file, part_dir, FILE_NAME), "{}", 2);
    expect_verified(part_dir, 1, "is not the file that the campaign was made with");
    atoll_tables_destroy(t);
    atoll_projection_destroy(p);
    atoll_campaign_close(c);
}

static void test_none(void **state)
{
    (void)state;
    struct atoll_knowledge_pack *pack = NULL;
    struct atoll_campaign *c = create(NULL, 0, 1);
    assert_int_equal(atoll_campaign_knowledge_read(c, &pack, NULL), 0);
    assert_null(pack);
    atoll_campaign_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_own, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_of_the_whole, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_without_hints, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_archived, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_none, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
