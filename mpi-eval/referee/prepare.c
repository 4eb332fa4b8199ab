/* The unit: one #define per parameter, the body under its own line numbers, then what the backend adds.  Names that
 * start with atoll_ are the harness's: the rules refuse a body that uses one, so what is added cannot collide or be
 * replaced. */
#include "mpi-eval/referee/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "core/rules/rules.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/state.h"

#define ARENA_LIMIT ((size_t)8 << 20)
#define UNIT_LIMIT  (ATOLL_SOURCE_LIMIT + (256u << 10))

/* One candidate on its way. */
struct preparation {
    struct atoll_prepared *p;
    const struct atoll_order_candidate *candidate;
    const struct atoll_device_info *device;
    const struct atoll_prepare_parts *parts;
    const char *source; /* in the arena */
    size_t first_line;  /* of the body */
};

static void verdict_set(struct atoll_prepared *p, enum atoll_verdict verdict, const char *text)
{
    p->verdict = verdict;
    snprintf(p->detail, sizeof(p->detail), "%s", text);
}

int atoll_prepare_within(const struct atoll_prepared *p, const struct atoll_variant *v,
                         const struct atoll_expression *e, const char *what, int64_t low, int64_t high,
                         struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t count = atoll_plan_bindings(p->task, v, p->plan, &p->choice, bindings);
    int64_t value;
    if (atoll_expression_eval(e, bindings, count, &value, err) != 0)
        return atoll_err_add(err, "while evaluating %s \"%s\" at variant %s", what, atoll_expression_text(e),
                             v->name);
    if (value >= low && value <= high)
        return 0;
    char size[32], limit[32];
    if (strcmp(what, "scratch") == 0 && value > high)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "scratch \"%s\" is %s at variant %s; at most %s are allowed; use less",
                             atoll_expression_text(e), atoll_size_text((double)value, size, sizeof(size)),
                             v->name, atoll_size_text((double)high, limit, sizeof(limit)));
    return atoll_err_set(
        err, ATOLL_E_INPUT, "%s \"%s\" is %lld at variant %s; it must lie between %lld and %lld", what,
        atoll_expression_text(e), (long long)value, v->name, (long long)low, (long long)high);
}

static int variant_check(const struct preparation *w, const struct atoll_variant *v, struct atoll_err *err)
{
    const struct atoll_plan *plan = w->p->plan;
    size_t taken = 0;
    if (atoll_plan_path_at(w->p->task, plan, v, &taken, err) != 0)
        return -1;
    const struct atoll_path *path = &plan->paths[taken];
    for (size_t i = 0; i < plan->scratch_count; i++)
        if (atoll_plan_path_uses(plan, taken, i) &&
            atoll_prepare_within(w->p, v, plan->scratch[i].bytes, "scratch", 0, w->parts->scratch_limit_bytes,
                                 err) != 0)
            return -1;
    for (size_t k = path->first; k < path->first + path->count; k++)
        if (w->parts->launch_check(w->p, v, k, w->device, err) != 0)
            return -1;
    return 0;
}

/* Level 1: plan, choice, limits of the device. */
static int plan_check(const struct preparation *w, struct atoll_err *err)
{
    struct atoll_prepared *p = w->p;
    const struct atoll_choice *choice = &w->candidate->choice;
    p->plan = atoll_plan_parse(p->arena, p->task, p->language, w->source, &p->body, err);
    if (!p->plan)
        return -1;
    if (choice->count != p->plan->param_count)
        return atoll_err_set(err, ATOLL_E_INPUT, "the choice has %zu values, the plan has %zu params",
                             choice->count, p->plan->param_count);
    p->choice = *choice;
    int legal = atoll_plan_choice_legal(p->task, p->plan, &p->choice, err);
    if (legal < 0)
        return -1;
    if (!legal) {
        char text[256];
        atoll_choice_text(p->plan, &p->choice, text, sizeof(text));
        return atoll_err_set(err, ATOLL_E_INPUT, "the choice %s does not meet the plan's requirements", text);
    }
    for (size_t i = 0; i < p->task->variant_count; i++)
        if (p->task->variants[i].kind != ATOLL_VARIANT_HIDDEN &&
            atoll_variant_is_here(w->parts->backend, &p->task->variants[i]) &&
            variant_check(w, &p->task->variants[i], err) != 0)
            return -1;
    if (atoll_plan_cover(p->task, p->plan, &p->choice, 0, &p->cover, err) != 0)
        return -1;
    for (size_t i = 0; i < p->cover.count; i++)
        if (p->cover.variants[i].kind != ATOLL_VARIANT_HIDDEN &&
            variant_check(w, &p->cover.variants[i], err) != 0)
            return -1;
    return 0;
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

/* -1 with what is wrong in mine, or with a failure of ours in err. */
static int unit_make(struct preparation *w, struct atoll_err *mine, struct atoll_err *err)
{
    struct atoll_prepared *p = w->p;
    struct atoll_buffer out;
    int is_other = w->parts->other_unit && strcmp(p->language, w->parts->backend->language) != 0, rc = 0;
    atoll_buffer_init(&out,
                      is_other ? 8 * UNIT_LIMIT : UNIT_LIMIT); /* a text within another one takes more */
    if (is_other) {
        rc = w->parts->other_unit(p, w->source, &out, mine);
    } else {
        prefix_print(p, w->first_line, &out);
        atoll_buffer_put_bytes(&out, p->body, strlen(p->body));
        atoll_buffer_printf(&out, "\n");
        if (w->parts->unit_end)
            w->parts->unit_end(p, &out);
    }
    if (!rc && !(rc = atoll_buffer_check(&out, err))) {
        p->unit_length = out.length;
        p->unit_text = atoll_arena_text(p->arena, (const char *)out.data, out.length, err);
        p->unit_name = is_other ? w->parts->backend->other_unit_name : w->parts->backend->unit_name;
        rc = p->unit_text ? 0 : -1;
    }
    atoll_buffer_fini(&out);
    return rc;
}

static int levels_pass(struct preparation *w, struct atoll_err *err)
{
    struct atoll_prepared *p = w->p;
    struct atoll_err mine = ATOLL_ERR_INIT;
    enum atoll_verdict verdict = ATOLL_V_BAD_PLAN;
    int failed = plan_check(w, &mine);
    if (!failed) {
        p->behaviour = atoll_behaviour_classify(p->language, p->body, p->plan, &p->choice);
        verdict = ATOLL_V_FORBIDDEN;
        const char *source = w->source;
        size_t line = 1;
        for (; source < p->body; source++)
            line += *source == '\n';
        w->first_line = line;
        failed = atoll_rules_check(p->language, p->body, (unsigned)line, &mine); /* level 2 */
    }
    if (!failed) {
        int rc = unit_make(w, &mine, err);
        if (rc && mine.code == ATOLL_E_INPUT) {
            p->plan = NULL;
            verdict_set(p, ATOLL_V_BAD_PLAN, mine.text);
            return 0;
        }
        if (rc && mine.code && err)
            *err = mine;
        for (size_t k = 0; !rc && k < p->plan->launch_count; k++) {
            char name[256] = "";
            w->parts->symbol(p, k, name, sizeof(name));
            p->symbols[k] = atoll_arena_text(p->arena, name, strlen(name), err);
            rc = p->symbols[k] ? 0 : -1;
        }
        if (!rc)
            p->symbol_count = p->plan->launch_count;
        return rc ? -1 : 0;
    }
    /* A failure of ours is an error of the caller's; everything else is the candidate's verdict. */
    if (mine.code == ATOLL_E_MEMORY || mine.code == ATOLL_E_INTERNAL) {
        if (err)
            *err = mine;
        return -1;
    }
    if (verdict == ATOLL_V_BAD_PLAN)
        p->plan = NULL;
    verdict_set(p, verdict, mine.text);
    return 0;
}

int atoll_prepare(struct atoll_prepared *p, const struct atoll_order_candidate *candidate,
                  const struct atoll_device_info *device, const struct atoll_prepare_parts *parts,
                  struct atoll_err *err)
{
    struct preparation w = {
        .p = p, .candidate = candidate, .device = device, .parts = parts, .first_line = 1};
    w.source = atoll_arena_text(p->arena, candidate->source, strlen(candidate->source), err);
    p->language = atoll_arena_text(p->arena, candidate->language, strlen(candidate->language), err);
    if (!w.source || !p->language)
        return -1;
    const char *other = parts->other_unit ? parts->backend->other_language : NULL;
    if (strcmp(p->language, parts->backend->language) == 0 || (other && strcmp(p->language, other) == 0))
        return levels_pass(&w, err);
    verdict_set(p, ATOLL_V_BAD_PLAN, "");
    snprintf(p->detail, sizeof(p->detail), "plan: the %s backend takes the language \"%s\"%s%s%s only",
             parts->backend->name, parts->backend->language, other ? " or \"" : "", other ? other : "",
             other ? "\"" : "");
    return 0;
}

struct atoll_prepared *atoll_prepared_create(const struct atoll_task *task,
                                             const struct atoll_backend *backend,
                                             const struct atoll_order_candidate *candidate,
                                             const struct atoll_device_info *device, struct atoll_err *err)
{
    if (strlen(candidate->source) > ATOLL_SOURCE_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "a source of more than %u bytes", ATOLL_SOURCE_LIMIT);
        return NULL;
    }
    struct atoll_prepared *p = calloc(1, sizeof(*p));
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a candidate");
        return NULL;
    }
    p->id = candidate->id;
    p->task = task;
    p->arena = atoll_arena_create(ARENA_LIMIT, err);
    if (!p->arena || backend->prepare(p, candidate, device, err) != 0) {
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

int atoll_prepared_compile(struct atoll_prepared *prepared, struct atoll_compiler *compiler,
                           struct atoll_compiled *ret_compiled, struct atoll_err *err)
{
    if (atoll_compiler_run(compiler, prepared->unit_name, prepared->unit_text, prepared->unit_length, NULL, 0,
                           ret_compiled, err) != 0)
        return -1;
    prepared->report = ret_compiled->report;
    prepared->compile_ns = ret_compiled->processor_ns;
    return 0;
}
