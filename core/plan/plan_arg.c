/* plan_arg.c - the arguments of a launch: tensors, scratch, typed numbers, tensor maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_reader.h"

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
    if (atoll_plan_expression(p, path, text, &arg->value)) {
        return -1;
    }
    if (atoll_expression_name_count(arg->value)) {
        return 0;
    }
    struct atoll_err inner = ATOLL_ERR_INIT;
    if (atoll_expression_eval(arg->value, NULL, 0, &value, &inner)) {
        return atoll_plan_fail(p, path, "%s", inner.text);
    }
    if (arg->width == ATOLL_I32 && (value > INT32_MAX || value < INT32_MIN)) {
        return atoll_plan_fail(p, path, "%lld does not fit i32; write i64:%s", (long long)value, text);
    }
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
        if (strncmp(text, types[i].prefix, 4) != 0) {
            continue;
        }
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

int atoll_plan_read_arg(struct atoll_plan_reader *p, const char *path, json_t *value)
{
    struct atoll_arg *arg = &p->launch->args[p->launch->arg_count++];
    const char *text = json_string_value(value);
    if (!text) {
        return atoll_plan_fail(p, path, "a text is expected, like \"x\", \"i64:N\" or \"f32:0.5\"");
    }
    if (strncmp(text, "tensormap(", 10) == 0) {
        return atoll_plan_read_tensormap(p, path, text, arg);
    }
    arg->text = atoll_plan_copy(p, text);
    if (!arg->text) {
        return -1;
    }
    return strchr(text, ':') ? read_typed(p, path, text, arg) : read_named(p, path, text, arg);
}
