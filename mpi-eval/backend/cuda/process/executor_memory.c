/* executor_memory.c - memory of the device, of this process and of others.
 * Small reads and writes are queued like every other command: reads land in pinned staging and move to their place in the results
 * when all is done, writes leave from there.  A large read waits for the stream.
 *
 * Memory of another process (PyTorch's answers) is mapped in a batch that launches nothing, and nothing runs when a batch
 * begins: no kernel, whoever's, ever runs beside such a mapping.  One that does not go when it is closed takes the process with it.
 * What is attached to a memory slot is another matter: it stays, as what the slot would have allocated itself; only what is sealed
 * lies there (docs/adr/0054). */
#include "mpi-eval/backend/cuda/process/executor_state.h"

#include <stdio.h>
#include <string.h>

/* ---- memory; small reads and writes by way of the pinned staging ---- */

unsigned atoll_executor_free(struct atoll_cuda_executor *x, uint32_t slot)
{
    if (slot >= ATOLL_DEVICE_COMMAND_MEMORY_LIMIT)
        return atoll_executor_refuse(x, "no such memory slot");
    if (x->lent[slot].is_mapped)
        return atoll_executor_set_aside(x, slot);
    atoll_cuda_address address = x->memory[slot];
    int is_attached = x->is_attached[slot];
    x->memory[slot] = 0;
    x->is_attached[slot] = 0;
    if (!address || !is_attached)
        return address ? x->cuda->cuMemFree(address) : ATOLL_CUDA_SUCCESS;
    unsigned r = atoll_executor_stream_wait(x), closed = x->cuda->cuIpcCloseMemHandle(address);
    atoll_executor_let_go(x); /* whoever has it may want more */
    return r == ATOLL_CUDA_SUCCESS ? closed : r;
}

unsigned atoll_executor_alloc(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    unsigned r = atoll_executor_free(x, s->slot);
    if (r == ATOLL_CUDA_SUCCESS) {
        unsigned lent = s->other ? atoll_executor_lend(x, s->slot, s->count) : ATOLL_CUDA_ERROR_NOT_SUPPORTED;
        r = lent == ATOLL_CUDA_SUCCESS || lent == ATOLL_CUDA_ERROR_OUT_OF_MEMORY
                ? lent
                : x->cuda->cuMemAlloc(&x->memory[s->slot], (size_t)s->count);
    }
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    uint64_t address = x->memory[s->slot];
    atoll_executor_result_u64(x, &address, 1);
    return r;
}

/* There is room. */
static unsigned char *staging_take(struct atoll_cuda_executor *x, size_t bytes)
{
    unsigned char *at = x->staging + x->staged;
    x->staged += (bytes + 15) / 16 * 16;
    x->staged = x->staged > ATOLL_EXECUTOR_STAGING_BYTES ? ATOLL_EXECUTOR_STAGING_BYTES : x->staged;
    return at;
}

unsigned atoll_executor_read(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    size_t place, bytes = (size_t)s->count;
    if (s->count > ATOLL_COMMAND_BATCH_BYTES)
        return atoll_executor_refuse(x, "more is read than a reply holds");
    /* Reserves the place of a read in the results; what is read now is zero. */
    size_t *ret_place = &place;
    static const unsigned char zeros[4096];
    struct atoll_buffer *out = &x->reply->results;
    atoll_buffer_put_u32(out, (uint32_t)bytes);
    *ret_place = out->length;
    for (size_t left = bytes; left > 0 && !out->failed;) {
        size_t n = left < sizeof(zeros) ? left : sizeof(zeros);
        atoll_buffer_put_bytes(out, zeros, n);
        left -= n;
    }
    unsigned char *to = out->failed ? NULL : out->data + *ret_place;
    if (!to)
        return atoll_executor_refuse(x, "more is read than a reply holds");
    if (bytes > ATOLL_EXECUTOR_STAGING_BYTES - x->staged || x->reading_count == ATOLL_EXECUTOR_READ_LIMIT) {
        unsigned r = atoll_executor_stream_wait(x);
        return r == ATOLL_CUDA_SUCCESS ? x->cuda->cuMemcpyDtoH(to, s->address, bytes) : r;
    }
    x->readings[x->reading_count++] = (struct atoll_executor_reading){x->staged, place, bytes};
    return x->cuda->cuMemcpyDtoHAsync(staging_take(x, bytes), s->address, bytes, x->stream);
}

/* From pageable memory the driver would wait for the stream first, and nothing could be queued meanwhile. */
unsigned atoll_executor_write(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    const void *from = s->bytes;
    if (s->length <= ATOLL_EXECUTOR_STAGING_BYTES - x->staged)
        from = memcpy(staging_take(x, s->length), s->bytes, s->length);
    return x->cuda->cuMemcpyHtoDAsync(s->address, from, s->length, x->stream);
}

/* ---- memory of another process ---- */

unsigned atoll_executor_share(struct atoll_cuda_executor *x, uint32_t slot)
{
    struct atoll_cuda_ipc handle;
    if (slot >= ATOLL_DEVICE_COMMAND_MEMORY_LIMIT || !x->memory[slot] || x->is_attached[slot] ||
        x->lent[slot].is_mapped)
        return atoll_executor_refuse(x, "no such memory to be shared");
    if (!x->cuda->cuIpcGetMemHandle)
        return ATOLL_CUDA_ERROR_NOT_SUPPORTED;
    unsigned r = x->cuda->cuIpcGetMemHandle(&handle, x->memory[slot]);
    if (r == ATOLL_CUDA_SUCCESS)
        atoll_buffer_put_blob(&x->reply->results, &handle, sizeof(handle));
    return r;
}

/* Bytes from address to the end of its allocation. */
static unsigned bytes_behind(struct atoll_cuda_executor *x, atoll_cuda_address address, uint64_t *ret_bytes)
{
    atoll_cuda_address base = 0;
    size_t bytes = 0;
    unsigned r = x->cuda->cuMemGetAddressRange(&base, &bytes, address);
    *ret_bytes =
        r == ATOLL_CUDA_SUCCESS && base <= address && address - base <= bytes ? bytes - (address - base) : 0;
    return r;
}

unsigned atoll_executor_attach(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    struct atoll_cuda_ipc handle;
    uint64_t bytes = 0;
    unsigned r = atoll_executor_free(x, s->slot);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    if (!x->cuda->cuIpcOpenMemHandle || !x->cuda->cuIpcCloseMemHandle)
        return ATOLL_CUDA_ERROR_NOT_SUPPORTED;
    memcpy(&handle, s->bytes, sizeof(handle));
    r = x->cuda->cuIpcOpenMemHandle(&x->memory[s->slot], handle, ATOLL_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (r != ATOLL_CUDA_SUCCESS) {
        x->memory[s->slot] = 0;
        return r;
    }
    x->is_attached[s->slot] = 1;
    uint64_t address = x->memory[s->slot];
    r = bytes_behind(x, address, &bytes);
    if (r == ATOLL_CUDA_SUCCESS && bytes >= s->count) {
        atoll_executor_result_u64(x, &address, 1);
        return r;
    }
    unsigned closed = atoll_executor_free(x, s->slot);
    if (r != ATOLL_CUDA_SUCCESS || closed != ATOLL_CUDA_SUCCESS)
        return r != ATOLL_CUDA_SUCCESS ? r : closed;
    return atoll_executor_refuse(x, "memory of another process is smaller than was said");
}

unsigned atoll_executor_copy(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    atoll_cuda_address to = 0, from = 0;
    uint64_t room = 0, there = 0;
    if (s->slot < ATOLL_DEVICE_COMMAND_MEMORY_LIMIT && s->other < ATOLL_DEVICE_COMMAND_MEMORY_LIMIT) {
        to = x->memory[s->slot];
        from = x->memory[s->other];
    }
    if (!to || !from || bytes_behind(x, to, &room) != ATOLL_CUDA_SUCCESS ||
        bytes_behind(x, from, &there) != ATOLL_CUDA_SUCCESS || s->count > room || s->count > there)
        return atoll_executor_refuse(x, "no memory slots with as much to be copied");
    return x->cuda->cuMemcpyDtoDAsync(to, from, (size_t)s->count, x->stream);
}

unsigned atoll_executor_foreign_close(struct atoll_cuda_executor *x)
{
    unsigned r = atoll_executor_stream_wait(x), closed = x->cuda->cuIpcCloseMemHandle(x->foreign);
    if (closed == ATOLL_CUDA_SUCCESS)
        x->foreign = 0; /* else the end of the batch finds it */
    return r == ATOLL_CUDA_SUCCESS ? closed : r;
}

unsigned atoll_executor_foreign_open(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    struct atoll_cuda_ipc handle;
    if (x->has_launched || x->foreign)
        return atoll_executor_refuse(x, "memory of another process is opened alone in its batch");
    if (!x->cuda->cuIpcOpenMemHandle || !x->cuda->cuIpcCloseMemHandle)
        return ATOLL_CUDA_ERROR_NOT_SUPPORTED;
    memcpy(&handle, s->bytes, sizeof(handle));
    x->has_foreign = 1;
    unsigned r = x->cuda->cuIpcOpenMemHandle(&x->foreign, handle, ATOLL_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (r != ATOLL_CUDA_SUCCESS) {
        x->foreign = 0;
        return r;
    }
    r = bytes_behind(x, x->foreign, &x->foreign_bytes);
    if (r == ATOLL_CUDA_SUCCESS && x->foreign_bytes < s->count)
        return atoll_executor_refuse(x, "memory of another process is smaller than was said");
    return r;
}

unsigned atoll_executor_foreign_copy(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    if (!x->foreign)
        return atoll_executor_refuse(x, "no memory of another process is open");
    if (s->offset > x->foreign_bytes || s->count > x->foreign_bytes - s->offset)
        return atoll_executor_refuse(x, "memory of another process ends before what is copied");
    return x->cuda->cuMemcpyDtoDAsync(s->address, x->foreign + s->offset, (size_t)s->count, x->stream);
}

void atoll_executor_foreign_end(struct atoll_cuda_executor *x)
{
    struct atoll_command_batch_reply *reply = x->reply;
    char text[128];
    if (!x->foreign)
        return;
    unsigned r = atoll_executor_foreign_close(x);
    if (x->foreign) {
        reply->status = ATOLL_COMMAND_BATCH_FAULT;
        reply->code = (int32_t)r;
        snprintf(reply->text, sizeof(reply->text), "memory of another process stays mapped: %s",
                 atoll_cuda_describe(x->cuda, r, text, sizeof(text)));
    } else if (reply->status == ATOLL_COMMAND_BATCH_DONE) {
        reply->status = ATOLL_COMMAND_BATCH_REFUSED;
        reply->code = ATOLL_CUDA_ERROR_INVALID_VALUE;
        snprintf(reply->text, sizeof(reply->text), "the batch left memory of another process open");
    }
}
