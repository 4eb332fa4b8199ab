#include "mpi-eval/backend/cuda/measure/describe.h"

#include <stdlib.h>

#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

static void put_mix(const uint32_t mix[ATOLL_MIX_COUNT], struct atoll_buffer *out)
{
    int any = 0;
    for (int i = 0; i < ATOLL_MIX_COUNT; i++)
        if (mix[i])
            atoll_buffer_printf(out, "%s%s %u",
                                any++ ? ", " : "; instructions: ", atoll_mix_name((enum atoll_mix)i), mix[i]);
    atoll_buffer_printf(out, "\n");
}

static void put_kernel(const struct atoll_cubin_kernel *k, struct atoll_buffer *out)
{
    atoll_buffer_printf(
        out,
        "kernel %s: %u registers a thread, %u bytes of static shared memory, %u bytes of stack%s, "
        "spills: %u bytes stored, %u loaded; %u bytes of code",
        k->name, k->registers, k->static_shared_bytes, k->stack_bytes,
        k->stack_bytes && !k->spill_store_bytes && !k->spill_load_bytes
            ? " (local memory that no spill takes: arrays indexed by what is not constant, or calls)"
            : "",
        k->spill_store_bytes, k->spill_load_bytes, k->code_bytes);
    put_mix(k->mix, out);
}

/* How the device would be filled where time is measured first. */
static void put_launch(const struct atoll_prepared *p, const struct atoll_cubin *cubin,
                       const struct atoll_device_limits *limits, struct atoll_buffer *out)
{
    struct atoll_resources r;
    size_t v = 0;
    while (v < p->task->variant_count && (p->task->variants[v].kind != ATOLL_VARIANT_BENCH ||
                                          !atoll_plan_concerns(p->plan, &p->task->variants[v])))
        v++;
    if (v == p->task->variant_count)
        return;
    atoll_cuda_resources(p, &p->task->variants[v], cubin, limits, &r);
    if (!r.kernel_count)
        return;
    atoll_buffer_printf(
        out,
        "at variant %s: %u blocks of %u threads, %u bytes of dynamic shared memory a block, "
        "%u blocks at a time on a multiprocessor, theoretical occupancy %.0f %%, limited by %s\n",
        p->task->variants[v].name, r.blocks, r.threads_per_block, r.dynamic_shared_bytes, r.resident_blocks,
        100 * r.occupancy, atoll_occupancy_limit_name(r.occupancy_by));
}

void atoll_cuda_image_describe(const struct atoll_prepared *prepared, const void *object,
                               size_t object_length, const struct atoll_device_info *device,
                               struct atoll_buffer *out, struct atoll_buffer *listing)
{
    char detail[ATOLL_DETAIL_BYTES] = "";
    struct atoll_cubin *cubin = calloc(1, sizeof(*cubin));
    if (!cubin)
        return;
    enum atoll_verdict verdict =
        atoll_cuda_image_check(prepared, object, object_length, prepared->report, cubin, detail);
    if (verdict != ATOLL_V_CORRECT)
        atoll_buffer_printf(out, "it would not be launched: %s: %s\n", atoll_verdict_name(verdict), detail);
    for (size_t i = 0; i < cubin->kernel_count; i++)
        put_kernel(&cubin->kernels[i], out);
    if (verdict == ATOLL_V_CORRECT && device)
        put_launch(prepared, cubin, &device->limits, out);
    if (listing)
        atoll_cubin_list(object, object_length, listing, NULL);
    free(cubin);
}
