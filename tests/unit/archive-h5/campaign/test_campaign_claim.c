/* The right to write a campaign: lease and lock together, on file systems with locks and without. */
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "archive-h5/hdf5/verify_file.h"
#include "tests/unit/archive-h5/scratch.h"

static char root[PATH_MAX], target[PATH_MAX];
static struct atoll_lease_holder self;

/* A file system that has no locks; of the linker (--wrap). */
static int lock_errno;
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
    if (command == F_OFD_SETLK && lock_errno) {
        errno = lock_errno;
        return -1;
    }
    return __real_fcntl(fd, command, argument);
}

static struct atoll_campaign *create(struct atoll_err *err)
{
    static char task_dir[PATH_MAX];
    snprintf(task_dir, sizeof(task_dir), "%s/suites/starter/transpose", ATOLL_SOURCE_DIR);
    const struct atoll_campaign_task task = {"transpose", task_dir, atoll_id_of("t", 1)};
    struct atoll_config config = {.engine_version = 1, .task_count = 1, .tasks = &task};
    config.id = atoll_id_of("campaign", 8);
    config.created_unix_ns = 5;
    atoll_search_defaults(&config.search);
    snprintf(config.atoll_version, sizeof(config.atoll_version), "%s", ATOLL_VERSION);
    return atoll_campaign_create(target, &config, NULL, err);
}

static int setup(void **state)
{
    (void)state;
    lock_errno = 0;
    scratch_make(root);
    snprintf(target, sizeof(target), "%.4000s/c", root);
    atoll_lease_holder_self("local", 0, &self);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_campaign *c = create(&err);
    if (!c)
        fail_msg("%s", err.text);
    atoll_campaign_close(c);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

static struct atoll_campaign *claimed(uint32_t silent_epoch, enum atoll_campaign_hold want)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    enum atoll_campaign_hold hold;
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, &err);
    assert_non_null(c);
    if (atoll_campaign_claim(c, &self, silent_epoch, &hold, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(hold, want);
    return c;
}

static struct atoll_journal *start(struct atoll_campaign *c, const char *job, uint32_t number)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_attempt *attempts;
    size_t count;
    struct atoll_journal *j = atoll_campaign_start_attempt(c, job, 1, 5, NULL, &err);
    if (!j)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_campaign_attempts(c, &attempts, &count, NULL), 0);
    assert_int_equal(attempts[count - 1].header.attempt, number);
    free(attempts);
    return j;
}

static void write_events(struct atoll_journal *j, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct atoll_event e;
        uint64_t number;
        sample_tick(&e, (int64_t)atoll_journal_next_event(j));
        assert_int_equal(atoll_journal_append_event(j, &e, &number, NULL), 0);
        assert_int_equal(atoll_journal_append_decisions(j, number, NULL, 0, NULL), 0);
    }
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
}

static void test_epochs_number_attempts(void **state)
{
    (void)state;
    for (uint32_t epoch = 1; epoch < 4; epoch++) {
        struct atoll_campaign *c = claimed(0, ATOLL_HOLD_LOCKED);
        assert_int_equal(atoll_lease_epoch(atoll_campaign_lease(c)), epoch);
        atoll_journal_destroy(start(c, "local", epoch));
        assert_int_equal(atoll_campaign_claim(c, &self, 0, NULL, NULL), -1); /* it has it */
        atoll_campaign_close(c);
    }
}

/* A campaign of an Atoll that knew no leases. */
static void test_claims_follow_old_attempts(void **state)
{
    (void)state;
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_lock(c, NULL), 0);
    for (uint32_t i = 0; i < 4; i++)
        atoll_journal_destroy(start(c, "local", i));
    atoll_campaign_close(c);
    c = claimed(0, ATOLL_HOLD_LOCKED);
    atoll_journal_destroy(start(c, "local", 4));
    atoll_campaign_close(c);
}

static pid_t child_that_holds(int with_lease)
{
    int ready[2];
    char ok;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct atoll_lease_holder own;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
        atoll_lease_holder_self("local", 0, &own);
        struct atoll_campaign *mine = atoll_campaign_open(target, NULL, NULL);
        ok = mine && (with_lease ? atoll_campaign_claim(mine, &own, 0, NULL, NULL)
                                 : atoll_campaign_lock(mine, NULL)) == 0;
        if (write(ready[1], &ok, 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &ok, 1), 1);
    assert_int_equal(ok, 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void refused(pid_t by)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char pid[64];
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_claim(c, &self, 0, NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    snprintf(pid, sizeof(pid), "pid %ld on host ", (long)by);
    assert_non_null(strstr(err.text, pid));
    assert_null(atoll_campaign_lease(c));
    atoll_campaign_close(c);
}

static void test_second_run_is_refused(void **state)
{
    (void)state;
    struct atoll_lease_seen seen;
    for (int with_lease = 0; with_lease < 2; with_lease++) { /* without: an Atoll that knows none */
        pid_t child = child_that_holds(with_lease);
        refused(child);
        refused(child);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct atoll_campaign *c = claimed(0, ATOLL_HOLD_LOCKED);
        atoll_campaign_close(c);
        assert_int_equal(atoll_lease_look(target, &self, &seen, NULL), 0);
        assert_int_equal(seen.state, ATOLL_LEASE_RELEASED);
    }
}

/* A stalled owner keeps its lock; its lease is taken over by its silence. */
static void test_stalled_owner(void **state)
{
    (void)state;
    pid_t child = child_that_holds(1);
    kill(child, SIGSTOP);
    refused(child);
    struct atoll_campaign *c = claimed(1, ATOLL_HOLD_PASSED_OVER);
    atoll_journal_destroy(start(c, "local", 2));
    atoll_campaign_close(c);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_no_locks(void **state)
{
    (void)state;
    static const int errors[] = {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL};
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        lock_errno = errors[i];
        atoll_campaign_close(claimed(0, ATOLL_HOLD_NO_LOCKS));
        scratch_remove(target);
        struct atoll_campaign *c = create(&err);
        if (!c)
            fail_msg("%s", err.text);
        atoll_campaign_close(c);
        atoll_campaign_close(claimed(0, ATOLL_HOLD_NO_LOCKS));
    }
    lock_errno = EIO; /* a lock that fails is none that is missing */
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_claim(c, &self, 0, NULL, NULL), -1);
    atoll_campaign_close(c);
}

static void quarantine_told(void *context, int is_problem, const char *line)
{
    assert_int_equal(is_problem, 0);
    if (strstr(line, "6 records of attempt local.0 written after its lease was lost are kept aside"))
        *(int *)context += 1;
}

/* What the one who lost the lease still writes, and an attempt that it still begins. */
static void test_late_records_are_kept_aside(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    struct atoll_verify_report verified;
    int told = 0;
    struct atoll_campaign *old = claimed(0, ATOLL_HOLD_LOCKED);
    struct atoll_journal *j = start(old, "local", 1);
    write_events(j, 3);
    struct atoll_campaign *next = claimed(1, ATOLL_HOLD_PASSED_OVER);
    struct atoll_journal *k = start(next, "17", 2);
    write_events(j, 3);
    write_events(k, 2);
    assert_null(atoll_campaign_start_attempt(old, "local", 1, 5, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "attempt 2 has begun while this process held epoch 1"));
    assert_int_equal(atoll_campaign_replay(next, NULL, NULL, &report, NULL), 0);
    assert_int_equal(report.event_count, 5);
    assert_int_equal(report.quarantined_records, 6);
    assert_int_equal(report.quarantined_count, 1);
    assert_string_equal(report.quarantined[0].attempt, "local.0");
    assert_int_equal(atoll_verify_path(target, quarantine_told, &told, &verified, &err), 0);
    assert_int_equal(told, 1);
    assert_int_equal(verified.problems, 0);
    atoll_journal_destroy(j);
    atoll_journal_destroy(k);
    atoll_campaign_close(old);
    atoll_campaign_close(next);
}

static void count_life(void *context)
{
    ++*(unsigned *)context;
}

static void test_reading_shows_life(void **state)
{
    (void)state;
    unsigned life = 0;
    struct atoll_campaign *c = claimed(0, ATOLL_HOLD_LOCKED);
    atoll_campaign_on_life(c, count_life, &life);
    struct atoll_journal *j = start(c, "local", 1);
    write_events(j, 10);
    life = 0;
    assert_int_equal(atoll_campaign_replay(c, NULL, NULL, NULL, NULL), 0);
    assert_true(life >= 20);
    atoll_journal_destroy(j);
    atoll_campaign_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_epochs_number_attempts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_claims_follow_old_attempts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_second_run_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stalled_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_locks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_records_are_kept_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reading_shows_life, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
