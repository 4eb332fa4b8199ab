/* The cuda backend's table: one GPU, compile children with NVRTC, a device process that carries out batches. */
#include "mpi-eval/backend/cuda/measure/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/message.h"
#include "core/plan/plan.h"
#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/measure/clearing.h"
#include "mpi-eval/backend/cuda/measure/describe.h"
#include "mpi-eval/backend/cuda/measure/keeping.h"
#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/measure/tiles.h"
#include "mpi-eval/backend/cuda/measure/torch_answer.h"
#include "mpi-eval/backend/cuda/measure/torch_inputs.h"
#include "mpi-eval/backend/cuda/measure/window.h"
#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"
#include "mpi-eval/backend/cuda/triton/request.h"
#include "mpi-eval/backend/cuda/triton/triton.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/room.h"
#include "mpi-eval/torch/torch_rival.h"

#define OBJECT_BYTES  ((uint64_t)64 << 20)
#define SCRATCH_LIMIT ((int64_t)1 << 40) /* the device's memory decides */
#define PIECE_BYTES   ((uint64_t)64 << 20)
#define KINDS         (ATOLL_PLAN_KIND(ATOLL_VARIANT_CHECK) | ATOLL_PLAN_KIND(ATOLL_VARIANT_BENCH))

/* ---- levels 1 and 2: the limits are core's (plan_limits.h), the rest is what every backend does ---- */

static int is_first(const struct atoll_plan *plan, size_t launch)
{
    for (size_t k = 0; k < plan->path_count; k++)
        if (plan->paths[k].first == launch)
            return 1;
    return 0;
}

/* The limits of all variants at once, with the first launch of each; then what packing the launch would find. */
static int launch_check(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch,
                        const struct atoll_device_info *device, struct atoll_err *err)
{
    struct atoll_device_command_launch made;
    char field[ATOLL_PLAN_FIELD_BYTES];
    if (is_first(p->plan, launch) && atoll_plan_limits_check(p->task, p->plan, &p->choice, KINDS,
                                                             device ? &device->limits : NULL, err) != 0)
        return -1;
    if (atoll_cuda_launch_make(p, v, launch, NULL, &made, err) != 0)
        return atoll_err_add(err, "in field '%s'", atoll_plan_launch_field(p->plan, launch, field));
    return 0;
}

static void kernel_name(const struct atoll_prepared *p, size_t launch, char *ret_name, size_t name_bytes)
{
    snprintf(ret_name, name_bytes, "%s", p->plan->launches[launch].symbol);
}

static int backend_prepare(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                           const struct atoll_device_info *device, struct atoll_err *err)
{
    static const struct atoll_prepare_parts parts = {.backend = &atoll_backend_cuda,
                                                     .launch_check = launch_check,
                                                     .other_unit = atoll_triton_request_write,
                                                     .symbol = kernel_name,
                                                     .scratch_limit_bytes = SCRATCH_LIMIT};
    return atoll_prepare(p, candidate, device, &parts, err);
}

/* ---- outputs that no candidate made, for the admission battery: a stage without a candidate, with tensors and no scratch,
 * no image, no launch ---- */

struct bare {
    struct atoll_plan plan;
    struct atoll_prepared prepared;
    struct atoll_loaded_candidate candidate;
    struct atoll_cuda_stage stage;
    struct atoll_cuda_sample_results results;
    const struct atoll_torch_window *shown; /* outputs that a torch process has on the device; NULL none */
    int was_asked, is_shut;                 /* for them; and they cannot be had there */
    struct atoll_cuda_units units;          /* of reference.c, for an agreement */
};

static struct bare *bare_create(struct atoll_referee *referee, struct atoll_case *known,
                                const struct atoll_input_set *input_set, struct atoll_err *err)
{
    struct bare *b = calloc(1, sizeof(*b));
    if (!b) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to examine outputs");
        return NULL;
    }
    b->prepared = (struct atoll_prepared){.task = known->task, .plan = &b->plan};
    b->candidate = (struct atoll_loaded_candidate){.prepared = &b->prepared};
    b->stage = (struct atoll_cuda_stage){.referee = referee,
                                         .device = atoll_cuda_device_of(referee),
                                         .known = known,
                                         .candidate = &b->candidate,
                                         .input_set = input_set,
                                         .placement = atoll_referee_placement(referee)};
    return b;
}

/* Outputs into their places, device to device. */
static int outputs_take(struct bare *b, struct atoll_err *err)
{
    uint64_t addresses[ATOLL_TASK_TENSOR_LIMIT] = {0};
    b->is_shut = !atoll_cuda_window_is_open(b->stage.device, b->shown); /* since it was tried */
    for (size_t i = 0; i < b->prepared.task->tensor_count; i++) {
        const struct atoll_span *place = &b->stage.sample.layout.buffers[i];
        addresses[i] = place->address;
        if (b->shown->sizes[i] > place->bytes)
            return atoll_err_set(err, ATOLL_E_INTERNAL, "an output of %llu bytes for a place of %llu",
                                 (unsigned long long)b->shown->sizes[i], (unsigned long long)place->bytes);
    }
    b->was_asked |= !b->is_shut;
    int rc = b->is_shut ? ATOLL_CUDA_WINDOW_SHUT
                        : atoll_cuda_window_take(b->stage.device, b->shown, addresses, err);
    b->is_shut = rc == ATOLL_CUDA_WINDOW_SHUT;
    return b->is_shut ? -1 : rc;
}

/* Outputs into their places, in pieces that a batch holds. */
static int outputs_write(struct bare *b, const void *const *data, struct atoll_err *err)
{
    static const void *const nothing[ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_cuda_device *d = b->stage.device;
    const struct atoll_cuda_sample *sample = &b->stage.sample;
    atoll_command_batch_clear(&d->batch);
    if (atoll_cuda_sample_put(&b->stage.sample, &d->batch, nothing, err) != 0)
        return -1;
    int rc = atoll_cuda_device_run_own(d, "placing outputs", err);
    if (rc == 0 && b->shown)
        return outputs_take(b, err);
    for (size_t i = 0; rc == 0 && i < b->prepared.task->tensor_count; i++) {
        uint64_t bytes = data && data[i] ? sample->layout.buffers[i].bytes : 0, n;
        if (!atoll_cuda_is_output(b->prepared.task, i))
            continue;
        for (uint64_t at = 0; rc == 0 && at < bytes; at += n) {
            n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
            atoll_command_batch_clear(&d->batch);
            atoll_command_batch_write(&d->batch, sample->layout.buffers[i].address + at,
                                      (const unsigned char *)data[i] + at, (size_t)n);
            rc = atoll_cuda_device_run_own(d, "placing outputs", err);
        }
    }
    return rc;
}

/* Composes a batch on a stage that is set; runs it.  A lost process starts it again. */
typedef int bare_compose(struct bare *b, size_t tensor, struct atoll_command_batch *batch,
                         struct atoll_err *err);

static int bare_run(struct bare *b, bare_compose *compose, const void *const *data, size_t tensor,
                    struct atoll_err *err)
{
    struct atoll_cuda_device *d = b->stage.device;
    int rc = 1;
    for (int i = 0; rc > 0 && i < ATOLL_CUDA_LOST_LIMIT; i++) {
        rc = atoll_cuda_stage_set(&b->stage, err);
        if (rc == 0 && (data || b->shown))
            rc = outputs_write(b, data, err);
        if (rc == 0)
            rc = atoll_cuda_torch_answer(&b->stage, err);
        atoll_command_batch_clear(&d->batch);
        if (rc == 0)
            rc = compose(b, tensor, &d->batch, err);
        if (rc == 0)
            rc = atoll_cuda_device_run_own(d, "examining outputs", err);
    }
    if (rc < 0) /* plain values may stand somewhere */
        atoll_cuda_device_drop(d);
    return rc > 0 ? atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost %d times",
                                  ATOLL_CUDA_LOST_LIMIT)
                  : rc;
}

/* ---- the check ---- */

static int check_compose(struct bare *b, size_t tensor, struct atoll_command_batch *batch,
                         struct atoll_err *err)
{
    (void)tensor;
    return atoll_cuda_sample_check(&b->stage.sample, batch, NULL, NULL, err);
}

/* Of outputs that were put there: 1, 0, -1. */
static int outputs_judge(struct bare *b, const void *const *data, double *ret_worst, char *ret_detail,
                         struct atoll_err *err)
{
    const struct atoll_task *task = b->prepared.task;
    double worst = 0;
    int right = 1;
    if (atoll_cuda_sample_read(&b->stage.sample, &b->stage.device->reply, &b->results, err) != 0)
        return -1;
    for (size_t i = 0; right == 1 && i < task->tensor_count; i++)
        if (atoll_cuda_is_output(task, i)) {
            struct atoll_support_finding *f = &b->results.findings[i];
            if (!data || data[i]) /* equal to the fill by chance: all of it was put there */
                f->unwritten_count = 0;
            worst = fmax(worst, f->worst_error);
            right = atoll_support_finding_judge(f, task, i, b->stage.variant, ret_detail, ATOLL_DETAIL_BYTES);
        }
    if (ret_worst)
        *ret_worst = worst;
    return right;
}

static int backend_examine(struct atoll_referee *referee, struct atoll_case *known,
                           const struct atoll_input_set *input_set, const void *const *data,
                           double *ret_worst, char *ret_detail, struct atoll_err *err)
{
    struct bare *b = bare_create(referee, known, input_set, err);
    int right = b && bare_run(b, check_compose, data, 0, err) == 0
                    ? outputs_judge(b, data, ret_worst, ret_detail, err)
                    : -1;
    free(b);
    return right;
}

static int backend_examine_shown(struct atoll_referee *referee, struct atoll_case *known,
                                 const struct atoll_input_set *input_set,
                                 const struct atoll_torch_window *outputs, double *ret_worst,
                                 char *ret_detail, struct atoll_err *err)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!atoll_cuda_window_is_open(d, outputs))
        return 2;
    struct bare *b = bare_create(referee, known, input_set, err);
    if (!b)
        return -1;
    b->shown = outputs;
    int right = bare_run(b, check_compose, NULL, 0, &why) == 0
                    ? outputs_judge(b, NULL, ret_worst, ret_detail, &why)
                : b->is_shut || !b->was_asked ? 2 /* also where there is no room for ours beside theirs */
                                              : -1;
    if (right < 0 && why.code == ATOLL_E_MISSING)
        atoll_cuda_window_shut(d, why.text);
    if (right < 0)
        atoll_err_set(err, why.code, "%s", why.text);
    free(b);
    return right;
}

/* ---- what the reference says ---- */

static int expect_compose(struct bare *b, size_t tensor, struct atoll_command_batch *batch,
                          struct atoll_err *err)
{
    static const void *const nothing[ATOLL_TASK_TENSOR_LIMIT];
    if (atoll_cuda_sample_put(&b->stage.sample, batch, nothing, err) != 0)
        return -1;
    return atoll_cuda_sample_evidence(&b->stage.sample, batch, tensor, err);
}

static double *values_take(struct bare *b, size_t tensor, struct atoll_err *err)
{
    struct atoll_command_batch_reply *reply = &b->stage.device->reply;
    size_t length = 0;
    atoll_command_batch_take_bytes(reply, &length); /* the output itself */
    const void *from = atoll_command_batch_take_bytes(reply, &length);
    double *values = malloc(length + 1);
    if (!values || length != b->stage.sample.plain.counts[tensor] * sizeof(*values)) {
        free(values);
        atoll_err_set(err, ATOLL_E_PROTOCOL, "expected values of %s: %zu bytes",
                      b->stage.known->task->tensors[tensor].name, length);
        return NULL;
    }
    memcpy(values, from, length);
    return values;
}

static int backend_expect(struct atoll_referee *referee, struct atoll_case *known,
                          const struct atoll_reference_question *question,
                          struct atoll_reference_values *ret_values, struct atoll_err *err)
{
    struct atoll_reference_values values = {.counts = {0}};
    if (question->changed_tensor >= 0 || question->threads)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "the cuda backend answers plain questions only");
    struct bare *b = bare_create(referee, known, question->input_set, err);
    int rc = b ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < known->task->tensor_count; i++) {
        if (!atoll_cuda_is_output(known->task, i))
            continue;
        rc = bare_run(b, expect_compose, NULL, i, err);
        if (rc == 0 && !(values.values[i] = values_take(b, i, err)))
            rc = -1;
        values.counts[i] = b->stage.sample.plain.counts[i];
    }
    for (size_t i = 0; rc != 0 && i < ATOLL_TASK_TENSOR_LIMIT; i++)
        free(values.values[i]);
    if (rc == 0)
        *ret_values = values;
    free(b);
    return rc;
}

/* ---- reference.cu against reference.c ---- */

#define SERIES ((uint64_t)1 << 62) /* of admissions */

static int agreement_compose(struct bare *b, size_t tensor, struct atoll_command_batch *batch,
                             struct atoll_err *err)
{
    return atoll_cuda_sample_agreement(&b->stage.sample, batch, tensor, &b->units, err);
}

/* One output at one variant: 1 they agree; 0 with the reason in ret_text. */
static int output_agrees(struct bare *b, size_t tensor, char *ret_text, size_t text_bytes)
{
    const struct atoll_task *task = b->stage.known->task;
    const struct atoll_variant *v = &task->variants[b->stage.input_set->variant];
    struct atoll_command_batch_reply *reply = &b->stage.device->reply;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t elements, length = 0;
    if (atoll_task_element_count(task, tensor, v, &elements, &err) != 0 ||
        atoll_cuda_tiles_units(task, v, elements, atoll_referee_placement(b->stage.referee), &b->units,
                               &err) != 0 ||
        bare_run(b, agreement_compose, NULL, tensor, &err) != 0) {
        snprintf(ret_text, text_bytes, "at variant %s: %s", v->name, err.text);
        return 0;
    }
    const void *bytes = atoll_command_batch_take_bytes(reply, &length);
    return atoll_cuda_tiles_judge(bytes, length, task, tensor, v, ret_text, text_bytes);
}

static int variant_agrees(struct atoll_referee *referee, struct atoll_case *known, uint32_t variant,
                          char *ret_text, size_t text_bytes)
{
    const struct atoll_input_set input_set =
        atoll_input_set_make(referee->setup.secret, known->task, variant, SERIES, variant);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct bare *b = bare_create(referee, known, &input_set, &err);
    int agrees = b != NULL;
    if (!b)
        snprintf(ret_text, text_bytes, "%s", err.text);
    for (size_t i = 0; agrees && i < known->task->tensor_count; i++)
        if (atoll_cuda_is_output(known->task, i))
            agrees = output_agrees(b, i, ret_text, text_bytes);
    free(b);
    return agrees;
}

/* All variants that are measured here; 0 with the reason in ret_text. */
static int variants_agree(struct atoll_referee *referee, struct atoll_case *known, unsigned char *ret_agrees,
                          char *ret_text, size_t text_bytes)
{
    for (uint32_t i = 0; i < known->task->variant_count; i++) {
        const struct atoll_variant *v = &known->task->variants[i];
        if (v->kind == ATOLL_VARIANT_HIDDEN || !atoll_variant_is_here(referee->backend, v))
            continue;
        ret_agrees[i] = variant_agrees(referee, known, i, ret_text, text_bytes) != 0;
        if (!ret_agrees[i])
            return 0;
    }
    return 1;
}

/* reference.cu answers where it was seen to agree, or nowhere. */
static void tiles_prove(struct atoll_referee *referee, struct atoll_case *known)
{
    struct atoll_cuda_oracle *o = known->oracle;
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned char agrees[ATOLL_TASK_VARIANT_LIMIT] = {0};
    if (atoll_cuda_tiles_stack(o->cubin.bytes, o->cubin.length, &o->tiled_stack_bytes, &err) != 0)
        snprintf(o->refusal, sizeof(o->refusal), "%.500s", err.text);
    else if (variants_agree(referee, known, agrees, o->refusal, sizeof(o->refusal)))
        memcpy(o->is_tiled, agrees, sizeof(agrees));
    if (o->refusal[0])
        atoll_log(ATOLL_LOG_WARNING, "eval.reference.tiles",
                  "task '%s': reference.c answers, reference.cu does not: %s", known->task->name, o->refusal);
}

/* What is kept of its draws wants room.  A variant whose plan is not known says so when it is used. */
static void demand_tell(struct atoll_referee *referee, const struct atoll_case *known)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    uint64_t bytes = 0;
    for (size_t v = 0; v < known->task->variant_count; v++) {
        const struct atoll_variant *variant = &known->task->variants[v];
        struct atoll_cuda_plain plain;
        int is_bench = variant->kind == ATOLL_VARIANT_BENCH;
        if ((!is_bench && variant->kind != ATOLL_VARIANT_CHECK) ||
            !atoll_variant_is_here(referee->backend, variant) ||
            atoll_cuda_plain_plan(known->task, variant, d->facts.limits.multiprocessors, 0, &plain, NULL) !=
                0)
            continue;
        struct atoll_keeping keeping = {.tolerance = &known->task->tolerance,
                                        .kind = variant->kind,
                                        .bytes = plain.sealed_bytes,
                                        .pool_size =
                                            is_bench ? ATOLL_INPUT_SET_POOL_MIN : ATOLL_INPUT_SET_CHECK_POOL,
                                        .full_compares = referee->setup.full_compares};
        uint64_t most = atoll_cuda_device_sealed_most(d);
        bytes += atoll_keeping_demand(&keeping, plain.print_bytes, most);
        if (atoll_keeping_demand(&keeping, 0, most))
            atoll_cuda_device_expect_fresh(d, plain.sealed_bytes);
    }
    atoll_cuda_device_expect(d, bytes);
}

static int case_open(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err)
{
    if (atoll_cuda_case_open(referee, known, err) != 0)
        return -1;
    demand_tell(referee, known);
    if (known->task->device_source && !referee->setup.backend_null)
        tiles_prove(referee, known);
    return 0;
}

/* Of all memory of the device, whoever has some of it now: what does not fit there never will. */
static int variant_fits(struct atoll_referee *referee, const struct atoll_task *task,
                        const struct atoll_variant *v, struct atoll_err *err)
{
    const struct atoll_device_limits *l = &referee->info.limits;
    struct atoll_plan bare = {0};
    struct atoll_prepared prepared = {.task = task, .plan = &bare};
    struct atoll_cuda_plain plain;
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count;
    if (atoll_cuda_buffer_bytes(&prepared, v, bytes, &count, err) != 0 ||
        atoll_cuda_plain_plan(task, v, l->multiprocessors, 0, &plain, err) != 0)
        return -1;
    struct atoll_room room = {(double)atoll_layout_need(bytes, count, 0) + (double)plain.need,
                              l->memory_bytes, "tensors and expected values"};
    return atoll_room_check(&room, task, v, 0, err);
}

static const char *device_reference(const struct atoll_case *known)
{
    const struct atoll_cuda_oracle *o = known->oracle;
    return known->task->device_source ? o->refusal : NULL;
}

static int is_tiled(const struct atoll_case *known, uint32_t variant)
{
    const struct atoll_cuda_oracle *o = known->oracle;
    return o && o->is_tiled[variant];
}

/* ---- the device ---- */

/* The architecture to compile for is the device's own: a process says it, and is the first that the device is opened with. */
static int target_find(char *ret_target, size_t bytes, struct atoll_err *err)
{
    struct atoll_cuda_worker_settings settings;
    atoll_cuda_device_choose(&settings);
    struct atoll_cuda_worker *worker = atoll_cuda_worker_create(&settings, err);
    if (!worker)
        return -1;
    atoll_cuda_target(atoll_cuda_worker_facts(worker)->limits.compute_capability, ret_target, bytes);
    atoll_cuda_device_prepare(worker);
    return 0;
}

static struct atoll_compiler *compiler_create(const struct atoll_setup *setup, unsigned slots,
                                              struct atoll_err *err)
{
    char target[16];
    if (target_find(target, sizeof(target), err) != 0)
        return NULL;
    int is_default = !setup->compiler[0] || strcmp(setup->compiler, "cc") == 0;
    struct atoll_nvrtc_settings settings = {.compiler = {.command = is_default ? "nvrtc" : setup->compiler,
                                                         .flags = is_default ? "" : setup->compile_flags,
                                                         .target = target,
                                                         .slots = slots,
                                                         .deadline_ns = setup->compile_deadline_ns,
                                                         .memory_bytes = setup->compile_memory_bytes,
                                                         .output_bytes = OBJECT_BYTES},
                                            .include_path = setup->include_path};
    struct atoll_triton_settings other = {
        .compiler = settings.compiler, .python = setup->python, .starts_now = setup->wants_triton != 0};
    struct atoll_compiler *cuda = atoll_nvrtc_create(&settings, err);
    return cuda ? atoll_cuda_compiler_by_language_create(cuda, atoll_triton_create(&other, err), err) : NULL;
}

static int backend_open(struct atoll_referee *r, struct atoll_err *err)
{
    if (atoll_cuda_device_open(r, err) != 0)
        return -1;
    return r->setup.backend_null ? 0 : atoll_cuda_calibrate(r, err);
}

/* Also tells, by its error, that the device is in quarantine. */
static int qualify(struct atoll_referee *r, struct atoll_err *err)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(r);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_cuda_device_ready(d, err) != 0)
        return -1;
    if (atoll_cuda_device_qualify(d, &why) == 0)
        return 0;
    atoll_cuda_device_drop(d); /* once more on another process */
    return atoll_cuda_device_ready(d, err);
}

static size_t kept(struct atoll_referee *r, struct atoll_case *known, uint32_t variant, uint16_t *ret_numbers,
                   size_t limit)
{
    return atoll_expected_store_kept(atoll_cuda_device_of(r)->expected_store, known->number, variant,
                                     ret_numbers, limit);
}

/* What is expected is made by the first sample that needs it; of a fresh input set it is whole, as long as that finds room. */
static void *hold(struct atoll_referee *r, struct atoll_case *known, const struct atoll_input_set *input_set,
                  int need_full, struct atoll_err *err)
{
    struct atoll_sealed *a =
        atoll_expected_store_take(atoll_cuda_device_of(r)->expected_store, known->number, input_set);
    if (a)
        a->is_whole_wanted = need_full;
    else
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for expected values");
    return a;
}

static void release(struct atoll_referee *r, void *held)
{
    atoll_expected_store_give(atoll_cuda_device_of(r)->expected_store, held);
}

/* ---- rivals ---- */

static void torch_place(struct atoll_referee *referee, struct atoll_torch_place *place)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_cuda_worker_settings settings;
    atoll_cuda_device_settings(d, &settings);
    atoll_calm_stir(&d->calm, UINT64_MAX); /* what it takes it gives back, whoever is asked next */
    place->gpu = settings.uuid;
    place->threads = 1;
    place->flush_bytes = (uint64_t)fmax(2 * referee->info.last_level_cache_bytes, 0);
    place->kernels = d->support.bytes;
    place->kernel_bytes = d->support.length;
    place->is_alone = d->facts.compute_mode != 0;
}

static json_t *torch_inputs(const struct atoll_task *task, const struct atoll_input_set *input_set,
                            struct atoll_err *err)
{
    return atoll_cuda_torch_inputs(task, &task->variants[input_set->variant], input_set->seed,
                                   input_set->distribution, -1, err);
}

static void calm(struct atoll_referee *referee)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_cuda_clearing_wait(d, &err) < 0)
        atoll_cuda_device_drop(d); /* it is begun anew when it is needed */
}

static int is_slowed(struct atoll_referee *referee)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_trial trial = {.verdict = ATOLL_V_CORRECT};
    if (atoll_watch_record(&d->watch, atoll_referee_now_ns(), &trial))
        atoll_cuda_device_drop_all(d);
    return trial.disturbed || trial.verdict != ATOLL_V_CORRECT;
}

/* The next process learns anew how much memory there is: a plan of memory that holds would be one beside a rival. */
static void let_go(struct atoll_referee *referee)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    atoll_cuda_device_drop_all(d);
    memset(d->wanted, 0, sizeof(d->wanted));
    memset(d->usual, 0, sizeof(d->usual));
    d->facts.free_bytes = 0;
}

const struct atoll_backend atoll_backend_cuda = {
    .name = "cuda",
    .language = "cuda",
    .unit_name = ATOLL_COMPILE_CANDIDATE "cu",
    .other_language = ATOLL_TRITON_LANGUAGE,
    .other_unit_name = ATOLL_TRITON_UNIT,
    .compiles_beside = 1,
    .prepare = backend_prepare,
    .compiler_create = compiler_create,
    .open = backend_open,
    .close = atoll_cuda_device_close,
    .qualify = qualify,
    .measure = atoll_cuda_measure,
    .case_unit = atoll_cuda_case_unit,
    .case_open = case_open,
    .case_close = atoll_cuda_case_close,
    .device_reference = device_reference,
    .is_tiled = is_tiled,
    .candidate_open = atoll_cuda_loaded_candidate_open,
    .candidate_close = atoll_cuda_loaded_candidate_close,
    .trial = atoll_cuda_trial,
    .kept = kept,
    .answer = atoll_cuda_answer,
    .hold = hold,
    .release = release,
    .profile = atoll_cuda_profile,
    .variant_fits = variant_fits,
    .examine = backend_examine,
    .examine_shown = backend_examine_shown,
    .expect = backend_expect,
    .torch_place = torch_place,
    .torch_inputs = torch_inputs,
    .calm = calm,
    .let_go = let_go,
    .is_slowed = is_slowed,
    .describe = atoll_cuda_image_describe,
    .sanitize = atoll_cuda_sanitize,
};
