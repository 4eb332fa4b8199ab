/* plan_parse.c - the JSON of a plan into struct atoll_plan.  One table of rows says which key may stand
 * where, for which languages, and who reads it; keys are read in the table's order, because launches refer to
 * params and scratch.  Every failure names the field by its path. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_reader.h"
#include "base/spelling.h"

enum { FOR_C = 1, FOR_DEVICE = 2, FOR_TRITON = 4, FOR_GRID = FOR_DEVICE | FOR_TRITON, FOR_ALL = 7 };
enum level { AT_PLAN, AT_PATH, AT_LAUNCH };

struct row {
    enum level level;
    const char *key;
    int languages, required;
    int (*read)(struct atoll_plan_reader *p, const char *path, json_t *value);
};

static int is_triton(const struct atoll_plan_reader *p)
{
    return strcmp(p->language, "triton") == 0;
}

/* ---- plan keys ---- */

static int read_version(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) != 1)
        return atoll_plan_fail(p, path, "this program reads version 1; write \"version\": 1");
    return 0;
}

static int read_param_value(struct atoll_plan_reader *p, const char *path, json_t *value,
                            struct atoll_param *param)
{
    json_int_t v = json_integer_value(value);
    if (!json_is_integer(value) || v > INT32_MAX || v < -INT32_MAX)
        return atoll_plan_fail(p, path, "an integer of at most 31 bits is expected");
    for (size_t i = 0; i < param->value_count; i++)
        if (param->values[i] == v)
            return atoll_plan_fail(p, path, "value %lld stands here twice; remove one", (long long)v);
    param->values[param->value_count++] = v;
    return 0;
}

static int read_param(struct atoll_plan_reader *p, const char *path, const char *name, json_t *value)
{
    struct atoll_param *param = &p->plan->params[p->plan->param_count];
    size_t n = json_array_size(value);
    if (atoll_plan_new_name(p, path, name))
        return -1;
    if (!json_is_array(value) || n == 0 || n > ATOLL_PLAN_VALUE_LIMIT)
        return atoll_plan_fail(p, path, "a list of 1 to %d integers is expected", ATOLL_PLAN_VALUE_LIMIT);
    for (size_t i = 0; i < n; i++) {
        char part[ATOLL_PLAN_PATH_BYTES];
        snprintf(part, sizeof(part), "%.*s[%zu]", (int)sizeof(part) - 24, path, i); /* 24: "[...]" */
        if (read_param_value(p, part, json_array_get(value, i), param))
            return -1;
    }
    param->name = atoll_plan_copy(p, name);
    p->plan->param_count++;
    return param->name ? 0 : -1;
}

static int read_scratch_one(struct atoll_plan_reader *p, const char *path, const char *name, json_t *value)
{
    struct atoll_scratch *s = &p->plan->scratch[p->plan->scratch_count];
    if (atoll_plan_new_name(p, path, name) || atoll_plan_json_expression(p, path, value, &s->bytes))
        return -1;
    s->name = atoll_plan_copy(p, name);
    p->plan->scratch_count++;
    return s->name ? 0 : -1;
}

static int read_object(struct atoll_plan_reader *p, const char *path, json_t *object, size_t limit,
                       int (*read)(struct atoll_plan_reader *p, const char *path, const char *name,
                                   json_t *value))
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return atoll_plan_fail(p, path, "an object is expected, like {\"NAME\": ...}");
    if (json_object_size(object) > limit) {
        return atoll_plan_fail(p, path, "%zu entries, at most %zu are allowed", json_object_size(object),
                               limit);
    }
    json_object_foreach(object, name, value)
    {
        char part[ATOLL_PLAN_PATH_BYTES];
        snprintf(part, sizeof(part), "%s.%.64s", path, name);
        if (read(p, part, name, value))
            return -1;
    }
    return 0;
}

static int read_array(struct atoll_plan_reader *p, const char *path, json_t *array, size_t limit,
                      int (*read)(struct atoll_plan_reader *p, const char *path, json_t *value))
{
    if (!json_is_array(array))
        return atoll_plan_fail(p, path, "a list is expected, like [...]");
    if (json_array_size(array) > limit) {
        return atoll_plan_fail(p, path, "%zu entries, at most %zu are allowed", json_array_size(array),
                               limit);
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        char part[ATOLL_PLAN_PATH_BYTES];
        snprintf(part, sizeof(part), "%s[%zu]", path, i);
        if (read(p, part, json_array_get(array, i)))
            return -1;
    }
    return 0;
}

static int read_params(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_object(p, path, value, ATOLL_PLAN_PARAM_LIMIT, read_param);
}

static int read_scratch(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_object(p, path, value, ATOLL_PLAN_SCRATCH_LIMIT, read_scratch_one);
}

static int read_requirement(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return atoll_plan_json_expression(p, path, value, &p->plan->require[p->plan->require_count++]);
}

static int read_require(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_array(p, path, value, ATOLL_PLAN_REQUIRE_LIMIT, read_requirement);
}

static int read_path_requirement(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return atoll_plan_json_expression(p, path, value, &p->path->require[p->path->require_count++]);
}

static int read_path_require(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_array(p, path, value, ATOLL_PLAN_REQUIRE_LIMIT, read_path_requirement);
}

/* Which path runs must not depend on what the tuner chooses: every choice of a template is one kernel per shape. */
static int read_when(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    const struct atoll_expression *e = NULL;
    if (atoll_plan_json_expression(p, path, value, &e))
        return -1;
    size_t count = atoll_expression_name_count(e);
    for (size_t i = 0; i < count; i++)
        if (atoll_plan_find_name(p->task->dims, p->task->dim_count, atoll_expression_name(e, i)) < 0)
            return atoll_plan_fail(p, path,
                                   "'%s' is a param; a condition speaks of dims alone, write it as a "
                                   "requirement",
                                   atoll_expression_name(e, i));
    if (!count)
        return atoll_plan_fail(p, path,
                               "'%.40s' names no dim, so it holds everywhere or nowhere; write a "
                               "condition like \"K %% 8 == 0\"",
                               atoll_expression_text(e));
    p->path->when = e;
    return 0;
}

/* ---- launches ---- */

static int read_symbol(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    const char *name = json_string_value(value);
    if (!name || !atoll_plan_is_name(name, ATOLL_PLAN_SYMBOL_LIMIT) || atoll_plan_is_reserved(p, name)) {
        return atoll_plan_fail(p, path, "'%.80s' is no C function name of at most %d characters",
                               name ? name : "", ATOLL_PLAN_SYMBOL_LIMIT);
    }
    p->launch->symbol = atoll_plan_copy(p, name);
    return p->launch->symbol ? 0 : -1;
}

static int read_units(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return atoll_plan_json_expression(p, path, value, &p->launch->units);
}

static int read_shared(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return atoll_plan_json_expression(p, path, value, &p->launch->shared_bytes);
}

static int read_cooperative(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    p->launch->cooperative = json_is_true(value);
    return json_is_boolean(value) ? 0 : atoll_plan_fail(p, path, "true or false is expected");
}

static int read_extents(struct atoll_plan_reader *p, const char *path, json_t *value,
                        const struct atoll_expression **ret)
{
    size_t n = json_array_size(value);
    if (!json_is_array(value) || n == 0 || n > 3)
        return atoll_plan_fail(p, path, "a list of 1 to 3 extents is expected, like [\"cdiv(N, 256)\"]");
    for (size_t i = 0; i < n; i++) {
        char part[ATOLL_PLAN_PATH_BYTES];
        snprintf(part, sizeof(part), "%s[%zu]", path, i);
        if (atoll_plan_json_expression(p, part, json_array_get(value, i), &ret[i]))
            return -1;
    }
    return 0;
}

static int read_grid(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_extents(p, path, value, p->launch->grid);
}

static int read_block(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_extents(p, path, value, p->launch->block);
}

static int read_cluster(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_extents(p, path, value, p->launch->cluster);
}

static int read_float(struct atoll_plan_reader *p, const char *path, const char *text, struct atoll_arg *arg)
{
    char *end = NULL;
    arg->kind = ATOLL_ARG_FLOAT;
    arg->number = strtod(text, &end);
    if (!*text || *end || !isfinite(arg->number) || strspn(text, "0123456789+-.eE") != strlen(text) ||
        (arg->width == ATOLL_F32 && fabs(arg->number) > 3.4028234663852886e38)) {
        return atoll_plan_fail(p, path, "'%.40s' is no finite number", text);
    }
    return 0;
}

static int read_integer(struct atoll_plan_reader *p, const char *path, const char *text,
                        struct atoll_arg *arg)
{
    int64_t value = 0;
    arg->kind = ATOLL_ARG_INTEGER;
    if (atoll_plan_expression(p, path, text, &arg->value))
        return -1;
    if (atoll_expression_name_count(arg->value))
        return 0;
    struct atoll_err inner = ATOLL_ERR_INIT;
    if (atoll_expression_eval(arg->value, NULL, 0, &value, &inner))
        return atoll_plan_fail(p, path, "%s", inner.text);
    if (arg->width == ATOLL_I32 && (value > INT32_MAX || value < INT32_MIN))
        return atoll_plan_fail(p, path, "%lld does not fit i32; write i64:%s", (long long)value, text);
    return 0;
}

static int read_typed(struct atoll_plan_reader *p, const char *path, const char *text, struct atoll_arg *arg)
{
    static const struct {
        const char *prefix;
        enum atoll_dtype width;
        int (*read)(struct atoll_plan_reader *p, const char *path, const char *text, struct atoll_arg *arg);
    } types[] = {{"i32:", ATOLL_I32, read_integer},
                 {"i64:", ATOLL_I64, read_integer},
                 {"f32:", ATOLL_F32, read_float},
                 {"f64:", ATOLL_F64, read_float}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strncmp(text, types[i].prefix, 4) != 0)
            continue;
        arg->width = types[i].width;
        return types[i].read(p, path, text + 4, arg);
    }
    return atoll_plan_fail(p, path, "'%.40s': a typed argument starts with i32:, i64:, f32: or f64:", text);
}

static int read_named(struct atoll_plan_reader *p, const char *path, const char *text, struct atoll_arg *arg)
{
    const char *names[ATOLL_PLAN_NAMES_LIMIT];
    size_t tensors = p->task->tensor_count, count = atoll_plan_number_names(p, names);
    if (atoll_plan_find_name(names, count, text) >= 0) {
        return atoll_plan_fail(p, path, "'%s' is a number and needs a width; write \"i64:%s\" or \"i32:%s\"",
                               text, text, text);
    }
    count = atoll_plan_buffer_names(p, names);
    int found = atoll_plan_find_name(names, count, text);
    if (found < 0) {
        return atoll_plan_unknown_name(p, path, text, names, count,
                                       "tensors, scratch, and i32:, i64:, f32:, f64: values");
    }
    arg->kind = (size_t)found < tensors ? ATOLL_ARG_TENSOR : ATOLL_ARG_SCRATCH;
    arg->index = (size_t)found < tensors ? (size_t)found : (size_t)found - tensors;
    return 0;
}

/* "*f32:partial": Triton's pointers know what they point to; a tensor's is the tensor's own. */
static int read_pointer(struct atoll_plan_reader *p, const char *path, const char *text,
                        struct atoll_arg *arg)
{
    const char *colon = strchr(text, ':');
    char word[16];
    snprintf(word, sizeof(word), "%.*s", colon ? (int)(colon - text - 1) : 0, text + 1);
    if (!colon || atoll_dtype_parse(word, &arg->points_to) != 0)
        return atoll_plan_fail(p, path, "'%.40s': a pointer into scratch is written like \"*f32:NAME\"",
                               text);
    if (read_named(p, path, colon + 1, arg))
        return -1;
    return arg->kind == ATOLL_ARG_SCRATCH
               ? 0
               : atoll_plan_fail(p, path, "'%s' is a tensor, whose type the task says; write \"%s\"",
                                 colon + 1, colon + 1);
}

static int read_arg(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    struct atoll_arg *arg = &p->launch->args[p->launch->arg_count++];
    const char *text = json_string_value(value);
    if (!text)
        return atoll_plan_fail(p, path, "a text is expected, like \"x\", \"i64:N\" or \"f32:0.5\"");
    if (strncmp(text, "tensormap(", 10) == 0 && is_triton(p))
        return atoll_plan_fail(p, path,
                               "a Triton kernel makes its descriptors itself, on the device "
                               "(tl.make_tensor_descriptor); hand it the tensor");
    if (strncmp(text, "tensormap(", 10) == 0)
        return atoll_plan_read_tensormap(p, path, text, arg);
    arg->text = atoll_plan_copy(p, text);
    arg->points_to = ATOLL_U8;
    if (!arg->text)
        return -1;
    if (text[0] == '*' && is_triton(p))
        return read_pointer(p, path, text, arg);
    return strchr(text, ':') ? read_typed(p, path, text, arg) : read_named(p, path, text, arg);
}

/* Room for the entries of a list, as many as may be there.  NULL and err. */
static void *room_for(struct atoll_plan_reader *p, json_t *list, size_t limit, size_t size)
{
    size_t count = json_array_size(list);
    return atoll_arena_alloc(p->arena, (count && count < limit ? count : limit) * size, p->err);
}

static int read_args(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    p->launch->args = room_for(p, value, ATOLL_PLAN_ARG_LIMIT, sizeof(*p->launch->args));
    if (!p->launch->args)
        return -1;
    return read_array(p, path, value, ATOLL_PLAN_ARG_LIMIT, read_arg);
}

/* ---- what Triton compiles a kernel with: known when it is compiled, so no dims ---- */

static int read_constant(struct atoll_plan_reader *p, const char *path, json_t *value,
                         const struct atoll_expression **ret)
{
    const struct atoll_expression *e = NULL;
    if (atoll_plan_json_expression(p, path, value, &e))
        return -1;
    for (size_t i = 0; i < atoll_expression_name_count(e); i++)
        if (atoll_plan_find_name(p->task->dims, p->task->dim_count, atoll_expression_name(e, i)) >= 0)
            return atoll_plan_fail(
                p, path,
                "'%s' is a dim, which is not known when a kernel is compiled; use params and "
                "integers, and hand the dim over in args",
                atoll_expression_name(e, i));
    *ret = e;
    return 0;
}

static int read_constexpr(struct atoll_plan_reader *p, const char *path, const char *name, json_t *value)
{
    struct atoll_constexpr *c = &p->launch->constexprs[p->launch->constexpr_count];
    if (!atoll_plan_is_name(name, ATOLL_PLAN_NAME_LIMIT))
        return atoll_plan_fail(p, path, "'%.40s' is no name of a parameter of at most %d characters", name,
                               ATOLL_PLAN_NAME_LIMIT);
    if (read_constant(p, path, value, &c->value))
        return -1;
    c->name = atoll_plan_copy(p, name);
    p->launch->constexpr_count++;
    return c->name ? 0 : -1;
}

static int read_constexprs(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    p->launch->constexprs =
        atoll_arena_alloc(p->arena, ATOLL_PLAN_CONSTEXPR_LIMIT * sizeof(*p->launch->constexprs), p->err);
    if (!p->launch->constexprs)
        return -1;
    return read_object(p, path, value, ATOLL_PLAN_CONSTEXPR_LIMIT, read_constexpr);
}

static int read_num_warps(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_constant(p, path, value, &p->launch->num_warps);
}

static int read_num_stages(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    return read_constant(p, path, value, &p->launch->num_stages);
}

static int read_launches(struct atoll_plan_reader *p, const char *path, json_t *value);
static int read_paths(struct atoll_plan_reader *p, const char *path, json_t *value);
static int read_path_launches(struct atoll_plan_reader *p, const char *path, json_t *value);

static const struct row rows[] = {
    {AT_PLAN, "version", FOR_ALL, 1, read_version},
    {AT_PLAN, "params", FOR_ALL, 0, read_params},
    {AT_PLAN, "require", FOR_ALL, 0, read_require},
    {AT_PLAN, "scratch", FOR_ALL, 0, read_scratch},
    {AT_PLAN, "launch", FOR_ALL, 0, read_launches}, /* one of the two */
    {AT_PLAN, "paths", FOR_ALL, 0, read_paths},
    {AT_PATH, "when", FOR_ALL, 0, read_when}, /* all but the last */
    {AT_PATH, "require", FOR_ALL, 0, read_path_require},
    {AT_PATH, "launch", FOR_ALL, 1, read_path_launches},
    {AT_LAUNCH, "function", FOR_C, 1, read_symbol},
    {AT_LAUNCH, "units", FOR_C, 1, read_units},
    {AT_LAUNCH, "kernel", FOR_GRID, 1, read_symbol},
    {AT_LAUNCH, "grid", FOR_GRID, 1, read_grid},
    {AT_LAUNCH, "block", FOR_DEVICE, 1, read_block},
    {AT_LAUNCH, "cluster", FOR_DEVICE, 0, read_cluster},
    {AT_LAUNCH, "shared_bytes", FOR_DEVICE, 0, read_shared},
    {AT_LAUNCH, "cooperative", FOR_DEVICE, 0, read_cooperative},
    {AT_LAUNCH, "args", FOR_ALL, 1, read_args},
    {AT_LAUNCH, "constexprs", FOR_TRITON, 0, read_constexprs},
    {AT_LAUNCH, "num_warps", FOR_TRITON, 0, read_num_warps},
    {AT_LAUNCH, "num_stages", FOR_TRITON, 0, read_num_stages},
};
#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

static int applies(const struct atoll_plan_reader *p, const struct row *row, enum level level)
{
    int language = strcmp(p->language, "c") == 0 ? FOR_C : is_triton(p) ? FOR_TRITON : FOR_DEVICE;
    return row->level == level && (row->languages & language);
}

static void field_path(char *ret_path, const char *parent, const char *key)
{
    snprintf(ret_path, ATOLL_PLAN_PATH_BYTES, "%.80s%s%.64s", parent, parent[0] ? "." : "", key);
}

static int check_keys(struct atoll_plan_reader *p, enum level level, const char *path, json_t *object)
{
    const char *keys[ROW_COUNT], *key;
    json_t *value;
    size_t n = 0;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (applies(p, &rows[i], level))
            keys[n++] = rows[i].key;
    json_object_foreach(object, key, value)
    {
        char part[ATOLL_PLAN_PATH_BYTES];
        if (atoll_plan_find_name(keys, n, key) >= 0)
            continue;
        const char *near = atoll_spelling_nearest(key, keys, n);
        field_path(part, path, key);
        if (near)
            return atoll_plan_fail(p, part, "unknown key; did you mean '%s'?", near);
        return atoll_plan_fail(p, part, "unknown key for language %s; see docs/spec/plan.md", p->language);
    }
    return 0;
}

/* Reads an object in the order of the table. */
static int read_level(struct atoll_plan_reader *p, enum level level, const char *path, json_t *object)
{
    if (!json_is_object(object))
        return atoll_plan_fail(p, path, "an object is expected, like {\"key\": ...}");
    if (check_keys(p, level, path, object))
        return -1;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char part[ATOLL_PLAN_PATH_BYTES];
        json_t *value = json_object_get(object, rows[i].key);
        if (!applies(p, &rows[i], level))
            continue;
        field_path(part, path, rows[i].key);
        if (!value && rows[i].required)
            return atoll_plan_fail(p, part, "is missing; add it");
        if (value && rows[i].read(p, part, value))
            return -1;
    }
    return 0;
}

static int read_launch(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    p->launch = &p->plan->launches[p->plan->launch_count++];
    return read_level(p, AT_LAUNCH, path, value);
}

/* The launches of p->path; the list of all has room. */
static int read_path_launches(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    if (json_is_array(value) && json_array_size(value) == 0)
        return atoll_plan_fail(p, path, "is empty; a plan launches something");
    if (json_array_size(value) > ATOLL_PLAN_LAUNCH_LIMIT - p->plan->launch_count)
        return atoll_plan_fail(p, path, "%zu entries, at most %d are allowed%s",
                               p->plan->launch_count + json_array_size(value), ATOLL_PLAN_LAUNCH_LIMIT,
                               p->path == p->plan->paths ? "" : " in all paths together");
    p->path->first = p->plan->launch_count;
    p->path->count = json_array_size(value);
    return read_array(p, path, value, ATOLL_PLAN_LAUNCH_LIMIT, read_launch);
}

static int room_for_launches(struct atoll_plan_reader *p, size_t count)
{
    size_t room = count && count < ATOLL_PLAN_LAUNCH_LIMIT ? count : ATOLL_PLAN_LAUNCH_LIMIT;
    p->plan->launches = atoll_arena_alloc(p->arena, room * sizeof(*p->plan->launches), p->err);
    return p->plan->launches ? 0 : -1;
}

static int read_launches(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    p->path = &p->plan->paths[p->plan->path_count++];
    return room_for_launches(p, json_array_size(value)) || read_path_launches(p, path, value) ? -1 : 0;
}

static int read_path(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    char part[ATOLL_PLAN_PATH_BYTES];
    int is_last = p->plan->path_count + 1 == p->path_total, has_when = json_object_get(value, "when") != NULL;
    p->path = &p->plan->paths[p->plan->path_count++];
    if (read_level(p, AT_PATH, path, value))
        return -1;
    field_path(part, path, "when");
    if (!has_when && !is_last)
        return atoll_plan_fail(p, part, "is missing; only the last path has no condition");
    if (has_when && is_last)
        return atoll_plan_fail(p, part,
                               "the last path takes every shape that is left and has no condition; "
                               "leave it out, or add a path behind it");
    return 0;
}

static int read_paths(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    size_t count = 0, launches = 0;
    json_t *one;
    p->path_total = json_array_size(value);
    if (p->plan->path_count)
        return atoll_plan_fail(p, path, "stands beside 'launch'; a plan has one of the two");
    if (json_is_array(value) && p->path_total < 2)
        return atoll_plan_fail(p, path, "%zu entries; with fewer than 2 paths write 'launch'", p->path_total);
    json_array_foreach(value, count, one) launches += json_array_size(json_object_get(one, "launch"));
    return room_for_launches(p, launches) || read_array(p, path, value, ATOLL_PLAN_PATH_LIMIT, read_path) ? -1
                                                                                                          : 0;
}

/* ---- canonical form: keys in the table's order, params and scratch as written, no blanks ---- */

/* Tensor maps have a text of their own; every other argument stands as written. */
static json_t *ordered_args(const struct atoll_launch *launch, json_t *args)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(args); i++)
        if (launch->args[i].kind == ATOLL_ARG_TENSORMAP)
            json_array_append_new(list, json_string(launch->args[i].text));
        else
            json_array_append(list, json_array_get(args, i));
    return list;
}

static json_t *ordered_launch(const struct atoll_launch *launch, json_t *object)
{
    json_t *copy = json_object();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        json_t *value = rows[i].level == AT_LAUNCH ? json_object_get(object, rows[i].key) : NULL;
        if (!value)
            continue;
        if (rows[i].read == read_args)
            json_object_set_new(copy, rows[i].key, ordered_args(launch, value));
        else
            json_object_set(copy, rows[i].key, value);
    }
    return copy;
}

static json_t *ordered_launches(const struct atoll_launch *launches, json_t *list)
{
    json_t *copy = json_array();
    for (size_t k = 0; k < json_array_size(list); k++)
        json_array_append_new(copy, ordered_launch(&launches[k], json_array_get(list, k)));
    return copy;
}

static json_t *ordered_paths(const struct atoll_plan *plan, json_t *list)
{
    json_t *copy = json_array();
    for (size_t k = 0; k < json_array_size(list); k++) {
        json_t *from = json_array_get(list, k), *path = json_object();
        for (size_t i = 0; i < ROW_COUNT; i++) {
            json_t *value = rows[i].level == AT_PATH ? json_object_get(from, rows[i].key) : NULL;
            if (value && rows[i].read == read_path_launches)
                json_object_set_new(path, rows[i].key,
                                    ordered_launches(&plan->launches[plan->paths[k].first], value));
            else if (value)
                json_object_set(path, rows[i].key, value);
        }
        json_array_append_new(copy, path);
    }
    return copy;
}

static json_t *ordered(const struct atoll_plan *plan, json_t *object)
{
    json_t *copy = json_object();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        json_t *value = rows[i].level == AT_PLAN ? json_object_get(object, rows[i].key) : NULL;
        if (value && rows[i].read == read_launches)
            json_object_set_new(copy, rows[i].key, ordered_launches(plan->launches, value));
        else if (value && rows[i].read == read_paths)
            json_object_set_new(copy, rows[i].key, ordered_paths(plan, value));
        else if (value)
            json_object_set(copy, rows[i].key, value);
    }
    return copy;
}

static int canonicalise(struct atoll_plan_reader *p, json_t *root)
{
    json_t *object = ordered(p->plan, root);
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(object);
    if (!text)
        return atoll_err_set(p->err, ATOLL_E_MEMORY, "no memory for the canonical form of a plan");
    p->plan->canonical = atoll_plan_copy(p, text);
    free(text);
    return p->plan->canonical ? 0 : -1;
}

/* ---- the whole ---- */

static size_t skip_blanks(const char *text)
{
    return strspn(text, " \t\r\n\v\f");
}

/* Lines that begin with '#', the first of them with the word: a copy with blanks for the signs, of the same length, so that
 * lines keep their numbers. */
static int find_plan_lines(struct atoll_arena *arena, const char *source, const char **ret_text,
                           const char **ret_json, size_t *ret_length, const char **ret_body,
                           struct atoll_err *err)
{
    size_t begin = skip_blanks(source);
    const char *at = source + begin;
    if (*at != '#')
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: the source must start with a comment of lines \"# ...\" that begins with "
                             "\"# atoll-plan {\"; add it (docs/spec/plan.md)");
    char *copy = atoll_arena_text(arena, source, strlen(source), err);
    if (!copy)
        return -1;
    while (*at == '#' || *at == ' ' || *at == '\t') {
        size_t blank = strspn(at, " \t");
        if (at[blank] != '#')
            break;
        copy[at + blank - source] = ' ';
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    size_t end = (size_t)(at - source);
    copy[end] = '\0';
    begin += skip_blanks(copy + begin);
    if (strncmp(copy + begin, "atoll-plan", 10) != 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: the first comment must start with 'atoll-plan'; move the plan there");
    begin += 10;
    if (end - begin > ATOLL_PLAN_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu bytes of JSON, at most %u are allowed",
                             end - begin, ATOLL_PLAN_BYTES);
    *ret_text = copy;
    *ret_json = copy + begin;
    *ret_length = end - begin;
    *ret_body = at;
    return 0;
}

/* Finds the JSON inside the first comment; ret_body: what follows the comment. */
static int find_plan(const char *source, const char **ret_json, size_t *ret_length, const char **ret_body,
                     struct atoll_err *err)
{
    const char *at = source + skip_blanks(source);
    if (strncmp(at, "/*", 2) != 0) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: the source must start with a comment /* atoll-plan {...} */; add it (docs/spec/plan.md)");
    }
    at += 2 + skip_blanks(at + 2);
    if (strncmp(at, "atoll-plan", 10) != 0) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: the first comment must start with 'atoll-plan'; move the plan there");
    }
    at += 10;
    const char *end = strstr(at, "*/");
    if (!end)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: the plan's comment never ends; close it with */");
    if ((size_t)(end - at) > ATOLL_PLAN_BYTES) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu bytes of JSON, at most %u are allowed",
                             (size_t)(end - at), ATOLL_PLAN_BYTES);
    }
    *ret_json = at;
    *ret_length = (size_t)(end - at);
    *ret_body = end + 2;
    return 0;
}

/* may_end_early: what follows is a remark. */
static json_t *load_json(const char *source, const char *json, size_t length, int may_end_early,
                         struct atoll_err *err)
{
    json_error_t e;
    json_t *root =
        json_loadb(json, length, JSON_REJECT_DUPLICATES | (may_end_early ? JSON_DISABLE_EOF_CHECK : 0), &e);
    if (!root) {
        size_t line = e.line > 0 ? (size_t)e.line : 1;
        for (const char *c = source; c < json; c++)
            line += *c == '\n';
        atoll_err_set(err, ATOLL_E_INPUT,
                      "plan: line %zu: not valid JSON: %s; check quotes, commas and braces", line, e.text);
    }
    return root;
}

static int read_plan(struct atoll_plan_reader *p, json_t *root)
{
    if (read_level(p, AT_PLAN, "", root))
        return -1;
    return p->plan->path_count ? 0 : atoll_plan_fail(p, "launch", "is missing; add it");
}

static const char *backend_of(const char *language)
{
    static const char *const known[][2] = {
        {"c", "cpu"}, {"cuda", "cuda"}, {"triton", "cuda"}, {"opencl", "opencl"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(known[i][0], language) == 0)
            return known[i][1];
    return NULL;
}

const struct atoll_plan *atoll_plan_parse(struct atoll_arena *arena, const struct atoll_task *task,
                                          const char *language, const char *source, const char **ret_body,
                                          struct atoll_err *err)
{
    const char *json = NULL, *body = NULL;
    size_t length = 0;
    struct atoll_plan_reader p = {.arena = arena, .task = task, .language = language, .err = err};
    if (!backend_of(language)) {
        atoll_err_set(err, ATOLL_E_INPUT, "plan: unknown language '%.32s'; known: c, cuda, triton, opencl",
                      language);
        return NULL;
    }
    if (strnlen(source, ATOLL_SOURCE_LIMIT + 1) > ATOLL_SOURCE_LIMIT) {
        atoll_err_set(err, ATOLL_E_INPUT, "plan: the source has more than %u bytes; shorten it",
                      ATOLL_SOURCE_LIMIT);
        return NULL;
    }
    const char *text = source; /* that json lies in */
    int rc = is_triton(&p) ? find_plan_lines(arena, source, &text, &json, &length, &body, err)
                           : find_plan(source, &json, &length, &body, err);
    if (rc)
        return NULL;
    p.plan = atoll_arena_alloc(arena, sizeof(*p.plan), err);
    json_t *root = p.plan ? load_json(text, json, length, is_triton(&p), err) : NULL;
    if (!root)
        return NULL;
    p.plan->backend = backend_of(language);
    rc = json_is_object(root) ? read_plan(&p, root) || canonicalise(&p, root)
                              : atoll_err_set(err, ATOLL_E_INPUT, "plan: the JSON must be an object {...}");
    json_decref(root);
    if (rc)
        return NULL;
    *ret_body = body;
    return p.plan;
}
