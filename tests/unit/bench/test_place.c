/* test_place.c - programs of bench/ find their helpers without a word in the environment. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_programs_are_found(void **state)
{
    static const char *const programs[][2] = {{"ATOLL_WORKER", "/atoll-worker"},
                                              {"ATOLL_WORKER_CUDA", "/atoll-worker-cuda"},
                                              {"ATOLL_COMPILE_CUDA", "/atoll-compile-cuda"}};
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        const char *path = getenv(programs[i][0]);
        if (!path || access(path, X_OK) != 0 || strcmp(strrchr(path, '/'), programs[i][1]) != 0)
            fail_msg("%s=%s", programs[i][0], path ? path : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
