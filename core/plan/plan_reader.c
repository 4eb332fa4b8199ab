/* plan_reader.c - names, expressions and failures of a plan that is being read. */
#include "core/plan/plan_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"

int atoll_plan_fail(struct atoll_plan_reader *p, const char *path, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return atoll_err_set(p->err, ATOLL_E_INPUT, "plan: field '%s': %s", path, text);
}

const char *atoll_plan_copy(struct atoll_plan_reader *p, const char *text)
{
    return atoll_arena_text(p->arena, text, strlen(text), p->err);
}

/* ---- names ---- */

int atoll_plan_is_name(const char *text, size_t limit)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strlen(text);
    return length > 0 && length <= limit && strspn(text, letters) == length &&
           !(text[0] >= '0' && text[0] <= '9');
}

static int is_one_of(const char *text, const char *const *words, size_t count)
{
    return atoll_plan_find_name(words, count, text) >= 0;
}

int atoll_plan_is_reserved(const struct atoll_plan_reader *p, const char *text)
{
    static const char *const words[] = {
        "auto",     "break",  "case",   "char",     "const",  "continue",  "default",  "do",
        "double",   "else",   "enum",   "extern",   "float",  "for",       "goto",     "if",
        "inline",   "int",    "long",   "register", "return", "short",     "signed",   "sizeof",
        "static",   "struct", "switch", "typedef",  "union",  "unsigned",  "void",     "while",
        "restrict", "min",    "max",    "cdiv",     "ilog2",  "tensormap", "volatile", "main"};
    static const char *const device_words[] = {
        "alignas",   "alignof",  "bool",     "catch",   "class",     "concept",  "constexpr", "decltype",
        "delete",    "explicit", "export",   "false",   "friend",    "mutable",  "namespace", "new",
        "noexcept",  "nullptr",  "operator", "private", "protected", "public",   "requires",  "template",
        "this",      "throw",    "true",     "try",     "typeid",    "typename", "using",     "virtual",
        "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",  "std",      "cuda"};
    if (is_one_of(text, words, sizeof(words) / sizeof(*words)) ||
        (strcmp(p->language, "c") != 0 &&
         is_one_of(text, device_words, sizeof(device_words) / sizeof(*device_words)))) {
        return 1;
    }
    return strncmp(text, "__", 2) == 0 || strncmp(text, "atoll", 5) == 0 || strncmp(text, "ATOLL", 5) == 0;
}

size_t atoll_plan_number_names(const struct atoll_plan_reader *p, const char **ret_names)
{
    size_t n = 0;
    for (size_t i = 0; i < p->task->dim_count; i++)
        ret_names[n++] = p->task->dims[i];
    for (size_t i = 0; i < p->plan->param_count; i++)
        ret_names[n++] = p->plan->params[i].name;
    return n;
}

size_t atoll_plan_buffer_names(const struct atoll_plan_reader *p, const char **ret_names)
{
    size_t n = 0;
    for (size_t i = 0; i < p->task->tensor_count; i++)
        ret_names[n++] = p->task->tensors[i].name;
    for (size_t i = 0; i < p->plan->scratch_count; i++)
        ret_names[n++] = p->plan->scratch[i].name;
    return n;
}

int atoll_plan_find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

int atoll_plan_unknown_name(struct atoll_plan_reader *p, const char *path, const char *name,
                            const char *const *names, size_t count, const char *known)
{
    const char *near = atoll_spelling_nearest(name, names, count);
    if (near)
        return atoll_plan_fail(p, path, "unknown name '%.64s'; did you mean '%s'?", name, near);
    return atoll_plan_fail(p, path, "unknown name '%.64s'; known are %s", name, known);
}

int atoll_plan_new_name(struct atoll_plan_reader *p, const char *path, const char *name)
{
    const char *names[ATOLL_PLAN_NAMES_LIMIT];
    size_t n = atoll_plan_number_names(p, names);
    n += atoll_plan_buffer_names(p, names + n);
    if (!atoll_plan_is_name(name, ATOLL_PLAN_NAME_LIMIT) || atoll_plan_is_reserved(p, name)) {
        return atoll_plan_fail(p, path, "'%.40s' is no free C name of at most %d characters; rename it", name,
                               ATOLL_PLAN_NAME_LIMIT);
    }
    if (atoll_plan_find_name(names, n, name) >= 0) {
        return atoll_plan_fail(p, path, "name '%s' is taken by a dim, tensor, param or scratch; rename it",
                               name);
    }
    return 0;
}

/* ---- expressions ---- */

int atoll_plan_expression(struct atoll_plan_reader *p, const char *path, const char *text,
                          const struct atoll_expression **ret)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    const char *names[ATOLL_PLAN_NAMES_LIMIT];
    size_t count = atoll_plan_number_names(p, names);
    const struct atoll_expression *e = atoll_expression_parse(p->arena, text, &inner);
    if (!e)
        return atoll_plan_fail(p, path, "%s", inner.text);
    for (size_t i = 0; i < atoll_expression_name_count(e); i++) {
        if (atoll_plan_find_name(names, count, atoll_expression_name(e, i)) < 0) {
            return atoll_plan_unknown_name(p, path, atoll_expression_name(e, i), names, count,
                                           "the task's dims and the params");
        }
    }
    *ret = e;
    return 0;
}

/* A JSON string, or an integer for convenience. */
int atoll_plan_json_expression(struct atoll_plan_reader *p, const char *path, json_t *value,
                               const struct atoll_expression **ret)
{
    char digits[32];
    if (json_is_integer(value)) {
        snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return atoll_plan_expression(p, path, digits, ret);
    }
    if (!json_is_string(value))
        return atoll_plan_fail(p, path, "an expression is expected, like \"cdiv(N, 4)\" or 128");
    return atoll_plan_expression(p, path, json_string_value(value), ret);
}
