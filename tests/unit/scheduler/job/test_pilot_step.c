#include "tests/support/expect.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/job/pilot.h"
#include "tests/unit/archive-h5/scratch.h"

static char folder[PATH_MAX], drain[PATH_MAX];
static struct atoll_lease_holder self;

static int make_folder(void **state)
{
    scratch_make(folder);
    scratch_join(drain, folder, ".drain-1");
    atoll_lease_holder_self("1", 0, &self);
    return setenv("FOLDER", folder, 1);
}

static int remove_folder(void **state)
{
    scratch_remove(folder);
    return 0;
}

/* To its end. */
static struct atoll_pilot_step_result run_all(const struct atoll_pilot_step_settings *settings)
{
    struct atoll_pilot_step *step = atoll_pilot_step_start(settings, NULL);
    const struct atoll_pilot_step_result *result;
    struct atoll_pilot_step_result copy;
    assert_non_null(step);
    while (!(result = atoll_pilot_step_look(step)))
        atoll_pilot_step_pause();
    copy = *result;
    atoll_pilot_step_destroy(step);
    return copy;
}

static struct atoll_pilot_step_result run(const char *script, double seconds, double start_limit_s,
                                          const volatile sig_atomic_t *interrupts)
{
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    const struct atoll_pilot_step_settings settings = {.words = words,
                                                       .part = folder,
                                                       .self = &self,
                                                       .drain_file = drain,
                                                       .interrupts = interrupts,
                                                       .end_mono_ns = atoll_clock_mono_ns() + seconds * 1e9,
                                                       .lease_time_s = 90,
                                                       .start_limit_s = start_limit_s};
    struct atoll_pilot_step_result result = run_all(&settings);
    assert_int_not_equal(access(drain, F_OK), 0); /* nothing is left that would stop the next one */
    return result;
}

/* The job's log is standard error: what the step said there, not what was there before. */
static void test_what_it_said(void **state)
{
    static const struct {
        const char *script, *reason;
    } cases[] = {
        {"echo 'srun: error: no controller' >&2; echo bye >&2; exit 1", "srun: error: no controller"},
        {"echo 'first line' >&2; echo '------' >&2; exit 1", "first line"},
        {"exit 1", ""},
    };
    char log[PATH_MAX];
    int old = dup(STDERR_FILENO), file;
    scratch_join(log, folder, "1.log");
    file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(old >= 0 && file >= 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_true(write(file, "error of before\n", 16) == 16);
        dup2(file, STDERR_FILENO);
        struct atoll_pilot_step_result result = run(cases[i].script, HUGE_VAL, 0, NULL);
        dup2(old, STDERR_FILENO);
        assert_string_equal(result.reason, cases[i].reason);
        assert_string_equal(result.log, log);
    }
    close(file);
    close(old);
}

/* MPI_Init waits for a rank for ever that a step of srun has lost. */
static void test_a_rank_lost_before_the_first_beat(void **state)
{
    static const char script[] = "echo 'srun: error: n2: task 1: Segmentation fault' >&2; exec sleep 100";
    char log[PATH_MAX];
    int old = dup(STDERR_FILENO), file;
    scratch_join(log, folder, "1.log");
    file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(old >= 0 && file >= 0);
    double begin = atoll_clock_mono_ns();
    dup2(file, STDERR_FILENO);
    struct atoll_pilot_step_result result = run(script, HUGE_VAL, 60, NULL);
    dup2(old, STDERR_FILENO);
    assert_int_equal(result.end, ATOLL_STEP_SILENT);
    assert_string_equal(result.reason, "srun: error: n2: task 1: Segmentation fault");
    assert_true(atoll_clock_mono_ns() - begin < 50e9);
    close(file);
    close(old);
}

static void test_how_it_ended(void **state)
{
    static const struct {
        const char *script;
        int status;
    } cases[] = {{"exit 0", 0}, {"exit 75", 75}, {"kill -9 $$", 137}, {"read x || exit 3", 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_pilot_step_result result = run(cases[i].script, HUGE_VAL, 0, NULL);
        assert_int_equal(result.end, ATOLL_STEP_EXITED);
        assert_int_equal(result.status, cases[i].status);
    }
}

static void test_a_program_that_is_not_there(void **state)
{
    const char *const words[] = {"/nowhere/srun", NULL};
    const struct atoll_pilot_step_settings settings = {
        .words = words, .part = folder, .self = &self, .drain_file = drain, .end_mono_ns = HUGE_VAL};
    struct atoll_pilot_step_result result = run_all(&settings);
    assert_int_equal(result.end, ATOLL_STEP_EXITED);
    assert_int_equal(result.status, 127);
}

static void test_a_signal_makes_the_drain_file(void **state)
{
    static volatile sig_atomic_t interrupts = 1;
    struct atoll_pilot_step_result result =
        run("trap '' USR2; while [ ! -e \"$FOLDER/.drain-1\" ]; do sleep 0.05; done; exit 4", HUGE_VAL, 0,
            &interrupts);
    assert_int_equal(result.end, ATOLL_STEP_EXITED);
    assert_int_equal(result.status, 4);
}

static void test_an_old_drain_file_drains_nobody(void **state)
{
    scratch_write(drain, "", 0);
    assert_int_equal(run("[ ! -e \"$FOLDER/.drain-1\" ]", HUGE_VAL, 0, NULL).status, 0);
}

static void test_at_the_end_it_is_killed_with_its_children(void **state)
{
    char path[PATH_MAX];
    size_t length;
    struct atoll_pilot_step_result result =
        run("trap 'exit 9' INT; sleep 100 >/dev/null 2>&1 & echo $! >\"$FOLDER/child\"; wait", 2, 0, NULL);
    assert_int_equal(result.end, ATOLL_STEP_LATE);
    assert_int_equal(result.status, 9); /* INT was enough */
    char *text = scratch_read(scratch_join(path, folder, "child"), &length);
    pid_t child = (pid_t)strtol(text, NULL, 10);
    free(text);
    assert_true(child > 1);
    for (int i = 0; i < 100 && kill(child, 0) == 0; i++)
        usleep(50000);
    assert_int_not_equal(kill(child, 0), 0);
}

/* Nobody asks a step to drain that has no part yet, or has let go of its devices: the one that works is asked. */
static void test_who_is_asked_to_drain(void **state)
{
    static volatile sig_atomic_t interrupts = 1;
    const char *const words[] = {"/bin/sh", "-c", "while [ ! -e \"$FOLDER/go\" ]; do sleep 0.05; done", NULL};
    struct atoll_pilot_step_settings settings = {.words = words,
                                                 .self = &self,
                                                 .drain_file = drain,
                                                 .interrupts = &interrupts,
                                                 .end_mono_ns = HUGE_VAL,
                                                 .lease_time_s = 90};
    struct atoll_pilot_step *ahead = atoll_pilot_step_start(&settings, NULL), *leaving;
    char go[PATH_MAX];
    settings.part = folder;
    leaving = atoll_pilot_step_start(&settings, NULL);
    atoll_pilot_step_let_leave(leaving);
    assert_null(atoll_pilot_step_look(ahead));
    assert_null(atoll_pilot_step_look(leaving));
    assert_int_not_equal(access(drain, F_OK), 0);
    assert_int_equal(atoll_pilot_step_take(ahead, folder, NULL), 0);
    assert_null(atoll_pilot_step_look(ahead));
    assert_int_equal(access(drain, F_OK), 0);
    scratch_write(scratch_join(go, folder, "go"), "", 0);
    while (!atoll_pilot_step_look(leaving))
        atoll_pilot_step_pause();
    atoll_pilot_step_destroy(leaving);
    assert_int_equal(access(drain, F_OK), 0); /* it is the other's */
    while (!atoll_pilot_step_look(ahead))
        atoll_pilot_step_pause();
    atoll_pilot_step_destroy(ahead);
    assert_int_not_equal(access(drain, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_it_said, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_rank_lost_before_the_first_beat, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_how_it_ended, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_program_that_is_not_there, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_signal_makes_the_drain_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_who_is_asked_to_drain, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_an_old_drain_file_drains_nobody, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_at_the_end_it_is_killed_with_its_children, make_folder,
                                        remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
