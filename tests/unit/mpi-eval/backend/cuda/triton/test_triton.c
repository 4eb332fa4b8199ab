/* test_triton.c - real Triton, no device: images and how they are launched, errors with their texts, hostile sources that cost
 * their child only, the cache.  Skips where no Python has Triton. */
#include "tests/support/expect.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"
#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/backend/cuda/triton/triton.h"
#include "mpi-eval/backend/sandbox/scratch.h"
#include "mpi-eval/backend/sandbox/spawn.h"
#include "tests/support/triton.h"

static const char *python;
static struct atoll_task *task; /* rowsum: check N=17, bench.large N=4096, hidden N=129 */
static struct atoll_compiler *compiler;
static char scratch[] = "/tmp/atoll-test-XXXXXX", cache[64];

static struct atoll_triton_settings settings_of(const char *interpreter, const char *folder)
{
    return (struct atoll_triton_settings){.compiler = {.target = "sm_90a",
                                                       .slots = 2,
                                                       .deadline_ns = 4e9,
                                                       .memory_bytes = (uint64_t)2 << 30,
                                                       .output_bytes = (uint64_t)16 << 20},
                                          .python = interpreter,
                                          .script = ATOLL_SOURCE_DIR "/mpi-eval/torch/python/atoll_triton.py",
                                          .cache = folder};
}

#define PLAN(rest, args)                                                                                     \
    "# atoll-plan {\"version\": 1, \"params\": {\"BLOCK\": [64, 128]},\n"                                    \
    "#  \"launch\": [{\"kernel\": \"k\", \"grid\": [\"B\"], \"args\": [" args "]" rest "}]}\n"               \
    "import triton\nimport triton.language as tl\n"
#define ARGS "\"x\", \"total\", \"i32:N\""
#define BODY                                                                                                 \
    "    r = tl.program_id(0)\n    s = 0.0\n    for c in range(0, n, BLOCK):\n"                              \
    "        i = c + tl.arange(0, BLOCK)\n        s += tl.sum(tl.load(x + r * n + i, mask=i < n, "           \
    "other=0.0), 0)\n"                                                                                       \
    "    tl.store(y + r, s)\n"
#define KERNEL "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr):\n" BODY

#define KERNEL_LARGE                                                                                         \
    "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr):\n    r = tl.arange(0, 512)\n"                         \
    "    tl.store(y + r, tl.sum(tl.sort(tl.load(x + r[:, None] * n + r[None, :])), 0))\n"

static struct atoll_prepared *prepare(const char *source)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate c = {.language = "triton", .source = source, .choice = {1, {64}}};
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cuda, &c, NULL, &err);
    if (!p)
        fail_msg("%s", err.text);
    return p;
}

static struct atoll_compiled run(struct atoll_compiler *with, const struct atoll_prepared *p)
{
    struct atoll_compiled c;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_string_equal(p->unit_name, "candidate.py");
    if (atoll_compiler_run(with, p->unit_name, p->unit_text, p->unit_length, NULL, 0, &c, &err) != 0)
        fail_msg("%s", err.text);
    return c;
}

static const struct atoll_variant *variant(const char *name)
{
    for (size_t i = 0; i < task->variant_count; i++)
        if (strcmp(task->variants[i].name, name) == 0)
            return &task->variants[i];
    fail_msg("no variant %s", name);
    return NULL;
}

/* Two classes over three variants; each is launched as its image says. */
static void test_launch(void **state)
{
    struct atoll_prepared *p = prepare(PLAN(", \"num_warps\": 8", ARGS) KERNEL);
    struct atoll_compiled c = run(compiler, p);
    struct atoll_cubin *cubin = calloc(1, sizeof(*cubin));
    struct atoll_device_command_launch *launch = calloc(1, sizeof(*launch));
    struct atoll_resources resources;
    struct atoll_device_limits limits = {.registers_per_multiprocessor = 65536};
    char detail[ATOLL_DETAIL_BYTES], name[128];
    if (p->verdict != ATOLL_V_CORRECT || c.status != ATOLL_COMPILE_OK)
        fail_msg("%s %s", p->detail, c.diagnostics);
    p->report = c.report;
    assert_int_equal(atoll_cuda_function_count(p), 2);
    enum atoll_verdict v = atoll_cuda_image_check(p, c.object, c.object_length, c.report, cubin, detail);
    if (v != ATOLL_V_CORRECT)
        fail_msg("%s", detail);
    static const char *const names[] = {"check", "bench.large", "hidden"};
    uint32_t functions[3];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(atoll_cuda_launch_make(p, variant(names[i]), 0, NULL, launch, NULL), 0);
        functions[i] = launch->function;
        assert_int_equal(launch->block[0], 256);
        assert_int_equal(launch->grid[0], i == 0 ? 3 : i == 1 ? 128 : 5);
        assert_int_equal(launch->param_count, 5);
        assert_int_equal(
            atoll_cubin_find(cubin, atoll_cuda_function_name(p, launch->function, name, sizeof(name)))
                ->param_count,
            5);
    }
    assert_true(functions[0] == functions[2] && functions[0] != functions[1]);
    atoll_cuda_resources(p, variant("bench.large"), cubin, &limits, &resources);
    assert_true(resources.registers > 0 && resources.kernel_count == 1);
    /* a report from elsewhere fits nothing */
    assert_int_equal(atoll_cuda_image_check(p, c.object, c.object_length,
                                            "triton image nix 32 0 0 1\ntriton class 0 D 0\n", cubin, detail),
                     ATOLL_V_LAUNCH_ERROR);
    assert_non_null(strstr(detail, "no kernel \"nix\""));
    assert_int_equal(atoll_cuda_image_check(p, c.object, c.object_length, "", cubin, detail),
                     ATOLL_V_LAUNCH_ERROR);
    p->report = NULL;
    atoll_compiled_fini(&c);
    atoll_prepared_destroy(p);
    free(cubin);
    free(launch);
}

/* What triton.compile's side of a comparison reads: same.py UNIT IMAGE ... */
#define SAME_LIMIT 64
struct comparison {
    char *argv[2 + 2 * SAME_LIMIT + 1];
    size_t count;
};

static void comparison_write(struct comparison *k, const char *suffix, const void *bytes, size_t length)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/same-%zu%s", scratch, k->count / 2, suffix);
    FILE *f = fopen(path, "w");
    assert_true(f && k->count < 2 * SAME_LIMIT && fwrite(bytes, 1, length, f) == length && fclose(f) == 0);
    k->argv[2 + k->count++] = strdup(path);
}

static void comparison_add(struct comparison *k, const struct atoll_prepared *p,
                           const struct atoll_compiled *c)
{
    comparison_write(k, ".json", p->unit_text, p->unit_length);
    comparison_write(k, ".cubin", c->object, c->object_length);
}

/* What it says of all; the comparison is over. */
static void comparison_run(struct comparison *k, char *ret_said, size_t bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    k->argv[0] = strdup(python);
    k->argv[1] = strdup(ATOLL_SOURCE_DIR "/tests/fixtures/triton/same.py");
    if (atoll_spawn_output(k->argv, NULL, 300000, ret_said, bytes, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; k->argv[i]; i++)
        free(k->argv[i]);
}

/* Another bit in the section of this name. */
static void text_change(unsigned char *image, size_t length, const char *name)
{
    Elf64_Ehdr head;
    assert_true(length > sizeof(head));
    memcpy(&head, image, sizeof(head));
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(image + head.e_shoff);
    const char *names = (const char *)image + sections[head.e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head.e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0) {
            image[sections[i].sh_offset] ^= 1;
            return;
        }
    fail_msg("no section %s", name);
}

/* The instructions of each class are those that triton.compile makes for it; where they are not, it is seen. */
static void test_same_as_jit(void **state)
{
#ifdef ATOLL_SANITIZED
    print_message("another process compares; the build without sanitizers looks at it\n");
    return;
#endif
    struct atoll_prepared *p = prepare(PLAN(", \"num_warps\": 2, \"num_stages\": 2", ARGS) KERNEL);
    struct atoll_compiled c = run(compiler, p);
    struct comparison same = {0};
    char said[512] = "";
    assert_int_equal(c.status, ATOLL_COMPILE_OK);
    comparison_add(&same, p, &c);
    text_change(c.object, c.object_length, ".text.k__a0");
    comparison_add(&same, p, &c);
    comparison_run(&same, said, sizeof(said));
    assert_string_equal(said, "4 classes, different: k__a0 of same-1.json\n");
    atoll_compiled_fini(&c);
    atoll_prepared_destroy(p);
}

/* Classes as Triton's own launcher has them. */
static void test_classes(void **state)
{
    static const char *const values[] = {"1",  "0",   "16",         "17",  "-16",       "-1",
                                         "32", "8",   "2147483647", "-15", "15",        "2",
                                         "48", "256", "99",         "64",  "2147483632"};
    char source[2048], args[1024] = "", said[256] = "", letters[ATOLL_PLAN_ARG_LIMIT + 1];
    char *argv[32] = {strdup(python), strdup(ATOLL_SOURCE_DIR "/tests/fixtures/triton/specialize.py")};
    size_t count = sizeof(values) / sizeof(*values);
    for (size_t i = 0; i < count; i++) {
        snprintf(args + strlen(args), sizeof(args) - strlen(args), "\"i64:%s\", ", values[i]);
        argv[2 + i] = strdup(values[i]);
    }
    snprintf(source, sizeof(source),
             "# atoll-plan {\"version\": 1, \"params\": {\"BLOCK\": [64]}, \"launch\": [{\"kernel\": \"k\", "
             "\"grid\": [1], "
             "\"args\": [%s\"x\", \"f32:0.5\"]}]}\nimport triton\n",
             args);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_prepared *p = prepare(source);
    if (p->verdict != ATOLL_V_CORRECT)
        fail_msg("%s", p->detail);
    assert_int_equal(atoll_triton_letters(p, &task->variants[0], 0, letters, NULL), 0);
    assert_int_equal(atoll_spawn_output(argv, NULL, 30000, said, sizeof(said), &err), 0);
    said[strcspn(said, "\n")] = '\0';
    assert_string_equal(letters, said);
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    atoll_prepared_destroy(p);
}

static const struct {
    const char *source;
    enum atoll_compile_status status;
    const char *says;
} cases[] = {
    {PLAN("", ARGS) "x = 1\n", ATOLL_COMPILE_PLAN,
     "no @triton.jit function \"k\" that the plan launches; it has none"},
    {PLAN("", "\"x\", \"total\"") KERNEL, ATOLL_COMPILE_PLAN,
     "kernel k takes 3 arguments (x, y, n), the plan's launch has 2"},
    {PLAN(", \"constexprs\": {\"BLOK\": 3}", ARGS) KERNEL, ATOLL_COMPILE_PLAN, "no tl.constexpr \"BLOK\""},
    {PLAN("", ARGS) "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr, E: tl.constexpr):\n" BODY,
     ATOLL_COMPILE_PLAN, "the tl.constexpr \"E\" has no value"},
    {PLAN("", ARGS) "@triton.jit\ndef k(x, y, n: tl.int64, BLOCK: tl.constexpr):\n" BODY, ATOLL_COMPILE_PLAN,
     "parameter \"n\" is annotated i64, the plan's argument \"i32:N\" is i32"},
    {PLAN(", \"constexprs\": {\"BLOCK\": 48}", ARGS) KERNEL, ATOLL_COMPILE_ERROR, "power of 2"},
    {PLAN("", ARGS) "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr):\n    tl.nothing(x)\n",
     ATOLL_COMPILE_ERROR, "has no attribute 'nothing'"},
    {PLAN("", ARGS) "x = = 1\n", ATOLL_COMPILE_ERROR, "SyntaxError"},
    {PLAN("", ARGS) "raise ValueError('mine')\n", ATOLL_COMPILE_ERROR,
     "line 5 of the source: ValueError: mine"},
    {PLAN("", ARGS) "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr):\n"
                    "    t = tl.inline_asm_elementwise('mov.u32 $0, %' + 'clock;', '=r', [], dtype=tl.int32, "
                    "is_pure=False, pack=1)\n"
                    "    tl.store(y, t.to(tl.float32))\n",
     ATOLL_COMPILE_FORBIDDEN, "rule assembly-clock, in the PTX"},
    {PLAN("", ARGS) "@triton.jit\ndef k(x, y, n, BLOCK: tl.constexpr):\n"
                    "    v = tl.load(x + tl.arange(0, 64), eviction_policy='evict_' + 'last')\n    "
                    "tl.store(y + tl.arange(0, 64), v)\n",
     ATOLL_COMPILE_FORBIDDEN, "rule assembly-persisting, in the PTX"},
    {PLAN("", "\"x\", \"total\", \"i32:1\"") "@triton.jit(do_not_specialize=['n'])\ndef k(x, y, n, BLOCK: "
                                             "tl.constexpr):\n" BODY,
     ATOLL_COMPILE_OK, ""},
};

static void test_errors(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_prepared *p = prepare(cases[i].source);
        if (p->verdict != ATOLL_V_CORRECT)
            fail_msg("case %zu: %s", i, p->detail);
        struct atoll_compiled c = run(compiler, p);
        if (c.status != cases[i].status || !strstr(c.diagnostics, cases[i].says))
            fail_msg("case %zu: status %d: %s", i, (int)c.status, c.diagnostics);
        if (strstr(c.diagnostics, "site-packages") || strstr(c.diagnostics, "/tmp/"))
            fail_msg("case %zu tells of this machine: %s", i, c.diagnostics);
        atoll_compiled_fini(&c);
        atoll_prepared_destroy(p);
    }
}

/* As if the rules had not seen it: the text goes into a unit that was prepared for another. */
static struct atoll_compiled run_as(struct atoll_compiler *with, const struct atoll_prepared *innocent,
                                    const char *source)
{
    struct atoll_compiled c;
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *root = json_loads(innocent->unit_text, 0, NULL);
    json_object_set_new(root, "source", json_string(source));
    char *unit = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (atoll_compiler_run(with, "candidate.py", unit, strlen(unit), NULL, 0, &c, &err) != 0)
        fail_msg("%s", err.text);
    free(unit);
    return c;
}

/* They pass the rules on purpose: what a source may do is its sandbox's to say. */
static const struct {
    const char *what, *source;
    enum atoll_compile_status status;
    const char *says;
} hostile[] = {
    {"exec",
     "import os\nif os.system('true') != 32512 and os.system('true') != -1: open('/tmp/atoll-test-written', "
     "'w')\nos.execv('/bin/true', ['true'])\n",
     ATOLL_COMPILE_ERROR, "PermissionError"},
    {"fork", "import os\nos.fork()\n", ATOLL_COMPILE_ERROR, "PermissionError"},
    {"write", "open('/tmp/atoll-test-written', 'w').write('here')\n", ATOLL_COMPILE_ERROR, "PermissionError"},
    {"home", "open('/etc/hostname').read()\n", ATOLL_COMPILE_ERROR, "PermissionError"},
    {"socket", "import socket\nsocket.create_connection(('127.0.0.1', 9))\n", ATOLL_COMPILE_ERROR,
     "PermissionError"},
    {"memory of the zygote", "import os\nopen('/proc/%d/mem' % os.getppid(), 'rb')\n", ATOLL_COMPILE_ERROR,
     "PermissionError"},
    {"kill", "import os\nos.kill(os.getppid(), 9)\n", ATOLL_COMPILE_ERROR, "PermissionError"},
    {"tgkill",
     "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\nif l.syscall(234, os.getppid(), "
     "os.getppid(), 9) == 0: "
     "raise ValueError('killed')\nraise OSError(ctypes.get_errno(), 'tgkill')\n",
     ATOLL_COMPILE_ERROR, "PermissionError"},
    {"signal by input", "import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, os.getppid())\n",
     ATOLL_COMPILE_ERROR, "PermissionError"},
    {"another signal", "import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETSIG, 9)\n",
     ATOLL_COMPILE_ERROR, "PermissionError"},
    {"ptrace",
     "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\nif l.ptrace(16, os.getppid(), 0, 0) != 0: "
     "raise "
     "OSError(ctypes.get_errno(), 'ptrace')\n",
     ATOLL_COMPILE_ERROR, "PermissionError"},
    {"limits of another",
     "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (1 << 9, 1 << 9))\n",
     ATOLL_COMPILE_ERROR, "PermissionError"},
    {"cores of another", "import os\nos.sched_setaffinity(os.getppid(), {0})\n", ATOLL_COMPILE_ERROR,
     "PermissionError"},
    {"memory file", "import os\nos.memfd_create('x')\n", ATOLL_COMPILE_ERROR, "PermissionError"},
    {"users", "open('/etc/passwd').read()\n", ATOLL_COMPILE_ERROR, "PermissionError"},
    {"limits", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))\n",
     ATOLL_COMPILE_ERROR, "ValueError"},
    {"descriptors",
     "import os\nk = []\nfor i in range(3, 1024):\n    try: os.fstat(i); k.append(i)\n    except OSError: "
     "pass\n"
     "raise ValueError('open: %s' % k)\n",
     ATOLL_COMPILE_ERROR, "open: []"},
    {"closes its answer and stays", "import os, time\nos.close(0)\ntime.sleep(600)\n", ATOLL_COMPILE_TIMEOUT,
     ""},
    {"stops itself", "import os, signal\nos.close(0)\nsignal.raise_signal(19)\n", ATOLL_COMPILE_TIMEOUT, ""},
    {"endless", "while True: pass\n", ATOLL_COMPILE_TIMEOUT, "time"},
    {"memory", "x = b'1' * (10 << 30)\n", ATOLL_COMPILE_MEMORY,
     "ran out of memory: this source takes more than 2.0 GiB beyond Triton itself (--compile-memory)"},
    {"torch", "import torch\n", ATOLL_COMPILE_ERROR, "import of torch halted"},
    {"exit", "import os\nos._exit(0)\n", ATOLL_COMPILE_ERROR, "answered nonsense"},
    {"abort", "import os\nos.abort()\n", ATOLL_COMPILE_ERROR, "crashes on this source (signal 6)"},
    {"forged answer",
     "import os\nos.write(0, b'{\"ok\": true, \"ptx\": \"x\", \"images\": [], \"launches\": "
     "[]}')\nos._exit(0)\n",
     ATOLL_COMPILE_ERROR, "answered nonsense"},
    {"flood", "import os\nwhile True: os.write(0, b'x' * (1 << 20))\n", ATOLL_COMPILE_ERROR, "far too much"},
    {"words",
     "import os\nfor i in range(100):\n    try: os.write(2, b'y' * 4096)\n    except OSError: "
     "pass\nos._exit(3)\n",
     ATOLL_COMPILE_ERROR, "exit status 3"},
};

static void test_hostile(void **state)
{
    static const char file[] = "/tmp/atoll-test-written";
    struct atoll_prepared *innocent = prepare(PLAN("", ARGS) KERNEL);
    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
        struct atoll_compiled c = run_as(compiler, innocent, hostile[i].source);
        if (c.status != hostile[i].status || !strstr(c.diagnostics, hostile[i].says))
            fail_msg("%s: status %d: %s", hostile[i].what, (int)c.status, c.diagnostics);
        if (access(file, F_OK) == 0)
            fail_msg("%s wrote a file", hostile[i].what);
        atoll_compiled_fini(&c);
    }
    /* the next one is compiled as if nothing had been */
    struct atoll_compiled c = run(compiler, innocent);
    assert_int_equal(c.status, ATOLL_COMPILE_OK);
    atoll_compiled_fini(&c);
    atoll_prepared_destroy(innocent);
}

/* Which part of how many a child has. */
#define PART                                                                                                 \
    "import triton\nimport triton.language as tl\nimport sys\nat = sys._getframe()\nwhile 'parts' not in "   \
    "at.f_locals: at = at.f_back\n"                                                                          \
    "part, parts = at.f_locals['part'], at.f_locals['parts']\n"

/* Ends a compiler, which says what it did. */
static void account_check(struct atoll_compiler *with, const char *wanted)
{
    char text[2048];
    double processor_ms = 0;
    int fd = memfd_create("log", 0);
    atoll_log_setup(fd, ATOLL_LOG_INFO, "");
    atoll_compiler_destroy(with);
    atoll_log_setup(STDERR_FILENO, ATOLL_LOG_INFO, "");
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(fd);
    const char *processor = strstr(text, "processor ");
    if (processor)
        processor_ms = strtod(processor + strlen("processor "), NULL);
    if (!strstr(text, wanted) || !(processor_ms > 0))
        fail_msg("%s", text);
}

/* Idle slots share the classes of a job, and what comes of it is the same; the first part that fails says why. */
static void test_parts(void **state)
{
    static const struct {
        unsigned slots;
        const char *source, *says;
    } rows[] = {
        {1, PART "raise ValueError('%d of %d' % (part, parts))\n", "ValueError: 0 of 1"},
        {3, PART "raise ValueError('%d of %d' % (part, parts))\n", "ValueError: 0 of 2"},
        {3, PART "if part: raise ValueError('%d of %d' % (part, parts))\n" KERNEL, "ValueError: 1 of 2"},
        {3, PART "import os\nif part: os._exit(9)\n" KERNEL, "exit status 9"}};
    struct atoll_prepared *p = prepare(PLAN("", ARGS) KERNEL);
    struct atoll_compiled made[2];
    for (unsigned i = 0; i < 2; i++) {
        struct atoll_triton_settings settings = settings_of(python, "");
        settings.compiler.slots = i ? 3 : 1;
        settings.compiler.deadline_ns = 120e9;
        struct atoll_compiler *with = atoll_triton_create(&settings, NULL);
        made[i] = run(with, p);
        assert_int_equal(made[i].status, ATOLL_COMPILE_OK);
        for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
            if (rows[k].slots != settings.compiler.slots)
                continue;
            struct atoll_compiled c = run_as(with, p, rows[k].source);
            if (c.status != ATOLL_COMPILE_ERROR || !strstr(c.diagnostics, rows[k].says))
                fail_msg("row %zu: status %d: %s", k, (int)c.status, c.diagnostics);
            atoll_compiled_fini(&c);
            assert_int_equal(atoll_compiler_idle_count(with), rows[k].slots);
        }
        account_check(with, i ? "4 sources of Triton in 8 parts" : "2 sources of Triton in 2 parts");
    }
    assert_true(made[0].object_length == made[1].object_length);
    assert_memory_equal(made[0].object, made[1].object, made[0].object_length);
    atoll_compiled_fini(&made[0]);
    atoll_compiled_fini(&made[1]);
    atoll_prepared_destroy(p);
}

/* The limit is what a source takes beyond its interpreter, which has more; LLVM says in its own way that it is not enough. */
static void test_memory(void **state)
{
    static const struct {
        const char *source;
        enum atoll_compile_status status;
        const char *says;
    } rows[] = {{PLAN("", ARGS) KERNEL, ATOLL_COMPILE_OK, ""},
                {PLAN("", ARGS) KERNEL_LARGE, ATOLL_COMPILE_MEMORY, "more than 64.0 MiB beyond Triton"}};
    struct atoll_triton_settings settings = settings_of(python, "");
    settings.compiler.memory_bytes = (uint64_t)64 << 20;
    settings.compiler.deadline_ns = 120e9; /* it is memory that ends it, on a busy machine, too */
    struct atoll_compiler *with = atoll_triton_create(&settings, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_prepared *p = prepare(rows[i].source);
        struct atoll_compiled c = run(with, p);
        if (c.status != rows[i].status || !strstr(c.diagnostics, rows[i].says))
            fail_msg("row %zu: status %d: %s", i, (int)c.status, c.diagnostics);
        atoll_compiled_fini(&c);
        atoll_prepared_destroy(p);
    }
    atoll_compiler_destroy(with);
}

/* What was compiled is there again; what somebody changed in it is not used. */
static void test_cache(void **state)
{
    struct atoll_triton_settings settings = settings_of(python, cache);
    struct atoll_prepared *p = prepare(PLAN("", ARGS) KERNEL);
    struct atoll_compiler *with = atoll_triton_create(&settings, NULL);
    struct atoll_compiled first = run(with, p), again = run(with, p), mended;
    assert_int_equal(first.status, ATOLL_COMPILE_OK);
    assert_false(first.from_cache);
    assert_true(again.from_cache);
    assert_true(again.object_length == first.object_length);
    assert_memory_equal(again.object, first.object, first.object_length);
    assert_string_equal(again.report, first.report);
    DIR *folder = opendir(cache);
    char path[512] = "";
    for (struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.' && strlen(e->d_name) > 20)
            snprintf(path, sizeof(path), "%s/%s", cache, e->d_name);
    closedir(folder);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, -100, SEEK_END);
    int byte = fgetc(f);
    fseek(f, -100, SEEK_END);
    fputc(byte ^ 1, f);
    fclose(f);
    mended = run(with, p);
    assert_int_equal(mended.status, ATOLL_COMPILE_OK);
    assert_false(mended.from_cache);
    assert_memory_equal(mended.object, first.object, first.object_length);
    atoll_compiled_fini(&first);
    atoll_compiled_fini(&again);
    atoll_compiled_fini(&mended);
    atoll_prepared_destroy(p);
    atoll_compiler_destroy(with);
}

/* The one claim of the cache, and a descriptor of its own on it. */
static int claim_open(void)
{
    glob_t found = {0};
    char pattern[128];
    snprintf(pattern, sizeof(pattern), "%s/claim-*", cache);
    int fd =
        glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1 ? open(found.gl_pathv[0], O_RDWR) : -1;
    globfree(&found);
    return fd;
}

/* Two evaluators of a node are asked for the same source: one compiles it, the other one waits, or compiles it when the
 * first has died. */
static void test_claims(void **state)
{
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        struct atoll_triton_settings settings = settings_of(python, cache);
        struct atoll_prepared *p =
            prepare(is_killed ? PLAN("", ARGS) "#\n" KERNEL : PLAN("", ARGS) "##\n" KERNEL);
        struct atoll_compiler *one = atoll_triton_create(&settings, NULL),
                              *other = atoll_triton_create(&settings, NULL);
        struct atoll_compiled first = {0}, second = {0};
        int got_first = 0, got_second = 0;
        assert_int_equal(
            atoll_compiler_submit(one, 1, p->unit_name, p->unit_text, p->unit_length, NULL, 0, NULL), 0);
        double until = atoll_clock_mono_ns() + 60e9;
        int fd = -1;
        while (fd < 0 && !got_first && atoll_clock_mono_ns() < until) { /* until it has the claim */
            got_first = atoll_compiler_collect(one, &first) == 1;
            fd = got_first ? -1 : claim_open();
        }
        assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0);
        assert_int_equal(
            atoll_compiler_submit(other, 2, p->unit_name, p->unit_text, p->unit_length, NULL, 0, NULL), 0);
        for (int i = 0; i < 20; i++) { /* the first stands still: the other one does not begin */
            assert_int_equal(atoll_compiler_collect(other, &second), 0);
            poll(NULL, 0, 10);
        }
        if (is_killed) {
            atoll_compiler_destroy(one);
            one = NULL;
        }
        while ((!got_second || (one && !got_first)) && atoll_clock_mono_ns() < until) {
            got_first |= one && !got_first && atoll_compiler_collect(one, &first) == 1;
            got_second |= !got_second && atoll_compiler_collect(other, &second) == 1;
            poll(NULL, 0, 5);
        }
        assert_true(got_second && got_first == !is_killed);
        assert_int_equal(second.status, ATOLL_COMPILE_OK);
        assert_int_equal(second.from_cache, !is_killed);
        assert_true(is_killed || (!first.from_cache && first.object_length == second.object_length));
        assert_int_equal(claim_open(), -1); /* nothing is left of it */
        close(fd);
        if (!is_killed)
            atoll_compiled_fini(&first);
        atoll_compiled_fini(&second);
        atoll_prepared_destroy(p);
        atoll_compiler_destroy(one);
        atoll_compiler_destroy(other);
    }
}

/* Every Triton seed of the bundled suites, and the worked example, with its first choice: compiled, what was made fits the
 * plan and breaks no rule, and its instructions are those of triton.compile.  Links to other tasks' seeds are theirs. */
#define SEED_LIMIT 64
struct seed {
    char what[160];
    struct atoll_task *task;
    struct atoll_prepared *prepared;
};

static size_t seeds_submit(struct atoll_compiler *with, const char *pattern, struct seed *seeds, size_t count)
{
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) != 0)
        return count;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char folder[512], real[PATH_MAX];
        snprintf(folder, sizeof(folder), "%s", found.gl_pathv[i]);
        *strstr(folder, "/seeds/") = '\0';
        if (!realpath(found.gl_pathv[i], real) || strncmp(real, folder, strlen(folder)) != 0)
            continue;
        struct seed *s = &seeds[count];
        assert_true(count < SEED_LIMIT);
        s->task = atoll_task_load(folder, &err);
        if (!s->task)
            fail_msg("%s: %s", folder, err.text);
        for (size_t k = 0; k < s->task->seed_count; k++) {
            struct atoll_order_candidate c = {.language = "triton", .source = s->task->seeds[k].source};
            const char *body;
            struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
            if (strcmp(s->task->seeds[k].language, "triton") != 0) {
                atoll_arena_destroy(arena);
                continue;
            }
            const struct atoll_plan *plan = atoll_plan_parse(arena, s->task, "triton", c.source, &body, &err);
            if (!plan)
                fail_msg("%s: %s", found.gl_pathv[i], err.text);
            atoll_plan_first_choice(plan, &c.choice);
            s->prepared = atoll_prepared_create(s->task, &atoll_backend_cuda, &c, NULL, &err);
            atoll_arena_destroy(arena);
        }
        snprintf(s->what, sizeof(s->what), "%s", found.gl_pathv[i] + strlen(ATOLL_SOURCE_DIR) + 1);
        if (!s->prepared || s->prepared->verdict != ATOLL_V_CORRECT)
            fail_msg("%s: %s", s->what, s->prepared ? s->prepared->detail : err.text);
        if (atoll_compiler_submit(with, count, s->prepared->unit_name, s->prepared->unit_text,
                                  s->prepared->unit_length, NULL, 0, &err) != 0)
            fail_msg("%s: %s", s->what, err.text);
        count++;
    }
    globfree(&found);
    return count;
}

/* Each is compiled; a third, each with ATOLL_TEST_TRITON=all, is compared with Triton's own code. */
static void test_seeds(void **state)
{
    const char *wanted = getenv("ATOLL_TEST_TRITON");
    int all = wanted && strcmp(wanted, "all") == 0;
#ifdef ATOLL_SANITIZED
    print_message("the seeds are compiled by the build without sanitizers\n");
    return;
#endif
    static struct seed seeds[SEED_LIMIT];
    struct atoll_cubin *cubin = calloc(1, sizeof(*cubin));
    struct atoll_triton_settings settings = settings_of(python, "");
    settings.compiler.deadline_ns = 120e9;
    struct atoll_compiler *with = atoll_triton_create(&settings, NULL);
    struct comparison same = {0};
    char said[4096] = "";
    size_t count = seeds_submit(with, ATOLL_SOURCE_DIR "/suites/*/*/seeds/*.py", seeds, 0), done = 0;
    count = seeds_submit(with, ATOLL_SOURCE_DIR "/knowledge/prompts/example/seeds/*.py", seeds, count);
    count = seeds_submit(with, ATOLL_SOURCE_DIR "/tests/fixtures/plans/*/seeds/*.py", seeds, count);
    double until = atoll_clock_mono_ns() + 300e9;
    assert_true(count >= 12);
    while (done < count && atoll_clock_mono_ns() < until) {
        struct atoll_compiled c;
        char detail[ATOLL_DETAIL_BYTES];
        struct pollfd fds[8];
        if (atoll_compiler_collect(with, &c) != 1) {
            poll(fds, atoll_compiler_pollfds(with, fds, 8), 50);
            continue;
        }
        struct seed *s = &seeds[c.job];
        if (c.status != ATOLL_COMPILE_OK)
            fail_msg("%s: status %d: %s", s->what, (int)c.status, c.diagnostics);
        s->prepared->report = c.report;
        if (atoll_cuda_image_check(s->prepared, c.object, c.object_length, c.report, cubin, detail) !=
            ATOLL_V_CORRECT)
            fail_msg("%s: %s", s->what, detail);
        for (size_t v = 0; v < s->task->variant_count; v++) {
            struct atoll_device_command_launch launch;
            struct atoll_err err = ATOLL_ERR_INIT;
            if (atoll_plan_concerns(s->prepared->plan, &s->task->variants[v]) &&
                atoll_cuda_launch_make(s->prepared, &s->task->variants[v], 0, NULL, &launch, &err) != 0)
                fail_msg("%s: %s", s->what, err.text);
        }
        s->prepared->report = NULL;
        if (all || done % 3 == 0)
            comparison_add(&same, s->prepared, &c);
        atoll_prepared_destroy(s->prepared);
        atoll_task_destroy(s->task);
        atoll_compiled_fini(&c);
        done++;
    }
    assert_int_equal(done, count);
    atoll_compiler_destroy(with);
    comparison_run(&same, said, sizeof(said));
    if (!strstr(said, "classes, all the same"))
        fail_msg("%s", said);
    free(cubin);
}

/* Without Triton a candidate is not to blame, and it says what to do. */
static void test_missing(void **state)
{
    static const struct {
        const char *python, *says;
    } rows[] = {{"none", "without Python (--python none) has no Triton; install it"},
                {"/no/such/python3", "name a Python that has triton with --python"},
                {"/bin/true", "name a Python that has triton with --python"}};
    struct atoll_prepared *p = prepare(PLAN("", ARGS) KERNEL);
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_triton_settings settings = settings_of(rows[i / 2].python, "");
        settings.starts_now = i % 2; /* what fails is said by the job all the same */
        struct atoll_compiler *with = atoll_triton_create(&settings, NULL);
        assert_non_null(with);
        for (int k = 0; k < 2; k++) {
            struct atoll_compiled c = run(with, p);
            if (c.status != ATOLL_COMPILE_BROKEN || !strstr(c.diagnostics, rows[i / 2].says))
                fail_msg("%s: status %d: %s", rows[i / 2].python, (int)c.status, c.diagnostics);
            atoll_compiled_fini(&c);
        }
        atoll_compiler_destroy(with);
    }
    atoll_prepared_destroy(p);
}

/* Where Triton is wanted it is imported, warm and has its ptxas before there is a job; else nothing of it runs. */
static void test_starts_now(void **state)
{
    struct atoll_triton_settings settings = settings_of(python, "");
    struct pollfd fds[8];
    struct atoll_compiled none;
    for (int now = 0; now < 2; now++) {
        settings.starts_now = now;
        struct atoll_compiler *with = atoll_triton_create(&settings, NULL);
        assert_int_equal(atoll_compiler_pollfds(with, fds, 8), now);
        assert_int_equal(atoll_compiler_timeout_ms(with), -1);
        if (now) { /* its word that it is ready is all that comes unasked */
            double until = atoll_clock_mono_ns() + 100e9;
            for (int is_there = 0; !is_there;) {
                assert_int_equal(poll(fds, (nfds_t)atoll_compiler_pollfds(with, fds, 8), 100000), 1);
                is_there = (fds[0].revents & POLLIN) != 0;
                assert_int_equal(atoll_compiler_collect(with, &none), 0);
                assert_true(atoll_clock_mono_ns() < until);
            }
            struct atoll_prepared *p = prepare(PLAN("", ARGS) KERNEL);
            struct atoll_compiled c = run(with, p);
            assert_int_equal(c.status, ATOLL_COMPILE_OK);
            atoll_compiled_fini(&c);
            atoll_prepared_destroy(p);
        }
        atoll_compiler_destroy(with);
    }
}

/* Behind the interface that the backend gives its callers, a job that is waited for is a job like others. */
static void test_by_language(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_triton_settings settings = settings_of(python, "");
    struct atoll_prepared *p = prepare(PLAN("", ARGS) KERNEL);
    struct atoll_compiler *both = atoll_cuda_compiler_by_language_create(
        atoll_triton_create(&settings, &err), atoll_triton_create(&settings, &err), &err);
    assert_non_null(both);
    struct atoll_compiled c = run(both, p);
    assert_int_equal(c.status, ATOLL_COMPILE_OK);
    atoll_compiled_fini(&c);
    atoll_compiler_destroy(both);
    atoll_prepared_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),     cmocka_unit_test(test_classes), cmocka_unit_test(test_same_as_jit),
        cmocka_unit_test(test_errors),     cmocka_unit_test(test_hostile), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_cache),      cmocka_unit_test(test_claims),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_seeds),      cmocka_unit_test(test_missing), cmocka_unit_test(test_starts_now),
        cmocka_unit_test(test_by_language)};
    python = triton_python();
    if (!python)
        return 77;
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    if (!task || !mkdtemp(scratch))
        return 1;
    setenv("ATOLL_SCRATCH", scratch, 1);
    snprintf(cache, sizeof(cache), "%s/cache", scratch);
    struct atoll_triton_settings settings = settings_of(python, "");
    compiler = atoll_triton_create(&settings, NULL);
    int failed = compiler ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", scratch);
    return system(command) == 0 ? failed : 1;
}
