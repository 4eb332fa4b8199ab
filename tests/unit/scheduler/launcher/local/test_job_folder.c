/* Jobs of this machine on disk; their life is tests/slurm/launcher.py's matter. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/launcher/local/job_folder.h"
#include "scheduler/launcher/local/slot.h"

static char home[] = "/tmp/atoll-jobs-XXXXXX";
static char root[PATH_MAX];

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;

    if (!mkdtemp(home) || setenv("XDG_STATE_HOME", home, 1) != 0) {
        return -1;
    }
    return atoll_local_root(root, &err);
}

static int tear_down(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", home);
    return system(command);
}

static struct atoll_local_job write_job(const char *id)
{
    struct atoll_local_job job = {.time_limit_s = 90,
                                  .signal_number = 10,
                                  .signal_before_s = 5,
                                  .array_index = -1,
                                  .at_once = 2,
                                  .submit_unix_s = 1234};
    struct atoll_err err = ATOLL_ERR_INIT;

    snprintf(job.id, sizeof(job.id), "%s", id);
    snprintf(job.name, sizeof(job.name), "name \"quoted\"");
    snprintf(job.work_dir, sizeof(job.work_dir), "/w");
    snprintf(job.log_path, sizeof(job.log_path), "/w/log");
    snprintf(job.dependency, sizeof(job.dependency), "afterok:1");
    assert_int_equal(atoll_local_job_write(root, &job, "#!/bin/bash\n", &err), 0);
    return job;
}

static void test_a_job_comes_back_as_it_was(void **state)
{
    struct atoll_local_job job = write_job("500"), read;
    struct atoll_err err = ATOLL_ERR_INIT;

    assert_int_equal(atoll_local_job_read(root, "500", &read, &err), 0);
    assert_string_equal(read.name, job.name);
    assert_string_equal(read.work_dir, job.work_dir);
    assert_string_equal(read.log_path, job.log_path);
    assert_string_equal(read.dependency, job.dependency);
    assert_true(read.time_limit_s == 90 && read.signal_number == 10 && read.signal_before_s == 5);
    assert_true(read.array_index == -1 && read.at_once == 2 && read.submit_unix_s == 1234);
    assert_int_equal(atoll_local_job_read(root, "501", &read, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "no job 501");
}

static void test_a_torn_record_names_file_and_line(void **state)
{
    struct atoll_local_state read;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    FILE *file;

    write_job("510");
    assert_int_equal(atoll_local_path(root, "510", "state.json", path, &err), 0);
    file = fopen(path, "w");
    fputs("{\n\"state\": \n", file);
    fclose(file);
    assert_int_equal(atoll_local_state_read(root, "510", &read, &err), -1);
    expect_err(&err, ATOLL_E_CORRUPT, "state.json:");
}

static void put_state(const char *id, enum atoll_job_state job_state, struct atoll_process_id supervisor)
{
    struct atoll_local_state state = {.state = job_state,
                                      .restart_count = 2,
                                      .exit_status = 4,
                                      .start_unix_s = 5,
                                      .end_unix_s = 6,
                                      .supervisor = supervisor};
    struct atoll_err err = ATOLL_ERR_INIT;

    snprintf(state.reason, sizeof(state.reason), "why");
    assert_int_equal(atoll_local_state_write(root, id, &state, &err), 0);
}

static void test_every_state_comes_back(void **state)
{
    write_job("520");
    for (int i = 0; i < ATOLL_JOB_STATE_COUNT; i++) {
        struct atoll_local_state read;
        struct atoll_err err = ATOLL_ERR_INIT;

        put_state("520", (enum atoll_job_state)i, atoll_process_id_self());
        assert_int_equal(atoll_local_state_read(root, "520", &read, &err), 0);
        assert_int_equal(read.state, i);
        assert_true(read.restart_count == 2 && read.exit_status == 4 && read.start_unix_s == 5);
        assert_string_equal(read.reason, "why");
        assert_true(atoll_process_id_is_alive(&read.supervisor));
    }
}

/* A number that another process has now, and a machine that has started again. */
static void test_a_lost_supervisor_is_told(void **state)
{
    struct atoll_process_id later = atoll_process_id_self(), other_start = later, none = {0};
    struct atoll_local_state read;
    struct atoll_err err = ATOLL_ERR_INIT;

    later.start_ticks++;
    snprintf(other_start.boot_id, sizeof(other_start.boot_id), "another");
    write_job("530");
    put_state("530", ATOLL_JOB_RUNNING, atoll_process_id_self());
    assert_int_equal(atoll_local_state_judge(root, "530", &read, &err), 0);
    assert_int_equal(read.state, ATOLL_JOB_RUNNING);
    put_state("530", ATOLL_JOB_RUNNING, later);
    assert_int_equal(atoll_local_state_judge(root, "530", &read, &err), 0);
    assert_int_equal(read.state, ATOLL_JOB_FAILED);
    assert_string_equal(read.reason, "its supervisor was killed");
    put_state("530", ATOLL_JOB_PENDING, other_start);
    assert_int_equal(atoll_local_state_judge(root, "530", &read, &err), 0);
    assert_string_equal(read.reason, "the machine was restarted");
    put_state("530", ATOLL_JOB_COMPLETED, none);
    assert_int_equal(atoll_local_state_judge(root, "530", &read, &err), 0);
    assert_int_equal(read.state, ATOLL_JOB_COMPLETED);
}

static void test_wishes(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int64_t value = 0;

    write_job("540");
    assert_false(atoll_local_wish_read(root, "540", "begin", &value));
    assert_int_equal(atoll_local_wish(root, "540", "begin", 77, &err), 0);
    assert_true(atoll_local_wish_read(root, "540", "begin", &value));
    assert_int_equal(value, 77);
    assert_true(atoll_local_wish_take(root, "540", "begin"));
    assert_false(atoll_local_wish_take(root, "540", "begin"));
}

static void test_numbers_and_ids(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char(*ids)[ATOLL_JOB_ID_BYTES];
    unsigned long first, second;
    char element[32];
    size_t count;

    assert_int_equal(atoll_local_number(root, &first, &err), 0);
    assert_int_equal(atoll_local_number(root, &second, &err), 0);
    assert_int_equal(second, first + 1);
    for (int i = 10; i >= 9; i--) { /* 9 before 10 */
        snprintf(element, sizeof(element), "%lu_%d", second, i);
        write_job(element);
    }
    snprintf(element, sizeof(element), "%lu", second);
    assert_int_equal(atoll_local_ids(root, element, &ids, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_non_null(strstr(ids[0], "_9"));
    assert_non_null(strstr(ids[1], "_10"));
    free(ids);
}

static void test_what_ended_long_ago_is_forgotten(void **state)
{
    struct atoll_process_id none = {0};
    struct atoll_local_job read;
    struct atoll_err err = ATOLL_ERR_INIT;

    write_job("550");
    put_state("550", ATOLL_JOB_COMPLETED, none); /* ended at 6 */
    write_job("551");
    put_state("551", ATOLL_JOB_RUNNING, atoll_process_id_self());
    write_job("999999");
    put_state("999999", ATOLL_JOB_COMPLETED, none);
    atoll_local_forget(root, 6);
    assert_int_equal(atoll_local_job_read(root, "550", &read, &err), 0);
    atoll_local_forget(root, 7);
    assert_int_equal(atoll_local_job_read(root, "550", &read, &err), -1);
    assert_int_equal(atoll_local_job_read(root, "551", &read, &err), 0);
    assert_int_equal(atoll_local_job_read(root, "999999", &read, &err),
                     0); /* its number must not come again */
}

static void test_slots_are_free_when_their_holder_is_gone(void **state)
{
    char folder[PATH_MAX + 16];
    int ready[2], one, two;
    char byte;
    pid_t child;

    snprintf(folder, sizeof(folder), "%s/slots", home);
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        byte = atoll_slot_take(folder, 2) >= 0;
        _exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    one = atoll_slot_take(folder, 2);
    assert_true(one >= 0);
    assert_int_equal(atoll_slot_take(folder, 2), -1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    two = atoll_slot_take(folder, 2);
    assert_true(two >= 0);
    close(one);
    close(two);
}

static void test_turns_go_by_submission(void **state)
{
    write_job("600");
    write_job("1000");
    put_state("600", ATOLL_JOB_PENDING, atoll_process_id_self());
    put_state("1000", ATOLL_JOB_PENDING, atoll_process_id_self());
    assert_true(atoll_turn_is_mine(root, "600"));
    assert_false(atoll_turn_is_mine(root, "1000"));
    atoll_turn_leave(root, "600");
    assert_true(atoll_turn_is_mine(root, "1000"));
    assert_true(atoll_turn_is_mine(root, "600"));
    put_state("600", ATOLL_JOB_PENDING, (struct atoll_process_id){0}); /* killed in the queue */
    assert_false(atoll_turn_is_mine(root, "1000"));
    assert_true(atoll_turn_is_mine(root, "1000"));
    atoll_turn_leave(root, "1000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_comes_back_as_it_was),
        cmocka_unit_test(test_a_torn_record_names_file_and_line),
        cmocka_unit_test(test_every_state_comes_back),
        cmocka_unit_test(test_a_lost_supervisor_is_told),
        cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_numbers_and_ids),
        cmocka_unit_test(test_what_ended_long_ago_is_forgotten),
        cmocka_unit_test(test_slots_are_free_when_their_holder_is_gone),
        cmocka_unit_test(test_turns_go_by_submission),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
