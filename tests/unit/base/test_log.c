#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

static int log_pipe[2];

/* What is in the pipe now, NUL-terminated. */
static const char *logged(void)
{
    static char text[65536];
    ssize_t length = read(log_pipe[0], text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

static int open_pipe(void **state)
{
    return pipe2(log_pipe, O_NONBLOCK);
}

static int close_pipe(void **state)
{
    atoll_log_setup(STDERR_FILENO, ATOLL_LOG_INFO, "");
    return close(log_pipe[0]) | close(log_pipe[1]);
}

static void test_line_has_time_level_id_prefix_text(void **state)
{
    atoll_log_setup(log_pipe[1], ATOLL_LOG_INFO, "rank 3");
    errno = 5;
    atoll_log(ATOLL_LOG_WARNING, "test.some.id", "worker %d gone", 7);
    assert_int_equal(errno, 5);
    const char *line = logged();
    assert_int_equal(strspn(line, "0123456789-T:.Z"), strlen("2026-01-31T12:00:00.000Z"));
    assert_string_equal(line + strlen("2026-01-31T12:00:00.000Z"),
                        " warning test.some.id [rank 3] worker 7 gone\n");
    atoll_log_setup(log_pipe[1], ATOLL_LOG_INFO, NULL);
    atoll_log(ATOLL_LOG_INFO, "test.some.id", "x");
    assert_non_null(strstr(logged(), "Z info    test.some.id x\n"));
}

static void test_levels_and_nowhere(void **state)
{
    atoll_log_setup(log_pipe[1], ATOLL_LOG_WARNING, "");
    atoll_log(ATOLL_LOG_INFO, "test.a", "x");
    assert_string_equal(logged(), "");
    atoll_log(ATOLL_LOG_ERROR, "test.a", "x");
    assert_string_not_equal(logged(), "");
    atoll_log_setup(-1, ATOLL_LOG_DEBUG, "");
    atoll_log(ATOLL_LOG_ERROR, "test.a", "x");
    assert_string_equal(logged(), "");
}

static void test_no_line_is_forged(void **state)
{
    atoll_log_setup(log_pipe[1], ATOLL_LOG_INFO, "");
    atoll_log(ATOLL_LOG_INFO, "test.a", "%s", "one\ntwo\033[2Jthree");
    assert_non_null(strstr(logged(), " test.a one two [2Jthree\n"));
    atoll_log(ATOLL_LOG_INFO, "test.a", "%s",
              "one\xc2\x9b"
              "2Jtwo\x9bthree");
    assert_non_null(strstr(logged(), " test.a one 2Jtwo?three\n"));
}

static void test_long_texts_are_cut(void **state)
{
    char text[8192];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    atoll_log_setup(log_pipe[1], ATOLL_LOG_INFO, text);
    atoll_log(ATOLL_LOG_INFO, "test.a", "%s", text);
    const char *line = logged();
    assert_true(strlen(line) <= 2048);
    assert_int_equal(line[strlen(line) - 1], '\n');
}

static void test_errors_with_place_at_debug_level(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_err_set(&err, ATOLL_E_TIMEOUT, "too late");
    atoll_log_setup(log_pipe[1], ATOLL_LOG_INFO, "");
    atoll_log_err(ATOLL_LOG_ERROR, "test.a", &err);
    assert_non_null(strstr(logged(), "error   test.a too late (timeout)\n"));
    atoll_log_setup(log_pipe[1], ATOLL_LOG_DEBUG, "");
    atoll_log_err(ATOLL_LOG_ERROR, "test.a", &err);
    assert_non_null(strstr(logged(), "test_log.c:"));
    atoll_log_err(ATOLL_LOG_ERROR, "test.a", NULL);
    assert_string_equal(logged(), "");
}

static void *log_many(void *text)
{
    for (int i = 0; i < 50; i++)
        atoll_log(ATOLL_LOG_INFO, "test.thread", "%s", (const char *)text);
    return NULL;
}

static void test_lines_of_threads_stay_whole(void **state)
{
    pthread_t threads[4];
    char texts[4][64];
    int counts[4] = {0};
    atoll_log_setup(log_pipe[1], ATOLL_LOG_INFO, "");
    for (int i = 0; i < 4; i++) {
        memset(texts[i], 'a' + i, 60);
        texts[i][60] = '\0';
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, texts[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    char *copy = strdup(logged()), *rest = copy;
    for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
        const char *text = strstr(line, "test.thread ");
        assert_non_null(text);
        text += strlen("test.thread ");
        assert_true(*text >= 'a' && *text < 'e');
        assert_string_equal(text, texts[*text - 'a']);
        counts[*text - 'a']++;
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(counts[i], 50);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_line_has_time_level_id_prefix_text, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(test_levels_and_nowhere, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(test_no_line_is_forged, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(test_long_texts_are_cut, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(test_errors_with_place_at_debug_level, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(test_lines_of_threads_stay_whole, open_pipe, close_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
