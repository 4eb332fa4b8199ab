/* Every reference.cu of our suites against its reference.c: on the host, where a block's threads are contexts that take turns
 * at every barrier and the tensor units are plain loops; as device code, by NVRTC; and what is made of two answers. */
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/task/init.h"
#include "core/task/reference.h"
#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/backend/cuda/kernels/text.h"
#include "mpi-eval/backend/cuda/measure/tiles.h"
#include "tests/support/nvrtc.h"

#define SUITES     ATOLL_SOURCE_DIR "/suites/"
#define TASK_LIMIT 64
#define LEAST      37 /* pairs of a reference.c and a reference.cu, which many tasks may share */
#define WITH_UNITS "optimized_fm"

struct suite {
    size_t count;
    struct atoll_task *tasks[TASK_LIMIT];
};

static int is_known(const struct suite *s, const struct atoll_task *task)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->tasks[i]->device_source, task->device_source) == 0 &&
            strcmp(s->tasks[i]->reference_source, task->reference_source) == 0)
            return 1;
    return 0;
}

static int take_task(void *context, const char *dir, struct atoll_err *err)
{
    struct suite *s = context;
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task)
        return -1;
    if (task->device_source && !is_known(s, task) && s->count < TASK_LIMIT)
        s->tasks[s->count++] = task;
    else
        atoll_task_destroy(task);
    return 0;
}

static void suite_load(struct suite *s)
{
    static const char *const suites[] = {"starter", "gpu", "attention", "nkibench", "kernelevolve", "hpc"};
    struct atoll_err err = ATOLL_ERR_INIT;
    s->count = 0;
    for (size_t i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s%s", SUITES, suites[i]);
        if (atoll_suite_visit(path, take_task, s, &err))
            fail_msg("%s", err.text);
    }
    assert_true(s->count >= LEAST);
}

static void suite_free(struct suite *s)
{
    for (size_t i = 0; i < s->count; i++)
        atoll_task_destroy(s->tasks[i]);
}

/* ---- on the host ---- */

/* Threads of a block in turn: a barrier hands on to the next one that has not ended, so all reach it before any passes. */
static const char emulation[] = "#include <stdlib.h>\n"
                                "#include <ucontext.h>\n"
                                "#define ATOLL_EMULATED 1\n"
                                "#define ATOLL_EXPORT static __attribute__((unused))\n"
                                "#define __device__\n"
                                "#define __shared__ static\n"
                                "#define __forceinline__ inline\n"
                                "enum { THREADS = 256, STACK = 1 << 16 };\n"
                                "static struct { unsigned x; } threadIdx;\n"
                                "static ucontext_t threads[THREADS], home;\n"
                                "static unsigned char ended[THREADS];\n"
                                "static void hand_on(unsigned from)\n"
                                "{\n"
                                "    unsigned next = from;\n"
                                "    do\n"
                                "        next = (next + 1) % THREADS;\n"
                                "    while (ended[next] && next != from);\n"
                                "    threadIdx.x = next;\n"
                                "    if (ended[next])\n"
                                "        setcontext(&home);\n"
                                "    else if (next != from)\n"
                                "        swapcontext(&threads[from], &threads[next]);\n"
                                "    threadIdx.x = from;\n"
                                "}\n"
                                "static void __syncthreads() { hand_on(threadIdx.x); }\n"
                                "static __attribute__((unused)) unsigned atomicAdd(unsigned *to, unsigned "
                                "more) { unsigned old = *to; *to += more; return old; }\n"
                                "struct work { void (*block)(const void *a, int phase, long block); const "
                                "void *a; int phase; long number; };\n"
                                "static struct work work;\n"
                                "static void thread_main()\n"
                                "{\n"
                                "    unsigned me = threadIdx.x;\n"
                                "    work.block(work.a, work.phase, work.number);\n"
                                "    ended[me] = 1;\n"
                                "    hand_on(me);\n"
                                "}\n"
                                "static void block_run()\n"
                                "{\n"
                                "    static char stacks[THREADS * STACK];\n"
                                "    for (unsigned i = 0; i < THREADS; i++) {\n"
                                "        getcontext(&threads[i]);\n"
                                "        threads[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;\n"
                                "        threads[i].uc_stack.ss_size = STACK;\n"
                                "        makecontext(&threads[i], thread_main, 0);\n"
                                "        ended[i] = 0;\n"
                                "    }\n"
                                "    threadIdx.x = 0;\n"
                                "    swapcontext(&home, &threads[0]);\n"
                                "}\n";

/* One product of the tensor units, with the fragments where the PTX ISA says that lanes hold them: a of 16 x 8 in registers 0
 * to 3 (rows, rows + 8, then columns + 4), b of 8 x 8 in 0 and 1, c of 16 x 8 in 0 to 3 (two columns, then rows + 8). */
static const char tensor_units[] =
    "#define ATOLL_EMULATED_UNITS 1\n"
    "static double lanes_a[THREADS][4], lanes_b[THREADS][2];\n"
    "static void atoll_tile_mma(double *c, const double *a, const double *b)\n"
    "{\n"
    "    const unsigned me = threadIdx.x, lane = me % 32, warp = me - lane;\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        lanes_a[me][i] = a[i];\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        lanes_b[me][i] = b[i];\n"
    "    __syncthreads();\n"
    "    for (unsigned i = 0; i < 4; i++) {\n"
    "        const unsigned row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;\n"
    "        for (unsigned k = 0; k < 8; k++)\n"
    "            c[i] += lanes_a[warp + row % 8 * 4 + k % 4][row / 8 + k / 4 * 2] * lanes_b[warp + column * "
    "4 + k % 4][k / 4];\n"
    "    }\n"
    "    __syncthreads();\n"
    "}\n";

static const char task_tail[] =
    "static void one_block(const void *a, int phase, long block)\n"
    "{ atoll_tiled::reference_block((const atoll_reference_args *)a, phase, block); }\n"
    "static void plain(const void *a, long units) { atoll_reference_range((const atoll_reference_args *)a, "
    "0, units); }\n"
    "static void tiled(const void *a)\n"
    "{\n"
    "    for (int phase = 0; phase < 3; phase++) {\n"
    "        long blocks = atoll_tiled::reference_blocks((const atoll_reference_args *)a, phase);\n"
    "        for (long i = 0; i < blocks; i++) {\n"
    "            work = {one_block, a, phase, i};\n"
    "            block_run();\n"
    "        }\n"
    "    }\n"
    "}\n"
    "}\n"
    "#undef COLUMNS\n#undef STRETCH\n#undef TILES\n#undef STEP\n#undef STEP_PITCH\n#undef ATOLL_RESIDENT\n";

static void put(struct atoll_buffer *b, const char *text)
{
    atoll_buffer_put_bytes(b, text, strlen(text));
}

static void put_task(struct atoll_buffer *b, const struct atoll_task *task, size_t number)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_printf(b, "namespace task_%zu {\n", number);
    if (atoll_reference_translation_unit(task, b, &err) ||
        atoll_reference_device_unit(task, atoll_device_tiles_text, b, &err))
        fail_msg("%s: %s", task->name, err.text);
    put(b, task_tail);
}

/* The last one is WITH_UNITS once more, by the tensor units. */
static void host_text(const struct suite *s, struct atoll_buffer *b)
{
    put(b, emulation);
    for (size_t i = 0; i < s->count; i++)
        put_task(b, s->tasks[i], i);
    put(b, tensor_units);
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->tasks[i]->name, WITH_UNITS) == 0)
            put_task(b, s->tasks[i], s->count);
    put(b, "typedef void plain_function(const void *, long);\ntypedef void tiled_function(const void *);\n"
           "extern \"C\" { extern plain_function *const plains[]; extern tiled_function *const tileds[];\n"
           "plain_function *const plains[] = {");
    for (size_t i = 0; i <= s->count; i++)
        atoll_buffer_printf(b, "task_%zu::plain, ", i);
    put(b, "};\ntiled_function *const tileds[] = {");
    for (size_t i = 0; i <= s->count; i++)
        atoll_buffer_printf(b, "task_%zu::tiled, ", i);
    put(b, "};\n}\n");
}

/* NULL: there is no C++ compiler here. */
static void *host_compile(const struct suite *s)
{
    char path[256], command[1024];
    struct atoll_buffer text;
    if (system("c++ --version >/dev/null 2>&1") != 0)
        return NULL;
    snprintf(path, sizeof(path), ATOLL_BUILD_DIR "/test-tiles-%d", (int)getpid());
    snprintf(command, sizeof(command), "%s.cc", path);
    atoll_buffer_init(&text, (size_t)16 << 20);
    host_text(s, &text);
    FILE *f = fopen(command, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.data, 1, text.length, f), text.length);
    assert_int_equal(fclose(f), 0);
    atoll_buffer_fini(&text);
    snprintf(command, sizeof(command), "c++ -std=c++17 -O1 -w -shared -fPIC -o '%s.so' '%s.cc'", path, path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), "%s.so", path);
    void *library = dlopen(command, RTLD_NOW);
    unlink(command);
    snprintf(command, sizeof(command), "%s.cc", path);
    unlink(command);
    if (!library)
        fail_msg("%s", dlerror());
    return library;
}

struct answer {
    double *expected[ATOLL_TASK_TENSOR_LIMIT], *scale[ATOLL_TASK_TENSOR_LIMIT];
};

static int64_t value_of(const struct atoll_task *task, const struct atoll_variant *v,
                        const struct atoll_expression *e)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t n = atoll_task_bindings(task, v, bindings);
    int64_t value = 0;
    if (e)
        assert_int_equal(atoll_expression_eval(e, bindings, n, &value, NULL), 0);
    return value;
}

static int is_output(const struct atoll_task *task, size_t t)
{
    return task->tensors[t].role == ATOLL_ROLE_OUT || task->tensors[t].role == ATOLL_ROLE_INOUT;
}

static void answer_alloc(const struct atoll_task *task, const struct atoll_variant *v, struct answer *a)
{
    for (size_t t = 0; t < task->tensor_count; t++) {
        size_t count;
        assert_int_equal(atoll_task_element_count(task, t, v, &count, NULL), 0);
        if (!is_output(task, t))
            continue;
        a->expected[t] = malloc(count * sizeof(double));
        memset(a->expected[t], 0xff, count * sizeof(double));
        if (atoll_reference_has_scale(task, t))
            a->scale[t] = calloc(count, sizeof(double));
    }
}

/* The two as the device would hand them over: a list of elements, judged as there. */
static void answers_judge(const struct atoll_task *task, const struct atoll_variant *v,
                          const struct answer *plain, const struct answer *tiled)
{
    for (size_t t = 0; t < task->tensor_count; t++) {
        size_t count;
        char text[512] = "";
        if (!is_output(task, t))
            continue;
        assert_int_equal(atoll_task_element_count(task, t, v, &count, NULL), 0);
        size_t length =
            offsetof(struct atoll_agreement_area, entries) + count * sizeof(struct atoll_agreement_entry);
        struct atoll_agreement_area *area = calloc(1, length);
        area->put_count = count;
        for (size_t i = 0; i < count; i++)
            area->entries[i] = (struct atoll_agreement_entry){
                .index = i,
                .expected = plain->expected[t][i],
                .scale = plain->scale[t] ? plain->scale[t][i] : 0,
                .tiled = tiled->expected[t][i],
                .tiled_scale = tiled->scale[t] ? tiled->scale[t][i] : 0,
            };
        if (!atoll_cuda_tiles_judge(area, length, task, t, v, text, sizeof(text)))
            fail_msg("%s: %s", task->name, text);
        free(area);
    }
}

static void variant_agrees(const struct atoll_task *task, uint32_t variant, void (*plain)(const void *, long),
                           void (*tiled)(const void *))
{
    const struct atoll_variant *v = &task->variants[variant];
    struct answer answers[2] = {{{NULL}, {NULL}}, {{NULL}, {NULL}}};
    void *inputs[ATOLL_TASK_TENSOR_LIMIT] = {NULL};
    struct atoll_err err = ATOLL_ERR_INIT;
    long long dims[ATOLL_TASK_DIM_LIMIT];
    double *scratch = calloc((size_t)value_of(task, v, task->scratch) + 1, sizeof(*scratch));
    for (size_t i = 0; i < task->dim_count; i++)
        dims[i] = v->dims[i];
    for (size_t t = 0; t < task->tensor_count; t++) {
        size_t count;
        assert_int_equal(atoll_task_element_count(task, t, v, &count, &err), 0);
        if (task->tensors[t].role == ATOLL_ROLE_OUT)
            continue;
        inputs[t] = calloc(count, 8);
        if (atoll_init_fill(task, t, v, 7 + variant, ATOLL_DRAW_BASE, 0, count, inputs[t], &err))
            fail_msg("%s", err.text);
    }
    for (size_t k = 0; k < 2; k++) {
        answer_alloc(task, v, &answers[k]);
        struct atoll_reference_args args = {dims, (const void *const *)inputs, answers[k].expected,
                                            answers[k].scale, scratch};
        if (k == 0)
            plain(&args, (long)value_of(task, v, task->units));
        else
            tiled(&args);
    }
    answers_judge(task, v, &answers[0], &answers[1]);
    for (size_t t = 0; t < task->tensor_count; t++) {
        free(inputs[t]);
        for (size_t k = 0; k < 2; k++) {
            free(answers[k].expected[t]);
            free(answers[k].scale[t]);
        }
    }
    free(scratch);
}

static void tiles_agree_on_the_host(void **state)
{
    struct suite s;
    suite_load(&s);
    void *library = host_compile(&s);
    if (!library) {
        print_message("SKIP: no C++ compiler named c++\n");
        suite_free(&s);
        skip();
        return;
    }
    void (**plains)(const void *, long) = dlsym(library, "plains");
    void (**tileds)(const void *) = dlsym(library, "tileds");
    assert_true(plains && tileds);
    for (size_t i = 0; i < s.count; i++)
        for (uint32_t v = 0; v < s.tasks[i]->variant_count; v++) {
            if (s.tasks[i]->variants[v].kind != ATOLL_VARIANT_CHECK)
                continue;
            variant_agrees(s.tasks[i], v, plains[i], tileds[i]);
            if (strcmp(s.tasks[i]->name, WITH_UNITS) == 0)
                variant_agrees(s.tasks[i], v, plains[s.count], tileds[s.count]);
        }
    dlclose(library);
    suite_free(&s);
}

/* ---- by NVRTC, as test_support_text.c does for Hopper: two tasks for the other forms of the tensor units, and for none.
 * ATOLL_TEST_TILES=all: every task for Hopper, with what each takes ---- */

static void device_compile(const struct atoll_nvrtc_library *nvrtc, const struct atoll_task *task,
                           const char *arch)
{
    static struct atoll_cubin read;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer text;
    const char *name;
    char *log = NULL;
    size_t length = 0;
    atoll_buffer_init(&text, (size_t)4 << 20);
    if (atoll_cuda_case_unit(task, &name, &text, &err) != 0)
        fail_msg("%s", err.text);
    atoll_buffer_put_u8(&text, 0);
    void *cubin = test_nvrtc_compile(nvrtc, (const char *)text.data, arch, NULL, &length, &log);
    if (!cubin || (log && strspn(log, " \n") != strlen(log)))
        fail_msg("%s on %s: %s", task->name, arch, log ? log : "");
    if (atoll_cubin_read(cubin, length, "", &read, &err) != 0)
        fail_msg("%s", err.text);
    const struct atoll_cubin_kernel *k = atoll_cubin_find(&read, ATOLL_CUDA_TILED_KERNEL);
    assert_non_null(k);
    print_message("%s on %s: %u registers, %u bytes of stack, %u of shared memory\n", task->name, arch,
                  k->registers, k->stack_bytes, k->static_shared_bytes);
    uint32_t stack_bytes = 0;
    assert_int_equal(atoll_cuda_tiles_stack(cubin, length, &stack_bytes, &err), 0);
    assert_int_equal(stack_bytes, k->stack_bytes);
    assert_true(k->registers * 256 <= 65536 && k->static_shared_bytes <= 49152);
    free(cubin);
    free(log);
    atoll_buffer_fini(&text);
}

static void tiles_compile_for_devices(void **state)
{
    static const char *const families[] = {"gemm_bf16", "attention"};
    static const char *const architectures[] = {"sm_80", "sm_75"};
    const char *wanted = getenv("ATOLL_TEST_TILES");
    const struct atoll_nvrtc_library *nvrtc = atoll_nvrtc_library_open(NULL);
    struct suite s;
    if (!nvrtc) {
        print_message("SKIP: no NVRTC here\n");
        skip();
        return;
    }
    suite_load(&s);
    for (size_t i = 0; i < s.count; i++) {
        int is_family = 0;
        for (size_t k = 0; k < sizeof(families) / sizeof(*families); k++)
            is_family |= strcmp(families[k], s.tasks[i]->name) == 0;
        if (wanted && strcmp(wanted, "all") == 0)
            device_compile(nvrtc, s.tasks[i], "sm_90a");
        else if (is_family)
            for (size_t k = 0; k < sizeof(architectures) / sizeof(*architectures); k++)
                device_compile(nvrtc, s.tasks[i], architectures[k]);
    }
    suite_free(&s);
}

/* ---- what is made of two answers ---- */

static struct atoll_task *matmul(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(SUITES "starter/matmul", &err);
    if (!task)
        fail_msg("%s", err.text);
    return task;
}

#define ENTRIES 3
struct area {
    uint64_t put_count, unset_count;
    struct atoll_agreement_entry entries[ENTRIES];
};

static void differences_are_told(void **state)
{
    static const struct {
        const char *text; /* "" they agree */
        struct area area;
    } rows[] = {
        {"", {2, 0, {{5, 1.0, 4.0, 1.0 + 3e-12, 4.0}, {1, -2.0, 2.0, -2.0, 2.0}}}},
        {"", {1, 0, {{0, NAN, 0, NAN, 0}}}},
        {"", {1, 0, {{0, INFINITY, 0, INFINITY, 0}}}},
        {"", {9, 0, {{0, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {2, 1, 1, 1, 1}}}}, /* more were put than noted */
        {"1 of 2 elements looked at differ; first c[0, 5]: 1 (scale 4) by reference.c, 1.000000000",
         {2, 0, {{5, 1.0, 4.0, 1.0 + 5e-12, 4.0}, {1, -2.0, 2.0, -2.0, 2.0}}}},
        {"2 of 3 elements looked at differ; first c[0, 1]:",
         {3, 0, {{5, 1, 1, 2, 1}, {1, 1, 1, 2, 1}, {7, 1, 1, 1, 1}}}},
        {"first c[0, 2]: 1 (scale 1) by reference.c, 1 (scale 1.01) by", {1, 0, {{2, 1, 1, 1, 1.01}}}},
        {"first c[0, 2]: 1 (scale 1) by reference.c, nan", {1, 0, {{2, 1, 1, (double)NAN, 1}}}},
        {"leaves 12 elements of c without a value", {1, 12, {{2, 1, 1, 1, 1}}}},
        {"puts no element of c", {0, 0, {{0}}}},
    };
    struct atoll_task *task = matmul();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[512] = "";
        int agrees = atoll_cuda_tiles_judge(&rows[i].area, sizeof(rows[i].area), task, 2, &task->variants[0],
                                            text, sizeof(text));
        assert_int_equal(agrees, !rows[i].text[0]);
        if (!strstr(text, rows[i].text))
            fail_msg("row %zu: '%s' is not in '%s'", i, rows[i].text, text);
        assert_true(agrees || strstr(text, "at variant check"));
    }
    atoll_task_destroy(task);
}

static void an_image_is_wanted(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint32_t bytes = 7;
    assert_int_equal(atoll_cuda_tiles_stack("no image", 8, &bytes, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_int_equal(bytes, 7);
}

static void units_fit_the_list(void **state)
{
    struct atoll_task *task = matmul();
    struct atoll_cuda_units units;
    const struct atoll_variant *check = &task->variants[0];
    assert_int_equal(atoll_cuda_tiles_units(task, check, 37 * 61, 1, &units, NULL), 0);
    assert_int_equal(units.count, 0); /* all */
    assert_int_equal(atoll_cuda_tiles_units(task, check, 37 * 61 * 100, 1, &units, NULL), 0);
    assert_int_equal(units.count, ATOLL_CUDA_AGREEMENT_LIMIT / 100);
    struct atoll_cuda_units other;
    assert_int_equal(atoll_cuda_tiles_units(task, check, 37 * 61 * 100, 2, &other, NULL), 0);
    assert_true(other.first != units.first && other.stride != units.stride);
    assert_int_equal(atoll_cuda_tiles_units(task, check, (uint64_t)1 << 40, 1, &units, NULL), 0);
    assert_int_equal(units.count, 1);
    atoll_task_destroy(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_told), cmocka_unit_test(units_fit_the_list),
        cmocka_unit_test(an_image_is_wanted), cmocka_unit_test(tiles_agree_on_the_host),
        cmocka_unit_test(tiles_compile_for_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
