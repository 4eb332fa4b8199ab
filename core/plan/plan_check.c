/* plan_check.c - every expression of a plan at every variant of its backend, for one choice: within the bounds that hold
 * everywhere, and against the limits of a device.  Everything is evaluated into 64-bit numbers first; products saturate. */
#include "core/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/message.h"

#define COPY_BYTES     16  /* granularity of the bulk copy engine */
#define BOX_LIMIT      256 /* elements of an axis */
#define EXTENT_LIMIT   ((int64_t)1 << 32)
#define STRIDE_LIMIT   (((int64_t)1 << 40) - 1)
#define CLUSTER_BLOCKS 16 /* most on any device, not portable beyond 8 */
#define SCRATCH_BYTES  ((int64_t)1 << 40)
#define UNIT_LIMIT     ((int64_t)1 << 40)
#define SHARED_LIMIT   ((int64_t)1 << 24)
#define WARP_LIMIT     32 /* of Triton: num_warps, num_stages */
#define STAGE_LIMIT    16
#define FIELD_BYTES    96
#define BINDING_LIMIT  (ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT)

/* A plan's expressions at one variant, for one choice: errors name the field. */
struct scope {
    const struct atoll_task *task;
    const struct atoll_plan *plan;
    const struct atoll_variant *variant;
    size_t path; /* the one taken there */
    size_t binding_count;
    struct atoll_binding bindings[BINDING_LIMIT];
    struct atoll_err *err;
};

static int scope_init(struct scope *scope, const struct atoll_task *task, const struct atoll_plan *plan,
                      const struct atoll_choice *choice, const struct atoll_variant *variant,
                      struct atoll_err *err)
{
    scope->task = task;
    scope->plan = plan;
    scope->variant = variant;
    scope->err = err;
    scope->binding_count = atoll_plan_bindings(task, variant, plan, choice, scope->bindings);
    return atoll_plan_path_at(task, plan, variant, &scope->path, err);
}

/* Evaluates e and checks low <= value <= high; NULL means absent: ret_value is left alone and all is well.
 * ret_value may be NULL.  Errors: ATOLL_E_INPUT "plan: field 'launch[0].grid[1]': 'N / 2' is 0 at variant ..." */
static int value_at(const struct scope *scope, const struct atoll_expression *e, int64_t low, int64_t high,
                    const char *field, int64_t *ret_value)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    int64_t value = 0;
    if (!e)
        return 0;
    if (atoll_expression_eval(e, scope->bindings, scope->binding_count, &value, &inner)) {
        return atoll_err_set(scope->err, ATOLL_E_INPUT, "plan: field '%s' at variant '%s': %s", field,
                             scope->variant->name, inner.text);
    }
    if (value > high && strncmp(field, "scratch.", 8) == 0) {
        char wanted[32], limit[32];
        return atoll_err_set(
            scope->err, ATOLL_E_INPUT,
            "plan: field '%s': '%s' is %s at variant '%s', at most %s are allowed; use less scratch", field,
            atoll_expression_text(e), atoll_size_text((double)value, wanted, sizeof(wanted)),
            scope->variant->name, atoll_size_text((double)high, limit, sizeof(limit)));
    }
    if (value < low || value > high) {
        return atoll_err_set(scope->err, ATOLL_E_INPUT,
                             "plan: field '%s': '%s' is %lld at variant '%s', must lie between %lld and %lld",
                             field, atoll_expression_text(e), (long long)value, scope->variant->name,
                             (long long)low, (long long)high);
    }
    if (ret_value)
        *ret_value = value;
    return 0;
}

/* ---- what holds everywhere ---- */

static int extents_hold(const struct scope *p, const char *launch, const char *key,
                        const struct atoll_expression *const extents[3])
{
    char field[FIELD_BYTES];
    for (size_t i = 0; i < 3; i++) {
        snprintf(field, sizeof(field), "%s.%s[%zu]", launch, key, i);
        if (value_at(p, extents[i], 1, INT32_MAX, field, NULL))
            return -1;
    }
    return 0;
}

static int map_holds(const struct scope *p, const struct atoll_tensormap *m, const char *field)
{
    char part[FIELD_BYTES];
    for (size_t i = 0; i < m->rank; i++) {
        snprintf(part, sizeof(part), "%.60s.extent[%zu]", field, i);
        if (value_at(p, m->extent[i], 1, EXTENT_LIMIT, part, NULL))
            return -1;
        snprintf(part, sizeof(part), "%.60s.box[%zu]", field, i);
        if (value_at(p, m->box[i], 1, BOX_LIMIT, part, NULL))
            return -1;
        snprintf(part, sizeof(part), "%.60s.stride[%zu]", field, i);
        if (i + 1 < m->rank && value_at(p, m->stride_bytes[i], 16, STRIDE_LIMIT, part, NULL))
            return -1;
    }
    return 0;
}

/* What a Triton kernel is compiled with. */
static int constants_hold(const struct scope *p, size_t index, const char *launch)
{
    const struct atoll_launch *l = &p->plan->launches[index];
    char field[FIELD_BYTES];
    int64_t warps = 1;
    for (size_t i = 0; i < l->constexpr_count; i++) {
        snprintf(field, sizeof(field), "%s.constexprs.%s", launch, l->constexprs[i].name);
        if (value_at(p, l->constexprs[i].value, INT32_MIN, INT32_MAX, field, NULL))
            return -1;
    }
    snprintf(field, sizeof(field), "%s.num_stages", launch);
    if (value_at(p, l->num_stages, 1, STAGE_LIMIT, field, NULL))
        return -1;
    snprintf(field, sizeof(field), "%s.num_warps", launch);
    if (value_at(p, l->num_warps, 1, WARP_LIMIT, field, &warps))
        return -1;
    return warps & (warps - 1)
               ? atoll_err_set(p->err, ATOLL_E_INPUT,
                               "plan: field '%s': %lld is no power of two; Triton takes 1, 2, 4, 8, 16 or 32",
                               field, (long long)warps)
               : 0;
}

static int launch_holds(const struct scope *p, size_t index)
{
    const struct atoll_launch *l = &p->plan->launches[index];
    char field[FIELD_BYTES], launch[ATOLL_PLAN_FIELD_BYTES];
    snprintf(field, sizeof(field), "%s.units", atoll_plan_launch_field(p->plan, index, launch));
    if (value_at(p, l->units, 1, UNIT_LIMIT, field, NULL))
        return -1;
    if (extents_hold(p, launch, "grid", l->grid) || extents_hold(p, launch, "block", l->block) ||
        extents_hold(p, launch, "cluster", l->cluster)) {
        return -1;
    }
    snprintf(field, sizeof(field), "%s.shared_bytes", launch);
    if (value_at(p, l->shared_bytes, 0, SHARED_LIMIT, field, NULL) || constants_hold(p, index, launch))
        return -1;
    for (size_t i = 0; i < l->arg_count; i++) {
        snprintf(field, sizeof(field), "%s.args[%zu]", launch, i);
        const struct atoll_arg *a = &l->args[i];
        int narrow = a->width == ATOLL_I32;
        if (a->kind == ATOLL_ARG_TENSORMAP && map_holds(p, a->map, field))
            return -1;
        if (a->kind == ATOLL_ARG_INTEGER && value_at(p, a->value, narrow ? INT32_MIN : INT64_MIN,
                                                     narrow ? INT32_MAX : INT64_MAX, field, NULL)) {
            return -1;
        }
    }
    return 0;
}

static int plan_holds(const struct scope *p)
{
    char field[FIELD_BYTES];
    const struct atoll_path *path = &p->plan->paths[p->path];
    for (size_t i = 0; i < p->plan->scratch_count; i++) {
        if (!atoll_plan_path_uses(p->plan, p->path, i))
            continue;
        snprintf(field, sizeof(field), "scratch.%s", p->plan->scratch[i].name);
        if (value_at(p, p->plan->scratch[i].bytes, 0, SCRATCH_BYTES, field, NULL))
            return -1;
    }
    for (size_t i = path->first; i < path->first + path->count; i++)
        if (launch_holds(p, i))
            return -1;
    return 0;
}

int atoll_plan_choice_check(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, struct atoll_err *err)
{
    struct scope scope;
    if (choice->count != plan->param_count) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu values chosen for %zu params", choice->count,
                             plan->param_count);
    }
    for (size_t i = 0; i < task->variant_count; i++) {
        if (!atoll_plan_concerns(plan, &task->variants[i]))
            continue;
        if (scope_init(&scope, task, plan, choice, &task->variants[i], err) || plan_holds(&scope))
            return -1;
    }
    return 0;
}

/* ---- what a device allows ---- */

struct site {
    struct scope scope;
    const struct atoll_device_limits *limits;
    int known; /* 0: no device is known */
    size_t launch;
    char field[ATOLL_PLAN_FIELD_BYTES]; /* of the launch */
    int64_t grid[3], block[3], cluster[3], shared_bytes;
};

static int64_t product(int64_t a, int64_t b)
{
    int64_t p;
    return __builtin_mul_overflow(a, b, &p) ? INT64_MAX : p;
}

static int64_t volume(const int64_t extents[3])
{
    return product(product(extents[0], extents[1]), extents[2]);
}

/* "plan: field 'launch[0].block': 2048 threads at variant 'bench'; the device allows 1024" */
static int beyond(const struct site *s, const char *key, const char *what, int64_t value, int64_t limit,
                  const char *remedy)
{
    return atoll_err_set(s->scope.err, ATOLL_E_INPUT,
                         "plan: field '%s.%s': %lld %s at variant '%s'; at most %lld %s%s", s->field, key,
                         (long long)value, what, s->scope.variant->name, (long long)limit,
                         s->known ? "on this device" : "on any device", remedy);
}

static int64_t limit_or(uint32_t limit, int64_t otherwise)
{
    return limit ? (int64_t)limit : otherwise;
}

/* ---- launches ---- */

static int read_extents(const struct site *s, const char *key, const struct atoll_expression *const e[3],
                        int64_t ret[3])
{
    for (size_t i = 0; i < 3; i++) {
        char field[FIELD_BYTES];
        snprintf(field, sizeof(field), "%s.%s[%zu]", s->field, key, i);
        ret[i] = 1;
        if (value_at(&s->scope, e[i], 1, INT32_MAX, field, &ret[i]))
            return -1;
    }
    return 0;
}

static int check_axes(const struct site *s, const char *key, const int64_t value[3], const uint32_t limit[3],
                      const int64_t otherwise[3])
{
    for (size_t i = 0; i < 3; i++) {
        char field[16];
        int64_t most = limit_or(limit[i], otherwise[i]);
        snprintf(field, sizeof(field), "%s[%zu]", key, i);
        if (value[i] > most)
            return beyond(s, field, "in this axis", value[i], most, "; use another axis or a loop");
    }
    return 0;
}

static int check_block(const struct site *s)
{
    static const int64_t grids[3] = {INT32_MAX, 65535, 65535}, blocks[3] = {1024, 1024, 64};
    int64_t most = limit_or(s->limits->threads_per_block, 1024);
    if (volume(s->block) > most)
        return beyond(s, "block", "threads", volume(s->block), most, "; make the block smaller");
    return check_axes(s, "block", s->block, s->limits->block, blocks) ||
                   check_axes(s, "grid", s->grid, s->limits->grid, grids)
               ? -1
               : 0;
}

static int check_cluster(const struct site *s)
{
    int64_t most = s->known ? (int64_t)s->limits->cluster_blocks : CLUSTER_BLOCKS;
    if (volume(s->cluster) == 1)
        return 0;
    if (volume(s->cluster) > most) {
        return beyond(s, "cluster", "blocks", volume(s->cluster), most < 1 ? 1 : most,
                      most < 1 ? "; leave cluster out" : "; make the cluster smaller");
    }
    for (size_t i = 0; i < 3; i++) {
        if (s->grid[i] % s->cluster[i]) {
            return atoll_err_set(s->scope.err, ATOLL_E_INPUT,
                                 "plan: field '%s.cluster[%zu]': the grid's %lld is no multiple of %lld "
                                 "at variant '%s'; round the grid up and leave surplus blocks idle",
                                 s->field, i, (long long)s->grid[i], (long long)s->cluster[i],
                                 s->scope.variant->name);
        }
    }
    return 0;
}

/* Upper bound of the blocks that can be resident; registers, which nobody knows yet, may allow fewer. */
static int64_t resident_blocks(const struct site *s)
{
    const struct atoll_device_limits *l = s->limits;
    int64_t warp = limit_or(l->warp_size, 32);
    int64_t threads = (volume(s->block) + warp - 1) / warp * warp;
    int64_t per = limit_or(l->blocks_per_multiprocessor, 32);
    if (l->threads_per_multiprocessor && l->threads_per_multiprocessor / threads < per)
        per = l->threads_per_multiprocessor / threads;
    if (l->shared_bytes_per_multiprocessor && s->shared_bytes &&
        l->shared_bytes_per_multiprocessor / s->shared_bytes < per) {
        per = l->shared_bytes_per_multiprocessor / s->shared_bytes;
    }
    return product(per, (int64_t)l->multiprocessors);
}

static int check_cooperative(const struct site *s)
{
    if (!s->scope.plan->launches[s->launch].cooperative || !s->known)
        return 0;
    if (!s->limits->cooperative) {
        return atoll_err_set(s->scope.err, ATOLL_E_INPUT,
                             "plan: field '%s.cooperative': true at variant '%s'; the device has no "
                             "cooperative launches; split it into several launches",
                             s->field, s->scope.variant->name);
    }
    int64_t most = resident_blocks(s);
    if (s->limits->multiprocessors && volume(s->grid) > most) {
        return beyond(s, "grid", "blocks of a cooperative launch", volume(s->grid), most,
                      " at once; loop over the work with fewer blocks");
    }
    return 0;
}

/* ---- tensor maps ---- */

struct map_site {
    const struct site *site;
    const struct atoll_tensormap *map;
    const struct atoll_arg *arg;
    size_t arg_index;
    int64_t extent[ATOLL_TENSORMAP_RANK_LIMIT], box[ATOLL_TENSORMAP_RANK_LIMIT],
        stride[ATOLL_TENSORMAP_RANK_LIMIT]; /* bytes from one element of an axis to the next */
};

static int map_value(const struct map_site *m, const char *part, size_t axis,
                     const struct atoll_expression *e, int64_t low, int64_t high, int64_t *ret)
{
    char field[FIELD_BYTES];
    snprintf(field, sizeof(field), "%s.args[%zu].%s[%zu]", m->site->field, m->arg_index, part, axis);
    return value_at(&m->site->scope, e, low, high, field, ret);
}

static int read_map(struct map_site *m)
{
    int64_t packed = (int64_t)atoll_dtype_bytes(m->map->dtype);
    for (size_t i = 0; i < m->map->rank; i++) {
        m->stride[i] = packed;
        if (map_value(m, "extent", i, m->map->extent[i], 1, EXTENT_LIMIT, &m->extent[i]) ||
            map_value(m, "box", i, m->map->box[i], 1, BOX_LIMIT, &m->box[i]) ||
            (i && map_value(m, "stride", i - 1, m->map->stride_bytes[i - 1], COPY_BYTES, STRIDE_LIMIT,
                            &m->stride[i]))) {
            return -1;
        }
        packed = product(m->stride[i], m->extent[i]);
    }
    return 0;
}

static int map_fails(const struct map_site *m, const char *part, int64_t value, const char *what,
                     int64_t limit, const char *remedy)
{
    return atoll_err_set(m->site->scope.err, ATOLL_E_INPUT,
                         "plan: field '%s.args[%zu].%s': %lld bytes at variant '%s', %s %lld; %s",
                         m->site->field, m->arg_index, part, (long long)value, m->site->scope.variant->name,
                         what, (long long)limit, remedy);
}

static int check_box(const struct map_site *m)
{
    int64_t row = m->box[0] * (int64_t)atoll_dtype_bytes(m->map->dtype);
    if (row % COPY_BYTES)
        return map_fails(m, "box[0]", row, "must be a multiple of", COPY_BYTES, "widen the box's first axis");
    if (m->map->swizzle && row > (int64_t)m->map->swizzle) {
        return map_fails(m, "box[0]", row, "at most the swizzle's", m->map->swizzle,
                         "cut the box's first axis or use a wider swizzle");
    }
    int64_t bytes = row, most = limit_or(m->site->limits->shared_bytes_per_block, INT64_MAX);
    for (size_t i = 1; i < m->map->rank; i++)
        bytes = product(bytes, m->box[i]);
    if (bytes > most)
        return map_fails(m, "box", bytes, "at most the shared memory's", most, "make the box smaller");
    return 0;
}

static int check_strides(const struct map_site *m)
{
    for (size_t i = 1; i < m->map->rank; i++) {
        char part[32];
        snprintf(part, sizeof(part), "stride[%zu]", i - 1);
        if (m->stride[i] > STRIDE_LIMIT)
            return map_fails(m, part, m->stride[i], "at most", STRIDE_LIMIT, "reorder the axes");
        if (m->stride[i] % COPY_BYTES) {
            return map_fails(m, part, m->stride[i], "must be a multiple of", COPY_BYTES,
                             "the engine needs aligned rows: pass the plain pointer for such shapes");
        }
    }
    return 0;
}

static int buffer_bytes(const struct map_site *m, int64_t *ret_bytes)
{
    const struct scope *p = &m->site->scope;
    char field[FIELD_BYTES];
    size_t count = 0;
    if (m->map->is_scratch) {
        const struct atoll_scratch *s = &p->plan->scratch[m->arg->index];
        snprintf(field, sizeof(field), "scratch.%s", s->name);
        return value_at(p, s->bytes, 0, INT64_MAX, field, ret_bytes);
    }
    if (atoll_task_element_count(p->task, m->arg->index, p->variant, &count, p->err))
        return -1;
    *ret_bytes = product((int64_t)count, (int64_t)atoll_dtype_bytes(p->task->tensors[m->arg->index].dtype));
    return 0;
}

/* The last byte that the map describes lies inside of its buffer. */
static int check_span(const struct map_site *m)
{
    int64_t span = (int64_t)atoll_dtype_bytes(m->map->dtype), bytes = 0;
    for (size_t i = 0; i < m->map->rank; i++)
        if (__builtin_add_overflow(span, product(m->extent[i] - 1, m->stride[i]), &span))
            span = INT64_MAX;
    if (buffer_bytes(m, &bytes))
        return -1;
    if (span > bytes) {
        return map_fails(m, "extent", span, m->map->is_scratch ? "but the scratch has" : "but the tensor has",
                         bytes, "correct extents, strides or dtype");
    }
    return 0;
}

static int check_maps(const struct site *s)
{
    const struct atoll_launch *l = &s->scope.plan->launches[s->launch];
    for (size_t i = 0; i < l->arg_count; i++) {
        struct map_site m = {.site = s, .map = l->args[i].map, .arg = &l->args[i], .arg_index = i};
        if (l->args[i].kind == ATOLL_ARG_TENSORMAP &&
            (read_map(&m) || check_box(&m) || check_strides(&m) || check_span(&m))) {
            return -1;
        }
    }
    return 0;
}

/* ---- all of it ---- */

static int check_launch(struct site *s)
{
    const struct atoll_launch *l = &s->scope.plan->launches[s->launch];
    char field[FIELD_BYTES];
    snprintf(field, sizeof(field), "%s.shared_bytes",
             atoll_plan_launch_field(s->scope.plan, s->launch, s->field));
    s->shared_bytes = 0;
    if (read_extents(s, "grid", l->grid, s->grid) || read_extents(s, "block", l->block, s->block) ||
        read_extents(s, "cluster", l->cluster, s->cluster) ||
        value_at(&s->scope, l->shared_bytes, 0, INT32_MAX, field, &s->shared_bytes)) {
        return -1;
    }
    if (constants_hold(&s->scope, s->launch, s->field) || check_block(s))
        return -1;
    int64_t most = limit_or(s->limits->shared_bytes_per_block, INT64_MAX);
    if (s->shared_bytes > most) {
        return beyond(s, "shared_bytes", "bytes", s->shared_bytes, most,
                      "; use smaller tiles or fewer stages");
    }
    return check_cluster(s) || check_cooperative(s) || check_maps(s) ? -1 : 0;
}

/* Scratch and one set of tensors, as doubles: the sums may be larger than any integer. */
static int check_memory(const struct site *s)
{
    const struct scope *p = &s->scope;
    double scratch = 0, tensors = 0;
    for (size_t i = 0; i < p->plan->scratch_count; i++) {
        char field[FIELD_BYTES];
        int64_t bytes = 0;
        if (!atoll_plan_path_uses(p->plan, p->path, i))
            continue;
        snprintf(field, sizeof(field), "scratch.%s", p->plan->scratch[i].name);
        if (value_at(p, p->plan->scratch[i].bytes, 0, INT64_MAX, field, &bytes))
            return -1;
        scratch += (double)bytes;
    }
    for (size_t i = 0; i < p->task->tensor_count && scratch > 0; i++) {
        size_t count = 0;
        if (atoll_task_element_count(p->task, i, p->variant, &count, p->err))
            return -1;
        tensors += (double)count * (double)atoll_dtype_bytes(p->task->tensors[i].dtype);
    }
    if (scratch > 0 && s->limits->memory_bytes > 0 && scratch + tensors > s->limits->memory_bytes) {
        char wanted[32], beside[32], limit[32];
        return atoll_err_set(
            p->err, ATOLL_E_INPUT,
            "plan: field 'scratch': %s at variant '%s' beside tensors of %s; the device has %s; use "
            "less scratch",
            atoll_size_text(scratch, wanted, sizeof(wanted)), p->variant->name,
            atoll_size_text(tensors, beside, sizeof(beside)),
            atoll_size_text(s->limits->memory_bytes, limit, sizeof(limit)));
    }
    return 0;
}

static int site_holds(struct site *s)
{
    const struct atoll_path *path = &s->scope.plan->paths[s->scope.path];
    if (check_memory(s))
        return -1;
    for (s->launch = path->first; s->launch < path->first + path->count; s->launch++)
        if (check_launch(s))
            return -1;
    return 0;
}

static int is_met(const struct scope *p, const struct atoll_expression *require)
{
    int64_t value = 0;
    return atoll_expression_eval(require, p->bindings, p->binding_count, &value, NULL) == 0 && value != 0;
}

static int requirements_hold(const struct scope *p)
{
    const struct atoll_path *path = &p->plan->paths[p->path];
    for (size_t i = 0; i < p->plan->require_count; i++)
        if (!is_met(p, p->plan->require[i]))
            return atoll_err_set(p->err, ATOLL_E_INPUT, "plan: field 'require[%zu]': not met at variant '%s'",
                                 i, p->variant->name);
    for (size_t i = 0; i < path->require_count; i++)
        if (!is_met(p, path->require[i]))
            return atoll_err_set(p->err, ATOLL_E_INPUT,
                                 "plan: field 'paths[%zu].require[%zu]': not met at variant '%s'", p->path, i,
                                 p->variant->name);
    return 0;
}

int atoll_plan_sound_at(const struct atoll_task *task, const struct atoll_plan *plan,
                        const struct atoll_choice *choice, const struct atoll_variant *variant,
                        struct atoll_err *err)
{
    static const struct atoll_device_limits unknown;
    struct site s = {.limits = &unknown};
    if (scope_init(&s.scope, task, plan, choice, variant, err) || requirements_hold(&s.scope) ||
        plan_holds(&s.scope))
        return -1;
    return strcmp(plan->backend, "cpu") == 0 ? 0 : site_holds(&s);
}

int atoll_plan_limits_check(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, unsigned kinds,
                            const struct atoll_device_limits *limits, struct atoll_err *err)
{
    static const struct atoll_device_limits unknown;
    struct site s = {.limits = limits ? limits : &unknown};
    const struct atoll_device_limits *l = s.limits;
    s.known = l->threads_per_block || l->multiprocessors || l->compute_capability ||
              l->shared_bytes_per_block || l->cluster_blocks || l->cooperative || l->memory_bytes > 0 ||
              l->grid[0] || l->block[0];
    if (choice->count != plan->param_count) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu values chosen for %zu params", choice->count,
                             plan->param_count);
    }
    if (strcmp(plan->backend, "cpu") == 0)
        return 0;
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (!(kinds & ATOLL_PLAN_KIND(v->kind)) || !atoll_plan_concerns(plan, v))
            continue;
        if (scope_init(&s.scope, task, plan, choice, v, err) || site_holds(&s))
            return -1;
    }
    return 0;
}
