/* Every hostile fixture ends as its row says, costs nothing but its own sample, and its honest twin passes.
 * Bounded: 0.2 s per run, buffers of a few pages, one compile child at a time. */
#include "tests/support/expect.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/process/control.h"
#include "mpi-eval/backend/cpu/process/runner.h"

#define FOLDER      ATOLL_SOURCE_DIR "/tests/fixtures/hostile/"
#define UNITS       100
#define PAGES       3
#define DEADLINE_NS 0.2e9

enum stage { COMPILE, LOAD, RUN };

static const struct row {
    const char *name;
    enum stage stage;             /* where it ends */
    enum atoll_run_status status; /* RUN */
    const char *text;             /* in the diagnostics, the refusal or the detail */
} rows[] = {
    {"big_globals", LOAD, 0, "MiB"},
    {"constructor", LOAD, 0, "constructor"},
    {"control_page", RUN, ATOLL_RUN_TIMEOUT, "not done"},
    {"crash", RUN, ATOLL_RUN_CRASHED, "SIGSEGV"},
    {"destructor", LOAD, 0, "destructor"},
    {"eat_memory", LOAD, 0, "\"malloc\""},
    {"exit_process", RUN, ATOLL_RUN_EXITED, "status 0"},
    {"exit_thread", RUN, ATOLL_RUN_EXITED, "status 0"},
    {"forged_done", RUN, ATOLL_RUN_DONE, ""},
    {"fork", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"fork_import", LOAD, 0, "\"fork\""},
    {"hang", RUN, ATOLL_RUN_TIMEOUT, "not done"},
    {"ifunc", LOAD, 0, "IFUNC"},
    {"incbin_file", COMPILE, 0, "/etc/passwd"},
    {"include_file", COMPILE, 0, "/etc/passwd"},
    {"kill_group", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"kill_parent", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"libc_import", LOAD, 0, "\"system\""},
    {"make_executable", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"map_memory", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"memo", LOAD, 0, "mutable global"},
    {"open_file", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"out_of_bounds", RUN, ATOLL_RUN_CRASHED, "SIGSEGV"},
    {"out_of_bounds_before", RUN, ATOLL_RUN_CRASHED, "SIGSEGV"},
    {"raw_write", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"signal_handler", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"sleep_forever", RUN, ATOLL_RUN_TIMEOUT, "not done"},
    {"socket", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"stack_overflow", RUN, ATOLL_RUN_CRASHED, "SIGSEGV"},
    {"thread", RUN, ATOLL_RUN_FORBIDDEN, "system call"},
    {"thread_local", LOAD, 0, "thread-local"},
    {"trap", RUN, ATOLL_RUN_CRASHED, "SIGILL"},
    {"write_code", RUN, ATOLL_RUN_CRASHED, "SIGSEGV"},
    {"write_input", RUN, ATOLL_RUN_CRASHED, "SIGSEGV"},
};

struct buffers {
    int output, scratch, input;
    int *y; /* the output's second page */
};

static struct atoll_compiler *compiler;
static struct buffers buffers;
static size_t page;

static char *read_text(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s is not there", path);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static struct atoll_compiled compile(const char *file)
{
    char *prelude = read_text(FOLDER, "prelude.h"), *body = read_text(FOLDER, file), *text;
    char done[64];
    const char *defines[] = {done};
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(done, sizeof(done), "DONE_WORD=%zu", offsetof(struct atoll_control_page, done) / 4);
    assert_true(asprintf(&text, "%s%s", prelude, body) > 0);
    if (atoll_compiler_run(compiler, "hostile.c", text, strlen(text), defines, 1, &result, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    free(prelude);
    free(body);
    free(text);
    return result;
}

static struct atoll_runner *load(const struct atoll_compiled *object, struct atoll_err *err)
{
    static const char *const symbols[] = {"candidate"};
    struct atoll_runner_settings settings = {ATOLL_BUILD_DIR "/atoll-worker", 2, NULL, 0, 0};
    return atoll_runner_create(&settings, object->object, object->object_length, 0, symbols, 1, err);
}

static struct atoll_run_result run(struct atoll_runner *runner)
{
    struct atoll_run_request request = {
        .kind = ATOLL_RUN_CANDIDATE, .buffer_count = 3, .launch_count = 1, .deadline_ns = DEADLINE_NS};
    struct atoll_run_launch *launch = &request.launches[0];
    request.buffers[0] = (struct atoll_run_buffer){buffers.output, PAGES * page, 0};
    request.buffers[1] = (struct atoll_run_buffer){buffers.scratch, page, 0};
    request.buffers[2] = (struct atoll_run_buffer){buffers.input, page, 1};
    launch->units = UNITS;
    launch->argument_count = 4;
    launch->arguments[0] = (struct atoll_run_argument){.buffer = 0, .offset = page};
    launch->arguments[1] = (struct atoll_run_argument){.buffer = -1};
    launch->arguments[2] = (struct atoll_run_argument){.buffer = 1};
    launch->arguments[3] = (struct atoll_run_argument){.buffer = 2};
    struct atoll_run_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_runner_run(runner, &request, &result, &err) != 0)
        fail_msg("%s", err.text);
    return result;
}

static void expect_text(const char *name, const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s: \"%s\" does not name \"%s\"", name, text, part);
}

/* After the sample's end nothing of it may still write. */
static void expect_still(const char *name)
{
    int copy[UNITS];
    memcpy(copy, buffers.y, sizeof(copy));
    for (int i = 0; i < 1000; i++)
        if (memcmp(copy, buffers.y, sizeof(copy)) != 0)
            fail_msg("%s: its output still changes", name);
}

static void run_hostile(const struct row *row, struct atoll_runner *runner)
{
    for (int i = 0; i < 2; i++) { /* the same runner serves again */
        struct atoll_run_result result = run(runner);
        if (result.status != row->status)
            fail_msg("%s: %s (%s), not %s", row->name, atoll_run_status_name(result.status), result.detail,
                     atoll_run_status_name(row->status));
        expect_text(row->name, result.detail, row->text);
        expect_still(row->name);
    }
}

static void check_hostile(const struct row *row)
{
    char file[128];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(file, sizeof(file), "%s.c", row->name);
    struct atoll_compiled object = compile(file);
    if ((object.status == ATOLL_COMPILE_OK) != (row->stage != COMPILE))
        fail_msg("%s: compile status %d: %s", file, (int)object.status, object.diagnostics);
    struct atoll_runner *runner = NULL;
    if (row->stage == COMPILE)
        expect_text(file, object.diagnostics, row->text);
    else
        runner = load(&object, &err);
    if (row->stage == LOAD) {
        if (runner || err.code != ATOLL_E_INPUT)
            fail_msg("%s: not refused but %s", file, runner ? "loaded" : err.text);
        expect_text(file, err.text, row->text);
    } else if (row->stage == RUN) {
        if (!runner)
            fail_msg("%s: %s", file, err.text);
        run_hostile(row, runner);
    }
    atoll_runner_destroy(runner);
    atoll_compiled_fini(&object);
}

static void check_honest(const struct row *row)
{
    char file[128];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(file, sizeof(file), "%s.honest.c", row->name);
    struct atoll_compiled object = compile(file);
    if (object.status != ATOLL_COMPILE_OK)
        fail_msg("%s: compile status %d: %s", file, (int)object.status, object.diagnostics);
    struct atoll_runner *runner = load(&object, &err);
    if (!runner)
        fail_msg("%s: %s", file, err.text);
    for (int i = 0; i < 2; i++) {
        memset(buffers.y, 0xff, page);
        struct atoll_run_result result = run(runner);
        if (result.status != ATOLL_RUN_DONE)
            fail_msg("%s: %s (%s)", file, atoll_run_status_name(result.status), result.detail);
        for (int unit = 0; unit < UNITS; unit++)
            assert_int_equal(buffers.y[unit], unit + 1);
        assert_int_equal(buffers.y[UNITS], -1);
    }
    atoll_runner_destroy(runner);
    atoll_compiled_fini(&object);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_hostile(&rows[i]);
        check_honest(&rows[i]);
    }
}

/* No fixture without a row, no fixture without a twin. */
static void test_every_fixture_has_a_row(void **state)
{
    (void)state;
    size_t files = 0;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        files += strlen(e->d_name) > 2 && strcmp(e->d_name + strlen(e->d_name) - 2, ".c") == 0;
    closedir(dir);
    assert_int_equal(files, 2 * sizeof(rows) / sizeof(rows[0]));
}

static int memory_file(size_t bytes)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    return fd;
}

static int set_up(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {"cc", "-O2", NULL, 1, 10e9, UINT64_C(2) << 30, 16 << 20};
    page = (size_t)sysconf(_SC_PAGESIZE);
    compiler = atoll_cc_create(&settings, &err);
    if (!compiler) {
        print_error("%s\n", err.text);
        return -1;
    }
    buffers.output = memory_file(PAGES * page);
    buffers.scratch = memory_file(page);
    buffers.input = memory_file(page);
    char *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, buffers.output, 0);
    assert_true(at != MAP_FAILED);
    buffers.y = (int *)(void *)(at + page);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_compiler_destroy(compiler);
    munmap((char *)buffers.y - page, PAGES * page);
    close(buffers.output);
    close(buffers.scratch);
    close(buffers.input);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fixture_has_a_row),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
