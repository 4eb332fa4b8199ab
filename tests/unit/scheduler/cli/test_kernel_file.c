/* Candidates as files: the comment is one comment whatever others wrote, and the parameters come before the source. */
#include "tests/support/expect.h"

#include <stdio.h>

#include "archive-h5/table/project.h"
#include "base/utf8.h"
#include "scheduler/cli/kernel_file.h"
#include "tests/unit/archive-h5/sample_campaign.h"

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static struct atoll_archive_view view;

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    view = (struct atoll_archive_view){.tables = atoll_projection_tables(projection)};
    view.query = atoll_query_create(view.tables, NULL);
    return view.query ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_query_destroy(view.query);
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

static void test_files(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < atoll_tables_count(view.tables, ATOLL_TABLE_CANDIDATES); i++) {
        struct atoll_row_candidate c;
        struct atoll_buffer file;
        char id[ATOLL_ID_HEX];
        atoll_tables_get(view.tables, ATOLL_TABLE_CANDIDATES, i, &c);
        atoll_id_hex(&c.id, id);
        const char *source = atoll_tables_text(view.tables, c.source),
                   *choice = atoll_tables_text(view.tables, c.choice);
        atoll_buffer_init(&file, 1 << 20);
        assert_int_equal(atoll_kernel_file_write(&view, i, &file, NULL), 0);
        atoll_buffer_put_u8(&file, 0);
        const char *text = (const char *)file.data, *end = strstr(text, "*/");
        assert_int_equal(strncmp(text, "/* ", 3), 0);
        assert_non_null(strstr(text, id));
        assert_true(strstr(text, id) < end);
        /* Behind the comment a define for each parameter, then the source and nothing more. */
        assert_non_null(strstr(end, source));
        assert_int_equal(strncmp(end + 3, strchr(choice, '=') ? "#ifndef " : source,
                                 strchr(choice, '=') ? 8 : strlen(source)),
                         0);
        assert_true(strlen(strstr(end, source)) <= strlen(source) + 1);
        json_t *object = atoll_kernel_file_json(&view, i, NULL);
        if (atoll_utf8_valid_bytes(text, strlen(text)) == strlen(text) &&
            !strchr(text, 1)) /* JSON says '?' for the rest */
            assert_string_equal(json_string_value(json_object_get(object, "source")), text);
        assert_string_equal(json_string_value(json_object_get(object, "candidate")), id);
        json_decref(object);
        atoll_buffer_fini(&file);
    }
}

/* A plan with paths says where each is taken and which one ran; a plan with one way says nothing of it. */
static void test_paths(void **state)
{
    size_t with_paths = 0;
    (void)state;
    for (uint64_t i = 0; i < atoll_tables_count(view.tables, ATOLL_TABLE_CANDIDATES); i++) {
        struct atoll_row_candidate c;
        struct atoll_buffer file;
        atoll_tables_get(view.tables, ATOLL_TABLE_CANDIDATES, i, &c);
        int is_it = strstr(atoll_tables_text(view.tables, c.plan), "\"paths\"") != NULL;
        int64_t evaluation = atoll_query_best_evaluation(view.query, i, ATOLL_QUERY_ANY_MODEL);
        atoll_buffer_init(&file, 1 << 20);
        assert_int_equal(atoll_kernel_file_write(&view, i, &file, NULL), 0);
        atoll_buffer_put_u8(&file, 0);
        const char *text = (const char *)file.data,
                   *first = strstr(text, "\n * path 1      where N >= 1024\n *   launch    {"),
                   *second = strstr(text, "\n * path 2      else\n *   launch    {");
        assert_true(is_it ? first && second && first < second : !first && !second);
        json_t *times = atoll_kernel_times(&view, evaluation);
        if (json_array_size(times)) {
            const json_t *path = json_object_get(json_array_get(times, 0), "path");
            assert_int_equal(json_integer_value(path), is_it ? 1 : 0);
            assert_int_equal(strstr(text, " samples, path 1\n") != NULL, is_it);
            with_paths += is_it ? 1 : 0;
        }
        json_decref(times);
        atoll_buffer_fini(&file);
    }
    assert_true(with_paths > 0);
}

/* The best says how it stands: over the rival first, over the seed second; others say nothing of it. */
static void test_finals(void **state)
{
    (void)state;
    struct atoll_row_task task;
    atoll_tables_get(view.tables, ATOLL_TABLE_TASKS, 1, &task);
    int64_t best = atoll_query_candidate(view.query, task.campaign, &task.best),
            baseline = atoll_query_candidate(view.query, task.campaign, &task.baseline);
    for (int is_best = 0; is_best < 2; is_best++) {
        struct atoll_buffer file;
        atoll_buffer_init(&file, 1 << 20);
        assert_int_equal(atoll_kernel_file_write(&view, (uint64_t)(is_best ? best : baseline), &file, NULL),
                         0);
        atoll_buffer_put_u8(&file, 0);
        const char
            *rival = strstr(
                (char *)file.data,
                "* final       1.25x (95 % interval 1.225 to 1.275) over the rival compiled of PyTorch, "
                "alternating blocks on fresh data, 12 pairs:\n *             1.00 ms ("),
            *seed = strstr((char *)file.data, "x over the baseline seed, side by side");
        assert_true(is_best ? rival && seed && rival < seed : !rival && !seed);
        atoll_buffer_fini(&file);
    }
}

static void test_limit(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer file;
    atoll_buffer_init(&file, 100);
    assert_int_equal(atoll_kernel_file_write(&view, 0, &file, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_finals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
