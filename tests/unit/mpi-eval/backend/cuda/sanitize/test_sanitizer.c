/* compute-sanitizer found, told what to do, and believed. */
#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/plan/plan.h"
#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"
#include "tests/unit/mpi-eval/fixture_cuda.h"

static char folder[] = "/tmp/atoll-sanitizer-XXXXXX";

static void path_in(const char *below, char ret_path[256])
{
    snprintf(ret_path, 256, "%s/%s", folder, below);
}

static void program_make(const char *below)
{
    char path[256];
    path_in(below, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    close(fd);
}

static void expect_found(const char *below)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[256];
    char *found = atoll_sanitizer_find(&err);
    path_in(below, path);
    if (!found || strcmp(found, path) != 0)
        fail_msg("%s instead of %s", found ? found : err.text, path);
    free(found);
}

static void expect_none(const char *says)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char *found = atoll_sanitizer_find(&err);
    if (found || err.code != ATOLL_E_MISSING || !strstr(err.text, says))
        fail_msg("%s: %s", found ? found : "none", err.text);
}

static void is_found_where_it_is(void **state)
{
    char path[256];
    (void)state;
    path_in("path", path);
    setenv("PATH", path, 1);
    path_in("cuda", path);
    setenv("CUDA_HOME", path, 1);
    unsetenv("CUDA_PATH");
    unsetenv(ATOLL_SANITIZER_VARIABLE);
    if (access("/usr/local/cuda/bin/compute-sanitizer", X_OK) != 0)
        expect_none("it belongs to the CUDA toolkit");
    program_make("cuda/bin/compute-sanitizer");
    expect_found("cuda/bin/compute-sanitizer");
    program_make("path/compute-sanitizer");
    expect_found("path/compute-sanitizer");
    program_make("another");
    path_in("another", path);
    setenv(ATOLL_SANITIZER_VARIABLE, path, 1);
    expect_found("another");
    setenv(ATOLL_SANITIZER_VARIABLE, "", 1);
    expect_found("path/compute-sanitizer");
}

/* Who names one that is not there does not get another one. */
static void names_what_is_not_there(void **state)
{
    char path[256];
    (void)state;
    program_make("path/compute-sanitizer");
    setenv(ATOLL_SANITIZER_VARIABLE, "/nowhere/compute-sanitizer", 1);
    expect_none("names no program: /nowhere/compute-sanitizer");
    setenv(ATOLL_SANITIZER_VARIABLE, "compute-sanitizer", 1);
    expect_none("names no program");
    path_in("path", path); /* a folder */
    setenv(ATOLL_SANITIZER_VARIABLE, path, 1);
    expect_none("names no program");
    unsetenv(ATOLL_SANITIZER_VARIABLE);
}

static void is_told_what_to_do(void **state)
{
    static const char common[] = "/bin/cs --tool %s --log-file /tmp/r --target-processes application-only "
                                 "--show-backtrace device --print-limit 8";
    static const struct {
        enum atoll_sanitizer_tool tool;
        const char *name, *more;
    } rows[] = {{ATOLL_SANITIZER_MEMCHECK, "memcheck", " --report-api-errors no --padding 65536"},
                {ATOLL_SANITIZER_INITCHECK, "initcheck", ""},
                {ATOLL_SANITIZER_RACECHECK, "racecheck", ""},
                {ATOLL_SANITIZER_SYNCCHECK, "synccheck", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *arguments[ATOLL_SANITIZER_ARGUMENT_LIMIT];
        char text[512] = "", wanted[512];
        atoll_sanitizer_arguments("/bin/cs", rows[i].tool, "/tmp/r", arguments);
        for (size_t k = 0; arguments[k]; k++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", k ? " " : "", arguments[k]);
        snprintf(wanted, sizeof(wanted), common, rows[i].name);
        strcat(wanted, rows[i].more);
        assert_string_equal(text, wanted);
        assert_string_equal(atoll_sanitizer_name(rows[i].tool), rows[i].name);
    }
    assert_string_equal(atoll_sanitizer_name(ATOLL_SANITIZER_TOOL_COUNT), "unknown");
}

static void is_believed_where_it_knows_the_kernel(void **state)
{
    static const struct {
        const char *source;
        unsigned believed; /* bits of tools */
    } rows[] = {
        {"__syncthreads(); atomicAdd(&s, 1.0f);", 15},
        {"/* no mbarrier * / but */ __syncthreads(); // nor cp.async\nx /= 2; /", 15},
        {"/* a comment */ asm(\"cp.async.wait_all;\"); // behind it", 1 << ATOLL_SANITIZER_MEMCHECK},
        {"// a comment\nasm(\"wgmma.fence.sync.aligned;\");", 1 << ATOLL_SANITIZER_MEMCHECK},
        {"x / y; /* without an end, bar.sync", 15},
        {"", 15},
        {"asm volatile(\"bar.sync 1, 128;\");", 1 << ATOLL_SANITIZER_MEMCHECK},
        {"asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(a));", 1 << ATOLL_SANITIZER_MEMCHECK},
        {"#include <cuda/barrier>", 1 << ATOLL_SANITIZER_MEMCHECK},
        {"__pipeline_memcpy_async(a, b, 16);", 1 << ATOLL_SANITIZER_MEMCHECK},
    };
    struct cuda_candidate c;
    (void)state;
    cuda_candidate_open(&c, CUDA_PLAN("{\"kernel\": \"k\", \"grid\": [\"M\"], \"block\": [128], \"args\": "
                                      "[\"x\", \"w\", \"s\"]}") "void k();");
    struct atoll_plan with_map = *c.prepared.plan;
    struct atoll_arg *args = with_map.launches[0].args;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (unsigned t = 0; t < ATOLL_SANITIZER_TOOL_COUNT; t++)
            if (atoll_sanitizer_is_believed(t, c.prepared.plan, rows[i].source) !=
                (int)(rows[i].believed >> t & 1))
                fail_msg("%s, %s", rows[i].source, atoll_sanitizer_name(t));
    args[0].kind = ATOLL_ARG_TENSORMAP;
    assert_int_equal(atoll_sanitizer_is_believed(ATOLL_SANITIZER_INITCHECK, &with_map, ""), 0);
    assert_int_equal(atoll_sanitizer_is_believed(ATOLL_SANITIZER_MEMCHECK, &with_map, ""), 1);
    args[0].kind = ATOLL_ARG_TENSOR;
    assert_int_equal(atoll_sanitizer_is_believed(ATOLL_SANITIZER_RACECHECK, &with_map, ""), 1);
    with_map.launches[0].cluster[0] = with_map.launches[0].grid[0];
    assert_int_equal(atoll_sanitizer_is_believed(ATOLL_SANITIZER_RACECHECK, &with_map, ""), 0);
    cuda_candidate_close(&c);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"path", "cuda", "cuda/bin"};
    char path[256];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        path_in(folders[i], path);
        if (mkdir(path, 0755) != 0)
            return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"another", "path/compute-sanitizer", "cuda/bin/compute-sanitizer"};
    static const char *const folders[] = {"cuda/bin", "cuda", "path"};
    char path[256];
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        path_in(files[i], path);
        unlink(path);
    }
    for (size_t i = 0; i < 3; i++) {
        path_in(folders[i], path);
        rmdir(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_found_where_it_is), cmocka_unit_test(names_what_is_not_there),
        cmocka_unit_test(is_told_what_to_do), cmocka_unit_test(is_believed_where_it_knows_the_kernel)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
