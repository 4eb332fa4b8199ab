/* A vendor's library is found by its variable or its names; what it lacks is said, what is optional may lack. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/process/driver.h"
#include "base/library.h"
#include "mpi-eval/backend/cuda/measure/nvml.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"

#define VARIABLE "ATOLL_TEST_LIBRARY"

struct functions {
    size_t (*length)(const char *);
    void (*extra)(void);
};

static const char *const libc_names[] = {"libatoll-none.so", "libc.so.6", NULL};
static const char *const absent_names[] = {"libatoll-none.so", NULL};
static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", "/usr/local/cuda", NULL};
static const char *const folders[] = {"lib64", NULL};

static const struct atoll_library_function good[] = {{"strlen", NULL, offsetof(struct functions, length), 0}};
static const struct atoll_library_function optional[] = {
    {"strlen", NULL, offsetof(struct functions, length), 0},
    {"atoll_none", NULL, offsetof(struct functions, extra), 1}};
static const struct atoll_library_function older[] = {
    {"strlen_v2", "strlen", offsetof(struct functions, length), 0}};
static const struct atoll_library_function lacking[] = {
    {"strlen", NULL, offsetof(struct functions, length), 0},
    {"atoll_none", "atoll_no", offsetof(struct functions, extra), 0}};

#define TABLE(rows) .functions = rows, .function_count = sizeof(rows) / sizeof(*rows)

static const struct {
    struct atoll_library library;
    const char *path;  /* value of VARIABLE, or NULL */
    const char *error; /* part of it, or NULL: it opens */
} cases[] = {
    {{.title = "the C library", .names = libc_names, .remedy = "get one", TABLE(good)}, NULL, NULL},
    {{.title = "the C library", .names = libc_names, .remedy = "get one", TABLE(optional)}, NULL, NULL},
    {{.title = "the C library", .names = libc_names, .remedy = "get one", TABLE(older)}, NULL, NULL},
    {{.title = "the C library", .names = libc_names, .remedy = "get one", TABLE(lacking)},
     NULL,
     "libc.so.6 is too old: it has no atoll_none): get one"},
    {{.title = "no library", .names = absent_names, .remedy = "do without", TABLE(good)},
     NULL,
     "no library cannot be used (libatoll-none.so: cannot open"},
    {{.title = "no library",
      .names = absent_names,
      .roots = roots,
      .folders = folders,
      .remedy = "do without",
      TABLE(good)},
     NULL,
     "/lib64/libatoll-none.so: cannot open"},
    {{.title = "the C library", .environment = VARIABLE, .names = absent_names, .remedy = "", TABLE(good)},
     "libc.so.6",
     NULL},
    {{.title = "the C library", .environment = VARIABLE, .names = libc_names, .remedy = "", TABLE(good)},
     "/nonexistent/libatoll.so",
     "/nonexistent/libatoll.so: cannot open"},
    {{.title = "the C library", .environment = VARIABLE, .names = libc_names, .remedy = "", TABLE(good)},
     "",
     NULL},
};

static void libraries_open_or_say_why(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct functions functions = {0};
        struct atoll_err err = ATOLL_ERR_INIT;
        unsetenv(VARIABLE);
        if (cases[i].path)
            setenv(VARIABLE, cases[i].path, 1);
        int status = atoll_library_open(&cases[i].library, &functions, &err);
        if (cases[i].error) {
            assert_int_equal(status, -1);
            assert_int_equal(err.code, ATOLL_E_MISSING);
            assert_non_null(strstr(err.text, cases[i].error));
            assert_non_null(strstr(err.text, cases[i].library.remedy));
        } else {
            assert_int_equal(status, 0);
            assert_int_equal(err.code, ATOLL_OK);
            assert_int_equal(functions.length("four"), 4);
            assert_null(functions.extra);
        }
    }
    unsetenv(VARIABLE);
}

static void toolkits_are_searched_in_order(void **state)
{
    const struct atoll_library library = {.title = "no library",
                                          .names = absent_names,
                                          .roots = roots,
                                          .folders = folders,
                                          .remedy = "",
                                          TABLE(good)};
    struct functions functions = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    setenv("CUDA_HOME", "/nonexistent/home", 1);
    setenv("CUDA_PATH", "", 1); /* as if it were not set */
    assert_int_equal(atoll_library_open(&library, &functions, &err), -1);
    assert_non_null(strstr(err.text, "/usr/local/cuda/lib64/libatoll-none.so"));
    assert_int_equal(atoll_library_open(&library, &functions, NULL), -1);
    unsetenv("CUDA_HOME");
}

static const void *open_driver(struct atoll_err *err)
{
    return atoll_cuda_open(err);
}

static const void *open_nvrtc(struct atoll_err *err)
{
    return atoll_nvrtc_library_open(err);
}

static const void *open_cupti(struct atoll_err *err)
{
    return atoll_cupti_open(err);
}

static const void *open_nvml(struct atoll_err *err)
{
    return atoll_nvml_open(err);
}

static const struct {
    const void *(*open)(struct atoll_err *);
    const char *name, *remedy; /* in the text when it is missing */
} vendors[] = {
    {open_driver, "libcuda.so.1", "run on a node with an NVIDIA GPU"},
    {open_nvrtc, "NVRTC", "set CUDA_HOME"},
    {open_cupti, "CUPTI", "set CUDA_HOME"},
    {open_nvml, "libnvidia-ml.so.1", "run on a node with an NVIDIA GPU"},
};

static void a_vendors_library_is_there_or_its_remedy(void **state)
{
    setenv("ATOLL_NVRTC", "/nonexistent/libnvrtc.so", 1);
    for (size_t i = 0; i < sizeof(vendors) / sizeof(*vendors); i++) {
        struct atoll_err first = ATOLL_ERR_INIT;
        struct atoll_err second = ATOLL_ERR_INIT;
        const void *functions = vendors[i].open(&first);
        assert_ptr_equal(functions, vendors[i].open(&second)); /* opened once, whatever came of it */
        assert_string_equal(first.text, second.text);
        assert_int_equal(first.code, functions ? ATOLL_OK : ATOLL_E_MISSING);
        if (!functions) {
            assert_non_null(strstr(first.text, vendors[i].name));
            assert_non_null(strstr(first.text, vendors[i].remedy));
            assert_null(vendors[i].open(NULL));
        }
    }
    assert_null(open_nvrtc(NULL)); /* its variable was wrong the one time that counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_open_or_say_why),
        cmocka_unit_test(toolkits_are_searched_in_order),
        cmocka_unit_test(a_vendors_library_is_there_or_its_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
