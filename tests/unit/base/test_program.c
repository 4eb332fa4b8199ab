/* The running program finds itself, what lies beside it, and data below share/atoll, wherever it is. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/program.h"

static void test_path(void **state)
{
    char self[4096], path[4096];
    struct atoll_err err = ATOLL_ERR_INIT;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(length > 0);
    self[length] = '\0';
    assert_int_equal(atoll_program_path(path, sizeof(path), &err), 0);
    assert_string_equal(path, self);
    assert_int_equal(atoll_program_path(path, (size_t)length + 1, &err), 0);
    assert_int_equal(atoll_program_path(path, (size_t)length, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

static void test_beside(void **state)
{
    char self[4096], path[4096], tight[4096];
    struct atoll_err err = ATOLL_ERR_INIT;

    assert_int_equal(atoll_program_path(self, sizeof(self), &err), 0);
    strrchr(self, '/')[1] = '\0';
    assert_int_equal(atoll_program_beside("a-program", path, sizeof(path), &err), 0);
    assert_memory_equal(path, self, strlen(self));
    assert_string_equal(path + strlen(self), "a-program");
    assert_int_equal(atoll_program_beside("a-program", tight, strlen(path) + 1, &err), 0);
    assert_string_equal(tight, path);
    assert_int_equal(atoll_program_beside("a-program", tight, strlen(path), &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

/* A copy of this program, as `PREFIX/bin` holds it; prints what it finds. */
static void find_from(const char *prefix, const char *program, char *ret_found, size_t bytes)
{
    char command[8192];
    FILE *child;
    size_t length;

    snprintf(command, sizeof(command), "%s%s --find suites/one", prefix, program);
    child = popen(command, "r");
    assert_non_null(child);
    length = fread(ret_found, 1, bytes - 1, child);
    ret_found[length] = '\0';
    assert_int_equal(pclose(child), 0);
}

static void test_data(void **state)
{
    char prefix[] = "/tmp/atoll-program-XXXXXX", command[8192], self[2048], found[4096], wanted[4096];
    struct atoll_err err = ATOLL_ERR_INIT;

    assert_non_null(mkdtemp(prefix));
    assert_int_equal(atoll_program_path(self, sizeof(self), &err), 0);
    snprintf(command, sizeof(command), "cd %s && mkdir -p bin share/atoll/suites && cp %s bin/it && cp %s it",
             prefix, self, self);
    assert_int_equal(system(command), 0);
    find_from(prefix, "/bin/it", found, sizeof(found));
    assert_string_equal(found, "no suites/one is installed with Atoll\n");
    snprintf(command, sizeof(command), "mkdir %s/share/atoll/suites/one", prefix);
    assert_int_equal(system(command), 0);
    find_from(prefix, "/bin/it", found, sizeof(found)); /* an installation */
    snprintf(wanted, sizeof(wanted), "%s/bin/../share/atoll/suites/one\n", prefix);
    assert_string_equal(found, wanted);
    find_from(prefix, "/it", found, sizeof(found)); /* a build folder */
    snprintf(wanted, sizeof(wanted), "%s/share/atoll/suites/one\n", prefix);
    assert_string_equal(found, wanted);
    snprintf(command, sizeof(command), "rm -r %s", prefix);
    assert_int_equal(system(command), 0);
}

static void test_data_limits(void **state)
{
    char path[8] = "before", name[8192];
    struct atoll_err err = ATOLL_ERR_INIT;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(atoll_program_data(name, path, sizeof(path), &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_int_equal(atoll_program_data("no/such/file", path, sizeof(path), &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_string_equal(path, "before");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_path), cmocka_unit_test(test_beside),
                                       cmocka_unit_test(test_data), cmocka_unit_test(test_data_limits)};

    if (argc == 3 && strcmp(argv[1], "--find") == 0) {
        char path[4096];
        struct atoll_err err = ATOLL_ERR_INIT;

        puts(atoll_program_data(argv[2], path, sizeof(path), &err) == 0 ? path : err.text);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
