/* Levels 1 and 2 for CUDA sources: the limits are core's (plan_limits.h), the rest is what every backend does. */
#include <stdio.h>

#include "core/plan/plan_limits.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/referee/backend.h"

#define SCRATCH_LIMIT ((int64_t)1 << 40) /* the device's memory decides */
#define KINDS         (ATOLL_PLAN_KIND(ATOLL_VARIANT_CHECK) | ATOLL_PLAN_KIND(ATOLL_VARIANT_BENCH))

/* The limits of all variants at once, with the first launch of each; then what packing the launch would find. */
static int launch_check(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch,
                        const struct atoll_device_info *device, struct atoll_err *err)
{
    struct atoll_device_command_launch made;
    if (launch == 0 && atoll_plan_limits_check(p->task, p->plan, &p->choice, KINDS,
                                               device ? &device->limits : NULL, err) != 0)
        return -1;
    if (atoll_cuda_launch_make(p, v, launch, NULL, &made, err) != 0)
        return atoll_err_add(err, "; in field 'launch[%zu]'", launch);
    return 0;
}

static void kernel_name(const struct atoll_prepared *p, size_t launch, char *ret_name, size_t name_bytes)
{
    snprintf(ret_name, name_bytes, "%s", p->plan->launches[launch].symbol);
}

int atoll_cuda_prepare(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                       const struct atoll_device_info *device, struct atoll_err *err)
{
    static const struct atoll_prepare_parts parts = {.backend = &atoll_backend_cuda,
                                                     .launch_check = launch_check,
                                                     .symbol = kernel_name,
                                                     .scratch_limit_bytes = SCRATCH_LIMIT};
    return atoll_prepare(p, candidate, device, &parts, err);
}
