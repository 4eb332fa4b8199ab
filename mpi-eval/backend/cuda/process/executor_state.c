#include "mpi-eval/backend/cuda/process/executor_state.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

unsigned atoll_executor_refuse(struct atoll_cuda_executor *x, const char *text)
{
    snprintf(x->reply->text, sizeof(x->reply->text), "%s", text);
    return ATOLL_CUDA_ERROR_INVALID_VALUE;
}

void atoll_executor_result_u64(struct atoll_cuda_executor *x, const uint64_t *values, size_t count)
{
    atoll_buffer_put_u32(&x->reply->results, (uint32_t)(8 * count));
    for (size_t i = 0; i < count; i++)
        atoll_buffer_put_u64(&x->reply->results, values[i]);
}

void atoll_executor_gate_open(struct atoll_cuda_executor *x)
{
    if (!x->is_gated)
        return;
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        if ((x->recorded >> i & 1) && isnan(x->reply->seen_ns[i]) &&
            x->cuda->cuEventQuery(x->events[i]) == ATOLL_CUDA_SUCCESS)
            x->reply->seen_ns[i] = atoll_clock_raw_ns() - x->begin_ns;
    x->reply->opened_ns = atoll_clock_raw_ns() - x->begin_ns;
    __atomic_store_n(x->gate, 1u, __ATOMIC_SEQ_CST);
    x->is_gated = 0;
}

unsigned atoll_executor_stream_wait(struct atoll_cuda_executor *x)
{
    atoll_executor_gate_open(x);
    return x->cuda->cuStreamSynchronize(x->stream);
}
