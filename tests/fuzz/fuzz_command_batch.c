/* fuzz_command_batch.c - any bytes as a batch and as a reply: no crash, every command points into the batch, and a reply that is
 * taken apart and put together again is the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/command_batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct atoll_device_command_launch launch;

static void inside(const uint8_t *data, size_t size, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    if (length && (at < data || at > data + size || length > (size_t)(data + size - at)))
        abort();
}

static void batch(const uint8_t *data, size_t size)
{
    struct atoll_reader reader;
    struct atoll_device_command command;
    atoll_reader_init(&reader, data, size);
    while (atoll_device_command_next(&reader, &command, &launch) == 1) {
        inside(data, size, command.name, command.name_length);
        inside(data, size, command.bytes, command.length);
        if (command.kind != ATOLL_DEVICE_COMMAND_LAUNCH)
            continue;
        if (launch.param_bytes > ATOLL_DEVICE_COMMAND_PARAM_BYTES ||
            launch.map_count > ATOLL_DEVICE_COMMAND_MAP_LIMIT)
            abort();
        for (uint32_t i = 0; i < launch.map_count; i++)
            if (launch.maps[i].rank < 1 || launch.maps[i].rank > 5 ||
                launch.maps[i].offset > ATOLL_DEVICE_COMMAND_PARAM_BYTES - 128)
                abort();
    }
}

static void take(struct atoll_command_batch_reply *r, unsigned how)
{
    struct atoll_device_command_function function;
    size_t length = 0;
    for (int i = 0; i < 8; i++, how >>= 2) {
        if (how % 4 == 0) {
            atoll_command_batch_take_function(r, &function);
            if (function.param_count > ATOLL_DEVICE_COMMAND_PARAM_LIMIT)
                abort();
        } else if (how % 4 == 1) {
            atoll_command_batch_take_u64(r);
        } else {
            inside(r->results.data, r->results.length, atoll_command_batch_take_bytes(r, &length), length);
        }
    }
}

static void reply(const uint8_t *data, size_t size)
{
    struct atoll_command_batch_reply r;
    struct atoll_buffer out;
    atoll_command_batch_reply_init(&r);
    atoll_buffer_init(&out, ATOLL_COMMAND_BATCH_BYTES);
    if (atoll_command_batch_reply_decode(data, size, &r, NULL) == 0) {
        if (r.event_count > ATOLL_DEVICE_COMMAND_EVENT_LIMIT || !memchr(r.text, 0, sizeof(r.text)))
            abort();
        atoll_command_batch_reply_encode(&r, &out);
        if (out.failed || out.length != size || memcmp(out.data, data, size) != 0)
            abort();
        take(&r, size ? data[size - 1] * 257u : 0);
    }
    atoll_buffer_fini(&out);
    atoll_command_batch_reply_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    batch(data, size);
    reply(data, size);
    return 0;
}
