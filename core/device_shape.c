#include "core/device_shape.h"

#include <string.h>

#include "core/message.h"

struct atoll_device_shape atoll_device_shape_of(const struct atoll_device_info *device)
{
    const struct atoll_device_limits *l = &device->limits;
    return (struct atoll_device_shape){
        .compute_capability = l->compute_capability,
        .multiprocessors = l->multiprocessors,
        .warp_size = l->warp_size,
        .threads_per_block = l->threads_per_block,
        .threads_per_multiprocessor = l->threads_per_multiprocessor,
        .blocks_per_multiprocessor = l->blocks_per_multiprocessor,
        .registers_per_multiprocessor = l->registers_per_multiprocessor,
        .shared_bytes_per_block = l->shared_bytes_per_block,
        .shared_bytes_per_multiprocessor = l->shared_bytes_per_multiprocessor,
        .threads = l->multiprocessors ? 0 : device->threads,
    };
}

int atoll_device_shape_is_known(const struct atoll_device_shape *shape)
{
    return shape->threads || (shape->multiprocessors && shape->threads_per_multiprocessor);
}

#define NUMBERS (sizeof(struct atoll_device_shape) / sizeof(uint32_t))

void atoll_device_shape_encode(const struct atoll_device_shape *shape, struct atoll_buffer *out)
{
    uint32_t numbers[NUMBERS];
    memcpy(numbers, shape, sizeof(numbers));
    for (size_t i = 0; i < NUMBERS; i++)
        atoll_buffer_put_u32(out, numbers[i]);
}

void atoll_device_shape_decode(struct atoll_reader *reader, struct atoll_device_shape *ret_shape)
{
    uint32_t numbers[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = atoll_reader_u32(reader);
    memcpy(ret_shape, numbers, sizeof(numbers));
}
