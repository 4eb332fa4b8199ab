#include "mpi-eval/torch/torch_oracle.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"
#include "core/task/task_describe.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"

#define DEADLINE_NS 300e9 /* of a load and of an answer */
#define STARTS      2     /* for one question */

struct atoll_torch_oracle {
    char *asked, *gpu; /* owned */
    struct atoll_torch_oracle_settings settings;
    char python[PATH_MAX]; /* "" not looked for yet */
    struct atoll_torch *process;
    struct atoll_shared_memory memory;
};

struct atoll_torch_oracle *atoll_torch_oracle_create(const struct atoll_torch_oracle_settings *settings,
                                                     struct atoll_err *err)
{
    struct atoll_torch_oracle *o = calloc(1, sizeof(*o));
    if (o) {
        atoll_shared_memory_init(&o->memory);
        o->settings = *settings;
        o->asked = strdup(settings->python ? settings->python : ATOLL_TORCH_NONE);
        o->gpu = settings->gpu ? strdup(settings->gpu) : NULL;
    }
    if (o && o->asked && (o->gpu || !settings->gpu))
        return o;
    atoll_torch_oracle_destroy(o);
    atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an oracle");
    return NULL;
}

void atoll_torch_oracle_destroy(struct atoll_torch_oracle *oracle)
{
    if (!oracle)
        return;
    atoll_torch_stop(oracle->process);
    atoll_shared_memory_fini(&oracle->memory);
    free(oracle->asked);
    free(oracle->gpu);
    free(oracle);
}

void *atoll_torch_oracle_memory(struct atoll_torch_oracle *oracle, size_t bytes, struct atoll_err *err)
{
    return atoll_shared_memory_reserve(&oracle->memory, bytes, err) == 0 ? oracle->memory.base : NULL;
}

/* ---- asking ---- */

static void process_drop(struct atoll_torch_oracle *o)
{
    atoll_torch_stop(o->process);
    o->process = NULL;
}

int atoll_torch_oracle_find(struct atoll_torch_oracle *oracle, const struct atoll_task *task,
                            struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    int found =
        oracle->python[0] ? 0 : atoll_torch_find(oracle->asked, oracle->python, sizeof(oracle->python), &why);
    if (found == 0)
        return 0;
    return atoll_err_set(
        err, ATOLL_E_INPUT, "task '%s' is defined by PyTorch (%s), and %s%.600s", task->name,
        task->torch->file,
        found > 0 ? "there is no Python with torch here: name one with --python or in " ATOLL_TORCH_VARIABLE
                  : "",
        why.text);
}

static int kernels_send(struct atoll_torch_oracle *o, struct atoll_err *err)
{
    return o->settings.kernels ? atoll_torch_send_kernels(o->process, o->settings.kernels,
                                                          o->settings.kernel_bytes, DEADLINE_NS, err)
                               : 0;
}

static int process_ready(struct atoll_torch_oracle *o, const struct atoll_task *task, struct atoll_err *err)
{
    if (o->process)
        return 0;
    if (atoll_torch_oracle_find(o, task, err) != 0)
        return -1;
    struct atoll_torch_settings settings = {.python = o->python,
                                            .role = "oracle",
                                            .gpu = o->gpu,
                                            .threads = o->settings.threads,
                                            .cores = o->settings.cores,
                                            .core_count = o->settings.core_count,
                                            .cancelled = o->settings.cancelled};
    o->process = atoll_torch_start(&settings, err);
    if (!o->process)
        return -1;
    if (!o->gpu || kernels_send(o, err) == 0)
        return 0;
    process_drop(o);
    return -1;
}

struct question {
    const struct atoll_task *task;
    const struct atoll_variant *variant;
    const char *key;
    json_t *inputs, *outputs; /* borrowed */
    uint64_t window_bytes;    /* 0: the answer goes into the memory */
    unsigned char *handle;    /* for what is shown */
};

static int load(struct atoll_torch_oracle *o, const struct question *q, struct atoll_err *err)
{
    json_t *description = NULL, *reply = NULL;
    if (atoll_task_describe(q->task, q->variant, &description, err) != 0)
        return -1;
    json_t *request = json_pack("{s:s, s:s, s:o}", "op", "load", "key", q->key, "description", description);
    if (!request)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to PyTorch");
    int rc = atoll_torch_call(o->process, request, -1, DEADLINE_NS, &reply, err);
    json_decref(reply);
    return rc;
}

/* 0, 1: the process does not know the problem, -1. */
static int answer(struct atoll_torch_oracle *o, const struct question *q, char ret_precision[8],
                  struct atoll_err *err)
{
    json_t *reply = NULL;
    json_t *request = json_pack("{s:s, s:s, s:O, s:O}", "op", "answer", "key", q->key, "inputs", q->inputs,
                                "outputs", q->outputs);
    if (!request ||
        (q->window_bytes &&
         json_object_set_new(request, "window", json_integer((json_int_t)q->window_bytes)) != 0)) {
        json_decref(request);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to PyTorch");
    }
    int rc =
        atoll_torch_call(o->process, request, q->window_bytes ? -1 : o->memory.fd, DEADLINE_NS, &reply, err);
    if (rc == 0)
        rc = json_is_true(json_object_get(reply, "unknown"));
    if (rc == 0) {
        if (q->window_bytes)
            rc = atoll_torch_window_handle(reply, "handle", q->handle, err);
        snprintf(ret_precision, 8, "%s", atoll_json_member(reply, "precision"));
    }
    json_decref(reply);
    return rc;
}

static int ask_once(struct atoll_torch_oracle *o, const struct question *q, char ret_precision[8],
                    struct atoll_err *err)
{
    if (process_ready(o, q->task, err) != 0)
        return -1;
    int rc = answer(o, q, ret_precision, err);
    if (rc > 0)
        rc = load(o, q, err) != 0 ? -1 : answer(o, q, ret_precision, err);
    return rc > 0 ? atoll_err_set(err, ATOLL_E_PROTOCOL, "the torch process forgets what it has loaded") : rc;
}

/* After these the process lives on, or there never was one. */
static int is_answer(enum atoll_code code)
{
    return code == ATOLL_E_INPUT || code == ATOLL_E_MISSING || code == ATOLL_E_INTERNAL;
}

/* What the process keeps a problem under: a variant that is made for a path has the name of the one before it and other
 * extents. */
static void key_make(const struct atoll_task *task, const struct atoll_variant *variant, char *ret_key,
                     size_t bytes)
{
    char id[ATOLL_ID_HEX];
    uint64_t dims = 0;
    atoll_id_hex(&task->id, id);
    for (size_t d = 0; d < task->dim_count; d++)
        dims = atoll_random_at(dims, (uint64_t)variant->dims[d]);
    snprintf(ret_key, bytes, "%s/%.100s/%016llx", id, variant->name, (unsigned long long)dims);
}

static int ask(struct atoll_torch_oracle *oracle, struct question *q, char ret_precision[8],
               struct atoll_err *err)
{
    char key[ATOLL_ID_HEX + 128];
    struct atoll_err why = ATOLL_ERR_INIT;
    int rc = -1;
    key_make(q->task, q->variant, key, sizeof(key));
    q->key = key;
    for (int i = 0; rc != 0 && i < STARTS && (i == 0 || why.code == ATOLL_E_CHILD); i++) {
        atoll_err_clear(&why);
        rc = ask_once(oracle, q, ret_precision, &why);
        if (rc != 0 && !is_answer(why.code))
            process_drop(oracle);
    }
    q->key = NULL;
    json_decref(q->inputs);
    json_decref(q->outputs);
    if (rc == 0)
        return 0;
    if (why.code == ATOLL_E_MISSING)
        return atoll_err_set(err, why.code, "%s", why.text);
    return atoll_err_set(err, why.code, "%s: the reference failed at variant %s: %.800s", q->task->name,
                         q->variant->name, why.text);
}

int atoll_torch_oracle_ask(struct atoll_torch_oracle *oracle, const struct atoll_task *task,
                           const struct atoll_variant *variant, json_t *inputs, json_t *outputs,
                           char ret_precision[8], struct atoll_err *err)
{
    struct question q = {.task = task, .variant = variant, .inputs = inputs, .outputs = outputs};
    return ask(oracle, &q, ret_precision, err);
}

/* ---- answers that stay on the device ---- */

int atoll_torch_oracle_ask_shown(struct atoll_torch_oracle *oracle, const struct atoll_task *task,
                                 const struct atoll_variant *variant, json_t *inputs, json_t *outputs,
                                 uint64_t window_bytes, char ret_precision[8], unsigned char *ret_handle,
                                 struct atoll_err *err)
{
    struct question q = {.task = task,
                         .variant = variant,
                         .inputs = inputs,
                         .outputs = outputs,
                         .window_bytes = window_bytes,
                         .handle = ret_handle};
    return ask(oracle, &q, ret_precision, err);
}

int atoll_torch_oracle_show(struct atoll_torch_oracle *oracle, uint64_t begin, uint64_t window_bytes,
                            unsigned char *ret_handle, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    int rc = oracle->process
                 ? atoll_torch_call(oracle->process,
                                    json_pack("{s:s, s:I, s:I}", "op", "show", "begin", (json_int_t)begin,
                                              "window", (json_int_t)window_bytes),
                                    -1, DEADLINE_NS, &reply, &why)
                 : atoll_err_set(&why, ATOLL_E_CHILD, "the torch process is gone");
    if (rc == 0)
        rc = atoll_torch_window_handle(reply, "handle", ret_handle, &why);
    json_decref(reply);
    if (rc == 0)
        return 0;
    if (!is_answer(why.code))
        process_drop(oracle);
    return atoll_err_set(err, why.code, "%s", why.text);
}

int atoll_torch_oracle_close(struct atoll_torch_oracle *oracle)
{
    json_t *reply = NULL;
    if (!oracle->process)
        return 0; /* and its memory with it */
    int rc =
        atoll_torch_call(oracle->process, json_pack("{s:s}", "op", "close"), -1, DEADLINE_NS, &reply, NULL);
    json_decref(reply);
    if (rc != 0)
        process_drop(oracle);
    return rc;
}
