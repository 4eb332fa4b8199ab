#include "mpi-eval/referee/rival_session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/init.h"
#include "mpi-eval/referee/backend.h"

#define LIMIT_NS     590e9
#define SAMPLES_NS   300e9               /* of a question about what is built */
#define INPUTS_BYTES ((size_t)256 << 20) /* of the samples of one question */

/* Until a rival is built and warm: how long, and how it is said. */
static const double build_limits_ns[ATOLL_TORCH_MODE_COUNT] = {
    [ATOLL_TORCH_EAGER] = 60e9, [ATOLL_TORCH_COMPILE] = 240e9, [ATOLL_TORCH_MAX_AUTOTUNE] = 540e9};

int atoll_rival_session_end(struct atoll_rival_session *s, enum atoll_verdict verdict, const char *format,
                            ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->detail, ATOLL_DETAIL_BYTES, format, args);
    va_end(args);
    s->verdict = verdict;
    return -1;
}

int atoll_rival_session_fail(struct atoll_rival_session *s, const struct atoll_err *why)
{
    static const struct {
        enum atoll_code code;
        enum atoll_verdict verdict;
        const char *what;
    } meanings[] = {
        {ATOLL_E_INPUT, ATOLL_V_COMPILE_ERROR, ""},
        {ATOLL_E_MISSING, ATOLL_V_COMPILE_ERROR, "unsupported: "},
        {ATOLL_E_LIMIT, ATOLL_V_COMPILE_ERROR, "unsupported, too large: "},
        {ATOLL_E_CHILD, ATOLL_V_COMPILE_ERROR, "the torch process ended: "},
        {ATOLL_E_TIMEOUT, ATOLL_V_TIMEOUT, ""},
    };
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (meanings[i].code == why->code)
            return atoll_rival_session_end(s, meanings[i].verdict, "%s%.1800s", meanings[i].what, why->text);
    return atoll_rival_session_end(s, ATOLL_V_INFRASTRUCTURE, "%.1900s", why->text);
}

/* ---- opening ---- */

static struct atoll_torch_rival *torch_of(struct atoll_referee *referee, int *ret_is_alone,
                                          struct atoll_err *err)
{
    struct atoll_torch_place place = {.python = referee->setup.python,
                                      .is_warm = referee->setup.is_warm != 0,
                                      .cancelled = &referee->cancelled};
    if (!referee->backend->torch_place) {
        atoll_err_set(err, ATOLL_E_MISSING, "the backend %s measures no rivals", referee->backend->name);
        return NULL;
    }
    referee->backend->torch_place(referee, &place);
    *ret_is_alone = place.is_alone;
    if (!referee->rivals)
        referee->rivals = atoll_torch_rival_create(&place, err);
    return referee->rivals;
}

int atoll_rival_session_open(struct atoll_rival_session *s, struct atoll_referee *referee,
                             struct atoll_case *known, const struct atoll_order *order, char *detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double limit = order->limit_ns > 0 ? fmin(order->limit_ns, LIMIT_NS) : LIMIT_NS;
    *s = (struct atoll_rival_session){.referee = referee,
                                      .known = known,
                                      .order = order,
                                      .end_ns = atoll_referee_now_ns() + limit,
                                      .verdict = ATOLL_V_CORRECT,
                                      .detail = detail};
    detail[0] = '\0';
    if (!s->known)
        return atoll_rival_session_end(s, ATOLL_V_INFRASTRUCTURE, "the task is not known here");
    s->torch = torch_of(referee, &s->is_alone, &err);
    return s->torch ? 0 : atoll_rival_session_end(s, ATOLL_V_INFRASTRUCTURE, "%s", err.text);
}

void atoll_rival_session_close(struct atoll_rival_session *s)
{
    if (!s->torch)
        return;
    if (s->is_alone)
        atoll_torch_rival_stop(s->torch);
    else
        atoll_torch_rival_rest(s->torch);
}

/* Until what it is asked next must be done; at least a moment, so that the end is a TIMEOUT and no error of ours. */
static double time_left(const struct atoll_rival_session *s, double limit_ns)
{
    return fmax(fmin(s->end_ns - atoll_referee_now_ns(), limit_ns), 1e6);
}

/* ---- inputs and outputs ---- */

static int is_output(const struct atoll_tensor *t)
{
    return t->role == ATOLL_ROLE_OUT || t->role == ATOLL_ROLE_INOUT;
}

/* Bytes of one set of inputs or of all outputs in the shared memory. */
static int set_bytes(const struct atoll_rival_session *s, uint32_t variant, int is_out, size_t *ret_bytes,
                     struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    size_t at = 0, count;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        if (is_out ? !is_output(t) : t->role == ATOLL_ROLE_OUT || s->referee->backend->torch_inputs != NULL)
            continue;
        if (atoll_task_element_count(task, i, &task->variants[variant], &count, err) != 0)
            return -1;
        atoll_shared_memory_take(&at, count * atoll_dtype_bytes(t->dtype));
    }
    *ret_bytes = at;
    return 0;
}

static int part_tell(json_t *told, const char *name, size_t offset, size_t bytes, struct atoll_err *err)
{
    json_t *part = json_pack("{s:I, s:I}", "offset", (json_int_t)offset, "bytes", (json_int_t)bytes);
    return json_object_set_new(told, name, part) == 0
               ? 0
               : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to PyTorch");
}

/* Puts a set's inputs into the memory from *at on, or says how the process makes them; NULL with err. */
static json_t *inputs_tell(struct atoll_rival_session *s, const struct atoll_input_set *set, size_t *at,
                           struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    const struct atoll_variant *v = &task->variants[set->variant];
    unsigned char *base = atoll_torch_rival_memory(s->torch)->base;
    json_t *told =
        s->referee->backend->torch_inputs ? s->referee->backend->torch_inputs(task, set, err) : json_object();
    int failed = 0;
    for (size_t i = 0; told && !failed && i < task->tensor_count && !s->referee->backend->torch_inputs; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        size_t count, bytes;
        if (t->role == ATOLL_ROLE_OUT)
            continue;
        failed = atoll_task_element_count(task, i, v, &count, err);
        bytes = count * atoll_dtype_bytes(t->dtype);
        size_t offset = failed ? 0 : atoll_shared_memory_take(at, bytes);
        if (!failed)
            failed = atoll_init_fill(task, i, v, set->seed, set->distribution, 0, count, base + offset, err);
        if (!failed)
            failed = part_tell(told, t->name, offset, bytes, err);
    }
    if (!told || failed) {
        json_decref(told);
        return NULL;
    }
    return told;
}

static json_t *outputs_tell(struct atoll_rival_session *s, uint32_t variant, size_t *at,
                            struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    json_t *told = json_object();
    for (size_t i = 0; i < task->tensor_count; i++) {
        size_t count;
        if (!is_output(&task->tensors[i]))
            continue;
        size_t each = atoll_dtype_bytes(task->tensors[i].dtype);
        if (atoll_task_element_count(task, i, &task->variants[variant], &count, err) != 0 ||
            part_tell(told, task->tensors[i].name, atoll_shared_memory_take(at, count * each), count * each,
                      err) != 0) {
            json_decref(told);
            return NULL;
        }
    }
    return told;
}

/* Room for so many sets of inputs and, when asked for, the outputs. */
static int memory_reserve(struct atoll_rival_session *s, uint32_t variant, size_t sets, int with_outputs,
                          struct atoll_err *err)
{
    size_t inputs = 0, outputs = 0;
    if (set_bytes(s, variant, 0, &inputs, err) != 0 || set_bytes(s, variant, 1, &outputs, err) != 0)
        return -1;
    size_t bytes = sets * inputs + (with_outputs ? outputs : 0);
    return atoll_shared_memory_reserve(atoll_torch_rival_memory(s->torch), bytes ? bytes : 1, err);
}

size_t atoll_rival_session_most(const struct atoll_rival_session *s, uint32_t variant)
{
    size_t bytes = 0;
    if (set_bytes(s, variant, 0, &bytes, NULL) != 0 || bytes > INPUTS_BYTES)
        return 1;
    size_t most = bytes ? INPUTS_BYTES / bytes : ATOLL_TORCH_SAMPLES_LIMIT;
    return most < ATOLL_TORCH_SAMPLES_LIMIT ? most : ATOLL_TORCH_SAMPLES_LIMIT;
}

/* ---- questions ---- */

static int build_once(struct atoll_rival_session *s, uint32_t number, uint32_t variant, double limit_ns,
                      struct atoll_torch_built *ret_built, struct atoll_err *err)
{
    struct atoll_input_set set = atoll_case_input_set(s->referee, s->known, variant, 0);
    size_t at = 0;
    if (memory_reserve(s, variant, 1, 0, err) != 0)
        return -1;
    json_t *inputs = inputs_tell(s, &set, &at, err);
    return !inputs ? -1
                   : atoll_torch_rival_build(s->torch, s->known->number, s->known->task, number, variant,
                                             inputs, time_left(s, limit_ns), ret_built, err);
}

int atoll_rival_session_build(struct atoll_rival_session *s, uint32_t number, uint32_t variant,
                              struct atoll_torch_built *ret_built)
{
    const struct atoll_task *task = s->known->task;
    double limit = build_limits_ns[task->rivals[number].mode], begin = atoll_referee_now_ns();
    struct atoll_err err = ATOLL_ERR_INIT;
    if (s->is_alone && s->referee->backend->let_go)
        s->referee->backend->let_go(s->referee);
    int rc = build_once(s, number, variant, limit, ret_built, &err);
    /* Once more: with the memory of the device's own process, or on a new process of theirs. */
    if (rc != 0 &&
        (err.code == ATOLL_E_CHILD || (err.code == ATOLL_E_LIMIT && s->referee->backend->let_go))) {
        if (err.code == ATOLL_E_LIMIT) {
            s->was_let_go = 1;
            s->referee->backend->let_go(s->referee);
        }
        atoll_err_clear(&err);
        rc = build_once(s, number, variant, limit, ret_built, &err);
    }
    if (rc != 0 && err.code == ATOLL_E_TIMEOUT)
        return atoll_rival_session_end(
            s, ATOLL_V_TIMEOUT, "variant %s: building it in mode %s had not ended after %.3g s",
            task->variants[variant].name, atoll_torch_mode_name(task->rivals[number].mode),
            (atoll_referee_now_ns() - begin) / 1e9);
    if (rc != 0 && err.code == ATOLL_E_MISSING && !atoll_torch_rival_versions(s->torch)[0])
        return atoll_rival_session_end(s, ATOLL_V_INFRASTRUCTURE, "%.1900s", err.text); /* no torch at all */
    if (rc != 0)
        return atoll_rival_session_fail(s, &err);
    if (ret_built->wrong[0])
        return atoll_rival_session_end(s, ATOLL_V_WRONG, "variant %s: %s", task->variants[variant].name,
                                       ret_built->wrong);
    return 0;
}

int atoll_rival_session_sample(struct atoll_rival_session *s, uint64_t handle,
                               const struct atoll_input_set *input_sets, size_t count,
                               struct atoll_torch_sample *ret_samples, double *ret_host_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *samples = json_array();
    size_t at = 0;
    int rc = memory_reserve(s, input_sets[0].variant, count, 0, &err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        json_t *inputs = inputs_tell(s, &input_sets[i], &at, &err);
        if (!inputs || json_array_append_new(samples, json_pack("{s:o}", "inputs", inputs)) != 0)
            rc = err.code != ATOLL_OK ? -1 : atoll_err_set(&err, ATOLL_E_MEMORY, "no memory for samples");
    }
    if (rc != 0) {
        json_decref(samples);
        return atoll_rival_session_fail(s, &err);
    }
    if (s->referee->backend->calm)
        s->referee->backend->calm(s->referee);
    double limit = time_left(s, SAMPLES_NS), begin = atoll_referee_now_ns();
    rc = atoll_torch_rival_measure(s->torch, handle, samples, limit, ret_samples, ret_host_ns, &err);
    if (rc != 0 && err.code == ATOLL_E_TIMEOUT)
        return atoll_rival_session_end(s, ATOLL_V_TIMEOUT,
                                       "variant %s: %zu samples had not ended after %.3g s",
                                       s->known->task->variants[input_sets[0].variant].name, count,
                                       (atoll_referee_now_ns() - begin) / 1e9);
    return rc == 0 ? 0 : atoll_rival_session_fail(s, &err);
}

void atoll_rival_outputs_fini(struct atoll_rival_outputs *outputs)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++)
        free(outputs->data[i]);
    *outputs = (struct atoll_rival_outputs){0};
}

/* Out of the shared memory: what is checked stays as it is. */
static int outputs_take(const struct atoll_rival_session *s, const json_t *told,
                        struct atoll_rival_outputs *ret, struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    const unsigned char *base = atoll_torch_rival_memory(s->torch)->base;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const json_t *part = json_object_get(told, task->tensors[i].name);
        size_t bytes = (size_t)json_integer_value(json_object_get(part, "bytes"));
        if (!part)
            continue;
        ret->data[i] = malloc(bytes + 1);
        if (!ret->data[i])
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for outputs of %zu bytes", bytes);
        memcpy(ret->data[i], base + json_integer_value(json_object_get(part, "offset")), bytes);
    }
    return 0;
}

int atoll_rival_session_output(struct atoll_rival_session *s, uint64_t handle,
                               const struct atoll_input_set *input_set,
                               struct atoll_rival_outputs *ret_outputs)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_rival_outputs outputs = {.input_set = *input_set};
    char wrong[sizeof(((struct atoll_torch_built *)0)->wrong)] = "";
    size_t at = 0;
    json_t *inputs = NULL, *told = NULL;
    int rc = memory_reserve(s, input_set->variant, 1, 1, &err);
    if (rc == 0 && (!(inputs = inputs_tell(s, input_set, &at, &err)) ||
                    !(told = outputs_tell(s, input_set->variant, &at, &err))))
        rc = -1;
    if (rc == 0)
        rc = atoll_torch_rival_output(s->torch, handle, json_incref(inputs), json_incref(told),
                                      time_left(s, SAMPLES_NS), wrong, &err);
    if (rc == 0 && !wrong[0])
        rc = outputs_take(s, told, &outputs, &err);
    json_decref(inputs);
    json_decref(told);
    if (rc == 0 && !wrong[0]) {
        *ret_outputs = outputs;
        return 0;
    }
    atoll_rival_outputs_fini(&outputs);
    return rc != 0 ? atoll_rival_session_fail(s, &err)
                   : atoll_rival_session_end(s, ATOLL_V_WRONG, "variant %s: %s",
                                             s->known->task->variants[input_set->variant].name, wrong);
}

/* ---- outputs that stay on the device ---- */

struct shown {
    struct atoll_rival_session *session;
    uint64_t handle;
    const struct atoll_input_set *input_set;
    struct atoll_torch_window window;
    char wrong[sizeof(((struct atoll_torch_built *)0)->wrong)];
    struct atoll_err why; /* of the torch process */
};

static int shown_ask(struct shown *a, uint64_t begin, unsigned char *ret_handle, struct atoll_err *err)
{
    struct atoll_rival_session *s = a->session;
    double limit = time_left(s, SAMPLES_NS);
    size_t at = 0;
    if (begin > 0)
        return atoll_torch_rival_show(s->torch, &a->window, begin, limit, ret_handle, err);
    json_t *inputs = inputs_tell(s, a->input_set, &at, err), *told = json_object();
    int rc = inputs ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < s->known->task->tensor_count; i++)
        if (a->window.sizes[i])
            rc = part_tell(told, s->known->task->tensors[i].name, (size_t)a->window.offsets[i],
                           (size_t)a->window.sizes[i], err);
    if (rc != 0) {
        json_decref(inputs);
        json_decref(told);
        return -1;
    }
    return atoll_torch_rival_output_shown(s->torch, a->handle, inputs, told, &a->window, limit, a->wrong,
                                          ret_handle, err);
}

static int shown_show(void *context, uint64_t begin, unsigned char *ret_handle, struct atoll_err *err)
{
    struct shown *a = context;
    int rc = shown_ask(a, begin, ret_handle, &a->why);
    if (rc == 0 && a->wrong[0])
        rc = atoll_err_set(&a->why, ATOLL_E_INPUT, "%s", a->wrong);
    return rc == 0 ? 0 : atoll_err_set(err, a->why.code, "%s", a->why.text);
}

static int shown_close(void *context)
{
    const struct shown *a = context;
    atoll_torch_rival_rest(a->session->torch);
    return 0;
}

int atoll_rival_session_examine_shown(struct atoll_rival_session *s, uint64_t handle,
                                      const struct atoll_input_set *input_set, double *ret_worst)
{
    const struct atoll_variant *v = &s->known->task->variants[input_set->variant];
    const struct atoll_backend *backend = s->referee->backend;
    struct atoll_err err = ATOLL_ERR_INIT;
    char detail[ATOLL_DETAIL_BYTES] = "";
    if (!backend->examine_shown || !backend->torch_inputs || s->is_alone || s->was_let_go)
        return 0;
    struct shown *a = calloc(1, sizeof(*a));
    if (!a || atoll_torch_window_lay(s->known->task, v, 0, &a->window, &err) != 0 ||
        !atoll_torch_window_is_wanted(&a->window)) {
        free(a);
        return 0; /* the other way says what is wrong */
    }
    *a = (struct shown){.session = s, .handle = handle, .input_set = input_set, .window = a->window};
    a->window.context = a;
    a->window.show = shown_show;
    a->window.close = shown_close;
    int right = backend->examine_shown(s->referee, s->known, input_set, &a->window, ret_worst, detail, &err);
    int rc = right == 1 ? 1 : right == 2 ? 0 : -1;
    if (right == 0) {
        atoll_rival_session_end(s, ATOLL_V_WRONG, "variant %s, %.1800s", v->name, detail);
    } else if (right < 0 && a->wrong[0]) {
        atoll_rival_session_end(s, ATOLL_V_WRONG, "variant %s: %s", v->name, a->wrong);
    } else if (right < 0 && (a->why.code == ATOLL_E_LIMIT || a->why.code == ATOLL_E_MISSING)) {
        s->was_let_go |= a->why.code == ATOLL_E_LIMIT; /* less memory is needed the other way */
        rc = 0;
    } else if (right < 0 && a->why.code != ATOLL_OK) {
        atoll_rival_session_fail(s, &a->why);
    } else if (right < 0) {
        atoll_rival_session_end(s, ATOLL_V_INFRASTRUCTURE, "%.1900s", err.text);
    }
    free(a);
    return rc;
}

int atoll_rival_session_examine(struct atoll_rival_session *s, const struct atoll_rival_outputs *outputs,
                                double *ret_worst)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char detail[ATOLL_DETAIL_BYTES] = "";
    int right = s->referee->backend->examine(s->referee, s->known, &outputs->input_set,
                                             (const void *const *)outputs->data, ret_worst, detail, &err);
    if (right < 0)
        return atoll_rival_session_end(s, ATOLL_V_INFRASTRUCTURE, "%.1900s", err.text);
    return right ? 0
                 : atoll_rival_session_end(s, ATOLL_V_WRONG, "variant %s, %.1800s",
                                           s->known->task->variants[outputs->input_set.variant].name, detail);
}
