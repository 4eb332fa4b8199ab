/* plan_parse.c - the JSON of a plan into struct atoll_plan.  One table of rows says which key may stand
 * where, for which languages, and who reads it; keys are read in the table's order, because launches refer to
 * params and scratch.  Every failure names the field by its path. */
#include "core/plan.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spelling.h"

#define PLAN_BYTES   (32u << 10)
#define NAME_LIMIT   31
#define SYMBOL_LIMIT 63
#define PATH_BYTES   160

struct parser {
    struct atoll_arena *arena;
    const struct atoll_task *task;
    const char *language;
    struct atoll_plan *plan;
    struct atoll_launch *launch; /* the one being read */
    struct atoll_err *err;
};

enum { FOR_C = 1, FOR_DEVICE = 2, FOR_ALL = 3 };
enum level { AT_PLAN, AT_LAUNCH };

struct row {
    enum level level;
    const char *key;
    int languages, required;
    int (*read)(struct parser *p, const char *path, json_t *value);
};

static int fail(struct parser *p, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct parser *p, const char *path, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return atoll_err_set(p->err, ATOLL_E_INPUT, "plan: field '%s': %s", path, text);
}

static const char *copy(struct parser *p, const char *text)
{
    return atoll_arena_text(p->arena, text, strlen(text), p->err);
}

/* ---- names ---- */

static int is_name(const char *text, size_t limit)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strlen(text);
    return length > 0 && length <= limit && strspn(text, letters) == length &&
           !(text[0] >= '0' && text[0] <= '9');
}

static int is_reserved(const char *text)
{
    static const char *const words[] = {
        "auto",     "break",  "case",   "char",     "const",  "continue",  "default",  "do",
        "double",   "else",   "enum",   "extern",   "float",  "for",       "goto",     "if",
        "inline",   "int",    "long",   "register", "return", "short",     "signed",   "sizeof",
        "static",   "struct", "switch", "typedef",  "union",  "unsigned",  "void",     "while",
        "restrict", "min",    "max",    "cdiv",     "ilog2",  "tensormap", "volatile", "main"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], text) == 0)
            return 1;
    return strncmp(text, "__", 2) == 0 || strncmp(text, "atoll", 5) == 0 || strncmp(text, "ATOLL", 5) == 0;
}

static size_t all_names(const struct parser *p, const char **ret_names)
{
    size_t n = 0;
    for (size_t i = 0; i < p->task->dim_count; i++)
        ret_names[n++] = p->task->dims[i];
    for (size_t i = 0; i < p->plan->param_count; i++)
        ret_names[n++] = p->plan->params[i].name;
    return n;
}

static size_t buffer_names(const struct parser *p, const char **ret_names)
{
    size_t n = 0;
    for (size_t i = 0; i < p->task->tensor_count; i++)
        ret_names[n++] = p->task->tensors[i].name;
    for (size_t i = 0; i < p->plan->scratch_count; i++)
        ret_names[n++] = p->plan->scratch[i].name;
    return n;
}

#define NAMES_LIMIT                                                                                          \
    (ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT + ATOLL_TASK_TENSOR_LIMIT + ATOLL_PLAN_SCRATCH_LIMIT)

static int find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

static int unknown_name(struct parser *p, const char *path, const char *name, const char *const *names,
                        size_t count, const char *known)
{
    const char *near = atoll_spelling_nearest(name, names, count);
    if (near)
        return fail(p, path, "unknown name '%.64s'; did you mean '%s'?", name, near);
    return fail(p, path, "unknown name '%.64s'; known are %s", name, known);
}

static int check_new_name(struct parser *p, const char *path, const char *name)
{
    const char *names[NAMES_LIMIT];
    size_t n = all_names(p, names);
    n += buffer_names(p, names + n);
    if (!is_name(name, NAME_LIMIT) || is_reserved(name))
        return fail(p, path, "'%.40s' is no free C name of at most %d characters; rename it", name,
                    NAME_LIMIT);
    if (find_name(names, n, name) >= 0)
        return fail(p, path, "name '%s' is taken by a dim, tensor, param or scratch; rename it", name);
    return 0;
}

/* ---- expressions ---- */

static int parse_expression(struct parser *p, const char *path, const char *text,
                            const struct atoll_expression **ret)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *names[NAMES_LIMIT];
    size_t count = all_names(p, names);
    const struct atoll_expression *e = atoll_expression_parse(p->arena, text, &inner);
    if (!e)
        return fail(p, path, "%s", inner.text);
    for (size_t i = 0; i < atoll_expression_name_count(e); i++)
        if (find_name(names, count, atoll_expression_name(e, i)) < 0)
            return unknown_name(p, path, atoll_expression_name(e, i), names, count,
                                "the task's dims and the params");
    *ret = e;
    return 0;
}

/* A JSON string, or an integer for convenience. */
static int read_expression(struct parser *p, const char *path, json_t *value,
                           const struct atoll_expression **ret)
{
    char digits[32];
    if (json_is_integer(value)) {
        snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return parse_expression(p, path, digits, ret);
    }
    if (!json_is_string(value))
        return fail(p, path, "an expression is expected, like \"cdiv(N, 4)\" or 128");
    return parse_expression(p, path, json_string_value(value), ret);
}

/* ---- plan keys ---- */

static int read_version(struct parser *p, const char *path, json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) != 1)
        return fail(p, path, "this program reads version 1; write \"version\": 1");
    return 0;
}

static int read_param_value(struct parser *p, const char *path, json_t *value, struct atoll_param *param)
{
    json_int_t v = json_integer_value(value);
    if (!json_is_integer(value) || v > INT32_MAX || v < -INT32_MAX)
        return fail(p, path, "an integer of at most 31 bits is expected");
    for (size_t i = 0; i < param->value_count; i++)
        if (param->values[i] == v)
            return fail(p, path, "value %lld stands here twice; remove one", (long long)v);
    param->values[param->value_count++] = v;
    return 0;
}

static int read_param(struct parser *p, const char *path, const char *name, json_t *value)
{
    struct atoll_param *param = &p->plan->params[p->plan->param_count];
    size_t n = json_array_size(value);
    if (check_new_name(p, path, name))
        return -1;
    if (!json_is_array(value) || n == 0 || n > ATOLL_PLAN_VALUE_LIMIT)
        return fail(p, path, "a list of 1 to %d integers is expected", ATOLL_PLAN_VALUE_LIMIT);
    for (size_t i = 0; i < n; i++) {
        char place[PATH_BYTES];
        snprintf(place, sizeof place, "%s[%zu]", path, i);
        if (read_param_value(p, place, json_array_get(value, i), param))
            return -1;
    }
    param->name = copy(p, name);
    p->plan->param_count++;
    return param->name ? 0 : -1;
}

static int read_scratch_one(struct parser *p, const char *path, const char *name, json_t *value)
{
    struct atoll_scratch *s = &p->plan->scratch[p->plan->scratch_count];
    if (check_new_name(p, path, name) || read_expression(p, path, value, &s->bytes))
        return -1;
    s->name = copy(p, name);
    p->plan->scratch_count++;
    return s->name ? 0 : -1;
}

static int read_object(struct parser *p, const char *path, json_t *object, size_t limit,
                       int (*read)(struct parser *p, const char *path, const char *name, json_t *value))
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return fail(p, path, "an object is expected, like {\"NAME\": ...}");
    if (json_object_size(object) > limit)
        return fail(p, path, "%zu entries, at most %zu are allowed", json_object_size(object), limit);
    json_object_foreach(object, name, value)
    {
        char place[PATH_BYTES];
        snprintf(place, sizeof place, "%s.%.64s", path, name);
        if (read(p, place, name, value))
            return -1;
    }
    return 0;
}

static int read_array(struct parser *p, const char *path, json_t *array, size_t limit,
                      int (*read)(struct parser *p, const char *path, json_t *value))
{
    if (!json_is_array(array))
        return fail(p, path, "a list is expected, like [...]");
    if (json_array_size(array) > limit)
        return fail(p, path, "%zu entries, at most %zu are allowed", json_array_size(array), limit);
    for (size_t i = 0; i < json_array_size(array); i++) {
        char place[PATH_BYTES];
        snprintf(place, sizeof place, "%s[%zu]", path, i);
        if (read(p, place, json_array_get(array, i)))
            return -1;
    }
    return 0;
}

static int read_params(struct parser *p, const char *path, json_t *value)
{
    return read_object(p, path, value, ATOLL_PLAN_PARAM_LIMIT, read_param);
}

static int read_scratch(struct parser *p, const char *path, json_t *value)
{
    return read_object(p, path, value, ATOLL_PLAN_SCRATCH_LIMIT, read_scratch_one);
}

static int read_requirement(struct parser *p, const char *path, json_t *value)
{
    return read_expression(p, path, value, &p->plan->require[p->plan->require_count++]);
}

static int read_require(struct parser *p, const char *path, json_t *value)
{
    return read_array(p, path, value, ATOLL_PLAN_REQUIRE_LIMIT, read_requirement);
}

/* ---- launches ---- */

static int read_symbol(struct parser *p, const char *path, json_t *value)
{
    const char *name = json_string_value(value);
    if (!name || !is_name(name, SYMBOL_LIMIT) || is_reserved(name))
        return fail(p, path, "'%.80s' is no C function name of at most %d characters", name ? name : "",
                    SYMBOL_LIMIT);
    p->launch->symbol = copy(p, name);
    return p->launch->symbol ? 0 : -1;
}

static int read_units(struct parser *p, const char *path, json_t *value)
{
    return read_expression(p, path, value, &p->launch->units);
}

static int read_shared(struct parser *p, const char *path, json_t *value)
{
    return read_expression(p, path, value, &p->launch->shared_bytes);
}

static int read_cooperative(struct parser *p, const char *path, json_t *value)
{
    p->launch->cooperative = json_is_true(value);
    return json_is_boolean(value) ? 0 : fail(p, path, "true or false is expected");
}

static int read_extents(struct parser *p, const char *path, json_t *value,
                        const struct atoll_expression **ret)
{
    size_t n = json_array_size(value);
    if (!json_is_array(value) || n == 0 || n > 3)
        return fail(p, path, "a list of 1 to 3 extents is expected, like [\"cdiv(N, 256)\"]");
    for (size_t i = 0; i < n; i++) {
        char place[PATH_BYTES];
        snprintf(place, sizeof place, "%s[%zu]", path, i);
        if (read_expression(p, place, json_array_get(value, i), &ret[i]))
            return -1;
    }
    return 0;
}

static int read_grid(struct parser *p, const char *path, json_t *value)
{
    return read_extents(p, path, value, p->launch->grid);
}

static int read_block(struct parser *p, const char *path, json_t *value)
{
    return read_extents(p, path, value, p->launch->block);
}

static int read_cluster(struct parser *p, const char *path, json_t *value)
{
    return read_extents(p, path, value, p->launch->cluster);
}

static int read_float(struct parser *p, const char *path, const char *text, struct atoll_arg *arg)
{
    char *end = NULL;
    arg->kind = ATOLL_ARG_FLOAT;
    arg->number = strtod(text, &end);
    if (!*text || *end || !isfinite(arg->number) || strspn(text, "0123456789+-.eE") != strlen(text) ||
        (arg->width == ATOLL_F32 && fabs(arg->number) > 3.4028234663852886e38))
        return fail(p, path, "'%.40s' is no finite number", text);
    return 0;
}

static int read_integer(struct parser *p, const char *path, const char *text, struct atoll_arg *arg)
{
    int64_t value = 0;
    arg->kind = ATOLL_ARG_INTEGER;
    if (parse_expression(p, path, text, &arg->value))
        return -1;
    if (atoll_expression_name_count(arg->value))
        return 0;
    struct atoll_err inner = ATOLL_ERR_INIT;
    if (atoll_expression_eval(arg->value, NULL, 0, &value, &inner))
        return fail(p, path, "%s", inner.text);
    if (arg->width == ATOLL_I32 && (value > INT32_MAX || value < INT32_MIN))
        return fail(p, path, "%lld does not fit i32; write i64:%s", (long long)value, text);
    return 0;
}

static int read_typed(struct parser *p, const char *path, const char *text, struct atoll_arg *arg)
{
    static const struct {
        const char *prefix;
        enum atoll_dtype width;
        int (*read)(struct parser *p, const char *path, const char *text, struct atoll_arg *arg);
    } types[] = {{"i32:", ATOLL_I32, read_integer},
                 {"i64:", ATOLL_I64, read_integer},
                 {"f32:", ATOLL_F32, read_float},
                 {"f64:", ATOLL_F64, read_float}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strncmp(text, types[i].prefix, 4) != 0)
            continue;
        arg->width = types[i].width;
        return types[i].read(p, path, text + 4, arg);
    }
    return fail(p, path, "'%.40s': a typed argument starts with i32:, i64:, f32: or f64:", text);
}

static int read_named(struct parser *p, const char *path, const char *text, struct atoll_arg *arg)
{
    const char *names[NAMES_LIMIT];
    size_t tensors = p->task->tensor_count, count = all_names(p, names);
    if (find_name(names, count, text) >= 0)
        return fail(p, path, "'%s' is a number and needs a width; write \"i64:%s\" or \"i32:%s\"", text, text,
                    text);
    count = buffer_names(p, names);
    int found = find_name(names, count, text);
    if (found < 0)
        return unknown_name(p, path, text, names, count,
                            "tensors, scratch, and i32:, i64:, f32:, f64: values");
    arg->kind = (size_t)found < tensors ? ATOLL_ARG_TENSOR : ATOLL_ARG_SCRATCH;
    arg->index = (size_t)found < tensors ? (size_t)found : (size_t)found - tensors;
    return 0;
}

static int read_arg(struct parser *p, const char *path, json_t *value)
{
    struct atoll_arg *arg = &p->launch->args[p->launch->arg_count++];
    const char *text = json_string_value(value);
    if (!text)
        return fail(p, path, "a text is expected, like \"x\", \"i64:N\" or \"f32:0.5\"");
    if (strncmp(text, "tensormap(", 10) == 0)
        return fail(p, path, "tensormap arguments are not available for language %s", p->language);
    arg->text = copy(p, text);
    if (!arg->text)
        return -1;
    return strchr(text, ':') ? read_typed(p, path, text, arg) : read_named(p, path, text, arg);
}

static int read_args(struct parser *p, const char *path, json_t *value)
{
    return read_array(p, path, value, ATOLL_PLAN_ARG_LIMIT, read_arg);
}

static int read_launches(struct parser *p, const char *path, json_t *value);

static const struct row rows[] = {
    {AT_PLAN, "version", FOR_ALL, 1, read_version},
    {AT_PLAN, "params", FOR_ALL, 0, read_params},
    {AT_PLAN, "require", FOR_ALL, 0, read_require},
    {AT_PLAN, "scratch", FOR_ALL, 0, read_scratch},
    {AT_PLAN, "launch", FOR_ALL, 1, read_launches},
    {AT_LAUNCH, "function", FOR_C, 1, read_symbol},
    {AT_LAUNCH, "units", FOR_C, 1, read_units},
    {AT_LAUNCH, "kernel", FOR_DEVICE, 1, read_symbol},
    {AT_LAUNCH, "grid", FOR_DEVICE, 1, read_grid},
    {AT_LAUNCH, "block", FOR_DEVICE, 1, read_block},
    {AT_LAUNCH, "cluster", FOR_DEVICE, 0, read_cluster},
    {AT_LAUNCH, "shared_bytes", FOR_DEVICE, 0, read_shared},
    {AT_LAUNCH, "cooperative", FOR_DEVICE, 0, read_cooperative},
    {AT_LAUNCH, "args", FOR_ALL, 1, read_args},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static int applies(const struct parser *p, const struct row *row, enum level level)
{
    int language = strcmp(p->language, "c") == 0 ? FOR_C : FOR_DEVICE;
    return row->level == level && (row->languages & language);
}

static void field_path(char *ret_path, const char *parent, const char *key)
{
    snprintf(ret_path, PATH_BYTES, "%.80s%s%.64s", parent, parent[0] ? "." : "", key);
}

static int check_keys(struct parser *p, enum level level, const char *path, json_t *object)
{
    const char *keys[ROW_COUNT], *key;
    json_t *value;
    size_t n = 0;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (applies(p, &rows[i], level))
            keys[n++] = rows[i].key;
    json_object_foreach(object, key, value)
    {
        char place[PATH_BYTES];
        const char *near = atoll_spelling_nearest(key, keys, n);
        field_path(place, path, key);
        if (find_name(keys, n, key) >= 0)
            continue;
        if (near)
            return fail(p, place, "unknown key; did you mean '%s'?", near);
        return fail(p, place, "unknown key for language %s; see docs/spec/plan.md", p->language);
    }
    return 0;
}

/* Reads an object in the order of the table. */
static int read_level(struct parser *p, enum level level, const char *path, json_t *object)
{
    if (!json_is_object(object))
        return fail(p, path, "an object is expected, like {\"key\": ...}");
    if (check_keys(p, level, path, object))
        return -1;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char place[PATH_BYTES];
        json_t *value = json_object_get(object, rows[i].key);
        if (!applies(p, &rows[i], level))
            continue;
        field_path(place, path, rows[i].key);
        if (!value && rows[i].required)
            return fail(p, place, "is missing; add it");
        if (value && rows[i].read(p, place, value))
            return -1;
    }
    return 0;
}

static int read_launch(struct parser *p, const char *path, json_t *value)
{
    p->launch = &p->plan->launches[p->plan->launch_count++];
    return read_level(p, AT_LAUNCH, path, value);
}

static int read_launches(struct parser *p, const char *path, json_t *value)
{
    if (json_is_array(value) && json_array_size(value) == 0)
        return fail(p, path, "is empty; a plan launches something");
    return read_array(p, path, value, ATOLL_PLAN_LAUNCH_LIMIT, read_launch);
}

/* ---- canonical form: keys in the table's order, params and scratch as written, no blanks ---- */

static json_t *ordered(enum level level, json_t *object)
{
    json_t *copy_of = json_object();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        json_t *value = rows[i].level == level ? json_object_get(object, rows[i].key) : NULL;
        if (!value || json_object_get(copy_of, rows[i].key))
            continue;
        if (rows[i].read != read_launches) {
            json_object_set(copy_of, rows[i].key, value);
            continue;
        }
        json_t *launches = json_array();
        for (size_t k = 0; k < json_array_size(value); k++)
            json_array_append_new(launches, ordered(AT_LAUNCH, json_array_get(value, k)));
        json_object_set_new(copy_of, rows[i].key, launches);
    }
    return copy_of;
}

static int canonicalise(struct parser *p, json_t *root)
{
    json_t *object = ordered(AT_PLAN, root);
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(object);
    if (!text)
        return atoll_err_set(p->err, ATOLL_E_MEMORY, "no memory for the canonical form of a plan");
    p->plan->canonical = copy(p, text);
    free(text);
    return p->plan->canonical ? 0 : -1;
}

/* ---- the comment ---- */

static size_t skip_blanks(const char *text)
{
    return strspn(text, " \t\r\n\v\f");
}

static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Finds the JSON inside the first comment; ret_body: what follows the comment. */
static int find_plan(const char *source, const char **ret_json, size_t *ret_length, const char **ret_body,
                     struct atoll_err *err)
{
    const char *at = source + skip_blanks(source);
    if (strncmp(at, "/*", 2) != 0)
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: the source must start with a comment /* atoll-plan {...} */; add it (docs/spec/plan.md)");
    at += 2 + skip_blanks(at + 2);
    if (strncmp(at, "atoll-plan", 10) != 0)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "plan: the first comment must start with 'atoll-plan'; move the plan there");
    at += 10;
    const char *end = strstr(at, "*/");
    if (!end)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: the plan's comment never ends; close it with */");
    if ((size_t)(end - at) > PLAN_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu bytes of JSON, at most %u are allowed",
                             (size_t)(end - at), PLAN_BYTES);
    *ret_json = at;
    *ret_length = (size_t)(end - at);
    *ret_body = end + 2;
    return 0;
}

static json_t *load_json(const char *source, const char *json, size_t length, struct atoll_err *err)
{
    json_error_t e;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &e);
    if (!root) {
        size_t line = count_lines(source, (size_t)(json - source)) + (e.line > 0 ? (size_t)e.line : 1);
        atoll_err_set(err, ATOLL_E_INPUT,
                      "plan: line %zu: not valid JSON: %s; check quotes, commas and braces", line, e.text);
    }
    return root;
}

static const char *backend_of(const char *language)
{
    static const char *const known[][2] = {{"c", "cpu"}, {"cuda", "cuda"}, {"opencl", "opencl"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
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
    struct parser p = {.arena = arena, .task = task, .language = language, .err = err};
    if (!backend_of(language)) {
        atoll_err_set(err, ATOLL_E_INPUT, "plan: unknown language '%.32s'; known: c, cuda, opencl", language);
        return NULL;
    }
    if (strnlen(source, ATOLL_SOURCE_LIMIT + 1) > ATOLL_SOURCE_LIMIT) {
        atoll_err_set(err, ATOLL_E_INPUT, "plan: the source has more than %u bytes; shorten it",
                      ATOLL_SOURCE_LIMIT);
        return NULL;
    }
    if (find_plan(source, &json, &length, &body, err))
        return NULL;
    p.plan = atoll_arena_alloc(arena, sizeof *p.plan, err);
    json_t *root = p.plan ? load_json(source, json, length, err) : NULL;
    if (!root)
        return NULL;
    p.plan->backend = backend_of(language);
    int rc = json_is_object(root)
                 ? read_level(&p, AT_PLAN, "", root) || canonicalise(&p, root)
                 : atoll_err_set(err, ATOLL_E_INPUT, "plan: the JSON must be an object {...}");
    json_decref(root);
    if (rc)
        return NULL;
    *ret_body = body;
    return p.plan;
}
