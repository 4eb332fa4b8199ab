#include "mpi-eval/backend/cuda/measure/oracle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/source/source_token.h"
#include "core/task/reference.h"
#include "core/task/reference_elements.h"
#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/backend/cuda/kernels/text.h"
#include "mpi-eval/backend/cuda/measure/fingerprint.h"
#include "mpi-eval/backend/cuda/measure/support.h"
#include "mpi-eval/backend/cuda/measure/torch_answer.h"

#define UNIT_TEXT_LIMIT     ((size_t)4 << 20)
#define CANDIDATE_FUNCTIONS (ATOLL_CUDA_CANDIDATE_SLOTS * ATOLL_PLAN_LAUNCH_LIMIT)
#define MODULE_FIRST        (ATOLL_SUPPORT_MODULE_END + ATOLL_CUDA_CANDIDATE_SLOTS)
#define FUNCTION_FIRST      (ATOLL_SUPPORT_FUNCTION_END + CANDIDATE_FUNCTIONS)
#define SCRATCH_LIMIT       ((uint64_t)1 << 30)
#define THREADS_LEAST       256u
#define THREADS_PER_SM      1024u

_Static_assert(MODULE_FIRST + ATOLL_CUDA_ORACLE_SLOTS <= ATOLL_DEVICE_COMMAND_MODULE_LIMIT,
               "slots of modules");
_Static_assert(FUNCTION_FIRST + 2 * ATOLL_CUDA_ORACLE_SLOTS <= ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT,
               "slots of functions");

/* ---- its text: functions and tables of reference.c say __device__ ---- */

static const char annotation[] = "__device__ ";

/* Lines on which a declaration of file scope begins, ascending; room for one per token. */
static size_t lines_find(const struct atoll_token_list *list, uint32_t *lines)
{
    static const char *const types[] = {"struct", "union", "enum", "typedef", "__device__"};
    size_t count = 0, depth = 0;
    int begins = 1;
    for (size_t i = 0; i < list->count; i++) {
        const struct atoll_token *t = &list->tokens[i];
        if (t->directive)
            continue;
        int is_type = 0;
        for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++)
            is_type |= atoll_token_is(t, types[k]);
        if (begins && t->first && t->kind == ATOLL_TOKEN_NAME && !is_type)
            lines[count++] = t->line;
        depth += atoll_token_is(t, "{") || atoll_token_is(t, "(");
        depth -= depth > 0 && (atoll_token_is(t, "}") || atoll_token_is(t, ")"));
        begins = depth == 0 && (atoll_token_is(t, ";") || atoll_token_is(t, "}"));
    }
    return count;
}

static char *lines_annotate(const char *source, const uint32_t *lines, size_t count)
{
    char *text = malloc(strlen(source) + count * (sizeof(annotation) - 1) + 1), *to = text;
    uint32_t line = 1;
    size_t next = 0;
    if (!text)
        return NULL;
    for (const char *p = source; *p; p++) {
        if (next < count && lines[next] == line && *p != ' ' && *p != '\t') {
            memcpy(to, annotation, sizeof(annotation) - 1);
            to += sizeof(annotation) - 1;
            next++;
        }
        *to++ = *p;
        line += *p == '\n';
    }
    *to = '\0';
    return text;
}

char *atoll_cuda_reference_annotate(const char *source, struct atoll_err *err)
{
    struct atoll_token_list list;
    if (atoll_token_list_init(&list, source, err) != 0)
        return NULL;
    uint32_t *lines = calloc(list.count + 1, sizeof(*lines));
    char *text = lines ? lines_annotate(source, lines, lines_find(&list, lines)) : NULL;
    if (!text)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
    free(lines);
    atoll_token_list_fini(&list);
    return text;
}

static const char unit_head[] = "#define ATOLL_DEVICE 1\n"
                                "#define ATOLL_FN static __device__ inline __attribute__((unused))\n"
                                "#define ATOLL_EXPORT static __device__ __forceinline__\n";

static const char unit_tail[] =
    "#line 1 \"reference-kernel.cu\"\n"
    "struct atoll_reference_launch {\n"
    "    long long dims[%d];\n"
    "    const void *inputs[%d];\n"
    "    double *expected[%d];\n"
    "    double *scale[%d];\n"
    "    double *scratch;\n"
    "    long long scratch_doubles, units;\n" /* units to do */
    "    long long first, stride, total;\n"   /* stride 0: all of them */
    "    int phase;\n"
    "};\n"
    "extern \"C\" __global__ void %s(const __grid_constant__ atoll_reference_launch p)\n"
    "{\n"
    "    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * "
    "blockDim.x;\n"
    "    atoll_reference_args a = {p.dims, p.inputs, p.expected, p.scale, p.scratch + thread * "
    "p.scratch_doubles};\n"
    "    for (long long i = thread; i < p.units; i += step) {\n"
    "        long long unit = p.stride ? (p.first + i * p.stride) %% p.total : i;\n"
    "        atoll_reference_range(&a, unit, unit + 1);\n"
    "    }\n"
    "}\n";

/* Blocks of 256 threads take blocks of the reference in turn: how many there are, the device alone knows. */
#define TILED_THREADS 256
#define TILED_SPREAD                                                                                         \
    8 /* blocks for each multiprocessor; a reference by tiles keeps one or two of them busy, rows all */
static const char tiled_tail[] =
    "#line 1 \"reference-tiled.cu\"\n"
    "#ifndef ATOLL_RESIDENT\n#define ATOLL_RESIDENT 2\n#endif\n"
    "extern \"C\" __global__ void __launch_bounds__(ATOLL_TILE_THREADS, ATOLL_RESIDENT)\n"
    "    " ATOLL_CUDA_TILED_KERNEL "(const __grid_constant__ atoll_reference_launch p)\n"
    "{\n"
    "    atoll_reference_args a = {p.dims, p.inputs, p.expected, p.scale, 0};\n"
    "    const long blocks = atoll_tiled::reference_blocks(&a, p.phase);\n"
    "    for (long block = blockIdx.x; block < blocks; block += gridDim.x) {\n"
    "        __syncthreads();\n"
    "        atoll_tiled::reference_block(&a, p.phase, block);\n"
    "    }\n"
    "}\n";

struct reference_launch {
    long long dims[ATOLL_TASK_DIM_LIMIT];
    uint64_t inputs[ATOLL_TASK_TENSOR_LIMIT], expected[ATOLL_TASK_TENSOR_LIMIT],
        scale[ATOLL_TASK_TENSOR_LIMIT];
    uint64_t scratch;
    long long scratch_doubles, units, first, stride, total;
    int phase;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static int reference_text(const struct atoll_task *task, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_task annotated = *task;
    if (atoll_task_needs_c(task, "the device compiles a reference.c", err))
        return -1;
    char *source = atoll_cuda_reference_annotate(task->reference_source, err);
    if (!source)
        return -1;
    annotated.reference_source = source;
    atoll_buffer_put_bytes(out, unit_head, strlen(unit_head));
    int failed = atoll_reference_translation_unit(&annotated, out, err);
    free(source);
    if (failed)
        return -1;
    atoll_buffer_put_bytes(out, "\n", 1);
    atoll_buffer_printf(out, unit_tail, ATOLL_TASK_DIM_LIMIT, ATOLL_TASK_TENSOR_LIMIT,
                        ATOLL_TASK_TENSOR_LIMIT, ATOLL_TASK_TENSOR_LIMIT, ATOLL_CUDA_REFERENCE_KERNEL);
    if (task->device_source) {
        if (atoll_reference_device_unit(task, atoll_device_tiles_text, out, err) != 0)
            return -1;
        atoll_buffer_put_bytes(out, tiled_tail, strlen(tiled_tail));
    }
    return atoll_buffer_check(out, err);
}
#pragma GCC diagnostic pop

/* ---- the compiled reference ---- */

int atoll_cuda_case_unit(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                         struct atoll_err *err)
{
    *ret_name = "reference.cu";
    return reference_text(task, out, err) != 0 || atoll_buffer_check(out, err) != 0 ? -1 : 0;
}

static int cubin_compile(struct atoll_referee *referee, const struct atoll_task *task,
                         struct atoll_cuda_cubin_bytes *ret_cubin, struct atoll_err *err)
{
    const char *name;
    struct atoll_buffer text;
    atoll_buffer_init(&text, UNIT_TEXT_LIMIT);
    int rc = atoll_cuda_case_unit(task, &name, &text, err);
    if (rc == 0)
        rc = atoll_cuda_compile(atoll_cuda_device_of(referee), name, (const char *)text.data, text.length,
                                ret_cubin, err);
    atoll_buffer_fini(&text);
    return rc;
}

int atoll_cuda_case_open(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err)
{
    static const char *const kernel = ATOLL_CUDA_REFERENCE_KERNEL;
    struct atoll_cuda_oracle *o = calloc(1, sizeof(*o));
    if (!o)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
    int failed = 0;
    if (known->task->torch) {
        known->oracle = o;
        failed = atoll_cuda_torch_expect(referee, known, err);
    } else if (!referee->reference) {
        failed = cubin_compile(referee, known->task, &o->cubin, err);
    } else if ((o->cubin.bytes = malloc(referee->reference_length + 1))) {
        memcpy(o->cubin.bytes, referee->reference, referee->reference_length);
        o->cubin.length = referee->reference_length;
    } else {
        failed = atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
    }
    if (!failed && o->cubin.length)
        failed = atoll_cubin_stack(o->cubin.bytes, o->cubin.length, &kernel, 1, &o->stack_bytes, err);
    if (failed) {
        known->oracle = NULL;
        free(o->cubin.bytes);
        free(o);
        return -1;
    }
    known->oracle = o;
    return 0;
}

void atoll_cuda_case_close(struct atoll_referee *referee, struct atoll_case *known)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_cuda_oracle *o = known->oracle;
    if (!o)
        return;
    if (d) {
        for (size_t i = 0; i < ATOLL_CUDA_ORACLE_SLOTS; i++)
            if (d->oracles[i] == o)
                d->oracles[i] = NULL;
        atoll_expected_store_forget(d->expected_store, known->number);
    }
    free(o->cubin.bytes);
    free(o);
    known->oracle = NULL;
}

/* A free slot, else that of the reference that was not asked for longest. */
static uint32_t slot_take(struct atoll_cuda_device *d, struct atoll_cuda_oracle *o)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < ATOLL_CUDA_ORACLE_SLOTS; i++) {
        const struct atoll_cuda_oracle *here = d->oracles[i], *there = d->oracles[best];
        if (!here || (there && here->stamp < there->stamp))
            best = i;
        if (!here)
            break;
    }
    struct atoll_cuda_oracle *old = d->oracles[best];
    if (old)
        old->generation = 0;
    d->oracles[best] = o;
    return best;
}

int atoll_cuda_oracle_load(struct atoll_cuda_device *d, struct atoll_case *known, struct atoll_err *err)
{
    struct atoll_cuda_oracle *o = known->oracle;
    o->stamp = ++d->clock;
    if (o->generation == d->generation || known->task->torch)
        return 0;
    o->slot = slot_take(d, o);
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_module_load(&d->batch, MODULE_FIRST + o->slot, o->cubin.bytes, o->cubin.length);
    atoll_command_batch_function(&d->batch, atoll_cuda_oracle_function(o), MODULE_FIRST + o->slot,
                                 ATOLL_CUDA_REFERENCE_KERNEL);
    if (known->task->device_source)
        atoll_command_batch_function(&d->batch, atoll_cuda_oracle_tiled_function(o), MODULE_FIRST + o->slot,
                                     ATOLL_CUDA_TILED_KERNEL);
    int rc = atoll_cuda_device_run_own(d, "reference", err);
    if (rc == 0)
        o->generation = d->generation;
    return rc;
}

uint32_t atoll_cuda_oracle_function(const struct atoll_cuda_oracle *o)
{
    return FUNCTION_FIRST + 2 * o->slot;
}

uint32_t atoll_cuda_oracle_tiled_function(const struct atoll_cuda_oracle *o)
{
    return FUNCTION_FIRST + 2 * o->slot + 1;
}

/* ---- the plain area ---- */

static uint64_t take(uint64_t *at, uint64_t bytes)
{
    uint64_t here = *at;
    *at += (bytes + ATOLL_LAYOUT_ALIGN - 1) / ATOLL_LAYOUT_ALIGN * ATOLL_LAYOUT_ALIGN;
    return here;
}

static int scratch_plan(const struct atoll_task *task, const struct atoll_variant *variant,
                        uint32_t multiprocessors, struct atoll_cuda_plain *plain, uint64_t *at,
                        struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t count = atoll_task_bindings(task, variant, bindings);
    int64_t units = 1, doubles = 0;
    if (!task->scratch)
        return 0;
    if (atoll_expression_eval(task->units, bindings, count, &units, err) != 0 ||
        atoll_expression_eval(task->scratch, bindings, count, &doubles, err) != 0)
        return -1;
    if (units < 1 || doubles < 0 || doubles > (int64_t)(SCRATCH_LIMIT / 8))
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "reference: %lld units with %lld doubles of scratch at variant %s",
                             (long long)units, (long long)doubles, variant->name);
    uint64_t each = (uint64_t)doubles * 8, threads = (uint64_t)multiprocessors * THREADS_PER_SM;
    if (threads > (uint64_t)units)
        threads = (uint64_t)units;
    if (each && threads > SCRATCH_LIMIT / each)
        threads = SCRATCH_LIMIT / each > THREADS_LEAST ? SCRATCH_LIMIT / each : THREADS_LEAST;
    if (threads > (uint64_t)units)
        threads = (uint64_t)units;
    plain->scratch_bytes = each * threads;
    plain->scratch = take(at, plain->scratch_bytes);
    return 0;
}

int atoll_cuda_plain_plan(const struct atoll_task *task, const struct atoll_variant *variant,
                          uint32_t multiprocessors, uint64_t base, struct atoll_cuda_plain *ret_plain,
                          struct atoll_err *err)
{
    struct atoll_cuda_plain p = {0};
    uint64_t at = base;
    for (size_t i = 0; i < task->tensor_count; i++) {
        size_t elements;
        int has_scale = atoll_cuda_is_output(task, i) && atoll_reference_has_scale(task, i);
        if (atoll_task_element_count(task, i, variant, &elements, err) != 0)
            return -1;
        p.counts[i] = elements;
        if (!atoll_cuda_is_output(task, i))
            continue;
        p.expected[i] = take(&at, (uint64_t)elements * 8);
        if (has_scale)
            p.scale[i] = take(&at, (uint64_t)elements * 8);
        if (task->tensors[i].role == ATOLL_ROLE_INOUT)
            p.spare[i] = take(&at, (uint64_t)elements * atoll_dtype_bytes(task->tensors[i].dtype));
        p.sealed_offset[i] = take(&p.sealed_bytes, atoll_support_sealed_bytes(elements, has_scale));
        p.print_offset[i] = take(&p.print_bytes, atoll_cuda_fingerprint_bytes(elements));
    }
    if (scratch_plan(task, variant, multiprocessors, &p, &at, err) != 0)
        return -1;
    p.need = at - base;
    *ret_plain = p;
    return 0;
}

/* ---- a run of it ---- */

#define REFERENCE_BLOCK   64
#define REFERENCE_SPREAD  2048 /* blocks that keep every multiprocessor busy before blocks get larger */
#define REFERENCE_THREADS ((uint64_t)1 << 22)

struct geometry {
    uint32_t block;
    uint64_t blocks;
};

/* One thread per unit as long as scratch and grid allow; few units are spread over many small blocks. */
static int settle_geometry(uint64_t units, uint64_t scratch_doubles, uint64_t scratch_bytes,
                           struct geometry *ret, struct atoll_err *err)
{
    uint64_t threads = units < REFERENCE_THREADS ? units : REFERENCE_THREADS;
    uint64_t room = scratch_doubles ? scratch_bytes / 8 / scratch_doubles : threads;
    uint32_t block = 1;
    if (room == 0)
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "the reference needs %llu bytes of scratch per unit, there are %llu for all of them",
            (unsigned long long)scratch_doubles * 8, (unsigned long long)scratch_bytes);
    if (threads > room)
        threads = room;
    while (block < REFERENCE_BLOCK && (uint64_t)block * REFERENCE_SPREAD < threads)
        block *= 2;
    uint64_t blocks = threads / block;
    if (!scratch_doubles && blocks * block < threads)
        blocks++;
    ret->block = block;
    ret->blocks = blocks;
    return 0;
}

/* What both references are given; and their outputs, as they are before a run: NaN where no unit puts one, no scale where none says
 * one.  units: how many run, each once; what each of them is known to put is not written twice.  0: nothing is known. */
static void launch_fill(struct reference_launch *p, struct atoll_command_batch *batch,
                        const struct atoll_task *task, const struct atoll_variant *variant,
                        const uint64_t *inputs, const struct atoll_support_output *outputs,
                        size_t output_count, uint64_t units)
{
    memset(p, 0, sizeof(*p));
    for (size_t i = 0; i < task->dim_count; i++)
        p->dims[i] = variant->dims[i];
    for (size_t i = 0; i < task->tensor_count; i++)
        p->inputs[i] = inputs[i];
    for (size_t i = 0; i < output_count; i++) {
        int is_each = units == outputs[i].count;
        p->expected[outputs[i].tensor] = outputs[i].expected;
        p->scale[outputs[i].tensor] = outputs[i].scale;
        if (!is_each || !atoll_reference_puts_each(task, outputs[i].tensor, 0))
            atoll_command_batch_set(batch, outputs[i].expected, 0xffffffffu, 2 * outputs[i].count);
        if (outputs[i].scale && (!is_each || !atoll_reference_puts_each(task, outputs[i].tensor, 1)))
            atoll_command_batch_set(batch, outputs[i].scale, 0, 2 * outputs[i].count);
    }
}

int atoll_cuda_reference_run(struct atoll_command_batch *batch, uint32_t function,
                             const struct atoll_task *task, const struct atoll_variant *variant,
                             const uint64_t *inputs, const struct atoll_support_output *outputs,
                             size_t output_count, const struct atoll_cuda_units *some, uint64_t scratch,
                             uint64_t scratch_bytes, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    struct reference_launch p;
    struct geometry geometry;
    int64_t units = 0, doubles = 0;
    size_t n = atoll_task_bindings(task, variant, bindings);
    if (atoll_expression_eval(task->units, bindings, n, &units, err) ||
        (task->scratch && atoll_expression_eval(task->scratch, bindings, n, &doubles, err)))
        return atoll_err_add(err, "while launching the reference of task '%s'", task->name);
    int is_part = some && some->count > 0 && some->count < (uint64_t)units;
    uint64_t count = is_part ? some->count : (uint64_t)units;
    if (settle_geometry(count, (uint64_t)doubles, scratch_bytes, &geometry, err))
        return atoll_err_add(err, "while launching the reference of task '%s'", task->name);
    launch_fill(&p, batch, task, variant, inputs, outputs, output_count, is_part ? 0 : count);
    p.scratch = scratch;
    p.scratch_doubles = doubles;
    p.units = (long long)count;
    p.total = units;
    if (is_part) {
        p.first = (long long)(some->first % (uint64_t)units);
        p.stride = 1 + (long long)(some->stride % (uint64_t)units);
    }
    atoll_support_launch(batch, function, geometry.blocks, geometry.block, 0, &p, sizeof(p));
    return 0;
}

void atoll_cuda_tiled_run(struct atoll_command_batch *batch, uint32_t function, const struct atoll_task *task,
                          const struct atoll_variant *variant, const uint64_t *inputs,
                          const struct atoll_support_output *outputs, size_t output_count,
                          uint32_t multiprocessors)
{
    struct reference_launch p;
    launch_fill(&p, batch, task, variant, inputs, outputs, output_count, 0);
    for (p.phase = 0; p.phase < ATOLL_REFERENCE_PHASES; p.phase++)
        atoll_support_launch(batch, function, (uint64_t)multiprocessors * TILED_SPREAD, TILED_THREADS, 0, &p,
                             sizeof(p));
}
