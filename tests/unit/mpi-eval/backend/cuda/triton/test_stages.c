/* test_stages.c - the line that says where compilations of Triton sources spent their time. */
#include "tests/support/expect.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "mpi-eval/backend/cuda/triton/stages.h"

static void log_take(const struct atoll_triton_stages *stages, char *ret_text, size_t bytes)
{
    int fd = memfd_create("log", 0);
    assert_true(fd >= 0);
    atoll_log_setup(fd, ATOLL_LOG_INFO, "");
    atoll_triton_stages_log(stages);
    atoll_log_setup(STDERR_FILENO, ATOLL_LOG_INFO, "");
    ssize_t length = pread(fd, ret_text, bytes - 1, 0);
    assert_true(length >= 0);
    ret_text[length] = '\0';
    close(fd);
}

static void test_line(void **state)
{
    struct atoll_triton_stages stages = {.processor_ns = 9e6};
    char text[1024];
    atoll_triton_stages_add(&stages, ATOLL_TRITON_STAGE_QUEUE, 4e6);
    atoll_triton_stages_add(&stages, ATOLL_TRITON_STAGE_QUEUE, 1e6);
    log_take(&stages, text, sizeof(text));
    assert_string_equal(text, ""); /* no child has answered */
    for (int i = 1; i <= 3; i++)
        atoll_triton_stages_add(&stages, ATOLL_TRITON_STAGE_CHILD, i * 2e6);
    log_take(&stages, text, sizeof(text));
    assert_non_null(strstr(text,
                           "eval.triton.account 2 sources of Triton in 3 parts, ms of each, in the queue 2.5 "
                           "(most 4), sent for 0.0 (most 0), child 4.0 (most 6), all children 0.0 (most 0), "
                           "rules 0.0 (most 0), ptxas 0.0 (most 0); a child's processor 3.0\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
