/* test_frame_file.c - records that are pending, written, and synced behind: where they are read, what a failed sync leaves, and
 * what the next life finds. */
#include "tests/support/expect.h"

#include <pthread.h>

#include "tests/unit/llm-gateway/failing_disk.h"
#include "llm-gateway/budget/frame_file.h"
#include "llm-gateway/budget/syncer.h"

static char folder[PATH_MAX], path[PATH_MAX + 16];
static struct atoll_syncer *syncer;

/* The disk waits for the gate, and fails as often as it is told to. */
static struct {
    pthread_mutex_t gate;
    int failures, syncs;
    struct atoll_frame_file_ops ops;
} disk = {.gate = PTHREAD_MUTEX_INITIALIZER};

static int gated_fdatasync(void *context, int fd)
{
    pthread_mutex_lock(&disk.gate);
    int fails = disk.failures > 0;
    disk.failures -= fails;
    disk.syncs++;
    pthread_mutex_unlock(&disk.gate);
    errno = ENOSPC;
    return fails ? -1 : 0;
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/frames", folder);
    disk.failures = disk.syncs = 0;
    disk.ops = *atoll_frame_file_real_ops();
    disk.ops.fdatasync = gated_fdatasync;
    syncer = atoll_syncer_create(&err);
    assert_non_null(syncer);
    return 0;
}

static int tear_down(void **state)
{
    atoll_syncer_destroy(syncer);
    scratch_remove(folder);
    return 0;
}

static struct atoll_frame_file *must_open(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame_file *file = atoll_frame_file_open(path, ATOLL_FRAME_FILE_WRITE, &disk.ops, &err);
    if (!file)
        fail_msg("%s", err.text);
    return file;
}

static uint64_t must_append(struct atoll_frame_file *file, unsigned value)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer payload;
    uint64_t offset;
    atoll_buffer_init(&payload, 100);
    atoll_buffer_put_u32(&payload, value);
    if (atoll_frame_file_append(file, 500, &payload, &offset, &err) != 0)
        fail_msg("%s", err.text);
    atoll_buffer_fini(&payload);
    return offset;
}

static void must(int rc, const struct atoll_err *err)
{
    if (rc != 0)
        fail_msg("%s", err->text);
}

static void expect_record(struct atoll_frame_file *file, uint64_t offset, unsigned value)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    struct atoll_frame record;
    struct atoll_reader in;
    unsigned char first[4];
    size_t length;
    atoll_buffer_init(&bytes, 1000);
    must(atoll_frame_file_read(file, offset, &bytes, &record, &err), &err);
    atoll_reader_init(&in, record.payload, record.length);
    assert_int_equal(atoll_reader_u32(&in), value);
    must(atoll_frame_file_peek(file, offset, first, sizeof first, &length, &err), &err);
    assert_int_equal(first[0], value);
    atoll_buffer_fini(&bytes);
}

static int count_record(void *context, uint64_t offset, const struct atoll_frame *record,
                        struct atoll_err *err)
{
    unsigned *count = context;
    struct atoll_reader in;
    atoll_reader_init(&in, record->payload, record->length);
    assert_int_equal(atoll_reader_u32(&in), *count);
    ++*count;
    return 0;
}

/* What another process would read now. */
static void expect_count(unsigned expected)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned count = 0;
    struct atoll_frame_file *file = atoll_frame_file_open(path, ATOLL_FRAME_FILE_READ, NULL, &err);
    must(file ? atoll_frame_file_scan(file, 0, count_record, &count, &err) : -1, &err);
    assert_int_equal(count, expected);
    atoll_frame_file_close(file);
}

static enum atoll_frame_file_sync await_end(struct atoll_frame_file *file)
{
    enum atoll_frame_file_sync end;
    while ((end = atoll_frame_file_sync_end(file)) == ATOLL_SYNC_RUNS)
        usleep(1000);
    return end;
}

static void a_write_is_read_by_others_and_not_synced(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame_file *file = must_open();
    must_append(file, 0);
    must(atoll_frame_file_write(file, &err), &err); /* the first record: of a file that must be there */
    assert_int_equal(disk.syncs, 1);
    assert_true(atoll_frame_file_is_synced(file));
    must_append(file, 1);
    expect_count(1);
    must(atoll_frame_file_write(file, &err), &err);
    assert_int_equal(disk.syncs, 1);
    assert_false(atoll_frame_file_is_dirty(file));
    assert_false(atoll_frame_file_is_synced(file));
    expect_count(2);
    must(atoll_frame_file_sync(file, &err), &err);
    assert_int_equal(disk.syncs, 2);
    assert_true(atoll_frame_file_is_synced(file));
    must(atoll_frame_file_sync(file, &err), &err);
    assert_int_equal(disk.syncs, 2);
    atoll_frame_file_close(file);
}

static void work_goes_on_while_a_sync_does(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame_file *file = must_open();
    uint64_t at[5];
    at[0] = must_append(file, 0);
    must(atoll_frame_file_sync(file, &err), &err);
    assert_int_equal(atoll_frame_file_sync_end(file), ATOLL_SYNC_NONE);
    at[1] = must_append(file, 1);
    pthread_mutex_lock(&disk.gate);
    must(atoll_frame_file_sync_begin(file, syncer, &err), &err);
    assert_int_equal(atoll_frame_file_sync_end(file), ATOLL_SYNC_RUNS);
    at[2] = must_append(file, 2);
    must(atoll_frame_file_write(file, &err), &err);
    at[3] = must_append(file, 3);
    at[4] = must_append(file, 99);
    atoll_frame_file_take_back(file, at[4]);
    for (unsigned i = 0; i < 4; i++)
        expect_record(file, at[i], i);
    expect_count(3);
    pthread_mutex_unlock(&disk.gate);
    assert_int_equal(await_end(file), ATOLL_SYNC_ENDED);
    assert_false(atoll_frame_file_is_synced(file));
    assert_true(atoll_frame_file_is_dirty(file));
    for (unsigned i = 0; i < 4; i++)
        expect_record(file, at[i], i);
    must(atoll_frame_file_sync(file, &err), &err);
    expect_count(4);
    atoll_frame_file_close(file);
}

/* The kernel may have dropped what it could not sync: here all of it, the bytes on the disk are others. */
static void a_sync_that_failed_is_done_again(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame_file *file = must_open();
    must_append(file, 0);
    must(atoll_frame_file_sync(file, &err), &err);
    uint64_t from = must_append(file, 1);
    disk.failures = 2;
    must(atoll_frame_file_sync_begin(file, syncer, &err), &err);
    must_append(file, 2);
    assert_int_equal(await_end(file), ATOLL_SYNC_FAILED);
    assert_true(atoll_frame_file_is_dirty(file));
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "dropped", 7, (off_t)from), 7);
    close(fd);
    assert_int_equal(atoll_frame_file_write(file, &err), -1); /* it syncs at once, and that fails, too */
    assert_int_equal(err.code, ATOLL_E_FULL);
    assert_true(atoll_frame_file_is_dirty(file));
    atoll_err_clear(&err);
    must(atoll_frame_file_write(file, &err), &err);
    assert_int_equal(disk.syncs, 4);
    assert_true(atoll_frame_file_is_synced(file));
    expect_count(3);
    atoll_frame_file_close(file);
}

/* An error is told once, to whoever syncs first. */
static void a_sync_in_place_waits_for_the_one_behind(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame_file *file = must_open();
    must_append(file, 0);
    must(atoll_frame_file_sync(file, &err), &err);
    uint64_t from = must_append(file, 1);
    disk.failures = 1;
    must(atoll_frame_file_sync_begin(file, syncer, &err), &err);
    for (int syncs = 0; syncs < 2; usleep(1000)) {
        pthread_mutex_lock(&disk.gate);
        syncs = disk.syncs;
        pthread_mutex_unlock(&disk.gate);
    }
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "dropped", 7, (off_t)from), 7);
    close(fd);
    must(atoll_frame_file_sync(file, &err), &err);
    assert_int_equal(atoll_frame_file_sync_end(file), ATOLL_SYNC_NONE);
    expect_count(2);
    atoll_frame_file_close(file);
}

static void closing_waits_for_a_sync(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame_file *file = must_open();
    must_append(file, 0);
    must(atoll_frame_file_sync(file, &err), &err);
    must_append(file, 1);
    must(atoll_frame_file_sync_begin(file, syncer, &err), &err);
    must_append(file, 2); /* not even written */
    atoll_frame_file_close(file);
    assert_int_equal(disk.syncs, 2);
    expect_count(2);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_write_is_read_by_others_and_not_synced),
        CASE(work_goes_on_while_a_sync_does),
        CASE(a_sync_that_failed_is_done_again),
        CASE(a_sync_in_place_waits_for_the_one_behind),
        CASE(closing_waits_for_a_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
