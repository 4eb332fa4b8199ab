/* Writing a journal: what is acknowledged survives every failure and every loss of what was not synced. */
#include "tests/support/expect.h"

#include "archive-h5/journal/journal.h"
#include "archive-h5/journal/journal_reader.h"
#include "tests/unit/archive-h5/faulty_ops.h"
#include "tests/unit/archive-h5/scratch.h"
#include "tests/unit/archive-h5/volatile_disk.h"

static char dir[PATH_MAX], path[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_join(path, dir, ATOLL_JOURNAL_FILE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static struct atoll_journal_header sample_header(void)
{
    struct atoll_journal_header h = {.engine_version = 3,
                                     .atoll_version = "0.1.0",
                                     .attempt = 2,
                                     .name = "local.2",
                                     .previous = "local.1",
                                     .sealed_offset = 77,
                                     .first_event = 10,
                                     .created_unix_ns = 1700000000000000000};
    h.campaign = sample_id(1);
    h.sealed_digest = sample_id(2);
    return h;
}

static struct atoll_journal *create(const struct atoll_file_ops *ops, struct atoll_err *err)
{
    struct atoll_journal_header h = sample_header();
    return atoll_journal_create(path, &h, ops, err);
}

static void append_pair(struct atoll_journal *j, unsigned decisions)
{
    struct atoll_event e;
    struct atoll_decision d[3] = {sample_evaluate(1, 0), sample_evaluate(2, 1), sample_evaluate(3, 2)};
    uint64_t number;
    sample_tick(&e, (int64_t)atoll_journal_next_event(j));
    assert_int_equal(atoll_journal_append_event(j, &e, &number, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(j, number, d, decisions, NULL), 0);
    atoll_event_fini(&e);
}

/* Events that can be read back; fails the test on any error. */
static uint64_t count_events(const char *file, struct atoll_journal_end *ret_end)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_record *record;
    uint64_t count = 0;
    int got;
    struct atoll_journal_reader *r = atoll_journal_reader_open(file, &err);
    assert_non_null(r);
    while ((got = atoll_journal_reader_next(r, &record, &err)) == 1)
        count += record->type == ATOLL_RECORD_EVENT;
    if (got < 0)
        fail_msg("%s", err.text);
    atoll_journal_reader_end(r, ret_end);
    atoll_journal_reader_close(r);
    return count;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_journal_header want = sample_header();
    struct atoll_device_info device = {.key = 9, .backend = "cpu", .model = "a processor", .threads = 2};
    const struct atoll_record *rec;
    struct atoll_decision decision;
    size_t cursor = 0;
    struct atoll_journal_end end;
    struct atoll_journal *j = create(NULL, NULL);
    assert_non_null(j);
    append_pair(j, 3);
    assert_int_equal(atoll_journal_append_device(j, 5, &device, NULL), 0);
    assert_int_equal(atoll_journal_append_snapshot(j, 10, "engine", 6, NULL), 0);
    assert_int_equal(atoll_journal_append_close(j, 99, "budget", NULL), 0);
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    assert_int_equal(atoll_journal_pending_bytes(j), 0);
    assert_int_equal(atoll_journal_next_event(j), 11);
    atoll_journal_destroy(j);

    struct atoll_journal_reader *r = atoll_journal_reader_open(path, NULL);
    assert_non_null(r);
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 1);
    want.schema = ATOLL_JOURNAL_SCHEMA;
    assert_memory_equal(&rec->header.campaign, &want.campaign, sizeof(want.campaign));
    assert_string_equal(rec->header.previous, "local.1");
    assert_int_equal(rec->header.sealed_offset, 77);
    assert_int_equal(rec->header.first_event, 10);
    assert_int_equal(rec->header.engine_version, 3);
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 1);
    assert_int_equal(rec->type, ATOLL_RECORD_EVENT);
    assert_int_equal(rec->event, 10);
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 1);
    assert_int_equal(rec->decision_count, 3);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(atoll_record_decision(rec, &cursor, &decision, NULL), 1);
        assert_int_equal(decision.evaluation, i);
    }
    assert_int_equal(atoll_record_decision(rec, &cursor, &decision, NULL), 0);
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 1);
    assert_int_equal(rec->device.key, 9);
    assert_string_equal(rec->device.model, "a processor");
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 1);
    assert_int_equal(rec->length, 6);
    assert_memory_equal(rec->bytes, "engine", 6);
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 1);
    assert_string_equal(rec->reason, "budget");
    assert_int_equal(atoll_journal_reader_next(r, &rec, NULL), 0);
    atoll_journal_reader_end(r, &end);
    assert_int_equal(end.ending, ATOLL_JOURNAL_CLOSED);
    assert_int_equal(end.record_count, 6);
    assert_int_equal(end.lost_bytes, 0);
    atoll_journal_reader_close(r);
}

static void test_refusals(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_decision d = sample_evaluate(1, 0);
    struct atoll_event e;
    struct atoll_journal *j = create(NULL, NULL);
    assert_null(create(NULL, &err));
    assert_int_equal(err.code, ATOLL_E_EXISTS);
    assert_int_equal(atoll_journal_append_decisions(j, 10, &d, 1, &err), -1); /* no such event yet */
    assert_int_equal(err.code, ATOLL_E_INTERNAL);
    assert_int_equal(atoll_journal_append_decisions(j, 9, &d, 1, &err), 0); /* the predecessor's last event */
    assert_int_equal(atoll_journal_append_decisions(j, 8, &d, 1, &err), -1);
    assert_int_equal(atoll_journal_append_decisions(j, 9, &d, 1, &err), -1);
    assert_int_equal(atoll_journal_append_close(j, 0, "end", &err), 0);
    sample_tick(&e, 1);
    assert_int_equal(atoll_journal_append_event(j, &e, NULL, &err), -1);
    assert_non_null(strstr(err.text, "after close"));
    atoll_event_fini(&e);
    atoll_journal_destroy(j);
    atoll_journal_destroy(NULL);
}

static void test_too_large_is_not_appended(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_journal *j = create(NULL, NULL);
    char *big = calloc(1, (size_t)65 << 20);
    append_pair(j, 0);
    size_t before = atoll_journal_pending_bytes(j);
    assert_int_equal(atoll_journal_append_snapshot(j, 10, big, (size_t)65 << 20, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_non_null(strstr(err.text, "snapshot record"));
    assert_int_equal(atoll_journal_pending_bytes(j), before);
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    free(big);
    atoll_journal_destroy(j);
}

static void test_folder_problems(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_journal_header h = sample_header();
    char missing[PATH_MAX];
    scratch_join(missing, dir, "no/where.atl");
    assert_null(atoll_journal_create(missing, &h, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_non_null(strstr(err.text, "where.atl"));
}

/* Every call fails once in every way; the retry succeeds and the file holds each event exactly once. */
static void test_every_call_fails_once(void **state)
{
    (void)state;
    static const enum fault faults[] = {FAULT_SHORT, FAULT_INTERRUPT, FAULT_FULL, FAULT_IO,
                                        FAULT_PARTIAL_THEN_FULL};
    for (size_t k = 0; k < sizeof(faults) / sizeof(*faults); k++) {
        for (long at = 0; at < 24; at++) {
            struct faulty f;
            struct atoll_err err = ATOLL_ERR_INIT;
            struct atoll_journal_end end;
            unsigned failures = 0;
            unlink(path);
            const struct atoll_file_ops *ops = faulty_init(&f, faults[k], at);
            struct atoll_journal *j = create(ops, &err);
            if (!j) {
                assert_true(err.code == ATOLL_E_FULL || err.code == ATOLL_E_IO);
                assert_int_equal(access(path, F_OK), -1); /* a failed create leaves nothing */
                j = create(ops, NULL);
                assert_non_null(j);
            }
            for (unsigned i = 0; i < 6; i++) {
                append_pair(j, i % 3);
                if (atoll_journal_sync(j, &err) != 0) {
                    failures++;
                    assert_true(err.code == (faults[k] == FAULT_IO ? ATOLL_E_IO : ATOLL_E_FULL));
                    assert_int_equal(count_events(path, &end), i); /* cut back to what is durable */
                    assert_int_equal(end.lost_bytes, 0);
                    if (i % 2)
                        assert_int_equal(atoll_journal_sync(j, NULL), 0);
                }
            }
            assert_int_equal(atoll_journal_sync(j, NULL), 0);
            atoll_journal_destroy(j);
            assert_true(failures <= 1);
            assert_int_equal(count_events(path, &end), 6);
            assert_int_equal(end.ending, ATOLL_JOURNAL_KILLED);
        }
    }
}

/* Killed after any number of calls, then the power goes: what a sync acknowledged is there. */
static void test_power_loss_at_every_step(void **state)
{
    (void)state;
    for (long stop = 0; stop < 20; stop++) {
        char root[PATH_MAX], after[PATH_MAX], file[PATH_MAX];
        struct atoll_journal_end end;
        uint64_t acknowledged = 0, found = 0;
        scratch_join(root, dir, "root");
        scratch_join(after, dir, "after");
        assert_int_equal(mkdir(root, 0777), 0);
        struct volatile_disk *disk = disk_create(root, stop);
        struct atoll_journal_header h = sample_header();
        scratch_join(file, root, ATOLL_JOURNAL_FILE);
        struct atoll_journal *j = atoll_journal_create(file, &h, &disk->ops, NULL);
        for (unsigned i = 0; j && i < 6; i++) {
            append_pair(j, 1);
            if (atoll_journal_sync(j, NULL) == 0)
                acknowledged = i + 1;
        }
        disk_power_loss(disk, after);
        scratch_join(file, after, ATOLL_JOURNAL_FILE);
        if (access(file, F_OK) == 0)
            found = count_events(file, &end);
        assert_true(found >= acknowledged);
        atoll_journal_destroy(j);
        disk_destroy(disk);
        scratch_remove(root);
        scratch_remove(after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_large_is_not_appended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_call_fails_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_power_loss_at_every_step, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
