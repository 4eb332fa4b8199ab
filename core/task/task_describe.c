/* task_describe.c - a task at one variant as JSON. */
#include "core/task/task_describe.h"

static const char *const role_names[] = {"in", "out", "inout", "constant"};

static int no_memory(struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to describe a task");
}

static int put_extents(json_t *shape, const struct atoll_task *task, const struct atoll_tensor *t,
                       const struct atoll_variant *variant, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t count = atoll_task_bindings(task, variant, bindings);
    for (size_t i = 0; i < t->rank; i++) {
        int64_t extent = 0;
        if (atoll_expression_eval(t->shape[i], bindings, count, &extent, err))
            return -1;
        if (json_array_append_new(shape, json_integer(extent)))
            return no_memory(err);
    }
    return 0;
}

static int put_segments(json_t *segments, const struct atoll_task *task, const struct atoll_tensor *t,
                        const struct atoll_variant *variant, struct atoll_err *err)
{
    size_t offset = 0;
    for (size_t i = 0; i < t->segment_count; i++) {
        size_t count = 0;
        if (atoll_task_segment_count(task, &t->segments[i], variant, &count, err))
            return -1;
        if (json_array_append_new(segments,
                                  json_pack("{s:s?, s:I, s:I}", "parameter", t->segments[i].parameter,
                                            "offset", (json_int_t)offset, "count", (json_int_t)count)))
            return no_memory(err);
        offset += count;
    }
    return 0;
}

static json_t *tensor_of(const struct atoll_task *task, const struct atoll_tensor *t,
                         const struct atoll_variant *variant, struct atoll_err *err)
{
    json_t *shape = json_array(), *segments = json_array();
    json_t *tensor = json_pack("{s:s, s:s, s:s, s:o, s:s?, s:s?, s:o}", "name", t->name, "dtype",
                               atoll_dtype_name(t->dtype), "role", role_names[t->role], "shape", shape,
                               "parameter", t->parameter, "of", t->of, "segments", segments);
    if (!tensor) {
        no_memory(err);
        return NULL;
    }
    if (put_extents(shape, task, t, variant, err) || put_segments(segments, task, t, variant, err)) {
        json_decref(tensor);
        return NULL;
    }
    return tensor;
}

static int put_tensors(json_t *root, const struct atoll_task *task, const struct atoll_variant *variant,
                       struct atoll_err *err)
{
    json_t *tensors = json_object_get(root, "tensors");
    for (size_t i = 0; i < task->tensor_count; i++) {
        json_t *tensor = tensor_of(task, &task->tensors[i], variant, err);
        if (!tensor)
            return -1;
        if (json_array_append_new(tensors, tensor))
            return no_memory(err);
    }
    return 0;
}

static int put_rest(json_t *root, const struct atoll_task *task, const struct atoll_variant *variant,
                    struct atoll_err *err)
{
    json_t *dims = json_object_get(root, "dims"), *rivals = json_object_get(root, "rivals");
    const struct atoll_torch_reference *t = task->torch;
    for (size_t i = 0; i < task->dim_count; i++)
        if (json_object_set_new(dims, task->dims[i], json_integer(variant->dims[i])))
            return no_memory(err);
    for (size_t i = 0; i < task->rival_count; i++) {
        const struct atoll_rival_spec *r = &task->rivals[i];
        if (json_array_append_new(rivals, json_pack("{s:s, s:s?, s:s}", "name", r->name, "expression",
                                                    r->expression, "mode", atoll_torch_mode_name(r->mode))))
            return no_memory(err);
    }
    json_t *reference =
        t ? json_pack("{s:s, s:s, s:s, s:s, s:b}", "source", t->source, "file", t->file, "form",
                      t->is_function ? "function" : "module", "entry", t->entry, "backward", t->is_backward)
          : json_null();
    return json_object_set_new(root, "reference", reference) ? no_memory(err) : 0;
}

int atoll_task_describe(const struct atoll_task *task, const struct atoll_variant *variant, json_t **ret_json,
                        struct atoll_err *err)
{
    int tf32 = (task->precisions >> ATOLL_DTYPE_COUNT & 1) != 0;
    json_t *root = json_pack("{s:s, s:s, s:b, s:{}, s:[], s:[]}", "name", task->name, "variant",
                             variant->name, "tf32", tf32, "dims", "tensors", "rivals");
    if (!root)
        return no_memory(err);
    if (put_tensors(root, task, variant, err) || put_rest(root, task, variant, err)) {
        json_decref(root);
        return -1;
    }
    *ret_json = root;
    return 0;
}
