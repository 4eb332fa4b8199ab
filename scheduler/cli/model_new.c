#include "scheduler/cli/model_new.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "core/task/task.h"
#include "mpi-eval/backend/cuda/compile/compile.h"
#include "scheduler/cli/kernel_file.h"

#define LINE_BYTES   90 /* of base64 in a line */
#define SUITE        "kernelbench"
#define FRAME_MARK   "# ---- atoll export ----\n"
#define OBJECT_BYTES ((uint64_t)64 << 20)
#define SOURCE_BYTES ((size_t)4 << 20)

/* ---- a task.yaml as far as a ModelNew needs it ---- */

static int read_extent(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);

    if (!text)
        return atoll_yaml_fail(walk, node, "an expression is expected");
    json_array_append_new(target, atoll_json_text(text));
    return 0;
}

static int read_segment(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *parameter = atoll_yaml_scalar(atoll_yaml_find(node, "parameter"));

    if (!parameter)
        return atoll_yaml_fail(walk, node, "a segment names its parameter");
    json_array_append_new(target, atoll_json_text(parameter));
    return 0;
}

static const char *member(const struct atoll_yaml_node *node, const char *key)
{
    const struct atoll_yaml_node *value = atoll_yaml_find(node, key);

    return value ? atoll_yaml_scalar(value) : NULL;
}

static int read_tensor(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_yaml_node *init = atoll_yaml_find(node, "init"),
                                 *shape = atoll_yaml_find(node, "shape");
    const struct atoll_yaml_node *segments = init ? atoll_yaml_find(init, "segments") : NULL;
    const char *name = member(node, "name"), *dtype = member(node, "dtype"), *role = member(node, "role");
    const char *parameter = member(node, "parameter");
    json_t *tensor = json_object(), *shape_texts = json_array(), *parts = json_array();

    json_array_append_new(target, tensor);
    json_object_set_new(tensor, "name", atoll_json_text(name ? name : ""));
    json_object_set_new(tensor, "dtype", atoll_json_text(dtype ? dtype : ""));
    json_object_set_new(tensor, "role", atoll_json_text(role ? role : ""));
    json_object_set_new(tensor, "shape", shape_texts);
    if (parameter)
        json_object_set_new(tensor, "parameter", atoll_json_text(parameter));
    else if (segments)
        json_object_set(tensor, "segments", parts);
    int status =
        shape ? atoll_yaml_list(walk, shape, ATOLL_TASK_RANK_LIMIT, "extents", read_extent, shape_texts) : 0;
    if (status == 0 && segments)
        status = atoll_yaml_list(walk, segments, ATOLL_YAML_NODE_LIMIT, "segments", read_segment, parts);
    if (status == 0 && role && strcmp(role, "constant") == 0 && !parameter && !segments)
        status = atoll_yaml_fail(walk, node, "a constant that is no parameter of the module");
    json_decref(parts);
    return status;
}

static int definition_read(struct atoll_yaml_walk *walk, json_t *kernel)
{
    const struct atoll_yaml_node *root = atoll_yaml_root(walk->yaml);
    const struct atoll_yaml_node *reference = atoll_yaml_find(root, "reference");
    const struct atoll_yaml_node *tensors = atoll_yaml_find(root, "tensors"),
                                 *origin = atoll_yaml_find(root, "source");
    const char *entry = reference ? member(reference, "entry") : NULL,
               *form = reference ? member(reference, "form") : NULL;
    const char *suite = origin ? member(origin, "suite") : NULL,
               *problem = origin ? member(origin, "problem") : NULL;
    json_t *list = json_array();

    json_object_set_new(kernel, "tensors", list);
    json_object_set_new(kernel, "entry", atoll_json_text(entry ? entry : "Model"));
    json_object_set_new(kernel, "suite", atoll_json_text(suite ? suite : ""));
    json_object_set_new(kernel, "problem", atoll_json_text(problem ? problem : ""));
    if (!reference || !member(reference, "torch") || (form && strcmp(form, "module") != 0))
        return atoll_err_set(walk->err, ATOLL_E_INPUT, "it is not defined by a PyTorch module");
    return tensors ? atoll_yaml_list(walk, tensors, ATOLL_TASK_TENSOR_LIMIT, "tensors", read_tensor, list)
                   : atoll_err_set(walk->err, ATOLL_E_INPUT, "it has no tensors");
}

int atoll_model_new_read_task(const char *definition, json_t *kernel, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse("task.yaml", definition, strlen(definition), err);
    struct atoll_yaml_walk walk = {.yaml = yaml, .err = err};
    int status = yaml ? definition_read(&walk, kernel) : -1;

    atoll_yaml_destroy(yaml);
    return status;
}

/* ---- text ---- */

/* Texts and numbers are written alike in JSON and in Python; true, false and null are not. */
static json_t *plain(json_t *value)
{
    const char *key;
    json_t *part, *made;
    size_t i;

    if (json_is_object(value)) {
        made = json_object();
        json_object_foreach(value, key, part) json_object_set_new(made, key, plain(part));
        return made;
    }
    if (json_is_array(value)) {
        made = json_array();
        json_array_foreach(value, i, part) json_array_append_new(made, plain(part));
        return made;
    }
    if (json_is_true(value) || json_is_false(value) || json_is_null(value))
        return json_integer(json_is_true(value));
    return json_deep_copy(value);
}

/* A text as Python, a literal for each of its lines. */
static void put_text(struct atoll_buffer *out, const char *name, const char *text)
{
    atoll_buffer_printf(out, "%s = (\n", name);
    if (!*text)
        atoll_buffer_printf(out, "    \"\"\n");
    while (*text) {
        size_t length = strcspn(text, "\n");
        length += text[length] == '\n';
        json_t *line = json_stringn(text, length);
        char *literal = line ? json_dumps(line, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

        if (literal)
            atoll_buffer_printf(out, "    %s\n", literal);
        else
            out->failed = 1;
        free(literal);
        json_decref(line);
        text += length;
    }
    atoll_buffer_printf(out, ")\n");
}

static void put_base64(struct atoll_buffer *out, const char *name, const void *bytes, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    char line[LINE_BYTES / 3 * 4 + 1];

    atoll_buffer_printf(out, "%s = (\n", name);
    if (length == 0)
        atoll_buffer_printf(out, "    \"\"\n");
    for (size_t start = 0; start < length; start += LINE_BYTES) {
        size_t end = start + LINE_BYTES < length ? start + LINE_BYTES : length, to = 0;

        for (size_t i = start; i < end; i += 3) {
            unsigned word = (unsigned)from[i] << 16 | (i + 1 < end ? (unsigned)from[i + 1] << 8 : 0) |
                            (i + 2 < end ? from[i + 2] : 0u);

            line[to++] = letters[word >> 18];
            line[to++] = letters[word >> 12 & 63];
            line[to++] = i + 1 < end ? letters[word >> 6 & 63] : '=';
            line[to++] = i + 2 < end ? letters[word & 63] : '=';
        }
        line[to] = '\0';
        atoll_buffer_printf(out, "    \"%s\"\n", line);
    }
    atoll_buffer_printf(out, ")\n");
}

static void put_comment(struct atoll_buffer *out, const char *what, const char *text)
{
    char line[ATOLL_MODEL_NEW_REASON_BYTES];

    atoll_utf8_line(line, sizeof(line), text, strlen(text));
    atoll_buffer_printf(out, "# %-10s %s\n", what, line);
}

int atoll_model_new_text(json_t *kernel, const char *problem, const char *source, const void *image,
                         size_t image_length, const char *frame, struct atoll_buffer *out,
                         struct atoll_err *err)
{
    const char *body = strstr(frame, FRAME_MARK);
    json_t *data = plain(kernel);
    char *text = data ? json_dumps(data, JSON_INDENT(4) | JSON_ENSURE_ASCII) : NULL;
    int status = -1;

    if (!body) {
        atoll_err_set(err, ATOLL_E_INPUT, "model_new.py is not the one of this version; install Atoll again");
    } else if (!text) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a kernel as Python");
    } else {
        put_comment(out, "written by", "atoll export --kernelbench");
        put_comment(out, "problem", atoll_json_member(kernel, "problem"));
        put_comment(out, "kernel", atoll_json_member(kernel, "candidate"));
        put_comment(out, "measured on", atoll_json_member(kernel, "device"));
        atoll_buffer_put_bytes(out, frame, (size_t)(body - frame));
        atoll_buffer_printf(out, "KERNEL = %s\n", text);
        put_text(out, "SOURCE", source);
        put_base64(out, "CUBIN", image, image_length);
        put_base64(out, "PROBLEM", problem, strlen(problem));
        atoll_buffer_put_bytes(out, body, strlen(body));
        status = atoll_buffer_check(out, err);
    }
    free(text);
    json_decref(data);
    return status;
}

/* ---- from an archive ---- */

/* What it compiles to on the device it was measured on; NULL with a note. */
static int image_make(const char *source, const char *target, struct atoll_compiled *ret, char *ret_note)
{
    const struct atoll_nvrtc_settings settings = {.compiler = {.command = "nvrtc",
                                                               .flags = "",
                                                               .target = target,
                                                               .slots = 1,
                                                               .deadline_ns = 120e9,
                                                               .memory_bytes = (uint64_t)8 << 30,
                                                               .output_bytes = OBJECT_BYTES}};
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_compiler *compiler = atoll_nvrtc_create(&settings, &why);
    int status = compiler ? atoll_compiler_run(compiler, ATOLL_COMPILE_CANDIDATE "cu", source, strlen(source),
                                               NULL, 0, ret, &why)
                          : -1;

    if (status != 0)
        snprintf(ret_note, ATOLL_MODEL_NEW_REASON_BYTES, "%.250s", why.text);
    else if (ret->status != ATOLL_COMPILE_OK)
        snprintf(ret_note, ATOLL_MODEL_NEW_REASON_BYTES, "%.250s", ret->diagnostics);
    atoll_compiler_destroy(compiler);
    return status == 0 && ret->status == ATOLL_COMPILE_OK ? 0 : -1;
}

/* "sm_90a", and no option of a compiler. */
static int is_target(const char *text)
{
    size_t digits = strncmp(text, "sm_", 3) == 0 ? strspn(text + 3, "0123456789") : 0;

    return digits >= 2 && (text[3 + digits] == '\0' || strcmp(text + 3 + digits, "a") == 0);
}

/* A relative path of plain names. */
static void path_make(const char *problem, char *ret_path, size_t bytes)
{
    size_t length = 0;

    for (; *problem && length + 4 < bytes; problem++) {
        int is_plain = isalnum((unsigned char)*problem) || strchr("_-", *problem) ||
                       (*problem == '/' && length > 0 && ret_path[length - 1] != '/');
        ret_path[length++] = is_plain ? *problem : '_';
    }
    snprintf(ret_path + length, bytes - length, ".py");
}

static int add_device(const struct atoll_archive_view *view, const struct atoll_row_task *task,
                      uint64_t candidate, json_t *kernel)
{
    int64_t evaluation = atoll_query_best_evaluation(view->query, candidate, task->model);
    struct atoll_row_evaluation of;
    struct atoll_row_device device;

    json_object_set_new(kernel, "target", json_string(""));
    if (evaluation < 0)
        return 0;
    atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)evaluation, &of);
    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_DEVICES); i++) {
        atoll_tables_get(view->tables, ATOLL_TABLE_DEVICES, i, &device);
        if (device.campaign == of.campaign && device.key == of.device) {
            const char *target = atoll_tables_text(view->tables, device.target);

            json_object_set_new(kernel, "target", atoll_json_text(is_target(target) ? target : ""));
            return 0;
        }
    }
    return 0;
}

/* The kernel's plan at the shapes that are measured; -1 when there is none. */
static int add_dims(json_t *kernel)
{
    json_t *shapes = json_object_get(kernel, "variants"), *dims;
    const char *name;

    json_object_foreach(shapes, name, dims)
    {
        if (strncmp(name, "bench", 5) == 0)
            return json_object_set(kernel, "dims", dims);
    }
    return -1;
}

/* What the frame calls KERNEL; NULL with a reason. */
static json_t *kernel_describe(const struct atoll_archive_view *view, const struct atoll_row_task *task,
                               uint64_t candidate, json_t *file, char *ret_reason)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *kernel = json_object();
    static const struct {
        const char *from, *to;
    } kept[] = {{"task", "task"},      {"candidate", "candidate"},   {"device", "device"},
                {"times", "times"},    {"parameters", "parameters"}, {"plan", "plan"},
                {"shapes", "variants"}};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        json_object_set(kernel, kept[i].to, json_object_get(file, kept[i].from));
    if (atoll_model_new_read_task(atoll_tables_text(view->tables, task->definition), kernel, &why) != 0)
        snprintf(ret_reason, ATOLL_MODEL_NEW_REASON_BYTES, "%.250s", why.text);
    else if (strcmp(atoll_json_member(kernel, "suite"), SUITE) != 0)
        snprintf(ret_reason, ATOLL_MODEL_NEW_REASON_BYTES, "it does not come from KernelBench");
    else if (strcmp(atoll_json_member(file, "language"), "cuda") != 0)
        snprintf(ret_reason, ATOLL_MODEL_NEW_REASON_BYTES, "its best kernel is not for a GPU");
    else if (!json_is_object(json_object_get(kernel, "plan")) || add_dims(kernel) != 0)
        snprintf(ret_reason, ATOLL_MODEL_NEW_REASON_BYTES, "the archive has no plan or shapes of it");
    else if (add_device(view, task, candidate, kernel) == 0)
        return kernel;
    json_decref(kernel);
    return NULL;
}

static int kernel_write(const struct atoll_archive_view *view, const struct atoll_row_task *task,
                        json_t *kernel, const char *source, const char *frame, struct atoll_buffer *out,
                        struct atoll_model_new *ret, struct atoll_err *err)
{
    const char *target = atoll_json_member(kernel, "target");
    struct atoll_compiled compiled = {0};
    int has_image = *target && image_make(source, target, &compiled, ret->note) == 0;

    if (!*target)
        snprintf(ret->note, sizeof(ret->note), "the archive does not say which GPU it was compiled for");
    path_make(atoll_json_member(kernel, "problem"), ret->path, sizeof(ret->path));
    int status = atoll_model_new_text(kernel, atoll_tables_text(view->tables, task->reference), source,
                                      has_image ? compiled.object : NULL,
                                      has_image ? compiled.object_length : 0, frame, out, err);
    atoll_compiled_fini(&compiled);
    return status;
}

int atoll_model_new_write(const struct atoll_archive_view *view, uint64_t task_row, const char *frame,
                          struct atoll_buffer *out, struct atoll_model_new *ret, struct atoll_err *err)
{
    struct atoll_row_task task;
    int status = 0;

    *ret = (struct atoll_model_new){.path = ""};
    atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, task_row, &task);
    int64_t candidate = atoll_query_candidate(view->query, task.campaign, &task.best);
    if (candidate < 0) {
        snprintf(ret->reason, sizeof(ret->reason), "it has no correct kernel yet");
        return 0;
    }
    json_t *file = atoll_kernel_file_json(view, (uint64_t)candidate, err);
    if (!file)
        return -1;
    json_t *kernel = kernel_describe(view, &task, (uint64_t)candidate, file, ret->reason);
    if (kernel)
        status = kernel_write(view, &task, kernel, atoll_json_member(file, "source"), frame, out, ret, err);
    json_decref(kernel);
    json_decref(file);
    return status;
}
