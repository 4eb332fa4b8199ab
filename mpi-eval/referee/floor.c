#include "mpi-eval/referee/floor.h"

#include <math.h>

/* Bytes that must pass between memory and the last-level cache. */
static double compulsory_bytes(const struct atoll_work *work, double cache_bytes, int is_warm)
{
    if (is_warm)
        return fmax(0.0, work->read_bytes + work->write_bytes - cache_bytes);
    return work->read_bytes + fmax(0.0, work->write_bytes - cache_bytes);
}

struct atoll_floor atoll_floor_of(const struct atoll_work *work, unsigned precisions,
                                  const struct atoll_device_info *device, int is_warm)
{
    struct atoll_floor f = {0};
    double bytes = compulsory_bytes(work, device->last_level_cache_bytes, is_warm);
    /* The measured peak that stands for an arithmetic type, of ordinary or tensor units, whichever is faster: types without
     * a measurement of their own count as float, since the audit floor refuses nothing. */
    double peak = 0;
    for (unsigned t = 0; t <= ATOLL_DTYPE_COUNT; t++) {
        if (!(precisions >> t & 1u))
            continue;
        double one = fmax(t < ATOLL_DTYPE_COUNT ? device->peak_flops[t] : 0, device->limits.tensor_flops[t]);
        peak = fmax(peak, one > 0 || t == ATOLL_F64 ? one : device->peak_flops[ATOLL_F32]);
    }
    if (device->bandwidth_bytes_per_s > 0)
        f.hard_ns = 1e9 * bytes / device->bandwidth_bytes_per_s;
    f.hard_ns = fmax(f.hard_ns, device->empty_launch_ns);
    if (peak > 0)
        f.audit_ns = 1e9 * work->flops / peak;
    f.reporting_ns = fmax(f.hard_ns, f.audit_ns);
    return f;
}
