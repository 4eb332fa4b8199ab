#include "mpi-eval/backend/cuda/measure/torch_inputs.h"

#include <stdio.h>
#include <string.h>

#include "core/task/init.h"
#include "mpi-eval/backend/cuda/measure/contents.h"
#include "mpi-eval/referee/input_set.h"

static json_t *launch_json(const struct atoll_tensor *t, const struct atoll_init_part *part)
{
    struct atoll_contents_launch launch;
    const unsigned char *bytes = (const unsigned char *)&launch;
    char hex[2 * sizeof(launch) + 1];
    uint64_t blocks = atoll_contents_of_part(part, 0, &launch);
    for (size_t i = 0; i < sizeof(launch); i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return json_pack("{s:I, s:I, s:s}", "at",
                     (json_int_t)part->begin * (json_int_t)atoll_dtype_bytes(t->dtype), "blocks",
                     (json_int_t)blocks, "params", hex);
}

static int fills_put(json_t *fills, const struct atoll_task *task, size_t tensor,
                     const struct atoll_variant *variant, uint64_t seed, unsigned distribution,
                     struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_init_part part = {0};
    for (size_t i = 0; i < atoll_init_part_count(t); i++) {
        if (atoll_init_settle(task, tensor, i, variant, seed, distribution, &part, err) != 0)
            return -1;
        if (json_array_append_new(fills, launch_json(t, &part)) != 0)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the inputs of a question to PyTorch");
    }
    return 0;
}

json_t *atoll_cuda_torch_inputs(const struct atoll_task *task, const struct atoll_variant *variant,
                                uint64_t seed, unsigned distribution, long changed_tensor,
                                struct atoll_err *err)
{
    json_t *inputs = json_object();
    for (size_t i = 0; i < task->tensor_count; i++) {
        json_t *fills = json_array();
        if (task->tensors[i].role == ATOLL_ROLE_OUT) {
            json_decref(fills);
            continue;
        }
        if (fills_put(fills, task, i, variant,
                      (long)i == changed_tensor ? seed ^ ATOLL_INPUT_SET_CHANGED : seed, distribution,
                      err) != 0) {
            json_decref(fills);
            json_decref(inputs);
            return NULL;
        }
        json_object_set_new(inputs, task->tensors[i].name, json_pack("{s:o}", "fills", fills));
    }
    return inputs;
}
