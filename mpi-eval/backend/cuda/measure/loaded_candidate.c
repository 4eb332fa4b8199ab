#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "mpi-eval/backend/cuda/measure/launch.h"

/* ---- the image ---- */

static enum atoll_verdict verdict_set(char *ret_detail, enum atoll_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum atoll_verdict verdict_set(char *ret_detail, enum atoll_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ret_detail, ATOLL_DETAIL_BYTES, format, args);
    va_end(args);
    return verdict;
}

/* Where the task is strict: nothing in a kernel is less exact than its precisions. */
static enum atoll_verdict precisions_check(const struct atoll_task *task,
                                           const struct atoll_cubin_kernel *kernel, char *ret_detail)
{
    unsigned beyond = task->precisions_strict ? atoll_mix_beyond(kernel->mix, task) : 0;
    unsigned converted = task->precisions_strict ? atoll_conversions_beyond(kernel->conversions, task) : 0;
    char names[128];
    if (!beyond && !converted)
        return ATOLL_V_CORRECT;
    return verdict_set(ret_detail, ATOLL_V_FORBIDDEN,
                       "rule precisions-strict: the image of kernel \"%s\" %s %s, which is "
                       "less exact than the precisions of the task allow",
                       kernel->name, beyond ? "computes with" : "rounds to, or multiplies numbers of,",
                       atoll_mix_names(beyond ? beyond : converted, names, sizeof(names)));
}

/* What Triton said of its images is held against them. */
static enum atoll_verdict images_check(const struct atoll_prepared *prepared, const char *report,
                                       const struct atoll_cubin *cubin, char *ret_detail)
{
    struct atoll_triton_images images;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_triton_images_read(report, &images) != 0)
        return verdict_set(ret_detail, ATOLL_V_LAUNCH_ERROR,
                           "nothing says how the images of this candidate are launched");
    for (size_t i = 0; i < images.class_count; i++) {
        const struct atoll_triton_image *image = &images.images[images.classes[i].image];
        const struct atoll_cubin_kernel *kernel = atoll_cubin_find(cubin, image->symbol);
        if (!kernel || images.classes[i].launch >= prepared->plan->launch_count)
            return verdict_set(ret_detail, ATOLL_V_LAUNCH_ERROR,
                               "the cubin has no kernel \"%s\" that Triton says it made", image->symbol);
        if (atoll_cuda_image_fits(&prepared->plan->launches[images.classes[i].launch], image, kernel, &err) !=
            0)
            return verdict_set(ret_detail, ATOLL_V_LAUNCH_ERROR, "%s", err.text);
        if (precisions_check(prepared->task, kernel, ret_detail) != ATOLL_V_CORRECT)
            return ATOLL_V_FORBIDDEN;
    }
    return ATOLL_V_CORRECT;
}

enum atoll_verdict atoll_cuda_image_check(const struct atoll_prepared *prepared, const void *object,
                                          size_t length, const char *report, struct atoll_cubin *ret_cubin,
                                          char *ret_detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_cubin_read(object, length, report ? report : "", ret_cubin, &err) != 0)
        return verdict_set(ret_detail,
                           err.code == ATOLL_E_INPUT ? ATOLL_V_LAUNCH_ERROR : ATOLL_V_INFRASTRUCTURE, "%s",
                           err.text);
    if (ret_cubin->undefined_name[0])
        return verdict_set(
            ret_detail, ATOLL_V_FORBIDDEN,
            "rule no-device-runtime: the image needs \"%s\" from outside; kernels launch nothing and "
            "link nothing",
            ret_cubin->undefined_name);
    if (ret_cubin->breaks)
        return verdict_set(ret_detail, ATOLL_V_FORBIDDEN, "rule image: \"%.100s\" of the compiled image %s",
                           ret_cubin->breaks_in, ret_cubin->breaks);
    if (atoll_triton_is(prepared))
        return images_check(prepared, report, ret_cubin, ret_detail);
    for (size_t k = 0; k < prepared->plan->launch_count; k++) {
        const struct atoll_launch *l = &prepared->plan->launches[k];
        const struct atoll_cubin_kernel *kernel = atoll_cubin_find(ret_cubin, l->symbol);
        if (!kernel) {
            size_t n =
                (size_t)snprintf(ret_detail, ATOLL_DETAIL_BYTES,
                                 "the source has no kernel \"%s\" that the plan launches; it has", l->symbol);
            for (size_t i = 0; i < ret_cubin->kernel_count && n < ATOLL_DETAIL_BYTES / 2; i++)
                n += (size_t)snprintf(ret_detail + n, ATOLL_DETAIL_BYTES - n, "%s \"%s\"", i ? "," : "",
                                      ret_cubin->kernels[i].name);
            snprintf(ret_detail + n, ATOLL_DETAIL_BYTES - n, "%s (kernels are extern \"C\")",
                     ret_cubin->kernel_count ? "" : " none");
            return ATOLL_V_LAUNCH_ERROR;
        }
        if (atoll_cuda_launch_fits(l, kernel, &err) != 0)
            return verdict_set(ret_detail, ATOLL_V_LAUNCH_ERROR, "%s", err.text);
        if (precisions_check(prepared->task, kernel, ret_detail) != ATOLL_V_CORRECT)
            return ATOLL_V_FORBIDDEN;
    }
    return ATOLL_V_CORRECT;
}

static void most(uint32_t *to, uint32_t value)
{
    if (value > *to)
        *to = value;
}

static void resources_add(struct atoll_resources *r, const struct atoll_cubin_kernel *k,
                          const struct atoll_device_command_launch *l,
                          const struct atoll_device_limits *limits)
{
    enum atoll_occupancy_limit by;
    uint32_t threads = l->block[0] * l->block[1] * l->block[2],
             cluster = l->cluster[0] * l->cluster[1] * l->cluster[2];
    double occupancy = atoll_cubin_occupancy(k, limits, threads, l->shared_bytes, &by);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    most(&r->registers, k->registers);
    most(&r->static_shared_bytes, k->static_shared_bytes);
    most(&r->dynamic_shared_bytes, l->shared_bytes);
    most(&r->stack_bytes, k->stack_bytes);
    most(&r->spill_store_bytes, k->spill_store_bytes);
    most(&r->spill_load_bytes, k->spill_load_bytes);
    if (r->kernel_count == 0 || occupancy < r->occupancy) {
        r->occupancy = occupancy;
        r->occupancy_by = by;
    }
    most(&r->cluster_blocks, cluster ? cluster : 1);
    if (blocks > r->blocks) {
        uint32_t warps = limits->warp_size ? (threads + limits->warp_size - 1) / limits->warp_size : 0;
        r->blocks = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
        r->threads_per_block = threads;
        r->resident_blocks =
            warps
                ? (uint32_t)lround(occupancy * limits->threads_per_multiprocessor / limits->warp_size / warps)
                : 0;
    }
    for (int i = 0; i < ATOLL_MIX_COUNT; i++)
        r->mix[i] += k->mix[i];
    r->kernel_count++;
}

void atoll_cuda_resources(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                          const struct atoll_cubin *cubin, const struct atoll_device_limits *limits,
                          struct atoll_resources *ret)
{
    const struct atoll_plan *plan = prepared->plan;
    size_t taken = 0;
    memset(ret, 0, sizeof(*ret));
    if (atoll_plan_path_at(prepared->task, plan, variant, &taken, NULL) != 0)
        return;
    const struct atoll_path *path = &plan->paths[taken];
    for (size_t k = path->first; k < path->first + path->count; k++) {
        struct atoll_device_command_launch launch;
        char name[128];
        int is_again = 0;
        if (atoll_cuda_launch_make(prepared, variant, k, NULL, &launch, NULL) != 0)
            continue;
        const struct atoll_cubin_kernel *kernel =
            atoll_cubin_find(cubin, atoll_cuda_function_name(prepared, launch.function, name, sizeof(name)));
        for (size_t i = path->first; i < k; i++)
            is_again |= strcmp(plan->launches[i].symbol, plan->launches[k].symbol) == 0;
        if (kernel && !is_again)
            resources_add(ret, kernel, &launch, limits);
    }
}

/* ---- on the device ---- */

static uint32_t module_of(const struct atoll_cuda_loaded_candidate *u)
{
    return ATOLL_SUPPORT_MODULE_END + u->slot;
}

uint32_t atoll_cuda_loaded_candidate_function(const struct atoll_loaded_candidate *candidate, size_t launch)
{
    return ATOLL_SUPPORT_FUNCTION_END +
           atoll_cuda_loaded_candidate_of(candidate)->slot * ATOLL_PLAN_LAUNCH_LIMIT + (uint32_t)launch;
}

void atoll_cuda_loaded_candidate_append_load(struct atoll_command_batch *batch,
                                             const struct atoll_loaded_candidate *candidate)
{
    uint32_t module = module_of(atoll_cuda_loaded_candidate_of(candidate));
    atoll_command_batch_module_load(batch, module, candidate->object, candidate->object_length);
    char name[128];
    for (size_t k = 0; k < atoll_cuda_function_count(candidate->prepared); k++)
        atoll_command_batch_function(batch, atoll_cuda_loaded_candidate_function(candidate, k), module,
                                     atoll_cuda_function_name(candidate->prepared, k, name, sizeof(name)));
}

int atoll_cuda_loaded_candidate_load(struct atoll_cuda_device *d,
                                     const struct atoll_loaded_candidate *candidate, struct atoll_err *err)
{
    struct atoll_cuda_loaded_candidate *u = atoll_cuda_loaded_candidate_of(candidate);
    if (u->generation == d->generation)
        return 0;
    uint32_t slot = 0;
    while (slot < ATOLL_CUDA_CANDIDATE_SLOTS && d->candidates[slot] && d->candidates[slot] != u)
        slot++;
    if (slot == ATOLL_CUDA_CANDIDATE_SLOTS)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "more than %u candidates are loaded",
                             ATOLL_CUDA_CANDIDATE_SLOTS);
    d->candidates[slot] = u;
    u->slot = slot;
    atoll_command_batch_clear(&d->batch);
    atoll_cuda_loaded_candidate_append_load(&d->batch, candidate);
    int rc = atoll_cuda_device_run(d, ATOLL_CUDA_OWN_DEADLINE_NS, err);
    if (rc == 0 && d->reply.status == ATOLL_COMMAND_BATCH_REFUSED)
        return atoll_err_set(err, ATOLL_E_INPUT, "the device does not load the image: %s", d->reply.text);
    if (rc == 0)
        u->generation = d->generation;
    return rc;
}

static enum atoll_verdict load_first(struct atoll_cuda_device *d, struct atoll_loaded_candidate *candidate,
                                     char *ret_detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int i = 0; i < ATOLL_CUDA_LOST_LIMIT; i++) {
        if (atoll_cuda_device_ready(d, &err) != 0)
            return verdict_set(ret_detail, ATOLL_V_INFRASTRUCTURE, "%s", err.text);
        int rc = atoll_cuda_loaded_candidate_load(d, candidate, &err);
        if (rc == 0)
            return ATOLL_V_CORRECT;
        if (rc < 0)
            return verdict_set(ret_detail,
                               err.code == ATOLL_E_INPUT ? ATOLL_V_LAUNCH_ERROR : ATOLL_V_INFRASTRUCTURE,
                               "%s", err.text);
    }
    return verdict_set(ret_detail, ATOLL_V_INFRASTRUCTURE,
                       "the device process was lost %d times while a candidate was loaded: %s",
                       ATOLL_CUDA_LOST_LIMIT, d->reply.text);
}

static const struct atoll_variant *first_bench(const struct atoll_task *task)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (v->kind == ATOLL_VARIANT_BENCH && (!v->backend || strcmp(v->backend, "cuda") == 0))
            return v;
    }
    return NULL;
}

enum atoll_verdict atoll_cuda_loaded_candidate_open(struct atoll_referee *referee,
                                                    const struct atoll_prepared *prepared, const void *object,
                                                    size_t object_length,
                                                    struct atoll_loaded_candidate *ret_candidate,
                                                    char *ret_detail)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_cuda_loaded_candidate *u = calloc(1, sizeof(*u));
    *ret_candidate = (struct atoll_loaded_candidate){
        .prepared = prepared, .object = object, .object_length = object_length};
    if (!u)
        return verdict_set(ret_detail, ATOLL_V_INFRASTRUCTURE, "no memory for a candidate");
    ret_candidate->runner = u;
    u->number = ++d->candidate_count;
    enum atoll_verdict verdict =
        atoll_cuda_image_check(prepared, object, object_length, prepared->report, &u->cubin, ret_detail);
    const struct atoll_variant *bench = first_bench(prepared->task);
    if (verdict == ATOLL_V_CORRECT && bench)
        atoll_cuda_resources(prepared, bench, &u->cubin, &d->facts.limits, &ret_candidate->resources);
    if (verdict == ATOLL_V_CORRECT)
        verdict = load_first(d, ret_candidate, ret_detail);
    if (verdict != ATOLL_V_CORRECT)
        atoll_cuda_loaded_candidate_close(referee, ret_candidate);
    return verdict;
}

void atoll_cuda_loaded_candidate_close(struct atoll_referee *referee,
                                       struct atoll_loaded_candidate *candidate)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_cuda_loaded_candidate *u = atoll_cuda_loaded_candidate_of(candidate);
    if (!u)
        return;
    if (d->worker && u->generation == d->generation) {
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_command_batch_clear(&d->batch);
        atoll_command_batch_module_unload(&d->batch, module_of(u));
        if (atoll_cuda_device_run_own(d, "unloading", &err) < 0)
            atoll_cuda_device_drop(d); /* what it holds is not known */
    }
    for (size_t i = 0; i < ATOLL_CUDA_CANDIDATE_SLOTS; i++)
        if (d->candidates[i] == u)
            d->candidates[i] = NULL;
    free(u);
    candidate->runner = NULL;
}
