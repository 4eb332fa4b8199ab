/* doctor.c - `atoll doctor`: what works on this node, from inside a job too. */
#include "scheduler/cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "llm-gateway/check/check.h"
#include "mpi-eval/backend/cpu/process/runner.h"
#include "scheduler/doctor/calibrate_device.h"
#include "scheduler/doctor/doctor_cuda.h"
#include "scheduler/doctor/doctor_slurm.h"
#include "scheduler/launcher/local/launch.h"

#define GATEWAY_SECONDS 5.0

struct doctor_settings {
    const char *compiler;
    int calibrate, slurm, json;
};

#define FIELD(name) offsetof(struct doctor_settings, name)

static const struct atoll_option doctor_options[] = {
    {"compiler", 0, ATOLL_OPT_TEXT, FIELD(compiler), "COMMAND", "cc", 0, 0, NULL, "C compiler to try."},
    {"calibrate", 0, ATOLL_OPT_FLAG, FIELD(calibrate), NULL, NULL, 0, 0, NULL,
     "Measure bandwidth, peaks and launch time of every GPU too (about half a minute each)."},
    {"slurm", 0, ATOLL_OPT_FLAG, FIELD(slurm), NULL, NULL, 0, 0, NULL,
     "Only what jobs go through: how Slurm is reached, the cluster, its partitions and limits, and the job "
     "that this runs "
     "in."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object."},
    {0}};

static const struct atoll_command doctor_command = {
    "doctor",
    "",
    "say what works on this node: compiler, containment, devices, MPI, scratch",
    "Tries everything a run needs on this node and prints one line each: ok, or what is missing and what to "
    "do; -- is something that only other runs need. Compiles and times the calibration kernels of the cpu "
    "(about a second). Of every CUDA device: model, UUID, compute capability, memory, clocks, whether "
    "hardware "
    "counters are open, what else runs on it, whether an evaluator holds it. Drivers are asked in a process "
    "of "
    "their own, with a deadline. Where ATOLL_GATEWAY is set, whether that gateway to language models can be "
    "reached from here. Exit status 0 when a run would work.",
    "atoll doctor\natoll doctor --calibrate\natoll doctor --slurm\nsrun -N 2 atoll doctor --json",
    doctor_options,
    NULL};

struct findings {
    json_t *object; /* check -> {ok, needed, text} */
    int json, bad;
};

/* needed: 0 where only some runs need it. */
static void find_maybe(struct findings *findings, const char *check, int ok, int needed, const char *text)
{
    findings->bad |= needed && !ok;
    json_object_set_new(findings->object, check,
                        json_pack("{s:b, s:b, s:s}", "ok", ok, "needed", needed, "text", text));
    if (!findings->json)
        printf("%-4s %-18s %s\n", ok ? "ok" : needed ? "FAIL" : "--", check, text);
}

static void find(struct findings *findings, const char *check, int ok, const char *text)
{
    find_maybe(findings, check, ok, 1, text);
}

static void check_scratch(struct findings *findings)
{
    const char *dir = getenv("ATOLL_SCRATCH");
    char text[512], size[32];
    struct statvfs fs;

    dir = dir ? dir : getenv("TMPDIR");
    dir = dir ? dir : "/tmp";
    if (access(dir, W_OK) != 0 || statvfs(dir, &fs) != 0) {
        snprintf(text, sizeof(text), "%s is not writable; set ATOLL_SCRATCH to node-local scratch", dir);
        find(findings, "scratch", 0, text);
        return;
    }
    snprintf(text, sizeof(text), "%s, %s free", dir,
             atoll_bytes_text((uint64_t)fs.f_bavail * fs.f_frsize, size, sizeof(size)));
    find(findings, "scratch", (uint64_t)fs.f_bavail * fs.f_frsize > (64u << 20), text);
}

static void check_program(struct findings *findings, const char *name, int is_needed)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[4096];
    int ok = atoll_launch_beside(name, path, sizeof(path), &err) == 0;

    find_maybe(findings, name, ok, is_needed, ok ? path : err.text);
}

static void check_device(struct findings *findings, const char *compiler)
{
    const struct atoll_device_info *info;
    struct atoll_bench_device device;
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[512], cache[32];

    if (atoll_bench_setup(&device.setup, &err) != 0) {
        find(findings, "random", 0, err.text);
        return;
    }
    snprintf(device.setup.compiler, sizeof(device.setup.compiler), "%s", compiler);
    if (atoll_bench_device_open(&device, &err) != 0) {
        find(findings, err.code == ATOLL_E_MISSING ? "compiler" : "device", 0, err.text);
        return;
    }
    find(findings, "compiler", 1, atoll_compiler_version(device.compiler));
    info = atoll_referee_device(device.referee);
    snprintf(text, sizeof(text), "%s, %u candidate threads, last-level cache %s", info->model, info->threads,
             atoll_bytes_text((uint64_t)info->last_level_cache_bytes, cache, sizeof(cache)));
    find(findings, "device", 1, text);
    snprintf(text, sizeof(text), "%.1f GB/s, f32 %.1f GFLOP/s, f64 %.1f GFLOP/s, empty launch %.0f ns",
             info->bandwidth_bytes_per_s / 1e9, info->peak_flops[ATOLL_F32] / 1e9,
             info->peak_flops[ATOLL_F64] / 1e9, info->empty_launch_ns);
    find(findings, "calibration", info->bandwidth_bytes_per_s > 0, text);
    atoll_bench_device_close(&device);
}

/* Only where there are devices are libraries and programs needed, and without some of them less is known of a device. */
static void check_cuda(struct findings *findings, int calibrate)
{
    static const struct {
        const char *name;
        int is_needed; /* where there are devices */
    } libraries[] = {{"driver", 1}, {"nvrtc", 1}, {"cupti", 0}, {"nvml", 0}, {"compute-sanitizer", 0}};
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *cuda = atoll_doctor_cuda(&err), *devices, *device;
    int has_devices;
    size_t i;

    if (!cuda) {
        find(findings, "driver", 0, err.text);
        return;
    }
    devices = json_object_get(cuda, "devices");
    has_devices = json_array_size(devices) > 0;
    for (i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        const json_t *library = json_object_get(cuda, libraries[i].name);

        find_maybe(findings, libraries[i].name, json_is_true(json_object_get(library, "ok")),
                   libraries[i].is_needed && has_devices,
                   json_string_value(json_object_get(library, "text")));
    }
    check_program(findings, "atoll-worker-cuda", has_devices);
    check_program(findings, "atoll-compile-cuda", has_devices);
    json_array_foreach(devices, i, device)
    {
        char name[32];

        snprintf(name, sizeof(name), "gpu %d", (int)json_integer_value(json_object_get(device, "number")));
        atoll_err_clear(&err);
        if (calibrate && atoll_doctor_cuda_calibrate(device, &err) != 0)
            find(findings, name, 0, err.text);
        else
            find(findings, name, 1, json_string_value(json_object_get(device, "model")));
        if (!findings->json)
            atoll_doctor_cuda_print(device, stdout);
    }
    json_object_set(findings->object, "devices", devices);
    json_decref(cuda);
}

/* The last step that failed says most: those before it were needed for it. */
static void on_gateway_step(void *context, const struct atoll_check_step *step)
{
    struct atoll_check_step *last = context;

    if (step->result == ATOLL_CHECK_FAILED)
        *last = *step;
}

/* Where a run would look for models; nothing is asked that costs money. */
static void check_gateway(struct findings *findings)
{
    const char *where = getenv("ATOLL_GATEWAY");
    struct atoll_check_settings settings;
    struct atoll_check_step step = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[sizeof(err.text) + 32];
    unsigned failed = 0;

    if (!where || !*where)
        return;
    atoll_check_defaults(&settings);
    settings.has_no_call = 1;
    settings.deadline_s = GATEWAY_SECONDS;
    if (atoll_check_gateway(where, NULL, NULL, &settings, on_gateway_step, &step, &failed, &err) != 0) {
        snprintf(text, sizeof(text), "ATOLL_GATEWAY: %s", err.text);
        find_maybe(findings, "gateway", 0, 0, text);
        return;
    }
    if (failed) {
        snprintf(text, sizeof(text), "%s: %s: %s; atoll gateway check says more", where, step.name,
                 step.text);
    } else {
        snprintf(text, sizeof(text), "%s can be reached", where);
    }
    find_maybe(findings, "gateway", failed == 0, 0, text);
}

static int run_doctor(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct doctor_settings *settings = given;
    struct findings findings = {.object = json_object(), .json = settings->json};
    char containment[256];

    if (settings->slurm) {
        json_t *slurm = atoll_doctor_slurm();

        /* Jobs run on a machine without Slurm, too: only a controller that does not answer is a failure. */
        find(&findings, "slurm", json_is_true(json_object_get(slurm, "ok")),
             json_string_value(json_object_get(slurm, "text")));
        if (!settings->json)
            atoll_doctor_slurm_print(slurm, stdout);
        json_object_update_missing(json_object_get(findings.object, "slurm"), slurm);
        json_decref(slurm);
    } else {
        check_program(&findings, "atoll-eval", 1);
        check_program(&findings, "atoll-worker", 1);
        atoll_runner_isolation(containment, sizeof(containment));
        find(&findings, "containment", strstr(containment, "seccomp") != NULL, containment);
        check_scratch(&findings);
        find(&findings, "mpi", 1,
             system("command -v mpirun >/dev/null 2>&1") == 0 ||
                     system("command -v srun >/dev/null 2>&1") == 0
                 ? "mpirun or srun is there"
                 : "no mpirun and no srun: only --ranks 1 works here");
        check_gateway(&findings);
        check_device(&findings, settings->compiler);
        check_cuda(&findings, settings->calibrate);
    }
    if (settings->json)
        atoll_json_print(json_incref(findings.object), JSON_INDENT(2), stdout);
    json_decref(findings.object);
    return findings.bad ? 1 : 0;
}

const struct atoll_subcommand atoll_command_doctor = {
    .command = &doctor_command, .settings_bytes = sizeof(struct doctor_settings), .run = run_doctor};
