/* Tasks that PyTorch defines, drafts of them, and rivals. */
#include "tests/unit/core/task/task_folder.h"

/* A task with a module of PyTorch for its definition. */
#define TORCH_HEAD                                                                                           \
    "version: 1\nname: t\nsummary: s\ndims: [N]\ntensors:\n"                                                 \
    "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {}}}\n"
#define TORCH_OUT  "  - {name: y, dtype: f32, shape: [N], role: out}\n"
#define TORCH_TAIL "work: {flops: N}\ntolerance: {rtol: 0}\nvariants: {check: {N: 5}, bench: {N: 20}}\n"
#define WEIGHT     "  - {name: w, dtype: f32, shape: [N], role: constant, init: {normal: {}}"

/* Where PyTorch defines the task, and for who asks for it. */
static void test_draft(void **state)
{
    static const char without[] = TORCH_HEAD TORCH_OUT "reference: {torch: problem.py}\nwork: {flops: N}\n"
                                                       "variants: {check: {N: 5}, bench: {N: 20}}\n";
    struct atoll_err err = ATOLL_ERR_INIT;
    write_text("task.yaml", without);
    expect_failure(ATOLL_E_INPUT,
                   "key 'tolerance' is missing here; add it, or let `atoll task check` measure");
    struct atoll_task *task = atoll_task_load_draft(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_false(task->has_tolerance);
    atoll_task_destroy(task);
    char whole[1024];
    snprintf(whole, sizeof(whole), "%stolerance: {\"rtol\": 0.5, \"from\": \"a guess\"}\n", without);
    write_text("task.yaml", whole);
    task = atoll_task_load(folder, NULL);
    assert_non_null(task);
    assert_true(task->has_tolerance && task->tolerance.rtol == 0.5);
    assert_string_equal(task->tolerance_from, "a guess");
    atoll_task_destroy(task);
    write_task(10, "category: odd");
    assert_null(atoll_task_load_draft(folder, NULL));
}

static void test_torch(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    write_text(
        "task.yaml", TORCH_HEAD
        "  - {name: w, dtype: f32, shape: [\"N + 3\"], role: constant, init: {segments: [\n"
        "      {parameter: a.weight, count: N, init: {normal: {std: 0.5}}},\n"
        "      {parameter: a.bias, count: 3, init: {constant: 1}}]}}\n" TORCH_OUT
        "reference: {torch: problem.py, memory: 1e9}\n" TORCH_TAIL
        "category: matmul\nlevel: 2\ntags: [tensor-core, f32]\ninstructions: |\n  Be quick.\n  Be right.\n"
        "source: {suite: some, problem: level1/x, hash: 0a}\n");
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_string_equal(task->torch->source, "# a problem\n");
    assert_string_equal(task->torch->file, "problem.py");
    assert_string_equal(task->torch->entry, "Model");
    assert_true(task->torch->memory_bytes == 1e9 && !task->torch->is_function && !task->torch->is_backward);
    assert_null(task->reference_source);
    assert_null(task->units);
    assert_int_equal(task->tensors[1].segment_count, 2);
    assert_string_equal(task->tensors[1].segments[1].parameter, "a.bias");
    assert_int_equal(task->rival_count, 3);
    assert_string_equal(task->rivals[2].name, "max-autotune");
    assert_null(task->rivals[2].expression);
    assert_int_equal(task->rivals[1].mode, ATOLL_TORCH_COMPILE);
    assert_string_equal(task->category, "matmul");
    assert_int_equal(task->level, 2);
    assert_int_equal(task->tag_count, 2);
    assert_string_equal(task->tags[0], "tensor-core");
    assert_string_equal(task->instructions, "Be quick.\nBe right.\n");
    assert_string_equal(task->origin.problem, "level1/x");
    assert_int_equal(atoll_task_needs_c(task, "so there", &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "task 't' is defined by PyTorch (problem.py); so there");
    struct atoll_id id = task->id;
    atoll_task_destroy(task);
    write_text("problem.py", "# another\n");
    task = atoll_task_load(folder, NULL);
    assert_non_null(task);
    assert_false(atoll_id_equal(&id, &task->id));
    atoll_task_destroy(task);
}

/* Rivals beside a reference.c; a multi-line expression is one. */
static void test_rivals(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    write_task(14, "baselines:\n  - {name: naive, file: seeds/naive.c}\n  - {torch: \"x * 2\"}\n"
                   "  - {torch: \"x * 2\", compile: max-autotune-no-cudagraphs}\n  - torch: |\n"
                   "      z = x + x\n      z\n    compile: default\n    name: two-lines\n"
                   "  - {torch: \"x + x\", name: sum, compile: [none, max-autotune]}");
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_int_equal(task->rival_count, 5);
    assert_string_equal(task->rivals[0].name, "eager");
    assert_string_equal(task->rivals[3].name, "sum-eager");
    assert_string_equal(task->rivals[4].name, "sum-max-autotune");
    assert_int_equal(task->rivals[4].mode, ATOLL_TORCH_MAX_AUTOTUNE);
    assert_string_equal(task->rivals[0].expression, "x * 2");
    assert_int_equal(task->rivals[1].mode, ATOLL_TORCH_MAX_AUTOTUNE);
    assert_string_equal(task->rivals[2].name, "two-lines");
    assert_string_equal(task->rivals[2].expression, "z = x + x\nz\n");
    assert_int_equal(task->rivals[2].mode, ATOLL_TORCH_COMPILE);
    assert_string_equal(atoll_torch_mode_name(ATOLL_TORCH_MODE_COUNT), "?");
    assert_int_equal(atoll_task_needs_c(task, "", &err), 0);
    assert_int_equal(task->seeds[0].is_baseline, 1);
    atoll_task_destroy(task);
}

/* What must hold between a torch reference and the tensors; each with its line. */
static void test_torch_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {TORCH_HEAD WEIGHT "}\n" TORCH_OUT "reference: {torch: problem.py}\n" TORCH_TAIL,
         ":7: tensor 'w': a constant of a module needs its parameter"},
        {TORCH_HEAD WEIGHT ", parameter: \"a b\"}\n" TORCH_OUT "reference: {torch: problem.py}\n" TORCH_TAIL,
         ":7: parameter 'a b' must be a dotted name"},
        {TORCH_HEAD TORCH_OUT "reference: {torch: problem.py, backward: true}\n" TORCH_TAIL,
         ":7: tensor 'y': with backward an output is a gradient"},
        {TORCH_HEAD "  - {name: y, dtype: f32, shape: [N], role: out, of: q}\n"
                    "reference: {torch: problem.py, backward: true}\n" TORCH_TAIL,
         ":7: tensor 'y': 'of' names an input or constant"},
        {TORCH_HEAD "  - {name: y, dtype: f32, shape: [N], role: out, of: 0}\n"
                    "reference: {torch: problem.py, backward: true}\n" TORCH_TAIL,
         ":7: tensor 'y': 'of' names an input or constant"},
        {TORCH_HEAD "  - {name: def, dtype: f32, shape: [N], role: out}\n"
                    "reference: {torch: problem.py}\n" TORCH_TAIL,
         "name 'def' means something else in Python"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        write_text("task.yaml", rows[i].text);
        expect_failure(ATOLL_E_INPUT, rows[i].says);
    }
    write_text(
        "task.yaml", TORCH_HEAD
        "  - {name: g, dtype: f32, shape: [N], role: in, of: 0, init: {normal: {}}}\n"
        "  - {name: y, dtype: f32, shape: [N], role: out, of: x}\n"
        "reference: {torch: problem.py, form: function, entry: forward_fn, backward: true}\n" TORCH_TAIL);
    struct atoll_task *task = atoll_task_load(folder, NULL);
    assert_non_null(task);
    assert_true(task->torch->is_backward && task->torch->is_function);
    assert_string_equal(task->torch->entry, "forward_fn");
    assert_string_equal(task->tensors[1].of, "0");
    assert_string_equal(task->tensors[2].of, "x");
    atoll_task_destroy(task);
}

/* As a Python is told of it. */
static void test_describe(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *json = NULL;
    write_text(
        "task.yaml", TORCH_HEAD
        "  - {name: w, dtype: f32, shape: [\"N + 3\"], role: constant, init: {segments: [\n"
        "      {parameter: a, count: N, init: {normal: {}}}, {parameter: b, count: 3, init: {normal: "
        "{}}}]}}\n"
        "  - {name: v, dtype: bf16, shape: [], role: constant, parameter: c, init: {constant: 1}}\n" TORCH_OUT
        "reference: {torch: problem.py}\n" TORCH_TAIL
        "baselines: [{torch: \"x\"}, {torch: module, compile: default}]\n"
        "precisions: [f32, tf32]\n");
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    write_text("problem.py", "# a problem\n");
    assert_int_equal(atoll_task_describe(task, &task->variants[0], &json, &err), 0);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_string_equal(
        text,
        "{\"name\":\"t\",\"variant\":\"check\",\"tf32\":true,\"dims\":{\"N\":5},\"tensors\":["
        "{\"name\":\"x\",\"dtype\":\"f32\",\"role\":\"in\",\"shape\":[5],\"parameter\":null,\"of\":null,"
        "\"segments\":[]},"
        "{\"name\":\"w\",\"dtype\":\"f32\",\"role\":\"constant\",\"shape\":[8],\"parameter\":null,\"of\":"
        "null,"
        "\"segments\":[{\"parameter\":\"a\",\"offset\":0,\"count\":5},{\"parameter\":\"b\",\"offset\":5,"
        "\"count\":3}]},"
        "{\"name\":\"v\",\"dtype\":\"bf16\",\"role\":\"constant\",\"shape\":[],\"parameter\":\"c\",\"of\":"
        "null,"
        "\"segments\":[]},"
        "{\"name\":\"y\",\"dtype\":\"f32\",\"role\":\"out\",\"shape\":[5],\"parameter\":null,\"of\":null,"
        "\"segments\":[]}],"
        "\"rivals\":[{\"name\":\"eager\",\"expression\":\"x\",\"mode\":\"eager\"},"
        "{\"name\":\"compile\",\"expression\":null,\"mode\":\"compile\"}],"
        "\"reference\":{\"source\":\"# another\\n\",\"file\":\"problem.py\",\"form\":\"module\","
        "\"entry\":\"Model\",\"backward\":false}}");
    free(text);
    json_decref(json);
    atoll_task_destroy(task);
    task = atoll_task_load(FIXTURES "/scale", NULL);
    assert_int_equal(atoll_task_describe(task, &task->variants[0], &json, &err), 0);
    assert_true(json_is_null(json_object_get(json, "reference")));
    json_decref(json);
    atoll_task_destroy(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_torch),         cmocka_unit_test(test_draft),    cmocka_unit_test(test_rivals),
        cmocka_unit_test(test_torch_refused), cmocka_unit_test(test_describe),

    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
