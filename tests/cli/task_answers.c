/* task_answers.c - what a task's reference.c says of one draw per variant, for tests in Python: task_answers TASK SEED OUT
 * VARIANT... writes inputs, expected values and scales one after the other to the file OUT, and says where they lie as
 * JSON, a line for each variant that the task has.  Values are as the dtype has them for inputs, doubles for the others. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "core/task/init.h"
#include "core/task/reference.h"
#include "core/task/task_describe.h"

typedef void reference_range(const struct atoll_reference_args *a, long unit_begin, long unit_end);

static void fail(const char *what)
{
    fprintf(stderr, "task_answers: %s\n", what);
    exit(1);
}

static reference_range *compile(const struct atoll_task *task, const char *out, struct atoll_err *err)
{
    char source[512], object[512], command[1200];
    struct atoll_buffer text;
    union {
        void *pointer;
        reference_range *function;
    } f;
    atoll_buffer_init(&text, 4u << 20);
    if (atoll_reference_translation_unit(task, &text, err) != 0)
        fail(err->text);
    snprintf(source, sizeof(source), "%s.c", out);
    snprintf(object, sizeof(object), "%s.so", out);
    FILE *file = fopen(source, "w");
    if (!file || fwrite(text.data, 1, text.length, file) != text.length || fclose(file) != 0)
        fail("cannot write the reference");
    atoll_buffer_fini(&text);
    snprintf(command, sizeof(command), "cc -std=c11 -w -O0 -shared -fPIC -o '%s' '%s' -lm", object, source);
    if (system(command) != 0)
        fail("cc refused the reference");
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    f.pointer = library ? dlsym(library, "atoll_reference_range") : NULL;
    if (!f.pointer)
        fail("the reference has no range");
    unlink(source);
    unlink(object);
    return f.function;
}

static void *zeroed(size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory)
        fail("no memory");
    return memory;
}

static int64_t number(const struct atoll_task *task, const struct atoll_variant *v,
                      const struct atoll_expression *e)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    int64_t value = 0;
    if (e && atoll_expression_eval(e, bindings, atoll_task_bindings(task, v, bindings), &value, NULL) != 0)
        fail("an expression has no value");
    return value;
}

/* Appends bytes to the file and says where they lie. */
static void put(FILE *file, json_t *json, const char *tensor, const char *what, const void *bytes,
                size_t length)
{
    json_t *place = json_pack("{s:I, s:I}", "offset", (json_int_t)ftell(file), "bytes", (json_int_t)length);
    json_t *places = json_object_get(json, what);
    if (!places)
        json_object_set_new(json, what, places = json_object());
    json_object_set_new(places, tensor, place);
    if (fwrite(bytes, 1, length, file) != length)
        fail("cannot write");
}

static const struct atoll_variant *variant_of(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->variant_count; i++)
        if (strcmp(task->variants[i].name, name) == 0)
            return &task->variants[i];
    return NULL;
}

static void answer(const struct atoll_task *task, const struct atoll_variant *v, uint64_t seed,
                   reference_range *range, FILE *file)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    void *inputs[ATOLL_TASK_TENSOR_LIMIT] = {0};
    double *expected[ATOLL_TASK_TENSOR_LIMIT] = {0}, *scale[ATOLL_TASK_TENSOR_LIMIT] = {0};
    size_t counts[ATOLL_TASK_TENSOR_LIMIT] = {0};
    long long dims[ATOLL_TASK_DIM_LIMIT];
    json_t *json = NULL;
    if (atoll_task_describe(task, v, &json, &err) != 0)
        fail(err.text);
    for (size_t i = 0; i < task->dim_count; i++)
        dims[i] = v->dims[i];
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        size_t bytes = atoll_dtype_bytes(t->dtype);
        if (atoll_task_element_count(task, i, v, &counts[i], &err) != 0)
            fail(err.text);
        if (t->role == ATOLL_ROLE_OUT || t->role == ATOLL_ROLE_INOUT) {
            expected[i] = zeroed(counts[i] * sizeof(double));
            scale[i] = atoll_reference_has_scale(task, i) ? zeroed(counts[i] * sizeof(double)) : NULL;
        }
        if (t->role == ATOLL_ROLE_OUT)
            continue;
        inputs[i] = zeroed(counts[i] * bytes);
        if (atoll_init_fill(task, i, v, seed, atoll_input_set_distribution(task, seed), 0, counts[i],
                            inputs[i], &err) != 0)
            fail(err.text);
        put(file, json, t->name, "inputs", inputs[i], counts[i] * bytes);
    }
    struct atoll_reference_args args = {dims, (const void *const *)inputs, expected, scale,
                                        zeroed((size_t)number(task, v, task->scratch) * sizeof(double))};
    range(&args, 0, (long)number(task, v, task->units));
    for (size_t i = 0; i < task->tensor_count; i++) {
        if (expected[i])
            put(file, json, task->tensors[i].name, "expected", expected[i], counts[i] * sizeof(double));
        if (scale[i])
            put(file, json, task->tensors[i].name, "scale", scale[i], counts[i] * sizeof(double));
    }
    const struct atoll_tolerance *t = &task->tolerance;
    json_object_set_new(json, "tolerance", json_pack("{s:f, s:f}", "rtol", t->rtol, "atol", t->atol));
    if (json_dumpf(json, stdout, JSON_COMPACT) != 0)
        fail("cannot write");
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (argc < 5)
        fail("usage: task_answers TASK SEED OUT VARIANT...");
    struct atoll_task *task = atoll_task_load(argv[1], &err);
    if (!task)
        fail(err.text);
    uint64_t seed = strtoull(argv[2], NULL, 10);
    reference_range *range = compile(task, argv[3], &err);
    FILE *file = fopen(argv[3], "wb");
    if (!file)
        fail("cannot write");
    for (int i = 4; i < argc; i++) {
        const struct atoll_variant *v = variant_of(task, argv[i]);
        if (v)
            answer(task, v, seed + (uint64_t)i, range, file);
    }
    if (fclose(file) != 0)
        fail("cannot write");
    return 0;
}
