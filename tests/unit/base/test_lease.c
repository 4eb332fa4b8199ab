/* Claims of a folder: who gets them, who loses them, and what is left when a write fails or a process dies. */
#include "tests/support/expect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/lease.h"
#include "tests/unit/archive-h5/scratch.h"
#include "tests/unit/archive-h5/faulty_ops.h"
#include "tests/unit/archive-h5/volatile_disk.h"

static char dir[PATH_MAX];
static struct atoll_lease_holder self;

static int setup(void **state)
{
    (void)state;
    scratch_make(dir);
    atoll_lease_holder_self("local", 0, &self);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static struct atoll_lease *claim(uint32_t silent_epoch)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease *lease = atoll_lease_claim(dir, &self, silent_epoch, NULL, &err);
    if (!lease)
        fail_msg("%s", err.text);
    return lease;
}

static struct atoll_lease_seen look(void)
{
    struct atoll_lease_seen seen;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_lease_look(dir, &self, &seen, &err) != 0)
        fail_msg("%s", err.text);
    return seen;
}

/* Names below lease/: numbers, and all others (prepared files). */
static void count_files(unsigned *ret_claims, unsigned *ret_others)
{
    char path[PATH_MAX];
    DIR *d = opendir(scratch_join(path, dir, "lease"));
    *ret_claims = *ret_others = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        (*(e->d_name[0] == '.' ? ret_others : ret_claims))++;
    }
    if (d)
        closedir(d);
}

static void check_tidy(void)
{
    unsigned claims, others;
    count_files(&claims, &others);
    assert_int_equal(claims, 1);
    assert_int_equal(others, 0);
}

static void test_claim_and_release(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(look().state, ATOLL_LEASE_FREE);
    assert_int_equal(look().epoch, 0);
    for (uint32_t epoch = 1; epoch < 5; epoch++) {
        struct atoll_lease *lease = claim(0);
        assert_int_equal(atoll_lease_epoch(lease), epoch);
        assert_int_equal(atoll_lease_before(lease).epoch, epoch - 1);
        assert_int_equal(atoll_lease_before(lease).state,
                         epoch == 1 ? ATOLL_LEASE_FREE : ATOLL_LEASE_RELEASED);
        struct atoll_lease_seen seen = look();
        assert_int_equal(seen.state, ATOLL_LEASE_HELD);
        assert_int_equal(seen.epoch, epoch);
        assert_int_equal(seen.holder.pid, getpid());
        assert_string_equal(seen.holder.host, self.host);
        assert_string_equal(seen.holder.boot, self.boot);
        assert_int_equal(seen.holder.pid_start, self.pid_start);
        uint64_t beat = seen.beat;
        assert_int_equal(atoll_lease_renew(lease, &err), 0);
        assert_int_equal(look().beat, beat + 1);
        check_tidy();
        atoll_lease_release(lease);
        assert_int_equal(look().state, ATOLL_LEASE_RELEASED);
    }
    atoll_lease_release(NULL);
}

static void test_busy_names_the_holder(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char pid[128];
    struct atoll_lease *lease = claim(0);
    assert_null(atoll_lease_claim(dir, &self, 0, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_BUSY);
    snprintf(pid, sizeof(pid), "pid %ld on host %s", (long)getpid(), self.host);
    assert_non_null(strstr(err.text, pid));
    assert_non_null(strstr(err.text, "job local"));
    assert_non_null(strstr(err.text, "--takeover 1"));
    assert_null(atoll_lease_claim(dir, &self, 7, NULL, &err)); /* another epoch was watched */
    assert_int_equal(err.code, ATOLL_E_BUSY);
    atoll_lease_release(lease);
}

static void test_silent_holder_is_taken_over(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease *old = claim(0), *next = claim(1);
    assert_int_equal(atoll_lease_epoch(next), 2);
    assert_int_equal(atoll_lease_before(next).state, ATOLL_LEASE_HELD);
    check_tidy(); /* also what the old one holds is removed */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atoll_lease_renew(old, &err), -1);
        assert_int_equal(err.code, ATOLL_E_BUSY);
        assert_non_null(strstr(err.text, "epoch 1 of this process was taken over by epoch 2"));
    }
    atoll_lease_release(old); /* marks nothing: it is not its own any more */
    assert_int_equal(look().state, ATOLL_LEASE_HELD);
    assert_int_equal(atoll_lease_renew(next, NULL), 0);
    atoll_lease_release(next);
}

static pid_t child_that_claims(void)
{
    int ready[2];
    char ok;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct atoll_lease_holder own;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
        atoll_lease_holder_self("local", 0, &own);
        ok = atoll_lease_claim(dir, &own, 0, NULL, NULL) != NULL;
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

static void test_dead_holder(void **state)
{
    (void)state;
    struct atoll_lease_seen seen;
    pid_t child = child_that_claims();
    assert_int_equal(look().state, ATOLL_LEASE_HELD);
    kill(child, SIGSTOP); /* stalled is not dead */
    assert_int_equal(look().state, ATOLL_LEASE_HELD);
    kill(child, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(look().state, ATOLL_LEASE_DEAD); /* a zombie still */
    waitpid(child, NULL, 0);
    assert_int_equal(look().state, ATOLL_LEASE_DEAD);
    assert_int_equal(atoll_lease_look(dir, NULL, &seen, NULL), 0);
    assert_int_equal(seen.state, ATOLL_LEASE_HELD); /* nobody to judge from */
    struct atoll_lease_holder far = self;           /* on another host */
    snprintf(far.host, sizeof(far.host), "another");
    far.boot[0] = far.boot[0] == 'f' ? '0' : 'f';
    assert_int_equal(atoll_lease_look(dir, &far, &seen, NULL), 0);
    assert_int_equal(seen.state, ATOLL_LEASE_HELD);
    struct atoll_lease *lease = claim(0);
    assert_int_equal(atoll_lease_epoch(lease), 2);
    assert_int_equal(atoll_lease_before(lease).state, ATOLL_LEASE_DEAD);
    atoll_lease_release(lease);
}

/* The same host under another kernel; the same kernel in another pid namespace is no proof, nor is a name of any host. */
static void test_rebooted_host(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        int digit; /* of boot that differs: of the kernel or of the namespace */
        enum atoll_lease_state state;
    } cases[] = {
        {"node7", 0, ATOLL_LEASE_DEAD}, {"node7", 38, ATOLL_LEASE_HELD}, {"localhost", 0, ATOLL_LEASE_HELD}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_lease_seen seen;
        struct atoll_lease_holder before = self;
        snprintf(before.host, sizeof(before.host), "%s", cases[i].host);
        struct atoll_lease *lease = atoll_lease_claim(dir, &before, 0, NULL, NULL);
        assert_non_null(lease);
        struct atoll_lease_holder later = before;
        char *digit = &later.boot[cases[i].digit];
        *digit = *digit == 'f' ? '0' : 'f';
        assert_int_equal(atoll_lease_look(dir, &later, &seen, NULL), 0);
        assert_int_equal(seen.state, cases[i].state);
        atoll_lease_release(lease);
    }
}

static void test_same_pid_of_another_process(void **state)
{
    (void)state;
    struct atoll_lease_holder before = self;
    before.pid_start = self.pid_start + 1;
    struct atoll_lease *lease = atoll_lease_claim(dir, &before, 0, NULL, NULL);
    assert_non_null(lease);
    assert_int_equal(look().state, ATOLL_LEASE_DEAD);
    atoll_lease_release(lease);
}

/* A requeued job has its id and one restart more; its former node cannot be asked. */
static void test_requeued_job(void **state)
{
    (void)state;
    struct atoll_lease_seen seen;
    struct atoll_lease_holder first = self, second = self;
    memset(first.boot, (int)'0', 32);
    snprintf(first.host, sizeof(first.host), "gone");
    snprintf(first.job, sizeof(first.job), "4711");
    snprintf(second.job, sizeof(second.job), "4711");
    struct atoll_lease *lease = atoll_lease_claim(dir, &first, 0, NULL, NULL);
    assert_non_null(lease);
    assert_int_equal(atoll_lease_look(dir, &second, &seen, NULL), 0);
    assert_int_equal(seen.state, ATOLL_LEASE_HELD);
    second.restarts = 1;
    assert_int_equal(atoll_lease_look(dir, &second, &seen, NULL), 0);
    assert_int_equal(seen.state, ATOLL_LEASE_DEAD);
    struct atoll_lease *next = atoll_lease_claim(dir, &second, 0, NULL, NULL);
    assert_non_null(next);
    assert_int_equal(atoll_lease_renew(lease, NULL), -1);
    atoll_lease_release(lease);
    atoll_lease_release(next);
}

static void test_claims_continue_after_attempts(void **state)
{
    (void)state;
    struct atoll_lease *lease = atoll_lease_claim_after(dir, &self, 0, 41, NULL, NULL);
    assert_non_null(lease);
    assert_int_equal(atoll_lease_epoch(lease), 42);
    check_tidy();
    atoll_lease_release(lease);
    lease = atoll_lease_claim_after(dir, &self, 0, 7, NULL, NULL);
    assert_non_null(lease);
    assert_int_equal(atoll_lease_epoch(lease), 43);
    atoll_lease_release(lease);
    lease = atoll_lease_claim_after(dir, &self, 0, 1000, NULL, NULL);
    assert_non_null(lease);
    assert_int_equal(atoll_lease_epoch(lease), 1001);
    check_tidy();
    atoll_lease_release(lease);
}

/* What a claimer that slept between looking and linking finds: its number is free again, the one before is not there. */
static struct atoll_lease *slept_claims[4];
static int slept_link(void *context, const char *from, const char *to)
{
    (void)context;
    for (int i = 0; i < 4; i++) {
        slept_claims[i] = claim(0);
        atoll_lease_release(slept_claims[i]);
    }
    return link(from, to);
}

static void test_a_number_is_never_won_twice(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_file_ops ops = *atoll_file_ops_real();
    atoll_lease_release(claim(0));
    ops.link = slept_link;
    assert_null(atoll_lease_claim(dir, &self, 0, &ops, &err)); /* would be 2, which is gone: 5 is newest */
    assert_int_equal(err.code, ATOLL_E_BUSY);
    struct atoll_lease *lease = claim(0);
    assert_int_equal(atoll_lease_epoch(lease), 6);
    check_tidy();
    atoll_lease_release(lease);
}

/* The server made the link, its answer got lost. */
static int lost_link(void *context, const char *from, const char *to)
{
    (void)context;
    if (link(from, to) != 0)
        return -1;
    errno = EIO;
    return -1;
}

static int no_link(void *context, const char *from, const char *to)
{
    (void)context;
    (void)from;
    (void)to;
    errno = EPERM;
    return -1;
}

static void test_odd_links(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_file_ops ops = *atoll_file_ops_real();
    for (int i = 0; i < 2; i++) {
        ops.link = i ? no_link : lost_link;
        struct atoll_lease *lease = atoll_lease_claim(dir, &self, 0, &ops, &err);
        if (!lease)
            fail_msg("%s", err.text);
        assert_int_equal(atoll_lease_epoch(lease), i + 1);
        assert_int_equal(look().holder.pid, getpid());
        assert_null(atoll_lease_claim(dir, &self, 0, &ops, &err));
        assert_int_equal(err.code, ATOLL_E_BUSY);
        assert_int_equal(atoll_lease_renew(lease, NULL), 0);
        check_tidy();
        atoll_lease_release(lease);
    }
}

/* Whatever call fails: an error is told and the next claim works, or the claim works in spite of it. */
static void test_every_write_fails_once(void **state)
{
    (void)state;
    for (int fault = FAULT_SHORT; fault <= FAULT_PARTIAL_THEN_FULL; fault++) {
        long calls = 16; /* at least; a claim that fails early makes fewer */
        for (long at = 0; at < calls; at++) {
            struct faulty f;
            struct atoll_err err = ATOLL_ERR_INIT;
            const struct atoll_file_ops *ops = faulty_init(&f, (enum fault)fault, at);
            struct atoll_lease *lease = atoll_lease_claim(dir, &self, 0, ops, &err);
            if (lease) {
                int failed = atoll_lease_renew(lease, &err);
                assert_true(failed == 0 || err.code != ATOLL_E_BUSY);
                atoll_err_clear(&err);
                if (failed && atoll_lease_renew(lease, &err) != 0)
                    fail_msg("fault %d at call %ld: renewed again: %s", fault, at, err.text);
                atoll_lease_release(lease);
            } else if (err.code == ATOLL_E_BUSY) {
                fail_msg("fault %d at call %ld: %s", fault, at, err.text);
            }
            calls = f.calls > calls ? f.calls : calls;
            if (look().state != ATOLL_LEASE_RELEASED && look().state != ATOLL_LEASE_FREE)
                fail_msg("fault %d at call %ld: state %d is left", fault, at, look().state);
            atoll_lease_release(claim(0));
        }
    }
    check_tidy();
}

/* Power goes at every step: what is left can be claimed, and epochs that were told stay behind the next. */
static void test_power_loss(void **state)
{
    (void)state;
    int has_claimed = 0;
    for (long at = 0; !has_claimed; at++) {
        char after[PATH_MAX];
        struct volatile_disk *disk = disk_create(dir, at);
        struct atoll_lease *lease = atoll_lease_claim(dir, &self, 0, &disk->ops, NULL);
        uint32_t told = lease ? atoll_lease_epoch(lease) : 0;
        has_claimed = told > 0;
        snprintf(after, sizeof(after), "%.4000s.after", dir);
        disk_power_loss(disk, after);
        struct atoll_lease_seen seen;
        assert_int_equal(atoll_lease_look(after, NULL, &seen, NULL), 0);
        assert_true(seen.epoch >= told);
        struct atoll_lease *next = atoll_lease_claim(after, &self, seen.epoch, NULL, NULL);
        assert_non_null(next);
        assert_true(atoll_lease_epoch(next) > told);
        atoll_lease_release(next);
        scratch_remove(after);
        atoll_lease_release(lease);
        disk_destroy(disk);
        scratch_remove(dir);
        assert_int_equal(mkdir(dir, 0777), 0);
    }
}

static void test_torn_files(void **state)
{
    (void)state;
    char path[PATH_MAX], bytes[1024];
    size_t length;
    struct atoll_lease *lease = claim(0);
    char *good = scratch_read(scratch_join(path, dir, "lease/000001"), &length);
    for (size_t cut = 0; cut <= length; cut++) { /* every prefix, and every byte another one */
        scratch_write(path, good, cut);
        if (cut < length)
            assert_int_equal(look().state, ATOLL_LEASE_HELD);
        memcpy(bytes, good, length);
        if (cut < length) {
            uint64_t beat = look().beat;
            bytes[cut] ^= 1;
            scratch_write(path, bytes, length);
            assert_int_equal(look().state, ATOLL_LEASE_HELD);
            assert_int_equal(look().epoch, 1);
            assert_true(look().beat != beat);
        }
    }
    free(good);
    scratch_write(path, "", 0);
    struct atoll_lease *next = claim(1); /* who watched it stand still may go on */
    assert_int_equal(atoll_lease_epoch(next), 2);
    atoll_lease_release(lease);
    atoll_lease_release(next);
}

static void test_watch(void **state)
{
    (void)state;
    struct atoll_lease_watch watch = {.is_started = 0};
    struct atoll_lease_seen seen = {.state = ATOLL_LEASE_HELD, .epoch = 3, .beat = 7};
    assert_true(atoll_lease_watch_note(&watch, &seen, 5e9) == 0);
    assert_true(atoll_lease_watch_note(&watch, &seen, 95e9) == 90);
    seen.beat++;
    assert_true(atoll_lease_watch_note(&watch, &seen, 96e9) == 0);
    assert_true(atoll_lease_watch_note(&watch, &seen, 97e9) == 1);
    seen.epoch++;
    assert_true(atoll_lease_watch_note(&watch, &seen, 98e9) == 0);
}

static void test_prepared_files_are_swept(void **state)
{
    (void)state;
    char path[PATH_MAX], name[256];
    unsigned claims, others;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    struct atoll_lease *lease = claim(0);
    snprintf(name, sizeof(name), "lease/.claim+%ld+12345+%s+0123456789abcdef", (long)child, self.boot);
    scratch_write(scratch_join(path, dir, name), "", 0); /* of a process that is gone */
    snprintf(name, sizeof(name), "lease/.claim+%ld+%llu+%s+0123456789abcdef", (long)getpid(),
             (unsigned long long)self.pid_start, self.boot);
    scratch_write(scratch_join(path, dir, name), "", 0); /* of one that lives */
    scratch_write(scratch_join(path, dir, "lease/.claim+1+1+00+ff"), "", 0);
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0); /* of another host, and old */
    count_files(&claims, &others);
    assert_int_equal(others, 3);
    assert_int_equal(atoll_lease_renew(lease, NULL), 0);
    count_files(&claims, &others);
    assert_int_equal(others, 1);
    atoll_lease_release(lease);
}

static void test_removed_by_hand(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease *lease = claim(0);
    assert_int_equal(unlink(scratch_join(path, dir, "lease/000001")), 0);
    assert_int_equal(atoll_lease_renew(lease, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "removed by hand"));
    atoll_lease_release(lease);
}

static void test_no_permission(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    assert_null(atoll_lease_claim(scratch_join(path, dir, "nothing/there"), &self, 0, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    struct faulty f;
    const struct atoll_file_ops *ops = faulty_init(&f, FAULT_FULL, 3);
    atoll_err_clear(&err);
    assert_null(atoll_lease_claim(dir, &self, 0, ops, &err));
    assert_int_equal(err.code, ATOLL_E_FULL);
    assert_non_null(strstr(err.text, "free space"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_claim_and_release, setup, teardown),
        cmocka_unit_test_setup_teardown(test_busy_names_the_holder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silent_holder_is_taken_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dead_holder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rebooted_host, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_pid_of_another_process, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requeued_job, setup, teardown),
        cmocka_unit_test_setup_teardown(test_claims_continue_after_attempts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_number_is_never_won_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_links, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_write_fails_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_power_loss, setup, teardown),
        cmocka_unit_test_setup_teardown(test_torn_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prepared_files_are_swept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_permission, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
