/* test_task.c - loading, every refusal with its place and words, numbers at variants, travel. */
#include "tests/unit/core/task/task_folder.h"

static void test_good(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    write_task(0, NULL);
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_string_equal(task->name, "square");
    assert_int_equal(task->dim_count, 2);
    assert_int_equal(task->tensor_count, 2);
    assert_int_equal(task->tensors[0].role, ATOLL_ROLE_IN);
    assert_true(task->tensors[0].init.b == 1);
    assert_int_equal(task->precisions, 1u << ATOLL_F32);
    assert_int_equal(task->distributions, 31);
    assert_int_equal(task->seed_count, 2);
    assert_string_equal(task->seeds[0].name, "naive");
    assert_int_equal(task->seeds[0].is_baseline, 1);
    assert_string_equal(task->seeds[0].source, "/* naive */\n");
    assert_string_equal(task->seeds[1].name, "a");
    assert_string_equal(task->seeds[1].language, "cuda");
    assert_int_equal(atoll_task_find_tensor(task, "y"), 1);
    assert_int_equal(atoll_task_find_tensor(task, "z"), -1);
    assert_false(atoll_id_is_zero(&task->id));
    assert_int_equal(err.code, ATOLL_OK);
    atoll_task_destroy(task);
    atoll_task_destroy(NULL);
}

static const struct {
    size_t line;      /* replaced */
    const char *with; /* NULL: dropped */
    int at;           /* line the error names */
    const char *says; /* part of the text */
} refused[] = {
    {1, "version: 2", 1, "this program reads version 1"},
    {1, NULL, 1, "key 'version' is missing"},
    {1, "vrsion: 1", 1, "unknown key 'vrsion'; did you mean 'version'?"},
    {1, "version: 1\nzzz: 1", 2, "unknown key 'zzz'; known here: version, name"},
    {2, "name: Square", 2, "must match [a-z][a-z0-9_]*"},
    {2, "name: square\nname: other", 3, "key 'name' stands here twice"},
    {2, "name: [a]", 2, "must match"},
    {3, "summary: \"\"", 3, "summary must be one text"},
    {4, "dims: N", 4, "a list of dims is expected"},
    {4, "dims: [N, N]", 4, "used twice"},
    {4, "dims: [N, M, 3x]", 4, "must match [A-Za-z_]"},
    {4, "dims: [N, M, min]", 4, "reserved"},
    {4, "dims: [N, M, weight]", 4, "reserved"},
    {4,
     "dims: [N, M, A, B, C, D, E, F, G, H, I, J, K, L, O, P, Q, R, S, T, U, V, W, X, Y, Z, AA, AB, AC, AD, "
     "AE, AF, AG]",
     4, "33 dims, at most 32"},
    {4, "dims: [N, M, K]", 12, "gives no value for dim 'K'"},
    {6, "  - {name: x, dtype: float, shape: [N, M], role: in, init: {index: {}}}", 6,
     "unknown dtype 'float'; known: f64"},
    {6, "  - {name: x, dtype: f32, shape: [N, K], role: in, init: {index: {}}}", 6,
     "unknown name 'K' in 'K'"},
    {6, "  - {name: x, dtype: f32, shape: [\"N +\"], role: in, init: {index: {}}}", 6, "expected"},
    {6, "  - {name: x, dtype: f32, shape: [\"N - 3\"], role: in, init: {index: {}}}", 6,
     "must be at least 1"},
    {6, "  - {name: x, dtype: f32, shape: [\"N / (M - 5)\"], role: in, init: {index: {}}}", 6, "zero"},
    {6, "  - {name: x, dtype: i8, shape: [\"N * 1000000 * 1000000\"], role: in, init: {constant: 0}}", 6,
     "more than 2^40"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: input, init: {index: {}}}", 6, "unknown role 'input'"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in}", 6, "tensor 'x' needs an init"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: out, init: {index: {}}}", 6, "has an init; remove it"},
    {6, "  - {name: y, dtype: f32, shape: [N], role: in, init: {index: {}}}", 7, "used twice"},
    {6, "  - {name: N, dtype: f32, shape: [N], role: in, init: {index: {}}}", 6, "used twice"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: index}", 6, "init must name exactly one kind"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {std: 0}}}", 6,
     "must be greater than 0"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {sdt: 1}}}", 6,
     "did you mean 'std'?"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: .inf}}}", 6,
     "not a finite number"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: 0x10}}}", 6,
     "not a finite number"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {uniform: {low: 1, high: 1}}}", 6,
     "low must be less"},
    {6, "  - {name: x, dtype: i32, shape: [N], role: in, init: {normal: {}}}", 6, "use integer"},
    {6, "  - {name: x, dtype: i32, shape: [N], role: in, init: {integer: {low: 3, high: N}}}", 6,
     "is empty at variant 'check'"},
    {6, "  - {name: x, dtype: u8, shape: [N], role: in, init: {integer: {low: -1, high: 4}}}", 6,
     "use a wider dtype"},
    {6, "  - {name: x, dtype: i8, shape: [N, M], role: in, init: {index: {}}}", 6, "exact to 127 only"},
    {6, "  - {name: x, dtype: f16, shape: [\"N * 1000\"], role: in, init: {permutation: {}}}", 6,
     "exact to 2048 only"},
    {6, "  - {name: x, dtype: i64, shape: [N], role: in, init: {ragged: {total: \"0 - N\"}}}", 6,
     "between 0 and 2^31"},
    {6, "  - {name: x, dtype: f32, shape: [N, 1, 1, 1, 1, 1, 1], role: in, init: {index: {}}}", 6,
     "7 extents, at most 6"},
    {7, NULL, 1, "no tensor has role out or inout"},
    {8, "reference: {file: none.c, units: N}", 8, "cannot open 'none.c'"},
    {8, "reference: {file: ../task.yaml, units: N}", 8, "must stay inside the task's folder"},
    {8, "reference: {file: /etc/passwd, units: N}", 8, "must stay inside the task's folder"},
    {8, "reference: {file: seeds/, units: N}", 8, "must stay inside the task's folder"},
    {8, "reference: {file: seeds, units: N}", 8, "not a regular file"},
    {8, "reference: {file: reference.c}", 8, "key 'units' is missing"},
    {8, "reference: {file: reference.c, units: \"N - 3\"}", 8, "units 'N - 3' is 0 at variant 'check'"},
    {8, "reference: {file: reference.c, units: N, scratch: \"N - 4\"}", 8, "scratch 'N - 4' is -1"},
    {9, "work: {}", 9, "key 'flops' is missing"},
    {9, "work: {flops: \"N - 4\"}", 9, "work.flops is -1"},
    {9, "work: {flops: unknown, matrix_flops: N}", 9, "where flops are unknown, matrix_flops cannot be told"},
    {10, "tolerance: {}", 10, "states no bound"},
    {10, "category: odd", 1, "key 'tolerance' is missing here; add it"},
    {10, "tolerance: {rtol: -1}", 10, "must not be negative"},
    {10, "tolerance: {rtol: 1, wrong_share: 2}", 10, "between 0 and 1"},
    {10, "tolerance: {rtol: 1}\nprecisions: [f31]", 11, "unknown precision 'f31'"},
    {10, "tolerance: {rtol: 1}\ndistributions: [odd]", 11, "unknown distribution 'odd'"},
    {10, "tolerance: {rtol: 1}\nallow_mutable_globals: maybe", 11, "neither true nor false"},
    {12, NULL, 1, "variants holds no check variant"},
    {13, NULL, 1, "variants holds no bench variant"},
    {12, "  chck: {N: 1, M: 1}", 12, "must be check, bench or hidden"},
    {12, "  check.: {N: 1, M: 1}", 12, "must be check, bench or hidden"},
    {12, "  check: {N: 1, M: 1}\n  check: {N: 1, M: 1}", 13, "stands here twice"},
    {12, "  check: {N: 0, M: 1}", 12, "must be an integer of at least 1"},
    {12, "  check: {N: 1.5, M: 1}", 12, "must be an integer of at least 1"},
    {12, "  check: {N: 1, M: 1, weight: 2}", 12, "only bench variants have a weight"},
    {12, "  check: {N: 1, M: 1, N: 2}", 12, "twice"},
    {12, "  check: {N: 1, M: 1, Q: 2}", 12, "unknown key 'Q' in a variant"},
    {13, "  bench: {N: 1, M: 1, backend: tpu}", 13, "unknown backend 'tpu'"},
    {13, "  bench: {N: 1, M: 1, weight: 0}", 13, "must be greater than 0"},
    {14, "baselines: [{name: naive}]", 14, "key 'file' is missing"},
    {14, "baselines: [{name: naive, file: seeds/naive.txt}]", 14, "end in .c, .cu, .py or .cl"},
    {14, "baselines: [{name: naive, file: seeds/none.c}]", 14, "cannot open 'seeds/none.c'"},
    {14, "baselines: [{name: q, file: seeds/naive.c}, {name: q, file: seeds/naive.c}]", 14,
     "two c seeds are called 'q'"},
    {14, "baselines: [{file: seeds/naive.c}]", 14, "key 'name' is missing"},
    {14, "baselines: [{torch: \"x\", file: seeds/naive.c}]", 14, "a file or torch, not both"},
    {14, "baselines: [{name: a, file: seeds/naive.c, compile: default}]", 14, "compile is of torch"},
    {14, "baselines: [{torch: \"x\", compile: fast}]", 14, "mode of torch.compile 'fast'"},
    {14, "baselines: [{torch: \"x\", compile: []}]", 14, "compile names no mode"},
    {14, "baselines: [{torch: \"x\", compile: [default, default]}]", 14, "are called 'compile'"},
    {14, "baselines: [{torch: \"x\", name: abcdefghijklmnopqrstuvwxyz, compile: [none]}]", 14,
     "a name has at most 31 characters"},
    {14, "baselines: [{torch: \"\"}]", 14, "a Python expression is expected"},
    {14, "baselines: [{torch: \"x\", name: -a}]", 14, "must match [A-Za-z_][A-Za-z0-9_-]*"},
    {14, "baselines: [{torch: \"x\"}, {torch: \"y\"}]", 14, "two torch baselines are called 'eager'"},
    {14, "baselines: [{torch: module}]", 14, "needs a reference {torch: ...}"},
    {14, "baselines: [{torch: \"x\"}]\ncategory: Two words", 15, "must be one word [a-z]"},
    {14, "level: 10", 14, "level must be a number from 0 (none) to 9"},
    {14, "tags: [a, B]", 14, "'B' must be one word"},
    {14, "instructions: \"\"", 14, "instructions must be one text"},
    {14, "source: {problem: x}", 14, "key 'suite' is missing"},
    {14, "source: {suite: x, hash: XY}", 14, "hash must be a BLAKE2b"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: constant, parameter: w, init: {index: {}}}", 6,
     "parameter is for constants of a torch reference"},
    {7, "  - {name: y, dtype: f32, shape: [N], role: out, of: x}", 7, "for a torch reference with backward"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {segments: []}}", 6, "a list of 1 to 1024"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {segments: [{count: N}]}}", 6,
     "key 'init' is missing"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {segments: [{count: N, init: {index: {}}}]}}",
     6, "unknown key 'index'"},
    {6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {segments: [{count: 2, init: {normal: {}}}]}}",
     6, "its segments have 2 elements at variant 'check', its shape has 3"},
    {6,
     "  - {name: x, dtype: f32, shape: [N], role: in, init: {segments: [{count: \"N - 3\", init: {normal: "
     "{}}}]}}",
     6, "must lie between 1 and 2^40"},
    {6, "  - {name: x, dtype: i8, shape: [N], role: in, init: {segments: [{count: N, init: {normal: {}}}]}}",
     6, "use integer"},
    {8, "reference: {torch: reference.c}", 8, "ends in .py"},
    {8, "reference: {torch: problem.py, file: reference.c}", 8, "names file and torch"},
    {8, "reference: {torch: problem.py, units: N}", 8, "units and scratch belong to a reference.c"},
    {8, "reference: {torch: none.py}", 8, "cannot open 'none.py'"},
    {8, "reference: {torch: problem.py, form: class}", 8, "form 'class'"},
    {8, "reference: {file: reference.c, units: N, form: module}", 8, "belong to a torch reference"},
    {8, "reference: {units: N}", 8, "key 'file' is missing"},
    {8, "reference: {file: reference.c, units: N, device: reference.c}", 8,
     "a reference for devices ends in .cu"},
    {8, "reference: {file: reference.c, units: N, device: .cu}", 8, "a reference for devices ends in .cu"},
    {8, "reference: {file: reference.c, units: N, device: none.cu}", 8, "cannot open 'none.cu'"},
    {8, "reference: {file: reference.c, units: N, device: ../reference.cu}", 8, "must stay inside"},
    {8, "reference: {torch: problem.py, device: reference.cu}", 8, "device, units and scratch belong"},
    {14, "---\nversion: 1", 14, "a second document"},
    {14, "bad: [", 15, "not valid YAML"},
    {14, "? [a]\n: 1", 14, "a key must be a word"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char place[320];
        write_task(refused[i].line, refused[i].with);
        struct atoll_task *task = atoll_task_load(folder, &err);
        snprintf(place, sizeof(place), "%s/task.yaml:%d: ", folder, refused[i].at);
        if (task)
            fail_msg("loaded: %s", refused[i].with ? refused[i].with : "(dropped line)");
        if (!strstr(err.text, refused[i].says) || strncmp(err.text, place, strlen(place)) != 0)
            fail_msg("'%s' gave '%s', expected line %d '%s'", refused[i].with ? refused[i].with : "(dropped)",
                     err.text, refused[i].at, refused[i].says);
        assert_int_equal(err.code, ATOLL_E_INPUT);
    }
}

static void test_signed_needs_symmetry(void **state)
{
    write_task(6, "  - {name: x, dtype: f32, shape: [N], role: in, init: {uniform: {low: 0, high: 1}}}\n"
                  "  - {name: z, dtype: i32, shape: [N], role: in, init: {integer: {high: 5}}}");
    struct atoll_task *task = atoll_task_load(folder, NULL);
    assert_non_null(task);
    assert_int_equal(task->distributions,
                     ATOLL_DRAW_BASE | ATOLL_DRAW_SCALED | ATOLL_DRAW_TIES | ATOLL_DRAW_SPARSE);
    atoll_task_destroy(task);
    write_text("task.yaml",
               "version: 1\nname: t\nsummary: s\ndims: [N]\ndistributions: [signed]\ntensors:\n"
               "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: 1}}}\n"
               "  - {name: y, dtype: f32, shape: [N], role: out}\n"
               "reference: {file: reference.c, units: N}\nwork: {flops: N}\ntolerance: {rtol: 0}\n"
               "variants: {check: {N: 1}, bench: {N: 2}}\n");
    expect_failure(ATOLL_E_INPUT, "symmetric about 0");
}

static void test_files(void **state)
{
    char path[320];
    write_task(0, NULL);
    write_text("seeds/.hidden", "x");
    write_text("seeds/x.txt", "x");
    expect_failure(ATOLL_E_INPUT, "'seeds/x.txt': seeds and baselines end in .c, .cu, .py or .cl");
    snprintf(path, sizeof(path), "%s/seeds/x.txt", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/seeds/out.c", folder);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    expect_failure(ATOLL_E_INPUT, "leads out of the task's folder");
    unlink(path);
    assert_int_equal(symlink("nowhere.c", path), 0); /* found there: task.yaml has no line for it */
    expect_failure(ATOLL_E_INPUT, "/task.yaml: 'seeds/out.c' is a link to 'nowhere.c', which is not there");
    write_task(14, "baselines:\n  - {name: naive, file: seeds/naive.c}\n  - {name: out, file: seeds/out.c}");
    expect_failure(ATOLL_E_INPUT, "/task.yaml:16: 'seeds/out.c' is a link to 'nowhere.c'");
    write_task(0, NULL);
    unlink(path);
    assert_int_equal(symlink("naive.c", path), 0);
    struct atoll_task *task = atoll_task_load(folder, NULL);
    assert_non_null(task);
    assert_int_equal(task->seed_count, 3);
    atoll_task_destroy(task);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_failure(ATOLL_E_INPUT, "not a regular file");
    unlink(path);
    snprintf(path, sizeof(path), "%s/task.yaml", folder);
    write_text("task.yaml", "");
    expect_failure(ATOLL_E_INPUT, ":1: the file is empty");
    unlink(path);
    expect_failure(ATOLL_E_NOTFOUND, "task.yaml");
}

/* What tells twins that share their seeds apart. */
static void test_definitions(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    write_task(1, "version: 1\ndefinitions: \"typedef double real;\"");
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_string_equal(task->seeds[0].source, "/* naive */ typedef double real;\n");
    assert_string_equal(task->seeds[1].source, "/* device */ typedef double real;\n");
    atoll_buffer_init(&bytes, 1u << 22);
    assert_int_equal(atoll_task_encode(task, &bytes, &err), 0);
    struct atoll_task *again = atoll_task_decode(bytes.data, bytes.length, &err);
    assert_non_null(again);
    assert_string_equal(again->seeds[0].source, task->seeds[0].source);
    atoll_task_destroy(again);
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
    write_task(1, "version: 1\ndefinitions: \"#define real double\"");
    expect_failure(ATOLL_E_INPUT, ":2: definitions must be one line of at most 1000 characters");
}

/* Baselines stay, here and where the task travels to. */
static void test_without_seeds(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/starter/softmax_rows", &err);
    if (!task)
        fail_msg("%s", err.text);
    size_t count = task->seed_count, baselines = 0;
    while (baselines < count && task->seeds[baselines].is_baseline)
        baselines++;
    assert_true(baselines > 0 && baselines < count);
    atoll_task_drop_seeds(task);
    atoll_buffer_init(&bytes, 1u << 22);
    assert_int_equal(atoll_task_encode(task, &bytes, &err), 0);
    struct atoll_task *again = atoll_task_decode(bytes.data, bytes.length, &err);
    if (!again)
        fail_msg("%s", err.text);
    assert_true(task->seed_count == baselines && again->seed_count == baselines);
    assert_true(atoll_id_equal(&again->id, &task->id));
    assert_string_equal(again->seeds[0].source, task->seeds[0].source);
    atoll_task_destroy(again);
    atoll_task_destroy(task);
    atoll_buffer_fini(&bytes);
}

static void test_too_long(void **state)
{
    char path[320];
    write_task(0, NULL);
    snprintf(path, sizeof(path), "%s/seeds/out.c", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 5000; i++)
        fputs("/* 0123456789012345678901234567890123456789012345678 */\n", f);
    fclose(f);
    expect_failure(ATOLL_E_INPUT, "at most 262144 are allowed");
    unlink(path);
}

static void test_numbers(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(FIXTURES "/rowsum", &err);
    if (!task)
        fail_msg("%s", err.text);
    struct atoll_work work;
    size_t count = 0;
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    assert_int_equal(task->variant_count, 4);
    assert_int_equal(task->variants[1].kind, ATOLL_VARIANT_BENCH);
    assert_true(task->variants[1].weight == 2);
    assert_string_equal(task->variants[1].backend, "cpu");
    assert_null(task->variants[2].backend);
    assert_string_equal(task->variants[2].name, "bench.large");
    assert_int_equal(task->precisions, 1u << ATOLL_F32 | 1u << ATOLL_F16 | 1u << ATOLL_DTYPE_COUNT);
    assert_int_equal(task->distributions, ATOLL_DRAW_BASE | ATOLL_DRAW_TIES);
    assert_int_equal(atoll_task_bindings(task, &task->variants[0], bindings), 2);
    assert_string_equal(bindings[1].name, "N");
    assert_int_equal(bindings[1].value, 17);
    assert_int_equal(atoll_task_element_count(task, 0, &task->variants[0], &count, &err), 0);
    assert_int_equal(count, 51);
    assert_int_equal(atoll_task_work(task, &task->variants[0], &work, &err), 0);
    assert_true(work.flops == 51 && work.read_bytes == 2 * 51 + 12 && work.write_bytes == 24);
    atoll_task_destroy(task);
    task = atoll_task_load(FIXTURES "/scale", &err);
    assert_non_null(task);
    assert_int_equal(atoll_task_work(task, &task->variants[0], &work, &err), 0);
    assert_true(work.flops == 37 && work.read_bytes == 148 && work.write_bytes == 148);
    assert_true(work.matrix_flops == 0 && !work.is_split);
    atoll_task_destroy(task);
}

static void test_unknown_flops(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_work work;
    (void)state;
    write_task(9, "work: {flops: unknown}");
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_null(task->flops);
    assert_int_equal(atoll_task_work(task, &task->variants[0], &work, &err), 0);
    assert_true(work.flops == 0 && work.read_bytes == 60 && work.write_bytes == 60);
    atoll_task_destroy(task);
}

static void encode_fixture(const char *name, struct atoll_buffer *out)
{
    char path[512];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
    struct atoll_task *task = atoll_task_load(path, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_task_encode(task, out, &err), 0);
    atoll_task_destroy(task);
}

static void test_round_trip(void **state)
{
    static const char *const names[] = {"scale", "rowsum", "gather", "packed"};
    for (size_t i = 0; i < 4; i++) {
        struct atoll_buffer first, second;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_buffer_init(&first, 1u << 22);
        atoll_buffer_init(&second, 1u << 22);
        encode_fixture(names[i], &first);
        struct atoll_task *task = atoll_task_decode(first.data, first.length, &err);
        if (!task)
            fail_msg("%s", err.text);
        assert_string_equal(task->name, names[i]);
        assert_int_equal(atoll_task_encode(task, &second, &err), 0);
        assert_int_equal(first.length, second.length);
        assert_memory_equal(first.data, second.data, first.length);
        atoll_task_destroy(task);
        atoll_buffer_fini(&first);
        atoll_buffer_fini(&second);
    }
}

/* With as many seeds as there may be, too: all files of a task travel. */
static void test_device_reference(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    struct atoll_id ids[3];
    char name[64];
    atoll_buffer_init(&bytes, 1u << 22);
    for (int i = 0; i < 3; i++) { /* without, with one, with another */
        write_text("reference.cu", i == 2 ? "/* other tiles */\n" : "/* tiles */\n");
        write_task(8, i > 0 ? "reference: {file: reference.c, device: reference.cu, units: \"N * M\"}"
                            : good[7]);
        struct atoll_task *task = atoll_task_load(folder, &err);
        if (!task)
            fail_msg("%s", err.text);
        ids[i] = task->id;
        if (i == 0)
            assert_null(task->device_source);
        else
            assert_string_equal(task->device_source, i == 2 ? "/* other tiles */\n" : "/* tiles */\n");
        atoll_task_destroy(task);
    }
    for (int i = 0; i < 3; i++)
        assert_memory_not_equal(&ids[i], &ids[(i + 1) % 3], sizeof(ids[i]));
    for (int i = 0; i < ATOLL_TASK_SEED_LIMIT - 2; i++) {
        snprintf(name, sizeof(name), "seeds/z%d.c", i);
        write_text(name, "/* seed */\n");
    }
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_int_equal(task->seed_count, ATOLL_TASK_SEED_LIMIT);
    assert_int_equal(atoll_task_encode(task, &bytes, &err), 0);
    struct atoll_task *other = atoll_task_decode(bytes.data, bytes.length, &err);
    if (!other)
        fail_msg("%s", err.text);
    assert_memory_equal(&other->id, &task->id, sizeof(task->id));
    assert_string_equal(other->device_source, task->device_source);
    atoll_task_destroy(other);
    atoll_task_destroy(task);
    for (int i = 0; i < ATOLL_TASK_SEED_LIMIT - 2; i++) {
        char path[320];
        snprintf(path, sizeof(path), "%s/seeds/z%d.c", folder, i);
        unlink(path);
    }
    atoll_buffer_fini(&bytes);
}

static void test_decode_hostile(void **state)
{
    struct atoll_buffer good_bytes;
    struct atoll_random r = {3, 0};
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&good_bytes, 1u << 22);
    encode_fixture("scale", &good_bytes);
    for (size_t cut = 0; cut < good_bytes.length; cut += 7)
        assert_null(atoll_task_decode(good_bytes.data, cut, &err));
    for (int round = 0; round < 1500; round++) {
        unsigned char *copy = malloc(good_bytes.length);
        assert_non_null(copy);
        memcpy(copy, good_bytes.data, good_bytes.length);
        for (int k = 0; k < 3; k++)
            copy[atoll_random_below(atoll_random_next(&r), good_bytes.length)] =
                (unsigned char)atoll_random_next(&r);
        atoll_task_destroy(atoll_task_decode(copy, good_bytes.length, NULL));
        free(copy);
    }
    good_bytes.data[0] = 9;
    assert_null(atoll_task_decode(good_bytes.data, good_bytes.length, &err));
    assert_int_equal(err.code, ATOLL_E_PROTOCOL);
    assert_null(atoll_task_decode(good_bytes.data, (size_t)1 << 30, &err));
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&good_bytes);
}

static void test_suite(void **state)
{
    char **dirs = NULL;
    size_t count = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_suite_list(FIXTURES, &dirs, &count, &err), 0);
    assert_true(count >= 3);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(dirs[i - 1], dirs[i]) < 0);
    atoll_suite_free(dirs, count);
    assert_int_equal(atoll_suite_list(FIXTURES "/scale", &dirs, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(dirs[0], FIXTURES "/scale");
    atoll_suite_free(dirs, count);
    assert_int_equal(atoll_suite_list(FIXTURES "/scale/seeds", &dirs, &count, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_int_equal(atoll_suite_list(FIXTURES "/none", &dirs, &count, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    atoll_suite_free(NULL, 0);
}

/* Refuses the task whose number is limit. */
struct visitor {
    size_t seen, limit;
};

static int visit(void *context, const char *dir, struct atoll_err *err)
{
    struct visitor *v = context;
    return ++v->seen == v->limit ? atoll_err_set(err, ATOLL_E_INPUT, "%s is refused", dir) : 0;
}

/* A folder of suites is all of them; one with tasks of its own is these alone. */
static void test_suites_below(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct visitor starter = {0, 0}, all = {0, 0};
    glob_t tasks;
    assert_int_equal(glob(ATOLL_SOURCE_DIR "/suites/*/*/task.yaml", 0, NULL, &tasks), 0);
    assert_int_equal(atoll_suite_visit(ATOLL_SOURCE_DIR "/suites/starter", visit, &starter, &err), 0);
    assert_int_equal(atoll_suite_visit(ATOLL_SOURCE_DIR "/suites", visit, &all, &err), 0);
    assert_true(starter.seen > 0 && starter.seen < all.seen);
    assert_int_equal(all.seen, tasks.gl_pathc);
    globfree(&tasks);
    assert_int_equal(atoll_suite_visit(ATOLL_SOURCE_DIR "/suites/startre", visit, &all, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "did you mean '" ATOLL_SOURCE_DIR "/suites/starter'?");
}

static void test_suite_visit(void **state)
{
    char **dirs = NULL;
    size_t count = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct visitor all = {0, 0}, some = {0, 2}, none = {0, 0};
    assert_int_equal(atoll_suite_list(FIXTURES, &dirs, &count, &err), 0);
    atoll_suite_free(dirs, count);
    assert_int_equal(atoll_suite_visit(FIXTURES, visit, &all, &err), 0);
    assert_int_equal(all.seen, count);
    assert_int_equal(atoll_suite_visit(FIXTURES, visit, &some, &err), -1);
    assert_int_equal(some.seen, 2);
    assert_non_null(strstr(err.text, " is refused"));
    assert_int_equal(atoll_suite_visit(FIXTURES "/none", visit, &none, &err), -1);
    assert_int_equal(none.seen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_refused),

        cmocka_unit_test(test_signed_needs_symmetry),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_definitions),

        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_unknown_flops),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_device_reference),
        cmocka_unit_test(test_decode_hostile),
        cmocka_unit_test(test_without_seeds),
        cmocka_unit_test(test_suite),
        cmocka_unit_test(test_suites_below),
        cmocka_unit_test(test_suite_visit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
