/* test_syncer.c - jobs are done in order, elsewhere; their errors come back. */
#include "tests/support/expect.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "llm-gateway/budget/syncer.h"

struct record {
    pthread_mutex_t gate; /* held by the test: the first job waits */
    pthread_t owner;
    int fds[8];
    int count, is_elsewhere;
};

static int note(void *context, int fd)
{
    struct record *record = context;
    pthread_mutex_lock(&record->gate);
    record->fds[record->count++] = fd;
    record->is_elsewhere = !pthread_equal(record->owner, pthread_self());
    pthread_mutex_unlock(&record->gate);
    errno = fd == 2 ? EIO : 0;
    return fd == 2 ? -1 : 0;
}

static struct atoll_syncer *must_create(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_syncer *syncer = atoll_syncer_create(&err);
    if (!syncer)
        fail_msg("%s", err.text);
    return syncer;
}

static void begin(struct record *record, struct atoll_syncer_job *jobs, int count)
{
    *record = (struct record){.owner = pthread_self()};
    pthread_mutex_init(&record->gate, NULL);
    for (int i = 0; i < count; i++)
        jobs[i] = (struct atoll_syncer_job){.sync = note, .context = record, .fd = i + 1};
}

static int is_readable(const struct atoll_syncer *syncer, int wait_ms)
{
    struct pollfd poll_fd = {.fd = atoll_syncer_fd(syncer), .events = POLLIN};
    return poll(&poll_fd, 1, wait_ms) == 1;
}

static void jobs_are_done_elsewhere_in_order(void **state)
{
    struct atoll_syncer *syncer = must_create();
    struct record record;
    struct atoll_syncer_job jobs[3];
    begin(&record, jobs, 3);
    pthread_mutex_lock(&record.gate);
    for (int i = 0; i < 3; i++)
        atoll_syncer_start(syncer, &jobs[i]);
    assert_false(atoll_syncer_is_done(syncer, &jobs[0]));
    assert_false(is_readable(syncer, 0));
    pthread_mutex_unlock(&record.gate);
    atoll_syncer_wait(syncer, &jobs[2]);
    for (int i = 0; i < 3; i++) {
        assert_true(atoll_syncer_is_done(syncer, &jobs[i]));
        assert_int_equal(record.fds[i], i + 1);
        assert_int_equal(jobs[i].error, i == 1 ? EIO : 0);
    }
    assert_true(record.is_elsewhere);
    atoll_syncer_destroy(syncer);
}

static void the_end_of_a_job_rings(void **state)
{
    struct atoll_syncer *syncer = must_create();
    struct record record;
    struct atoll_syncer_job job;
    begin(&record, &job, 1);
    for (int round = 0; round < 3; round++) {
        atoll_syncer_start(syncer, &job);
        assert_true(is_readable(syncer, 60000));
        atoll_syncer_wait(syncer, &job);
        atoll_syncer_quiet(syncer);
        assert_false(is_readable(syncer, 0));
    }
    assert_int_equal(record.count, 3);
    atoll_syncer_destroy(syncer);
}

static void what_was_started_is_done_before_the_end(void **state)
{
    struct atoll_syncer *syncer = must_create();
    struct record record;
    struct atoll_syncer_job jobs[8];
    begin(&record, jobs, 8);
    for (int i = 0; i < 8; i++)
        atoll_syncer_start(syncer, &jobs[i]);
    atoll_syncer_destroy(syncer);
    assert_int_equal(record.count, 8);
    atoll_syncer_destroy(must_create());
    atoll_syncer_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_done_elsewhere_in_order),
        cmocka_unit_test(the_end_of_a_job_rings),
        cmocka_unit_test(what_was_started_is_done_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
