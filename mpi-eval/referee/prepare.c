/* The unit: one #define per parameter, the body under its own line numbers, then one shim per launch with a
 * binary interface that is the same for every candidate: void atoll_shim_<k>(long begin, long end, const
 * union atoll_run_word_ *words).  Names that start with atoll_ are the harness's: a body that uses one is
 * refused, so shims cannot collide or be replaced. */
#include "mpi-eval/referee/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rules.h"

#define ARENA_LIMIT   ((size_t)8 << 20)
#define UNIT_LIMIT    (ATOLL_SOURCE_LIMIT + (256u << 10))
#define SCRATCH_LIMIT ((int64_t)1 << 32)
#define UNITS_LIMIT   ((int64_t)1 << 40)

static void verdict_set(struct atoll_prepared *p, enum atoll_verdict verdict, const char *text)
{
    p->verdict = verdict;
    snprintf(p->detail, sizeof p->detail, "%s", text);
}

static int is_name(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of a comment, string or character constant that starts at p, else p. */
static const char *skip_text(const char *p)
{
    if (p[0] == '/' && p[1] == '/') {
        while (*p && *p != '\n')
            p++;
    } else if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    } else if (*p == '"' || *p == '\'') {
        char quote = *p++;
        while (*p && *p != quote && *p != '\n')
            p += p[0] == '\\' && p[1] ? 2 : 1;
        if (*p)
            p++;
    }
    return p;
}

/* Line (from 1) of the first name of the harness in body, 0 when there is none. */
static size_t reserved_line(const char *body)
{
    size_t line = 1;
    for (const char *p = body; *p;) {
        const char *end = skip_text(p);
        if (end == p && is_name((unsigned char)*p)) {
            if (strncmp(p, "atoll_", 6) == 0)
                return line;
            while (is_name((unsigned char)*end))
                end++;
        }
        if (end == p)
            end = p + 1;
        for (; p < end; p++)
            line += *p == '\n';
    }
    return 0;
}

static size_t line_of(const char *source, const char *body)
{
    size_t line = 1;
    for (; source < body; source++)
        line += *source == '\n';
    return line;
}

/* One expression of the plan at one variant within bounds. */
static int expression_within(const struct atoll_prepared *p, const struct atoll_variant *v,
                             const struct atoll_expression *e, const char *what, int64_t low, int64_t high,
                             struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t count = atoll_plan_bindings(p->task, v, p->plan, &p->choice, bindings);
    int64_t value;
    if (atoll_expression_eval(e, bindings, count, &value, err) != 0)
        return atoll_err_add(err, "while evaluating %s \"%s\" at variant %s", what, atoll_expression_text(e),
                             v->name);
    if (value < low || value > high)
        return atoll_err_set(
            err, ATOLL_E_INPUT, "%s \"%s\" is %lld at variant %s; it must lie between %lld and %lld", what,
            atoll_expression_text(e), (long long)value, v->name, (long long)low, (long long)high);
    return 0;
}

static int argument_check(const struct atoll_prepared *p, const struct atoll_variant *v,
                          const struct atoll_arg *a, struct atoll_err *err)
{
    if (a->kind == ATOLL_ARG_TENSORMAP)
        return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": the cpu backend has no tensor maps",
                             a->text);
    if (a->kind != ATOLL_ARG_INTEGER)
        return 0;
    int narrow = a->width == ATOLL_I32;
    return expression_within(p, v, a->value, "argument", narrow ? INT32_MIN : INT64_MIN,
                             narrow ? INT32_MAX : INT64_MAX, err);
}

static int variant_check(const struct atoll_prepared *p, const struct atoll_variant *v, struct atoll_err *err)
{
    const struct atoll_plan *plan = p->plan;
    for (size_t i = 0; i < plan->scratch_count; i++)
        if (expression_within(p, v, plan->scratch[i].bytes, "scratch", 0, SCRATCH_LIMIT, err) != 0)
            return -1;
    for (size_t k = 0; k < plan->launch_count; k++) {
        const struct atoll_launch *l = &plan->launches[k];
        if (!l->units)
            return atoll_err_set(err, ATOLL_E_INPUT, "plan: field 'launch[%zu].units' is missing", k);
        if (expression_within(p, v, l->units, "units", 0, UNITS_LIMIT, err) != 0)
            return -1;
        for (size_t i = 0; i < l->arg_count; i++)
            if (argument_check(p, v, &l->args[i], err) != 0)
                return -1;
    }
    return 0;
}

/* Level 1: plan, choice, limits of the device. */
static int plan_check(struct atoll_prepared *p, const struct atoll_order_candidate *c, struct atoll_err *err)
{
    p->plan = atoll_plan_parse(p->arena, p->task, p->language, c->source, &p->body, err);
    if (!p->plan)
        return -1;
    if (c->choice.count != p->plan->param_count)
        return atoll_err_set(err, ATOLL_E_INPUT, "the choice has %zu values, the plan has %zu params",
                             c->choice.count, p->plan->param_count);
    p->choice = c->choice;
    int legal = atoll_plan_choice_legal(p->task, p->plan, &p->choice, err);
    if (legal < 0)
        return -1;
    if (!legal) {
        char text[256];
        atoll_choice_text(p->plan, &p->choice, text, sizeof text);
        return atoll_err_set(err, ATOLL_E_INPUT, "the choice %s does not meet the plan's requirements", text);
    }
    for (size_t i = 0; i < p->task->variant_count; i++)
        if (p->task->variants[i].kind != ATOLL_VARIANT_HIDDEN &&
            variant_check(p, &p->task->variants[i], err) != 0)
            return -1;
    return 0;
}

/* Level 2. */
static int body_check(const struct atoll_prepared *p, size_t first_line, struct atoll_err *err)
{
    size_t line = reserved_line(p->body);
    if (line)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "rule reserved-names, line %zu: names that start with atoll_ belong to the "
                             "harness; choose another name",
                             line + first_line - 1);
    return atoll_rules_check(p->language, p->body, err);
}

static void argument_print(struct atoll_buffer *out, const struct atoll_arg *a, size_t word)
{
    if (a->kind == ATOLL_ARG_TENSOR || a->kind == ATOLL_ARG_SCRATCH)
        atoll_buffer_printf(out, ", atoll_w_[%zu].atoll_p_", word);
    else if (a->kind == ATOLL_ARG_INTEGER)
        atoll_buffer_printf(out, ", (%s)atoll_w_[%zu].atoll_i_", a->width == ATOLL_I32 ? "int" : "long long",
                            word);
    else
        atoll_buffer_printf(out, ", (%s)atoll_w_[%zu].atoll_d_", a->width == ATOLL_F32 ? "float" : "double",
                            word);
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
    for (size_t i = 0; i < l->arg_count; i++)
        argument_print(out, &l->args[i], i);
    atoll_buffer_printf(out, ");\n}\n");
}

/* The compiler quotes lines of the file it reads: where the lines of the plan's comment leave room, the
 * parameters go there and every line keeps its number.  Else #line gives the number and a name without a
 * file, so nothing wrong is quoted. */
static void prefix_print(const struct atoll_prepared *p, size_t first_line, struct atoll_buffer *out)
{
    size_t count = p->plan->param_count;
    for (size_t i = 0; i < count; i++)
        atoll_buffer_printf(out, "#define %s %lld\n", p->plan->params[i].name,
                            (long long)p->choice.values[i]);
    if (count >= first_line)
        atoll_buffer_printf(out, "#line %zu \"candidate\"\n", first_line);
    for (size_t line = count + 1; line < first_line; line++)
        atoll_buffer_printf(out, "\n");
}

static void unit_print(const struct atoll_prepared *p, size_t first_line, struct atoll_buffer *out)
{
    prefix_print(p, first_line, out);
    atoll_buffer_put_bytes(out, p->body, strlen(p->body));
    atoll_buffer_printf(
        out, "\nunion atoll_run_word_ { void *atoll_p_; long long atoll_i_; double atoll_d_; };\n");
    for (size_t k = 0; k < p->plan->launch_count; k++)
        shim_print(out, &p->plan->launches[k], k);
}

static int unit_make(struct atoll_prepared *p, size_t first_line, struct atoll_err *err)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, UNIT_LIMIT);
    unit_print(p, first_line, &out);
    int failed = atoll_buffer_check(&out, err);
    if (!failed) {
        p->unit_length = out.length;
        p->unit_text = atoll_arena_text(p->arena, (const char *)out.data, out.length, err);
        failed = p->unit_text ? 0 : -1;
    }
    atoll_buffer_fini(&out);
    for (size_t k = 0; !failed && k < p->plan->launch_count; k++) {
        char name[32];
        int n = snprintf(name, sizeof name, "atoll_shim_%zu", k);
        p->symbols[k] = atoll_arena_text(p->arena, name, (size_t)n, err);
        failed = p->symbols[k] ? 0 : -1;
    }
    p->symbol_count = p->plan->launch_count;
    return failed;
}

/* A failure of ours is an error of the caller's; everything else is the candidate's verdict. */
static int is_ours(const struct atoll_err *err)
{
    return err->code == ATOLL_E_MEMORY || err->code == ATOLL_E_INTERNAL;
}

static int prepare(struct atoll_prepared *p, const struct atoll_order_candidate *c, struct atoll_err *err)
{
    const char *source = atoll_arena_text(p->arena, c->source, strlen(c->source), err);
    p->language = atoll_arena_text(p->arena, c->language, strlen(c->language), err);
    if (!source || !p->language)
        return -1;
    struct atoll_order_candidate copy = *c;
    copy.source = source;
    if (strcmp(p->language, "c") != 0) {
        verdict_set(p, ATOLL_V_BAD_PLAN, "plan: the cpu backend takes the language \"c\" only");
        return 0;
    }
    struct atoll_err mine = ATOLL_ERR_INIT;
    enum atoll_verdict verdict = ATOLL_V_BAD_PLAN;
    int failed = plan_check(p, &copy, &mine);
    size_t first_line = 1;
    if (!failed) {
        p->behaviour = atoll_behaviour_classify(p->language, p->body, p->plan, &p->choice);
        verdict = ATOLL_V_FORBIDDEN;
        first_line = line_of(source, p->body);
        failed = body_check(p, first_line, &mine);
    }
    if (!failed)
        return unit_make(p, first_line, err);
    if (is_ours(&mine)) {
        if (err)
            *err = mine;
        return -1;
    }
    if (verdict == ATOLL_V_BAD_PLAN)
        p->plan = NULL;
    verdict_set(p, verdict, mine.text);
    return 0;
}

struct atoll_prepared *atoll_prepared_create(const struct atoll_task *task,
                                             const struct atoll_order_candidate *candidate,
                                             struct atoll_err *err)
{
    if (strlen(candidate->source) > ATOLL_SOURCE_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "a source of more than %u bytes", ATOLL_SOURCE_LIMIT);
        return NULL;
    }
    struct atoll_prepared *p = calloc(1, sizeof *p);
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a candidate");
        return NULL;
    }
    p->id = candidate->id;
    p->task = task;
    p->arena = atoll_arena_create(ARENA_LIMIT, err);
    if (!p->arena || prepare(p, candidate, err) != 0) {
        atoll_prepared_destroy(p);
        return NULL;
    }
    return p;
}

void atoll_prepared_destroy(struct atoll_prepared *prepared)
{
    if (!prepared)
        return;
    atoll_arena_destroy(prepared->arena);
    free(prepared);
}
