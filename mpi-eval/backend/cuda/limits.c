#include "mpi-eval/backend/cuda/limits.h"

#include <stdio.h>
#include <string.h>

/* What a refusal names. */
struct place {
    size_t launch;
    const char *variant;
};

static int refuse(const struct place *at, const char *field, const char *what, unsigned long long value,
                  unsigned long long limit, struct atoll_err *err)
{
    return atoll_err_set(
        err, ATOLL_E_INPUT,
        "plan: field 'launch[%zu].%s': %s is %llu at variant %s; the device takes at most %llu", at->launch,
        field, what, value, at->variant, limit);
}

static int extents_check(const struct place *at, const char *field, const uint32_t extent[3],
                         const uint32_t limit[3], struct atoll_err *err)
{
    for (int i = 0; i < 3; i++) {
        char what[32];
        snprintf(what, sizeof what, "extent %d", i);
        if (limit[i] && extent[i] > limit[i])
            return refuse(at, field, what, extent[i], limit[i], err);
    }
    return 0;
}

static int cluster_check(const struct place *at, const struct atoll_step_launch *l,
                         const struct atoll_device_limits *limits, struct atoll_err *err)
{
    if (!l->cluster[0])
        return 0;
    unsigned long long blocks = (unsigned long long)l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (limits->multiprocessors && limits->cluster_blocks == 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: field 'launch[%zu].cluster': the device has no clusters", at->launch);
    if (limits->cluster_blocks && blocks > limits->cluster_blocks)
        return refuse(at, "cluster", "the number of blocks", blocks, limits->cluster_blocks, err);
    for (int i = 0; i < 3; i++)
        if (l->grid[i] % l->cluster[i] != 0)
            return atoll_err_set(
                err, ATOLL_E_INPUT,
                "plan: field 'launch[%zu].cluster': grid extent %d is %u at variant %s, no multiple of "
                "the cluster's %u",
                at->launch, i, l->grid[i], at->variant, l->cluster[i]);
    return 0;
}

/* All blocks of a cooperative launch run at once; the registers, which are not known yet, may allow fewer still. */
static int cooperative_check(const struct place *at, const struct atoll_step_launch *l,
                             const struct atoll_device_limits *limits, struct atoll_err *err)
{
    unsigned long long blocks = (unsigned long long)l->grid[0] * l->grid[1] * l->grid[2];
    unsigned long long threads = (unsigned long long)l->block[0] * l->block[1] * l->block[2], fit;
    if (!l->cooperative || !limits->multiprocessors)
        return 0;
    if (!limits->cooperative)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: field 'launch[%zu].cooperative': the device has no cooperative launches",
                             at->launch);
    fit = limits->threads_per_multiprocessor / threads;
    if (limits->blocks_per_multiprocessor && fit > limits->blocks_per_multiprocessor)
        fit = limits->blocks_per_multiprocessor;
    if (limits->threads_per_multiprocessor && blocks > fit * limits->multiprocessors)
        return refuse(at, "grid", "the number of blocks of a cooperative launch", blocks,
                      fit * limits->multiprocessors, err);
    return 0;
}

static int launch_check(const struct place *at, const struct atoll_step_launch *l,
                        const struct atoll_device_limits *limits, struct atoll_err *err)
{
    unsigned long long threads = (unsigned long long)l->block[0] * l->block[1];
    if (extents_check(at, "grid", l->grid, limits->grid, err) != 0 ||
        extents_check(at, "block", l->block, limits->block, err) != 0)
        return -1;
    if (threads > (1u << 20) ||
        (limits->threads_per_block && threads * l->block[2] > limits->threads_per_block))
        return refuse(at, "block", "the number of threads", threads * l->block[2],
                      limits->threads_per_block ? limits->threads_per_block : 1024, err);
    if (limits->shared_bytes_per_block && l->shared_bytes > limits->shared_bytes_per_block)
        return refuse(at, "shared_bytes", "the dynamic shared memory", l->shared_bytes,
                      limits->shared_bytes_per_block, err);
    if (cluster_check(at, l, limits, err) != 0)
        return -1;
    return cooperative_check(at, l, limits, err);
}

static int memory_check(const struct atoll_prepared *p, const struct atoll_variant *v, double memory_bytes,
                        struct atoll_err *err)
{
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count = 0;
    double tensors = 0, scratch = 0;
    if (atoll_cuda_buffer_bytes(p, v, bytes, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        *(i < p->task->tensor_count ? &tensors : &scratch) += (double)bytes[i];
    if (p->plan->scratch_count && memory_bytes > 0 && tensors + scratch > memory_bytes)
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: field 'scratch': %.0f bytes at variant %s, beside %.0f bytes of tensors; the "
            "device's memory has %.0f",
            scratch, v->name, tensors, memory_bytes);
    return 0;
}

int atoll_cuda_limits_check(const struct atoll_prepared *p, const struct atoll_variant *v,
                            const struct atoll_device_info *device, struct atoll_err *err)
{
    static const struct atoll_device_limits unknown;
    const struct atoll_device_limits *limits = device ? &device->limits : &unknown;
    struct atoll_step_launch launch;
    if (memory_check(p, v, limits->memory_bytes, err) != 0)
        return -1;
    for (size_t k = 0; k < p->plan->launch_count; k++) {
        struct place at = {k, v->name};
        const struct atoll_launch *l = &p->plan->launches[k];
        if (!l->grid[0] || !l->block[0])
            return atoll_err_set(err, ATOLL_E_INPUT, "plan: field 'launch[%zu].%s' is missing", k,
                                 l->grid[0] ? "block" : "grid");
        if (atoll_cuda_launch_make(p, v, k, NULL, &launch, err) != 0)
            return atoll_err_add(err, "; in field 'launch[%zu]'", k);
        if (launch_check(&at, &launch, limits, err) != 0)
            return -1;
    }
    return 0;
}
