/* Jobs of this machine, through the launcher and on disk. */
#include "tests/support/expect.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/launcher/local/local_jobs.h"

#define PATIENCE 600 /* tenths of a second */

static char home[] = "/tmp/atoll-jobs-XXXXXX";
static char root[PATH_MAX];
static struct atoll_launcher *launcher;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;

    if (!mkdtemp(home) || setenv("XDG_STATE_HOME", home, 1) != 0 || atoll_local_root(root, &err) != 0)
        return -1;
    launcher = atoll_launcher_create(ATOLL_LAUNCHER_LOCAL, 0, &err);
    return launcher ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[64];

    atoll_launcher_destroy(launcher);
    snprintf(command, sizeof(command), "rm -rf %s", home);
    return system(command);
}

static void wait_a_bit(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    nanosleep(&pause, NULL);
}

static unsigned long submit(const char *script, unsigned time_min)
{
    struct atoll_job_request request = {
        .name = "t", .script = script, .work_dir = home, .log_path = "log-%j%%.txt", .time_min = time_min};
    struct atoll_err err = ATOLL_ERR_INIT;
    char id[ATOLL_JOB_ID_BYTES];

    if (atoll_launcher_submit(launcher, &request, id, &err) != 0)
        fail_msg("%s", err.text);
    return strtoul(id, NULL, 10);
}

static struct atoll_job ask(unsigned long number)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_job job;
    char id[ATOLL_JOB_ID_BYTES];

    snprintf(id, sizeof(id), "%lu", number);
    assert_int_equal(atoll_launcher_ask(launcher, id, &job, &err), 0);
    return job;
}

static struct atoll_job wait_for(unsigned long number, enum atoll_job_state wanted)
{
    for (int i = 0; i < PATIENCE && ask(number).state != wanted; i++)
        wait_a_bit();
    assert_string_equal(atoll_job_state_name(ask(number).state), atoll_job_state_name(wanted));
    return ask(number);
}

static void cancel(unsigned long number)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char id[ATOLL_JOB_ID_BYTES];

    snprintf(id, sizeof(id), "%lu", number);
    assert_int_equal(atoll_launcher_cancel(launcher, id, &err), 0);
}

/* What a file of the work folder holds, "" when it is not there; number: of the job whose log is meant, with name NULL. */
static const char *text_of(const char *name, unsigned long number)
{
    static char text[4096];
    char path[PATH_MAX];
    FILE *file;
    size_t length = 0;

    if (name)
        snprintf(path, sizeof(path), "%s/%s", home, name);
    else
        snprintf(path, sizeof(path), "%s/log-%lu%%.txt", home, number);
    file = fopen(path, "r");
    if (file) {
        length = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    text[length] = '\0';
    return text;
}

static void wait_text(const char *name, unsigned long number, const char *part)
{
    for (int i = 0; i < PATIENCE && !strstr(text_of(name, number), part); i++)
        wait_a_bit();
    assert_non_null(strstr(text_of(name, number), part));
}

static void wait_gone(pid_t pid)
{
    assert_true(pid > 0);
    for (int i = 0; i < PATIENCE && kill(pid, 0) == 0; i++)
        wait_a_bit();
    assert_int_equal(kill(pid, 0), -1);
}

static void test_jobs_run_one_after_the_other_in_order(void **state)
{
    unsigned long first, second, third, waiting;
    char text[64];

    first = submit("#!/bin/bash\nuntil [ -e go ]; do sleep 0.05; done\necho 1 >> order\n", 0);
    second = submit("#!/bin/bash\necho 2 >> order\nexit 3\n", 0);
    waiting = submit("#!/bin/bash\necho never >> order\n", 0);
    setenv("OF_THE_SUBMITTER", "kept as it was", 1);
    third = submit("#!/bin/bash\necho 3 >> order; echo \"$ATOLL_JOB_ID $OF_THE_SUBMITTER\"\n", 5);
    unsetenv("OF_THE_SUBMITTER");
    assert_true(first < second && second < third);
    assert_int_equal(wait_for(first, ATOLL_JOB_RUNNING).node_count, 1);
    assert_int_equal(ask(second).state, ATOLL_JOB_PENDING);
    cancel(waiting);
    snprintf(text, sizeof(text), "%s/go", home);
    fclose(fopen(text, "w"));
    wait_for(third, ATOLL_JOB_COMPLETED);
    assert_string_equal(text_of("order", 0), "1\n2\n3\n");
    assert_int_equal(ask(first).state, ATOLL_JOB_COMPLETED);
    assert_int_equal(ask(second).state, ATOLL_JOB_FAILED);
    assert_int_equal(ask(second).exit_status, 3);
    assert_int_equal(ask(waiting).state, ATOLL_JOB_CANCELLED);
    snprintf(text, sizeof(text), "%lu kept as it was\n", third);
    assert_string_equal(text_of(NULL, third), text);
}

/* Also what left the script's group and session ends with it. */
static void test_what_a_script_leaves_behind_ends(void **state)
{
    wait_for(submit("#!/bin/bash\nsetsid sleep 600 & echo $! > left\n", 0), ATOLL_JOB_COMPLETED);
    wait_gone((pid_t)strtol(text_of("left", 0), NULL, 10));
}

static void test_a_running_job_is_cancelled_and_requeued(void **state)
{
    unsigned long number = submit("#!/bin/bash\necho try $ATOLL_RESTART_COUNT\n"
                                  "[ $ATOLL_RESTART_COUNT -ge 1 ] || sleep 600\n",
                                  0);
    struct atoll_err err = ATOLL_ERR_INIT;
    char id[ATOLL_JOB_ID_BYTES];

    snprintf(id, sizeof(id), "%lu", number);
    wait_text(NULL, number, "try 0");
    assert_int_equal(atoll_launcher_requeue(launcher, id, &err), 0);
    assert_int_equal(wait_for(number, ATOLL_JOB_COMPLETED).restart_count, 1);
    assert_int_equal(atoll_launcher_requeue(launcher, id, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "cannot be requeued");
    number = submit("#!/bin/bash\nsleep 600\n", 1);
    wait_for(number, ATOLL_JOB_RUNNING);
    assert_true(ask(number).end_unix_s > ask(number).start_unix_s);
    cancel(number);
    wait_for(number, ATOLL_JOB_CANCELLED);
    cancel(number); /* what has ended is no error */
}

static pid_t supervisor_pid(void)
{
    char path[PATH_MAX + 16];
    long pid = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/supervisor", root);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "pid %ld", &pid), 1);
    fclose(file);
    return (pid_t)pid;
}

/* Crash-only: the next launcher goes on where the supervisor was killed, and ends what it left. */
static void test_a_killed_supervisor_is_made_up_for(void **state)
{
    unsigned long number = submit("#!/bin/bash\n[ $ATOLL_RESTART_COUNT = 0 ] || { echo back; exit; }\n"
                                  "setsid sleep 600 &\necho $! > lost\nwait\n",
                                  0);
    unsigned long behind = submit("#!/bin/bash\ntrue\n", 0);
    struct atoll_err err = ATOLL_ERR_INIT;
    pid_t lost;

    wait_text("lost", 0, "\n");
    lost = (pid_t)strtol(text_of("lost", 0), NULL, 10);
    assert_int_equal(kill(supervisor_pid(), SIGKILL), 0);
    wait_gone(supervisor_pid());
    atoll_launcher_destroy(launcher);
    launcher = atoll_launcher_create(ATOLL_LAUNCHER_LOCAL, 0, &err);
    assert_non_null(launcher);
    assert_int_equal(wait_for(number, ATOLL_JOB_COMPLETED).restart_count, 1);
    assert_string_equal(text_of(NULL, number), "back\n");
    wait_gone(lost);
    wait_for(behind, ATOLL_JOB_COMPLETED);
}

static void test_what_cannot_run_here_is_refused(void **state)
{
    struct atoll_job_request request = {.name = "t", .script = "#!/bin/bash\n", .work_dir = home, .nodes = 2};
    struct atoll_err err = ATOLL_ERR_INIT;
    char id[ATOLL_JOB_ID_BYTES];

    assert_int_equal(atoll_launcher_submit(launcher, &request, id, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "this machine is one");
    request.nodes = 1;
    request.array_count = 2;
    atoll_err_clear(&err);
    assert_int_equal(atoll_launcher_submit(launcher, &request, id, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "no arrays");
    request.array_count = 0;
    request.work_dir = "/nowhere";
    assert_int_equal(atoll_launcher_submit(launcher, &request, id, &err), 0);
    assert_non_null(strstr(wait_for(strtoul(id, NULL, 10), ATOLL_JOB_FAILED).reason, "cannot be used"));
    atoll_err_clear(&err);
    assert_int_equal(atoll_launcher_cancel(launcher, "987654", &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "no job 987654");
}

/* A request counts its time in minutes, a record in seconds. */
static void test_time_is_limited_after_a_warning(void **state)
{
    struct atoll_local_job job = {.name = "t",
                                  .time_limit_s = 1,
                                  .signal_number = SIGUSR1,
                                  .signal_before_s = 0.6,
                                  .state = ATOLL_JOB_PENDING};
    struct atoll_err err = ATOLL_ERR_INIT;

    snprintf(job.work_dir, sizeof(job.work_dir), "%s", home);
    snprintf(job.log_path, sizeof(job.log_path), "%s/log-%%j%%%%.txt", home);
    assert_int_equal(
        atoll_local_job_create(root, &job,
                               "#!/bin/bash\ntrap 'echo warned' USR1\ntrap 'echo ended; exit 5' TERM\n"
                               "while :; do sleep 0.05; done\n",
                               &err),
        0);
    assert_int_equal(atoll_local_supervise(root, &err), 0);
    assert_int_equal(wait_for(job.number, ATOLL_JOB_TIMEOUT).exit_status, 5);
    assert_string_equal(ask(job.number).reason, "TimeLimit");
    assert_non_null(strstr(text_of(NULL, job.number), "warned\n"));
    assert_non_null(strstr(text_of(NULL, job.number), "ended\n"));
}

/* ---- on disk ---- */

static void record_put(unsigned long number, enum atoll_job_state job_state, int64_t end_unix_s)
{
    struct atoll_local_job job = {.number = number,
                                  .name = "name \"quoted\"",
                                  .work_dir = "/w",
                                  .log_path = "/w/log",
                                  .time_limit_s = 90,
                                  .signal_number = 10,
                                  .signal_before_s = 5,
                                  .state = job_state,
                                  .reason = "why",
                                  .restart_count = 2,
                                  .exit_status = 4,
                                  .submit_unix_s = 1,
                                  .start_unix_s = 5,
                                  .end_unix_s = end_unix_s};
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];

    atoll_local_path(root, number, "", path);
    mkdir(path, 0700);
    assert_int_equal(atoll_local_job_write(root, &job, &err), 0);
}

static void test_a_record_comes_back_as_it_was(void **state)
{
    for (int i = ATOLL_JOB_COMPLETED; i < ATOLL_JOB_STATE_COUNT; i++) { /* one that waited would be run */
        struct atoll_local_job read;
        struct atoll_err err = ATOLL_ERR_INIT;

        record_put(5000, (enum atoll_job_state)i, 6);
        assert_int_equal(atoll_local_job_read(root, 5000, &read, &err), 0);
        assert_int_equal(read.state, i);
        assert_string_equal(read.name, "name \"quoted\"");
        assert_string_equal(read.work_dir, "/w");
        assert_string_equal(read.log_path, "/w/log");
        assert_string_equal(read.reason, "why");
        assert_true(read.time_limit_s == 90 && read.signal_number == 10 && read.signal_before_s == 5);
        assert_true(read.restart_count == 2 && read.exit_status == 4 && read.submit_unix_s == 1);
        assert_true(read.start_unix_s == 5 && read.end_unix_s == 6);
    }
}

static void test_a_torn_record_names_file_and_line(void **state)
{
    struct atoll_local_job read;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    FILE *file;

    record_put(5010, ATOLL_JOB_COMPLETED, 6);
    atoll_local_path(root, 5010, "job.json", path);
    file = fopen(path, "w");
    fputs("{\n\"state\": \n", file);
    fclose(file);
    assert_int_equal(atoll_local_job_read(root, 5010, &read, &err), -1);
    expect_err(&err, ATOLL_E_CORRUPT, "job.json:");
}

static void test_what_ended_long_ago_is_forgotten(void **state)
{
    struct atoll_local_job read;
    struct atoll_err err = ATOLL_ERR_INIT;

    record_put(5020, ATOLL_JOB_COMPLETED, 6);
    record_put(999999, ATOLL_JOB_COMPLETED, 6);
    atoll_local_forget(root, 6);
    assert_int_equal(atoll_local_job_read(root, 5020, &read, &err), 0);
    atoll_local_forget(root, 7);
    assert_int_equal(atoll_local_job_read(root, 5020, &read, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "no job 5020");
    assert_int_equal(atoll_local_job_read(root, 999999, &read, NULL), 0);
    wait_for(1000000 == submit("#!/bin/bash\n", 0) ? 1000000 : 0, ATOLL_JOB_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_run_one_after_the_other_in_order),
        cmocka_unit_test(test_what_a_script_leaves_behind_ends),
        cmocka_unit_test(test_a_running_job_is_cancelled_and_requeued),
        cmocka_unit_test(test_a_killed_supervisor_is_made_up_for),
        cmocka_unit_test(test_what_cannot_run_here_is_refused),
        cmocka_unit_test(test_time_is_limited_after_a_warning),
        cmocka_unit_test(test_a_record_comes_back_as_it_was),
        cmocka_unit_test(test_a_torn_record_names_file_and_line),
        cmocka_unit_test(test_what_ended_long_ago_is_forgotten),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
