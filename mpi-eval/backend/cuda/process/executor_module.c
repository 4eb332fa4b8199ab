/* executor_module.c - modules, and the functions in them.  A function ends with its module. */
#include <string.h>

#include "mpi-eval/backend/cuda/process/executor_state.h"

#define SHARED_DEFAULT 49152u /* dynamic shared bytes that need no opt-in */

unsigned atoll_executor_module_unload(struct atoll_cuda_executor *x, uint32_t slot)
{
    if (slot >= ATOLL_DEVICE_COMMAND_MODULE_LIMIT)
        return atoll_executor_refuse(x, "no such module slot");
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT; i++)
        if (x->function_module[i] == slot)
            x->functions[i].handle = NULL;
    struct CUmod_st *module = x->modules[slot];
    x->modules[slot] = NULL;
    return module ? x->cuda->cuModuleUnload(module) : ATOLL_CUDA_SUCCESS;
}

unsigned atoll_executor_module_load(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    unsigned r = atoll_executor_module_unload(x, s->slot);
    return r == ATOLL_CUDA_SUCCESS ? x->cuda->cuModuleLoadData(&x->modules[s->slot], s->bytes) : r;
}

static void function_describe(struct atoll_cuda_executor *x, struct function *function,
                              struct atoll_buffer *out)
{
    static const unsigned attributes[] = {ATOLL_CU_FUNC_ATTRIBUTE_NUM_REGS,
                                          ATOLL_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                          ATOLL_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                          ATOLL_CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
                                          ATOLL_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                          ATOLL_CU_FUNC_ATTRIBUTE_BINARY_VERSION};
    struct CUfunc_st *f = function->handle;
    uint32_t count = 0;
    size_t offset[ATOLL_DEVICE_COMMAND_PARAM_LIMIT], bytes[ATOLL_DEVICE_COMMAND_PARAM_LIMIT];
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        int value = 0;
        x->cuda->cuFuncGetAttribute(&value, attributes[i], f);
        atoll_buffer_put_u32(out, (uint32_t)value);
    }
    while (x->cuda->cuFuncGetParamInfo && count < ATOLL_DEVICE_COMMAND_PARAM_LIMIT &&
           x->cuda->cuFuncGetParamInfo(f, count, &offset[count], &bytes[count]) == ATOLL_CUDA_SUCCESS)
        count++;
    atoll_buffer_put_u32(out, count);
    function->param_count = count;
    for (uint32_t i = 0; i < count; i++) {
        atoll_buffer_put_u32(out, (uint32_t)offset[i]);
        atoll_buffer_put_u32(out, (uint32_t)bytes[i]);
    }
}

unsigned atoll_executor_function_get(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    char name[256];
    if (s->slot >= ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT || s->other >= ATOLL_DEVICE_COMMAND_MODULE_LIMIT ||
        !x->modules[s->other] || s->name_length >= sizeof name)
        return atoll_executor_refuse(x, "no such function slot or module");
    memcpy(name, s->name, s->name_length);
    name[s->name_length] = '\0';
    struct function *f = &x->functions[s->slot];
    *f = (struct function){.shared_bytes = SHARED_DEFAULT};
    x->function_module[s->slot] = s->other;
    unsigned r = x->cuda->cuModuleGetFunction(&f->handle, x->modules[s->other], name);
    if (r != ATOLL_CUDA_SUCCESS) {
        f->handle = NULL;
        return r;
    }
    struct atoll_buffer out;
    atoll_buffer_init(&out, 4096);
    function_describe(x, f, &out);
    atoll_buffer_put_blob(&x->reply->results, out.data, out.length);
    atoll_buffer_fini(&out);
    return r;
}
