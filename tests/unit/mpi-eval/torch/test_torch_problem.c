/* test_torch_problem.c - the role oracle with problems of every form and of every kind of trouble; needs a Python with torch:
 * ATOLL_TEST_PYTHON, else /usr/bin/python3. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"

#define COUNT 4 /* elements of x and y */

static const char *python;
static struct atoll_torch *shared;

static struct atoll_torch *start(uint64_t memory_bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_torch_settings settings = {.python = python,
                                            .role = "oracle",
                                            .script =
                                                ATOLL_SOURCE_DIR "/mpi-eval/torch/python/atoll_torch.py",
                                            .memory_bytes = memory_bytes,
                                            .folder_bytes = 1 << 21};
    struct atoll_torch *t = atoll_torch_start(&settings, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

/* One input x, one constant w, one output y, of COUNT elements each; n is 4. */
static json_t *description(const char *source, int is_function, const char *parameter, const char *of)
{
    json_t *tensors = json_pack("[{s:s, s:s, s:s, s:[i], s:n, s:n, s:[]}, {s:s, s:s, s:s, s:[i], s:s?, s:n, "
                                "s:[]}, {s:s, s:s, s:s, s:[i], s:n, s:s?, s:[]}]",
                                "name", "x", "dtype", "f32", "role", "in", "shape", COUNT, "parameter", "of",
                                "segments", "name", "w", "dtype", "f32", "role", "constant", "shape", COUNT,
                                "parameter", parameter, "of", "segments", "name", "y", "dtype", "f32", "role",
                                "out", "shape", COUNT, "parameter", "of", of, "segments");
    assert_non_null(tensors);
    json_t *root = json_pack("{s:s, s:{s:i}, s:o, s:[], s:{s:s, s:s, s:s, s:s, s:b}}", "name", "test", "dims",
                             "n", COUNT, "tensors", tensors, "rivals", "reference", "source", source, "file",
                             "problem.py", "form", is_function ? "function" : "module", "entry",
                             is_function ? "forward" : "Model", "backward", of != NULL);
    assert_non_null(root);
    return root;
}

/* x = 1, 2, 3, 4; w = 10, 20, 30, 40.  The values of y, or -1 and err. */
static int ask(struct atoll_torch *t, json_t *task, double deadline_ns, double *ret_y, char *ret_precision,
               struct atoll_err *err)
{
    int fd = memfd_create("test", MFD_CLOEXEC), rc;
    float inputs[2 * COUNT];
    json_t *reply = NULL;
    for (int i = 0; i < COUNT; i++) {
        inputs[i] = (float)(i + 1);
        inputs[COUNT + i] = (float)(10 * (i + 1));
    }
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(pwrite(fd, inputs, sizeof(inputs), 0), sizeof(inputs));
    rc = atoll_torch_call(t, json_pack("{s:s, s:s, s:o}", "op", "load", "key", "k", "description", task), -1,
                          deadline_ns, &reply, err);
    json_decref(reply);
    reply = NULL;
    if (rc == 0) {
        json_t *request =
            json_pack("{s:s, s:s, s:{s:{s:i, s:i}, s:{s:i, s:i}}, s:[{s:s, s:i, s:i}]}", "op", "answer",
                      "key", "k", "inputs", "x", "offset", 0, "bytes", 16, "w", "offset", 16, "bytes", 16,
                      "outputs", "name", "y", "offset", 2048, "count", COUNT);
        rc = atoll_torch_call(t, request, fd, deadline_ns, &reply, err);
    }
    if (rc == 0) {
        assert_int_equal(pread(fd, ret_y, COUNT * sizeof(*ret_y), 2048), COUNT * sizeof(*ret_y));
        snprintf(ret_precision, 8, "%s", atoll_json_member(reply, "precision"));
    }
    json_decref(reply);
    close(fd);
    return rc;
}

#define MODULE(parameters, forward)                                                                          \
    "import torch\nn = 2\nclass Model(torch.nn.Module):\n    def __init__(self, size):\n"                    \
    "        super().__init__()\n" parameters "    def forward(self, x, *more):\n" forward                   \
    "def get_inputs():\n    return [torch.randn(n)]\ndef get_init_inputs():\n    return [n]\n"
#define WEIGHT "        self.w = torch.nn.Parameter(torch.randn(size))\n"

static void test_forms(void **state)
{
    static const struct {
        const char *source;
        int is_function;
        const char *parameter, *of, *precision;
        double y[COUNT];
    } cases[] = {
        /* the parameter is the constant; n became 4 */
        {MODULE(WEIGHT, "        return x * self.w + n\n"), 0, "w", NULL, "f64", {14, 44, 94, 164}},
        /* a third needs more digits than a float has */
        {MODULE(WEIGHT, "        return (x / 3,)\n"), 0, "w", NULL, "f64", {1 / 3.0, 2 / 3.0, 1, 4 / 3.0}},
        {"def forward(x, w):\n    return w - x\n", 1, NULL, NULL, "f64", {9, 18, 27, 36}},
        /* d(sum x * x * w)/dx = 2 x w */
        {"def forward(x, w):\n    return x * x * w\n", 1, NULL, "x", "f64", {20, 80, 180, 320}},
        {MODULE(WEIGHT, "        return x * x * self.w\n"), 0, "w", "w", "f64", {1, 4, 9, 16}},
        /* a module that wants single precision gets it, and says so */
        {MODULE(WEIGHT, "        return torch.matmul(torch.eye(n), x) + self.w\n"),
         0,
         "w",
         NULL,
         "f32",
         {11, 22, 33, 44}},
        /* an argument that is no tensor */
        {"import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
         "        self.w = torch.nn.Parameter(torch.randn(4))\n    def forward(self, x, s):\n        return "
         "x * s\n"
         "def get_inputs():\n    return [torch.rand(4), 2.5]\n",
         0,
         "w",
         NULL,
         "f64",
         {2.5, 5, 7.5, 10}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        double y[COUNT];
        char precision[8] = "";
        if (ask(shared, description(cases[i].source, cases[i].is_function, cases[i].parameter, cases[i].of),
                30e9, y, precision, &err) != 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_string_equal(precision, cases[i].precision);
        for (size_t k = 0; k < COUNT; k++)
            expect_close(y[k], cases[i].y[k], 1e-15);
    }
}

static void test_refusals(void **state)
{
#define DOES(what) "import os, socket, torch\ndef forward(x, w):\n    " what "\n    return x\n"
#define KEPT_OUT                                                                                             \
    "(a problem may neither start processes, nor use the network, nor write outside of its temporary "       \
    "folder)"
    static const struct {
        const char *source, *text;
    } cases[] = {
        {DOES("raise ValueError('no good')"), "problem.py:3: ValueError: no good"},
        {"def forward(x, w:\n", "problem.py:1: SyntaxError"},
        {"x = 1\ny = nothing\n", "problem.py:2: NameError"},
        {"x = 1\n", "problem.py: there is no forward at its top level"},
        {DOES("socket.socket()"),
         "problem.py:3: PermissionError: [Errno 1] Operation not permitted " KEPT_OUT},
        {DOES("os.fork()"), "problem.py:3: PermissionError: [Errno 1] Operation not permitted " KEPT_OUT},
        {DOES("os.system('true') and os.kill(os.getppid(), 9)"), "problem.py:3: PermissionError"},
        {DOES("open('/tmp/atoll-must-not-be-there', 'w')"),
         "Permission denied: '/tmp/atoll-must-not-be-there' " KEPT_OUT},
        {DOES("open('own', 'w').close(); os.chmod('own', 0o600)"), /* its path is no matter to Landlock */
         "problem.py:3: PermissionError: [Errno 1] Operation not permitted: 'own' " KEPT_OUT},
        {DOES("os.utime('/tmp')"),
         "problem.py:3: PermissionError: [Errno 1] Operation not permitted " KEPT_OUT},
        {DOES("raise SystemExit(3)"), "problem.py:3: SystemExit: 3 (a problem may not end the process)"},
        {DOES("x = x[:2]"), "problem.py: output y has 2 elements (shape [2]), the task says 4 (shape [4])"},
        {DOES("return ()"), "problem.py: it returns 0 tensors, the task has 1 outputs"},
        {DOES("return x * 1j"), "problem.py: output y is complex"},
        {DOES("torch.matmul = None"), "replaces torch.matmul, which other problems use, too"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        double y[COUNT];
        char precision[8];
        assert_int_equal(ask(shared, description(cases[i].source, 1, NULL, NULL), 30e9, y, precision, &err),
                         -1);
        expect_err(&err, ATOLL_E_INPUT, cases[i].text);
    }
}

static void test_harmless(void **state)
{
    static const char *const sources[] = {
        DOES("print('x' * 100000, flush=True)"),
        DOES("open('a file of its own', 'w').write('x')"),
        "import torch\ndef forward(x, w):\n    return torch.matmul(torch.eye(4).to(x), x)\n", /* was put back */
        /* wraps torch.manual_seed by itself, where there is one */
        DOES("exec('try:\\n import torch._dynamo\\nexcept ImportError: pass')"),
    };
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        double y[COUNT] = {0};
        char precision[8];
        if (ask(shared, description(sources[i], 1, NULL, NULL), 30e9, y, precision, &err) != 0)
            fail_msg("%s", err.text);
        assert_true(y[3] == 4);
    }
}

/* The process goes, each time. */
static void test_ends(void **state)
{
    static const struct {
        const char *source;
        double deadline_ns;
        enum atoll_code code;
        const char *text;
    } cases[] = {
        {DOES("print('farewell', flush=True); os._exit(5)"), 30e9, ATOLL_E_CHILD,
         "exit status 5); it said: farewell"},
        {DOES("torch.ones(1 << 31, dtype=torch.float64)"), 30e9, ATOLL_E_LIMIT,
         "of memory and was killed: it may have 0.8 GB"},
        {DOES("open('full', 'wb').write(bytes(1 << 22)); import time; time.sleep(1000)"), 30e9, ATOLL_E_LIMIT,
         "of files in its temporary folder and was killed: it may have 0.0021 GB"},
        {DOES("import time; time.sleep(1000)"), 0.3e9, ATOLL_E_TIMEOUT, "did not answer within 0.3 s"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_torch *t = start((uint64_t)800 << 20);
        struct atoll_err err = ATOLL_ERR_INIT;
        double y[COUNT];
        char precision[8];
        assert_int_equal(
            ask(t, description(cases[i].source, 1, NULL, NULL), cases[i].deadline_ns, y, precision, &err),
            -1);
        expect_err(&err, cases[i].code, cases[i].text);
        atoll_torch_stop(t);
    }
}

static int has_torch(void)
{
    json_t *answer = access(python, X_OK) == 0 ? atoll_torch_examine(python, NULL) : NULL;
    int has = answer && *atoll_json_member(answer, "torch");
    json_decref(answer);
    return has;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_harmless), cmocka_unit_test(test_ends)};
    const char *asked = getenv("ATOLL_TEST_PYTHON");
    python = asked && *asked ? asked : "/usr/bin/python3";
    if (!has_torch()) {
        printf("%s has no torch\n", python);
        return 77;
    }
    shared = start(0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_torch_stop(shared);
    return failed;
}
