/* doctor_cuda.c - one child asks all libraries and writes down what they say; what a library does not tell is left out. */
#include "scheduler/doctor/doctor_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "base/units.h"
#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/process/driver.h"
#include "mpi-eval/backend/cuda/measure/lock.h"
#include "mpi-eval/backend/cuda/measure/nvml.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"
#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"
#include "scheduler/doctor/calibrate_device.h"
#include "base/process.h"

#define DRIVER_PARAMS      "/proc/driver/nvidia/params"
#define ASK_DEADLINE_S     30.0
#define MEASURE_DEADLINE_S 180.0
#define DEVICE_LIMIT       64
#define PROCESS_LIMIT      32u

static void found(json_t *object, const char *name, int ok, const char *text)
{
    json_object_set_new(object, name, json_pack("{s:b, s:s}", "ok", ok, "text", text));
}

int atoll_doctor_counters(const char *params, int is_root, char *ret_text, size_t bytes)
{
    static const char key[] = "RmProfilingAdminOnly:";
    char line[512];
    int admin_only = -1;
    FILE *file = fopen(params, "r");

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            admin_only = atoi(line + sizeof(key) - 1) != 0;
    if (file)
        fclose(file);
    if (admin_only < 0) {
        snprintf(ret_text, bytes, "not known: %s does not say", params);
    } else if (admin_only && !is_root) {
        snprintf(
            ret_text, bytes,
            "closed: the driver lets only root count (RmProfilingAdminOnly 1); an administrator opens them "
            "with the module option NVreg_RestrictProfilingToAdminUsers=0");
    } else {
        snprintf(ret_text, bytes, "%s", admin_only ? "open, to root alone" : "open");
    }
    return admin_only < 0 ? -1 : !admin_only || is_root;
}

static void find_nvrtc(json_t *findings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_nvrtc_library *nvrtc = atoll_nvrtc_library_open(&err);
    char text[160];
    int major = 0, minor = 0, count = 0, archs[64];

    if (!nvrtc) {
        found(findings, "nvrtc", 0, err.text);
        return;
    }
    if (nvrtc->nvrtcVersion(&major, &minor) != ATOLL_NVRTC_SUCCESS) {
        found(findings, "nvrtc", 0, "NVRTC does not tell its version");
        return;
    }
    snprintf(text, sizeof(text), "NVRTC %d.%d", major, minor);
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) == ATOLL_NVRTC_SUCCESS && count > 0 && count <= 64 &&
        nvrtc->nvrtcGetSupportedArchs(archs) == ATOLL_NVRTC_SUCCESS) {
        snprintf(text, sizeof(text), "NVRTC %d.%d, compiles for sm_%d to sm_%d", major, minor, archs[0],
                 archs[count - 1]);
    }
    found(findings, "nvrtc", 1, text);
}

/* The monitor, initialised; NULL with a finding. */
static const struct atoll_nvml *find_nvml(json_t *findings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_nvml *nvml = atoll_nvml_open(&err);
    char driver[ATOLL_NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "";
    unsigned result;

    if (!nvml) {
        found(findings, "nvml", 0, err.text);
        return NULL;
    }
    result = nvml->nvmlInit();
    if (result != ATOLL_NVML_SUCCESS) {
        found(findings, "nvml", 0, nvml->nvmlErrorString(result));
        return NULL;
    }
    nvml->nvmlSystemGetDriverVersion(driver, sizeof(driver));
    driver[sizeof(driver) - 1] = '\0';
    found(findings, "nvml", 1, driver);
    return nvml;
}

/* The driver, initialised; NULL with a finding. */
static const struct atoll_cuda *find_driver(json_t *findings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_cuda *cuda = atoll_cuda_open(&err);
    char text[160];
    int version = 0;
    unsigned result;

    if (!cuda) {
        found(findings, "driver", 0, err.text);
        return NULL;
    }
    result = cuda->cuInit(0);
    if (result != ATOLL_CUDA_SUCCESS) {
        found(findings, "driver", 0, atoll_cuda_describe(cuda, result, text, sizeof(text)));
        return NULL;
    }
    cuda->cuDriverGetVersion(&version);
    snprintf(text, sizeof(text), "CUDA %d.%d", version / 1000, version % 1000 / 10);
    found(findings, "driver", 1, text);
    return cuda;
}

static void put_attributes(json_t *device, const struct atoll_cuda *cuda, int handle)
{
    static const struct {
        const char *name;
        unsigned attribute;
        double scale; /* 0: an integer as it is */
    } facts[] = {
        {"multiprocessors", ATOLL_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0},
        {"shared_bytes_per_block", ATOLL_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0},
        {"l2_bytes", ATOLL_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0},
        {"host_memory", ATOLL_CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
        {"compute_mode", ATOLL_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0},
        {"ecc", ATOLL_CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0},
        {"clock_hz", ATOLL_CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1e3},
        {"memory_clock_hz", ATOLL_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1e3},
    };
    int value, major = 0, minor = 0;

    cuda->cuDeviceGetAttribute(&major, ATOLL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
    cuda->cuDeviceGetAttribute(&minor, ATOLL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
    json_object_set_new(device, "compute_capability", json_integer(major * 10 + minor));
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        if (cuda->cuDeviceGetAttribute(&value, facts[i].attribute, handle) == ATOLL_CUDA_SUCCESS) {
            json_object_set_new(device, facts[i].name,
                                facts[i].scale > 0 ? json_real(value * facts[i].scale) : json_integer(value));
        }
    }
}

static void put_clocks(json_t *device, const struct atoll_nvml *nvml, struct nvmlDevice_st *handle)
{
    static const struct {
        const char *name;
        unsigned clock;
    } clocks[] = {{"clock_now_hz", ATOLL_NVML_CLOCK_SM}, {"memory_clock_now_hz", ATOLL_NVML_CLOCK_MEM}};
    unsigned long long reasons;
    unsigned mhz, celsius;

    for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
        if (nvml->nvmlDeviceGetClockInfo(handle, clocks[i].clock, &mhz) == ATOLL_NVML_SUCCESS)
            json_object_set_new(device, clocks[i].name, json_real(mhz * 1e6));
    if (nvml->nvmlDeviceGetCurrentClocksEventReasons(handle, &reasons) == ATOLL_NVML_SUCCESS)
        json_object_set_new(device, "throttle_reasons", json_integer((json_int_t)reasons));
    if (nvml->nvmlDeviceGetTemperature &&
        nvml->nvmlDeviceGetTemperature(handle, ATOLL_NVML_TEMPERATURE_GPU, &celsius) == ATOLL_NVML_SUCCESS) {
        json_object_set_new(device, "celsius", json_integer(celsius));
    }
}

static void put_processes(json_t *device, const struct atoll_nvml *nvml, struct nvmlDevice_st *handle)
{
    struct atoll_nvml_process processes[PROCESS_LIMIT];
    unsigned count = PROCESS_LIMIT;
    json_t *array;

    if (!nvml->nvmlDeviceGetComputeRunningProcesses ||
        nvml->nvmlDeviceGetComputeRunningProcesses(handle, &count, processes) != ATOLL_NVML_SUCCESS) {
        return;
    }
    array = json_array();
    for (unsigned i = 0; i < count && i < PROCESS_LIMIT; i++)
        json_array_append_new(array, json_integer(processes[i].pid));
    json_object_set_new(device, "processes", array);
}

static json_t *describe(const struct atoll_cuda *cuda, const struct atoll_nvml *nvml, int ordinal)
{
    struct atoll_cuda_uuid id;
    char model[96] = "", uuid[64] = "", counters[256];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct nvmlDevice_st *monitored;
    unsigned current, pending;
    size_t memory = 0;
    int handle, are_open, lock;
    json_t *device;

    if (cuda->cuDeviceGet(&handle, ordinal) != ATOLL_CUDA_SUCCESS)
        return json_pack("{s:i, s:s}", "number", ordinal, "model", "does not answer");
    cuda->cuDeviceGetName(model, sizeof(model) - 1, handle);
    if (cuda->cuDeviceGetUuid(&id, handle) == ATOLL_CUDA_SUCCESS) {
        size_t at = (size_t)snprintf(uuid, sizeof(uuid), "GPU"); /* "GPU-8-4-4-4-12", as NVML writes it */

        for (size_t i = 0; i < sizeof(id.bytes); i++) {
            at += (size_t)snprintf(uuid + at, sizeof(uuid) - at, "%s%02x",
                                   i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                   (unsigned char)id.bytes[i]);
        }
    }
    cuda->cuDeviceTotalMem(&memory, handle);
    are_open = atoll_doctor_counters(DRIVER_PARAMS, geteuid() == 0, counters, sizeof(counters));
    device = json_pack("{s:i, s:s, s:s, s:f, s:b, s:s}", "number", ordinal, "model", model, "uuid", uuid,
                       "memory_bytes", (double)memory, "counters_open", are_open > 0, "counters", counters);
    put_attributes(device, cuda, handle);
    lock = atoll_cuda_lock(NULL, uuid, &err); /* given back at once: it says who has it */
    json_object_set_new(device, "held", json_boolean(lock < 0));
    if (lock < 0)
        json_object_set_new(device, "holder", json_string(err.text));
    atoll_cuda_unlock(lock);
    if (nvml && nvml->nvmlDeviceGetHandleByUUID(uuid, &monitored) == ATOLL_NVML_SUCCESS) {
        put_clocks(device, nvml, monitored);
        put_processes(device, nvml, monitored);
        if (nvml->nvmlDeviceGetMigMode &&
            nvml->nvmlDeviceGetMigMode(monitored, &current, &pending) == ATOLL_NVML_SUCCESS) {
            json_object_set_new(device, "mig", json_boolean(current == ATOLL_NVML_DEVICE_MIG_ENABLE));
        }
    }
    return device;
}

static json_t *ask(void *context)
{
    json_t *findings = json_object(), *devices = json_array();
    const struct atoll_cuda *cuda = find_driver(findings);
    const struct atoll_nvml *nvml = find_nvml(findings);
    struct atoll_err err = ATOLL_ERR_INIT;
    char *sanitizer;
    int count = 0;

    find_nvrtc(findings);
    if (!atoll_cupti_open(&err))
        found(findings, "cupti", 0, err.text);
    else
        found(findings, "cupti", 1, "is there");
    atoll_err_clear(&err);
    sanitizer = atoll_sanitizer_find(&err);
    found(findings, "compute-sanitizer", sanitizer != NULL, sanitizer ? sanitizer : err.text);
    free(sanitizer);
    if (cuda)
        cuda->cuDeviceGetCount(&count);
    for (int i = 0; i < count && i < DEVICE_LIMIT; i++)
        json_array_append_new(devices, describe(cuda, nvml, i));
    json_object_set_new(findings, "devices", devices);
    return findings;
}

json_t *atoll_doctor_cuda(struct atoll_err *err)
{
    return atoll_probe(ask, NULL, "the CUDA driver", ASK_DEADLINE_S, err);
}

static json_t *rates(const struct atoll_device_info *info)
{
    json_t *object = json_pack("{s:f, s:f}", "bandwidth_bytes_per_s", info->bandwidth_bytes_per_s,
                               "empty_launch_ns", info->empty_launch_ns);
    char name[48];

    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++) {
        if (info->peak_flops[t] > 0) {
            snprintf(name, sizeof(name), "peak_%s_flops", atoll_dtype_name((enum atoll_dtype)t));
            json_object_set_new(object, name, json_real(info->peak_flops[t]));
        }
    }
    for (unsigned t = 0; t <= ATOLL_DTYPE_COUNT; t++) {
        if (info->limits.tensor_flops[t] > 0) {
            snprintf(name, sizeof(name), "tensor_%s_flops",
                     t < ATOLL_DTYPE_COUNT ? atoll_dtype_name((enum atoll_dtype)t) : "tf32");
            json_object_set_new(object, name, json_real(info->limits.tensor_flops[t]));
        }
    }
    return object;
}

/* The evaluator's own calibration, of the device whose number or UUID is the context. */
static json_t *measure(void *context)
{
    struct atoll_bench_device device;
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *object;

    if (setenv("ATOLL_DEVICE", context, 1) != 0 || atoll_bench_setup(&device.setup, &err) != 0)
        return json_pack("{s:s}", "error", err.text);
    snprintf(device.setup.backend, sizeof(device.setup.backend), "cuda");
    if (atoll_bench_device_open(&device, &err) != 0)
        return json_pack("{s:s, s:i}", "error", err.text, "code", (int)err.code);
    object = rates(atoll_referee_device(device.referee));
    atoll_bench_device_close(&device);
    return object;
}

int atoll_doctor_cuda_calibrate(json_t *device, struct atoll_err *err)
{
    const char *uuid = json_string_value(json_object_get(device, "uuid"));
    char name[64];
    json_t *object, *failed;

    snprintf(name, sizeof(name), "%s", uuid ? uuid : "");
    object = atoll_probe(measure, name, "the device's calibration", MEASURE_DEADLINE_S, err);
    if (!object)
        return -1;
    failed = json_object_get(object, "error");
    if (failed) {
        json_int_t code = json_integer_value(json_object_get(object, "code"));

        atoll_err_set(err, code > 0 ? (enum atoll_code)code : ATOLL_E_CHILD, "%s", json_string_value(failed));
        json_decref(object);
        return -1;
    }
    json_object_set_new(device, "calibration", object);
    return 0;
}

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void print_state(const json_t *device, FILE *out)
{
    const json_t *processes = json_object_get(device, "processes"), *value;
    size_t i;

    if (json_object_get(device, "clock_now_hz")) {
        atoll_print(out, "     clock %.0f MHz now, memory %.0f MHz; throttle reasons 0x%llx; MIG %s\n",
                    number(device, "clock_now_hz") / 1e6, number(device, "memory_clock_now_hz") / 1e6,
                    (unsigned long long)json_integer_value(json_object_get(device, "throttle_reasons")),
                    json_is_true(json_object_get(device, "mig")) ? "on: ask for a whole device" : "off");
    }
    if (json_array_size(processes)) {
        fprintf(out, "     other processes on it:");
        json_array_foreach(processes, i, value)
        {
            fprintf(out, " %lld", (long long)json_integer_value(value));
        }
        fprintf(out, "; times measured beside them are worth little\n");
    }
    if (json_is_true(json_object_get(device, "held")))
        atoll_print(out, "     %s\n", json_string_value(json_object_get(device, "holder")));
}

void atoll_doctor_cuda_print(const json_t *device, FILE *out)
{
    json_t *measured = json_object_get(device, "calibration"), *value;
    const char *name;
    char memory[32];

    atoll_print(out, "     %s  sm_%lld, %lld multiprocessors, %s, up to %.0f MHz (memory %.0f MHz)\n",
                json_string_value(json_object_get(device, "uuid")),
                (long long)json_integer_value(json_object_get(device, "compute_capability")),
                (long long)json_integer_value(json_object_get(device, "multiprocessors")),
                atoll_bytes_text((uint64_t)number(device, "memory_bytes"), memory, sizeof(memory)),
                number(device, "clock_hz") / 1e6, number(device, "memory_clock_hz") / 1e6);
    atoll_print(out, "     counters %s\n", json_string_value(json_object_get(device, "counters")));
    atoll_print(out, "     pageable host memory %s\n",
                json_integer_value(json_object_get(device, "host_memory")) ? "can be addressed by kernels"
                                                                           : "is out of reach of kernels");
    print_state(device, out);
    if (measured) {
        fprintf(out, "     measured:");
        json_object_foreach(measured, name, value)
        {
            atoll_print(out, " %s %.4g", name, json_number_value(value));
        }
        fputc('\n', out);
    }
}
