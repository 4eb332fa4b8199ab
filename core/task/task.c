/* task.c - lookups in a task, its numbers at a variant, and its bytes for wire and journal.
 * The bytes hold the texts, not the struct: decoding is loading from memory, with every check of the loader.
 */
#include "core/task/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "core/task/task_build.h"

#define TASK_BYTES_VERSION 1u
#define TASK_BYTES_LIMIT   (ATOLL_TASK_FILE_LIMIT * 8u)
#define TASK_ARENA_LIMIT   (ATOLL_TASK_FILE_LIMIT * 32u)
#define ELEMENT_LIMIT      ((int64_t)1 << 40)

struct atoll_task_owner *atoll_task_owner_create(struct atoll_err *err)
{
    struct atoll_task_owner *owner = calloc(1, sizeof(*owner));
    if (!owner) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
        return NULL;
    }
    owner->arena = atoll_arena_create(TASK_ARENA_LIMIT, err);
    if (!owner->arena) {
        free(owner);
        return NULL;
    }
    return owner;
}

void atoll_task_destroy(struct atoll_task *task)
{
    if (!task) {
        return;
    }
    struct atoll_task_owner *owner = (struct atoll_task_owner *)task;
    atoll_arena_destroy(owner->arena);
    free(owner);
}

int atoll_task_encode(const struct atoll_task *task, struct atoll_buffer *out, struct atoll_err *err)
{
    const struct atoll_task_owner *owner = (const struct atoll_task_owner *)task;
    atoll_buffer_put_u32(out, TASK_BYTES_VERSION);
    atoll_buffer_put_text(out, task->file);
    atoll_buffer_put_text(out, owner->yaml);
    atoll_buffer_put_u32(out, (uint32_t)owner->text_count);
    for (size_t i = 0; i < owner->text_count; i++) {
        atoll_buffer_put_text(out, owner->texts[i].path);
        atoll_buffer_put_text(out, owner->texts[i].text);
    }
    return atoll_buffer_check(out, err);
}

struct decoded_texts {
    size_t count;
    struct atoll_task_text texts[ATOLL_TASK_SEED_LIMIT + 1];
};

static const char *decoded_read(void *context, struct atoll_arena *arena, const char *path, size_t limit,
                                struct atoll_err *err)
{
    const struct decoded_texts *d = context;
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->texts[i].path, path) != 0) {
            continue;
        }
        if (strlen(d->texts[i].text) <= limit) {
            return d->texts[i].text;
        }
        atoll_err_set(err, ATOLL_E_INPUT, "'%s' is longer than %zu bytes; shorten it", path, limit);
        return NULL;
    }
    atoll_err_set(err, ATOLL_E_INPUT, "'%s' did not travel with the task; send the task again", path);
    return NULL;
}

static int decode_texts(struct atoll_reader *r, struct atoll_arena *arena, struct decoded_texts *ret,
                        struct atoll_err *err)
{
    uint32_t count = atoll_reader_count(r, 8);
    if (count > ATOLL_TASK_SEED_LIMIT + 1) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task: %u files, at most %d", count,
                             ATOLL_TASK_SEED_LIMIT + 1);
    }
    ret->count = count;
    for (uint32_t i = 0; i < count; i++) {
        ret->texts[i].path = atoll_reader_text(r, arena);
        ret->texts[i].text = atoll_reader_text(r, arena);
    }
    return atoll_reader_finish(r, "task", err);
}

static int decode_into(struct atoll_task_owner *owner, struct atoll_reader *r, struct atoll_err *err)
{
    uint32_t version = atoll_reader_u32(r);
    if (!r->failed && version != TASK_BYTES_VERSION) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task: encoding version %u, this program reads %u",
                             version, TASK_BYTES_VERSION);
    }
    const char *file = atoll_reader_text(r, owner->arena);
    const char *yaml = atoll_reader_text(r, owner->arena);
    struct decoded_texts d;
    if (decode_texts(r, owner->arena, &d, err)) {
        return -1;
    }
    const char *seeds[ATOLL_TASK_SEED_LIMIT + 1];
    struct atoll_task_store store = {decoded_read, &d, 0, seeds};
    for (size_t i = 0; i < d.count; i++) {
        if (strncmp(d.texts[i].path, "seeds/", 6) == 0) {
            seeds[store.seed_count++] = d.texts[i].path;
        }
    }
    return atoll_task_build(owner, file, yaml, &store, err);
}

struct atoll_task *atoll_task_decode(const void *bytes, size_t length, struct atoll_err *err)
{
    if (length > TASK_BYTES_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "task: %zu bytes, at most %u", length, TASK_BYTES_LIMIT);
        return NULL;
    }
    struct atoll_task_owner *owner = atoll_task_owner_create(err);
    if (!owner) {
        return NULL;
    }
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    if (decode_into(owner, &r, err)) {
        atoll_task_destroy(&owner->task);
        return NULL;
    }
    return &owner->task;
}

size_t atoll_task_bindings(const struct atoll_task *task, const struct atoll_variant *variant,
                           struct atoll_binding *ret_bindings)
{
    for (size_t i = 0; i < task->dim_count; i++) {
        ret_bindings[i].name = task->dims[i];
        ret_bindings[i].value = variant->dims[i];
    }
    return task->dim_count;
}

int atoll_task_element_count(const struct atoll_task *task, size_t tensor,
                             const struct atoll_variant *variant, size_t *ret_count, struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t binding_count = atoll_task_bindings(task, variant, bindings);
    int64_t count = 1;
    for (size_t i = 0; i < t->rank; i++) {
        int64_t extent = 0;
        if (atoll_expression_eval(t->shape[i], bindings, binding_count, &extent, err)) {
            return atoll_err_add(err, "; while sizing tensor '%s' at variant '%s'", t->name, variant->name);
        }
        if (extent < 1) {
            return atoll_err_set(
                err, ATOLL_E_INPUT, "tensor '%s': extent '%s' is %lld at variant '%s', must be at least 1",
                t->name, atoll_expression_text(t->shape[i]), (long long)extent, variant->name);
        }
        if (extent > ELEMENT_LIMIT / count) {
            return atoll_err_set(err, ATOLL_E_LIMIT,
                                 "tensor '%s' has more than 2^40 elements at variant '%s'", t->name,
                                 variant->name);
        }
        count *= extent;
    }
    *ret_count = (size_t)count;
    return 0;
}

/* The bytes that roles say must be read or written. */
static int role_bytes(const struct atoll_task *task, const struct atoll_variant *variant,
                      struct atoll_work *work, struct atoll_err *err)
{
    for (size_t i = 0; i < task->tensor_count; i++) {
        size_t count = 0;
        if (atoll_task_element_count(task, i, variant, &count, err)) {
            return -1;
        }
        double bytes = (double)count * (double)atoll_dtype_bytes(task->tensors[i].dtype);
        if (task->tensors[i].role != ATOLL_ROLE_OUT) {
            work->read_bytes += bytes;
        }
        if (task->tensors[i].role == ATOLL_ROLE_OUT || task->tensors[i].role == ATOLL_ROLE_INOUT) {
            work->write_bytes += bytes;
        }
    }
    return 0;
}

int atoll_task_work(const struct atoll_task *task, const struct atoll_variant *variant,
                    struct atoll_work *ret_work, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t binding_count = atoll_task_bindings(task, variant, bindings);
    struct atoll_work work = {0, 0, 0};
    if (role_bytes(task, variant, &work, err)) {
        return -1;
    }
    const struct {
        const char *name;
        const struct atoll_expression *e;
        double *ret;
    } rows[] = {{"flops", task->flops, &work.flops},
                {"reads", task->reads, &work.read_bytes},
                {"writes", task->writes, &work.write_bytes}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int64_t value = 0;
        if (!rows[i].e) {
            continue;
        }
        if (atoll_expression_eval(rows[i].e, bindings, binding_count, &value, err)) {
            return atoll_err_add(err, "; while computing work.%s at variant '%s'", rows[i].name,
                                 variant->name);
        }
        if (value < 0) {
            return atoll_err_set(err, ATOLL_E_INPUT, "work.%s is %lld at variant '%s', must not be negative",
                                 rows[i].name, (long long)value, variant->name);
        }
        *rows[i].ret = (double)value;
    }
    *ret_work = work;
    return 0;
}

int atoll_task_find_tensor(const struct atoll_task *task, const char *name)
{
    for (size_t i = 0; i < task->tensor_count; i++) {
        if (strcmp(task->tensors[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int64_t atoll_task_exact_limit(enum atoll_dtype dtype)
{
    static const int64_t limits[ATOLL_DTYPE_COUNT] = {[ATOLL_F64] = (int64_t)1 << 53,
                                                      [ATOLL_F32] = 1 << 24,
                                                      [ATOLL_F16] = 2048,
                                                      [ATOLL_BF16] = 256,
                                                      [ATOLL_F8E4M3] = 16,
                                                      [ATOLL_F8E5M2] = 8,
                                                      [ATOLL_I64] = (int64_t)1 << 53,
                                                      [ATOLL_I32] = INT32_MAX,
                                                      [ATOLL_I16] = INT16_MAX,
                                                      [ATOLL_I8] = INT8_MAX,
                                                      [ATOLL_U8] = UINT8_MAX};
    return limits[dtype];
}
