/* References on the device against the same references on the host, for every starter task. */
#include <dlfcn.h>
#include <math.h>

#include "core/task/init.h"
#include "core/task/reference.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "tests/gpu/support.h"

enum { BYTES = 1 << 30 };
#define REFERENCE_FUNCTION ATOLL_SUPPORT_FUNCTION_END
#define REFERENCE_MODULE   ATOLL_SUPPORT_MODULE_END

static struct bench b;

typedef void range_function(const struct atoll_reference_args *a, long unit_begin, long unit_end);

struct host_side {
    void *inputs[ATOLL_TASK_TENSOR_LIMIT];
    double *expected[ATOLL_TASK_TENSOR_LIMIT], *scale[ATOLL_TASK_TENSOR_LIMIT];
    size_t counts[ATOLL_TASK_TENSOR_LIMIT];
};

/* The reference as the host compiles it. */
static void *load_host(const struct atoll_task *task, range_function **ret_range)
{
    struct atoll_buffer text;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[256], command[1024];
    snprintf(path, sizeof(path), "%s/reference-%s.c", ATOLL_BUILD_DIR, task->name);
    atoll_buffer_init(&text, (size_t)4 << 20);
    if (atoll_reference_translation_unit(task, &text, &err))
        fail_msg("%s", err.text);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text.data, 1, text.length, f);
    fclose(f);
    atoll_buffer_fini(&text);
    snprintf(command, sizeof(command), "cc -O2 -shared -fPIC -o %s.so %s -lm", path, path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), "%s.so", path);
    void *library = dlopen(command, RTLD_NOW);
    assert_non_null(library);
    *(void **)ret_range = dlsym(library, "atoll_reference_range");
    assert_non_null((void *)*ret_range);
    return library;
}

static void fill_host(const struct atoll_task *task, const struct atoll_variant *v, struct host_side *h)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t t = 0; t < task->tensor_count; t++) {
        const struct atoll_tensor *tensor = &task->tensors[t];
        if (atoll_task_element_count(task, t, v, &h->counts[t], &err))
            fail_msg("%s", err.text);
        if (tensor->role != ATOLL_ROLE_OUT) {
            h->inputs[t] = calloc(h->counts[t], 8);
            if (atoll_init_fill(task, t, v, 7, ATOLL_DRAW_BASE, 0, h->counts[t], h->inputs[t], &err))
                fail_msg("%s", err.text);
        }
        if (tensor->role == ATOLL_ROLE_OUT || tensor->role == ATOLL_ROLE_INOUT) {
            h->expected[t] = calloc(h->counts[t], sizeof(double));
            h->scale[t] = atoll_reference_has_scale(task, t) ? calloc(h->counts[t], sizeof(double)) : NULL;
        }
    }
}

static int64_t evaluate(const struct atoll_task *task, const struct atoll_variant *v,
                        const struct atoll_expression *e)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t n = atoll_task_bindings(task, v, bindings);
    int64_t value = 0;
    if (e)
        assert_int_equal(atoll_expression_eval(e, bindings, n, &value, NULL), 0);
    return value;
}

static void run_host(const struct atoll_task *task, const struct atoll_variant *v, struct host_side *h)
{
    range_function *range = NULL;
    long long dims[ATOLL_TASK_DIM_LIMIT];
    void *library = load_host(task, &range);
    double *scratch = calloc((size_t)evaluate(task, v, task->scratch) + 1, sizeof(*scratch));
    for (size_t i = 0; i < task->dim_count; i++)
        dims[i] = v->dims[i];
    struct atoll_reference_args args = {dims, (const void *const *)h->inputs, h->expected, h->scale, scratch};
    range(&args, 0, (long)evaluate(task, v, task->units));
    free(scratch);
    dlclose(library);
}

static void compare_array(const struct atoll_task *task, size_t t, const char *what, const double *host,
                          const double *device, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double difference = fabs(host[i] - device[i]);
        if (host[i] == device[i] || (isnan(host[i]) && isnan(device[i])))
            continue;
        if (!(difference <= 1e-9 * fmax(fabs(host[i]), 1e-3)))
            fail_msg("%s: %s of %s[%zu] is %.17g on the host, %.17g on the device", task->name, what,
                     task->tensors[t].name, i, host[i], device[i]);
    }
}

static uint64_t take_room(uint64_t *at, uint64_t bytes)
{
    uint64_t address = *at;
    *at += (bytes + 511) / 256 * 256;
    assert_true(*at <= b.area + BYTES);
    return address;
}

static void run_device(const struct atoll_task *task, const struct atoll_variant *v, struct host_side *h)
{
    struct atoll_buffer text;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_support_output outputs[ATOLL_TASK_TENSOR_LIMIT] = {{0}};
    uint64_t inputs[ATOLL_TASK_TENSOR_LIMIT] = {0}, at = b.area;
    size_t length = 0, output_count = 0;
    const char *name;
    atoll_buffer_init(&text, (size_t)4 << 20);
    assert_int_equal(atoll_cuda_case_unit(task, &name, &text, &err), 0);
    atoll_buffer_put_u8(&text, 0);
    void *cubin = gpu_compile((const char *)text.data, NULL, &length);
    atoll_buffer_fini(&text);
    atoll_command_batch_module_load(&b.batch, REFERENCE_MODULE, cubin, length);
    free(cubin);
    atoll_command_batch_function(&b.batch, REFERENCE_FUNCTION, REFERENCE_MODULE, ATOLL_CUDA_REFERENCE_KERNEL);
    for (size_t t = 0; t < task->tensor_count; t++) {
        if (h->inputs[t]) {
            inputs[t] = take_room(&at, h->counts[t] * 8);
            assert_int_equal(atoll_support_init(&b.batch, task, t, v, 7, ATOLL_DRAW_BASE, inputs[t], &err),
                             0);
        }
        if (h->expected[t])
            outputs[output_count++] = (struct atoll_support_output){
                .tensor = t,
                .count = h->counts[t],
                .expected = take_room(&at, h->counts[t] * 8),
                .scale = h->scale[t] ? take_room(&at, h->counts[t] * 8) : 0,
            };
    }
    if (atoll_cuda_reference_run(&b.batch, REFERENCE_FUNCTION, task, v, inputs, outputs, output_count, NULL,
                                 at, b.area + BYTES - at, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < output_count; i++) {
        atoll_command_batch_read(&b.batch, outputs[i].expected, outputs[i].count * 8);
        if (outputs[i].scale)
            atoll_command_batch_read(&b.batch, outputs[i].scale, outputs[i].count * 8);
    }
    bench_run(&b);
    struct atoll_device_command_function function;
    atoll_command_batch_take_function(&b.reply, &function);
    for (size_t i = 0; i < output_count; i++) {
        size_t t = outputs[i].tensor, n = outputs[i].count;
        compare_array(task, t, "value", h->expected[t], bench_take(&b, n * 8), n);
        if (outputs[i].scale)
            compare_array(task, t, "scale", h->scale[t], bench_take(&b, n * 8), n);
    }
}

static int visit(void *context, const char *dir, struct atoll_err *err)
{
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task)
        return -1;
    for (size_t i = 0; i < task->variant_count; i++) {
        struct host_side h = {.inputs = {NULL}};
        if (task->variants[i].kind != ATOLL_VARIANT_CHECK)
            continue;
        fill_host(task, &task->variants[i], &h);
        run_host(task, &task->variants[i], &h);
        run_device(task, &task->variants[i], &h);
        for (size_t t = 0; t < task->tensor_count; t++) {
            free(h.inputs[t]);
            free(h.expected[t]);
            free(h.scale[t]);
        }
        *(unsigned *)context += 1;
    }
    atoll_task_destroy(task);
    return 0;
}

static void references_agree(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned count = 0;
    if (atoll_suite_visit(ATOLL_SOURCE_DIR "/suites/starter", visit, &count, &err))
        fail_msg("%s", err.text);
    print_message("%u variants\n", count);
    assert_true(count >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_agree)};
    if (system("cc --version >/dev/null 2>&1") != 0) {
        printf("SKIP: no C compiler named cc, which the host's side needs\n");
        return 77;
    }
    if (bench_open(&b, BYTES) != 0)
        return 77;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    bench_close(&b);
    return rc;
}
