/* The cpu backend's table: cores of this process's affinity mask, cc, workers that fork a child per sample. */
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/kept_calibration.h"

#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "core/task/reference.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/compile/instructions.h"
#include "mpi-eval/backend/cpu/measure/state.h"
#include "mpi-eval/backend/cpu/process/flush.h"
#include "mpi-eval/referee/room.h"
#include "mpi-eval/torch/torch_rival.h"
#include "mpi-eval/torch/interpreter.h"

#define OBJECT_BYTES          ((uint64_t)64 << 20)
#define SCRATCH_LIMIT         ((int64_t)1 << 32)
#define UNITS_LIMIT           ((int64_t)1 << 40)
#define CALIBRATION_HOW_BYTES 1024

/* ---- levels 1 and 2 ----
 * What the cpu backend adds to a unit: one shim per launch with a binary interface that is the same for every
 * candidate: void atoll_shim_<k>(long begin, long end, const union atoll_run_word_ *words). */

static int launch_check(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch,
                        const struct atoll_device_info *device, struct atoll_err *err)
{
    const struct atoll_launch *l = &p->plan->launches[launch];
    char field[ATOLL_PLAN_FIELD_BYTES];
    (void)device;
    if (!l->units)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: field '%s.units' is missing",
                             atoll_plan_launch_field(p->plan, launch, field));
    if (atoll_prepare_within(p, v, l->units, "units", 0, UNITS_LIMIT, err) != 0)
        return -1;
    for (size_t i = 0; i < l->arg_count; i++) {
        const struct atoll_arg *a = &l->args[i];
        int narrow = a->width == ATOLL_I32;
        if (a->kind == ATOLL_ARG_TENSORMAP)
            return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": the cpu backend has no tensor maps",
                                 a->text);
        if (a->kind == ATOLL_ARG_INTEGER &&
            atoll_prepare_within(p, v, a->value, "argument", narrow ? INT32_MIN : INT64_MIN,
                                 narrow ? INT32_MAX : INT64_MAX, err) != 0)
            return -1;
    }
    return 0;
}

/* Every name of a shim is one that a body and its macros cannot have. */
static void shim_print(struct atoll_buffer *out, const struct atoll_plan *plan, size_t k)
{
    const struct atoll_launch *l = &plan->launches[k];
    char field[ATOLL_PLAN_FIELD_BYTES];
    static const char parameters[] = "(long atoll_b_, long atoll_e_, const union atoll_run_word_ *atoll_w_)";
    /* The type of an undeclared function is an error here, not the linker's. */
    atoll_buffer_printf(out, "#line 1 \"plan.%s\"\ntypedef __typeof__(%s) *atoll_function_%zu_;\n",
                        atoll_plan_launch_field(plan, k, field), l->symbol, k);
    atoll_buffer_printf(out, "__attribute__((visibility(\"default\"))) void atoll_shim_%zu%s;\n", k,
                        parameters);
    atoll_buffer_printf(out, "void atoll_shim_%zu%s\n{\n    (void)atoll_w_;\n    %s(atoll_b_, atoll_e_", k,
                        parameters, l->symbol);
    for (size_t i = 0; i < l->arg_count; i++) {
        const struct atoll_arg *a = &l->args[i];
        if (a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH)
            atoll_buffer_printf(out, ", atoll_w_[%zu].atoll_p_", i);
        else if (a->kind == ATOLL_ARG_INTEGER)
            atoll_buffer_printf(out, ", (%s)atoll_w_[%zu].atoll_i_",
                                a->width == ATOLL_I32 ? "int" : "long long", i);
        else
            atoll_buffer_printf(out, ", (%s)atoll_w_[%zu].atoll_d_",
                                a->width == ATOLL_F32 ? "float" : "double", i);
    }
    atoll_buffer_printf(out, ");\n}\n");
}

static void shims_print(const struct atoll_prepared *p, struct atoll_buffer *out)
{
    atoll_buffer_printf(out,
                        "#line 1 \"" ATOLL_CC_HARNESS "\"\n"
                        "union atoll_run_word_ { void *atoll_p_; long long atoll_i_; double atoll_d_; };\n");
    for (size_t k = 0; k < p->plan->launch_count; k++)
        shim_print(out, p->plan, k);
}

static void shim_name(const struct atoll_prepared *p, size_t launch, char *ret_name, size_t name_bytes)
{
    (void)p;
    snprintf(ret_name, name_bytes, "atoll_shim_%zu", launch);
}

static int backend_prepare(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                           const struct atoll_device_info *device, struct atoll_err *err)
{
    static const struct atoll_prepare_parts parts = {.backend = &atoll_backend_cpu,
                                                     .launch_check = launch_check,
                                                     .unit_end = shims_print,
                                                     .symbol = shim_name,
                                                     .scratch_limit_bytes = SCRATCH_LIMIT};
    return atoll_prepare(p, candidate, device, &parts, err);
}

/* ---- the device ---- */

static struct atoll_compiler *compiler_of(const struct atoll_setup *setup, const char *flags, unsigned slots,
                                          struct atoll_err *err)
{
    struct atoll_compiler_settings settings = {.command = setup->compiler,
                                               .flags = flags,
                                               .slots = slots,
                                               .deadline_ns = setup->compile_deadline_ns,
                                               .memory_bytes = setup->compile_memory_bytes,
                                               .output_bytes = OBJECT_BYTES};
    return atoll_cc_create(&settings, err);
}

static struct atoll_compiler *compiler_create(const struct atoll_setup *setup, unsigned slots,
                                              struct atoll_err *err)
{
    return compiler_of(setup, setup->compile_flags, slots, err);
}

/* A share of the memory that there is for us, as large as the device's share of its processors, within bounds. */
static size_t memory_share(const struct atoll_cpu *c, double divisor, double least_mib, double most_mib)
{
    double cores = (double)CPU_COUNT(&c->device.affinity) / (double)sysconf(_SC_NPROCESSORS_ONLN);
    double mib = (double)atoll_memory_limit_bytes() * fmin(cores, 1) / divisor / 1048576;
    return (size_t)fmin(fmax(mib, least_mib), most_mib) << 20;
}

/* What the calibration follows from beside the device and the program. */
static const char *calibration_how(const struct atoll_referee *r, char *text, size_t bytes)
{
    const char *width = getenv(ATOLL_CALIBRATION_WIDTH_VARIABLE);
    snprintf(text, bytes, "%s; %s; %s", r->setup.compiler, r->setup.compile_flags, width ? width : "");
    return text;
}

static int measure(struct atoll_referee *r, struct atoll_err *err)
{
    char how[CALIBRATION_HOW_BYTES];
    atoll_cpu_settle(r);
    if (atoll_calibration_measure(atoll_cpu_of(r)->calibration, &r->info, &r->jitter_ns, err) != 0)
        return -1;
    atoll_kept_calibration_write(&r->info, calibration_how(r, how, sizeof(how)), atoll_clock_unix_ns(),
                                 r->jitter_ns);
    return 0;
}

/* As an earlier process on this device did, where a probe agrees with what it found; else anew. */
static int calibrate(struct atoll_referee *r, struct atoll_err *err)
{
    struct atoll_device_info before = r->info;
    char how[CALIBRATION_HOW_BYTES];
    if (!atoll_kept_calibration_read(&r->info, calibration_how(r, how, sizeof(how)), atoll_clock_unix_ns(),
                                     &r->jitter_ns))
        return measure(r, err);
    int agrees = atoll_calibration_probe(atoll_cpu_of(r)->calibration, &r->info, err);
    if (agrees > 0)
        atoll_log(ATOLL_LOG_INFO, "eval.calibration.kept", "the calibration of an earlier run holds");
    if (agrees != 0)
        return agrees > 0 ? 0 : -1;
    r->info = before;
    return measure(r, err);
}

static int qualify(struct atoll_referee *r, struct atoll_err *err)
{
    return atoll_calibration_qualify(atoll_cpu_of(r)->calibration, err);
}

/* threads: 0 as many as a question gets.  The process starts with the first question. */
static struct atoll_torch_oracle *torch_create(struct atoll_referee *r, unsigned threads,
                                               struct atoll_err *err)
{
    const struct atoll_cpu *c = atoll_cpu_of(r);
    struct atoll_torch_oracle_settings settings = {.python = r->setup.python,
                                                   .threads =
                                                       threads ? threads : c->oracle_runner.thread_count,
                                                   .cores = c->oracle_cores,
                                                   .core_count = c->oracle_runner.thread_count,
                                                   .cancelled = &r->cancelled};
    return atoll_torch_oracle_create(&settings, err);
}

static int device_open(struct atoll_referee *r, struct atoll_err *err)
{
    struct atoll_cpu *c = r->device_state = calloc(1, sizeof(*c));
    if (!c)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the device");
    if (atoll_device_open(r->setup.threads, &c->device, err) != 0)
        return -1;
    c->runner = (struct atoll_runner_settings){.thread_count = (unsigned)c->device.core_count,
                                               .cores = c->device.cores,
                                               .worker_path = getenv("ATOLL_WORKER"),
                                               .spin = c->device.spin,
                                               .stack_bytes = (uint64_t)8 << 20};
    unsigned count = 0;
    for (size_t i = 0; i < CPU_SETSIZE && count < ATOLL_DEVICE_CORE_LIMIT; i++)
        if (CPU_ISSET(i, &c->device.affinity))
            c->oracle_cores[count++] = (int)i;
    c->oracle_runner = c->runner;
    c->oracle_runner.spin = 0;
    c->oracle_runner.cores = c->oracle_cores;
    c->oracle_runner.thread_count = count;
    atoll_device_describe(&c->device, r->compiler ? atoll_compiler_version(r->compiler) : "", &r->info);
    atoll_torch_versions(r->setup.python, 0, r->info.torch, sizeof(r->info.torch));
    size_t cache = (size_t)r->info.last_level_cache_bytes;
    if (c->device.spin && !r->setup.backend_null && atoll_flush_known() != ATOLL_FLUSH_NONE &&
        !(c->team = atoll_team_create(c->device.cores, c->device.core_count, err)))
        return -1;
    if (!(c->torch = torch_create(r, 0, err)) ||
        !(c->memory = atoll_memory_create(memory_share(c, 8, 256, 4096), cache, err)) ||
        !(c->oracle_memory = atoll_memory_create(memory_share(c, 8, 256, 4096), cache, err)) ||
        !(c->expected_cache =
              atoll_expected_cache_create(memory_share(c, 10, 512, 4096), memory_share(c, 10, 128, 4096),
                                          r->salt ^ 0x7072696e74ull, c->team, err)))
        return -1;
    if (r->setup.backend_null)
        return 0;
    c->calibration = atoll_calibration_create(r->compiler, &c->runner, &r->info, err);
    if (!c->calibration)
        return -1;
    atoll_device_pin(&c->device);
    return qualify(r, err) != 0 ? -1 : calibrate(r, err);
}

static void device_close(struct atoll_referee *r)
{
    struct atoll_cpu *c = atoll_cpu_of(r);
    if (!c)
        return;
    atoll_calibration_destroy(c->calibration);
    atoll_expected_cache_destroy(c->expected_cache);
    atoll_torch_oracle_destroy(c->torch);
    atoll_torch_oracle_destroy(c->torch_other);
    atoll_compiler_destroy(c->plain_compiler);
    atoll_memory_destroy(c->memory);
    atoll_memory_destroy(c->oracle_memory);
    atoll_team_destroy(c->team);
    if (c->device.core_count && !r->setup.backend_null)
        atoll_device_unpin(&c->device);
    free(c);
    r->device_state = NULL;
}

static int case_open(struct atoll_referee *r, struct atoll_case *known, struct atoll_err *err)
{
    struct atoll_cpu *c = atoll_cpu_of(r);
    if (known->task->torch && atoll_torch_oracle_find(c->torch, known->task, err) != 0)
        return -1;
    known->oracle = r->reference
                        ? atoll_oracle_create_compiled(known->task, r->reference, r->reference_length,
                                                       &c->oracle_runner, c->oracle_memory, r->salt, err)
                        : atoll_oracle_create(known->task, r->compiler, &c->oracle_runner, c->oracle_memory,
                                              c->torch, r->salt, err);
    if (!known->oracle)
        return -1;
    atoll_oracle_set_team(known->oracle, c->team);
    return 0;
}

static void case_close(struct atoll_referee *r, struct atoll_case *known)
{
    (void)r;
    atoll_oracle_destroy(known->oracle);
    known->oracle = NULL;
}

static size_t kept(struct atoll_referee *r, struct atoll_case *known, uint32_t variant, uint16_t *ret_numbers,
                   size_t limit)
{
    return atoll_expected_cache_kept(atoll_cpu_of(r)->expected_cache, known->number, variant, ret_numbers,
                                     limit);
}

static int answer(struct atoll_referee *r, struct atoll_case *known, const struct atoll_input_set *input_set,
                  struct atoll_err *err)
{
    struct atoll_expected_cache *cache = atoll_cpu_of(r)->expected_cache;
    if (atoll_expected_cache_has(cache, known->number, input_set) ||
        !atoll_expected_cache_has_room(cache, known->task, input_set->variant))
        return 0;
    struct atoll_expected *expected = atoll_cpu_expected(atoll_cpu_of(r), known, input_set, 0, err);
    atoll_expected_cache_release(cache, expected);
    atoll_oracle_settle(known->oracle); /* another task's sample may be next */
    return expected ? 1 : -1;
}

static void *hold(struct atoll_referee *r, struct atoll_case *known, const struct atoll_input_set *input_set,
                  int need_full, struct atoll_err *err)
{
    return atoll_cpu_expected(atoll_cpu_of(r), known, input_set, need_full, err);
}

static void release(struct atoll_referee *r, void *held)
{
    atoll_expected_cache_release(atoll_cpu_of(r)->expected_cache, held);
}

/* ---- for the admission battery ---- */

static int examine(struct atoll_referee *r, struct atoll_case *known, const struct atoll_input_set *input_set,
                   const void *const *data, double *ret_worst, char *ret_detail, struct atoll_err *err)
{
    double worst = 0;
    struct atoll_expected *expected = hold(r, known, input_set, 1, err);
    int right =
        expected ? atoll_outputs_check(atoll_cpu_of(r), known, expected, data, NULL, &worst, ret_detail, err)
                 : -1;
    if (ret_worst)
        *ret_worst = worst;
    release(r, expected);
    return right;
}

/* A reference of its own, in a process with other threads or of another build; PyTorch has but one. */
static struct atoll_oracle *oracle_elsewhere(struct atoll_referee *r, struct atoll_case *known,
                                             const struct atoll_reference_question *question,
                                             struct atoll_err *err)
{
    struct atoll_cpu *c = atoll_cpu_of(r);
    struct atoll_runner_settings settings = c->runner;
    size_t length;
    settings.thread_count = question->threads;
    settings.cores = NULL;
    settings.spin = 0;
    if (known->task->torch) {
        if (!c->torch_other && !(c->torch_other = torch_create(r, question->threads, err)))
            return NULL;
        return atoll_oracle_create(known->task, r->compiler, &settings, c->oracle_memory, c->torch_other,
                                   r->salt, err);
    }
    if (question->is_unoptimised) {
        if (!c->plain_compiler && !(c->plain_compiler = compiler_of(&r->setup, "-O0", 1, err)))
            return NULL;
        return atoll_oracle_create(known->task, c->plain_compiler, &settings, c->oracle_memory, NULL, r->salt,
                                   err);
    }
    const void *object = atoll_oracle_object(known->oracle, &length);
    return atoll_oracle_create_compiled(known->task, object, length, &settings, c->oracle_memory, r->salt,
                                        err);
}

static int expect_elsewhere(struct atoll_referee *r, struct atoll_case *known,
                            const struct atoll_reference_question *question, struct atoll_truth *ret_truth,
                            struct atoll_err *err)
{
    struct atoll_oracle *oracle = oracle_elsewhere(r, known, question, err);
    int failed =
        oracle ? atoll_oracle_ask(oracle, question->input_set, question->changed_tensor, ret_truth, err) : -1;
    atoll_oracle_destroy(oracle);
    return failed;
}

static int expect(struct atoll_referee *r, struct atoll_case *known,
                  const struct atoll_reference_question *question, struct atoll_reference_values *ret_values,
                  struct atoll_err *err)
{
    struct atoll_truth truth = {0};
    int failed;
    if (question->threads) {
        failed = expect_elsewhere(r, known, question, &truth, err);
    } else if (question->changed_tensor >= 0) {
        failed = atoll_oracle_ask(known->oracle, question->input_set, question->changed_tensor, &truth, err);
    } else {
        struct atoll_expected *expected = hold(r, known, question->input_set, 1, err);
        failed = expected ? atoll_truth_copy(&expected->truth, 1, NULL, NULL, &truth, err) : -1;
        release(r, expected);
    }
    if (failed)
        return -1;
    memcpy(ret_values->counts, truth.counts, sizeof(truth.counts));
    memcpy(ret_values->values, truth.values, sizeof(truth.values));
    memcpy(ret_values->scale, truth.scale, sizeof(truth.scale));
    memcpy(ret_values->precision, truth.precision, sizeof(truth.precision));
    memset(truth.values, 0, sizeof(truth.values));
    memset(truth.scale, 0, sizeof(truth.scale));
    atoll_truth_fini(&truth);
    return 0;
}

/* ---- room ---- */

/* A candidate has all tensors at once; the reference inputs, and two doubles or one for each element of outputs. */
static int variant_fits(struct atoll_referee *r, const struct atoll_task *task, const struct atoll_variant *v,
                        struct atoll_err *err)
{
    const struct atoll_cpu *c = atoll_cpu_of(r);
    struct atoll_room own = {.has_bytes = (double)atoll_memory_has_bytes(c->memory),
                             .what = "the buffers of one candidate"};
    struct atoll_room reference = {.has_bytes = (double)atoll_memory_has_bytes(c->oracle_memory),
                                   .what = "inputs and expected values of the reference"};
    struct atoll_room both = {.has_bytes = r->info.limits.memory_bytes,
                              .what = "the buffers of a candidate and of the reference"};
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        size_t count;
        if (atoll_task_element_count(task, i, v, &count, err) != 0)
            return -1;
        double stored = (double)atoll_memory_taken_bytes(count * atoll_dtype_bytes(t->dtype));
        double expected = (double)atoll_memory_taken_bytes(count * sizeof(double));
        own.need_bytes += stored;
        if (task->torch) /* answers into memory of its own */
            continue;
        reference.need_bytes += t->role == ATOLL_ROLE_OUT ? 0 : stored;
        if (t->role == ATOLL_ROLE_OUT || t->role == ATOLL_ROLE_INOUT)
            reference.need_bytes += expected * (atoll_reference_has_scale(task, i) ? 2 : 1);
    }
    both.need_bytes = own.need_bytes + reference.need_bytes;
    return atoll_room_check(&own, task, v, r->info.limits.memory_bytes, err) != 0 ||
                   atoll_room_check(&reference, task, v, r->info.limits.memory_bytes, err) != 0 ||
                   atoll_room_check(&both, task, v, 0, err) != 0
               ? -1
               : 0;
}

/* ---- rivals: on the cores and with the threads of a candidate ---- */

static void torch_place(struct atoll_referee *r, struct atoll_torch_place *place)
{
    const struct atoll_cpu *c = atoll_cpu_of(r);
    place->threads = (unsigned)c->device.core_count;
    place->cores = c->device.cores;
    place->core_count = c->device.core_count;
    place->flush_bytes = (uint64_t)(2 * r->info.last_level_cache_bytes);
}

/* Counts of machine instructions, and the loop that the compiler's assembler text shows. */
static void describe(const struct atoll_prepared *prepared, const void *object, size_t object_length,
                     const struct atoll_device_info *device, struct atoll_buffer *out,
                     struct atoll_buffer *listing)
{
    uint32_t mix[ATOLL_MIX_COUNT] = {0};
    int any = 0;
    (void)device;
    atoll_instructions_count(object, object_length, mix);
    for (int i = 0; i < ATOLL_MIX_COUNT; i++)
        if (mix[i])
            atoll_buffer_printf(out, "%s%s %u", any++ ? ", " : "instructions of the whole source: ",
                                atoll_mix_name((enum atoll_mix)i), mix[i]);
    atoll_buffer_printf(out, "%s\n", any ? "" : "nothing is known of its instructions");
    if (!prepared->report || !*prepared->report)
        return;
    atoll_buffer_printf(out, "the innermost loop with the most arithmetic on floats:\n%s", prepared->report);
    if (listing)
        atoll_buffer_put_bytes(listing, prepared->report, strlen(prepared->report));
}

const struct atoll_backend atoll_backend_cpu = {
    .name = "cpu",
    .language = "c",
    .unit_name = ATOLL_CC_CANDIDATE,
    .prepare = backend_prepare,
    .compiler_create = compiler_create,
    .open = device_open,
    .close = device_close,
    .qualify = qualify,
    .measure = measure,
    .case_unit = atoll_oracle_unit,
    .case_open = case_open,
    .case_close = case_close,
    .candidate_open = atoll_cpu_loaded_candidate_open,
    .candidate_close = atoll_cpu_loaded_candidate_close,
    .trial = atoll_cpu_trial,
    .kept = kept,
    .answer = answer,
    .hold = hold,
    .release = release,
    .examine = examine,
    .expect = expect,
    .variant_fits = variant_fits,
    .leads_admission = 1,
    .torch_place = torch_place,
    .calm = atoll_cpu_settle,
    .describe = describe,
};
