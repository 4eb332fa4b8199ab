/* Real children: those that answer, fail, flood, hang with children of their own, and do not exist. */
#include "tests/support/expect.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"

#define LIMIT ((size_t)1 << 20)

static int run_shell(const char *script, const char *input, const char *hopeless, double deadline_s,
                     struct atoll_process_result *result, struct atoll_err *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct atoll_process process = {
        .what = "a shell", .argv = argv, .input = input, .hopeless = hopeless, .deadline_s = deadline_s};

    return atoll_process_run(&process, LIMIT, result, err);
}

static void test_output_words_and_status(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;

    assert_int_equal(run_shell("cat; echo why >&2; exit 3", "in\nput", NULL, 60, &result, &err), 0);
    assert_string_equal((const char *)result.out.data, "in\nput");
    assert_int_equal(result.out.length, 6);
    assert_string_equal(result.words, "why\n");
    assert_int_equal(result.status, 3);
    atoll_process_result_fini(&result);
    assert_int_equal(run_shell("kill -9 $$", NULL, NULL, 60, &result, &err), 0);
    assert_int_equal(result.status, 128 + 9);
    assert_int_equal(result.out.length, 0);
    assert_string_equal((const char *)result.out.data, "");
    atoll_process_result_fini(&result);
}

/* More than a pipe holds, in both directions. */
static void test_long_texts(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;
    char *text = malloc(300001);

    memset(text, 'x', 300000);
    text[300000] = '\0';
    assert_int_equal(run_shell("cat; head -c 100000 /dev/zero >&2", text, NULL, 60, &result, &err), 0);
    assert_int_equal(result.out.length, 300000);
    assert_string_equal((const char *)result.out.data, text);
    assert_int_equal(strlen(result.words), ATOLL_PROCESS_WORDS_BYTES - 1);
    atoll_process_result_fini(&result);
    free(text);
    assert_int_equal(run_shell("head -c 2000000 /dev/zero", NULL, NULL, 60, &result, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "answered more than");
}

/* The whole group goes, with what the child started. */
static void test_a_deadline_ends_all(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;
    char path[] = "/tmp/atoll-errand-XXXXXX", script[256], text[64] = "";
    int fd = mkstemp(path);
    pid_t pid;

    snprintf(script, sizeof(script), "trap '' TERM; sleep 1000 & echo $! >%s; echo hm >&2; wait", path);
    assert_int_equal(run_shell(script, NULL, NULL, 1, &result, &err), -1);
    expect_err(&err, ATOLL_E_TIMEOUT, "a shell did not answer within 1 s; it said: hm");
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    pid = (pid_t)atoi(text);
    assert_true(pid > 1);
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        char stat[64], line[256] = "";
        FILE *file;

        snprintf(stat, sizeof(stat), "/proc/%d/stat", (int)pid);
        file = fopen(stat, "r");
        if (!file || !fgets(line, sizeof(line), file) || strstr(line, ") Z"))
            pid = 0; /* killed, and nobody has reaped it */
        if (file)
            fclose(file);
        if (!pid)
            break;
        usleep(10000);
    }
    assert_true(pid == 0 || kill(pid, 0) != 0);
    close(fd);
    unlink(path);
}

/* A grandchild that keeps the pipe open does not keep the answer. */
static void test_an_open_pipe_is_not_waited_for(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;

    assert_int_equal(run_shell("sleep 1000 & echo done", NULL, NULL, 60, &result, &err), 0);
    assert_string_equal((const char *)result.out.data, "done\n");
    atoll_process_result_fini(&result);
}

static void test_what_is_hopeless_is_not_waited_for(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;

    assert_int_equal(run_shell("echo retrying for ever >&2; sleep 1000", NULL, "for ever", 60, &result, &err),
                     0);
    assert_int_equal(result.status, -1);
    assert_string_equal(result.words, "retrying for ever\n");
    atoll_process_result_fini(&result);
}

static void test_no_such_program(void **state)
{
    const char *const argv[] = {"atoll-no-such-program", NULL};
    const struct atoll_process process = {.what = "it", .argv = argv, .deadline_s = 60};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;

    assert_int_equal(atoll_process_run(&process, LIMIT, &result, &err), -1);
    expect_err(&err, ATOLL_E_MISSING, "cannot start atoll-no-such-program");
}

static int answer(void *context, int out_fd)
{
    puts("a library talks");
    fflush(stdout);
    return atoll_write_all(out_fd, context, strlen(context)) == 0 ? 5 : 1;
}

static int leave(void *context, int out_fd)
{
    fputs("fatal: no configuration\n", stderr);
    exit(1);
}

static int crash(void *context, int out_fd)
{
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    return 0;
}

static void test_functions(void **state)
{
    char told[] = "here";
    struct atoll_process process = {
        .what = "a library", .function = answer, .context = told, .deadline_s = 60};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_process_result result;

    assert_int_equal(atoll_process_run(&process, LIMIT, &result, &err), 0);
    assert_string_equal((const char *)result.out.data, "here");
    assert_string_equal(result.words, "a library talks\n");
    assert_int_equal(result.status, 5);
    atoll_process_result_fini(&result);
    process.function = leave;
    assert_int_equal(atoll_process_run(&process, LIMIT, &result, &err), 0);
    assert_string_equal(result.words, "fatal: no configuration\n");
    assert_int_equal(result.status, 1);
    atoll_process_result_fini(&result);
    process.function = crash;
    assert_int_equal(atoll_process_run(&process, LIMIT, &result, &err), 0);
    assert_int_equal(result.status, 128 + SIGABRT);
    atoll_process_result_fini(&result);
}

static json_t *give(void *context)
{
    return json_pack("{s:s, s:i}", "text", (const char *)context, "pid", (int)getpid());
}

static json_t *give_nothing(void *context)
{
    return NULL;
}

static json_t *exit_early(void *context)
{
    _exit(7);
}

static json_t *crash_alone(void *context)
{
    signal(SIGSEGV, SIG_DFL); /* also under a sanitizer */
    raise(SIGSEGV);
    return NULL;
}

static json_t *hang_alone(void *context)
{
    for (;;)
        pause();
    return NULL;
}

static json_t *flood_alone(void *context)
{
    char *text = malloc(ATOLL_PROBE_BYTES_LIMIT + 1);

    memset(text, 'x', ATOLL_PROBE_BYTES_LIMIT);
    text[ATOLL_PROBE_BYTES_LIMIT] = '\0';
    return json_pack("{s:s}", "text", text);
}

static void test_a_probe_answers(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char place[] = "here";
    json_t *object = atoll_probe(give, place, "a friend", 60, &err);

    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "text")), "here");
    assert_int_not_equal(json_integer_value(json_object_get(object, "pid")), getpid());
    json_decref(object);
}

static void test_every_other_probe_is_an_error(void **state)
{
    static const struct {
        atoll_probe_function *function;
        double deadline_s;
        enum atoll_code code;
        const char *text;
    } cases[] = {
        {give_nothing, 60, ATOLL_E_CHILD, "the thing gave no answer"},
        {exit_early, 60, ATOLL_E_CHILD, "the thing gave no answer"},
        {crash_alone, 60, ATOLL_E_CHILD, "the thing crashed the process that asked it"},
        {hang_alone, 0.05, ATOLL_E_TIMEOUT, "the thing did not answer within 0.05 s"},
        {flood_alone, 60, ATOLL_E_LIMIT, "the thing answered more than"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        assert_null(atoll_probe(cases[i].function, NULL, "the thing", cases[i].deadline_s, &err));
        expect_err(&err, cases[i].code, cases[i].text);
    }
}

static void test_a_program_runs_on(void **state)
{
    static const char *const words[] = {"sh", "-c", "cat; echo out; exit 7", NULL};
    static const char *const none[] = {"atoll-no-such-program", NULL};
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[16] = "";
    int ends[2], status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(atoll_process_start(words, ends[1], -1, SIGKILL, &pid, &err), 0);
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(atoll_process_exit_status(status), 7);
    assert_int_equal(read(ends[0], text, sizeof(text) - 1), 4);
    assert_string_equal(text, "out\n");
    close(ends[0]);
    assert_int_equal(atoll_process_start(none, -1, -1, SIGKILL, &pid, &err), -1);
    expect_err(&err, ATOLL_E_MISSING, "cannot start atoll-no-such-program");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_runs_on),
        cmocka_unit_test(test_output_words_and_status),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_a_deadline_ends_all),
        cmocka_unit_test(test_an_open_pipe_is_not_waited_for),
        cmocka_unit_test(test_what_is_hopeless_is_not_waited_for),
        cmocka_unit_test(test_no_such_program),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_a_probe_answers),
        cmocka_unit_test(test_every_other_probe_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
