/* What the cpu backend adds to a unit: one shim per launch with a binary interface that is the same for every
 * candidate: void atoll_shim_<k>(long begin, long end, const union atoll_run_word_ *words). */
#include <stdio.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/measure/state.h"

#define SCRATCH_LIMIT ((int64_t)1 << 32)
#define UNITS_LIMIT   ((int64_t)1 << 40)

static int argument_check(const struct atoll_prepared *p, const struct atoll_variant *v,
                          const struct atoll_arg *a, struct atoll_err *err)
{
    if (a->kind == ATOLL_ARG_TENSORMAP)
        return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": the cpu backend has no tensor maps",
                             a->text);
    if (a->kind != ATOLL_ARG_INTEGER)
        return 0;
    int narrow = a->width == ATOLL_I32;
    return atoll_prepare_within(p, v, a->value, "argument", narrow ? INT32_MIN : INT64_MIN,
                                narrow ? INT32_MAX : INT64_MAX, err);
}

static int launch_check(const struct atoll_prepared *p, const struct atoll_variant *v, size_t launch,
                        const struct atoll_device_info *device, struct atoll_err *err)
{
    const struct atoll_launch *l = &p->plan->launches[launch];
    (void)device;
    if (!l->units)
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: field 'launch[%zu].units' is missing", launch);
    if (atoll_prepare_within(p, v, l->units, "units", 0, UNITS_LIMIT, err) != 0)
        return -1;
    for (size_t i = 0; i < l->arg_count; i++)
        if (argument_check(p, v, &l->args[i], err) != 0)
            return -1;
    return 0;
}

/* Every name of a shim is one that a body and its macros cannot have. */
static void shim_print(struct atoll_buffer *out, const struct atoll_launch *l, size_t k)
{
    static const char parameters[] = "(long atoll_b_, long atoll_e_, const union atoll_run_word_ *atoll_w_)";
    /* The type of an undeclared function is an error here, not the linker's. */
    atoll_buffer_printf(out, "#line 1 \"plan.launch[%zu]\"\ntypedef __typeof__(%s) *atoll_function_%zu_;\n",
                        k, l->symbol, k);
    atoll_buffer_printf(out, "__attribute__((visibility(\"default\"))) void atoll_shim_%zu%s;\n", k,
                        parameters);
    atoll_buffer_printf(out, "void atoll_shim_%zu%s\n{\n    (void)atoll_w_;\n    %s(atoll_b_, atoll_e_", k,
                        parameters, l->symbol);
    for (size_t i = 0; i < l->arg_count; i++) {
        const struct atoll_arg *a = &l->args[i];
        if (a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH)
            atoll_buffer_printf(out, ", atoll_w_[%zu].atoll_p_", i);
        else if (a->kind == ATOLL_ARG_INTEGER)
            atoll_buffer_printf(out, ", (%s)atoll_w_[%zu].atoll_i_",
                                a->width == ATOLL_I32 ? "int" : "long long", i);
        else
            atoll_buffer_printf(out, ", (%s)atoll_w_[%zu].atoll_d_",
                                a->width == ATOLL_F32 ? "float" : "double", i);
    }
    atoll_buffer_printf(out, ");\n}\n");
}

static void shims_print(const struct atoll_prepared *p, struct atoll_buffer *out)
{
    atoll_buffer_printf(out,
                        "union atoll_run_word_ { void *atoll_p_; long long atoll_i_; double atoll_d_; };\n");
    for (size_t k = 0; k < p->plan->launch_count; k++)
        shim_print(out, &p->plan->launches[k], k);
}

static void shim_name(const struct atoll_prepared *p, size_t launch, char *ret_name, size_t name_bytes)
{
    (void)p;
    snprintf(ret_name, name_bytes, "atoll_shim_%zu", launch);
}

int atoll_cpu_prepare(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                      const struct atoll_device_info *device, struct atoll_err *err)
{
    static const struct atoll_prepare_parts parts = {.backend = &atoll_backend_cpu,
                                                     .launch_check = launch_check,
                                                     .unit_end = shims_print,
                                                     .symbol = shim_name,
                                                     .scratch_limit_bytes = SCRATCH_LIMIT};
    return atoll_prepare(p, candidate, device, &parts, err);
}
