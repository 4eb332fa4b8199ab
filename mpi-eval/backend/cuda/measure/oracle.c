#include "mpi-eval/backend/cuda/measure/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "core/task/reference.h"

#define UNIT_TEXT_LIMIT   ((size_t)4 << 20)
#define SUBJECT_FUNCTIONS (ATOLL_CUDA_SUBJECT_SLOTS * ATOLL_PLAN_LAUNCH_LIMIT)
#define MODULE_FIRST      (ATOLL_SUPPORT_MODULE_END + ATOLL_CUDA_SUBJECT_SLOTS)
#define FUNCTION_FIRST    (ATOLL_SUPPORT_FUNCTION_END + SUBJECT_FUNCTIONS)
#define SCRATCH_LIMIT     ((uint64_t)1 << 30)
#define THREADS_LEAST     256u
#define THREADS_PER_SM    1024u

_Static_assert(MODULE_FIRST + ATOLL_CUDA_ORACLE_SLOTS <= ATOLL_DEVICE_COMMAND_MODULE_LIMIT,
               "slots of modules");
_Static_assert(FUNCTION_FIRST + ATOLL_CUDA_ORACLE_SLOTS <= ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT,
               "slots of functions");

int atoll_cuda_is_output(const struct atoll_task *task, size_t tensor)
{
    return task->tensors[tensor].role == ATOLL_ROLE_OUT || task->tensors[tensor].role == ATOLL_ROLE_INOUT;
}

int atoll_cuda_case_unit(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                         struct atoll_err *err)
{
    *ret_name = "reference.cu";
    return atoll_support_reference_text(task, out, err) != 0 || atoll_buffer_check(out, err) != 0 ? -1 : 0;
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

static int cubin_copy(const struct atoll_referee *referee, struct atoll_cuda_cubin_bytes *ret_cubin,
                      struct atoll_err *err)
{
    void *bytes = malloc(referee->reference_length + 1);
    if (!bytes)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
    memcpy(bytes, referee->reference, referee->reference_length);
    ret_cubin->bytes = bytes;
    ret_cubin->length = referee->reference_length;
    return 0;
}

int atoll_cuda_case_open(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err)
{
    struct atoll_cuda_oracle *o = calloc(1, sizeof *o);
    if (!o)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
    int failed = referee->reference ? cubin_copy(referee, &o->cubin, err)
                                    : cubin_compile(referee, known->task, &o->cubin, err);
    if (failed) {
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
        atoll_answer_forget(d->answers, known->number);
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
    if (o->generation == d->generation)
        return 0;
    o->slot = slot_take(d, o);
    atoll_command_batch_clear(&d->steps);
    atoll_command_batch_module_load(&d->steps, MODULE_FIRST + o->slot, o->cubin.bytes, o->cubin.length);
    atoll_command_batch_function(&d->steps, FUNCTION_FIRST + o->slot, MODULE_FIRST + o->slot,
                                 atoll_support_reference_kernel());
    int rc = atoll_cuda_device_run_own(d, "reference", err);
    if (rc == 0)
        o->generation = d->generation;
    return rc;
}

uint32_t atoll_cuda_oracle_function(const struct atoll_cuda_oracle *o)
{
    return FUNCTION_FIRST + o->slot;
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
    }
    if (scratch_plan(task, variant, multiprocessors, &p, &at, err) != 0)
        return -1;
    p.need = at - base;
    *ret_plain = p;
    return 0;
}
