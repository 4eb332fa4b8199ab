/* reference.cu on the device: for every task of our suites that has one it must be found equal to reference.c, at the check
 * variants and at secret units of the bench variants; wrong ones must be found out, and leave the device in order.  Prints what
 * a draw takes by either. ATOLL_TEST_TILES names one task. */
#include "tests/gpu/support.h"

#include "core/task/reference.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/referee/state.h"
#include "tests/gpu/referee.h"

#define AREA   ((uint64_t)12 << 30)
#define MODULE ATOLL_SUPPORT_MODULE_END
#define PLAIN  ATOLL_SUPPORT_FUNCTION_END
#define TILED  (ATOLL_SUPPORT_FUNCTION_END + 1)
#define TASKS  29
#define NUMBER 77u
#define SUITES ATOLL_SOURCE_DIR "/suites/"

static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static struct bench b;

static uint64_t take_room(uint64_t *at, uint64_t bytes)
{
    uint64_t address = *at;
    *at += (bytes + 511) / 256 * 256;
    return address;
}

static int is_output(const struct atoll_tensor *t)
{
    return t->role == ATOLL_ROLE_OUT || t->role == ATOLL_ROLE_INOUT;
}

/* Milliseconds of both references at a variant; -1: they find no room here. */
static int time_variant(const struct atoll_task *task, const struct atoll_variant *v, double *ret_plain,
                        double *ret_tiled)
{
    struct atoll_support_output outputs[ATOLL_TASK_TENSOR_LIMIT] = {{0}};
    uint64_t inputs[ATOLL_TASK_TENSOR_LIMIT] = {0}, at = b.area;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t output_count = 0, count;
    for (size_t t = 0; t < task->tensor_count; t++) {
        assert_int_equal(atoll_task_element_count(task, t, v, &count, &err), 0);
        if (task->tensors[t].role != ATOLL_ROLE_OUT)
            inputs[t] = take_room(&at, count * atoll_dtype_bytes(task->tensors[t].dtype));
        if (is_output(&task->tensors[t]))
            outputs[output_count++] = (struct atoll_support_output){
                .tensor = t,
                .count = count,
                .expected = take_room(&at, count * 8),
                .scale = atoll_reference_has_scale(task, t) ? take_room(&at, count * 8) : 0};
    }
    if (at + ((uint64_t)1 << 30) > b.area + AREA)
        return -1;
    for (size_t t = 0; t < task->tensor_count; t++)
        if (inputs[t] && atoll_support_init(&b.batch, task, t, v, 7, ATOLL_DRAW_BASE, inputs[t], &err))
            fail_msg("%s", err.text);
    for (int run = 0; run < 2; run++) { /* the first one finds the device cold */
        atoll_command_batch_event(&b.batch, 0);
        if (atoll_cuda_reference_run(&b.batch, PLAIN, task, v, inputs, outputs, output_count, NULL, at,
                                     (uint64_t)1 << 30, &err))
            fail_msg("%s", err.text);
        atoll_command_batch_event(&b.batch, 1);
        atoll_cuda_tiled_run(&b.batch, TILED, task, v, inputs, outputs, output_count, b.multiprocessors);
        atoll_command_batch_event(&b.batch, 2);
    }
    bench_run(&b);
    *ret_plain = b.reply.event_ns[1] / 1e6;
    *ret_tiled = (b.reply.event_ns[2] - b.reply.event_ns[1]) / 1e6;
    return 0;
}

static void times_print(const struct atoll_task *task, const struct atoll_cuda_oracle *o)
{
    struct atoll_device_command_function function;
    atoll_command_batch_module_load(&b.batch, MODULE, o->cubin.bytes, o->cubin.length);
    atoll_command_batch_function(&b.batch, PLAIN, MODULE, ATOLL_CUDA_REFERENCE_KERNEL);
    atoll_command_batch_function(&b.batch, TILED, MODULE, ATOLL_CUDA_TILED_KERNEL);
    bench_run(&b);
    atoll_command_batch_take_function(&b.reply, &function);
    atoll_command_batch_take_function(&b.reply, &function);
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        double plain, tiled;
        if (v->kind != ATOLL_VARIANT_BENCH || !atoll_variant_is_here(&atoll_backend_cuda, v))
            continue;
        if (time_variant(task, v, &plain, &tiled) == 0)
            printf("TIME %-22s %-14s reference.c %9.3f ms  reference.cu %8.3f ms  %6.1fx  %u registers, %u "
                   "local\n",
                   task->name, v->name, plain, tiled, plain / tiled, function.registers,
                   function.local_bytes);
        else
            printf("TIME %-22s %-14s no room for it in this test\n", task->name, v->name);
        fflush(stdout);
    }
}

struct tally {
    unsigned agree, differ;
};

static int visit(void *context, const char *dir, struct atoll_err *err)
{
    struct tally *tally = context;
    const char *only = getenv("ATOLL_TEST_TILES");
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task)
        return -1;
    if (task->device_source && (!only || strcmp(only, task->name) == 0)) {
        double begin = atoll_referee_now_ns();
        struct atoll_case *known = atoll_case_create(referee, NUMBER, task, err);
        if (!known)
            fail_msg("%s: %s", task->name, err->text);
        const struct atoll_cuda_oracle *o = known->oracle;
        const char *refusal = atoll_backend_cuda.device_reference(known);
        printf("PROOF %-22s %s (%.2f s, compiling included)\n", task->name, refusal[0] ? refusal : "agrees",
               (atoll_referee_now_ns() - begin) / 1e9);
        tally->agree += refusal[0] ? 0 : 1;
        tally->differ += refusal[0] ? 1 : 0;
        for (size_t i = 0; !refusal[0] && i < task->variant_count; i++)
            assert_int_equal(o->is_tiled[i],
                             task->variants[i].kind != ATOLL_VARIANT_HIDDEN &&
                                 atoll_variant_is_here(&atoll_backend_cuda, &task->variants[i]));
        times_print(task, o);
        atoll_case_destroy(referee, known);
    }
    atoll_task_destroy(task);
    return 0;
}

static void all_agree(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct tally tally = {0};
    if (atoll_suite_visit(SUITES "gpu", visit, &tally, &err) ||
        atoll_suite_visit(SUITES "starter", visit, &tally, &err))
        fail_msg("%s", err.text);
    printf("PROOF %u agree, %u differ\n", tally.agree, tally.differ);
    assert_int_equal(tally.differ, 0);
    assert_true(getenv("ATOLL_TEST_TILES") || tally.agree == TASKS);
}

/* row_reduce by a reference.cu that is wrong in one way or another. */
#define BLOCKS(count)                                                                                        \
    "static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)\n"             \
    "{ return phase == 0 ? " count " : 0; }\n"                                                               \
    "static __device__ void reference_block(const struct atoll_reference_args *a, int phase, long row)\n{\n"
#define ROW_SUM(change)                                                                                      \
    "    double sum = 0, size = 0;\n"                                                                        \
    "    for (long j = atoll_thread(); j < dim_N(a); j += ATOLL_TILE_THREADS) {\n"                           \
    "        sum += get_x(a, row * dim_N(a) + j);\n"                                                         \
    "        size += atoll_fabs(get_x(a, row * dim_N(a) + j));\n    }\n"                                     \
    "    sum = atoll_block_sum(sum);\n    size = atoll_block_sum(size);\n" change                            \
    "    if (atoll_thread() == 0) {\n        put_y(a, row, sum);\n        scale_y(a, row, size);\n    "      \
    "}\n}\n"

static void wrong_ones_are_found(void **state)
{
    static const struct {
        const char *name, *text, *wanted;
    } rows[] = {
        {"right", BLOCKS("dim_B(a)") ROW_SUM(""), ""},
        {"a little off", BLOCKS("dim_B(a)") ROW_SUM("    sum += 1e-11 * size;\n"), "differ; first y[0]:"},
        {"one row off", BLOCKS("dim_B(a)") ROW_SUM("    sum += row == 11 ? 1e-9 * size : 0;\n"),
         "1 of 37 elements looked at differ; first y[11]:"},
        {"scale off", BLOCKS("dim_B(a)") ROW_SUM("    size *= 1.00001;\n"), "(scale"},
        {"last rows missing", BLOCKS("dim_B(a) - dim_B(a) / 8") ROW_SUM(""), "first y[33]:"},
        {"right at check variants alone",
         BLOCKS("dim_B(a)") ROW_SUM("    sum += dim_B(a) > 1000 ? 1e-9 * size : 0;\n"),
         "at variant bench.gpu"},
        {"outside of memory", BLOCKS("dim_B(a)") "    *(volatile double *)(row * 8) = 1;\n}\n",
         "at variant check: "},
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(SUITES "starter/row_reduce", &err);
    assert_non_null(task);
    if (getenv("ATOLL_TEST_TILES"))
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        task->device_source = rows[i].text;
        struct atoll_case *known = atoll_case_create(referee, NUMBER, task, &err);
        if (!known)
            fail_msg("%s: %s", rows[i].name, err.text);
        const struct atoll_cuda_oracle *o = known->oracle;
        const char *refusal = atoll_backend_cuda.device_reference(known);
        printf("WRONG %-30s %s\n", rows[i].name, refusal);
        if (!strstr(refusal, rows[i].wanted) || !refusal[0] != !rows[i].wanted[0])
            fail_msg("%s: '%s' is not in '%s'", rows[i].name, rows[i].wanted, refusal);
        for (size_t v = 0; refusal[0] && v < task->variant_count; v++)
            assert_int_equal(o->is_tiled[v], 0);
        atoll_case_destroy(referee, known);
    }
    atoll_task_destroy(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_ones_are_found), cmocka_unit_test(all_agree)};
    if (bench_open(&b, AREA) != 0) /* first: a referee takes what memory there is */
        return 77;
    int rc = gpu_referee_open(&compiler, &referee);
    if (rc != 0)
        return rc > 0 ? 77 : 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    bench_close(&b);
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    return rc;
}
