/* executor_launch.c - launches, and the tensor maps in their parameters. */
#include <string.h>

#include "mpi-eval/backend/cuda/process/executor_state.h"

static unsigned map_type(uint32_t dtype)
{
    static const struct {
        unsigned type;
    } types[ATOLL_DTYPE_COUNT + 1] = {
        [ATOLL_F64] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
        [ATOLL_F32] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
        [ATOLL_F16] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
        [ATOLL_BF16] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
        [ATOLL_F8E4M3] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_UINT8},
        [ATOLL_F8E5M2] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_UINT8},
        [ATOLL_I64] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_INT64},
        [ATOLL_I32] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_INT32},
        [ATOLL_I16] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_UINT16},
        [ATOLL_I8] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_UINT8},
        [ATOLL_U8] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_UINT8},
        [ATOLL_DTYPE_COUNT] = {ATOLL_CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
    };
    return types[dtype <= ATOLL_DTYPE_COUNT ? dtype : ATOLL_U8].type;
}

static unsigned power_index(uint32_t bytes, uint32_t first)
{
    unsigned index = 0;
    for (uint32_t b = first; b && b <= bytes; b *= 2)
        index++;
    return index;
}

static unsigned map_encode(struct atoll_cuda_executor *x, const struct atoll_device_command_map *m,
                           unsigned char *to)
{
    static const uint32_t ones[5] = {1, 1, 1, 1, 1};
    struct atoll_cuda_tensor_map map;
    union {
        uint64_t number;
        void *pointer;
    } address = {m->address};
    unsigned r = x->cuda->cuTensorMapEncodeTiled(
        &map, map_type(m->dtype), m->rank, address.pointer, m->extent, m->stride_bytes, m->box, ones,
        ATOLL_CU_TENSOR_MAP_INTERLEAVE_NONE, power_index(m->swizzle_bytes, 32), power_index(m->l2_bytes, 64),
        ATOLL_CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r == ATOLL_CUDA_SUCCESS)
        memcpy(to, &map, sizeof map);
    return r;
}

static unsigned function_opt_in(struct atoll_cuda_executor *x, struct function *f,
                                const struct atoll_device_command_launch *l)
{
    unsigned r = ATOLL_CUDA_SUCCESS;
    if (l->shared_bytes > f->shared_bytes) {
        r = x->cuda->cuFuncSetAttribute(f->handle, ATOLL_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        (int)l->shared_bytes);
        f->shared_bytes = r == ATOLL_CUDA_SUCCESS ? l->shared_bytes : f->shared_bytes;
    }
    if (r == ATOLL_CUDA_SUCCESS && !f->wide_cluster && l->cluster[0] &&
        (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2] > ATOLL_EXECUTOR_PORTABLE_CLUSTER) {
        r = x->cuda->cuFuncSetAttribute(f->handle, ATOLL_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                        1);
        f->wide_cluster = r == ATOLL_CUDA_SUCCESS;
    }
    return r;
}

static unsigned attributes_set(const struct atoll_device_command_launch *l,
                               struct atoll_cuda_launch_attribute *attributes)
{
    unsigned count = 0;
    if (l->cluster[0]) {
        attributes[count].id = ATOLL_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = l->cluster[0];
        attributes[count].value.clusterDim.y = l->cluster[1];
        attributes[count++].value.clusterDim.z = l->cluster[2];
    }
    if (l->cooperative) {
        attributes[count].id = ATOLL_CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[count++].value.cooperative = 1;
    }
    return count;
}

unsigned atoll_executor_launch(struct atoll_cuda_executor *x, struct atoll_device_command_launch *l)
{
    struct atoll_cuda_launch_attribute attributes[2];
    if (l->function >= ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT || !x->functions[l->function].handle)
        return atoll_executor_refuse(x, "no such function");
    struct function *f = &x->functions[l->function];
    memset(attributes, 0, sizeof attributes);
    unsigned r = function_opt_in(x, f, l);
    for (uint32_t i = 0; r == ATOLL_CUDA_SUCCESS && i < l->map_count; i++)
        r = map_encode(x, &l->maps[i], l->params + l->maps[i].offset);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    struct atoll_cuda_launch config = {.gridDimX = l->grid[0],
                                       .gridDimY = l->grid[1],
                                       .gridDimZ = l->grid[2],
                                       .blockDimX = l->block[0],
                                       .blockDimY = l->block[1],
                                       .blockDimZ = l->block[2],
                                       .sharedMemBytes = l->shared_bytes,
                                       .hStream = x->stream,
                                       .attrs = attributes,
                                       .numAttrs = attributes_set(l, attributes)};
    void *params[ATOLL_DEVICE_COMMAND_PARAM_LIMIT];
    if (x->cuda->cuFuncGetParamInfo && f->param_count != l->param_count)
        return atoll_executor_refuse(x, "the launch has not as many parameters as its kernel");
    for (uint32_t i = 0; i < l->param_count; i++)
        params[i] = l->params + l->param_offset[i];
    return x->cuda->cuLaunchKernelEx(&config, f->handle, params, NULL);
}
