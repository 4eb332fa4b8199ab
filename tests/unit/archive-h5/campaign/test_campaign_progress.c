/* How far a campaign is: at each step of its writer the answer is what a replay of everything gives, whatever became of
 * progress.json. */
#include "tests/support/expect.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/archive-h5/progress_scene.h"

static void test_fresh(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    struct atoll_campaign_progress s;
    assert_int_equal(atoll_campaign_progress_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    struct atoll_campaign *c = create();
    assert_false(has_hint());
    mkdir(scratch_join(path, target, "jobs/local.0"), 0777); /* killed before its journal */
    s = progress_checked();
    assert_int_equal(s.phase, ATOLL_CAMPAIGN_PROGRESS_FRESH);
    assert_int_equal(s.attempt_count, 0);
    assert_int_equal(s.evaluation_budget, 500);
    assert_string_equal(s.hint.tasks[0].name, "softmax");
    atoll_campaign_progress_fini(&s);
    attempt_start(c);
    group_write();
    hint_write();
    journal_path(path, writer.attempt);
    unlink(path);
    assert_false(has_hint()); /* of an attempt that is gone */
    write_end(c);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    attempt_start(c);
    group_write();
    hint_write();
    struct atoll_campaign_progress s = progress_checked();
    assert_true(s.has_hint);
    assert_int_equal(s.walked_bytes, 0);
    assert_int_equal(s.attempt_count, 1);
    assert_int_equal(s.evaluated, 2);
    assert_int_equal(s.duelled, 1);
    assert_true(s.campaign_s == 12.5);
    assert_int_equal(s.last_unix_ns, 1700000001000000000);
    assert_true(s.hint.busy == 0.875 && s.hint.device_s == 10 && s.hint.evaluators == 3);
    assert_true(s.hint.wall_budget_s == 120.5 && s.hint.device_budget_s == 60.25);
    assert_true(s.hint.token_budget == 9000 && s.hint.money_budget_usd == 5.5);
    assert_true(s.hint.tokens == 4500 && s.hint.cost_usd == 0.75);
    assert_true(s.hint.has_asks && s.hint.asks.tokens == 4000 && s.hint.asks.cost_usd == 0.25);
    assert_true(s.hint.tasks[0].final_ratio == 3.5 && s.hint.tasks[0].is_done);
    const struct atoll_campaign_progress_task *first = &s.hint.tasks[0];
    assert_true(first->baseline_lo_ns == 3.5e6 && first->baseline_hi_ns == 4.5e6);
    assert_true(first->best_lo_ns == 0.875e6 && first->best_hi_ns == 1.125e6);
    assert_true(first->final_lo == 3.25 && first->final_hi == 3.75);
    assert_true(first->rival_lo == 1.25 && first->rival_hi == 1.75);
    assert_true(first->rival_lo_ns == 1.375e6 && first->rival_hi_ns == 1.625e6);
    assert_int_equal(first->final_pairs, 16);
    assert_int_equal(first->rival_pairs, 24);
    assert_string_equal(s.hint.tasks[1].model, "a device \"X\"");
    assert_int_equal(s.hint.device_count, 1);
    assert_string_equal(s.hint.devices[0].key, "00000000000000ff");
    assert_string_equal(s.hint.devices[0].node, "n7");
    assert_true(s.hint.devices[0].part_s[ATOLL_TIME_CHECKS] == 0.75);
    struct atoll_device_time time = atoll_campaign_progress_device_time(&s.hint.devices[0]);
    assert_true(atoll_device_time_whole_ns(&time) == 2.5e9);
    atoll_campaign_progress_fini(&s);
    group_write();
    s = progress_checked();
    assert_int_equal(s.evaluated, 4);
    assert_true(s.walked_bytes > 0 && s.walked_bytes < atoll_journal_durable_bytes(writer.journal));
    assert_true(s.campaign_s < 1); /* the events' word, not the hint's */
    atoll_campaign_progress_fini(&s);
    write_end(c);
}

/* The journal is cut at every byte, with a hint of each earlier moment: a kill, a loss of power, and a copy that has less
 * than the hint says. */
static void test_killed_anywhere(void **state)
{
    (void)state;
    enum { GROUPS = 3 };
    struct atoll_campaign *c = create();
    char path[PATH_MAX], *hints[GROUPS + 1];
    size_t lengths[GROUPS + 1], length;
    uint64_t bytes_at[GROUPS + 1];
    attempt_start(c);
    journal_path(path, writer.attempt);
    for (int g = 0; g <= GROUPS; g++) {
        if (g > 0)
            group_write();
        hint_write();
        hints[g] = scratch_read(hint_path, &lengths[g]);
        bytes_at[g] = atoll_journal_durable_bytes(writer.journal);
    }
    char *journal = scratch_read(path, &length);
    for (int g = 0; g <= GROUPS; g++) {
        scratch_write(hint_path, hints[g], lengths[g]);
        for (size_t cut = bytes_at[0]; cut <= length; cut += cut + 40 < length ? 7 : 1) {
            scratch_write(path, journal, cut);
            int has = has_hint();
            if (cut < bytes_at[g])
                assert_false(has);
            if (cut == bytes_at[g])
                assert_true(has);
        }
        free(hints[g]);
    }
    free(journal);
    write_end(c);
}

static void test_older_attempts(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    char path[PATH_MAX];
    size_t first_length, length;
    attempt_start(c);
    group_write();
    hint_write();
    char *first = scratch_read(hint_path, &first_length);
    group_write();
    for (int i = 0; i < 3; i++) {
        attempt_start(c); /* and its first hint is not there yet */
        assert_true(has_hint());
        group_write();
        assert_true(has_hint());
    }
    hint_write();
    group_write();
    assert_true(has_hint());
    scratch_write(hint_path, first, first_length); /* the first owner wakes up */
    assert_true(has_hint());
    /* and has written behind its seal, which nobody counts */
    journal_path(path, "local.0");
    char *journal = scratch_read(path, &length), *more = malloc(2 * length);
    assert_non_null(more);
    memcpy(more, journal, length);
    memcpy(more + length, journal + length / 2, length - length / 2);
    scratch_write(path, more, 2 * length - length / 2);
    assert_true(has_hint());
    char wish[64], *changed = malloc(first_length + 64);
    assert_non_null(changed);
    const char *at = strstr(first, "\"journal_bytes\":"), *rest = strchr(at, ',');
    snprintf(wish, sizeof(wish), "\"journal_bytes\":%zu", length + 1);
    int changed_length =
        snprintf(changed, first_length + 64, "%.*s%s%s", (int)(at - first), first, wish, rest);
    scratch_write(hint_path, changed, (size_t)changed_length);
    assert_false(has_hint());
    free(changed);
    free(more);
    free(journal);
    free(first);
    write_end(c);
}

/* Two attempts continue the same one: the one whose chain is newer counts, and a hint of the other is none. */
static void test_quarantined_attempt(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    char lost[PATH_MAX], aside[PATH_MAX];
    attempt_start(c);
    group_write();
    attempt_start(c);
    group_write();
    hint_write();
    assert_true(has_hint());
    assert_int_equal(rename(scratch_join(lost, target, "jobs/local.1"), scratch_join(aside, dir, "aside")),
                     0);
    writer.evaluated -= 2;
    writer.duelled -= 1;
    atoll_campaign_close(c);
    c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_lock(c, NULL), 0);
    job_start(c, "later");
    job_start(c, "later");
    group_write();
    assert_int_equal(rename(aside, lost), 0);
    struct atoll_campaign_progress s = progress_checked();
    assert_false(s.has_hint);
    assert_int_equal(s.evaluated, 4);
    assert_int_equal(s.attempt_count, 4);
    assert_string_equal(s.attempt, "later.1");
    atoll_campaign_progress_fini(&s);
    hint_write();
    assert_true(has_hint());
    write_end(c);
}

static void test_endings(void **state)
{
    (void)state;
    static const char *const open_reasons[] = {ATOLL_CLOSE_DRAINED, "stopped", "", "evaluations "};
    struct atoll_campaign *c = create();
    for (unsigned i = 0; i < ATOLL_REASON_COUNT + 4; i++) {
        int is_final = i < ATOLL_REASON_COUNT;
        const char *reason =
            is_final ? atoll_reason_name((enum atoll_reason)i) : open_reasons[i - ATOLL_REASON_COUNT];
        attempt_start(c);
        group_write();
        hint_write();
        journal_close(reason);
        struct atoll_campaign_progress s = progress_checked();
        assert_int_equal(s.phase, is_final ? ATOLL_CAMPAIGN_PROGRESS_ENDED : ATOLL_CAMPAIGN_PROGRESS_OPEN);
        assert_string_equal(s.reason, reason);
        assert_true(s.has_hint);
        atoll_campaign_progress_fini(&s);
    }
    attempt_start(c);
    struct atoll_campaign_progress s = progress_checked();
    assert_int_equal(s.phase, ATOLL_CAMPAIGN_PROGRESS_OPEN);
    assert_string_equal(s.reason, "");
    atoll_campaign_progress_fini(&s);
    write_end(c);
}

/* A hint that lies behind the CLOSE record hides it; the segment tells. */
static void test_segment(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_campaign_progress s;
    char name[128], segment[PATH_MAX], path[PATH_MAX];
    size_t length;
    struct atoll_campaign *c = create();
    attempt_start(c);
    group_write();
    uint64_t before = atoll_journal_durable_bytes(writer.journal);
    journal_close("asked");
    hint_write();
    snprintf(name, sizeof(name), "jobs/%s/segment-0000.h5", writer.attempt);
    scratch_write(scratch_join(segment, target, name), "", 0);
    s = progress_checked();
    assert_int_equal(s.phase, ATOLL_CAMPAIGN_PROGRESS_ENDED);
    assert_false(s.has_hint);
    atoll_campaign_progress_fini(&s);
    journal_path(path, writer.attempt);
    char *journal = scratch_read(path, &length);
    scratch_write(path, journal, before);
    assert_int_equal(atoll_campaign_progress_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "segment"));
    free(journal);
    write_end(c);
}

static void test_damage(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_campaign_progress s;
    char path[PATH_MAX];
    size_t length;
    struct atoll_campaign *c = create();
    attempt_start(c);
    group_write();
    attempt_start(c);
    group_write();
    hint_write();
    journal_path(path, "local.0");
    char *journal = scratch_read(path, &length);
    scratch_write(path, journal, length / 2); /* shorter than its seal, but the hint has it counted */
    assert_int_equal(atoll_campaign_progress_read(target, &s, NULL), 0);
    assert_int_equal(s.evaluated, 4);
    atoll_campaign_progress_fini(&s);
    unlink(hint_path);
    assert_int_equal(atoll_campaign_progress_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "sealed"));
    unlink(path);
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_campaign_progress_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "missing"));
    free(journal);
    write_end(c);
}

/* In a process of its own: an attempt that writes until it is killed, and says what it acknowledged. */
static pid_t writer_fork(int *ret_fd)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        close(ends[1]);
        *ret_fd = ends[0];
        return pid;
    }
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    if (!c || atoll_campaign_lock(c, NULL) != 0)
        _exit(1);
    attempt_start(c);
    for (int groups = 0; groups < 20000; groups++) { /* a test that failed leaves no endless writer */
        group_write();
        if (write(ends[1], &writer.evaluated, sizeof(writer.evaluated)) < 0)
            _exit(1);
        hint_write();
    }
    _exit(0);
}

/* While it writes and after it was killed, nothing acknowledged is missing and no reading fails. */
static void test_killed_process(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    atoll_campaign_close(c);
    for (int round = 0; round < 20; round++) {
        struct atoll_campaign_progress s;
        struct atoll_err err = ATOLL_ERR_INIT;
        uint64_t acknowledged = 0;
        int fd, status;
        pid_t pid = writer_fork(&fd);
        for (int groups = 0; groups <= round % 5; groups++) {
            assert_int_equal(read(fd, &acknowledged, sizeof(acknowledged)), sizeof(acknowledged));
            if (atoll_campaign_progress_read(target, &s, &err) != 0)
                fail_msg("round %d: %s", round, err.text);
            assert_true(s.evaluated >= acknowledged);
            atoll_campaign_progress_fini(&s);
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        while (read(fd, &acknowledged, sizeof(acknowledged)) == sizeof(acknowledged))
            ;
        close(fd);
        s = progress_checked();
        assert_true(s.evaluated >= acknowledged);
        writer.evaluated = s.evaluated;
        writer.duelled = s.duelled;
        atoll_campaign_progress_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fresh, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_older_attempts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quarantined_attempt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_endings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_process, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
