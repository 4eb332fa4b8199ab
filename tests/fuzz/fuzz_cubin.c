/* fuzz_cubin.c - any bytes as a device image, with and without a compiler's report: no crash, the same answer twice, and
 * what it says lies within its arrays.  Seeds: tests/fixtures/cubin. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct atoll_cubin one, other;

static const struct atoll_device_limits hopper = {.compute_capability = 90,
                                                  .multiprocessors = 132,
                                                  .warp_size = 32,
                                                  .threads_per_block = 1024,
                                                  .threads_per_multiprocessor = 2048,
                                                  .blocks_per_multiprocessor = 32,
                                                  .registers_per_multiprocessor = 65536,
                                                  .shared_bytes_per_block = 232448,
                                                  .shared_bytes_per_multiprocessor = 233472};

static void look(const uint8_t *data, size_t size, const char *report)
{
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    int rc = atoll_cubin_read(data, size, report, &one, NULL);
    if (rc != atoll_cubin_read(data, size, report, &other, NULL) || memcmp(&one, &other, sizeof(one)) != 0)
        abort();
    if (one.kernel_count > ATOLL_CUBIN_KERNEL_LIMIT)
        abort();
    for (size_t i = 0; i < one.kernel_count; i++) {
        enum atoll_occupancy_limit by = ATOLL_OCCUPANCY_COUNT;
        double share = atoll_cubin_occupancy(&one.kernels[i], &hopper, 256, 1024, &by);
        if (!(share >= 0 && share <= 1) || by == ATOLL_OCCUPANCY_COUNT ||
            one.kernels[i].param_count > ATOLL_CUBIN_PARAM_LIMIT ||
            strlen(one.kernels[i].name) >= sizeof(one.kernels[i].name))
            abort();
    }
}

/* The last byte says how much of the end is the report. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char report[256];
    look(data, size, "");
    if (size < 2)
        return 0;
    size_t n = data[size - 1] < size ? data[size - 1] : 0;
    memcpy(report, data + size - n, n);
    report[n] = 0;
    look(data, size - n, report);
    return 0;
}
