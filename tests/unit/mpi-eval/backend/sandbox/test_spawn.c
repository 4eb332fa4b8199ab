/* test_spawn.c - what a program says, and where programs of ours lie. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/backend/sandbox/spawn.h"

static char shell[] = "/bin/sh", run[] = "-c";

static void test_ask(void **state)
{
    static const struct {
        const char *command;
        int timeout_ms;
        size_t bytes;
        const char *answer;
    } cases[] = {
        {"echo one; echo two", 60000, 64, "one\ntwo\n"},
        {"echo $SAID", 60000, 64, "this\n"},
        {"exit 3", 60000, 64, ""},
        {"echo 1234567890", 60000, 6, "12345"},
        {"echo here; exec sleep 1000", 1, 6, NULL}, /* silent for too long, whatever it said */
        {"yes", 60000, 8, "y\ny\ny\ny"},
    };
    static char said[] = "SAID=this";
    char *environment[] = {said, NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[80], command[64];
        struct atoll_err err = ATOLL_ERR_INIT;
        char *argv[] = {shell, run, command, NULL};
        snprintf(command, sizeof(command), "%s", cases[i].command);
        memset(text, 'x', sizeof(text));
        assert_int_equal(
            atoll_spawn_output(argv, environment, cases[i].timeout_ms, text, cases[i].bytes, &err), 0);
        assert_non_null(memchr(text, 0, cases[i].bytes));
        assert_int_equal(text[cases[i].bytes], 'x');
        if (cases[i].answer)
            assert_string_equal(text, cases[i].answer);
    }
}

static void test_ask_whom(void **state)
{
    static char nobody[] = "/no/such/program";
    struct atoll_err err = ATOLL_ERR_INIT;
    char *argv[] = {nobody, NULL}, text[8];
    assert_int_equal(atoll_spawn_output(argv, NULL, 1000, text, sizeof(text), &err), -1);
    assert_non_null(strstr(err.text, nobody));
}

/* Compilers give way to what measures. */
static void test_niceness(void **state)
{
    static char nice[] = "nice";
    char *argv[] = {shell, run, nice, NULL}, text[16] = "";
    int ends[2], before = getpriority(PRIO_PROCESS, 0), status;
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct atoll_spawn spawn = {.path = shell,
                                .argv = argv,
                                .environment = environ,
                                .fds = {-1, ends[1], -1},
                                .fd_count = 3,
                                .ruleset = -1,
                                .niceness = 3};
    pid_t pid = atoll_spawn_start(&spawn, &err);
    assert_true(pid > 0);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(atoi(text), before + 3 < 19 ? before + 3 : 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ask), cmocka_unit_test(test_ask_whom),
                                       cmocka_unit_test(test_niceness)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
