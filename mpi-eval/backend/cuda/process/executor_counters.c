/* executor_counters.c - hardware counters over the launches of a batch, which are repeated pass by pass. */
#include <stdio.h>

#include "mpi-eval/backend/cuda/process/executor_state.h"

/* Trouble with counters is never the context's: a text of its own, and the batch ends there. */
static unsigned counters_fail(struct atoll_cuda_executor *x, const struct atoll_err *err)
{
    snprintf(x->reply->text, sizeof x->reply->text, "%.250s", err->text);
    return err->code == ATOLL_E_DENIED ? ATOLL_CUDA_ERROR_NOT_PERMITTED : ATOLL_CUDA_ERROR_NOT_SUPPORTED;
}

unsigned atoll_executor_counters_open(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_reader names;
    char text[ATOLL_DEVICE_COMMAND_COUNTER_LIMIT][128];
    const char *list[ATOLL_DEVICE_COMMAND_COUNTER_LIMIT];
    atoll_reader_init(&names, s->bytes, s->length);
    for (uint64_t i = 0; i < s->count; i++) {
        atoll_reader_fixed_text(&names, text[i], sizeof text[i]);
        list[i] = text[i];
    }
    if (names.failed)
        return atoll_executor_refuse(x, "a metric's name is too long");
    atoll_counters_destroy(x->counters);
    x->counters = atoll_counters_create(x->context, list, (size_t)s->count, &err);
    if (!x->counters)
        return counters_fail(x, &err);
    uint64_t passes = atoll_counters_passes(x->counters);
    atoll_executor_result_u64(x, &passes, 1);
    return ATOLL_CUDA_SUCCESS;
}

unsigned atoll_executor_counters_begin(struct atoll_cuda_executor *x)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!x->counters)
        return atoll_executor_refuse(x, "no counters are open");
    unsigned r = atoll_executor_wait(x);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    x->pass_offset = x->reader.offset;
    x->pass_step = x->reply->step;
    return atoll_counters_begin(x->counters, &err) == 0 ? r : counters_fail(x, &err);
}

/* Goes back to the first launch until the last pass is done. */
unsigned atoll_executor_counters_end(struct atoll_cuda_executor *x)
{
    int more = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    const double *values;
    size_t ranges = 0, metrics = 0;
    if (!x->counters)
        return atoll_executor_refuse(x, "no counters are open");
    unsigned r = atoll_executor_wait(x);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    if (atoll_counters_pass(x->counters, &more, &err) != 0)
        return counters_fail(x, &err);
    if (more) {
        x->reader.offset = x->pass_offset;
        x->reply->step = x->pass_step;
        return r;
    }
    if (atoll_counters_end(x->counters, &values, &ranges, &metrics, &err) != 0)
        return counters_fail(x, &err);
    struct atoll_buffer *out = &x->reply->results;
    atoll_buffer_put_u32(out, (uint32_t)(4 + 8 * ranges * metrics));
    atoll_buffer_put_u32(out, (uint32_t)ranges);
    for (size_t i = 0; i < ranges * metrics; i++)
        atoll_buffer_put_f64(out, values[i]);
    return r;
}
