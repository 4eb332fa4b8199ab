#include "scheduler/import/tolerance.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "core/task/init.h"
#include "core/task/task_describe.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"
#include "mpi-eval/torch/shared_memory.h"

#define VARIANT_LIMIT 2
#define BASE_DRAWS    3                 /* of a variant; of each other distribution one */
#define MEMORY_LIMIT  ((size_t)1 << 30) /* of all draws */
#define DEADLINE_NS   600e9

struct draws {
    const struct atoll_task *task;
    struct atoll_shared_memory memory;
    size_t bytes;  /* of the memory that are taken */
    json_t *asked; /* what Python reads */
};

/* Inputs of one draw into the memory; without memory yet only their room is taken. */
static int draw_put(struct draws *d, const struct atoll_variant *variant, uint64_t seed,
                    unsigned distribution, struct atoll_err *err)
{
    json_t *inputs = json_object(), *description = NULL;
    int failed = 0;
    for (size_t i = 0; i < d->task->tensor_count && !failed; i++) {
        const struct atoll_tensor *t = &d->task->tensors[i];
        size_t count, bytes, at;
        if (t->role == ATOLL_ROLE_OUT)
            continue;
        if ((failed = atoll_task_element_count(d->task, i, variant, &count, err)) != 0)
            break;
        bytes = count * atoll_dtype_bytes(t->dtype);
        at = atoll_shared_memory_take(&d->bytes, bytes);
        failed = d->memory.base && atoll_init_fill(d->task, i, variant, seed, distribution, 0, count,
                                                   d->memory.base + at, err) != 0;
        json_object_set_new(inputs, t->name,
                            json_pack("{s:I, s:I}", "offset", (json_int_t)at, "bytes", (json_int_t)bytes));
    }
    if (!failed && d->memory.base)
        failed = atoll_task_describe(d->task, variant, &description, err) != 0 ||
                 json_array_append_new(
                     d->asked, json_pack("{s:o, s:O}", "description", description, "inputs", inputs)) != 0;
    json_decref(inputs);
    return failed ? -1 : 0;
}

/* The same draws every time. */
static int draws_put(struct draws *d, const char *backend, struct atoll_err *err)
{
    size_t variants = 0;
    d->bytes = 0;
    for (size_t i = 0; i < d->task->variant_count && variants < VARIANT_LIMIT; i++) {
        const struct atoll_variant *v = &d->task->variants[i];
        uint64_t seed = 0;
        if (v->kind != ATOLL_VARIANT_CHECK || (v->backend && strcmp(v->backend, backend) != 0))
            continue;
        variants++;
        while (seed < BASE_DRAWS)
            if (draw_put(d, v, ++seed, ATOLL_DRAW_BASE, err) != 0)
                return -1;
        for (unsigned bit = ATOLL_DRAW_SCALED; bit <= ATOLL_DRAW_SIGNED; bit <<= 1)
            if ((d->task->distributions & bit) && draw_put(d, v, ++seed, bit, err) != 0)
                return -1;
    }
    if (variants == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "there is no check variant for the backend %s", backend);
    return 0;
}

static json_t *ask(struct draws *d, const char *python, const char *gpu, struct atoll_err *err)
{
    char path[PATH_MAX];
    json_t *answer = NULL;
    int found = atoll_torch_find(python, path, sizeof(path), err);
    if (found == 1)
        atoll_err_set(err, ATOLL_E_MISSING,
                      "a Python with torch has to find it, and there is none here: name one with --python or "
                      "in ATOLL_PYTHON");
    if (found != 0)
        return NULL;
    const struct atoll_torch_settings settings = {.python = path, .role = "inspect", .gpu = gpu};
    struct atoll_torch *torch = atoll_torch_start(&settings, err);
    if (!torch)
        return NULL;
    json_t *request = json_pack("{s:s, s:O}", "op", "tolerance", "draws", d->asked);
    if (atoll_torch_call(torch, request, d->memory.fd, DEADLINE_NS, &answer, err) != 0)
        answer = NULL;
    atoll_torch_stop(torch);
    return answer;
}

static int measure(struct draws *d, const char *python, const char *gpu, json_t **ret_answer,
                   struct atoll_err *err)
{
    const char *backend = gpu ? "cuda" : "cpu";
    if (draws_put(d, backend, err) != 0)
        return -1;
    if (d->bytes > MEMORY_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "draws of its check variants are %.1f GiB; make them smaller",
                             (double)d->bytes / (double)((size_t)1 << 30));
    if (atoll_shared_memory_reserve(&d->memory, d->bytes, err) != 0 || draws_put(d, backend, err) != 0)
        return -1;
    *ret_answer = ask(d, python, gpu, err);
    return *ret_answer ? 0 : -1;
}

/* task.yaml is YAML of a user's; a line at its end changes nothing else of it. */
static int append(const char *dir, const json_t *tolerance, struct atoll_err *err)
{
    char path[PATH_MAX];
    size_t length;
    if (snprintf(path, sizeof(path), "%s/task.yaml", dir) >= (int)sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "%.200s: the path is too long", dir);
    char *line = json_dumps(tolerance, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
    char *text = line ? atoll_file_read(path, ATOLL_TASK_FILE_LIMIT, &length, err) : NULL;
    struct atoll_buffer out;
    int failed = !text;
    if (!line)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a tolerance");
    atoll_buffer_init(&out, ATOLL_TASK_FILE_LIMIT);
    if (text) {
        atoll_buffer_put_bytes(&out, text, length);
        atoll_buffer_printf(&out, "%stolerance: %s\n", length && text[length - 1] != '\n' ? "\n" : "", line);
        failed = atoll_buffer_check(&out, err) != 0 ||
                 atoll_file_replace(NULL, path, out.data, out.length, err) != 0;
        if (failed)
            atoll_err_add(err, "or put it there yourself: tolerance: %s", line);
    }
    atoll_buffer_fini(&out);
    free(text);
    free(line);
    return failed ? -1 : 0;
}

static int settle(const char *dir, const struct atoll_task *task, const char *python, const char *gpu,
                  struct atoll_err *err)
{
    struct draws d = {.task = task, .asked = json_array()};
    json_t *answer = NULL;
    atoll_shared_memory_init(&d.memory);
    int failed = measure(&d, python, gpu, &answer, err);
    if (failed)
        atoll_err_add(err, "%s/task.yaml has no tolerance", dir);
    else if (!json_is_object(json_object_get(answer, "tolerance")))
        failed = atoll_err_set(err, ATOLL_E_PROTOCOL, "PyTorch answered no tolerance of %s", task->name);
    else
        failed = append(dir, json_object_get(answer, "tolerance"), err);
    json_decref(answer);
    json_decref(d.asked);
    atoll_shared_memory_fini(&d.memory);
    return failed ? -1 : 0;
}

/* Two that check the task at once: the second waits for the first, and finds its tolerance.  The lock is the folder's, so that no
 * file is left; where a file system has none for folders, nothing is waited for. */
int atoll_tolerance_settle(const char *dir, const char *python, const char *gpu, struct atoll_err *err)
{
    int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        (void)!flock(lock, LOCK_EX);
    struct atoll_task *task = atoll_task_load_draft(dir, err);
    int failed = !task || (!task->has_tolerance && settle(dir, task, python, gpu, err) != 0);
    atoll_task_destroy(task);
    if (lock >= 0)
        close(lock);
    return failed ? -1 : 0;
}
