/* reference.c - the translation unit around a task's reference.c.
 * The prelude is the common subset of C11 and C++17 and includes nothing: the mathematics comes from libm by
 * declaration, on a device from the compiler itself (ATOLL_DEVICE).  Narrow floats are decoded by exact
 * arithmetic. */
#include "core/task/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/source/source_token.h"

static const char prelude_types[] =
    "#ifndef ATOLL_FN\n#define ATOLL_FN static inline __attribute__((unused))\n#endif\n"
    "#ifndef ATOLL_EXPORT\n#ifdef __cplusplus\n#define ATOLL_EXPORT extern \"C\" "
    "__attribute__((visibility(\"default\")))\n"
    "#else\n#define ATOLL_EXPORT __attribute__((visibility(\"default\")))\n#endif\n#endif\n"
    "struct atoll_reference_args {\n"
    "    const long long *dims;\n    const void *const *inputs;\n    double *const *expected;\n"
    "    double *const *scale;\n    double *scratch;\n};\n"
    "#ifdef ATOLL_DEVICE\n#define ATOLL_INFINITY (__longlong_as_double(0x7ff0000000000000LL))\n"
    "#else\n#define ATOLL_INFINITY (__builtin_huge_val())\n#endif\n";

static const struct {
    const char *name, *parameters, *arguments,
        *host; /* host: function of libm; NULL = the body is an expression of its own */
    const char *body;
} maths[] = {
    {"exp", "double x", "x", "exp", NULL},
    {"exp2", "double x", "x", "exp2", NULL},
    {"expm1", "double x", "x", "expm1", NULL},
    {"log", "double x", "x", "log", NULL},
    {"log2", "double x", "x", "log2", NULL},
    {"log1p", "double x", "x", "log1p", NULL},
    {"sqrt", "double x", "x", "sqrt", NULL},
    {"rsqrt", "double x", "x", NULL, "1.0 / atoll_sqrt(x)"},
    {"tanh", "double x", "x", "tanh", NULL},
    {"erf", "double x", "x", "erf", NULL},
    {"sin", "double x", "x", "sin", NULL},
    {"cos", "double x", "x", "cos", NULL},
    {"pow", "double x, double y", "x, y", "pow", NULL},
    {"fabs", "double x", "x", "fabs", NULL},
    {"floor", "double x", "x", "floor", NULL},
    {"ceil", "double x", "x", "ceil", NULL},
    {"round", "double x", "x", "round", NULL},
    {"fmin", "double x, double y", "x, y", "fmin", NULL},
    {"fmax", "double x, double y", "x, y", "fmax", NULL},
    {"fma", "double x, double y, double z", "x, y, z", "fma", NULL},
};
#define MATHS_COUNT (sizeof(maths) / sizeof(*maths))

/* Loads of the dtypes that C has no type for; i is the raw pattern. */
static const char prelude_narrow[] =
    "ATOLL_FN double atoll_bits_bf16(unsigned b) { union { unsigned u; float f; } v; v.u = b << 16; return "
    "(double)v.f; }\n"
    "ATOLL_FN double atoll_bits_f16(unsigned b)\n{\n"
    "    unsigned e = b >> 10 & 31u, m = b & 1023u;\n"
    "    double s = b >> 15 & 1u ? -1.0 : 1.0;\n"
    "    if (e == 31u) return m ? ATOLL_INFINITY - ATOLL_INFINITY : s * ATOLL_INFINITY;\n"
    "    if (e == 0u) return s * (double)m * (1.0 / 16777216.0);\n"
    "    return s * (double)(1024u + m) * (double)(1u << e) * (1.0 / 33554432.0);\n}\n"
    "ATOLL_FN double atoll_bits_f8e5m2(unsigned b) { return atoll_bits_f16(b << 8); }\n"
    "ATOLL_FN double atoll_bits_f8e4m3(unsigned b)\n{\n"
    "    unsigned e = b >> 3 & 15u, m = b & 7u;\n"
    "    double s = b >> 7 & 1u ? -1.0 : 1.0;\n"
    "    if (e == 15u && m == 7u) return ATOLL_INFINITY - ATOLL_INFINITY;\n"
    "    if (e == 0u) return s * (double)m * (1.0 / 512.0);\n"
    "    return s * (double)(8u + m) * (double)(1u << e) * (1.0 / 1024.0);\n}\n";

/* How element i of a tensor is read: the C type it lies there as and the conversion around it. */
static const struct {
    const char *type, *convert;
} loads[ATOLL_DTYPE_COUNT] = {
    [ATOLL_F64] = {"double", ""},
    [ATOLL_F32] = {"float", "(double)"},
    [ATOLL_F16] = {"unsigned short", "atoll_bits_f16"},
    [ATOLL_BF16] = {"unsigned short", "atoll_bits_bf16"},
    [ATOLL_F8E4M3] = {"unsigned char", "atoll_bits_f8e4m3"},
    [ATOLL_F8E5M2] = {"unsigned char", "atoll_bits_f8e5m2"},
    [ATOLL_I64] = {"long long", "(double)"},
    [ATOLL_I32] = {"int", "(double)"},
    [ATOLL_I16] = {"short", "(double)"},
    [ATOLL_I8] = {"signed char", "(double)"},
    [ATOLL_U8] = {"unsigned char", "(double)"},
};

static void put_raw(struct atoll_buffer *out, const char *text)
{
    atoll_buffer_put_bytes(out, text, strlen(text));
}

static void put_maths(struct atoll_buffer *out)
{
    put_raw(out, "#ifndef ATOLL_DEVICE\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (size_t i = 0; i < MATHS_COUNT; i++)
        if (maths[i].host)
            atoll_buffer_printf(out, "extern double %s(%s);\n", maths[i].host, maths[i].parameters);
    put_raw(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    for (size_t i = 0; i < MATHS_COUNT; i++) {
        atoll_buffer_printf(out, "ATOLL_FN double atoll_%s(%s) { return ", maths[i].name,
                            maths[i].parameters);
        if (maths[i].host)
            atoll_buffer_printf(out, "%s(%s); }\n", maths[i].host, maths[i].arguments);
        else
            atoll_buffer_printf(out, "%s; }\n", maths[i].body);
    }
}

static void put_accessors(struct atoll_buffer *out, const struct atoll_tensor *t, size_t index)
{
    if (t->role != ATOLL_ROLE_OUT) {
        atoll_buffer_printf(out,
                            "ATOLL_FN double get_%s(const struct atoll_reference_args *a, long i)\n"
                            "{ return %s(((const %s *)a->inputs[%zu])[i]); }\n",
                            t->name, loads[t->dtype].convert, loads[t->dtype].type, index);
    }
    if (t->role == ATOLL_ROLE_OUT || t->role == ATOLL_ROLE_INOUT) {
        atoll_buffer_printf(out,
                            "ATOLL_FN void put_%s(const struct atoll_reference_args *a, long i, double v)\n"
                            "{ a->expected[%zu][i] = v; }\n"
                            "ATOLL_FN void scale_%s(const struct atoll_reference_args *a, long i, double s)\n"
                            "{ if (a->scale[%zu]) a->scale[%zu][i] = s; }\n",
                            t->name, index, t->name, index, index);
    }
}

static void put_names(struct atoll_buffer *out, const struct atoll_task *task)
{
    for (size_t i = 0; i < task->dim_count; i++) {
        atoll_buffer_printf(
            out,
            "ATOLL_FN long dim_%s(const struct atoll_reference_args *a) { return (long)a->dims[%zu]; }\n",
            task->dims[i], i);
    }
    for (size_t i = 0; i < task->tensor_count; i++)
        put_accessors(out, &task->tensors[i], i);
    put_raw(out, "ATOLL_FN double *scratch(const struct atoll_reference_args *a) { return a->scratch; }\n");
}

/* The author's text brings no includes: what it may use is above it, on every backend. */
static int check_directives(const char *name_of_file, const char *source, const char *use,
                            struct atoll_err *err)
{
    struct atoll_token_list list;
    int rc = 0;
    if (atoll_token_list_init(&list, source, err))
        return -1;
    for (size_t i = 0; !rc && i + 1 < list.count; i++) {
        const struct atoll_token *name = &list.tokens[i + 1];
        if (list.tokens[i].first && list.tokens[i].directive && atoll_token_starts(name, "include")) {
            rc = atoll_err_set(err, ATOLL_E_INPUT, "%s:%u: includes are not allowed; %s (docs/spec/task.md)",
                               name_of_file, name->line, use);
        }
    }
    atoll_token_list_fini(&list);
    return rc;
}

int atoll_reference_translation_unit(const struct atoll_task *task, struct atoll_buffer *out,
                                     struct atoll_err *err)
{
    if (atoll_task_needs_c(task, "there is no reference.c to compile", err) ||
        check_directives("reference.c", task->reference_source, "use the atoll_* functions", err))
        return -1;
    put_raw(out, prelude_types);
    put_maths(out);
    put_raw(out, prelude_narrow);
    put_names(out, task);
    put_raw(out, "#line 1 \"reference.c\"\n");
    put_raw(out, task->reference_source);
    put_raw(out,
            "\n\n#line 1 \"reference-range.c\"\n"
            "ATOLL_EXPORT void atoll_reference_range(const struct atoll_reference_args *a, long unit_begin, "
            "long unit_end);\n"
            "ATOLL_EXPORT void atoll_reference_range(const struct atoll_reference_args *a, long unit_begin, "
            "long unit_end)\n"
            "{\n    for (long unit = unit_begin; unit < unit_end; unit++)\n        reference(a, unit);\n}\n");
    return atoll_buffer_check(out, err);
}

int atoll_reference_device_unit(const struct atoll_task *task, const char *tiles, struct atoll_buffer *out,
                                struct atoll_err *err)
{
    if (!task->device_source)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "task '%s' has no reference.cu", task->name);
    if (check_directives("reference.cu", task->device_source, "what it needs is there", err))
        return -1;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        if (t->role != ATOLL_ROLE_OUT && t->role != ATOLL_ROLE_INOUT)
            continue;
        atoll_buffer_printf(
            out,
            "ATOLL_FN double expected_%s(const struct atoll_reference_args *a, long i)\n"
            "{ return a->expected[%zu][i]; }\n"
            "ATOLL_FN double expected_scale_%s(const struct atoll_reference_args *a, long i)\n"
            "{ return a->scale[%zu][i]; }\n",
            t->name, i, t->name, i);
    }
    put_raw(out, tiles);
    put_raw(out, "\nnamespace atoll_tiled {\n#line 1 \"reference.cu\"\n");
    put_raw(out, task->device_source);
    put_raw(out, "\n}\n");
    return atoll_buffer_check(out, err);
}

int atoll_reference_has_scale(const struct atoll_task *task, size_t tensor)
{
    char name[128];
    struct atoll_token_list list;
    int found = 0;
    snprintf(name, sizeof(name), "scale_%s", task->tensors[tensor].name);
    if (!task->reference_source || atoll_token_list_init(&list, task->reference_source, NULL))
        return 0;
    for (size_t i = 0; !found && i < list.count; i++)
        found = atoll_token_is(&list.tokens[i], name);
    atoll_token_list_fini(&list);
    return found;
}

/* Number of the author's line that the first error names, or that uses the name a linker misses; 0: none. */
static unsigned long blamed_line(const char *source, const char *diagnostics)
{
    static const char *const files[] = {"reference.c:", "reference.c("}; /* as cc and as NVRTC say it */
    static const char missing[] = "undefined reference to `";
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        const char *at = strstr(diagnostics, files[i]);
        if (at)
            return strtoul(at + strlen(files[i]), NULL, 10);
    }
    const char *at = strstr(diagnostics, missing);
    if (!at)
        return 0;
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + strlen(missing), "'"), at + strlen(missing));
    const char *use = strstr(source, name);
    unsigned long number = use ? 1 : 0;
    for (const char *p = source; use && p < use; p++)
        number += *p == '\n';
    return number;
}

/* The compiler itself would quote the line of that number in the unit, which begins with what the author may use. */
void atoll_reference_quote(const char *source, const char *diagnostics,
                           char ret_quote[ATOLL_REFERENCE_QUOTE_BYTES])
{
    const char *line = source;
    unsigned long number = blamed_line(source, diagnostics);
    ret_quote[0] = 0;
    for (unsigned long i = 1; i < number && line; i++)
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    if (number == 0 || !line)
        return;
    line += strspn(line, " \t");
    size_t length = strcspn(line, "\r\n");
    snprintf(ret_quote, ATOLL_REFERENCE_QUOTE_BYTES, "; line %lu of reference.c says: %.*s", number,
             (int)(length < 140 ? length : atoll_utf8_cut(line, 140)), line);
}
