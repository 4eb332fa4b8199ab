#include "mpi-eval/torch/torch_rival.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "core/task/task_describe.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"

#define OWN_NS      60e9 /* of a question that runs nothing of a task's */
#define START_NS    180e9
#define BUILT_LIMIT (ATOLL_TASK_RIVAL_LIMIT * ATOLL_TASK_VARIANT_LIMIT)
#define SAMPLE_MOST 1e13 /* ns */
#define CLOCK_MOST  1e11

struct atoll_torch_rival {
    struct atoll_torch_place place;
    char python[PATH_MAX]; /* "" not looked for yet */
    char versions[192];
    struct atoll_torch *process; /* NULL: to be started */
    struct atoll_shared_memory memory;
    uint32_t task; /* of what is built */
    size_t built_count;
    struct {
        uint32_t number, variant;
        struct atoll_torch_built built;
    } built[BUILT_LIMIT];
};

struct atoll_torch_rival *atoll_torch_rival_create(const struct atoll_torch_place *place,
                                                   struct atoll_err *err)
{
    struct atoll_torch_rival *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for rivals");
        return NULL;
    }
    r->place = *place;
    atoll_shared_memory_init(&r->memory);
    return r;
}

void atoll_torch_rival_stop(struct atoll_torch_rival *r)
{
    atoll_torch_stop(r->process);
    r->process = NULL;
    r->built_count = 0;
}

void atoll_torch_rival_destroy(struct atoll_torch_rival *r)
{
    if (!r)
        return;
    atoll_torch_rival_stop(r);
    atoll_shared_memory_fini(&r->memory);
    free(r);
}

struct atoll_shared_memory *atoll_torch_rival_memory(struct atoll_torch_rival *r)
{
    return &r->memory;
}

const char *atoll_torch_rival_versions(const struct atoll_torch_rival *r)
{
    return r->versions;
}

/* ---- asking ---- */

static int is_gone(enum atoll_code code)
{
    return code != ATOLL_E_INPUT && code != ATOLL_E_MISSING && code != ATOLL_E_INTERNAL;
}

/* request: stolen.  A process that may be gone is ended. */
static int ask(struct atoll_torch_rival *r, json_t *request, int fd, double deadline_ns, json_t **ret_reply,
               struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!request)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to PyTorch");
    int rc = atoll_torch_call(r->process, request, fd, deadline_ns, ret_reply, &why);
    if (rc == 0)
        return 0;
    if (is_gone(why.code))
        atoll_torch_rival_stop(r);
    return atoll_err_set(err, why.code, "%s", why.text);
}

static int process_ready(struct atoll_torch_rival *r, double limit_ns, struct atoll_err *err)
{
    if (r->process)
        return 0;
    int found = r->python[0] ? 0 : atoll_torch_find(r->place.python, r->python, sizeof(r->python), err);
    if (found > 0)
        return atoll_err_set(
            err, ATOLL_E_MISSING,
            "there is no Python with torch here: name one with --python or in " ATOLL_TORCH_VARIABLE);
    if (found < 0)
        return -1;
    struct atoll_torch_settings settings = {.python = r->python,
                                            .role = "rival",
                                            .gpu = r->place.gpu,
                                            .threads = r->place.threads,
                                            .cores = r->place.cores,
                                            .core_count = r->place.core_count,
                                            .start_limit_ns = fmin(limit_ns, START_NS),
                                            .cancelled = r->place.cancelled};
    r->process = atoll_torch_start(&settings, err);
    if (!r->process)
        return -1;
    const struct atoll_torch_facts *f = atoll_torch_facts(r->process);
    snprintf(r->versions, sizeof(r->versions), "torch %s%s%s%s%s", f->torch, f->cuda[0] ? ", CUDA " : "",
             f->cuda, f->triton[0] ? ", Triton " : "", f->triton);
    if (!r->place.kernels ||
        atoll_torch_send_kernels(r->process, r->place.kernels, r->place.kernel_bytes, OWN_NS, err) == 0)
        return 0;
    atoll_torch_rival_stop(r); /* it must not be asked without them */
    return -1;
}

static double number_of(const json_t *object, const char *name, double low, double high, double otherwise)
{
    const json_t *value = json_object_get(object, name);
    double x = json_is_number(value) ? json_number_value(value) : NAN;
    return x >= low && x <= high ? x : otherwise;
}

static void wrong_take(const json_t *reply, char *ret_wrong)
{
    snprintf(ret_wrong, sizeof(((struct atoll_torch_built *)0)->wrong), "%s",
             atoll_json_member(reply, "wrong"));
}

/* ---- building ---- */

static int build(struct atoll_torch_rival *r, const struct atoll_task *task, uint32_t number,
                 uint32_t variant, json_t *inputs, double deadline_ns, struct atoll_torch_built *ret,
                 struct atoll_err *err)
{
    json_t *description = NULL, *reply = NULL;
    *ret = (struct atoll_torch_built){0};
    if (process_ready(r, deadline_ns, err) != 0 ||
        atoll_task_describe(task, &task->variants[variant], &description, err) != 0)
        return -1;
    if (ask(r,
            json_pack("{s:s, s:o, s:i, s:I, s:O}", "op", "load", "task", description, "rival", (int)number,
                      "flush_bytes", (json_int_t)r->place.flush_bytes, "inputs", inputs),
            r->memory.fd, deadline_ns, &reply, err) != 0)
        return -1;
    wrong_take(reply, ret->wrong);
    ret->handle = (uint64_t)number_of(reply, "handle", 1, 1e9, 0);
    ret->compile_ns = number_of(reply, "compile_ns", 0, SAMPLE_MOST, 0);
    ret->call_ns = number_of(reply, "call_ns", 0, SAMPLE_MOST, 0);
    json_decref(reply);
    if (!ret->wrong[0] && !ret->handle) {
        atoll_torch_rival_stop(r);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "the torch process built a rival and named none");
    }
    return 0;
}

static void forget(struct atoll_torch_rival *r, uint32_t task)
{
    r->task = task;
    r->built_count = 0;
    atoll_torch_rival_rest(r);
}

int atoll_torch_rival_build(struct atoll_torch_rival *r, uint32_t task_number, const struct atoll_task *task,
                            uint32_t number, uint32_t variant, json_t *inputs, double deadline_ns,
                            struct atoll_torch_built *ret_built, struct atoll_err *err)
{
    int rc = 0;
    if (r->built_count && r->task != task_number)
        forget(r, task_number);
    r->task = task_number;
    for (size_t i = 0; i < r->built_count; i++)
        if (r->built[i].number == number && r->built[i].variant == variant) {
            *ret_built = r->built[i].built;
            json_decref(inputs);
            return 0;
        }
    if (!inputs)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to PyTorch");
    rc = build(r, task, number, variant, inputs, deadline_ns, ret_built, err);
    json_decref(inputs);
    if (rc == 0 && ret_built->handle && r->built_count < BUILT_LIMIT) {
        r->built[r->built_count].number = number;
        r->built[r->built_count].variant = variant;
        r->built[r->built_count++].built = *ret_built;
    }
    return rc;
}

/* ---- measuring ---- */

static int sample_take(const json_t *told, struct atoll_torch_sample *ret)
{
    ret->ns = number_of(told, "ns", 1, SAMPLE_MOST, NAN);
    ret->lost_ns = number_of(told, "lost_ns", 0, SAMPLE_MOST, -1);
    ret->clock_hz = number_of(told, "clock_hz", 0, CLOCK_MOST, 0);
    ret->is_late = json_is_true(json_object_get(told, "late"));
    return isnan(ret->ns) ? -1 : 0;
}

int atoll_torch_rival_measure(struct atoll_torch_rival *r, uint64_t handle, json_t *samples,
                              double deadline_ns, struct atoll_torch_sample *ret_samples, double *ret_host_ns,
                              struct atoll_err *err)
{
    size_t count = json_array_size(samples);
    json_t *reply = NULL;
    if (count < 1 || count > ATOLL_TORCH_SAMPLES_LIMIT || !r->process) {
        json_decref(samples);
        return atoll_err_set(err, r->process ? ATOLL_E_INTERNAL : ATOLL_E_CHILD,
                             r->process ? "%zu samples in one question" : "the torch process is gone (%zu)",
                             count);
    }
    if (ask(r,
            json_pack("{s:s, s:I, s:o, s:i, s:b}", "op", "measure", "handle", (json_int_t)handle, "samples",
                      samples, "host", ret_host_ns ? 1 : 0, "warm", r->place.is_warm),
            r->memory.fd, deadline_ns, &reply, err) != 0)
        return -1;
    const json_t *told = json_object_get(reply, "samples");
    int rc = json_array_size(told) == count ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = sample_take(json_array_get(told, i), &ret_samples[i]);
    if (ret_host_ns)
        *ret_host_ns = number_of(reply, "host_ns", 0, SAMPLE_MOST, 0);
    json_decref(reply);
    if (rc == 0)
        return 0;
    atoll_torch_rival_stop(r);
    return atoll_err_set(err, ATOLL_E_PROTOCOL, "the torch process measured %zu samples and tells other ones",
                         count);
}

int atoll_torch_rival_output(struct atoll_torch_rival *r, uint64_t handle, json_t *inputs, json_t *outputs,
                             double deadline_ns, char *ret_wrong, struct atoll_err *err)
{
    json_t *reply = NULL;
    if (!r->process) {
        json_decref(inputs);
        json_decref(outputs);
        return atoll_err_set(err, ATOLL_E_CHILD, "the torch process is gone");
    }
    if (ask(r,
            json_pack("{s:s, s:I, s:o, s:o}", "op", "output", "handle", (json_int_t)handle, "inputs", inputs,
                      "outputs", outputs),
            r->memory.fd, deadline_ns, &reply, err) != 0)
        return -1;
    wrong_take(reply, ret_wrong);
    json_decref(reply);
    return 0;
}

/* request: stolen. */
static int ask_shown(struct atoll_torch_rival *r, json_t *request, const struct atoll_torch_window *window,
                     double deadline_ns, char *ret_wrong, unsigned char *ret_handle, struct atoll_err *err)
{
    json_t *reply = NULL;
    if (request && json_object_set_new(request, "window", json_integer((json_int_t)window->stretch)) != 0) {
        json_decref(request);
        request = NULL;
    }
    if (ask(r, request, -1, deadline_ns, &reply, err) != 0)
        return -1;
    wrong_take(reply, ret_wrong);
    int rc = ret_wrong[0] ? 0 : atoll_torch_window_handle(reply, "shown", ret_handle, err);
    json_decref(reply);
    if (rc != 0)
        atoll_torch_rival_stop(r);
    return rc;
}

int atoll_torch_rival_output_shown(struct atoll_torch_rival *r, uint64_t handle, json_t *inputs,
                                   json_t *outputs, const struct atoll_torch_window *window,
                                   double deadline_ns, char *ret_wrong, unsigned char *ret_handle,
                                   struct atoll_err *err)
{
    if (!r->process) {
        json_decref(inputs);
        json_decref(outputs);
        return atoll_err_set(err, ATOLL_E_CHILD, "the torch process is gone");
    }
    return ask_shown(r,
                     json_pack("{s:s, s:I, s:o, s:o}", "op", "output", "handle", (json_int_t)handle, "inputs",
                               inputs, "outputs", outputs),
                     window, deadline_ns, ret_wrong, ret_handle, err);
}

int atoll_torch_rival_show(struct atoll_torch_rival *r, const struct atoll_torch_window *window,
                           uint64_t begin, double deadline_ns, unsigned char *ret_handle,
                           struct atoll_err *err)
{
    char wrong[sizeof(((struct atoll_torch_built *)0)->wrong)];
    if (!r->process)
        return atoll_err_set(err, ATOLL_E_CHILD, "the torch process is gone");
    int rc = ask_shown(r, json_pack("{s:s, s:I}", "op", "show", "begin", (json_int_t)begin), window,
                       deadline_ns, wrong, ret_handle, err);
    return rc == 0 && wrong[0] ? atoll_err_set(err, ATOLL_E_PROTOCOL, "the torch process shows nothing") : rc;
}

void atoll_torch_rival_rest(struct atoll_torch_rival *r)
{
    json_t *keep = json_array(), *reply = NULL;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!r->process) {
        json_decref(keep);
        return;
    }
    for (size_t i = 0; i < r->built_count; i++)
        json_array_append_new(keep, json_integer((json_int_t)r->built[i].built.handle));
    if (ask(r, json_pack("{s:s, s:o}", "op", "rest", "keep", keep), -1, OWN_NS, &reply, &why) != 0)
        atoll_torch_rival_stop(r);
    json_decref(reply);
}
