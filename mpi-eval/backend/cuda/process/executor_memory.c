/* executor_memory.c - device memory; reads and writes by way of the pinned staging. */
#include <string.h>

#include "mpi-eval/backend/cuda/process/executor_state.h"

unsigned atoll_executor_memory_free(struct atoll_cuda_executor *x, uint32_t slot)
{
    if (slot >= ATOLL_DEVICE_COMMAND_MEMORY_LIMIT)
        return atoll_executor_refuse(x, "no such memory slot");
    atoll_cuda_address address = x->memory[slot];
    x->memory[slot] = 0;
    return address ? x->cuda->cuMemFree(address) : ATOLL_CUDA_SUCCESS;
}

unsigned atoll_executor_memory_alloc(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    unsigned r = atoll_executor_memory_free(x, s->slot);
    if (r == ATOLL_CUDA_SUCCESS)
        r = x->cuda->cuMemAlloc(&x->memory[s->slot], (size_t)s->count);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    uint64_t address = x->memory[s->slot];
    atoll_executor_result_u64(x, &address, 1);
    return r;
}

unsigned atoll_executor_memory_info(struct atoll_cuda_executor *x)
{
    size_t free_bytes = 0, total = 0;
    unsigned r = x->cuda->cuMemGetInfo(&free_bytes, &total);
    uint64_t values[2] = {free_bytes, total};
    if (r == ATOLL_CUDA_SUCCESS)
        atoll_executor_result_u64(x, values, 2);
    return r;
}

/* Reserves the place of a read in the results; what is read now is zero. */
static unsigned char *read_place(struct atoll_cuda_executor *x, size_t bytes, size_t *ret_place)
{
    static const unsigned char zeros[4096];
    struct atoll_buffer *out = &x->reply->results;
    atoll_buffer_put_u32(out, (uint32_t)bytes);
    *ret_place = out->length;
    for (size_t left = bytes; left > 0 && !out->failed;) {
        size_t n = left < sizeof zeros ? left : sizeof zeros;
        atoll_buffer_put_bytes(out, zeros, n);
        left -= n;
    }
    return out->failed ? NULL : out->data + *ret_place;
}

/* There is room. */
static unsigned char *staging_take(struct atoll_cuda_executor *x, size_t bytes)
{
    unsigned char *at = x->staging + x->staged;
    x->staged += (bytes + 15) / 16 * 16;
    x->staged = x->staged > ATOLL_EXECUTOR_STAGING_BYTES ? ATOLL_EXECUTOR_STAGING_BYTES : x->staged;
    return at;
}

unsigned atoll_executor_memory_read(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    size_t place, bytes = (size_t)s->count;
    if (s->count > ATOLL_COMMAND_BATCH_BYTES)
        return atoll_executor_refuse(x, "more is read than a reply holds");
    unsigned char *to = read_place(x, bytes, &place);
    if (!to)
        return atoll_executor_refuse(x, "more is read than a reply holds");
    if (bytes > ATOLL_EXECUTOR_STAGING_BYTES - x->staged || x->reading_count == ATOLL_EXECUTOR_READ_LIMIT) {
        unsigned r = atoll_executor_wait(x);
        return r == ATOLL_CUDA_SUCCESS ? x->cuda->cuMemcpyDtoH(to, s->address, bytes) : r;
    }
    x->readings[x->reading_count++] = (struct reading){x->staged, place, bytes};
    return x->cuda->cuMemcpyDtoHAsync(staging_take(x, bytes), s->address, bytes, x->stream);
}

/* From pageable memory the driver would wait for the stream first, and nothing could be queued meanwhile. */
unsigned atoll_executor_memory_write(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    const void *from = s->bytes;
    if (s->length <= ATOLL_EXECUTOR_STAGING_BYTES - x->staged)
        from = memcpy(staging_take(x, s->length), s->bytes, s->length);
    return x->cuda->cuMemcpyHtoDAsync(s->address, from, s->length, x->stream);
}

void atoll_executor_reads_settle(struct atoll_cuda_executor *x)
{
    for (size_t i = 0; i < x->reading_count; i++)
        memcpy(x->reply->results.data + x->readings[i].place, x->staging + x->readings[i].staged,
               x->readings[i].bytes);
}
