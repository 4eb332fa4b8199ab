#include "mpi-eval/backend/cuda/triton/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "mpi-eval/backend/cuda/triton/printed.h"

#define ANSWER_VALUES 100000
#define CAUSE_BYTES   1200
#define SHARED_LIMIT  ((json_int_t)1 << 20)
#define SCRATCH_LIMIT ((json_int_t)1 << 30) /* of one block */

/* ---- the request ---- */

/* Triton's names of types. */
static const char *type_of(enum atoll_dtype dtype)
{
    static const char *const names[ATOLL_DTYPE_COUNT] = {
        [ATOLL_F64] = "fp64",       [ATOLL_F32] = "fp32",     [ATOLL_F16] = "fp16", [ATOLL_BF16] = "bf16",
        [ATOLL_F8E4M3] = "fp8e4nv", [ATOLL_F8E5M2] = "fp8e5", [ATOLL_I64] = "i64",  [ATOLL_I32] = "i32",
        [ATOLL_I16] = "i16",        [ATOLL_I8] = "i8",        [ATOLL_U8] = "u8"};
    return names[dtype];
}

static json_t *argument_json(const struct atoll_task *task, const struct atoll_arg *a)
{
    char type[16];
    int is_pointer = a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH;
    snprintf(type, sizeof(type), "%s%s", is_pointer ? "*" : "",
             type_of(a->kind == ATOLL_ARG_TENSOR    ? task->tensors[a->index].dtype
                     : a->kind == ATOLL_ARG_SCRATCH ? a->points_to
                                                    : a->width));
    return json_pack("{s:s, s:s}", "text", a->text, "type", type);
}

/* Values of what a kernel is compiled with: over params, the same at every variant. */
static int constant(const struct atoll_prepared *p, const struct atoll_expression *e, int64_t otherwise,
                    int64_t *ret, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t count = atoll_plan_bindings(p->task, NULL, p->plan, &p->choice, bindings);
    *ret = otherwise;
    return e ? atoll_expression_eval(e, bindings, count, ret, err) : 0;
}

static int is_here(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch)
{
    size_t path = 0;
    const struct atoll_path *paths = p->plan->paths;
    if (!atoll_plan_concerns(p->plan, v))
        return 0;
    return atoll_plan_path_at(p->task, p->plan, v, &path, NULL) != 0 ||
           (launch >= paths[path].first && launch < paths[path].first + paths[path].count);
}

/* Puts a class where it belongs in an order that says nothing of the variants', once. */
static int class_add(json_t *classes, const char *letters, size_t *count, struct atoll_err *err)
{
    size_t at = 0;
    while (at < json_array_size(classes) &&
           strcmp(json_string_value(json_array_get(classes, at)), letters) < 0)
        at++;
    if (at < json_array_size(classes) && strcmp(json_string_value(json_array_get(classes, at)), letters) == 0)
        return 0;
    if (++*count > ATOLL_TRITON_CLASS_LIMIT)
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: the launches have more than %d classes of arguments over the task's variants; use "
            "fewer launches or integers",
            ATOLL_TRITON_CLASS_LIMIT);
    return json_array_insert_new(classes, at, json_string(letters)) == 0
               ? 0
               : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a request to Triton");
}

/* Hidden shapes that are made for a path differ from run to run: for them there is an image that assumes nothing of integers. */
static int made_add(const struct atoll_prepared *p, size_t launch, size_t made, json_t *classes,
                    size_t *count, struct atoll_err *err)
{
    const struct atoll_variant *v = &p->cover.variants[made];
    const struct atoll_path *path = &p->plan->paths[p->cover.paths[made]];
    char letters[ATOLL_PLAN_ARG_LIMIT + 1];
    if (launch < path->first || launch >= path->first + path->count)
        return 0;
    if (atoll_triton_letters(p, v, launch, letters, err) != 0)
        return -1;
    for (size_t i = 0; v->kind == ATOLL_VARIANT_HIDDEN && letters[i]; i++)
        if (p->plan->launches[launch].args[i].kind == ATOLL_ARG_INTEGER)
            letters[i] = '-';
    return class_add(classes, letters, count, err);
}

static json_t *classes_json(const struct atoll_prepared *p, size_t launch, size_t *count,
                            struct atoll_err *err)
{
    json_t *classes = json_array();
    int failed = !classes;
    for (size_t v = 0; !failed && v < p->task->variant_count; v++) {
        char letters[ATOLL_PLAN_ARG_LIMIT + 1];
        if (is_here(p, &p->task->variants[v], launch))
            failed = atoll_triton_letters(p, &p->task->variants[v], launch, letters, err) != 0 ||
                     class_add(classes, letters, count, err) != 0;
    }
    for (size_t i = 0; !failed && i < p->cover.count; i++)
        failed = made_add(p, launch, i, classes, count, err) != 0;
    if (!failed)
        return classes;
    json_decref(classes);
    return NULL;
}

static json_t *launch_json(const struct atoll_prepared *p, size_t launch, size_t *class_count,
                           struct atoll_err *err)
{
    const struct atoll_launch *l = &p->plan->launches[launch];
    json_t *args = json_array(), *constexprs = json_object(), *params = json_object();
    json_t *classes = classes_json(p, launch, class_count, err);
    int64_t warps = 0, stages = 0, value = 0;
    int failed =
        !classes || constant(p, l->num_warps, 4, &warps, err) || constant(p, l->num_stages, 3, &stages, err);
    for (size_t i = 0; i < l->arg_count; i++)
        json_array_append_new(args, argument_json(p->task, &l->args[i]));
    for (size_t i = 0; !failed && i < l->constexpr_count; i++) {
        failed = constant(p, l->constexprs[i].value, 0, &value, err);
        json_object_set_new(constexprs, l->constexprs[i].name, json_integer(value));
    }
    for (size_t i = 0; i < p->plan->param_count; i++)
        json_object_set_new(params, p->plan->params[i].name, json_integer(p->choice.values[i]));
    if (!failed)
        return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "kernel", l->symbol, "args", args, "classes",
                         classes, "constexprs", constexprs, "params", params, "num_warps", (json_int_t)warps,
                         "num_stages", (json_int_t)stages);
    json_decref(args);
    json_decref(constexprs);
    json_decref(params);
    json_decref(classes);
    return NULL;
}

int atoll_triton_request_write(const struct atoll_prepared *p, const char *source, struct atoll_buffer *out,
                               struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *launches = json_array();
    size_t class_count = 0;
    int rc = launches ? 0 : -1;
    for (size_t k = 0; rc == 0 && k < p->plan->launch_count; k++) {
        json_t *launch = launch_json(p, k, &class_count, &why);
        rc = launch ? json_array_append_new(launches, launch) : -1;
    }
    json_t *root = rc == 0 ? json_pack("{s:s, s:s, s:O}", "name", ATOLL_TRITON_UNIT, "source", source,
                                       "launches", launches)
                           : NULL;
    json_decref(launches);
    if (rc == 0 && !root)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: the source is no UTF-8 text");
    if (rc != 0)
        return atoll_err_set(err, why.code ? why.code : ATOLL_E_MEMORY, "%s",
                             why.code ? why.text : "no memory for a request to Triton");
    rc = atoll_json_put(out, root, err);
    json_decref(root);
    return rc;
}

/* ---- the answer ---- */

static int wrong(struct atoll_err *err, const char *what)
{
    return atoll_err_set(err, ATOLL_E_INPUT, "the source broke its compiler, which answered nonsense (%s)",
                         what);
}

static int integer_at(const json_t *object, const char *key, json_int_t low, json_int_t high, json_int_t *ret)
{
    const json_t *value = json_object_get(object, key);
    *ret = json_integer_value(value);
    return json_is_integer(value) && *ret >= low && *ret <= high ? 0 : -1;
}

static int is_symbol(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return length > 0 && length < sizeof(((struct atoll_triton_image *)0)->symbol) &&
           strspn(text, letters) == length;
}

static int passed_read(const json_t *list, uint64_t *ret)
{
    json_int_t last = -1;
    *ret = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t at = json_integer_value(json_array_get(list, i));
        if (!json_is_integer(json_array_get(list, i)) || at <= last || at >= ATOLL_PLAN_ARG_LIMIT)
            return -1;
        *ret |= (uint64_t)1 << at;
        last = at;
    }
    return json_is_array(list) ? 0 : -1;
}

static int image_read(const json_t *image, struct atoll_triton_image *ret, struct atoll_err *err)
{
    const json_t *name = json_object_get(image, "name");
    json_int_t warps, shared, scratch, align, profile;
    if (!json_is_string(name) || !is_symbol(json_string_value(name), json_string_length(name)) ||
        integer_at(image, "warps", 1, 32, &warps) != 0 ||
        integer_at(image, "shared", 0, SHARED_LIMIT, &shared) != 0 ||
        integer_at(image, "scratch", 0, SCRATCH_LIMIT, &scratch) != 0 ||
        integer_at(image, "scratch_align", 1, (json_int_t)1 << 30, &align) != 0 ||
        integer_at(image, "profile_scratch", 0, INT32_MAX, &profile) != 0 ||
        passed_read(json_object_get(image, "passed"), &ret->passed) != 0)
        return wrong(err, "an image");
    if (scratch > 0 && align > (json_int_t)ATOLL_TRITON_ALIGN_LIMIT)
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "kernel %s wants scratch at multiples of %lld bytes; the launcher has %u",
                             json_string_value(name), (long long)align, ATOLL_TRITON_ALIGN_LIMIT);
    if (profile > 0)
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "kernel %s wants scratch of a profiler, which the launcher does not give",
                             json_string_value(name));
    snprintf(ret->symbol, sizeof(ret->symbol), "%s", json_string_value(name));
    ret->threads = (uint32_t)warps * 32;
    ret->shared_bytes = (uint32_t)shared;
    /* blocks lie one after the other, each at its alignment */
    ret->scratch_bytes = (uint64_t)((scratch + align - 1) / align * align);
    return 0;
}

static int images_read(const json_t *root, struct atoll_triton_images *ret, struct atoll_err *err)
{
    const json_t *images = json_object_get(root, "images");
    ret->image_count = ret->class_count = 0;
    if (!json_is_array(images) || json_array_size(images) == 0 ||
        json_array_size(images) > ATOLL_TRITON_IMAGE_LIMIT)
        return wrong(err, "images");
    for (size_t i = 0; i < json_array_size(images); i++) {
        if (image_read(json_array_get(images, i), &ret->images[i], err) != 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(ret->images[k].symbol, ret->images[i].symbol) == 0)
                return wrong(err, "two images of one name");
        ret->image_count++;
    }
    return 0;
}

/* Which image each class of the request has. */
static int classes_read(const json_t *root, const json_t *request, struct atoll_triton_images *ret,
                        struct atoll_err *err)
{
    const json_t *asked = json_object_get(request, "launches"), *said = json_object_get(root, "launches");
    if (!json_is_array(said) || json_array_size(said) != json_array_size(asked))
        return wrong(err, "launches");
    for (size_t k = 0; k < json_array_size(asked); k++) {
        const json_t *letters = json_object_get(json_array_get(asked, k), "classes"),
                     *images = json_array_get(said, k);
        if (!json_is_array(images) || json_array_size(images) != json_array_size(letters))
            return wrong(err, "classes");
        for (size_t i = 0; i < json_array_size(letters); i++) {
            const json_t *image = json_array_get(images, i);
            if (!json_is_integer(image) || json_integer_value(image) < 0 ||
                (uint64_t)json_integer_value(image) >= ret->image_count ||
                ret->class_count == ATOLL_TRITON_CLASS_LIMIT)
                return wrong(err, "a class");
            ret->classes[ret->class_count].launch = (uint32_t)k;
            ret->classes[ret->class_count].image = (uint32_t)json_integer_value(image);
            snprintf(ret->classes[ret->class_count++].letters, sizeof(ret->classes[0].letters), "%s",
                     json_string_value(json_array_get(letters, i)));
        }
    }
    return 0;
}

/* What is wrong with a source: Triton's exception, and what its passes printed where that says no more than that one failed. */
static int words_read(const json_t *root, enum atoll_triton_answer_kind *ret_kind, char **ret_words,
                      struct atoll_err *err)
{
    char cause[CAUSE_BYTES] = "";
    const char *error = atoll_json_member(root, "error"), *printed = atoll_json_member(root, "printed");
    if (strcmp(atoll_json_member(root, "kind"), "plan") == 0)
        *ret_kind = ATOLL_TRITON_ANSWER_PLAN;
    else
        *ret_kind = atoll_triton_printed_no_memory(printed, strlen(printed)) ? ATOLL_TRITON_ANSWER_MEMORY
                                                                             : ATOLL_TRITON_ANSWER_SOURCE;
    atoll_triton_printed_cause(printed, strlen(printed), cause, sizeof(cause));
    if (asprintf(ret_words, "%s%s%s", error, cause[0] ? "\n" : "", cause) >= 0)
        return 0;
    *ret_words = NULL;
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compiler's words");
}

/* The PTX and the images of all parts, as one answer has them that is whole; NULL: they do not go together. */
static json_t *joined(json_t *const *roots, unsigned count, struct atoll_err *err)
{
    json_t *ptx = json_object_get(roots[0], "ptx"), *images = json_object_get(roots[0], "images");
    size_t image_count = json_array_size(ptx);
    for (unsigned p = 0; p < count; p++) {
        json_t *own_ptx = json_object_get(roots[p], "ptx"), *own_images = json_object_get(roots[p], "images");
        if (!json_is_array(own_ptx) || !json_is_array(own_images) || image_count == 0 ||
            json_array_size(own_ptx) != image_count || json_array_size(own_images) != image_count) {
            wrong(err, "no PTX");
            return NULL;
        }
        if (!json_equal(json_object_get(roots[p], "launches"), json_object_get(roots[0], "launches"))) {
            wrong(err, "another one each time");
            return NULL;
        }
        for (size_t i = p; p > 0 && i < image_count; i += count) {
            json_array_set(ptx, i, json_array_get(own_ptx, i));
            json_array_set(images, i, json_array_get(own_images, i));
        }
    }
    return roots[0];
}

/* One module of the images' texts. */
static char *ptx_join(const json_t *texts, struct atoll_err *err)
{
    struct atoll_buffer b;
    char *whole = NULL;
    atoll_buffer_init(&b, ATOLL_TRITON_PTX_BYTES + 1);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        if (!json_is_string(text)) {
            atoll_buffer_fini(&b);
            wrong(err, "no PTX");
            return NULL;
        }
        if (i > 0)
            atoll_buffer_put_u8(&b, '\n');
        atoll_buffer_put_bytes(&b, json_string_value(text), json_string_length(text));
    }
    atoll_buffer_put_u8(&b, 0);
    if (b.failed)
        atoll_err_set(err, ATOLL_E_INPUT,
                      "the compiler makes more than %zu MiB of PTX of this source; use less "
                      "unrolling, or fewer classes of arguments",
                      ATOLL_TRITON_PTX_BYTES >> 20);
    else if (!(whole = strdup((const char *)b.data)))
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for PTX");
    atoll_buffer_fini(&b);
    return whole;
}

size_t atoll_triton_request_classes(const char *request)
{
    json_t *root = json_loads(request, 0, NULL);
    const json_t *launches = json_object_get(root, "launches");
    size_t count = 0;
    for (size_t k = 0; k < json_array_size(launches); k++)
        count += json_array_size(json_object_get(json_array_get(launches, k), "classes"));
    json_decref(root);
    return count;
}

int atoll_triton_answer_read(const struct atoll_triton_answer *answers, unsigned count, const char *request,
                             enum atoll_triton_answer_kind *ret_kind, struct atoll_triton_images *ret_images,
                             char **ret_ptx, char **ret_words, struct atoll_err *err)
{
    json_t *roots[ATOLL_TRITON_PART_LIMIT] = {NULL}, *asked = json_loads(request, 0, NULL), *root = NULL;
    int rc = 0, is_ptx = 1;
    *ret_ptx = *ret_words = NULL;
    for (unsigned p = 0; p < count && is_ptx; p++) {
        root = roots[p] = atoll_json_load(answers[p].bytes, answers[p].length, ANSWER_VALUES, 0, NULL);
        is_ptx = json_is_true(json_object_get(root, "ok"));
    }
    const char *kind = json_is_object(root) ? atoll_json_member(root, "kind") : "";
    if (is_ptx) {
        *ret_kind = ATOLL_TRITON_ANSWER_PTX;
        root = joined(roots, count, err);
        *ret_ptx = root ? ptx_join(json_object_get(root, "ptx"), err) : NULL;
        rc = *ret_ptx && images_read(root, ret_images, err) == 0 &&
                     classes_read(root, asked, ret_images, err) == 0
                 ? 0
                 : -1;
        if (rc != 0) {
            free(*ret_ptx);
            *ret_ptx = NULL;
        }
    } else if (json_is_string(json_object_get(root, "error")) &&
               (strcmp(kind, "plan") == 0 || strcmp(kind, "source") == 0)) {
        rc = words_read(root, ret_kind, ret_words, err);
    } else {
        rc = wrong(err, "no answer");
    }
    json_decref(asked);
    for (unsigned p = 0; p < count; p++)
        json_decref(roots[p]);
    return rc;
}
