#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/process/control.h"
#include "mpi-eval/backend/cpu/process/runner.h"
#include "mpi-eval/backend/cpu/process/tiles.h"

#define WORKER      ATOLL_BUILD_DIR "/atoll-worker"
#define BYTES       65536
#define TABLE_BYTES 262144 /* in the object */
#define LATE_ROW    5      /* MiB of stack tell the worker that this program is which one it is to be */

static const char source[] =
    "union w { long long i64; double f64; void *p; };\n"
    "void count(long b, long e, const union w *w) { int *y = w[0].p; for (long i = b; i < e; i++) y[i] += "
    "(int)w[1].i64; }\n"
    "void reverse(long b, long e, const union w *w) { const int *x = w[0].p; int *y = w[1].p; long n = "
    "w[2].i64;\n"
    "    for (long i = b; i < e; i++) y[i] = x[n - 1 - i]; }\n"
    "void add(long b, long e, const union w *w) { double *y = w[0].p; for (long i = b; i < e; i++) y[i] = "
    "w[1].f64; }\n"
    "void where(long b, long e, const union w *w) { long long *y = w[0].p; y[0] = (long long)w[0].p; }\n"
    "static long calls;\n"
    "void remember(long b, long e, const union w *w) { long long *y = w[0].p; y[0] = ++calls; }\n"
    "static const int table[65536] = {[0 ... 65535] = 1};\n"
    "int look(long i);\nint look(long i) { return table[i & 65535]; }\n"
    "void wake(long b, long e, const union w *w) { int *y = w[0].p; *y = 0;\n#if defined(__x86_64__)\n    "
    "long r;\n"
    "    __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(202L), \"D\"(y), \"S\"(129L), \"d\"(1L) : \"rcx\", "
    "\"r11\", "
    "\"memory\");\n#endif\n}\n"
    "#if defined(__x86_64__)\n#include <immintrin.h>\n"
    "__attribute__((target(\"amx-tile,amx-bf16\"))) void multiply(long b, long e, const union w *w) {\n"
    "    _Alignas(64) unsigned char tiles[64]; volatile unsigned char *t = tiles;\n"
    "    for (int i = 0; i < 64; i++) t[i] = i == 0 ? 1 : i >= 16 && i < 22 && i % 2 == 0 ? 64 : i >= 48 && "
    "i < 51 ? 16 : 0;\n"
    "    _tile_loadconfig(tiles);\n"
    "    for (long i = b; i < e; i++) { _tile_zero(0); _tile_loadd(1, w[0].p, 64); _tile_loadd(2, w[1].p, "
    "64);\n"
    "        _tile_dpbf16ps(0, 1, 2); _tile_stored(0, (float *)w[2].p + 256 * i, 64); }\n    "
    "_tile_release(); }\n"
    "#else\nvoid multiply(long b, long e, const union w *w) { (void)b, (void)e, (void)w; }\n#endif\n"
    "void step(long b, long e, const union w *w) { int *y = w[0].p; for (long i = b; i < e; i++) y[i]++; }\n"
    "void call_step(long b, long e, const union w *w) { step(b, e, w); }\n"
    "void forever(long b, long e, const union w *w) { volatile long long *y = w[0].p; for (;;) ++*y; }\n"
    "struct args { const long long *dims; const void *const *in; double *const *out; double *const *scale; "
    "double *scratch; };\n"
    "void atoll_reference_range(const struct args *a, long b, long e) {\n"
    "    for (long i = b; i < e; i++) { a->scratch[1] = ((const int *)a->in[0])[i]; a->out[1][i] = "
    "a->scratch[1] * a->dims[1];\n"
    "        if (a->scale[1]) a->scale[1][i] = 1; } }\n";
static const char *const symbols[] = {"count", "reverse", "add",       "where",    "remember",
                                      "wake",  "forever", "call_step", "multiply", "atoll_reference_range"};
enum symbol {
    COUNT,
    REVERSE,
    ADD,
    WHERE,
    REMEMBER,
    WAKE,
    FOREVER,
    CALL_STEP,
    MULTIPLY,
    REFERENCE,
    SYMBOL_COUNT
};

static void *object;
static size_t object_length;
static int fds[3];
static void *memory[3];

static int set_up(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {"cc", "-O2", NULL, 1, 20e9, UINT64_C(2) << 30, 16 << 20};
    struct atoll_compiler *compiler = atoll_cc_create(&settings, &err);
    struct atoll_compiled result;
    if (!compiler ||
        atoll_compiler_run(compiler, "unit.c", source, strlen(source), NULL, 0, &result, &err) != 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    atoll_compiler_destroy(compiler);
    print_message("%s", result.diagnostics);
    object = result.object;
    object_length = result.object_length;
    result.object = NULL;
    atoll_compiled_fini(&result);
    for (int i = 0; i < 3; i++) {
        fds[i] = memfd_create("test", MFD_CLOEXEC);
        if (fds[i] < 0 || ftruncate(fds[i], BYTES) != 0)
            return -1;
        memory[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
        if (memory[i] == MAP_FAILED)
            return -1;
    }
    return object ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(object);
    for (int i = 0; i < 3; i++) {
        munmap(memory[i], BYTES);
        close(fds[i]);
    }
    return 0;
}

static struct atoll_runner *create(unsigned threads, int spin)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_runner_settings settings = {WORKER, threads, NULL, spin, 0};
    struct atoll_runner *runner =
        atoll_runner_create(&settings, object, object_length, 1, symbols, SYMBOL_COUNT, &err);
    if (!runner)
        fail_msg("%s", err.text);
    return runner;
}

static struct atoll_run_request request_of(enum symbol symbol, int64_t units)
{
    struct atoll_run_request request = {
        .kind = ATOLL_RUN_CANDIDATE, .buffer_count = 3, .launch_count = 1, .deadline_ns = 20e9};
    for (int i = 0; i < 3; i++)
        request.buffers[i] = (struct atoll_run_buffer){fds[i], BYTES, 0};
    request.launches[0] = (struct atoll_run_launch){.symbol = symbol, .units = units, .argument_count = 2};
    request.launches[0].arguments[0] = (struct atoll_run_argument){.buffer = 0};
    request.launches[0].arguments[1] = (struct atoll_run_argument){.buffer = -1, .value = {.i64 = 1}};
    return request;
}

static struct atoll_run_result run(struct atoll_runner *runner, const struct atoll_run_request *request)
{
    struct atoll_run_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_runner_run(runner, request, &result, &err) != 0)
        fail_msg("%s", err.text);
    return result;
}

static void expect_done(struct atoll_runner *runner, const struct atoll_run_request *request)
{
    struct atoll_run_result result = run(runner, request);
    if (result.status != ATOLL_RUN_DONE)
        fail_msg("%s: %s", atoll_run_status_name(result.status), result.detail);
    assert_string_equal(result.detail, "");
    assert_true(result.ns > 0 && result.setup_ns > 0 && result.stop_ns > 0);
}

static void test_bad_settings(void **state)
{
    (void)state;
    static const char *const missing[] = {"no_such_function"};
    static const char *const twice[80] = {"count"};
    static const struct {
        const char *worker;
        unsigned threads;
        int mutable_allowed;
        const char *const *symbols;
        size_t symbol_count;
        enum atoll_code code;
        const char *text;
    } rows[] = {
        {WORKER, 0, 1, symbols, 1, ATOLL_E_LIMIT, "0 threads"},
        {WORKER, 5000, 1, symbols, 1, ATOLL_E_LIMIT, "5000 threads"},
        {WORKER, 1, 1, symbols, 0, ATOLL_E_LIMIT, "0 symbols"},
        {WORKER, 1, 1, twice, 80, ATOLL_E_LIMIT, "80 symbols"},
        {WORKER, 1, 1, missing, 1, ATOLL_E_INPUT, "function no_such_function is not in the object"},
        {WORKER, 1, 0, symbols, 1, ATOLL_E_INPUT, "mutable global"},
        {"/no/such/worker", 1, 1, symbols, 1, ATOLL_E_NOTFOUND, "could not execute"},
        {"/bin/true", 1, 1, symbols, 1, ATOLL_E_CHILD, "atoll-worker ended"},
        {NULL, 1, 1, symbols, 1, ATOLL_E_NOTFOUND, "/tests/bin/atoll-worker"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_runner_settings settings = {rows[i].worker, rows[i].threads, NULL, 0, 0};
        if (!rows[i].worker && strcmp(program_invocation_short_name, "test_mpi_eval_runner") != 0)
            continue; /* the last row knows where ctest's programs lie */
        assert_null(atoll_runner_create(&settings, object, object_length, rows[i].mutable_allowed,
                                        rows[i].symbols, rows[i].symbol_count, &err));
        if (err.code != rows[i].code || !strstr(err.text, rows[i].text))
            fail_msg("row %zu: %s: %s", i, atoll_code_name(err.code), err.text);
    }
}

/* Every unit exactly once, whatever the number of threads and units; both ways of waiting. */
static void test_units_are_split(void **state)
{
    (void)state;
    static const struct {
        unsigned threads;
        int spin;
        int64_t units;
    } rows[] = {{1, 0, 0},    {1, 0, 1},    {1, 1, 1000}, {2, 0, 1},
                {2, 1, 1001}, {3, 0, 1000}, {7, 0, 5},    {16, 0, 16000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_runner *runner = create(rows[i].threads, rows[i].spin);
        struct atoll_run_request request = request_of(COUNT, rows[i].units);
        memset(memory[0], 0, BYTES);
        expect_done(runner, &request);
        for (int64_t unit = 0; unit < BYTES / 4; unit++)
            assert_int_equal(((int *)memory[0])[unit], unit < rows[i].units);
        atoll_runner_destroy(runner);
    }
}

/* Each launch needs what other threads did in the one before. */
/* The C library has a step() of its own, and other names that a kernel may have: a call stays within the object. */
static void test_names_of_the_library(void **state)
{
    struct atoll_run_request request = request_of(CALL_STEP, 1000);
    struct atoll_runner *runner = create(1, 0);
    int32_t *y = memory[0];
    memset(y, 0, BYTES);
    expect_done(runner, &request);
    assert_int_equal(y[999], 1);
    atoll_runner_destroy(runner);
}

/* Tile registers of AMX, for which a candidate cannot ask itself; each thread has its own. */
static void test_tiles(void **state)
{
    (void)state;
    if (!atoll_tiles_permit()) {
        print_message("this machine has no tile registers, or its kernel gives none\n");
        skip();
    }
    struct atoll_run_request request = request_of(MULTIPLY, 4);
    struct atoll_runner *runner = create(2, 0);
    request.launches[0].argument_count = 3;
    for (int i = 0; i < 3; i++)
        request.launches[0].arguments[i] = (struct atoll_run_argument){.buffer = i};
    for (int i = 0; i < 512; i++) {
        ((uint16_t *)memory[0])[i] = 0x3f80; /* 1 */
        ((uint16_t *)memory[1])[i] = 0x4000; /* 2 */
    }
    memset(memory[2], 0, BYTES);
    expect_done(runner, &request);
    for (int i = 0; i < 4 * 256; i++)
        assert_float_equal(((float *)memory[2])[i], 64, 0);
    atoll_runner_destroy(runner);
}

static void test_barrier_between_launches(void **state)
{
    (void)state;
    const int64_t n = 8000;
    for (int spin = 0; spin < 2; spin++) {
        struct atoll_runner *runner = create(spin ? 2 : 4, spin);
        struct atoll_run_request request = request_of(REVERSE, n);
        request.launch_count = ATOLL_RUN_LAUNCH_LIMIT - 1;
        for (size_t i = 0; i < request.launch_count; i++) {
            request.launches[i] = request.launches[0];
            request.launches[i].argument_count = 3;
            request.launches[i].arguments[0] = (struct atoll_run_argument){.buffer = (int)(i % 2)};
            request.launches[i].arguments[1] = (struct atoll_run_argument){.buffer = (int)((i + 1) % 2)};
            request.launches[i].arguments[2] = (struct atoll_run_argument){.buffer = -1, .value = {.i64 = n}};
        }
        for (int64_t i = 0; i < n; i++)
            ((int *)memory[0])[i] = (int)i;
        expect_done(runner, &request);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(((int *)memory[1])[i], n - 1 - i);
        atoll_runner_destroy(runner);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    struct atoll_runner *runner = create(1, 0);
    struct atoll_run_request request = request_of(ADD, 10);
    request.launches[0].arguments[0].offset = 4096;
    request.launches[0].arguments[1].value.f64 = 2.5;
    memset(memory[0], 0, BYTES);
    expect_done(runner, &request);
    assert_true(((double *)memory[0])[511] == 0 && ((double *)memory[0])[512] == 2.5 &&
                ((double *)memory[0])[521] == 2.5 && ((double *)memory[0])[522] == 0);
    atoll_runner_destroy(runner);
}

static void test_samples_share_nothing(void **state)
{
    (void)state;
    struct atoll_runner *runner = create(1, 0);
    long long first = 0;
    for (int i = 0; i < 8; i++) {
        struct atoll_run_request request = request_of(WHERE, 1);
        expect_done(runner, &request);
        long long at = *(long long *)memory[0];
        assert_int_equal(at % sysconf(_SC_PAGESIZE), 0);
        assert_true(at != first);
        first = at;
        request = request_of(REMEMBER, 1);
        expect_done(runner, &request);
        assert_int_equal(*(long long *)memory[0], 1);
    }
    atoll_runner_destroy(runner);
}

static void kill_children(void *context)
{
    char path[64], line[256];
    (void)context;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    if (fgets(line, sizeof(line), f))
        kill((pid_t)strtol(line, NULL, 10), SIGKILL);
    fclose(f);
}

/* Cold means the object's own pages, too: a table in it is as cold as one in scratch. */
static void test_object_is_flushed(void **state)
{
    (void)state;
    struct atoll_runner *runner = create(2, 0);
    struct atoll_run_request request = request_of(COUNT, 100);
    struct atoll_run_result result = run(runner, &request);
    assert_int_equal(result.status, ATOLL_RUN_DONE);
    assert_int_equal(result.flushed_bytes, 0);
    request.flush = 1;
    result = run(runner, &request);
    assert_int_equal(result.status, ATOLL_RUN_DONE);
#if defined(__x86_64__)
    assert_true(result.flushed_bytes >= TABLE_BYTES && result.flushed_bytes < 2 * TABLE_BYTES);
#endif
    atoll_runner_destroy(runner);
}

/* Threads that spin cannot sleep: no two of them can hand work to each other so that a core looks taken. */
static void test_no_sleep_between_threads(void **state)
{
    (void)state;
    for (int spin = 0; spin < 2; spin++) {
        struct atoll_runner *runner = create(1, spin);
        struct atoll_run_request request = request_of(WAKE, 1);
        struct atoll_run_result result = run(runner, &request);
#if defined(__x86_64__)
        int is_refused = spin;
#else
        int is_refused = 0; /* elsewhere wake makes no call */
#endif
        assert_int_equal(result.status, is_refused ? ATOLL_RUN_FORBIDDEN : ATOLL_RUN_DONE);
        atoll_runner_destroy(runner);
    }
}

static void *kill_while_it_beats(void *memory_of_sample)
{
    const volatile long long *beats = memory_of_sample;
    for (int i = 0; i < 10000 && *beats == 0; i++)
        usleep(1000);
    kill_children(NULL);
    return NULL;
}

/* A sample dies with its worker although the thread that it was forked with has ended. */
static void test_sample_dies_with_worker(void **state)
{
    (void)state;
    pthread_t killer;
    struct atoll_runner *runner = create(2, 1);
    struct atoll_run_request request = request_of(FOREVER, 2);
    volatile long long *beats = memory[0];
    request.launches[0].argument_count = 1;
    request.deadline_ns = 10e9;
    *beats = 0;
    assert_int_equal(pthread_create(&killer, NULL, kill_while_it_beats, memory[0]), 0);
    struct atoll_run_result result = run(runner, &request);
    pthread_join(killer, NULL);
    assert_true(result.status == ATOLL_RUN_LOST);
    for (int i = 0; i < 1000; i++) { /* the kernel delivers the parent's death soon */
        long long before = *beats;
        usleep(5000);
        if (before == *beats)
            break;
        assert_true(i < 999);
    }
    atoll_runner_destroy(runner);
}

static void test_accounts(void **state)
{
    (void)state;
    struct atoll_runner *runner = create(1, 1);
    struct atoll_run_request request = request_of(COUNT, 1000);
    struct atoll_run_result result = run(runner, &request);
    assert_int_equal(result.status, ATOLL_RUN_DONE);
    assert_true(result.probe_ns[1] > 1000);
    assert_true(result.preemptions >= 0 && result.lost_ns >= 0 && result.blind_ns >= 0);
    assert_true(result.preemptions > 0 || result.lost_ns == 0);
    atoll_runner_destroy(runner);
    runner = create(1, 0); /* it sleeps: nobody knows what was taken from it */
    result = run(runner, &request);
    assert_true(result.lost_ns < 0 && result.own_ns < 0 && result.blind_ns == 0);
    atoll_runner_destroy(runner);
}

static void test_reference(void **state)
{
    (void)state;
    const long long dims[] = {5, 3};
    struct atoll_run_argument arguments[6] = {{.buffer = 0},  {.buffer = -1}, {.buffer = -1},
                                              {.buffer = -1}, {.buffer = 1},  {.buffer = -1}};
    for (int with_scale = 0; with_scale < 2; with_scale++) {
        struct atoll_runner *runner = create(3, 0);
        struct atoll_run_request request = request_of(REFERENCE, 5000);
        request.kind = ATOLL_RUN_REFERENCE;
        request.dims = dims;
        request.dim_count = 2;
        request.tensor_count = 2;
        request.scratch_doubles = 2;
        request.reference_arguments = arguments;
        arguments[5] = (struct atoll_run_argument){.buffer = with_scale ? 2 : -1};
        memset(memory[2], 0, BYTES);
        for (int i = 0; i < 5000; i++)
            ((int *)memory[0])[i] = i;
        expect_done(runner, &request);
        for (int i = 0; i < 5000; i++)
            assert_true(((double *)memory[1])[i] == 3.0 * i && ((double *)memory[2])[i] == with_scale);
        atoll_runner_destroy(runner);
    }
}

static void test_bad_requests(void **state)
{
    (void)state;
    struct atoll_runner *runner = create(1, 0);
    struct atoll_run_request bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = request_of(COUNT, 1);
    bad[0].launch_count = 0;
    bad[1].launch_count = ATOLL_RUN_LAUNCH_LIMIT + 1;
    bad[2].buffer_count = ATOLL_RUN_BUFFER_LIMIT + 1;
    bad[3].launches[0].symbol = SYMBOL_COUNT;
    bad[4].launches[0].arguments[0].buffer = 3;
    bad[5].launches[0].arguments[0].offset = BYTES + 1;
    bad[6].launches[0].units = -1;
    bad[7].buffers[0].bytes = 0;
    for (size_t i = 0; i < 8; i++) {
        struct atoll_run_result result;
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_runner_run(runner, &bad[i], &result, &err), -1);
        assert_int_equal(err.code, ATOLL_E_INTERNAL);
    }
    struct atoll_run_request good = request_of(COUNT, 1);
    expect_done(runner, &good);
    atoll_runner_destroy(runner);
    atoll_runner_destroy(NULL);
}

/* The worker is killed in the middle of a run: the run is lost, so is the runner, and nobody hangs. */
static void test_lost_worker(void **state)
{
    (void)state;
    struct atoll_runner *runner = create(1, 0);
    struct atoll_run_request request = request_of(COUNT, INT64_C(1) << 40);
    request.launches[0].arguments[0].offset =
        BYTES; /* it would fault; but the worker goes first or at once after */
    request.window_begin = kill_children;
    struct atoll_run_result result = run(runner, &request);
    assert_true(result.status == ATOLL_RUN_LOST);
    assert_string_equal(result.detail, "atoll-worker is lost");
    request.window_begin = NULL;
    result = run(runner, &request);
    assert_true(result.status == ATOLL_RUN_LOST);
    atoll_runner_destroy(runner);
}

static void mark(void *context)
{
    int *marks = context;
    marks[0] = marks[0] * 10 + 1;
}

static void mark_end(void *context)
{
    int *marks = context;
    marks[0] = marks[0] * 10 + 2;
}

static void test_window_and_pinning(void **state)
{
    (void)state;
    int marks = 0, core = sched_getcpu();
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_runner_settings settings = {WORKER, 1, &core, 0, 1 << 20};
    struct atoll_runner *runner =
        atoll_runner_create(&settings, object, object_length, 1, symbols, SYMBOL_COUNT, &err);
    assert_non_null(runner);
    struct atoll_run_request request = request_of(COUNT, 10);
    request.window_begin = mark;
    request.window_end = mark_end;
    request.context = &marks;
    expect_done(runner, &request);
    assert_int_equal(marks, 12);
    marks = 0; /* a run that is given up has an end of its window, too */
    assert_int_equal(atoll_runner_start(runner, &request, NULL), 0);
    assert_int_equal(marks, 0);
    atoll_runner_arm(runner);
    assert_int_equal(marks, 1);
    atoll_runner_destroy(runner);
    assert_int_equal(marks, 12);
    marks = 0;
    core = 1000;
    runner = atoll_runner_create(&settings, object, object_length, 1, symbols, SYMBOL_COUNT, &err);
    assert_non_null(runner);
    struct atoll_run_result result = run(runner, &request);
    assert_int_equal(result.status, ATOLL_RUN_LOST);
    assert_non_null(strstr(result.detail, "cannot pin a thread to core 1000"));
    assert_true(marks == 12 || marks == 0);
    atoll_runner_destroy(runner);
}

static void test_names(void **state)
{
    (void)state;
    char text[128];
    assert_string_equal(atoll_run_status_name(ATOLL_RUN_FORBIDDEN), "forbidden");
    assert_string_equal(atoll_run_status_name((enum atoll_run_status)99), "unknown");
    assert_non_null(strstr(atoll_runner_isolation(text, sizeof(text)), "seccomp"));
    assert_non_null(strstr(text, "landlock"));
}

/* A worker that is slow to start is our trouble, one whose object is slow to load is the object's. */
static void test_slow_loads(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        enum atoll_code code;
        const char *says;
    } rows[] = {
        {"loading, then SIGPROF", ATOLL_E_TIMEOUT, "2 s of processor time"},
        {"loading, then SIGKILL", ATOLL_E_CHILD, "ended while it loaded"},
        {"SIGPROF", ATOLL_E_CHILD, "ended while it loaded"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_runner_settings settings = {"/proc/self/exe", 1, NULL, 0, 0};
        settings.stack_bytes = (i + 1) << 20; /* tells the worker below which row it is */
        assert_null(atoll_runner_create(&settings, object, object_length, 1, symbols, SYMBOL_COUNT, &err));
        if (err.code != rows[i].code || !strstr(err.text, rows[i].says))
            fail_msg("%s: %s: %s", rows[i].end, atoll_code_name(err.code), err.text);
    }
}

/* A run is sent while its child is still being set up: this worker takes it before it says that one stands. */
static void test_start_waits_for_nothing(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_runner_settings settings = {"/proc/self/exe", 1, NULL, 0, (uint64_t)LATE_ROW << 20};
    struct atoll_runner *runner =
        atoll_runner_create(&settings, object, object_length, 1, symbols, SYMBOL_COUNT, &err);
    struct atoll_run_request request = request_of(COUNT, 1);
    if (!runner)
        fail_msg("%s", err.text);
    struct atoll_run_result result = run(runner, &request);
    assert_int_equal(result.status, ATOLL_RUN_LOST); /* it is only half a worker */
    assert_string_equal(result.detail, "the sample did not start: it took the run first");
    atoll_runner_destroy(runner);
}

/* Says that a child stands once it has got a run, and gives up then. */
static int be_late(void)
{
    static struct atoll_control_run taken;
    struct atoll_control_reply reply = {.type = ATOLL_CONTROL_LOADED};
    alarm(10); /* nobody waits for longer */
    if (atoll_control_send(&reply) != 0 || recv(ATOLL_CONTROL_FD_SOCKET, &taken, sizeof(taken), 0) <= 0 ||
        taken.type != ATOLL_CONTROL_RUN)
        return 2;
    reply = (struct atoll_control_reply){.type = ATOLL_CONTROL_READY, .pid = getpid()};
    if (atoll_control_send(&reply) != 0)
        return 2;
    reply.type = ATOLL_CONTROL_ENDED;
    snprintf(reply.text, sizeof(reply.text), "it took the run first");
    return atoll_control_send(&reply) == 0 && recv(ATOLL_CONTROL_FD_SOCKET, &taken, sizeof(taken), 0) == 0
               ? 0
               : 2;
}

/* This program as a worker. */
static int be_a_worker(void)
{
    static struct atoll_control_setup setup;
    const struct atoll_control_reply loading = {.type = ATOLL_CONTROL_LOADING};
    if (recv(ATOLL_CONTROL_FD_SOCKET, &setup, sizeof(setup), 0) != (ssize_t)sizeof(setup))
        return 2;
    if (setup.stack_bytes != 3u << 20)
        send(ATOLL_CONTROL_FD_SOCKET, &loading, sizeof(loading), 0);
    if (setup.stack_bytes == (uint64_t)LATE_ROW << 20)
        return be_late();
    raise(setup.stack_bytes == 2u << 20 ? SIGKILL : SIGPROF);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--zygote") == 0)
        return be_a_worker();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_units_are_split),
        cmocka_unit_test(test_names_of_the_library),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_barrier_between_launches),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_samples_share_nothing),
        cmocka_unit_test(test_object_is_flushed),
        cmocka_unit_test(test_no_sleep_between_threads),
        cmocka_unit_test(test_sample_dies_with_worker),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_lost_worker),
        cmocka_unit_test(test_slow_loads),
        cmocka_unit_test(test_start_waits_for_nothing),
        cmocka_unit_test(test_window_and_pinning),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
