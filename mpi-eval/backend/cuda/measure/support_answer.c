/* support_answer.c - the reference, sealed answers and comparisons, as steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/reference.h"
#include "mpi-eval/backend/cuda/compile/annotate.h"
#include "mpi-eval/backend/cuda/measure/support_launch.h"
#include "mpi-eval/referee/check.h"

#define LAUNCH(s, kernel, blocks, params)                                                                    \
    atoll_support_launch(s, ATOLL_KERNEL_##kernel, blocks, ATOLL_SUPPORT_BLOCK, 0, &(params), sizeof(params))

/* ---- sealing ---- */

static uint64_t sealed_values_bytes(uint64_t count)
{
    return (count + 1) / 2 * 16;
}

uint64_t atoll_support_sealed_bytes(uint64_t count, int has_scale)
{
    return sealed_values_bytes(count) + (has_scale ? (count + 3) / 4 * 16 : 0);
}

void atoll_support_seal(struct atoll_command_batch *s, const struct atoll_support_output *output,
                        uint64_t sealed, const struct atoll_support_key *key, uint64_t salt)
{
    struct atoll_write_archive_launch p = {
        .expected = output->expected,
        .scale = output->scale,
        .count = output->count,
        .sealed = sealed,
        .sealed_scale = output->scale ? sealed + sealed_values_bytes(output->count) : 0,
        .key = {key->words[0], key->words[1]},
        .salt = salt,
    };
    LAUNCH(s, seal, atoll_support_blocks(output->count / 2 + 1), p);
}

/* ---- comparing ---- */

void atoll_support_compare_clear(struct atoll_command_batch *s, uint64_t result)
{
    unsigned char bytes[ATOLL_SUPPORT_FINDING_BYTES] = {0};
    struct atoll_finding_area area = {.first_wrong = ~(atoll_u64)0};
    _Static_assert(sizeof area <= sizeof bytes, "a finding has room");
    memcpy(bytes, &area, sizeof area);
    atoll_command_batch_write(s, result, bytes, sizeof bytes);
}

void atoll_support_compare(struct atoll_command_batch *s, const struct atoll_task *task,
                           const struct atoll_support_output *output, uint64_t sealed,
                           const struct atoll_support_key *key, uint64_t salt, uint64_t result)
{
    static const struct atoll_support_key none = {{0, 0}};
    const struct atoll_support_key *k = key ? key : &none;
    struct atoll_compare_launch p = {
        .address = output->address,
        .count = output->count,
        .result = result,
        .expected = sealed ? sealed : output->expected,
        .scale = output->scale,
        .key = {k->words[0], k->words[1]},
        .salt = salt,
        .hash_key = atoll_mix64(k->words[0] ^ atoll_mix64(k->words[1] + salt)),
        .atol = atoll_check_has_element_bound(&task->tolerance) ? task->tolerance.atol : HUGE_VAL,
        .rtol = task->tolerance.rtol,
        .dtype = (int)task->tensors[output->tensor].dtype,
        .is_sealed = sealed != 0,
        .has_fill = output->has_fill,
        .has_sums = task->tolerance.norm > 0 || task->tolerance.cosine > 0,
    };
    if (sealed && output->scale)
        p.scale = sealed + sealed_values_bytes(output->count);
    if (output->has_fill)
        p.fill = atoll_support_fill_params(&output->fill);
    LAUNCH(s, compare, atoll_support_blocks(output->count / 2 + 1), p);
}

void atoll_support_finding_read(const void *bytes, struct atoll_support_finding *ret_finding)
{
    struct atoll_finding_area a;
    memcpy(&a, bytes, sizeof a);
    *ret_finding = (struct atoll_support_finding){
        .count = a.count,
        .wrong_count = a.wrong_count,
        .nonfinite_count = a.nonfinite_count,
        .unwritten_count = a.unwritten_count,
        .worst_index = a.worst_index,
        .first_wrong = a.first_wrong,
        .last_wrong = a.last_wrong,
        .worst_error = a.worst_error,
        .worst_expected = a.worst_expected,
        .worst_got = a.worst_got,
        .difference2 = a.difference2,
        .expected2 = a.expected2,
        .got2 = a.got2,
        .product = a.product,
        .expected_hash = a.expected_hash,
    };
}

/* ---- the reference ---- */

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
    "    long long scratch_doubles, units;\n"
    "};\n"
    "extern \"C\" __global__ void %s(const __grid_constant__ atoll_reference_launch p)\n"
    "{\n"
    "    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * "
    "blockDim.x;\n"
    "    atoll_reference_args a = {p.dims, p.inputs, p.expected, p.scale, p.scratch + thread * "
    "p.scratch_doubles};\n"
    "    for (long long unit = thread; unit < p.units; unit += step)\n"
    "        atoll_reference_range(&a, unit, unit + 1);\n"
    "}\n";

struct reference_launch {
    long long dims[ATOLL_TASK_DIM_LIMIT];
    uint64_t inputs[ATOLL_TASK_TENSOR_LIMIT], expected[ATOLL_TASK_TENSOR_LIMIT],
        scale[ATOLL_TASK_TENSOR_LIMIT];
    uint64_t scratch;
    long long scratch_doubles, units;
};

const char *atoll_support_reference_kernel(void)
{
    return "atoll_reference_kernel";
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
int atoll_support_reference_text(const struct atoll_task *task, struct atoll_buffer *out,
                                 struct atoll_err *err)
{
    struct atoll_task annotated = *task;
    char *source = atoll_reference_annotate(task->reference_source, err);
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
                        ATOLL_TASK_TENSOR_LIMIT, ATOLL_TASK_TENSOR_LIMIT, atoll_support_reference_kernel());
    return atoll_buffer_check(out, err);
}
#pragma GCC diagnostic pop

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

int atoll_support_reference(struct atoll_command_batch *s, uint32_t function, const struct atoll_task *task,
                            const struct atoll_variant *variant, const uint64_t *inputs,
                            const struct atoll_support_output *outputs, size_t output_count, uint64_t scratch,
                            uint64_t scratch_bytes, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    struct reference_launch p;
    struct geometry geometry;
    int64_t units = 0, doubles = 0;
    size_t n = atoll_task_bindings(task, variant, bindings);
    memset(&p, 0, sizeof p);
    if (atoll_expression_eval(task->units, bindings, n, &units, err) ||
        (task->scratch && atoll_expression_eval(task->scratch, bindings, n, &doubles, err)) ||
        settle_geometry((uint64_t)units, (uint64_t)doubles, scratch_bytes, &geometry, err))
        return atoll_err_add(err, "while launching the reference of task '%s'", task->name);
    for (size_t i = 0; i < task->dim_count; i++)
        p.dims[i] = variant->dims[i];
    for (size_t i = 0; i < task->tensor_count; i++)
        p.inputs[i] = inputs[i];
    for (size_t i = 0; i < output_count; i++) {
        p.expected[outputs[i].tensor] = outputs[i].expected;
        p.scale[outputs[i].tensor] = outputs[i].scale;
        atoll_command_batch_set(s, outputs[i].expected, 0xffffffffu,
                                2 * outputs[i].count); /* NaN where no unit puts one */
        if (outputs[i].scale)
            atoll_command_batch_set(s, outputs[i].scale, 0, 2 * outputs[i].count);
    }
    p.scratch = scratch;
    p.scratch_doubles = doubles;
    p.units = units;
    atoll_support_launch(s, function, geometry.blocks, geometry.block, 0, &p, sizeof p);
    return 0;
}
