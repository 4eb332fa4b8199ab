/* Files that are whole, and what is found in those that are not. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "archive-h5/hdf5/archive.h"
#include "archive-h5/hdf5/segment.h"
#include "archive-h5/hdf5/verify_file.h"
#include "tests/unit/archive-h5/sample_query.h"

static void test_verify(void **state)
{
    (void)state;
    struct atoll_verify_report report;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    size_t length;
    const char *root = atoll_campaign_dir(campaign);
    assert_int_equal(atoll_archive_build(campaign, scratch_join(path, root, "archive.h5"), NULL, NULL, NULL),
                     0);
    if (atoll_verify_path(root, NULL, NULL, &report, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(report.first_problem, "");
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.journals, 1);
    assert_int_equal(report.archives, 1);
    assert_true(report.events > 50 && report.decisions > 50 && report.rows > 100);
    scratch_join(path, root, "jobs/local.0/journal.atl");
    char *bytes = scratch_read(path, &length);
    bytes[length / 2] ^= 1;
    scratch_write(path, bytes, length);
    free(bytes);
    /* The whole sample was one unsynced group, so damage in it is a torn tail: what follows is missing from
     * the archive's view, not a problem of the file. */
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, &err), 0);
    assert_true(report.torn_bytes > 0);
    scratch_write(path, "text that is no journal", 23);
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, &err), 0);
    assert_int_equal(report.problems, 1);
    assert_non_null(strstr(report.first_problem, "not a journal"));
    scratch_join(path, root, "nothing.h5");
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

static void test_verify_finds_loose_ends(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct atoll_verify_report report;
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    struct atoll_row_campaign c;
    struct atoll_row_elite e;
    memset(&c, 0, sizeof(c));
    memset(&e, 0, sizeof(e));
    c.stop_reason = 200;
    e.candidate = sample_id(1);
    e.time_ns = -1;
    atoll_tables_append(t, ATOLL_TABLE_CAMPAIGN, &c, NULL);
    atoll_tables_append(t, ATOLL_TABLE_ELITES, &e, NULL);
    int status = atoll_segment_write(scratch_join(path, dir, "loose.h5"), t, NULL, NULL, NULL);
    atoll_tables_destroy(t); /* whatever is found below */
    assert_int_equal(status, 0);
    assert_int_equal(atoll_verify_path(path, NULL, NULL, &report, NULL), 0);
    assert_int_equal(report.problems, 3);
    assert_non_null(strstr(report.first_problem, "stop_reason has 1 values out of range"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_verify),
        CASE(test_verify_finds_loose_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
