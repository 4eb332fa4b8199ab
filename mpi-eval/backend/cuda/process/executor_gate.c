/* executor_gate.c - holding the stream back, waiting for it, and its events by both clocks.
 * Whatever waits for the stream opens the gate first. */
#include <math.h>
#include <string.h>

#include "mpi-eval/backend/cuda/kernels/params.h"
#include "mpi-eval/backend/cuda/process/executor_state.h"
#include "base/clock.h"

unsigned atoll_executor_gate_close(struct atoll_cuda_executor *x, uint32_t function,
                                   struct atoll_device_command_launch *l)
{
    union {
        uint32_t *pointer;
        uint64_t number;
    } word = {x->gate};
    struct atoll_gate_launch p = {.word = word.number, .limit_ns = ATOLL_GATE_LIMIT_NS};
    if (!isnan(x->reply->opened_ns) || x->is_gated)
        return atoll_executor_refuse(x, "a batch has one gate");
    memset(l, 0, sizeof *l);
    l->function = function;
    for (int i = 0; i < 3; i++)
        l->grid[i] = l->block[i] = 1;
    atoll_device_command_params_struct(l, &p, sizeof p);
    __atomic_store_n(x->gate, 0u, __ATOMIC_SEQ_CST);
    x->is_gated = 1;
    return atoll_executor_launch(x, l);
}

static void events_note(struct atoll_cuda_executor *x)
{
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        if ((x->recorded >> i & 1) && isnan(x->reply->seen_ns[i]) &&
            x->cuda->cuEventQuery(x->events[i]) == ATOLL_CUDA_SUCCESS)
            x->reply->seen_ns[i] = atoll_clock_raw_ns() - x->begin_ns;
}

/* What has passed by now was not held back: it is noted as seen before. */
static void gate_open(struct atoll_cuda_executor *x)
{
    if (!x->is_gated)
        return;
    events_note(x);
    x->reply->opened_ns = atoll_clock_raw_ns() - x->begin_ns;
    __atomic_store_n(x->gate, 1u, __ATOMIC_SEQ_CST);
    x->is_gated = 0;
}

unsigned atoll_executor_wait(struct atoll_cuda_executor *x)
{
    gate_open(x);
    return x->cuda->cuStreamSynchronize(x->stream);
}

unsigned atoll_executor_event_record(struct atoll_cuda_executor *x, uint32_t event)
{
    if (event >= ATOLL_DEVICE_COMMAND_EVENT_LIMIT)
        return atoll_executor_refuse(x, "no such event");
    x->recorded |= 1u << event;
    return x->cuda->cuEventRecord(x->events[event], x->stream);
}

/* Waits for the stream and notes when each event was seen. */
unsigned atoll_executor_wait_watching(struct atoll_cuda_executor *x)
{
    unsigned r = ATOLL_CUDA_SUCCESS;
    gate_open(x);
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++) {
        if (!(x->recorded >> i & 1) || !isnan(x->reply->seen_ns[i]))
            continue;
        do
            r = x->cuda->cuEventQuery(x->events[i]);
        while (r == ATOLL_CUDA_ERROR_NOT_READY);
        if (r != ATOLL_CUDA_SUCCESS)
            return r;
        x->reply->seen_ns[i] = atoll_clock_raw_ns() - x->begin_ns;
    }
    return atoll_executor_wait(x);
}

void atoll_executor_events_read(struct atoll_cuda_executor *x)
{
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++) {
        float ms;
        if (!(x->recorded >> i & 1) || !(x->recorded & 1))
            continue;
        if (x->cuda->cuEventElapsedTime(&ms, x->events[0], x->events[i]) == ATOLL_CUDA_SUCCESS)
            x->reply->event_ns[i] = (double)ms * 1e6;
        x->reply->event_count = i + 1;
    }
}
