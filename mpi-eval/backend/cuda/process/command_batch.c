/* command_batch.c - wire form of batches and replies.
 * A batch: per command u8 kind, then its fields.  A reply: fixed fields, events, then the results as one blob of blobs.
 * Both sides are built from the same tree; the device process still checks what it reads, because a bug of ours must
 * end as an error, not as a launch at some address. */
#include "mpi-eval/backend/cuda/process/command_batch.h"

#include <math.h>
#include <string.h>

#define PARAM_ALIGN 8u

/* ---- a batch ---- */

void atoll_command_batch_init(struct atoll_command_batch *batch)
{
    atoll_buffer_init(&batch->bytes, ATOLL_COMMAND_BATCH_BYTES);
    batch->count = 0;
}

void atoll_command_batch_fini(struct atoll_command_batch *batch)
{
    atoll_buffer_fini(&batch->bytes);
    batch->count = 0;
}

void atoll_command_batch_clear(struct atoll_command_batch *batch)
{
    atoll_buffer_clear(&batch->bytes);
    batch->count = 0;
}

/* Every command has the same four numbers; what a kind does not use is 0. */
static void step_put(struct atoll_command_batch *batch, enum atoll_device_command_kind kind, uint32_t slot,
                     uint32_t other, uint64_t address, uint64_t count)
{
    atoll_buffer_put_u8(&batch->bytes, (uint8_t)kind);
    atoll_buffer_put_u32(&batch->bytes, slot);
    atoll_buffer_put_u32(&batch->bytes, other);
    atoll_buffer_put_u64(&batch->bytes, address);
    atoll_buffer_put_u64(&batch->bytes, count);
    batch->count++;
}

void atoll_command_batch_module_load(struct atoll_command_batch *batch, uint32_t module, const void *cubin,
                                     size_t length)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_MODULE_LOAD, module, 0, 0, 0);
    atoll_buffer_put_blob(&batch->bytes, cubin, length);
}

void atoll_command_batch_module_unload(struct atoll_command_batch *batch, uint32_t module)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_MODULE_UNLOAD, module, 0, 0, 0);
}

void atoll_command_batch_function(struct atoll_command_batch *batch, uint32_t function, uint32_t module,
                                  const char *name)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_FUNCTION, function, module, 0, 0);
    atoll_buffer_put_text(&batch->bytes, name);
}

void atoll_command_batch_alloc(struct atoll_command_batch *batch, uint32_t memory, uint64_t bytes)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_ALLOC, memory, 0, 0, bytes);
}

void atoll_command_batch_alloc_lent(struct atoll_command_batch *batch, uint32_t memory, uint64_t bytes)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_ALLOC, memory, 1, 0, bytes);
}

void atoll_command_batch_free(struct atoll_command_batch *batch, uint32_t memory)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_FREE, memory, 0, 0, 0);
}

#define MAP_WIRE_BYTES (5 * 4 + 8 + 5 * 8 + 4 * 8 + 5 * 4)

void atoll_command_batch_launch(struct atoll_command_batch *batch,
                                const struct atoll_device_command_launch *l)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_LAUNCH, l->function, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        atoll_buffer_put_u32(&batch->bytes, l->grid[i]);
    for (int i = 0; i < 3; i++)
        atoll_buffer_put_u32(&batch->bytes, l->block[i]);
    for (int i = 0; i < 3; i++)
        atoll_buffer_put_u32(&batch->bytes, l->cluster[i]);
    atoll_buffer_put_u32(&batch->bytes, l->shared_bytes);
    atoll_buffer_put_u32(&batch->bytes, l->cooperative);
    atoll_buffer_put_blob(&batch->bytes, l->params,
                          l->param_bytes <= ATOLL_DEVICE_COMMAND_PARAM_BYTES ? l->param_bytes : 0);
    atoll_buffer_put_u32(&batch->bytes, l->param_count);
    for (uint32_t i = 0; i < l->param_count && i < ATOLL_DEVICE_COMMAND_PARAM_LIMIT; i++)
        atoll_buffer_put_u32(&batch->bytes, l->param_offset[i]);
    atoll_buffer_put_u32(&batch->bytes, l->map_count);
    for (uint32_t k = 0; k < l->map_count && k < ATOLL_DEVICE_COMMAND_MAP_LIMIT; k++) {
        const struct atoll_device_command_map *m = &l->maps[k];
        atoll_buffer_put_u32(&batch->bytes, m->offset);
        atoll_buffer_put_u32(&batch->bytes, m->dtype);
        atoll_buffer_put_u32(&batch->bytes, m->rank);
        atoll_buffer_put_u32(&batch->bytes, m->swizzle_bytes);
        atoll_buffer_put_u32(&batch->bytes, m->l2_bytes);
        atoll_buffer_put_u64(&batch->bytes, m->address);
        for (int i = 0; i < 5; i++)
            atoll_buffer_put_u64(&batch->bytes, m->extent[i]);
        for (int i = 0; i < 4; i++)
            atoll_buffer_put_u64(&batch->bytes, m->stride_bytes[i]);
        for (int i = 0; i < 5; i++)
            atoll_buffer_put_u32(&batch->bytes, m->box[i]);
    }
}

void atoll_command_batch_write(struct atoll_command_batch *batch, uint64_t address, const void *bytes,
                               size_t length)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_WRITE, 0, 0, address, length);
    atoll_buffer_put_blob(&batch->bytes, bytes, length);
}

void atoll_command_batch_read(struct atoll_command_batch *batch, uint64_t address, uint64_t count)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_READ, 0, 0, address, count);
}

void atoll_command_batch_set(struct atoll_command_batch *batch, uint64_t address, uint32_t pattern,
                             uint64_t words)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_SET, pattern, 0, address, words);
}

void atoll_command_batch_event(struct atoll_command_batch *batch, uint32_t event)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_EVENT, event, 0, 0, 0);
}

void atoll_command_batch_cache_reset(struct atoll_command_batch *batch)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_CACHE_RESET, 0, 0, 0, 0);
}

void atoll_command_batch_sync(struct atoll_command_batch *batch)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_SYNC, 0, 0, 0, 0);
}

void atoll_command_batch_gate(struct atoll_command_batch *batch, uint32_t function)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_GATE, function, 0, 0, 0);
}

void atoll_command_batch_counters_open(struct atoll_command_batch *batch, uint32_t slot,
                                       const char *const *names, uint32_t count)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_COUNTERS_OPEN, slot, 0, 0, count);
    for (uint32_t i = 0; i < count; i++)
        atoll_buffer_put_text(&batch->bytes, names[i]);
}

void atoll_command_batch_counters_begin(struct atoll_command_batch *batch, uint32_t slot)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_COUNTERS_BEGIN, slot, 0, 0, 0);
}

void atoll_command_batch_counters_start(struct atoll_command_batch *batch)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_COUNTERS_START, 0, 0, 0, 0);
}

void atoll_command_batch_counters_end(struct atoll_command_batch *batch)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_COUNTERS_END, 0, 0, 0, 0);
}

void atoll_command_batch_foreign_open(struct atoll_command_batch *batch, const void *handle, uint64_t bytes)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_FOREIGN_OPEN, 0, 0, 0, bytes);
    atoll_buffer_put_blob(&batch->bytes, handle, ATOLL_DEVICE_COMMAND_HANDLE_BYTES);
}

void atoll_command_batch_foreign_copy(struct atoll_command_batch *batch, uint64_t address, uint64_t offset,
                                      uint64_t count)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_FOREIGN_COPY, 0, 0, address, count);
    atoll_buffer_put_u64(&batch->bytes, offset);
}

void atoll_command_batch_foreign_close(struct atoll_command_batch *batch)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_FOREIGN_CLOSE, 0, 0, 0, 0);
}

void atoll_command_batch_share(struct atoll_command_batch *batch, uint32_t memory)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_SHARE, memory, 0, 0, 0);
}

void atoll_command_batch_attach(struct atoll_command_batch *batch, uint32_t memory, const void *handle,
                                uint64_t bytes)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_ATTACH, memory, 0, 0, bytes);
    atoll_buffer_put_blob(&batch->bytes, handle, ATOLL_DEVICE_COMMAND_HANDLE_BYTES);
}

void atoll_command_batch_copy(struct atoll_command_batch *batch, uint32_t to_memory, uint32_t from_memory,
                              uint64_t bytes)
{
    step_put(batch, ATOLL_DEVICE_COMMAND_COPY, to_memory, from_memory, 0, bytes);
}

/* ---- kernel parameters ---- */

long atoll_device_command_param(struct atoll_device_command_launch *launch, const void *value, uint32_t bytes)
{
    uint32_t at = (launch->param_bytes + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    if (bytes > ATOLL_DEVICE_COMMAND_PARAM_BYTES || at > ATOLL_DEVICE_COMMAND_PARAM_BYTES - bytes ||
        launch->param_count >= ATOLL_DEVICE_COMMAND_PARAM_LIMIT)
        return -1;
    memset(launch->params + launch->param_bytes, 0, at - launch->param_bytes);
    if (value)
        memcpy(launch->params + at, value, bytes);
    else
        memset(launch->params + at, 0, bytes);
    launch->param_bytes = at + bytes;
    launch->param_offset[launch->param_count++] = at;
    return (long)at;
}

void atoll_device_command_params_struct(struct atoll_device_command_launch *launch, const void *value,
                                        uint32_t bytes)
{
    launch->param_bytes = launch->param_count = 0;
    atoll_device_command_param(launch, value, bytes);
}

/* ---- reading a batch ---- */

static int map_take(struct atoll_reader *r, struct atoll_device_command_map *m, uint32_t param_bytes)
{
    m->offset = atoll_reader_u32(r);
    m->dtype = atoll_reader_u32(r);
    m->rank = atoll_reader_u32_in(r, 1, 5);
    m->swizzle_bytes = atoll_reader_u32(r);
    m->l2_bytes = atoll_reader_u32(r);
    m->address = atoll_reader_u64(r);
    for (int i = 0; i < 5; i++)
        m->extent[i] = atoll_reader_u64(r);
    for (int i = 0; i < 4; i++)
        m->stride_bytes[i] = atoll_reader_u64(r);
    for (int i = 0; i < 5; i++)
        m->box[i] = atoll_reader_u32(r);
    return m->offset % 8 == 0 && m->offset <= param_bytes && param_bytes - m->offset >= 128 ? 0 : -1;
}

static int launch_take(struct atoll_reader *r, uint32_t function, struct atoll_device_command_launch *l)
{
    size_t length = 0;
    l->function = function;
    for (int i = 0; i < 3; i++)
        l->grid[i] = atoll_reader_u32(r);
    for (int i = 0; i < 3; i++)
        l->block[i] = atoll_reader_u32(r);
    for (int i = 0; i < 3; i++)
        l->cluster[i] = atoll_reader_u32(r);
    l->shared_bytes = atoll_reader_u32(r);
    l->cooperative = atoll_reader_u32_in(r, 0, 1);
    const void *params = atoll_reader_blob(r, &length);
    l->param_count = atoll_reader_u32_in(r, 0, ATOLL_DEVICE_COMMAND_PARAM_LIMIT);
    for (uint32_t i = 0; i < l->param_count; i++) {
        l->param_offset[i] = atoll_reader_u32(r);
        if (l->param_offset[i] >= length)
            return -1;
    }
    l->map_count = atoll_reader_count(r, MAP_WIRE_BYTES);
    if (r->failed || length > ATOLL_DEVICE_COMMAND_PARAM_BYTES ||
        l->map_count > ATOLL_DEVICE_COMMAND_MAP_LIMIT)
        return -1;
    l->param_bytes = (uint32_t)length;
    if (length)
        memcpy(l->params, params, length);
    for (uint32_t i = 0; i < l->map_count; i++)
        if (map_take(r, &l->maps[i], l->param_bytes) != 0)
            return -1;
    return 0;
}

/* Commands that carry names: the first stays with the command, the others are read by who carries it out. */
static int rest_take(struct atoll_reader *r, struct atoll_device_command *command,
                     struct atoll_device_command_launch *launch)
{
    switch (command->kind) {
    case ATOLL_DEVICE_COMMAND_LAUNCH: return launch_take(r, command->slot, launch);
    case ATOLL_DEVICE_COMMAND_MODULE_LOAD:
    case ATOLL_DEVICE_COMMAND_WRITE: command->bytes = atoll_reader_blob(r, &command->length); break;
    case ATOLL_DEVICE_COMMAND_FOREIGN_OPEN:
    case ATOLL_DEVICE_COMMAND_ATTACH:
        command->bytes = atoll_reader_blob(r, &command->length);
        return command->length == ATOLL_DEVICE_COMMAND_HANDLE_BYTES ? 0 : -1;
    case ATOLL_DEVICE_COMMAND_FOREIGN_COPY: command->offset = atoll_reader_u64(r); break;
    case ATOLL_DEVICE_COMMAND_FUNCTION: command->name = atoll_reader_blob(r, &command->name_length); break;
    case ATOLL_DEVICE_COMMAND_COUNTERS_OPEN:
        command->bytes = r->data + r->offset;
        if (command->count > ATOLL_DEVICE_COMMAND_COUNTER_LIMIT)
            return -1;
        for (uint64_t i = 0; i < command->count; i++) {
            size_t length;
            atoll_reader_blob(r, &length);
        }
        command->length = (size_t)(r->data + r->offset - (const unsigned char *)command->bytes);
        break;
    default: break;
    }
    return 0;
}

int atoll_device_command_next(struct atoll_reader *reader, struct atoll_device_command *ret_command,
                              struct atoll_device_command_launch *ret_launch)
{
    if (reader->failed)
        return -1;
    if (reader->offset == reader->length)
        return 0;
    unsigned kind = atoll_reader_u8(reader);
    if (kind < ATOLL_DEVICE_COMMAND_MODULE_LOAD || kind >= ATOLL_DEVICE_COMMAND_KIND_COUNT)
        return -1;
    *ret_command = (struct atoll_device_command){.kind = (enum atoll_device_command_kind)kind};
    ret_command->slot = atoll_reader_u32(reader);
    ret_command->other = atoll_reader_u32(reader);
    ret_command->address = atoll_reader_u64(reader);
    ret_command->count = atoll_reader_u64(reader);
    return rest_take(reader, ret_command, ret_launch) == 0 && !reader->failed ? 1 : -1;
}

/* ---- replies ---- */

void atoll_command_batch_reply_init(struct atoll_command_batch_reply *r)
{
    memset(r, 0, sizeof(*r));
    atoll_buffer_init(&r->results, ATOLL_COMMAND_BATCH_BYTES);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        r->event_ns[i] = r->seen_ns[i] = NAN;
    r->opened_ns = NAN;
}

void atoll_command_batch_reply_fini(struct atoll_command_batch_reply *r)
{
    atoll_buffer_fini(&r->results);
}

void atoll_command_batch_reply_encode(const struct atoll_command_batch_reply *r, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, (uint32_t)r->status);
    atoll_buffer_put_u32(out, r->command);
    atoll_buffer_put_i64(out, r->code);
    atoll_buffer_put_text(out, r->text);
    atoll_buffer_put_f64(out, r->wall_ns);
    atoll_buffer_put_f64(out, r->opened_ns);
    atoll_buffer_put_u32(out, r->event_count);
    for (uint32_t i = 0; i < r->event_count && i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++) {
        atoll_buffer_put_f64(out, r->event_ns[i]);
        atoll_buffer_put_f64(out, r->seen_ns[i]);
    }
    atoll_buffer_put_blob(out, r->results.data, r->results.length);
}

int atoll_command_batch_reply_decode(const void *bytes, size_t length,
                                     struct atoll_command_batch_reply *ret_reply, struct atoll_err *err)
{
    struct atoll_reader r;
    size_t result_length = 0;
    atoll_command_batch_reply_fini(ret_reply);
    atoll_command_batch_reply_init(ret_reply);
    atoll_reader_init(&r, bytes, length);
    ret_reply->status = (enum atoll_command_batch_status)atoll_reader_u32_in(&r, 0, ATOLL_COMMAND_BATCH_LOST);
    ret_reply->command = atoll_reader_u32(&r);
    int64_t code = atoll_reader_i64(&r);
    if (code < INT32_MIN || code > INT32_MAX)
        r.failed = ATOLL_E_PROTOCOL;
    ret_reply->code = (int32_t)code;
    atoll_reader_fixed_text(&r, ret_reply->text, sizeof(ret_reply->text));
    ret_reply->wall_ns = atoll_reader_f64(&r);
    ret_reply->opened_ns = atoll_reader_f64(&r);
    ret_reply->event_count = atoll_reader_u32_in(&r, 0, ATOLL_DEVICE_COMMAND_EVENT_LIMIT);
    for (uint32_t i = 0; i < ret_reply->event_count; i++) {
        ret_reply->event_ns[i] = atoll_reader_f64(&r);
        ret_reply->seen_ns[i] = atoll_reader_f64(&r);
    }
    const void *results = atoll_reader_blob(&r, &result_length);
    if (atoll_reader_finish(&r, "reply of the device process", err) != 0)
        return -1;
    atoll_buffer_put_bytes(&ret_reply->results, results, result_length);
    if (atoll_buffer_check(&ret_reply->results, err) != 0)
        return -1;
    atoll_reader_init(&ret_reply->reader, ret_reply->results.data, ret_reply->results.length);
    return 0;
}

const void *atoll_command_batch_take_bytes(struct atoll_command_batch_reply *r, size_t *ret_length)
{
    return atoll_reader_blob(&r->reader, ret_length);
}

uint64_t atoll_command_batch_take_u64(struct atoll_command_batch_reply *r)
{
    size_t length;
    uint64_t value = 0;
    const unsigned char *bytes = atoll_reader_blob(&r->reader, &length);
    if (length != 8) {
        r->reader.failed = ATOLL_E_PROTOCOL;
        return 0;
    }
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* A function travels as u32s: six facts, the number of parameters, offset and size of each. */
void atoll_command_batch_take_function(struct atoll_command_batch_reply *r,
                                       struct atoll_device_command_function *ret_function)
{
    struct atoll_reader in;
    size_t length;
    const void *bytes = atoll_reader_blob(&r->reader, &length);
    memset(ret_function, 0, sizeof(*ret_function));
    atoll_reader_init(&in, bytes, length);
    ret_function->registers = atoll_reader_u32(&in);
    ret_function->static_shared_bytes = atoll_reader_u32(&in);
    ret_function->local_bytes = atoll_reader_u32(&in);
    ret_function->constant_bytes = atoll_reader_u32(&in);
    ret_function->threads_limit = atoll_reader_u32(&in);
    ret_function->binary_version = atoll_reader_u32(&in);
    ret_function->param_count = atoll_reader_u32_in(&in, 0, ATOLL_DEVICE_COMMAND_PARAM_LIMIT);
    for (uint32_t i = 0; i < ret_function->param_count; i++) {
        ret_function->params[i].offset = atoll_reader_u32(&in);
        ret_function->params[i].bytes = atoll_reader_u32(&in);
    }
    if (in.failed || in.offset != in.length)
        r->reader.failed = ATOLL_E_PROTOCOL;
}
