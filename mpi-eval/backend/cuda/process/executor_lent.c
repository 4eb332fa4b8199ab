/* executor_lent.c - large memory that a task has while it runs: its pages stay this process's when they are unmapped, and are mapped again
 * for the next one.  Mapping 26 GiB takes a millisecond, while the driver takes 3 to give and 22 to take back as many.
 * What is set aside has no address, so that no kernel reaches it; what was in it is there again when it is mapped. */
#include "mpi-eval/backend/cuda/process/executor_state.h"

#define PAGE ((size_t)2 << 20)

/* Where less of the device is free, what others may need goes back to the driver. */
#define FREE_SHARE 4

static const struct atoll_cuda *able(const struct atoll_cuda_executor *x)
{
    const struct atoll_cuda *c = x->cuda;
    return c->cuMemAddressReserve && c->cuMemAddressFree && c->cuMemCreate && c->cuMemRelease &&
                   c->cuMemMap && c->cuMemUnmap && c->cuMemSetAccess
               ? c
               : NULL;
}

static unsigned lent_map(struct atoll_cuda_executor *x, uint32_t slot)
{
    const struct atoll_cuda *c = x->cuda;
    struct atoll_executor_lent *l = &x->lent[slot];
    const struct atoll_cuda_memory_access access = {
        .location = {ATOLL_CU_MEM_LOCATION_TYPE_DEVICE, x->device},
        .flags = ATOLL_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    atoll_cuda_address address = 0;
    unsigned r = c->cuMemAddressReserve(&address, l->bytes, PAGE, 0, 0);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    r = c->cuMemMap(address, l->bytes, 0, l->memory, 0);
    if (r == ATOLL_CUDA_SUCCESS &&
        (r = c->cuMemSetAccess(address, l->bytes, &access, 1)) != ATOLL_CUDA_SUCCESS)
        c->cuMemUnmap(address, l->bytes);
    if (r != ATOLL_CUDA_SUCCESS) {
        c->cuMemAddressFree(address, l->bytes);
        return r;
    }
    x->memory[slot] = address;
    l->is_mapped = 1;
    return r;
}

static void lent_release(struct atoll_cuda_executor *x, struct atoll_executor_lent *l)
{
    if (l->bytes)
        x->cuda->cuMemRelease(l->memory);
    *l = (struct atoll_executor_lent){0};
}

unsigned atoll_executor_lend(struct atoll_cuda_executor *x, uint32_t slot, uint64_t bytes)
{
    const struct atoll_cuda_memory_kind kind = {.type = ATOLL_CU_MEM_ALLOCATION_TYPE_PINNED,
                                                .location = {ATOLL_CU_MEM_LOCATION_TYPE_DEVICE, x->device}};
    struct atoll_executor_lent *l = &x->lent[slot];
    size_t whole = (size_t)((bytes + PAGE - 1) / PAGE * PAGE);
    if (!able(x))
        return ATOLL_CUDA_ERROR_NOT_SUPPORTED;
    if (l->bytes != whole) {
        lent_release(x, l);
        unsigned r = x->cuda->cuMemCreate(&l->memory, whole, &kind, 0);
        if (r != ATOLL_CUDA_SUCCESS)
            return r;
        l->bytes = whole;
    }
    unsigned r = lent_map(x, slot);
    if (r != ATOLL_CUDA_SUCCESS)
        lent_release(x, l);
    return r;
}

static int is_roomy(struct atoll_cuda_executor *x)
{
    size_t left = 0, all = 0;
    return x->cuda->cuMemGetInfo(&left, &all) == ATOLL_CUDA_SUCCESS && left >= all / FREE_SHARE;
}

unsigned atoll_executor_set_aside(struct atoll_cuda_executor *x, uint32_t slot)
{
    const struct atoll_cuda *c = x->cuda;
    struct atoll_executor_lent *l = &x->lent[slot];
    atoll_cuda_address address = x->memory[slot];
    unsigned r = atoll_executor_stream_wait(x), unmapped = c->cuMemUnmap(address, l->bytes);
    if (unmapped != ATOLL_CUDA_SUCCESS)
        return r != ATOLL_CUDA_SUCCESS ? r : unmapped; /* it has an address still */
    c->cuMemAddressFree(address, l->bytes);
    x->memory[slot] = 0;
    l->is_mapped = 0;
    if (!is_roomy(x))
        lent_release(x, l);
    return r;
}

int atoll_executor_let_go(struct atoll_cuda_executor *x)
{
    int count = 0;
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_MEMORY_LIMIT; i++)
        if (x->lent[i].bytes && !x->lent[i].is_mapped) {
            lent_release(x, &x->lent[i]);
            count++;
        }
    return count > 0;
}
