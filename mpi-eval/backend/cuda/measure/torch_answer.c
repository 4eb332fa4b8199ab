#include "mpi-eval/backend/cuda/measure/torch_answer.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/task/init.h"
#include "mpi-eval/backend/cuda/measure/torch_inputs.h"
#include "mpi-eval/backend/cuda/measure/window.h"

#define CONTEXT_BYTES ((uint64_t)1 << 30) /* of torch: context, libraries of linear algebra */
#define COPIES        2                   /* of all tensors in double precision, where nobody measured it */
#define DEVICE_SHARE  0.9
#define AREAS_BYTES   ((uint64_t)2 << 30)  /* margin, flush, guards */
#define WRITE_BYTES   ((uint64_t)32 << 20) /* of a batch */

/* ---- where, and how much memory that takes ---- */

static uint64_t bytes_of_answer(const struct atoll_task *task)
{
    uint64_t most = 0;
    if (task->torch->memory_bytes > 0)
        return (uint64_t)task->torch->memory_bytes;
    for (size_t v = 0; v < task->variant_count; v++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < task->tensor_count; i++) {
            size_t count = 0;
            if (atoll_task_element_count(task, i, &task->variants[v], &count, NULL) == 0)
                sum += (uint64_t)count * 8 * COPIES;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

/* What an answer shows of itself at once, at the largest variant. */
static uint64_t bytes_of_window(const struct atoll_cuda_device *d, const struct atoll_task *task)
{
    uint64_t most = 0;
    for (size_t v = 0; v < task->variant_count; v++) {
        struct atoll_torch_window w;
        if (atoll_torch_window_lay(task, &task->variants[v], sizeof(double), &w, NULL) == 0 &&
            atoll_cuda_window_is_open(d, &w) && w.stretch > most)
            most = w.stretch;
    }
    return most;
}

/* What the areas need at the largest variant, without room to rotate: tensors, and expected values in the clear. */
static uint64_t bytes_of_tensors(const struct atoll_task *task)
{
    uint64_t most = 0;
    for (size_t v = 0; v < task->variant_count; v++) {
        uint64_t sum = AREAS_BYTES;
        for (size_t i = 0; i < task->tensor_count; i++) {
            size_t count = 0;
            if (atoll_task_element_count(task, i, &task->variants[v], &count, NULL) == 0)
                sum += (uint64_t)count *
                       (atoll_dtype_bytes(task->tensors[i].dtype) + (atoll_cuda_is_output(task, i) ? 8 : 0));
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static unsigned processors_of_thread(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}

static int oracles_open(struct atoll_cuda_device *d, struct atoll_err *err)
{
    struct atoll_torch_oracle_settings settings = {.python = d->referee->setup.python,
                                                   .threads = 1,
                                                   .cancelled = &d->referee->cancelled,
                                                   .gpu = d->uuid,
                                                   .kernels = d->support.bytes,
                                                   .kernel_bytes = d->support.length};
    struct atoll_cuda_worker_settings chosen;
    atoll_cuda_device_settings(d, &chosen);
    if (chosen.uuid)
        settings.gpu = chosen.uuid; /* a part of a device keeps its own name */
    if (!d->torch && !(d->torch = atoll_torch_oracle_create(&settings, err)))
        return -1;
    settings.gpu = NULL;
    settings.threads = processors_of_thread();
    if (!d->torch_host && !(d->torch_host = atoll_torch_oracle_create(&settings, err)))
        return -1;
    return 0;
}

static void on_host(struct atoll_cuda_oracle *o, const struct atoll_task *task, const char *why)
{
    o->is_on_host = 1;
    atoll_log(ATOLL_LOG_INFO, "eval.torch.host", "task '%s': PyTorch answers on the host: %.400s", task->name,
              why);
}

static int is_room(const struct atoll_cuda_device *d, uint64_t bytes, uint64_t own)
{
    return (double)bytes <= DEVICE_SHARE * d->facts.limits.memory_bytes &&
           (!d->facts.free_bytes || bytes + own <= d->facts.free_bytes);
}

int atoll_cuda_torch_expect(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_cuda_oracle *o = known->oracle;
    uint64_t bytes = bytes_of_answer(known->task) + CONTEXT_BYTES, own = bytes_of_tensors(known->task);
    uint64_t window = bytes_of_window(d, known->task);
    char why[128];
    if (oracles_open(d, err) != 0 || atoll_torch_oracle_find(d->torch, known->task, err) != 0)
        return -1;
    o->is_windowless = !is_room(d, bytes + window, own); /* the host itself would be slower still */
    bytes += o->is_windowless ? 0 : window;
    if (d->facts.compute_mode != 0) {
        on_host(o, known->task, "the device's compute mode allows one process");
    } else if ((double)bytes > DEVICE_SHARE * d->facts.limits.memory_bytes) {
        snprintf(why, sizeof(why), "an answer needs %.1f GB, the device has %.1f GB", (double)bytes / 1e9,
                 d->facts.limits.memory_bytes / 1e9);
        on_host(o, known->task, why);
    } else if (d->facts.free_bytes && bytes + own > d->facts.free_bytes) {
        snprintf(why, sizeof(why), "an answer needs %.1f GB, kernels need %.1f GB, %.1f GB are free",
                 (double)bytes / 1e9, (double)own / 1e9, (double)d->facts.free_bytes / 1e9);
        on_host(o, known->task, why);
    } else {
        atoll_cuda_device_leave(d, bytes);
    }
    return 0;
}

/* ---- an answer ---- */

struct places {
    size_t inputs[ATOLL_TASK_TENSOR_LIMIT], bytes;
    uint64_t values[ATOLL_TASK_TENSOR_LIMIT];
};

static void places_make(const struct atoll_cuda_stage *s, int with_inputs, struct places *p)
{
    const struct atoll_task *task = s->known->task;
    memset(p, 0, sizeof(*p));
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        uint64_t count = s->sample.plain.counts[i];
        if (with_inputs && t->role != ATOLL_ROLE_OUT)
            p->inputs[i] = atoll_shared_memory_take(&p->bytes, count * atoll_dtype_bytes(t->dtype));
        if (atoll_cuda_is_output(task, i))
            p->values[i] = atoll_shared_memory_take(&p->bytes, count * sizeof(double));
    }
}

/* Raw, for a process on the host. */
static json_t *inputs_fill(const struct atoll_cuda_stage *s, const struct places *p, unsigned char *base,
                           struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    json_t *inputs = json_object();
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        size_t count = (size_t)s->sample.plain.counts[i];
        if (t->role == ATOLL_ROLE_OUT)
            continue;
        if (atoll_init_fill(task, i, s->variant, s->input_set->seed, s->input_set->distribution, 0, count,
                            base + p->inputs[i], err) != 0) {
            json_decref(inputs);
            return NULL;
        }
        json_object_set_new(inputs, t->name,
                            json_pack("{s:I, s:I}", "offset", (json_int_t)p->inputs[i], "bytes",
                                      (json_int_t)count * (json_int_t)atoll_dtype_bytes(t->dtype)));
    }
    return inputs;
}

static json_t *outputs_describe(const struct atoll_cuda_stage *s, const uint64_t *offsets)
{
    const struct atoll_task *task = s->known->task;
    json_t *outputs = json_array();
    for (size_t i = 0; i < task->tensor_count; i++)
        if (atoll_cuda_is_output(task, i))
            json_array_append_new(outputs, json_pack("{s:s, s:I, s:I}", "name", task->tensors[i].name,
                                                     "offset", (json_int_t)offsets[i], "count",
                                                     (json_int_t)s->sample.plain.counts[i]));
    return outputs;
}

static void precision_note(struct atoll_cuda_stage *s, const char *precision)
{
    struct atoll_cuda_oracle *o = s->known->oracle;
    if (strcmp(precision, o->precision) != 0 && strcmp(precision, "f64") != 0)
        atoll_log(ATOLL_LOG_INFO, "eval.torch.precision",
                  "task '%s': its module does not run in double precision, expected values are of %s",
                  s->known->task->name, precision);
    snprintf(o->precision, sizeof(o->precision), "%.7s", precision);
}

static json_t *inputs_tell(const struct atoll_cuda_stage *s, struct atoll_err *err)
{
    return atoll_cuda_torch_inputs(s->known->task, s->variant, s->input_set->seed, s->input_set->distribution,
                                   -1, err);
}

static int ask(struct atoll_cuda_stage *s, int host, struct places *p, unsigned char **ret_base,
               struct atoll_err *err)
{
    struct atoll_torch_oracle *torch = host ? s->device->torch_host : s->device->torch;
    char precision[8];
    places_make(s, host, p);
    if (!(*ret_base = atoll_torch_oracle_memory(torch, p->bytes, err)))
        return -1;
    json_t *inputs = host ? inputs_fill(s, p, *ret_base, err) : inputs_tell(s, err);
    if (!inputs || atoll_torch_oracle_ask(torch, s->known->task, s->variant, inputs,
                                          outputs_describe(s, p->values), precision, err) != 0)
        return -1;
    precision_note(s, precision);
    return 0;
}

/* In pieces: a batch has a limit. */
static int values_write(struct atoll_cuda_stage *s, const struct places *p, const unsigned char *base,
                        struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        uint64_t bytes = atoll_cuda_is_output(task, i) ? s->sample.plain.counts[i] * sizeof(double) : 0;
        for (uint64_t at = 0; at < bytes; at += WRITE_BYTES) {
            uint64_t piece = bytes - at < WRITE_BYTES ? bytes - at : WRITE_BYTES;
            atoll_command_batch_clear(&d->batch);
            atoll_command_batch_write(&d->batch, s->sample.plain.expected[i] + at, base + p->values[i] + at,
                                      (size_t)piece);
            int rc = atoll_cuda_device_run_own(d, "expected values of PyTorch", err);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

/* ---- an answer that stays on the device ---- */

struct shown {
    struct atoll_cuda_stage *stage;
    struct atoll_torch_window window;
};

static int answer_show(void *context, uint64_t begin, unsigned char *ret_handle, struct atoll_err *err)
{
    struct shown *a = context;
    struct atoll_torch_oracle *torch = a->stage->device->torch;
    uint64_t stretch = a->window.stretch;
    char precision[8];
    if (begin > 0)
        return atoll_torch_oracle_show(torch, begin, stretch, ret_handle, err);
    json_t *inputs = inputs_tell(a->stage, err);
    if (!inputs || atoll_torch_oracle_ask_shown(torch, a->stage->known->task, a->stage->variant, inputs,
                                                outputs_describe(a->stage, a->window.offsets), stretch,
                                                precision, ret_handle, err) != 0)
        return -1;
    precision_note(a->stage, precision);
    return 0;
}

static int answer_close(void *context)
{
    const struct shown *a = context;
    return atoll_torch_oracle_close(a->stage->device->torch);
}

/* ---- the whole ---- */

static int by_window(struct atoll_cuda_stage *stage, struct atoll_err *err)
{
    struct shown a = {.stage = stage};
    if (atoll_torch_window_lay(stage->known->task, stage->variant, sizeof(double), &a.window, err) != 0)
        return -1;
    if (((struct atoll_cuda_oracle *)stage->known->oracle)->is_windowless ||
        !atoll_cuda_window_is_open(stage->device, &a.window))
        return ATOLL_CUDA_WINDOW_SHUT;
    a.window.context = &a;
    a.window.show = answer_show;
    a.window.close = answer_close;
    return atoll_cuda_window_take(stage->device, &a.window, stage->sample.plain.expected, err);
}

static int by_host_memory(struct atoll_cuda_stage *stage, int host, struct atoll_err *err)
{
    unsigned char *base = NULL;
    struct places places;
    int rc = ask(stage, host, &places, &base, err);
    return rc == 0 ? values_write(stage, &places, base, err) : rc;
}

static int is_elsewhere(const struct atoll_err *why)
{
    return why->code == ATOLL_E_LIMIT || why->code == ATOLL_E_MISSING;
}

static int on_device(struct atoll_cuda_stage *stage, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    int rc = by_window(stage, &why);
    atoll_calm_stir(&stage->device->calm, stage->total_bytes); /* it lets go of more than that */
    if (rc == 0 || rc == ATOLL_CUDA_WINDOW_LOST)
        return rc;
    if (rc < 0 && !is_elsewhere(&why))
        return atoll_err_set(err, why.code, "%s", why.text);
    rc = by_host_memory(stage, 0, err);
    if (rc == 0 && why.code == ATOLL_E_MISSING) /* all but the window it can */
        atoll_cuda_window_shut(stage->device, why.text);
    return rc;
}

int atoll_cuda_torch_answer(struct atoll_cuda_stage *stage, struct atoll_err *err)
{
    struct atoll_cuda_oracle *o = stage->known->oracle;
    struct atoll_err why = ATOLL_ERR_INIT;
    double begin = atoll_clock_mono_ns();
    int rc = -1;
    if (!stage->known->task->torch)
        return 0;
    if (!o->is_on_host && (rc = on_device(stage, &why)) < 0 && is_elsewhere(&why))
        on_host(o, stage->known->task, why.text);
    if (o->is_on_host) {
        atoll_err_clear(&why);
        rc = by_host_memory(stage, 1, &why);
    }
    if (rc == 0)
        atoll_log(ATOLL_LOG_DEBUG, "eval.torch.answer", "task '%s', variant %s: answered in %.1f ms",
                  stage->known->task->name, stage->variant->name, (atoll_clock_mono_ns() - begin) / 1e6);
    if (rc < 0) /* what is the problem's doing is no candidate's */
        return atoll_err_set(
            err, why.code == ATOLL_E_INPUT || why.code == ATOLL_E_LIMIT ? ATOLL_E_CHILD : why.code, "%s",
            why.text);
    return rc;
}
