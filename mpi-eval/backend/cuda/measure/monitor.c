/* monitor.c - every question may find a device or driver that does not answer it: that is a mark in the reading, and only
 * a lost device is an error. */
#include "mpi-eval/backend/cuda/measure/monitor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mpi-eval/backend/cuda/measure/nvml.h"

#define EVENT_POLL_LIMIT 256 /* events taken by one read: a storm of them cannot hold it up */

struct atoll_monitor {
    const struct atoll_nvml *nvml;
    struct nvmlDevice_st *device;
    struct nvmlEventSet_st *events; /* NULL: the device tells of none */
    struct atoll_monitor_facts facts;
};

/* ---- errors ---- */

static const struct {
    unsigned int result;
    enum atoll_code code;
    const char *remedy;
} meanings[] = {
    {ATOLL_NVML_ERROR_NO_PERMISSION, ATOLL_E_DENIED, "ask the site for access to the device"},
    {ATOLL_NVML_ERROR_NOT_FOUND, ATOLL_E_NOTFOUND, "nvidia-smi -L lists the devices of this node"},
    {ATOLL_NVML_ERROR_INVALID_ARGUMENT, ATOLL_E_NOTFOUND, "nvidia-smi -L lists the devices of this node"},
    {ATOLL_NVML_ERROR_GPU_IS_LOST, ATOLL_E_NOTFOUND, "the node needs its administrator"},
    {ATOLL_NVML_ERROR_RESET_REQUIRED, ATOLL_E_NOTFOUND, "the node needs its administrator"},
    {ATOLL_NVML_ERROR_DRIVER_NOT_LOADED, ATOLL_E_MISSING, "run on a node with a working NVIDIA driver"},
    {ATOLL_NVML_ERROR_LIB_RM_VERSION_MISMATCH, ATOLL_E_MISSING,
     "the driver was updated without being loaded again: tell the administrator"},
};

static int fail(const struct atoll_nvml *nvml, unsigned int result, const char *what, struct atoll_err *err)
{
    const char *text = nvml->nvmlErrorString(result);
    text = text ? text : "unknown error of NVML";
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (meanings[i].result == result)
            return atoll_err_set(err, meanings[i].code, "%s: %s: %s", what, text, meanings[i].remedy);
    return atoll_err_set(err, ATOLL_E_IO, "%s: %s: look at nvidia-smi -q on this node", what, text);
}

/* ---- lifetime ---- */

static double max_clock(const struct atoll_monitor *m, unsigned int clock)
{
    unsigned int mhz = 0;
    return m->nvml->nvmlDeviceGetMaxClockInfo(m->device, clock, &mhz) ? NAN : 1e6 * mhz;
}

/* What is not told stays empty; the library ends texts that fit. */
static void facts_read(struct atoll_monitor *m)
{
    struct atoll_monitor_facts *f = &m->facts;
    struct atoll_nvml_pci pci = {0};
    if (m->nvml->nvmlDeviceGetName(m->device, f->model, sizeof(f->model)))
        f->model[0] = '\0';
    if (m->nvml->nvmlDeviceGetUUID(m->device, f->uuid, sizeof(f->uuid)))
        f->uuid[0] = '\0';
    if (m->nvml->nvmlSystemGetDriverVersion(f->driver, sizeof(f->driver)))
        f->driver[0] = '\0';
    if (m->nvml->nvmlSystemGetCudaDriverVersion(&f->cuda_version))
        f->cuda_version = 0;
    if (!m->nvml->nvmlDeviceGetPciInfo(m->device, &pci))
        snprintf(f->pci, sizeof(f->pci), "%.*s", (int)sizeof(pci.busId) - 1, pci.busId);
    f->sm_max_hz = max_clock(m, ATOLL_NVML_CLOCK_SM);
    f->memory_max_hz = max_clock(m, ATOLL_NVML_CLOCK_MEM);
}

static void events_open(struct atoll_monitor *m)
{
    unsigned long long types = 0;
    struct nvmlEventSet_st *set = NULL;
    if (m->nvml->nvmlDeviceGetSupportedEventTypes(m->device, &types) ||
        !(types & ATOLL_nvmlEventTypeXidCriticalError) || m->nvml->nvmlEventSetCreate(&set)) {
        return;
    }
    if (m->nvml->nvmlDeviceRegisterEvents(m->device, ATOLL_nvmlEventTypeXidCriticalError, set)) {
        m->nvml->nvmlEventSetFree(set);
        return;
    }
    m->events = set;
}

struct atoll_monitor *atoll_monitor_create_on(const struct atoll_nvml *nvml, const char *uuid,
                                              struct atoll_err *err)
{
    unsigned int result = nvml->nvmlInit();
    if (result) {
        fail(nvml, result, "NVML does not start", err);
        return NULL;
    }
    struct atoll_monitor *m = calloc(1, sizeof(*m));
    if (!m) {
        nvml->nvmlShutdown();
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a device monitor");
        return NULL;
    }
    m->nvml = nvml;
    result = nvml->nvmlDeviceGetHandleByUUID(uuid, &m->device);
    if (result) {
        char what[160];
        snprintf(what, sizeof(what), "device %s cannot be monitored", uuid);
        fail(nvml, result, what, err);
        atoll_monitor_destroy(m);
        return NULL;
    }
    facts_read(m);
    events_open(m);
    return m;
}

struct atoll_monitor *atoll_monitor_create(const char *uuid, struct atoll_err *err)
{
    const struct atoll_nvml *nvml = atoll_nvml_open(err);
    return nvml ? atoll_monitor_create_on(nvml, uuid, err) : NULL;
}

void atoll_monitor_destroy(struct atoll_monitor *m)
{
    if (!m)
        return;
    if (m->events)
        m->nvml->nvmlEventSetFree(m->events);
    m->nvml->nvmlShutdown(); /* counted by NVML, as init is */
    free(m);
}

const struct atoll_monitor_facts *atoll_monitor_facts(const struct atoll_monitor *m)
{
    return &m->facts;
}

/* ---- reading ---- */

static void state_read(const struct atoll_monitor *m, struct atoll_monitor_reading *r)
{
    const struct atoll_nvml *nvml = m->nvml;
    unsigned int value = 0;
    unsigned int pending = 0;
    unsigned long long bits = 0;
    r->has_throttle = !nvml->nvmlDeviceGetCurrentClocksEventReasons(m->device, &bits);
    r->throttle_reasons = r->has_throttle ? bits : 0;
    r->temperature_celsius = NAN;
    if (nvml->nvmlDeviceGetTemperature &&
        !nvml->nvmlDeviceGetTemperature(m->device, ATOLL_NVML_TEMPERATURE_GPU, &value)) {
        r->temperature_celsius = value;
    }
    r->power_watt = nvml->nvmlDeviceGetPowerUsage(m->device, &value) ? NAN : 1e-3 * value;
    r->mig = -1;
    if (nvml->nvmlDeviceGetMigMode) {
        unsigned int result = nvml->nvmlDeviceGetMigMode(m->device, &value, &pending);
        r->mig = result == ATOLL_NVML_ERROR_NOT_SUPPORTED ? 0
                 : result                                 ? -1
                                                          : value == ATOLL_NVML_DEVICE_MIG_ENABLE;
    }
}

static void others_sort_out(const struct atoll_nvml_process *processes, size_t count, const pid_t *ours,
                            size_t ours_count, struct atoll_monitor_reading *r)
{
    size_t own = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < ours_count && (ours[k] <= 0 || (unsigned int)ours[k] != processes[i].pid))
            k++;
        if (k < ours_count) {
            own++;
            continue;
        }
        if (r->other_count < ATOLL_MONITOR_PROCESS_LIMIT)
            r->others[r->other_count] = (pid_t)processes[i].pid;
        r->other_count++;
    }
    r->has_others = count == 0 || ours_count == 0 || own > 0;
    if (!r->has_others)
        r->other_count = 0;
}

static void processes_read(const struct atoll_monitor *m, const pid_t *ours, size_t ours_count,
                           struct atoll_monitor_reading *r)
{
    struct atoll_nvml_process processes[4 * ATOLL_MONITOR_PROCESS_LIMIT];
    unsigned int count = sizeof(processes) / sizeof(*processes);
    unsigned int room = count;
    if (!m->nvml->nvmlDeviceGetComputeRunningProcesses)
        return;
    unsigned int result = m->nvml->nvmlDeviceGetComputeRunningProcesses(m->device, &count, processes);
    if (result == ATOLL_NVML_ERROR_INSUFFICIENT_SIZE) { /* then only their number is told */
        r->process_count = count;
        r->other_count = count > ours_count ? count - ours_count : 0;
        r->has_others = 1;
        memset(r->others, 0, sizeof(r->others));
    } else if (result == ATOLL_NVML_SUCCESS) {
        r->process_count = count;
        others_sort_out(processes, count < room ? count : room, ours, ours_count, r);
    }
}

static void events_read(const struct atoll_monitor *m, struct atoll_monitor_reading *r)
{
    r->has_events = m->events != NULL;
    for (unsigned i = 0; m->events && i < EVENT_POLL_LIMIT; i++) {
        struct atoll_nvml_event event = {0};
        unsigned int result = m->nvml->nvmlEventSetWait(m->events, &event, 0);
        if (result) {
            r->has_events = result == ATOLL_NVML_ERROR_TIMEOUT;
            return;
        }
        if (event.eventType & ATOLL_nvmlEventTypeXidCriticalError) {
            if (r->xid_count < ATOLL_MONITOR_XID_LIMIT)
                r->xids[r->xid_count] = event.eventData;
            r->xid_count++;
        }
    }
}

int atoll_monitor_read(struct atoll_monitor *m, const pid_t *ours, size_t ours_count,
                       struct atoll_monitor_reading *ret_reading, struct atoll_err *err)
{
    struct atoll_monitor_reading reading = {0};
    unsigned int mhz = 0;
    /* The first question to the device: the one that shows whether it is still there. */
    unsigned int result = m->nvml->nvmlDeviceGetClockInfo(m->device, ATOLL_NVML_CLOCK_SM, &mhz);
    if (result == ATOLL_NVML_ERROR_GPU_IS_LOST || result == ATOLL_NVML_ERROR_RESET_REQUIRED)
        return fail(m->nvml, result, "the device does not answer", err);
    reading.sm_hz = result ? NAN : 1e6 * mhz;
    reading.memory_hz =
        m->nvml->nvmlDeviceGetClockInfo(m->device, ATOLL_NVML_CLOCK_MEM, &mhz) ? NAN : 1e6 * mhz;
    state_read(m, &reading);
    unsigned long long corrected = 0;
    unsigned long long uncorrected = 0;
    reading.has_ecc =
        !m->nvml->nvmlDeviceGetTotalEccErrors(m->device, ATOLL_NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                              ATOLL_NVML_VOLATILE_ECC, &corrected) &&
        !m->nvml->nvmlDeviceGetTotalEccErrors(m->device, ATOLL_NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                              ATOLL_NVML_VOLATILE_ECC, &uncorrected);
    reading.ecc_corrected = reading.has_ecc ? corrected : 0;
    reading.ecc_uncorrected = reading.has_ecc ? uncorrected : 0;
    processes_read(m, ours, ours_count, &reading);
    events_read(m, &reading);
    *ret_reading = reading;
    return 0;
}

/* ---- throttling ---- */

static const struct {
    uint64_t bit;
    int disturbing;
} reasons[] = {
    {ATOLL_nvmlClocksThrottleReasonGpuIdle, 0},
    {ATOLL_nvmlClocksThrottleReasonApplicationsClocksSetting, 0},
    {ATOLL_nvmlClocksThrottleReasonSwPowerCap, 0},
    {ATOLL_nvmlClocksThrottleReasonHwSlowdown, 1},
    {ATOLL_nvmlClocksThrottleReasonSyncBoost, 0},
    {ATOLL_nvmlClocksThrottleReasonSwThermalSlowdown, 1},
    {ATOLL_nvmlClocksThrottleReasonHwThermalSlowdown, 1},
    {ATOLL_nvmlClocksThrottleReasonHwPowerBrakeSlowdown, 1},
    {ATOLL_nvmlClocksThrottleReasonDisplayClockSetting, 0},
};

uint64_t atoll_monitor_disturbing(uint64_t throttle_reasons)
{
    uint64_t disturbing = 0;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        disturbing |= reasons[i].disturbing ? throttle_reasons & reasons[i].bit : 0;
    return disturbing;
}

/* ---- around samples ---- */

#define INTERVAL_NS 50e6

void atoll_watch_open(struct atoll_watch *w, const char *uuid)
{
    memset(w, 0, sizeof(*w));
    w->monitor = atoll_monitor_create(uuid, NULL);
}

void atoll_watch_close(struct atoll_watch *w)
{
    atoll_monitor_destroy(w->monitor);
    w->monitor = NULL;
}

static int ended_badly(const struct atoll_trial *t)
{
    return t->verdict == ATOLL_V_CRASH || t->verdict == ATOLL_V_TIMEOUT ||
           t->verdict == ATOLL_V_INFRASTRUCTURE;
}

/* The driver's own numbers for what a kernel did (Xid), as evidence of a sample that ended badly, else into the log. */
static void xids_record(const struct atoll_monitor_reading *r, struct atoll_trial *t)
{
    char text[128] = "";
    size_t used = 0, known = r->xid_count < ATOLL_MONITOR_XID_LIMIT ? r->xid_count : ATOLL_MONITOR_XID_LIMIT;
    for (size_t i = 0; r->has_events && i < known && used < sizeof(text); i++) {
        int n = snprintf(text + used, sizeof(text) - used, "%sXid %llu", i ? ", " : "",
                         (unsigned long long)r->xids[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (!text[0])
        return;
    size_t length = strlen(t->detail);
    if (ended_badly(t))
        snprintf(t->detail + length, sizeof(t->detail) - length, " (%s)", text);
    else
        atoll_log(ATOLL_LOG_WARNING, "eval.device.xid", "the driver reports %s", text);
}

int atoll_watch_judge(struct atoll_watch *w, const struct atoll_monitor_reading *r, struct atoll_trial *t)
{
    uint64_t errors = r->has_ecc && w->has_ecc && r->ecc_uncorrected > w->ecc_uncorrected
                          ? r->ecc_uncorrected - w->ecc_uncorrected
                          : 0;
    w->reasons = r->has_throttle ? r->throttle_reasons : 0;
    xids_record(r, t);
    if (r->has_ecc) {
        /* Corrected errors change no result; a device that has many of them is about to have others. */
        if (w->has_ecc && r->ecc_corrected > w->ecc_corrected)
            atoll_log(ATOLL_LOG_WARNING, "eval.device.ecc", "%llu memory errors of the device were corrected",
                      (unsigned long long)(r->ecc_corrected - w->ecc_corrected));
        w->ecc_corrected = r->ecc_corrected;
        w->has_ecc = 1;
        w->ecc_uncorrected = r->ecc_uncorrected;
    }
    if (!errors)
        return 0;
    t->verdict = ATOLL_V_INFRASTRUCTURE;
    t->level = 0;
    snprintf(t->detail, sizeof(t->detail),
             "the device had %llu uncorrectable memory errors during this sample",
             (unsigned long long)errors);
    return 1;
}

int atoll_watch_record(struct atoll_watch *w, double now_ns, struct atoll_trial *t)
{
    struct atoll_monitor_reading reading = {0};
    int is_bad = 0;
    if (!w->monitor)
        return 0;
    if (now_ns - w->read_ns >= INTERVAL_NS || ended_badly(t)) {
        w->read_ns = now_ns;
        if (atoll_monitor_read(w->monitor, NULL, 0, &reading, NULL) == 0)
            is_bad = atoll_watch_judge(w, &reading, t);
    }
    t->throttle_reasons |= w->reasons;
    t->disturbed |= atoll_monitor_disturbing(w->reasons) != 0;
    return is_bad;
}
