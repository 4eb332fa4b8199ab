/* A finalist under a compute-sanitizer that is a script: it writes the report that a test wants and starts the device
 * process that it was given, as the real one does.  The device process is this program, started again: it answers
 * batches as a device would and writes down what it was asked for. */
#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/process/worker.h"
#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"
#include "tests/unit/mpi-eval/fixture_cuda.h"

#define SOURCE                                                                                               \
    CUDA_PLAN(                                                                                               \
        "{\"kernel\": \"k\", \"grid\": [\"M\"], \"block\": [128], \"args\": [\"x\", \"w\", \"s\"]}, "        \
        "{\"kernel\": \"l\", \"grid\": [\"M\"], \"block\": [32], \"args\": [\"s\", \"y\", \"i32:N\"]}")
#define CLEAN "========= ERROR SUMMARY: 0 errors\n"
#define FIRST 0x700000000000ull

/* ---- the device process ---- */

static int take_all(void *bytes, size_t length)
{
    for (unsigned char *at = bytes; length > 0;) {
        ssize_t n = read(ATOLL_CUDA_LINK_FD, at, length);
        if (n <= 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

static void put_all(const void *bytes, size_t length)
{
    if (write(ATOLL_CUDA_LINK_FD, bytes, length) != (ssize_t)length)
        _exit(1);
}

/* One line per command into asked-for; a module "fault" loses the context when it is launched. */
static void carry_out(const unsigned char *batch, size_t length, struct atoll_command_batch_reply *reply,
                      FILE *log)
{
    static const char *const names[ATOLL_DEVICE_COMMAND_KIND_COUNT] = {
        [ATOLL_DEVICE_COMMAND_MODULE_LOAD] = "load",
        [ATOLL_DEVICE_COMMAND_FUNCTION] = "function",
        [ATOLL_DEVICE_COMMAND_ALLOC] = "alloc",
        [ATOLL_DEVICE_COMMAND_LAUNCH] = "launch",
        [ATOLL_DEVICE_COMMAND_WRITE] = "write"};
    static char module[16];
    static uint64_t next = FIRST;
    struct atoll_reader reader;
    struct atoll_device_command command;
    struct atoll_device_command_launch *launch = malloc(sizeof(*launch));
    atoll_reader_init(&reader, batch, length);
    while (launch && atoll_device_command_next(&reader, &command, launch) == 1) {
        const char *name = names[command.kind] ? names[command.kind] : "other";
        uint64_t address = 0;
        if (command.kind == ATOLL_DEVICE_COMMAND_MODULE_LOAD)
            snprintf(module, sizeof(module), "%.*s", (int)command.length, (const char *)command.bytes);
        if (command.kind == ATOLL_DEVICE_COMMAND_LAUNCH)
            memcpy(&address, launch->params, 8);
        fprintf(log, "%s %llx %zu\n", name, (unsigned long long)(command.address ? command.address : address),
                command.kind == ATOLL_DEVICE_COMMAND_ALLOC ? (size_t)command.count : command.length);
        if (command.kind == ATOLL_DEVICE_COMMAND_ALLOC) {
            atoll_buffer_put_u32(&reply->results, 8);
            atoll_buffer_put_u64(&reply->results, next);
            next += (uint64_t)1 << 32;
        }
        if (command.kind == ATOLL_DEVICE_COMMAND_FUNCTION)
            atoll_buffer_put_blob(&reply->results, "", 0);
        if (command.kind == ATOLL_DEVICE_COMMAND_LAUNCH && strcmp(module, "fault") == 0) {
            reply->status = ATOLL_COMMAND_BATCH_FAULT;
            snprintf(reply->text, sizeof(reply->text), "CUDA_ERROR_LAUNCH_FAILED");
        }
    }
    free(launch);
}

static int device_main(const char *folder)
{
    static struct atoll_cuda_hello hello = {.version = ATOLL_CUDA_LINK_VERSION};
    char path[512];
    uint64_t length;
    snprintf(path, sizeof(path), "%s/asked-for", folder);
    FILE *log = fopen(path, "a");
    if (!log)
        return 1;
    fprintf(log, "start %s %s\n", getenv("SECRET") ? "secret" : "clean", getenv("TMPDIR") ? "tmp" : "none");
    put_all(&hello, sizeof(hello));
    while (take_all(&length, sizeof(length)) == 0) {
        struct atoll_command_batch_reply reply;
        struct atoll_buffer out;
        unsigned char *batch = malloc((size_t)length + 1);
        if (!batch || take_all(batch, (size_t)length) != 0)
            return 1;
        atoll_command_batch_reply_init(&reply);
        atoll_buffer_init(&out, 1 << 20);
        carry_out(batch, (size_t)length, &reply, log);
        atoll_command_batch_reply_encode(&reply, &out);
        length = out.length;
        put_all(&length, sizeof(length));
        put_all(out.data, out.length);
        atoll_buffer_fini(&out);
        atoll_command_batch_reply_fini(&reply);
        free(batch);
    }
    fprintf(log, "end\n");
    fclose(log);
    return 0;
}

/* ---- the tests ---- */

static char folder[] = "/tmp/atoll-sanitize-XXXXXX";
static struct cuda_candidate candidate;
static struct atoll_referee referee;
static struct atoll_case known;
static struct atoll_cuda_device *device;
static struct atoll_loaded_candidate loaded;

static void path_in(const char *name, char ret_path[256])
{
    snprintf(ret_path, 256, "%s/%s", folder, name);
}

static void file_write(const char *name, mode_t mode, const char *text)
{
    char path[256];
    path_in(name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* The report of each tool is the file of its name; where there is none, it never starts its program. */
static void script_make(const char *before_exec)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "#!/bin/sh\n"
             "while [ $# -gt 3 ]; do\n"
             "    [ \"$1\" = --tool ] && tool=$2\n"
             "    [ \"$1\" = --log-file ] && log=$2\n"
             "    shift\n"
             "done\n"
             "echo \"tool $tool\" >> %s/asked-for\n"
             "%s\n"
             "cat %s/$tool > \"$log\" 2> /dev/null || exit 1\n"
             "exec \"$@\"\n",
             folder, before_exec, folder);
    file_write("compute-sanitizer", 0755, text);
}

static void reports_write(const char *memcheck, const char *initcheck, const char *racecheck,
                          const char *synccheck)
{
    const char *const texts[] = {memcheck, initcheck, racecheck, synccheck};
    char path[256];
    for (unsigned t = 0; t < ATOLL_SANITIZER_TOOL_COUNT; t++) {
        path_in(atoll_sanitizer_name(t), path);
        unlink(path);
        if (texts[t])
            file_write(atoll_sanitizer_name(t), 0644, texts[t]);
    }
    path_in("asked-for", path);
    unlink(path);
}

static size_t asked_for(const char *what, char *ret_text, size_t bytes)
{
    char path[256];
    size_t n = 0, count = 0;
    path_in("asked-for", path);
    FILE *f = fopen(path, "r");
    if (f) {
        n = fread(ret_text, 1, bytes - 1, f);
        fclose(f);
    }
    ret_text[n] = 0;
    for (const char *at = ret_text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static void expect(enum atoll_verdict verdict, const char *says, size_t tools)
{
    char detail[ATOLL_DETAIL_BYTES], text[16384];
    memset(device->sanitized, 0, sizeof(device->sanitized));
    enum atoll_verdict v = atoll_cuda_sanitize(&referee, &known, &loaded, detail);
    size_t asked = asked_for("tool ", text, sizeof(text));
    if (v != verdict || !strstr(detail, says) || asked != tools)
        fail_msg("%s: \"%s\", %zu tools:\n%s", atoll_verdict_name(v), detail, asked, text);
}

static void all_tools_are_clean(void **state)
{
    char text[16384];
    (void)state;
    script_make("");
    reports_write(CLEAN, CLEAN, "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)\n",
                  CLEAN);
    setenv("SECRET", "1", 1);
    expect(
        ATOLL_V_CORRECT,
        "clean under compute-sanitizer (memcheck, initcheck, racecheck, synccheck); racecheck warns 2 times",
        4);
    assert_int_equal(asked_for("start clean tmp", text, sizeof(text)), 4);
    assert_int_equal(asked_for("end\n", text, sizeof(text)), 4); /* in order, each of them */
}

/* Each buffer is an allocation; x and w are written, y and the scratch are not; the launches are the plan's. */
static void works_on_buffers_of_its_own(void **state)
{
    char text[16384];
    struct atoll_sanitizer_report report;
    char path[256];
    (void)state;
    script_make("");
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    path_in("compute-sanitizer", path);
    atoll_cuda_sanitize_with(&referee, &loaded, path, ATOLL_SANITIZER_MEMCHECK, 30e9, &report);
    assert_string_equal(report.text, "");
    assert_int_equal(asked_for("tool ", text, sizeof(text)), 1);
    const char *wanted = "tool memcheck\n"
                         "start clean tmp\n"
                         "load 0 5\nfunction 0 0\nfunction 0 0\n"
                         "alloc 0 2812\nalloc 0 148\nalloc 0 2812\nalloc 0 148\n"
                         "write 700000000000 2812\nwrite 700100000000 148\n"
                         "launch 700000000000 0\nlaunch 700300000000 0\n"
                         "end\n";
    assert_string_equal(text, wanted);
}

static void findings_are_the_kernels(void **state)
{
    static const char race[] = "========= Error: Race reported between Write access at k+0x90\n"
                               "=========     and Read access at k+0x100 [508 hazards]\n"
                               "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";
    static const char uninitialized[] = "========= Uninitialized __global__ memory read of size 4 bytes\n"
                                        "=========     at l+0x10\n"
                                        "========= ERROR SUMMARY: 19 errors\n";
    (void)state;
    script_make("");
    reports_write(CLEAN, uninitialized, CLEAN, CLEAN);
    expect(ATOLL_V_WRONG,
           "compute-sanitizer initcheck: Uninitialized __global__ memory read of size 4 bytes, at l+0x10 "
           "(errors: 19)",
           2);
    reports_write(CLEAN, CLEAN, race, CLEAN);
    expect(ATOLL_V_WRONG, "compute-sanitizer racecheck: Error: Race reported between Write access at k+0x90",
           3);
    candidate.prepared.body = "asm(\"mbarrier.init\");";
    expect(
        ATOLL_V_CORRECT,
        "clean under compute-sanitizer (memcheck, initcheck, synccheck); racecheck, not believed of a kernel",
        7);
    candidate.prepared.body = "";
}

/* After a fault the tool still writes what it saw, and is given the time to. */
static void a_fault_with_a_finding_is_the_kernels(void **state)
{
    char text[16384];
    (void)state;
    script_make("");
    loaded.object = "fault";
    reports_write("========= Invalid __global__ write of size 4 bytes\n=========     at k+0x90\n", CLEAN,
                  CLEAN, CLEAN);
    expect(ATOLL_V_WRONG, "compute-sanitizer memcheck: Invalid __global__ write of size 4 bytes, at k+0x90",
           1);
    assert_int_equal(asked_for("end\n", text, sizeof(text)), 1);
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    expect(ATOLL_V_CORRECT,
           "not run under compute-sanitizer; memcheck did not look: CUDA_ERROR_LAUNCH_FAILED", 4);
    loaded.object = "cubin";
}

static void what_did_not_look_says_why(void **state)
{
    (void)state;
    script_make("");
    reports_write(CLEAN, NULL, "========= Internal Sanitizer Error: out of memory\n" CLEAN, "");
    expect(ATOLL_V_CORRECT,
           "clean under compute-sanitizer (memcheck); initcheck did not look: the device process ended", 4);
    expect(ATOLL_V_CORRECT,
           "; racecheck did not look: Internal Sanitizer Error: out of memory; synccheck did not look: "
           "its report has no end",
           8);
}

/* A tool that does not come to start anything leaves its reason in the report. */
static void says_why_it_did_not_start(void **state)
{
    (void)state;
    script_make("[ $tool = memcheck ] && echo '========= Unable to find injection library x.so' > \"$log\" "
                "&& exit 13");
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    expect(ATOLL_V_CORRECT,
           "memcheck did not look: the device process ended before it was ready (exit status 13)", 4);
    expect(ATOLL_V_CORRECT, "it says: Unable to find injection library x.so", 8);
}

/* A tool that hangs is killed with all it started, and leaves the others their share. */
static void a_tool_that_hangs_is_killed(void **state)
{
    (void)state;
    script_make("[ $tool = initcheck ] && sleep 1000");
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    referee.setup.sanitize_deadline_ns = 4e9;
    expect(ATOLL_V_CORRECT,
           "clean under compute-sanitizer (memcheck, racecheck, synccheck); initcheck did not look: the "
           "device process was not ready after 1 s",
           4);
    referee.setup.sanitize_deadline_ns = 60e9;
}

static void is_looked_at_once(void **state)
{
    char detail[ATOLL_DETAIL_BYTES], text[16384];
    (void)state;
    script_make("");
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    memset(device->sanitized, 0, sizeof(device->sanitized));
    for (int i = 0; i < 3; i++) {
        detail[0] = 0;
        assert_int_equal(atoll_cuda_sanitize(&referee, &known, &loaded, detail), ATOLL_V_CORRECT);
        assert_non_null(strstr(detail, "clean under compute-sanitizer"));
    }
    assert_int_equal(asked_for("tool ", text, sizeof(text)), 4);
    candidate.prepared.id.bytes[0]++;
    assert_int_equal(atoll_cuda_sanitize(&referee, &known, &loaded, detail), ATOLL_V_CORRECT);
    assert_int_equal(asked_for("tool ", text, sizeof(text)), 8);
}

static void is_not_run_unless_wanted_and_there(void **state)
{
    char path[256];
    (void)state;
    script_make("");
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    referee.setup.sanitize_deadline_ns = 0;
    expect(ATOLL_V_CORRECT, "", 0);
    referee.setup.sanitize_deadline_ns = 60e9;
    setenv(ATOLL_SANITIZER_VARIABLE, "/nowhere/compute-sanitizer", 1);
    expect(ATOLL_V_CORRECT, "not run under compute-sanitizer: " ATOLL_SANITIZER_VARIABLE " names no program",
           0);
    path_in("compute-sanitizer", path);
    setenv(ATOLL_SANITIZER_VARIABLE, path, 1);
    atomic_store(&referee.cancelled, 1);
    expect(ATOLL_V_INFRASTRUCTURE, "cancelled", 0);
    atomic_store(&referee.cancelled, 0);
    expect(ATOLL_V_CORRECT, "clean under", 4);
}

/* The real device process without a device says so, through the tool. */
static void says_that_there_is_no_device(void **state)
{
    char own[4096];
    (void)state;
    script_make("");
    reports_write(CLEAN, CLEAN, CLEAN, CLEAN);
    snprintf(own, sizeof(own), "%s", getenv("ATOLL_WORKER_CUDA"));
    setenv("ATOLL_WORKER_CUDA", ATOLL_BUILD_DIR "/atoll-worker-cuda", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    if (access(ATOLL_BUILD_DIR "/atoll-worker-cuda", X_OK) == 0)
        expect(ATOLL_V_CORRECT, "not run under compute-sanitizer; memcheck did not look: ", 4);
    else
        print_message("skipped: atoll-worker-cuda is not built\n");
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("ATOLL_WORKER_CUDA", own, 1);
}

static int set_up(void **state)
{
    static struct atoll_cuda_device the_device;
    char path[256], self[4096];
    (void)state;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (!mkdtemp(folder) || n <= 0)
        return -1;
    self[n] = 0;
    path_in("device", path); /* its folder tells the device process where to write */
    if (symlink(self, path) != 0 || setenv("ATOLL_WORKER_CUDA", path, 1) != 0)
        return -1;
    path_in("compute-sanitizer", path);
    setenv(ATOLL_SANITIZER_VARIABLE, path, 1);
    device = &the_device;
    referee.device_state = device;
    referee.setup.sanitize_deadline_ns = 60e9;
    cuda_candidate_open(&candidate, SOURCE);
    candidate.prepared.body = "";
    known.task = candidate.task;
    loaded = (struct atoll_loaded_candidate){
        .prepared = &candidate.prepared, .object = "cubin", .object_length = 5};
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"device",    "compute-sanitizer", "asked-for", "memcheck",
                                        "initcheck", "racecheck",         "synccheck"};
    char path[256];
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        path_in(files[i], path);
        unlink(path);
    }
    cuda_candidate_close(&candidate);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[2], ATOLL_CUDA_LINK_ORDERLY) == 0) {
        *strrchr(argv[0], '/') = 0;
        return device_main(argv[0]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tools_are_clean),
        cmocka_unit_test(works_on_buffers_of_its_own),
        cmocka_unit_test(findings_are_the_kernels),
        cmocka_unit_test(a_fault_with_a_finding_is_the_kernels),
        cmocka_unit_test(what_did_not_look_says_why),
        cmocka_unit_test(says_why_it_did_not_start),
        cmocka_unit_test(a_tool_that_hangs_is_killed),
        cmocka_unit_test(is_looked_at_once),
        cmocka_unit_test(is_not_run_unless_wanted_and_there),
        cmocka_unit_test(says_that_there_is_no_device),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
