/* launch.c - packs a CUDA candidate's launch: extents, arguments, tensor maps. */
#include "mpi-eval/backend/cuda/measure/launch.h"

#include <stdio.h>
#include <string.h>

#define MAP_BYTES  128u
#define BOX_LIMIT  256
#define EXTENT_MAX ((int64_t)1 << 32)
#define STRIDE_MAX ((int64_t)1 << 40)

/* What expressions of one plan see at one variant. */
struct scope {
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t count;
    const char *variant;
};

static void scope_set(struct scope *s, const struct atoll_prepared *p, const struct atoll_variant *v)
{
    s->count = atoll_plan_bindings(p->task, v, p->plan, &p->choice, s->bindings);
    s->variant = v->name;
}

/* -1 with the field when it does not evaluate or lies outside of low..high. */
static int scope_eval(const struct scope *s, const struct atoll_expression *e, const char *field, int64_t low,
                      int64_t high, int64_t *ret_value, struct atoll_err *err)
{
    int64_t value;
    if (atoll_expression_eval(e, s->bindings, s->count, &value, err) != 0)
        return atoll_err_add(err, "in %s \"%s\" at variant %s", field, atoll_expression_text(e), s->variant);
    if (value < low || value > high)
        return atoll_err_set(
            err, ATOLL_E_INPUT, "%s \"%s\" is %lld at variant %s; it must lie between %lld and %lld", field,
            atoll_expression_text(e), (long long)value, s->variant, (long long)low, (long long)high);
    *ret_value = value;
    return 0;
}

static int extents_eval(const struct scope *s, const struct atoll_expression *const e[3], const char *field,
                        uint32_t missing, uint32_t ret[3], struct atoll_err *err)
{
    for (int i = 0; i < 3; i++) {
        int64_t value = missing;
        if (e[i] && scope_eval(s, e[i], field, 1, UINT32_MAX, &value, err) != 0)
            return -1;
        ret[i] = (uint32_t)value;
    }
    return 0;
}

/* ---- what a Triton candidate was compiled to: nothing yet before it was ---- */

/* The image of a launch at a variant; NULL in ret_image: not compiled yet. */
static int image_find(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch,
                      struct atoll_triton_images *images, const struct atoll_triton_image **ret_image,
                      uint32_t *ret_number, struct atoll_err *err)
{
    char letters[ATOLL_PLAN_ARG_LIMIT + 1];
    *ret_image = NULL;
    if (atoll_triton_letters(p, v, launch, letters, err) != 0)
        return -1;
    if (!p->report)
        return 0;
    if (atoll_triton_images_read(p->report, images) != 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "nothing says how the images of this candidate are launched");
    int number = atoll_triton_images_find(images, launch, letters);
    if (number < 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "no image was made for arguments of the class \"%s\" at variant %s", letters,
                             v->name);
    *ret_image = &images->images[number];
    *ret_number = (uint32_t)number;
    return 0;
}

/* Scratch of Triton's own that the launches of a path want, one after the other in the same place. */
static int own_scratch_bytes(const struct atoll_prepared *p, const struct atoll_variant *v, size_t path,
                             uint64_t *ret_bytes, struct atoll_err *err)
{
    const struct atoll_path *way = &p->plan->paths[path];
    struct atoll_triton_images images;
    struct scope scope;
    *ret_bytes = 0;
    scope_set(&scope, p, v);
    for (size_t k = way->first; k < way->first + way->count; k++) {
        const struct atoll_triton_image *image;
        uint32_t grid[3], number;
        if (image_find(p, v, k, &images, &image, &number, err) != 0)
            return -1;
        if (!image || !image->scratch_bytes)
            continue;
        if (extents_eval(&scope, p->plan->launches[k].grid, "grid", 1, grid, err) != 0)
            return -1;
        double bytes = (double)image->scratch_bytes * grid[0] * grid[1] * grid[2];
        if (bytes > (double)STRIDE_MAX)
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "Triton's scratch is %.3g bytes at variant %s; use fewer programs", bytes,
                                 v->name);
        *ret_bytes = (uint64_t)bytes > *ret_bytes ? (uint64_t)bytes : *ret_bytes;
    }
    return 0;
}

int atoll_cuda_buffer_bytes(const struct atoll_prepared *p, const struct atoll_variant *v,
                            uint64_t *ret_bytes, size_t *ret_count, struct atoll_err *err)
{
    struct scope scope;
    size_t n = 0, path = 0;
    scope_set(&scope, p, v);
    if (atoll_plan_path_at(p->task, p->plan, v, &path, err) != 0)
        return -1;
    for (size_t i = 0; i < p->task->tensor_count; i++) {
        size_t elements = 0;
        if (atoll_task_element_count(p->task, i, v, &elements, err) != 0)
            return -1;
        ret_bytes[n++] = (uint64_t)elements * atoll_dtype_bytes(p->task->tensors[i].dtype);
    }
    for (size_t i = 0; i < p->plan->scratch_count; i++) {
        int64_t bytes = 0;
        if (atoll_plan_path_uses(p->plan, path, i) &&
            scope_eval(&scope, p->plan->scratch[i].bytes, "scratch", 0, STRIDE_MAX, &bytes, err) != 0)
            return -1;
        ret_bytes[n++] = bytes ? (uint64_t)bytes : 1;
    }
    uint64_t own = 0;
    if (atoll_triton_is(p) && own_scratch_bytes(p, v, path, &own, err) != 0)
        return -1;
    if (own && n == ATOLL_LAYOUT_BUFFER_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "no room is left for Triton's own scratch; use a scratch less");
    if (own)
        ret_bytes[n++] = own;
    *ret_count = n;
    return 0;
}

/* ---- tensor maps ---- */

static int map_axis(const struct scope *s, const struct atoll_tensormap *m, size_t i, uint64_t packed,
                    struct atoll_device_command_map *map, struct atoll_err *err)
{
    int64_t extent = 0, box = 0, stride = (int64_t)packed;
    if (scope_eval(s, m->extent[i], "tensormap extent", 1, EXTENT_MAX, &extent, err) != 0 ||
        scope_eval(s, m->box[i], "tensormap box", 1, BOX_LIMIT, &box, err) != 0)
        return -1;
    map->extent[i] = (uint64_t)extent;
    map->box[i] = (uint32_t)box;
    if (i == 0)
        return 0;
    if (m->stride_bytes[i - 1] &&
        scope_eval(s, m->stride_bytes[i - 1], "tensormap stride", 16, STRIDE_MAX - 1, &stride, err) != 0)
        return -1;
    if (stride % 16 != 0)
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "the stride of axis %zu is %lld bytes at variant %s; it must be a multiple of 16", i,
            (long long)stride, s->variant);
    map->stride_bytes[i - 1] = (uint64_t)stride;
    return 0;
}

static int map_box_check(const struct scope *s, const struct atoll_device_command_map *map,
                         struct atoll_err *err)
{
    uint64_t inner = (uint64_t)map->box[0] * atoll_dtype_bytes((enum atoll_dtype)map->dtype);
    if (inner % 16 != 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the inner box has %llu bytes at variant %s; it must be a multiple of 16",
                             (unsigned long long)inner, s->variant);
    if (map->swizzle_bytes && inner > map->swizzle_bytes)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "the inner box has %llu bytes at variant %s; a swizzle of %u takes at most %u",
                             (unsigned long long)inner, s->variant, map->swizzle_bytes, map->swizzle_bytes);
    return 0;
}

/* 0 as soon as the last element of the map lies past `bytes`. */
static int map_is_within(const struct atoll_device_command_map *map, uint64_t bytes)
{
    uint64_t left = bytes, element = atoll_dtype_bytes((enum atoll_dtype)map->dtype);
    for (uint32_t i = 0; i < map->rank; i++) {
        uint64_t stride = i ? map->stride_bytes[i - 1] : element, batch = map->extent[i] - 1;
        if (batch && batch > left / stride)
            return 0;
        left -= batch * stride;
    }
    return left >= element;
}

int atoll_cuda_map_make(const struct atoll_prepared *p, const struct atoll_variant *v,
                        const struct atoll_arg *a, const struct atoll_span *buffer,
                        struct atoll_device_command_map *ret_map, struct atoll_err *err)
{
    const struct atoll_tensormap *m = a->map;
    struct scope scope;
    scope_set(&scope, p, v);
    if (!m || m->rank < 1 || m->rank > ATOLL_TENSORMAP_RANK_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": a tensor map has 1 to %d axes", a->text,
                             ATOLL_TENSORMAP_RANK_LIMIT);
    struct atoll_device_command_map map = {.dtype = (uint32_t)m->dtype,
                                           .rank = (uint32_t)m->rank,
                                           .swizzle_bytes = m->swizzle,
                                           .l2_bytes = m->l2,
                                           .address = buffer->address};
    uint64_t packed = atoll_dtype_bytes(m->dtype);
    for (size_t i = 0; i < m->rank; i++) {
        if (map_axis(&scope, m, i, packed, &map, err) != 0)
            return atoll_err_add(err, "in argument \"%s\"", a->text);
        uint64_t stride = i ? map.stride_bytes[i - 1] : packed;
        if (map.extent[i] > (uint64_t)STRIDE_MAX / stride)
            return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": larger than any tensor at variant %s",
                                 a->text, v->name);
        packed = stride * map.extent[i];
    }
    if (map_box_check(&scope, &map, err) != 0)
        return atoll_err_add(err, "in argument \"%s\"", a->text);
    if (!map_is_within(&map, buffer->bytes))
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "argument \"%s\": its extents and strides reach beyond the %llu bytes of %s at variant %s",
            a->text, (unsigned long long)buffer->bytes,
            m->is_scratch ? p->plan->scratch[a->index].name : p->task->tensors[a->index].name, v->name);
    *ret_map = map;
    return 0;
}

/* ---- arguments ---- */

static int has_no_room(const struct atoll_arg *a, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_INPUT,
                         "argument \"%s\" does not fit into the %d bytes of a launch's parameters", a->text,
                         ATOLL_DEVICE_COMMAND_PARAM_BYTES);
}

static int map_put(const struct atoll_prepared *p, const struct atoll_variant *v, const struct atoll_arg *a,
                   const struct atoll_span *buffer, struct atoll_device_command_launch *launch,
                   struct atoll_err *err)
{
    static const unsigned char blank[MAP_BYTES];
    if (launch->map_count >= ATOLL_DEVICE_COMMAND_MAP_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": more than %d tensor maps in one launch",
                             a->text, ATOLL_DEVICE_COMMAND_MAP_LIMIT);
    struct atoll_device_command_map *map = &launch->maps[launch->map_count];
    if (atoll_cuda_map_make(p, v, a, buffer, map, err) != 0)
        return -1;
    long offset = atoll_device_command_param(launch, blank, MAP_BYTES);
    if (offset < 0)
        return has_no_room(a, err);
    map->offset = (uint32_t)offset;
    launch->map_count++;
    return 0;
}

static int number_put(const struct scope *s, const struct atoll_arg *a,
                      struct atoll_device_command_launch *launch, struct atoll_err *err)
{
    union {
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } value = {.i64 = 0};
    int64_t integer = 0;
    int is_narrow = a->width == ATOLL_I32;
    if (a->kind == ATOLL_ARG_INTEGER && scope_eval(s, a->value, "argument", is_narrow ? INT32_MIN : INT64_MIN,
                                                   is_narrow ? INT32_MAX : INT64_MAX, &integer, err) != 0)
        return -1;
    if (a->kind == ATOLL_ARG_INTEGER && is_narrow)
        value.i32 = (int32_t)integer;
    else if (a->kind == ATOLL_ARG_INTEGER)
        value.i64 = integer;
    else if (a->width == ATOLL_F32)
        value.f32 = (float)a->number;
    else
        value.f64 = a->number;
    return atoll_device_command_param(launch, &value, (uint32_t)atoll_dtype_bytes(a->width)) < 0
               ? has_no_room(a, err)
               : 0;
}

int atoll_cuda_launch_make(const struct atoll_prepared *p, const struct atoll_variant *v, size_t index,
                           const struct atoll_layout *layout, struct atoll_device_command_launch *ret,
                           struct atoll_err *err)
{
    const struct atoll_launch *l = &p->plan->launches[index];
    struct atoll_span buffers[ATOLL_LAYOUT_BUFFER_LIMIT];
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count = 0;
    struct scope scope;
    int64_t shared = 0;
    scope_set(&scope, p, v);
    memset(ret, 0, sizeof(*ret));
    if (extents_eval(&scope, l->grid, "grid", 1, ret->grid, err) != 0 ||
        extents_eval(&scope, l->block, "block", 1, ret->block, err) != 0 ||
        (l->cluster[0] && extents_eval(&scope, l->cluster, "cluster", 1, ret->cluster, err) != 0) ||
        (l->shared_bytes &&
         scope_eval(&scope, l->shared_bytes, "shared_bytes", 0, 1 << 24, &shared, err) != 0) ||
        atoll_cuda_buffer_bytes(p, v, bytes, &count, err) != 0)
        return -1;
    ret->shared_bytes = (uint32_t)shared;
    ret->cooperative = l->cooperative ? 1 : 0;
    ret->function = (uint32_t)index;
    struct atoll_triton_images images;
    const struct atoll_triton_image *image = NULL;
    if (atoll_triton_is(p)) {
        if (image_find(p, v, index, &images, &image, &ret->function, err) != 0)
            return -1;
        ret->block[0] = image ? image->threads : 32;
        ret->shared_bytes = image ? image->shared_bytes : 0;
    }
    for (size_t i = 0; i < count; i++)
        buffers[i] = layout ? layout->buffers[i] : (struct atoll_span){0, bytes[i]};
    for (size_t i = 0; i < l->arg_count; i++) {
        const struct atoll_arg *a = &l->args[i];
        int is_map = a->kind == ATOLL_ARG_TENSORMAP, failed;
        int is_scratch = a->kind == ATOLL_ARG_SCRATCH || (is_map && a->map && a->map->is_scratch);
        const struct atoll_span *buffer = &buffers[a->index + (is_scratch ? p->task->tensor_count : 0)];
        if (image && !(image->passed >> i & 1))
            failed = 0; /* a constant of the image */
        else if (is_map)
            failed = map_put(p, v, a, buffer, ret, err);
        else if (a->kind == ATOLL_ARG_INTEGER || a->kind == ATOLL_ARG_FLOAT)
            failed = number_put(&scope, a, ret, err);
        else
            failed = atoll_device_command_param(ret, &buffer->address, 8) < 0 ? has_no_room(a, err) : 0;
        if (failed)
            return -1;
    }
    size_t plain = p->task->tensor_count + p->plan->scratch_count;
    uint64_t own[2] = {image && image->scratch_bytes && count > plain ? buffers[plain].address : 0, 0};
    for (int i = 0; image && i < 2; i++) /* Triton's scratch, and a profiler's, which there is none of */
        if (atoll_device_command_param(ret, &own[i], 8) < 0)
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "the launch of %s has no room for Triton's own parameters", l->symbol);
    return 0;
}

size_t atoll_cuda_function_count(const struct atoll_prepared *p)
{
    struct atoll_triton_images images;
    if (!atoll_triton_is(p))
        return p->plan->launch_count;
    return atoll_triton_images_read(p->report, &images) == 0 ? images.image_count : 0;
}

const char *atoll_cuda_function_name(const struct atoll_prepared *p, size_t function, char *ret_name,
                                     size_t bytes)
{
    struct atoll_triton_images images;
    if (!atoll_triton_is(p))
        snprintf(ret_name, bytes, "%s", p->plan->launches[function].symbol);
    else
        snprintf(ret_name, bytes, "%s",
                 atoll_triton_images_read(p->report, &images) == 0 ? images.images[function].symbol : "");
    return ret_name;
}

const char *atoll_cuda_launch_text(const struct atoll_device_command_launch *l, char *ret_text, size_t bytes)
{
    int n =
        snprintf(ret_text, bytes, "grid [%u, %u, %u], block [%u, %u, %u], %u bytes of dynamic shared memory",
                 l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared_bytes);
    if (n > 0 && (size_t)n < bytes && l->cluster[0])
        n += snprintf(ret_text + n, bytes - (size_t)n, ", cluster [%u, %u, %u]", l->cluster[0], l->cluster[1],
                      l->cluster[2]);
    if (n > 0 && (size_t)n < bytes && l->cooperative)
        snprintf(ret_text + n, bytes - (size_t)n, ", cooperative");
    return ret_text;
}

int atoll_cuda_image_fits(const struct atoll_launch *l, const struct atoll_triton_image *image,
                          const struct atoll_cubin_kernel *k, struct atoll_err *err)
{
    size_t at = 0;
    if (k->threads_limit && k->threads_limit < image->threads)
        return atoll_err_set(err, ATOLL_E_INPUT, "kernel %s runs in blocks of %u threads, Triton says %u",
                             k->name, k->threads_limit, image->threads);
    for (size_t i = 0; i < l->arg_count; i++) {
        const struct atoll_arg *a = &l->args[i];
        uint32_t bytes = a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH
                             ? 8
                             : (uint32_t)atoll_dtype_bytes(a->width);
        if (!(image->passed >> i & 1))
            continue;
        if (at >= k->param_count || k->params[at].bytes != bytes)
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "kernel %s: parameter %zu has %u bytes, the plan's argument \"%s\" has %u",
                                 k->name, at + 1, at < k->param_count ? k->params[at].bytes : 0, a->text,
                                 bytes);
        at++;
    }
    if (k->param_count != at + 2 || k->params[at].bytes != 8 || k->params[at + 1].bytes != 8)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "kernel %s takes %u parameters; %zu arguments and two pointers to scratch are "
                             "what it is launched with",
                             k->name, k->param_count, at);
    return 0;
}

int atoll_cuda_launch_fits(const struct atoll_launch *l, const struct atoll_cubin_kernel *k,
                           struct atoll_err *err)
{
    if (l->arg_count != k->param_count)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "kernel %s takes %u parameters, the plan's launch has %zu arguments", k->name,
                             k->param_count, l->arg_count);
    for (size_t i = 0; i < l->arg_count; i++) {
        const struct atoll_arg *a = &l->args[i];
        uint32_t bytes = (uint32_t)atoll_dtype_bytes(a->width);
        if (a->kind == ATOLL_ARG_TENSORMAP)
            bytes = MAP_BYTES;
        else if (a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH)
            bytes = 8;
        if (k->params[i].bytes != bytes)
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "kernel %s: parameter %zu has %u bytes, the plan's argument \"%s\" has %u",
                                 k->name, i + 1, k->params[i].bytes, a->text, bytes);
    }
    return 0;
}
