/* doctor.c - `atoll doctor`: what works on this node, from inside a job too. */
#include "scheduler/cli/command.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "llm-gateway/check/check.h"
#include "mpi-eval/backend/cpu/process/runner.h"
#include "mpi-eval/backend/cuda/triton/triton.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"
#include "scheduler/doctor/calibrate_device.h"
#include "scheduler/doctor/doctor_cuda.h"
#include "scheduler/launcher/launcher.h"
#include "scheduler/launcher/local/launch.h"

#define GATEWAY_SECONDS 5.0
#define SLURM_SECONDS   20.0

struct doctor_settings {
    const char *compiler, *python;
    int calibrate, slurm, json;
};

#define FIELD(name) offsetof(struct doctor_settings, name)

static const struct atoll_option doctor_options[] = {
    {"compiler", 0, ATOLL_OPT_TEXT, FIELD(compiler), "COMMAND", "cc", 0, 0, NULL, "C compiler to try."},
    {"python", 0, ATOLL_OPT_TEXT, FIELD(python), "FILE", "auto", 0, 0, NULL,
     "Python with torch to try, or none; auto: ATOLL_PYTHON, else python3."},
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
    "reached from here. Says which torch, CUDA and Triton the Python has that would be oracle and rival of "
    "tasks. Exit status 0 "
    "when a run would work.",
    "atoll doctor\natoll doctor --calibrate\natoll doctor --python /opt/torch/bin/python3\natoll doctor "
    "--slurm\nsrun -N 2 atoll doctor --json",
    doctor_options,
    NULL};

#define DETAIL_COLUMN 24 /* behind what was looked at */

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
        atoll_print_line(stdout, DETAIL_COLUMN, "%-4s %-18s %s",
                         ok       ? "ok"
                         : needed ? "FAIL"
                                  : "--",
                         check, text);
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
    char text[512], cache[32], tiles[96] = "";

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
    snprintf(text, sizeof(text), "%s, %u candidate thread%s, last-level cache %s", info->model, info->threads,
             info->threads == 1 ? "" : "s",
             atoll_bytes_text((uint64_t)info->last_level_cache_bytes, cache, sizeof(cache)));
    find(findings, "device", 1, text);
    if (info->limits.tensor_flops[ATOLL_BF16] > 0)
        snprintf(tiles, sizeof(tiles), ", in tiles bf16 %.1f GFLOP/s, i8 %.1f GOP/s",
                 info->limits.tensor_flops[ATOLL_BF16] / 1e9, info->limits.tensor_flops[ATOLL_I8] / 1e9);
    snprintf(text, sizeof(text), "%.1f GB/s, f32 %.1f GFLOP/s, f64 %.1f GFLOP/s%s, empty launch %.0f ns",
             info->bandwidth_bytes_per_s / 1e9, info->peak_flops[ATOLL_F32] / 1e9,
             info->peak_flops[ATOLL_F64] / 1e9, tiles, info->empty_launch_ns);
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

/* Only tasks and comparisons with PyTorch need it. */
static void check_torch(struct findings *findings, const char *asked)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[4096], text[sizeof(python) + 512], versions[96];
    int found = atoll_torch_find(asked, python, sizeof(python), &err);

    if (found != 0) {
        find_maybe(findings, "torch", 0, 0,
                   found < 0 ? err.text
                             : "no Python with torch: tasks of PyTorch cannot be measured, and no rivals "
                               "(--python, ATOLL_PYTHON)");
        return;
    }
    struct atoll_torch_settings settings = {.python = python, .role = "probe"};
    struct atoll_torch *torch = atoll_torch_start(&settings, &err);
    json_t *answer = torch ? atoll_torch_examine(python, &err) : NULL;
    int tried = answer ? atoll_torch_is_tried(atoll_torch_facts(torch)->torch) : 0;

    if (answer) {
        atoll_torch_describe(answer, versions, sizeof(versions));
        snprintf(text, sizeof(text), "%s, Python %s (%s)%s", versions, atoll_torch_facts(torch)->python,
                 python, tried == 1 ? "" : ": Atoll was tried with torch 1.13 to 2.11");
    }
    find_maybe(findings, "torch", tried == 1, 0, answer ? text : err.text);
    json_decref(answer);
    atoll_torch_stop(torch);
}

/* Only Triton candidates need it.  A kernel of ours goes the way that theirs go, through the same sandbox. */
static void check_triton(struct findings *findings, const char *asked)
{
    static const char unit[] =
        "{\"name\": \"candidate.py\", \"source\": \"import triton\\nimport triton.language as "
        "tl\\n@triton.jit\\ndef "
        "probe(x):\\n    tl.store(x, 1.0)\\n\", \"launches\": [{\"kernel\": \"probe\", \"args\": [{\"text\": "
        "\"x\", "
        "\"type\": \"*fp32\"}], \"classes\": [\"D\"], \"constexprs\": {}, \"params\": {}, \"num_warps\": 1, "
        "\"num_stages\": 1}]}";
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[4096], text[sizeof(python) + 1200];
    int found = atoll_python_find(asked, "triton", python, sizeof(python), &err);

    if (found != 0) {
        find_maybe(
            findings, "triton", 0, 0,
            found < 0
                ? err.text
                : "no Python with Triton: CUDA alone is compiled for GPUs (pip install triton; --python, "
                  "ATOLL_PYTHON)");
        return;
    }
    struct atoll_triton_settings settings = {.compiler = {.target = "sm_90a",
                                                          .slots = 1,
                                                          .deadline_ns = 120e9,
                                                          .memory_bytes = (uint64_t)4 << 30,
                                                          .output_bytes = (uint64_t)16 << 20},
                                             .python = python,
                                             .cache = ""};
    struct atoll_compiler *compiler = atoll_triton_create(&settings, &err);
    struct atoll_compiled compiled = {0};
    int works = compiler && atoll_compiler_run(compiler, ATOLL_COMPILE_CANDIDATE "py", unit, sizeof(unit) - 1,
                                               NULL, 0, &compiled, &err) == 0;
    int ok = works && compiled.status == ATOLL_COMPILE_OK;

    snprintf(text, sizeof(text), "%.100s%s%s%s%.1000s", ok ? atoll_compiler_version(compiler) : "",
             ok ? " (" : "", ok ? python : "", ok ? ")" : "",
             ok      ? ""
             : works ? compiled.diagnostics
                     : err.text);
    find_maybe(findings, "triton", ok, 0, text);
    if (works)
        atoll_compiled_fini(&compiled);
    atoll_compiler_destroy(compiler);
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

/* ---- Slurm: every launcher is asked whether it works, and the best of them what the cluster is ---- */

static const struct {
    const char *name;
    enum atoll_launcher_kind kind;
} kinds[] = {{"libslurm", ATOLL_LAUNCHER_LIBSLURM},
             {"commands", ATOLL_LAUNCHER_COMMANDS},
             {"local", ATOLL_LAUNCHER_LOCAL}};

/* No limit is null. */
static json_t *minutes_json(double minutes)
{
    return isfinite(minutes) ? json_real(minutes) : json_null();
}

static void ask_cluster(struct atoll_launcher *launcher, json_t *slurm)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cluster *cluster = malloc(sizeof(*cluster));
    json_t *partitions = json_array();

    if (!cluster || atoll_launcher_cluster(launcher, cluster, &err) != 0) {
        json_object_set_new(slurm, "ok", json_false());
        json_object_set_new(slurm, "text", atoll_json_text(cluster ? err.text : "no memory"));
        json_decref(partitions);
        free(cluster);
        return;
    }
    json_object_set_new(
        slurm, "cluster",
        json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:f}", "version", atoll_json_text(cluster->version), "name",
                  atoll_json_text(cluster->name), "controller", atoll_json_text(cluster->controller),
                  "mpi_types", atoll_json_text(cluster->mpi_types), "array_limit", (int)cluster->array_limit,
                  "job_limit", (int)cluster->job_limit, "answer_s", cluster->answer_s));
    for (size_t i = 0; i < cluster->partition_count; i++) {
        const struct atoll_partition *p = &cluster->partitions[i];

        json_array_append_new(partitions,
                              json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:b}", "name",
                                        atoll_json_text(p->name), "state", atoll_json_text(p->state), "nodes",
                                        (int)p->nodes, "idle_nodes", (int)p->idle_nodes, "cpus_per_node",
                                        (int)p->cpus_per_node, "gres", atoll_json_text(p->gres),
                                        "time_limit_min", minutes_json(p->time_limit_min), "default_min",
                                        minutes_json(p->default_min), "is_default", p->is_default));
    }
    json_object_set_new(slurm, "partitions", partitions);
    free(cluster);
}

/* What the queue says of the job that this runs in; without an answer what the environment says. */
static void ask_job(struct atoll_launcher *launcher, const char *id, json_t *slurm)
{
    const char *nodes = getenv("SLURM_JOB_NODELIST"), *count = getenv("SLURM_JOB_NUM_NODES");
    struct atoll_err err = ATOLL_ERR_INIT;
    double left_s = 0;
    json_t *job = json_pack("{s:o, s:o, s:i}", "id", atoll_json_text(id), "nodes",
                            atoll_json_text(nodes ? nodes : ""), "node_count", count ? atoi(count) : 1);

    if (atoll_launcher_remaining(launcher, id, &left_s, &err) != 0)
        json_object_set_new(job, "problem", atoll_json_text(err.text));
    else
        json_object_set_new(job, "remaining_s", isfinite(left_s) ? json_real(left_s) : json_null());
    json_object_set_new(slurm, "job", job);
}

/* {"ok", "text", "launcher", "why": {kind: text}, "cluster": {...}, "partitions": [...], "job": {...}}, owned.  "why" tells of
 * launchers that do not work here; "cluster" and "partitions" are there when the controller answered, "job" inside one. */
static json_t *slurm_find(void)
{
    json_t *slurm = json_object(), *why = json_object();
    struct atoll_launcher *launcher = NULL;
    const char *id = getenv("SLURM_JOB_ID"), *name;

    /* The first that works; of those before it the reasons. */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !launcher; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        launcher = atoll_launcher_create(kinds[i].kind, SLURM_SECONDS, &err);
        if (!launcher)
            json_object_set_new(why, kinds[i].name, atoll_json_text(err.text));
    }
    name = launcher ? atoll_launcher_name(launcher) : "";
    json_object_set_new(slurm, "ok", json_boolean(launcher != NULL));
    json_object_set_new(slurm, "launcher", atoll_json_text(name));
    json_object_set_new(slurm, "text", atoll_json_text(launcher ? name : "no launcher works"));
    json_object_set_new(slurm, "why", why);
    if (launcher && atoll_launcher_is_slurm(launcher)) {
        ask_cluster(launcher, slurm);
        if (id && *id)
            ask_job(launcher, id, slurm);
    } else if (launcher) {
        json_object_set_new(slurm, "text",
                            json_string("no Slurm here: jobs run on this machine, one after another"));
    }
    atoll_launcher_destroy(launcher);
    return slurm;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int number_of(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

static void slurm_print(const json_t *slurm, FILE *out)
{
    const json_t *cluster = json_object_get(slurm, "cluster"), *job = json_object_get(slurm, "job");
    const char *kind;
    json_t *why, *partition;
    char time[32];
    size_t i;

    json_object_foreach(json_object_get(slurm, "why"), kind, why)
    {
        atoll_print_line(out, DETAIL_COLUMN, "     %-18s %s", kind, json_string_value(why));
    }
    if (cluster) {
        atoll_print(out, "     %-18s %s, Slurm %s, controller %s answered in %s\n", "cluster",
                    text_of(cluster, "name"), text_of(cluster, "version"), text_of(cluster, "controller"),
                    atoll_duration_text(json_real_value(json_object_get(cluster, "answer_s")) * 1e9, time,
                                        sizeof(time)));
        atoll_print(out, "     %-18s MaxJobCount %d, MaxArraySize %d\n", "limits",
                    number_of(cluster, "job_limit"), number_of(cluster, "array_limit"));
        atoll_print(out, "     %-18s %s\n", "mpi",
                    *text_of(cluster, "mpi_types") ? text_of(cluster, "mpi_types")
                                                   : "srun does not say which kinds it starts");
    }
    json_array_foreach(json_object_get(slurm, "partitions"), i, partition)
    {
        const json_t *limit = json_object_get(partition, "time_limit_min");

        snprintf(time, sizeof(time), "no limit");
        if (json_is_real(limit))
            atoll_duration_text(json_real_value(limit) * 60e9, time, sizeof(time));
        atoll_print(out, "     %-18s %d nodes (%d idle), %d CPUs each%s%s, time %s, %s\n",
                    text_of(partition, "name"), number_of(partition, "nodes"),
                    number_of(partition, "idle_nodes"), number_of(partition, "cpus_per_node"),
                    *text_of(partition, "gres") ? ", " : "", text_of(partition, "gres"), time,
                    json_is_true(json_object_get(partition, "is_default")) ? "the default"
                                                                           : text_of(partition, "state"));
    }
    if (job) {
        const json_t *left = json_object_get(job, "remaining_s");

        snprintf(time, sizeof(time), "without a limit");
        if (json_is_real(left))
            atoll_duration_text(json_real_value(left) * 1e9, time, sizeof(time));
        atoll_print(out, "     %-18s job %s of %d nodes (%s), time left: %s\n", "here", text_of(job, "id"),
                    number_of(job, "node_count"), text_of(job, "nodes"),
                    json_object_get(job, "problem") ? text_of(job, "problem") : time);
    }
}

/* ---- the command ---- */

static int run_doctor(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct doctor_settings *settings = given;
    struct findings findings = {.object = json_object(), .json = settings->json};
    char containment[256];

    if (settings->slurm) {
        json_t *slurm = slurm_find();

        /* Jobs run on a machine without Slurm, too: only a controller that does not answer is a failure. */
        find(&findings, "slurm", json_is_true(json_object_get(slurm, "ok")),
             json_string_value(json_object_get(slurm, "text")));
        if (!settings->json)
            slurm_print(slurm, stdout);
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
        check_torch(&findings, settings->python);
        check_triton(&findings, settings->python);
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
