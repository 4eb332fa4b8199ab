/* Outputs recorded from NVRTC 13.0: NAME.log is what it printed, NAME.txt what a model is shown of it. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/compile/compile_job.h"
#include "mpi-eval/backend/compile/diagnostics.h"
#include "mpi-eval/backend/cuda/compile/toolkit.h"

#define FIXTURES   ATOLL_SOURCE_DIR "/tests/fixtures/nvrtc/"
#define FILE_BYTES 8192

static void read_fixture(const char *name, const char *end, char ret_text[FILE_BYTES])
{
    char path[512];
    snprintf(path, sizeof(path), FIXTURES "%s.%s", name, end);
    FILE *in = fopen(path, "r");
    if (!in)
        fail_msg("no %s", path);
    size_t length = fread(ret_text, 1, FILE_BYTES - 1, in);
    fclose(in);
    ret_text[length] = '\0';
}

static void test_recorded(void **state)
{
    (void)state;
    static const char *const names[] = {"undefined", "syntax",   "include", "types",
                                        "template",  "assembly", "line"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char log[FILE_BYTES], wanted[FILE_BYTES], report[ATOLL_COMPILE_REPORT_BYTES],
            got[ATOLL_DIAGNOSTICS_BYTES];
        read_fixture(names[i], "log", log);
        read_fixture(names[i], "txt", wanted);
        atoll_compile_report_split(log, report);
        assert_string_equal(report, "");
        assert_int_equal(atoll_compile_judge(log, "candidate.cu", 1 << 8), ATOLL_COMPILE_ERROR);
        size_t length = atoll_diagnostics_trim(log, "", got);
        assert_int_equal(length, strlen(got));
        wanted[strcspn(wanted, "\n") ? strlen(wanted) - 1 : 0] = '\0'; /* a file ends with a newline */
        if (strcmp(got, wanted) != 0)
            fail_msg("%s:\n%s\n-- instead of\n%s", names[i], got, wanted);
    }
}

static void test_reports(void **state)
{
    (void)state;
    static const char *const names[] = {"ok", "shared"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char log[FILE_BYTES], wanted[FILE_BYTES], report[ATOLL_COMPILE_REPORT_BYTES];
        read_fixture(names[i], "log", log);
        read_fixture(names[i], "txt", wanted);
        atoll_compile_report_split(log, report);
        if (strcmp(report, wanted) != 0)
            fail_msg("%s:\n%s\n-- instead of\n%s", names[i], report, wanted);
        assert_null(strstr(report, "Compile time"));
        assert_null(strstr(log, "ptxas"));
    }
}

/* Warnings stay where there are no errors. */
static void test_warnings_alone(void **state)
{
    (void)state;
    char log[FILE_BYTES], report[ATOLL_COMPILE_REPORT_BYTES], got[ATOLL_DIAGNOSTICS_BYTES];
    read_fixture("ok", "log", log);
    atoll_compile_report_split(log, report);
    assert_true(atoll_diagnostics_trim(log, "", got) > 0);
    assert_non_null(strstr(got, "was declared but never referenced"));
}

static void test_long_reports_are_cut_at_a_line(void **state)
{
    (void)state;
    static const char line[] = "ptxas info    : Used 8 registers, used 0 barriers\n";
    size_t count = 2 * ATOLL_COMPILE_REPORT_BYTES / (sizeof(line) - 1);
    char *log = calloc(count, sizeof(line)), report[ATOLL_COMPILE_REPORT_BYTES];
    assert_non_null(log);
    for (size_t i = 0; i < count; i++)
        memcpy(log + i * (sizeof(line) - 1), line, sizeof(line));
    atoll_compile_report_split(log, report);
    assert_int_equal(strlen(report) % (sizeof(line) - 1), 0);
    assert_true(strlen(report) > ATOLL_COMPILE_REPORT_BYTES - 2 * sizeof(line));
    assert_string_equal(log, "");
    free(log);
}

/* What a candidate writes is no word of the tools. */
static void test_words_of_a_candidate(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        enum atoll_compile_status status;
    } rows[] = {
        {"candidate.cu(1): catastrophic error: #error directive: out of memory\n", ATOLL_COMPILE_ERROR},
        {"candidate.cu(1): error: x\n  // out of memory\n", ATOLL_COMPILE_ERROR},
        {"ptxas fatal   : Memory allocation failure\n", ATOLL_COMPILE_MEMORY},
        {"std::bad_alloc\n", ATOLL_COMPILE_MEMORY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(atoll_compile_judge(rows[i].log, "candidate.cu", 1 << 8), rows[i].status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_warnings_alone),
        cmocka_unit_test(test_long_reports_are_cut_at_a_line),
        cmocka_unit_test(test_words_of_a_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
