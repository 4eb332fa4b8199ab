/* archive.h5 and segments of a campaign with several attempts, some of them killed. */
#include "tests/support/expect.h"

#include "archive-h5/hdf5/archive.h"
#include "archive-h5/hdf5/merge.h"
#include "archive-h5/hdf5/segment.h"
#include "tests/unit/archive-h5/sample_campaign.h"

static char dir[PATH_MAX], archive[PATH_MAX];
static struct atoll_campaign *campaign;

static int set_up(void **state)
{
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    scratch_join(archive, atoll_campaign_dir(campaign), "archive.h5");
    return 0;
}

static int tear_down(void **state)
{
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

/* One more attempt: a few events, each with a new elite; only one that ends in order is sealed. Returns its folder. */
static const char *attempt_make(unsigned events, int ends_in_order)
{
    const char *folder;
    struct atoll_event tick;
    uint64_t number;
    struct atoll_journal *j = atoll_campaign_start_attempt(campaign, "local", 1, 5, &folder, NULL);
    assert_non_null(j);
    for (unsigned i = 0; i < events; i++) {
        atoll_event_init(&tick, ATOLL_EVENT_TICK);
        assert_int_equal(atoll_journal_append_event(j, &tick, &number, NULL), 0);
        struct atoll_decision elite = {.type = ATOLL_DECIDE_ELITE, .candidate = sample_id(number)};
        assert_int_equal(atoll_journal_append_decisions(j, number, &elite, 1, NULL), 0);
    }
    if (ends_in_order)
        assert_int_equal(atoll_journal_append_close(j, 9, "asked", NULL), 0);
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    atoll_journal_destroy(j);
    return folder;
}

static const char *attempt_add(unsigned events)
{
    return attempt_make(events, 0);
}

static uint64_t rows_of(const char *path, enum atoll_table table)
{
    struct atoll_tables *t = atoll_segment_read(path, NULL);
    assert_non_null(t);
    uint64_t count = atoll_tables_count(t, table);
    atoll_tables_destroy(t);
    return count;
}

static ino_t inode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static int refresh(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int got = atoll_archive_refresh(campaign, archive, NULL, &err);
    if (got < 0)
        fail_msg("%s", err.text);
    return got;
}

static void test_refresh(void **state)
{
    char origin[ATOLL_MADE_OF_BYTES];
    assert_int_equal(refresh(), 0);
    ino_t first = inode_of(archive);
    assert_int_equal(refresh(), 1);
    assert_int_equal(inode_of(archive), first);
    assert_int_equal(atoll_segment_made_of(archive, &atoll_campaign_config(campaign)->id, origin), 0);
    assert_int_equal(strncmp(origin, "local.0/journal.atl up to ", 26), 0);
    uint64_t elites = rows_of(archive, ATOLL_TABLE_ELITES);
    attempt_add(1);
    assert_int_equal(refresh(), 0);
    assert_int_equal(rows_of(archive, ATOLL_TABLE_ELITES), elites + 1);
    attempt_add(0); /* only a header: what there is to read is the same, the journals are not */
    assert_int_equal(refresh(), 0);
    assert_int_equal(refresh(), 1);
}

/* A decision or a device without a new event is new all the same. */
static void test_refresh_sees_every_record(void **state)
{
    struct atoll_journal *j = atoll_campaign_start_attempt(campaign, "local", 1, 5, NULL, NULL);
    struct atoll_device_info device = {.key = 78, .backend = "cpu", .model = "another"};
    struct atoll_decision elite = {.type = ATOLL_DECIDE_ELITE, .candidate = sample_id(1)};
    struct atoll_event tick;
    uint64_t number;
    atoll_event_init(&tick, ATOLL_EVENT_TICK);
    assert_int_equal(atoll_journal_append_event(j, &tick, &number, NULL), 0);
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    assert_int_equal(refresh(), 0);
    assert_int_equal(atoll_journal_append_decisions(j, number, &elite, 1, NULL), 0);
    assert_int_equal(refresh(), 1); /* not synced: not there */
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    assert_int_equal(refresh(), 0);
    assert_int_equal(atoll_journal_append_device(j, 6, &device, NULL), 0);
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    assert_int_equal(refresh(), 0);
    assert_int_equal(rows_of(archive, ATOLL_TABLE_DEVICES), 2);
    atoll_journal_destroy(j);
}

static void test_refresh_of_other_files(void **state)
{
    struct atoll_id other = sample_id(3);
    char origin[ATOLL_MADE_OF_BYTES];
    scratch_write(archive, "not HDF5", 8);
    assert_int_equal(refresh(), 0);
    assert_int_equal(atoll_segment_made_of(archive, &other, origin), -1);
    struct atoll_tables *t = atoll_segment_read(archive, NULL);
    char longest[2 * ATOLL_MADE_OF_BYTES];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    const char *const origins[] = {NULL, "", "somebody's", longest};
    for (size_t i = 0; i < sizeof(origins) / sizeof(*origins); i++) {
        assert_int_equal(atoll_segment_write(archive, t, origins[i], NULL, NULL), 0);
        assert_int_equal(refresh(), 0);
    }
    atoll_tables_destroy(t);
    assert_int_equal(refresh(), 1);
}

static int is_same_file(const char *one, const char *other)
{
    size_t a_length, b_length;
    char *a = scratch_read(one, &a_length), *b = scratch_read(other, &b_length);
    int is_same = a_length == b_length && memcmp(a, b, a_length) == 0;
    free(a);
    free(b);
    return is_same;
}

/* Of five attempts two are sealed; the segments together are the archive. */
static void test_seal(void **state)
{
    char first[PATH_MAX], second[PATH_MAX], merged[PATH_MAX], built[PATH_MAX], folder[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    scratch_join(folder, atoll_campaign_dir(campaign), "jobs/local.0");
    scratch_join(first, folder, "segment-0000.h5");
    assert_int_equal(atoll_archive_seal(campaign, folder, NULL, &err), 0);
    uint64_t before = rows_of(first, ATOLL_TABLE_ELITES);
    assert_int_equal(rows_of(archive, ATOLL_TABLE_ELITES), before);
    assert_true(is_same_file(first, archive)); /* nothing came before */
    attempt_add(2);                            /* killed: no segment */
    attempt_add(0);
    const char *last = attempt_make(3, 1);
    assert_int_equal(atoll_archive_seal(campaign, last, NULL, &err), 0);
    scratch_join(second, last, "segment-0000.h5");
    assert_false(is_same_file(second, archive));
    assert_int_equal(rows_of(second, ATOLL_TABLE_ELITES), 5);
    assert_int_equal(rows_of(second, ATOLL_TABLE_EVALUATIONS), 0);
    assert_int_equal(rows_of(second, ATOLL_TABLE_TASKS), 2); /* as they stand now */
    assert_int_equal(rows_of(archive, ATOLL_TABLE_ELITES), before + 5);
    assert_int_equal(refresh(), 1);
    const char *segments[] = {first, second};
    const char *whole[] = {archive};
    scratch_join(merged, dir, "merged.h5");
    scratch_join(built, dir, "built.h5");
    assert_int_equal(atoll_merge_files(segments, 2, merged, NULL, &err), 0);
    assert_int_equal(atoll_merge_files(whole, 1, built, NULL, &err), 0);
    assert_true(is_same_file(merged, built));
}

static void test_seal_fails(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_archive_seal(campaign, "/nowhere/at/all", NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_int_equal(access(archive, F_OK), -1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(test_refresh), CASE(test_refresh_sees_every_record),
                                       CASE(test_refresh_of_other_files), CASE(test_seal),
                                       CASE(test_seal_fails)};
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
