/* A stage without a candidate: tensors and no scratch, no image, no launch. */
#include "mpi-eval/backend/cuda/measure/examine.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/measure/stage.h"

struct bare {
    struct atoll_plan plan;
    struct atoll_prepared prepared;
    struct atoll_loaded_candidate candidate;
    struct atoll_cuda_stage stage;
    struct atoll_cuda_sample_results results;
};

static struct bare *bare_create(struct atoll_referee *referee, struct atoll_case *known,
                                const struct atoll_input_set *draw, struct atoll_err *err)
{
    struct bare *b = calloc(1, sizeof *b);
    if (!b) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to examine outputs");
        return NULL;
    }
    b->prepared = (struct atoll_prepared){.task = known->task, .plan = &b->plan};
    b->candidate = (struct atoll_loaded_candidate){.prepared = &b->prepared};
    b->stage = (struct atoll_cuda_stage){.referee = referee,
                                         .device = atoll_cuda_device_of(referee),
                                         .known = known,
                                         .candidate = &b->candidate,
                                         .draw = draw,
                                         .placement = atoll_referee_placement(referee)};
    return b;
}

/* Composes a batch on a stage that is set; runs it.  A lost process starts it again. */
typedef int bare_compose(struct bare *b, const void *const *data, size_t tensor,
                         struct atoll_command_batch *steps, struct atoll_err *err);

static int bare_run(struct bare *b, bare_compose *compose, const void *const *data, size_t tensor,
                    struct atoll_err *err)
{
    struct atoll_cuda_device *d = b->stage.device;
    int rc = 1;
    for (int i = 0; rc > 0 && i < ATOLL_CUDA_LOST_LIMIT; i++) {
        rc = atoll_cuda_stage_set(&b->stage, err);
        atoll_command_batch_clear(&d->steps);
        if (rc == 0)
            rc = compose(b, data, tensor, &d->steps, err);
        if (rc == 0)
            rc = atoll_cuda_device_run_own(d, "examining outputs", err);
    }
    if (rc < 0) /* plain values may stand somewhere */
        atoll_cuda_device_drop(d);
    return rc > 0 ? atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost %d times",
                                  ATOLL_CUDA_LOST_LIMIT)
                  : rc;
}

/* ---- the check ---- */

static int check_compose(struct bare *b, const void *const *data, size_t tensor,
                         struct atoll_command_batch *steps, struct atoll_err *err)
{
    (void)tensor;
    if (atoll_cuda_sample_put(&b->stage.sample, steps, data, err) != 0)
        return -1;
    return atoll_cuda_sample_check(&b->stage.sample, steps, NULL, err);
}

int atoll_cuda_examine(struct atoll_referee *referee, struct atoll_case *known,
                       const struct atoll_input_set *draw, const void *const *data, char *ret_detail,
                       struct atoll_err *err)
{
    struct bare *b = bare_create(referee, known, draw, err);
    int right = b && bare_run(b, check_compose, data, 0, err) == 0 ? 1 : -1;
    if (right == 1 &&
        atoll_cuda_sample_read(&b->stage.sample, &b->stage.device->reply, &b->results, err) != 0)
        right = -1;
    for (size_t i = 0; right == 1 && i < known->task->tensor_count; i++)
        if (atoll_cuda_is_output(known->task, i))
            right = atoll_support_finding_judge(&b->results.findings[i], known->task, i, b->stage.variant,
                                                ret_detail, ATOLL_DETAIL_BYTES);
    free(b);
    return right;
}

/* ---- what the reference says ---- */

static int expect_compose(struct bare *b, const void *const *data, size_t tensor,
                          struct atoll_command_batch *steps, struct atoll_err *err)
{
    if (atoll_cuda_sample_put(&b->stage.sample, steps, data, err) != 0)
        return -1;
    return atoll_cuda_sample_evidence(&b->stage.sample, steps, tensor, err);
}

static double *values_take(struct bare *b, size_t tensor, struct atoll_err *err)
{
    struct atoll_command_batch_reply *reply = &b->stage.device->reply;
    size_t length = 0;
    atoll_command_batch_take_bytes(reply, &length); /* the output itself */
    const void *from = atoll_command_batch_take_bytes(reply, &length);
    double *values = malloc(length + 1);
    if (!values || length != b->stage.sample.plain.counts[tensor] * sizeof *values) {
        free(values);
        atoll_err_set(err, ATOLL_E_PROTOCOL, "expected values of %s: %zu bytes",
                      b->stage.known->task->tensors[tensor].name, length);
        return NULL;
    }
    memcpy(values, from, length);
    return values;
}

int atoll_cuda_expect(struct atoll_referee *referee, struct atoll_case *known,
                      const struct atoll_input_set *draw, double **ret_values, struct atoll_err *err)
{
    static const void *const nothing[ATOLL_TASK_TENSOR_LIMIT];
    double *values[ATOLL_TASK_TENSOR_LIMIT] = {NULL};
    struct bare *b = bare_create(referee, known, draw, err);
    int rc = b ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < known->task->tensor_count; i++) {
        if (!atoll_cuda_is_output(known->task, i))
            continue;
        rc = bare_run(b, expect_compose, nothing, i, err);
        if (rc == 0 && !(values[i] = values_take(b, i, err)))
            rc = -1;
    }
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        if (rc == 0)
            ret_values[i] = values[i];
        else
            free(values[i]);
    }
    free(b);
    return rc;
}
