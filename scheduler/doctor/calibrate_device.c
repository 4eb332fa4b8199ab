#include "scheduler/doctor/calibrate_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/coordinator/setup.h"

#define COMPILE_SLOTS 2

int atoll_bench_setup(struct atoll_setup *ret_setup, struct atoll_err *err)
{
    struct atoll_setup setup;

    atoll_setup_defaults(&setup);
    if (getrandom(setup.secret, sizeof(setup.secret), 0) != (ssize_t)sizeof(setup.secret))
        return atoll_err_errno(err, errno, "no random bytes for the draws");
    *ret_setup = setup;
    return 0;
}

int atoll_bench_device_open(struct atoll_bench_device *device, struct atoll_err *err)
{
    const struct atoll_backend *backend = atoll_backend_find(device->setup.backend);

    prctl(PR_SET_DUMPABLE, 0);
    device->referee = NULL;
    device->compiler = NULL;
    if (!backend) {
        return atoll_err_set(err, ATOLL_E_INPUT, "this program has no backend \"%.15s\"",
                             device->setup.backend);
    }
    device->compiler = backend->compiler_create(&device->setup, COMPILE_SLOTS, err);
    if (device->compiler) {
        device->referee = atoll_referee_create(atoll_backend_find(device->setup.backend), &device->setup,
                                               device->compiler, err);
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
