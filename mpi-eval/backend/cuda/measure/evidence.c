#include "mpi-eval/backend/cuda/measure/evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/referee/check.h"

/* A copy with the alignment of doubles; NULL when it is not what was asked for. */
static void *take_copy(struct atoll_command_batch_reply *reply, uint64_t bytes)
{
    size_t length = 0;
    const void *from = atoll_command_batch_take_bytes(reply, &length);
    void *copy = length == bytes ? malloc(length + 1) : NULL;
    if (copy)
        memcpy(copy, from, length);
    return copy;
}

static void compare_here(const struct atoll_cuda_sample *s, size_t tensor, const void *data,
                         const double *values, const double *scale, char *detail)
{
    struct atoll_finding *f = malloc(sizeof *f);
    struct atoll_check check = {.task = s->task,
                                .variant = s->variant,
                                .tensor = tensor,
                                .data = data,
                                .values = values,
                                .scale = scale};
    if (f && atoll_check_compare(&check, f, NULL) == 0 && f->wrong && f->detail[0])
        snprintf(detail, ATOLL_DETAIL_BYTES, "%s", f->detail);
    free(f);
}

/* Unwritten elements are the device's finding: the fill is known there. */
void atoll_cuda_evidence(struct atoll_cuda_device *d, struct atoll_cuda_sample *s, size_t tensor,
                         const struct atoll_support_finding *finding, char *detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t count = s->plain.counts[tensor];
    if (finding->unwritten_count || count > ATOLL_EVIDENCE_ELEMENTS)
        return;
    atoll_command_batch_clear(&d->steps);
    int rc = atoll_cuda_sample_evidence(s, &d->steps, tensor, &err);
    if (rc == 0)
        rc = atoll_cuda_device_run_own(d, "evidence", &err);
    if (rc < 0) /* plain values may stand somewhere */
        atoll_cuda_device_drop(d);
    if (rc != 0)
        return;
    void *data = take_copy(&d->reply, s->layout.buffers[tensor].bytes);
    double *values = take_copy(&d->reply, count * 8);
    double *scale = s->plain.scale[tensor] ? take_copy(&d->reply, count * 8) : NULL;
    if (data && values && (scale || !s->plain.scale[tensor]))
        compare_here(s, tensor, data, values, scale, detail);
    free(data);
    free(values);
    free(scale);
}
