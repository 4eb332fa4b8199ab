#include "scheduler/bench_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

int atoll_bench_setup(struct atoll_setup *ret_setup, struct atoll_err *err)
{
    struct atoll_setup setup;

    memset(&setup, 0, sizeof(setup));
    if (getrandom(setup.secret, sizeof(setup.secret), 0) != (ssize_t)sizeof(setup.secret)) {
        return atoll_err_errno(err, errno, "no random bytes for the draws");
    }
    setup.sample_device_ns = 1e9;
    setup.sample_wall_ns = 2e9;
    setup.sample_min = 7;
    setup.interval_target = 0.005;
    setup.full_compares = 5;
    setup.compile_deadline_ns = 60e9;
    setup.compile_memory_bytes = (uint64_t)4 << 30;
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    snprintf(setup.compile_flags, sizeof(setup.compile_flags), "%s", ATOLL_RUN_COMPILE_FLAGS);
    *ret_setup = setup;
    return 0;
}

int atoll_bench_device_open(struct atoll_bench_device *device, struct atoll_err *err)
{
    struct atoll_compiler_settings settings = {device->setup.compiler,
                                               device->setup.compile_flags,
                                               2,
                                               device->setup.compile_deadline_ns,
                                               device->setup.compile_memory_bytes,
                                               (uint64_t)64 << 20};

    prctl(PR_SET_DUMPABLE, 0);
    device->referee = NULL;
    device->compiler = atoll_compiler_create(&settings, err);
    if (device->compiler) {
        device->referee = atoll_referee_create(&device->setup, device->compiler, err);
    }
    if (!device->referee) {
        atoll_bench_device_close(device);
        return -1;
    }
    return 0;
}

void atoll_bench_device_close(struct atoll_bench_device *device)
{
    atoll_referee_destroy(device->referee);
    atoll_compiler_destroy(device->compiler);
    device->referee = NULL;
    device->compiler = NULL;
    memset(device->setup.secret, 0, sizeof(device->setup.secret));
}
