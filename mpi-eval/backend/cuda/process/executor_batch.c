/* executor_batch.c - the steps of a batch, one after the other, and what came of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/executor_state.h"
#include "base/clock.h"

unsigned atoll_executor_refuse(struct atoll_cuda_executor *x, const char *text)
{
    snprintf(x->reply->text, sizeof x->reply->text, "%s", text);
    return ATOLL_CUDA_ERROR_INVALID_VALUE;
}

void atoll_executor_result_u64(struct atoll_cuda_executor *x, const uint64_t *values, size_t count)
{
    atoll_buffer_put_u32(&x->reply->results, (uint32_t)(8 * count));
    for (size_t i = 0; i < count; i++)
        atoll_buffer_put_u64(&x->reply->results, values[i]);
}

static unsigned carry_out(struct atoll_cuda_executor *x, const struct atoll_device_command *s,
                          struct atoll_device_command_launch *l)
{
    switch (s->kind) {
    case ATOLL_DEVICE_COMMAND_MODULE_LOAD: return atoll_executor_module_load(x, s);
    case ATOLL_DEVICE_COMMAND_MODULE_UNLOAD: return atoll_executor_module_unload(x, s->slot);
    case ATOLL_DEVICE_COMMAND_FUNCTION: return atoll_executor_function_get(x, s);
    case ATOLL_DEVICE_COMMAND_ALLOC: return atoll_executor_memory_alloc(x, s);
    case ATOLL_DEVICE_COMMAND_FREE: return atoll_executor_memory_free(x, s->slot);
    case ATOLL_DEVICE_COMMAND_MEMORY_INFO: return atoll_executor_memory_info(x);
    case ATOLL_DEVICE_COMMAND_LAUNCH: return atoll_executor_launch(x, l);
    case ATOLL_DEVICE_COMMAND_WRITE: return atoll_executor_memory_write(x, s);
    case ATOLL_DEVICE_COMMAND_READ: return atoll_executor_memory_read(x, s);
    case ATOLL_DEVICE_COMMAND_SET:
        return x->cuda->cuMemsetD32Async(s->address, s->slot, (size_t)s->count, x->stream);
    case ATOLL_DEVICE_COMMAND_EVENT: return atoll_executor_event_record(x, s->slot);
    case ATOLL_DEVICE_COMMAND_CACHE_RESET: return x->cuda->cuCtxResetPersistingL2Cache();
    case ATOLL_DEVICE_COMMAND_SYNC: return atoll_executor_wait(x);
    case ATOLL_DEVICE_COMMAND_GATE: return atoll_executor_gate_close(x, s->slot, l);
    case ATOLL_DEVICE_COMMAND_COUNTERS_OPEN: return atoll_executor_counters_open(x, s);
    case ATOLL_DEVICE_COMMAND_COUNTERS_BEGIN: return atoll_executor_counters_begin(x);
    case ATOLL_DEVICE_COMMAND_COUNTERS_END: return atoll_executor_counters_end(x);
    case ATOLL_DEVICE_COMMAND_KIND_COUNT: break;
    }
    return atoll_executor_refuse(x, "no such step");
}

/* A failed call leaves the context in order unless the stream cannot be waited for any more. */
static void batch_fail(struct atoll_cuda_executor *x, unsigned result)
{
    struct atoll_command_batch_reply *reply = x->reply;
    unsigned after = atoll_executor_wait(x);
    char own[sizeof reply->text];
    memcpy(own, reply->text, sizeof own);
    reply->status = after == ATOLL_CUDA_SUCCESS ? ATOLL_COMMAND_BATCH_REFUSED : ATOLL_COMMAND_BATCH_FAULT;
    reply->code = (int32_t)(after == ATOLL_CUDA_SUCCESS ? result : after);
    if (!own[0] || after != ATOLL_CUDA_SUCCESS)
        atoll_cuda_describe(x->cuda, (unsigned)reply->code, reply->text, sizeof reply->text);
}

static void steps_run(struct atoll_cuda_executor *x, struct atoll_device_command_launch *l)
{
    struct atoll_device_command step;
    unsigned r = ATOLL_CUDA_SUCCESS;
    int more = 0;
    while (r == ATOLL_CUDA_SUCCESS && (more = atoll_device_command_next(&x->reader, &step, l)) == 1) {
        r = carry_out(x, &step, l);
        x->reply->step += r == ATOLL_CUDA_SUCCESS;
    }
    if (r == ATOLL_CUDA_SUCCESS && more < 0)
        r = atoll_executor_refuse(x, "the batch is broken");
    if (r == ATOLL_CUDA_SUCCESS)
        r = atoll_executor_wait_watching(x);
    x->reply->wall_ns = atoll_clock_raw_ns() - x->begin_ns;
    if (r != ATOLL_CUDA_SUCCESS) {
        batch_fail(x, r);
        return;
    }
    atoll_executor_events_read(x);
    atoll_executor_reads_settle(x);
}

void atoll_cuda_executor_run(struct atoll_cuda_executor *executor, const void *batch, size_t length,
                             struct atoll_command_batch_reply *ret_reply)
{
    struct atoll_cuda_executor *x = executor;
    struct atoll_device_command_launch *l = malloc(sizeof *l);
    x->reply = ret_reply;
    x->reading_count = x->staged = 0;
    x->recorded = 0;
    x->is_gated = 0;
    x->begin_ns = atoll_clock_raw_ns();
    atoll_reader_init(&x->reader, batch, length);
    if (l) {
        steps_run(x, l);
        explicit_bzero(l, sizeof *l);
    } else {
        batch_fail(x, ATOLL_CUDA_ERROR_OUT_OF_MEMORY);
    }
    free(l);
    explicit_bzero(x->staging, x->staged);
}
