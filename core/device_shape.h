/* device_shape.h - of a device what sizes of tiles follow from: how many units there are and what each holds.
 * Layer: core.  Plain value; all 0 where nothing is known.  No rates: those are measured and differ from run to run. */
#ifndef ATOLL_CORE_DEVICE_SHAPE_H
#define ATOLL_CORE_DEVICE_SHAPE_H

#include "base/buffer.h"

struct atoll_device_info; /* core/message.h */

struct atoll_device_shape {
    uint32_t compute_capability; /* 90 */
    uint32_t multiprocessors, warp_size;
    uint32_t threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    uint32_t registers_per_multiprocessor;
    uint32_t shared_bytes_per_block, shared_bytes_per_multiprocessor;
    uint32_t threads; /* of a candidate, cpu */
};

struct atoll_device_shape atoll_device_shape_of(const struct atoll_device_info *device);
int atoll_device_shape_is_known(const struct atoll_device_shape *shape);
void atoll_device_shape_encode(const struct atoll_device_shape *shape, struct atoll_buffer *out);
void atoll_device_shape_decode(struct atoll_reader *reader, struct atoll_device_shape *ret_shape);

#endif
