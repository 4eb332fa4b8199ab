/* executor.c - one stream, no waiting between commands.
 * Events are looked at while the stream works, so that the referee has a second clock: when the host saw each of them.  Batches,
 * staging and results hold keys and expected values, and a device may address host memory: whoever owns one wipes
 * it when its batch has ended.  executor_memory.c has the commands on memory. */
#include "mpi-eval/backend/cuda/process/executor_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mpi-eval/backend/cuda/kernels/params.h"

#define GATE_BYTES     64     /* behind the staging */
#define SHARED_DEFAULT 49152u /* dynamic shared bytes that need no opt-in */

/* ---- launches, and the tensor maps in their parameters ---- */

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
        memcpy(to, &map, sizeof(map));
    return r;
}

static unsigned function_opt_in(struct atoll_cuda_executor *x, struct atoll_executor_function *f,
                                const struct atoll_device_command_launch *l)
{
    unsigned r = ATOLL_CUDA_SUCCESS;
    if (l->shared_bytes > f->shared_bytes) {
        r = x->cuda->cuFuncSetAttribute(f->handle, ATOLL_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        (int)l->shared_bytes);
        f->shared_bytes = r == ATOLL_CUDA_SUCCESS ? l->shared_bytes : f->shared_bytes;
    }
    if (r == ATOLL_CUDA_SUCCESS && !f->wide_cluster && l->cluster[0] &&
        (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2] > ATOLL_CUDA_PORTABLE_CLUSTER) {
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

static unsigned launch(struct atoll_cuda_executor *x, struct atoll_device_command_launch *l)
{
    struct atoll_cuda_launch_attribute attributes[2];
    if (x->has_foreign)
        return atoll_executor_refuse(x,
                                     "nothing is launched in a batch that opens memory of another process");
    x->has_launched = 1;
    if (l->function >= ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT || !x->functions[l->function].handle)
        return atoll_executor_refuse(x, "no such function");
    struct atoll_executor_function *f = &x->functions[l->function];
    memset(attributes, 0, sizeof(attributes));
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

/* ---- holding the stream back, waiting for it, and its events by both clocks; whatever waits opens the gate first ---- */

static unsigned gate_close(struct atoll_cuda_executor *x, uint32_t function,
                           struct atoll_device_command_launch *l)
{
    union {
        uint32_t *pointer;
        uint64_t number;
    } word = {x->gate};
    struct atoll_gate_launch p = {.word = word.number, .limit_ns = ATOLL_GATE_LIMIT_NS};
    if (!isnan(x->reply->opened_ns) || x->is_gated)
        return atoll_executor_refuse(x, "a batch has one gate");
    memset(l, 0, sizeof(*l));
    l->function = function;
    for (int i = 0; i < 3; i++)
        l->grid[i] = l->block[i] = 1;
    atoll_device_command_params_struct(l, &p, sizeof(p));
    __atomic_store_n(x->gate, 0u, __ATOMIC_SEQ_CST);
    x->is_gated = 1;
    return launch(x, l);
}

static unsigned event_record(struct atoll_cuda_executor *x, uint32_t event)
{
    if (event >= ATOLL_DEVICE_COMMAND_EVENT_LIMIT)
        return atoll_executor_refuse(x, "no such event");
    x->recorded |= 1u << event;
    return x->cuda->cuEventRecord(x->events[event], x->stream);
}

/* Waits for the stream and records when each event was seen. */
static unsigned stream_wait_watching(struct atoll_cuda_executor *x)
{
    unsigned r = ATOLL_CUDA_SUCCESS;
    atoll_executor_gate_open(x);
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
    return atoll_executor_stream_wait(x);
}

/* ---- modules, and the functions in them; a function ends with its module ---- */

static unsigned module_unload(struct atoll_cuda_executor *x, uint32_t slot)
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

static unsigned module_load(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    unsigned r = module_unload(x, s->slot);
    return r == ATOLL_CUDA_SUCCESS ? x->cuda->cuModuleLoadData(&x->modules[s->slot], s->bytes) : r;
}

static void function_describe(struct atoll_cuda_executor *x, struct atoll_executor_function *function,
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
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
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

static unsigned function_get(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    char name[256];
    if (s->slot >= ATOLL_DEVICE_COMMAND_FUNCTION_LIMIT || s->other >= ATOLL_DEVICE_COMMAND_MODULE_LIMIT ||
        !x->modules[s->other] || s->name_length >= sizeof(name))
        return atoll_executor_refuse(x, "no such function slot or module");
    memcpy(name, s->name, s->name_length);
    name[s->name_length] = '\0';
    struct atoll_executor_function *f = &x->functions[s->slot];
    *f = (struct atoll_executor_function){.shared_bytes = SHARED_DEFAULT};
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

/* ---- hardware counters over the launches of a batch, which are repeated pass by pass ---- */

/* Trouble with counters is never the context's: a text of its own, and the batch ends there. */
static unsigned counters_fail(struct atoll_cuda_executor *x, const struct atoll_err *err)
{
    snprintf(x->reply->text, sizeof(x->reply->text), "%.250s", err->text);
    return err->code == ATOLL_E_DENIED ? ATOLL_CUDA_ERROR_NOT_PERMITTED : ATOLL_CUDA_ERROR_NOT_SUPPORTED;
}

static unsigned counters_open(struct atoll_cuda_executor *x, const struct atoll_device_command *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_reader names;
    char text[ATOLL_DEVICE_COMMAND_COUNTER_LIMIT][128];
    const char *list[ATOLL_DEVICE_COMMAND_COUNTER_LIMIT];
    atoll_reader_init(&names, s->bytes, s->length);
    for (uint64_t i = 0; i < s->count; i++) {
        atoll_reader_fixed_text(&names, text[i], sizeof(text[i]));
        list[i] = text[i];
    }
    if (names.failed)
        return atoll_executor_refuse(x, "a metric's name is too long");
    if (!x->counters)
        x->counters = atoll_counters_create(x->context, &err);
    size_t passes = 0;
    if (!x->counters || atoll_counters_open(x->counters, s->slot, list, (size_t)s->count, &passes, &err) != 0)
        return counters_fail(x, &err);
    uint64_t told = passes;
    atoll_executor_result_u64(x, &told, 1);
    return ATOLL_CUDA_SUCCESS;
}

static unsigned counters_begin(struct atoll_cuda_executor *x, unsigned slot)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (x->has_foreign)
        return atoll_executor_refuse(x, "nothing is counted in a batch that opens memory of another process");
    if (!x->counters)
        return atoll_executor_refuse(x, "no counters are open");
    unsigned r = atoll_executor_stream_wait(x);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    x->pass_offset = x->reader.offset;
    x->pass_command = x->reply->command;
    return atoll_counters_begin(x->counters, slot, &err) == 0 ? r : counters_fail(x, &err);
}

static unsigned counters_start(struct atoll_cuda_executor *x)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!x->counters)
        return atoll_executor_refuse(x, "no counters are open");
    unsigned r = atoll_executor_stream_wait(x);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    return atoll_counters_start(x->counters, &err) == 0 ? r : counters_fail(x, &err);
}

/* Goes back to what follows the begin until the last pass is done. */
static unsigned counters_end(struct atoll_cuda_executor *x)
{
    int more = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    const double *values;
    size_t ranges = 0, metrics = 0;
    if (!x->counters)
        return atoll_executor_refuse(x, "no counters are open");
    unsigned r = atoll_executor_stream_wait(x);
    if (r != ATOLL_CUDA_SUCCESS)
        return r;
    if (atoll_counters_pass(x->counters, &more, &err) != 0)
        return counters_fail(x, &err);
    if (more) {
        x->reader.offset = x->pass_offset;
        x->reply->command = x->pass_command;
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

/* ---- a batch: its commands one after the other, and what came of it ---- */

static unsigned carry_out(struct atoll_cuda_executor *x, const struct atoll_device_command *s,
                          struct atoll_device_command_launch *l)
{
    switch (s->kind) {
    case ATOLL_DEVICE_COMMAND_MODULE_LOAD: return module_load(x, s);
    case ATOLL_DEVICE_COMMAND_MODULE_UNLOAD: return module_unload(x, s->slot);
    case ATOLL_DEVICE_COMMAND_FUNCTION: return function_get(x, s);
    case ATOLL_DEVICE_COMMAND_ALLOC: return atoll_executor_alloc(x, s);
    case ATOLL_DEVICE_COMMAND_FREE: return atoll_executor_free(x, s->slot);
    case ATOLL_DEVICE_COMMAND_LAUNCH: return launch(x, l);
    case ATOLL_DEVICE_COMMAND_WRITE: return atoll_executor_write(x, s);
    case ATOLL_DEVICE_COMMAND_READ: return atoll_executor_read(x, s);
    case ATOLL_DEVICE_COMMAND_SET:
        return x->cuda->cuMemsetD32Async(s->address, s->slot, (size_t)s->count, x->stream);
    case ATOLL_DEVICE_COMMAND_EVENT: return event_record(x, s->slot);
    case ATOLL_DEVICE_COMMAND_CACHE_RESET: return x->cuda->cuCtxResetPersistingL2Cache();
    case ATOLL_DEVICE_COMMAND_SYNC: return atoll_executor_stream_wait(x);
    case ATOLL_DEVICE_COMMAND_GATE: return gate_close(x, s->slot, l);
    case ATOLL_DEVICE_COMMAND_COUNTERS_OPEN: return counters_open(x, s);
    case ATOLL_DEVICE_COMMAND_COUNTERS_BEGIN: return counters_begin(x, s->slot);
    case ATOLL_DEVICE_COMMAND_COUNTERS_START: return counters_start(x);
    case ATOLL_DEVICE_COMMAND_COUNTERS_END: return counters_end(x);
    case ATOLL_DEVICE_COMMAND_FOREIGN_OPEN: return atoll_executor_foreign_open(x, s);
    case ATOLL_DEVICE_COMMAND_FOREIGN_COPY: return atoll_executor_foreign_copy(x, s);
    case ATOLL_DEVICE_COMMAND_FOREIGN_CLOSE:
        return x->foreign ? atoll_executor_foreign_close(x)
                          : atoll_executor_refuse(x, "no memory of another process is open");
    case ATOLL_DEVICE_COMMAND_SHARE: return atoll_executor_share(x, s->slot);
    case ATOLL_DEVICE_COMMAND_ATTACH: return atoll_executor_attach(x, s);
    case ATOLL_DEVICE_COMMAND_COPY: return atoll_executor_copy(x, s);
    case ATOLL_DEVICE_COMMAND_KIND_COUNT: break;
    }
    return atoll_executor_refuse(x, "no such command");
}

/* A failed call leaves the context in order unless the stream cannot be waited for any more. */
static void batch_fail(struct atoll_cuda_executor *x, unsigned result)
{
    struct atoll_command_batch_reply *reply = x->reply;
    unsigned after = atoll_executor_stream_wait(x);
    char own[sizeof(reply->text)];
    memcpy(own, reply->text, sizeof(own));
    reply->status = after == ATOLL_CUDA_SUCCESS ? ATOLL_COMMAND_BATCH_REFUSED : ATOLL_COMMAND_BATCH_FAULT;
    reply->code = (int32_t)(after == ATOLL_CUDA_SUCCESS ? result : after);
    if (!own[0] || after != ATOLL_CUDA_SUCCESS)
        atoll_cuda_describe(x->cuda, (unsigned)reply->code, reply->text, sizeof(reply->text));
}

static void commands_run(struct atoll_cuda_executor *x, struct atoll_device_command_launch *l)
{
    struct atoll_device_command command;
    unsigned r = ATOLL_CUDA_SUCCESS;
    int more = 0;
    while (r == ATOLL_CUDA_SUCCESS && (more = atoll_device_command_next(&x->reader, &command, l)) == 1) {
        r = carry_out(x, &command, l);
        if (r == ATOLL_CUDA_ERROR_OUT_OF_MEMORY && atoll_executor_let_go(x))
            r = carry_out(x, &command, l);
        x->reply->command += r == ATOLL_CUDA_SUCCESS;
    }
    if (r == ATOLL_CUDA_SUCCESS && more < 0)
        r = atoll_executor_refuse(x, "the batch is broken");
    if (r == ATOLL_CUDA_SUCCESS)
        r = stream_wait_watching(x);
    x->reply->wall_ns = atoll_clock_raw_ns() - x->begin_ns;
    if (r != ATOLL_CUDA_SUCCESS) {
        batch_fail(x, r);
        return;
    }
    for (uint32_t i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++) {
        float ms;
        if (!(x->recorded >> i & 1) || !(x->recorded & 1))
            continue;
        if (x->cuda->cuEventElapsedTime(&ms, x->events[0], x->events[i]) == ATOLL_CUDA_SUCCESS)
            x->reply->event_ns[i] = (double)ms * 1e6;
        x->reply->event_count = i + 1;
    }
    for (size_t i = 0; i < x->reading_count; i++)
        memcpy(x->reply->results.data + x->readings[i].place, x->staging + x->readings[i].staged,
               x->readings[i].bytes);
}

void atoll_cuda_executor_run(struct atoll_cuda_executor *executor, const void *batch, size_t length,
                             struct atoll_command_batch_reply *ret_reply)
{
    struct atoll_cuda_executor *x = executor;
    struct atoll_device_command_launch *l = malloc(sizeof(*l));
    x->reply = ret_reply;
    x->reading_count = x->staged = 0;
    x->recorded = 0;
    x->is_gated = x->has_launched = x->has_foreign = 0;
    x->begin_ns = atoll_clock_raw_ns();
    atoll_reader_init(&x->reader, batch, length);
    if (l) {
        commands_run(x, l);
        explicit_bzero(l, sizeof(*l));
    } else {
        batch_fail(x, ATOLL_CUDA_ERROR_OUT_OF_MEMORY);
    }
    free(l);
    atoll_executor_foreign_end(x);
    explicit_bzero(x->staging, x->staged);
}

/* ---- lifetime ---- */

static int context_open(struct atoll_cuda_executor *x, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = x->cuda;
    unsigned r = cuda->cuDevicePrimaryCtxSetFlags(x->device, ATOLL_CU_CTX_SCHED_SPIN);
    if (r == ATOLL_CUDA_SUCCESS || r == ATOLL_CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE)
        r = cuda->cuDevicePrimaryCtxRetain(&x->context, x->device);
    if (r != ATOLL_CUDA_SUCCESS)
        return atoll_cuda_fail(cuda, r, "cannot make a context on the device (is it in exclusive use?)", err);
    x->has_context = 1;
    if ((r = cuda->cuCtxSetCurrent(x->context)) != ATOLL_CUDA_SUCCESS)
        return atoll_cuda_fail(cuda, r, "cannot use the context", err);
    /* Smaller than the driver allows is rounded up; a driver that refuses one keeps its default. */
    cuda->cuCtxSetLimit(ATOLL_CU_LIMIT_PRINTF_FIFO_SIZE, 4096);
    cuda->cuCtxSetLimit(ATOLL_CU_LIMIT_MALLOC_HEAP_SIZE, 4096);
    cuda->cuCtxSetLimit(ATOLL_CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    return 0;
}

static int resources_open(struct atoll_cuda_executor *x, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = x->cuda;
    void *staging = NULL;
    unsigned r = cuda->cuStreamCreate(&x->stream, ATOLL_CU_STREAM_NON_BLOCKING);
    if (r == ATOLL_CUDA_SUCCESS)
        r = cuda->cuMemHostAlloc(&staging, ATOLL_EXECUTOR_STAGING_BYTES + GATE_BYTES, 0);
    x->staging = staging;
    if (staging)
        x->gate = (uint32_t *)(void *)(x->staging + ATOLL_EXECUTOR_STAGING_BYTES);
    for (int i = 0; r == ATOLL_CUDA_SUCCESS && i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        r = cuda->cuEventCreate(&x->events[i], ATOLL_CU_EVENT_DEFAULT);
    return r == ATOLL_CUDA_SUCCESS ? 0 : atoll_cuda_fail(cuda, r, "cannot set up the device", err);
}

struct atoll_cuda_executor *atoll_cuda_executor_create(const char *device, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = atoll_cuda_open(err);
    return cuda ? atoll_cuda_executor_create_on(cuda, device, err) : NULL;
}

struct atoll_cuda_executor *atoll_cuda_executor_create_on(const struct atoll_cuda *cuda, const char *device,
                                                          struct atoll_err *err)
{
    struct atoll_cuda_executor *x = calloc(1, sizeof(*x));
    if (!x) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an executor");
        return NULL;
    }
    x->cuda = cuda;
    if (atoll_cuda_device_find(cuda, device, &x->device, err) == 0 && context_open(x, err) == 0 &&
        resources_open(x, err) == 0)
        return x;
    atoll_cuda_executor_destroy(x);
    return NULL;
}

void atoll_cuda_executor_destroy(struct atoll_cuda_executor *executor)
{
    if (!executor)
        return;
    const struct atoll_cuda *cuda = executor->cuda;
    atoll_counters_destroy(executor->counters);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        if (executor->events[i])
            cuda->cuEventDestroy(executor->events[i]);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_MODULE_LIMIT; i++)
        if (executor->modules[i])
            cuda->cuModuleUnload(executor->modules[i]);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_MEMORY_LIMIT; i++)
        if (executor->lent[i].is_mapped)
            atoll_executor_set_aside(executor, (uint32_t)i);
        else if (executor->memory[i])
            (executor->is_attached[i] ? cuda->cuIpcCloseMemHandle : cuda->cuMemFree)(executor->memory[i]);
    atoll_executor_let_go(executor);
    if (executor->staging)
        cuda->cuMemFreeHost(executor->staging);
    if (executor->stream)
        cuda->cuStreamDestroy(executor->stream);
    if (executor->has_context)
        cuda->cuDevicePrimaryCtxRelease(executor->device);
    free(executor);
}

int atoll_cuda_executor_facts(const struct atoll_cuda_executor *executor, struct atoll_cuda_facts *ret_facts,
                              struct atoll_err *err)
{
    return atoll_cuda_device_facts(executor->cuda, executor->device, ret_facts, err);
}
