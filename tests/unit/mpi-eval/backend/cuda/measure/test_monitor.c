/* A machine without NVML is a reason, not a failure; every answer that a driver may give, also none, is read for what it
 * is.  Answers come from a script, as no device gives all of them at will. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/backend/cuda/measure/monitor.h"
#include "mpi-eval/backend/cuda/measure/nvml.h"

#define UUID "GPU-7a4b6c2e-0000-1111-2222-333344445555"

/* What the driver answers; a result of 0 is success.  Reset by setup. */
static struct script {
    unsigned int init, handle, clock, state, ecc, mig, types, create, register_, wait;
    unsigned int processes;
    unsigned int process_count;
    unsigned int pids[300];
    unsigned long long supported;
    unsigned int event_count;
    unsigned long long xids[400], event_type;
    unsigned int mig_mode;
    /* what was called */
    int started, stopped, sets_made, sets_freed;
} script;

static unsigned int play_init(void)
{
    script.started += script.init == 0;
    return script.init;
}

static unsigned int play_shutdown(void)
{
    script.stopped++;
    return 0;
}

static const char *play_error(unsigned int result)
{
    return result == ATOLL_NVML_ERROR_UNKNOWN ? NULL : "told by the driver";
}

static unsigned int play_text(char *ret_text, unsigned int length)
{
    snprintf(ret_text, length, "580.95.05");
    return script.state;
}

static unsigned int play_cuda(int *ret_version)
{
    *ret_version = 13000;
    return script.state;
}

static unsigned int play_handle(const char *uuid, struct nvmlDevice_st **ret_device)
{
    assert_string_equal(uuid, UUID);
    *ret_device = (struct nvmlDevice_st *)&script;
    return script.handle;
}

static unsigned int play_name(struct nvmlDevice_st *device, char *ret_text, unsigned int length)
{
    snprintf(ret_text, length, "NVIDIA H200");
    return script.state;
}

static unsigned int play_pci(struct nvmlDevice_st *device, struct atoll_nvml_pci *ret_pci)
{
    memset(ret_pci->busId, 'x', sizeof(ret_pci->busId)); /* without an end */
    return script.state;
}

static unsigned int play_clock(struct nvmlDevice_st *device, unsigned int clock, unsigned int *ret_mhz)
{
    assert_ptr_equal(device, &script);
    *ret_mhz = clock == ATOLL_NVML_CLOCK_SM ? 1980 : 3201;
    return script.clock;
}

static unsigned int play_reasons(struct nvmlDevice_st *device, unsigned long long *ret_reasons)
{
    *ret_reasons = ATOLL_nvmlClocksThrottleReasonSwPowerCap;
    return script.state;
}

static unsigned int play_temperature(struct nvmlDevice_st *device, unsigned int sensor,
                                     unsigned int *ret_celsius)
{
    *ret_celsius = 61;
    return script.state;
}

static unsigned int play_power(struct nvmlDevice_st *device, unsigned int *ret_milliwatt)
{
    *ret_milliwatt = 512500;
    return script.state;
}

static unsigned int play_mig(struct nvmlDevice_st *device, unsigned int *ret_current,
                             unsigned int *ret_pending)
{
    *ret_current = script.mig_mode;
    *ret_pending = 1 - script.mig_mode;
    return script.mig;
}

static unsigned int play_ecc(struct nvmlDevice_st *device, unsigned int type, unsigned int counter,
                             unsigned long long *ret_count)
{
    assert_int_equal(counter, ATOLL_NVML_VOLATILE_ECC);
    *ret_count = type == ATOLL_NVML_MEMORY_ERROR_TYPE_CORRECTED ? 5 : 2;
    return script.ecc;
}

static unsigned int play_processes(struct nvmlDevice_st *device, unsigned int *count,
                                   struct atoll_nvml_process *ret_processes)
{
    unsigned int room = *count;
    *count = script.process_count;
    if (script.process_count > room)
        return ATOLL_NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < script.process_count; i++)
        ret_processes[i] = (struct atoll_nvml_process){.pid = script.pids[i]};
    return script.processes;
}

static unsigned int play_types(struct nvmlDevice_st *device, unsigned long long *ret_types)
{
    *ret_types = script.supported;
    return script.types;
}

static unsigned int play_set(struct nvmlEventSet_st **ret_set)
{
    *ret_set = (struct nvmlEventSet_st *)&script;
    script.sets_made += script.create == 0;
    return script.create;
}

static unsigned int play_register(struct nvmlDevice_st *device, unsigned long long types,
                                  struct nvmlEventSet_st *set)
{
    assert_int_equal(types, ATOLL_nvmlEventTypeXidCriticalError);
    return script.register_;
}

static unsigned int play_wait(struct nvmlEventSet_st *set, struct atoll_nvml_event *ret_event,
                              unsigned int timeout_ms)
{
    assert_int_equal(timeout_ms, 0);
    if (script.wait || script.event_count == 0)
        return script.wait ? script.wait : ATOLL_NVML_ERROR_TIMEOUT;
    script.event_count--;
    ret_event->eventType = script.event_type;
    ret_event->eventData = script.xids[script.event_count];
    return 0;
}

static unsigned int play_free(struct nvmlEventSet_st *set)
{
    script.sets_freed++;
    return 0;
}

static struct atoll_nvml nvml = {
    .nvmlInit = play_init,
    .nvmlShutdown = play_shutdown,
    .nvmlErrorString = play_error,
    .nvmlSystemGetDriverVersion = play_text,
    .nvmlSystemGetCudaDriverVersion = play_cuda,
    .nvmlDeviceGetHandleByUUID = play_handle,
    .nvmlDeviceGetName = play_name,
    .nvmlDeviceGetUUID = play_name,
    .nvmlDeviceGetPciInfo = play_pci,
    .nvmlDeviceGetClockInfo = play_clock,
    .nvmlDeviceGetMaxClockInfo = play_clock,
    .nvmlDeviceGetCurrentClocksEventReasons = play_reasons,
    .nvmlDeviceGetMigMode = play_mig,
    .nvmlDeviceGetTotalEccErrors = play_ecc,
    .nvmlDeviceGetComputeRunningProcesses = play_processes,
    .nvmlDeviceGetTemperature = play_temperature,
    .nvmlDeviceGetPowerUsage = play_power,
    .nvmlDeviceGetSupportedEventTypes = play_types,
    .nvmlDeviceRegisterEvents = play_register,
    .nvmlEventSetCreate = play_set,
    .nvmlEventSetWait = play_wait,
    .nvmlEventSetFree = play_free,
};

static int setup(void **state)
{
    script = (struct script){.supported = ATOLL_nvmlEventTypeXidCriticalError,
                             .event_type = ATOLL_nvmlEventTypeXidCriticalError};
    nvml.nvmlDeviceGetTemperature = play_temperature;
    nvml.nvmlDeviceGetMigMode = play_mig;
    nvml.nvmlDeviceGetComputeRunningProcesses = play_processes;
    return 0;
}

static struct atoll_monitor *create(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_monitor *monitor = atoll_monitor_create_on(&nvml, UUID, &err);
    if (!monitor)
        fail_msg("%s", err.text);
    return monitor;
}

static struct atoll_monitor_reading read_once(const pid_t *ours, size_t count)
{
    struct atoll_monitor_reading reading;
    struct atoll_monitor *monitor = create();
    memset(&reading, 0xff, sizeof(reading));
    assert_int_equal(atoll_monitor_read(monitor, ours, count, &reading, NULL), 0);
    atoll_monitor_destroy(monitor);
    assert_int_equal(script.started, script.stopped);
    assert_int_equal(script.sets_made, script.sets_freed);
    return reading;
}

static void a_machine_without_nvml_says_so(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_monitor *monitor = atoll_monitor_create("GPU-none", &err);
    assert_null(monitor);
    atoll_monitor_destroy(monitor);
    if (err.code == ATOLL_E_NOTFOUND || err.code == ATOLL_E_DENIED) { /* there is a driver here */
        assert_non_null(strstr(err.text, "GPU-none"));
        return;
    }
    assert_int_equal(err.code, ATOLL_E_MISSING);
    assert_non_null(strstr(err.text, "NVIDIA"));
}

static void a_full_answer_is_read(void **state)
{
    struct atoll_monitor *monitor = create();
    const struct atoll_monitor_facts *facts = atoll_monitor_facts(monitor);
    assert_string_equal(facts->model, "NVIDIA H200");
    assert_string_equal(facts->driver, "580.95.05");
    assert_int_equal(strlen(facts->pci), 31);
    assert_int_equal(facts->cuda_version, 13000);
    assert_true(facts->sm_max_hz == 1.98e9 && facts->memory_max_hz == 3.201e9);
    atoll_monitor_destroy(monitor);
    struct atoll_monitor_reading r = read_once(NULL, 0);
    assert_true(r.sm_hz == 1.98e9 && r.memory_hz == 3.201e9);
    assert_true(r.temperature_celsius == 61.0 && fabs(r.power_watt - 512.5) < 1e-9);
    assert_true(r.has_throttle && r.throttle_reasons == ATOLL_nvmlClocksThrottleReasonSwPowerCap);
    assert_true(r.has_ecc && r.ecc_corrected == 5 && r.ecc_uncorrected == 2);
    assert_true(r.has_others && r.process_count == 0 && r.other_count == 0);
    assert_true(r.has_events && r.xid_count == 0 && r.mig == 0);
}

static void what_is_not_told_is_marked(void **state)
{
    script.clock = script.state = script.ecc = script.mig = script.types = script.processes =
        ATOLL_NVML_ERROR_NOT_SUPPORTED;
    struct atoll_monitor *monitor = create();
    const struct atoll_monitor_facts *facts = atoll_monitor_facts(monitor);
    assert_true(facts->model[0] == 0 && facts->uuid[0] == 0 && facts->driver[0] == 0 && facts->pci[0] == 0);
    assert_true(facts->cuda_version == 0 && isnan(facts->sm_max_hz) && isnan(facts->memory_max_hz));
    atoll_monitor_destroy(monitor);
    struct atoll_monitor_reading r = read_once(NULL, 0);
    assert_true(isnan(r.sm_hz) && isnan(r.memory_hz) && isnan(r.temperature_celsius) && isnan(r.power_watt));
    assert_true(!r.has_throttle && !r.has_ecc && !r.has_others && !r.has_events);
    assert_true(r.throttle_reasons == 0 && r.ecc_corrected == 0 && r.ecc_uncorrected == 0);
    assert_int_equal(r.mig, 0); /* a device that cannot be cut is not */
}

static void functions_of_newer_drivers_may_lack(void **state)
{
    nvml.nvmlDeviceGetTemperature = NULL;
    nvml.nvmlDeviceGetMigMode = NULL;
    nvml.nvmlDeviceGetComputeRunningProcesses = NULL;
    struct atoll_monitor_reading r = read_once(NULL, 0);
    assert_true(isnan(r.temperature_celsius) && r.mig == -1 && !r.has_others);
}

static void slices_are_told(void **state)
{
    script.mig_mode = 1;
    assert_int_equal(read_once(NULL, 0).mig, 1);
    script.mig = ATOLL_NVML_ERROR_NO_PERMISSION;
    assert_int_equal(read_once(NULL, 0).mig, -1);
}

static const struct {
    unsigned int init, handle;
    enum atoll_code code;
    const char *text;
} refusals[] = {
    {ATOLL_NVML_ERROR_DRIVER_NOT_LOADED, 0, ATOLL_E_MISSING,
     "NVML does not start: told by the driver: run on"},
    {ATOLL_NVML_ERROR_LIB_RM_VERSION_MISMATCH, 0, ATOLL_E_MISSING, "was updated"},
    {ATOLL_NVML_ERROR_NO_PERMISSION, 0, ATOLL_E_DENIED, "access"},
    {ATOLL_NVML_ERROR_UNKNOWN, 0, ATOLL_E_IO, "unknown error of NVML: look at"},
    {0, ATOLL_NVML_ERROR_NOT_FOUND, ATOLL_E_NOTFOUND,
     "device " UUID " cannot be monitored: told by the driver: nvidia-smi -L"},
    {0, ATOLL_NVML_ERROR_INVALID_ARGUMENT, ATOLL_E_NOTFOUND, UUID},
    {0, ATOLL_NVML_ERROR_GPU_IS_LOST, ATOLL_E_NOTFOUND, "administrator"},
};

static void refusals_are_explained(void **state)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        setup(NULL);
        script.init = refusals[i].init;
        script.handle = refusals[i].handle;
        assert_null(atoll_monitor_create_on(&nvml, UUID, &err));
        assert_int_equal(err.code, refusals[i].code);
        assert_non_null(strstr(err.text, refusals[i].text));
        assert_int_equal(script.started, script.stopped);
    }
}

static void a_lost_device_is_an_error(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_monitor_reading reading = {.mig = 77};
    struct atoll_monitor *monitor = create();
    script.clock = ATOLL_NVML_ERROR_GPU_IS_LOST;
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &reading, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_non_null(strstr(err.text, "the device does not answer"));
    assert_int_equal(reading.mig, 77);
    atoll_monitor_destroy(monitor);
}

static const struct {
    unsigned int count, pid; /* on the device: pid and those that follow it */
    pid_t ours[2];
    size_t ours_count;
    int has_others;
    size_t other_count;
    pid_t first;
} process_cases[] = {
    {0, 100, {100, 0}, 1, 1, 0, 0},     {1, 100, {100, 0}, 1, 1, 0, 0},
    {3, 100, {101, 0}, 1, 1, 2, 100},   {3, 100, {100, 101}, 2, 1, 1, 102},
    {2, 100, {0, 0}, 0, 1, 2, 100},     {2, 100, {7, 8}, 2, 0, 0, 0},
    {70, 100, {100, 0}, 1, 1, 69, 101}, {2, 100, {-100, 100}, 2, 1, 1, 101},
    {300, 100, {100, 0}, 1, 1, 299, 0}, {2, 0, {0, 0}, 1, 0, 0, 0}, /* no process of ours has pid 0 */
};

static void others_are_told_from_ours(void **state)
{
    for (size_t i = 0; i < sizeof(process_cases) / sizeof(*process_cases); i++) {
        setup(NULL);
        script.process_count = process_cases[i].count;
        for (unsigned int k = 0; k < script.process_count; k++)
            script.pids[k] = process_cases[i].pid + k;
        struct atoll_monitor_reading r = read_once(process_cases[i].ours, process_cases[i].ours_count);
        assert_int_equal(r.process_count, process_cases[i].count);
        assert_int_equal(r.has_others, process_cases[i].has_others);
        assert_int_equal(r.other_count, process_cases[i].other_count);
        assert_int_equal(r.xid_count, 0);
        if (r.has_others)
            assert_int_equal(r.others[0], process_cases[i].first);
    }
}

static void xids_are_taken_once(void **state)
{
    struct atoll_monitor_reading r;
    struct atoll_monitor *monitor = create();
    script.xids[0] = 43;
    script.xids[1] = 31;
    script.event_count = 2;
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &r, NULL), 0);
    assert_true(r.has_events && r.xid_count == 2 && r.xids[0] == 31 && r.xids[1] == 43);
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &r, NULL), 0);
    assert_true(r.has_events && r.xid_count == 0);
    script.event_count = 20;
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &r, NULL), 0);
    assert_true(r.has_events && r.xid_count == 20);
    script.event_count = 400; /* a storm does not hold a read up */
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &r, NULL), 0);
    assert_true(r.has_events && r.xid_count == 256 && script.event_count == 144);
    script.event_type = ATOLL_nvmlEventTypeDoubleBitEccError;
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &r, NULL), 0);
    assert_int_equal(r.xid_count, 0);
    script.wait = ATOLL_NVML_ERROR_UNKNOWN;
    assert_int_equal(atoll_monitor_read(monitor, NULL, 0, &r, NULL), 0);
    assert_false(r.has_events);
    atoll_monitor_destroy(monitor);
}

static void a_device_may_tell_of_no_events(void **state)
{
    for (unsigned int i = 0; i < 4; i++) {
        setup(NULL);
        script.supported =
            i == 0 ? ATOLL_nvmlEventTypeDoubleBitEccError : ATOLL_nvmlEventTypeXidCriticalError;
        script.types = i == 1 ? ATOLL_NVML_ERROR_NOT_SUPPORTED : 0;
        script.create = i == 2 ? ATOLL_NVML_ERROR_UNKNOWN : 0;
        script.register_ = i == 3 ? ATOLL_NVML_ERROR_NOT_SUPPORTED : 0;
        assert_false(read_once(NULL, 0).has_events);
    }
}

static void heat_disturbs_and_a_power_cap_does_not(void **state)
{
    const uint64_t heat = ATOLL_nvmlClocksThrottleReasonSwThermalSlowdown;
    const uint64_t cap = ATOLL_nvmlClocksThrottleReasonSwPowerCap;
    assert_int_equal(atoll_monitor_disturbing(cap | heat), heat);
    assert_int_equal(atoll_monitor_disturbing(cap | ATOLL_nvmlClocksThrottleReasonGpuIdle), 0);
    assert_int_equal(atoll_monitor_disturbing(~UINT64_C(0)), 0x8 | 0x20 | 0x40 | 0x80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_without_nvml_says_so),
        cmocka_unit_test_setup(a_full_answer_is_read, setup),
        cmocka_unit_test_setup(what_is_not_told_is_marked, setup),
        cmocka_unit_test_setup(functions_of_newer_drivers_may_lack, setup),
        cmocka_unit_test_setup(slices_are_told, setup),
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test_setup(a_lost_device_is_an_error, setup),
        cmocka_unit_test(others_are_told_from_ours),
        cmocka_unit_test_setup(xids_are_taken_once, setup),
        cmocka_unit_test(a_device_may_tell_of_no_events),
        cmocka_unit_test(heat_disturbs_and_a_power_cap_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
