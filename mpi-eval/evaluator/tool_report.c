#include "mpi-eval/evaluator/tool_report.h"

#include <string.h>

#include "base/text_excerpt.h"
#include "core/candidate.h"
#include "evolution/tuner/tune.h"

#define PLAN_BYTES    ((size_t)32 << 20) /* of the arena of one plan */
#define LISTING_BYTES ((size_t)16 << 20)
#define LISTED_LINES  24
#define LISTED_BESIDE 4
#define FAR           8 /* times as large */
#define LISTED_WORK   ((uint64_t)1 << 28)

/* As the engine chooses the first instance of a source. */
static int choose(const struct atoll_task *task, const struct atoll_plan *plan, struct atoll_choice *choice,
                  struct atoll_err *err)
{
    atoll_plan_first_choice(plan, choice);
    if (!plan->param_count)
        return 0;
    struct atoll_tune *tune = atoll_tune_create(task, plan, err);
    if (!tune)
        return -1;
    atoll_tune_first(tune, choice);
    atoll_tune_destroy(tune);
    return 0;
}

int atoll_tool_candidate(const struct atoll_task *task, const struct atoll_tool_order *order,
                         struct atoll_order_candidate *ret_candidate, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    const char *body = NULL;
    struct atoll_arena *passing = atoll_arena_create(PLAN_BYTES, err);
    if (!passing)
        return -1;
    struct atoll_order_candidate c = {.id = atoll_source_id(order->language, order->source),
                                      .language = order->language,
                                      .source = order->source};
    const struct atoll_plan *plan =
        atoll_plan_parse(passing, task, order->language, order->source, &body, &why);
    int rc = plan ? choose(task, plan, &c.choice, err) : why.code == ATOLL_E_MEMORY ? -1 : 0;
    if (plan && rc == 0)
        c.id = atoll_candidate_id(task, order->language, plan, body, &c.choice);
    else if (rc != 0 && !plan && err)
        *err = why;
    atoll_arena_destroy(passing);
    if (rc == 0)
        *ret_candidate = c;
    return rc;
}

static void put_listing(const struct atoll_buffer *listing, const char *text, struct atoll_buffer *out)
{
    struct atoll_pattern pattern;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t work = LISTED_WORK;
    const struct atoll_text_wanted wanted = {.pattern = &pattern, .work = &work};
    if (!listing->length) {
        atoll_buffer_printf(out, "no instructions are listed\n");
    } else if (atoll_pattern_parse(text, &pattern, &err) != 0) {
        atoll_buffer_printf(out, "%s\n", err.text);
    } else {
        atoll_buffer_printf(out, "instructions that match, with those beside them:\n");
        size_t count = atoll_text_excerpt((const char *)listing->data, listing->length, &wanted, LISTED_LINES,
                                          LISTED_BESIDE, out);
        atoll_buffer_printf(out, "%zu match%s\n", count, count == 1 ? "es" : "");
    }
}

void atoll_tool_report_compiled(const struct atoll_backend *backend, const struct atoll_prepared *prepared,
                                const struct atoll_object *object, const struct atoll_device_info *device,
                                const char *pattern, struct atoll_buffer *out)
{
    char choice[512];
    struct atoll_buffer listing;
    atoll_buffer_init(&listing, LISTING_BYTES);
    atoll_buffer_printf(out, "it compiles (%.2f s)", object->compile_ns / 1e9);
    if (prepared->plan->param_count)
        atoll_buffer_printf(out, " with %s",
                            atoll_choice_text(prepared->plan, &prepared->choice, choice, sizeof(choice)));
    atoll_buffer_printf(out, "\n");
    if (backend->describe)
        backend->describe(prepared, object->bytes, object->length, device, out, *pattern ? &listing : NULL);
    if (*pattern)
        put_listing(&listing, pattern, out);
    atoll_buffer_fini(&listing);
}

/* Which code the runs of a plan with several paths went through: a path that none took is not known to be right. */
static void put_paths(const struct atoll_prepared *p, struct atoll_buffer *out)
{
    int any = 0;
    if (!p || !p->plan || p->plan->path_count < 2)
        return;
    for (size_t i = 0; i < p->task->variant_count + p->cover.count; i++) {
        const struct atoll_variant *v = i < p->task->variant_count
                                            ? &p->task->variants[i]
                                            : &p->cover.variants[i - p->task->variant_count];
        size_t path;
        if (v->kind != ATOLL_VARIANT_CHECK || atoll_plan_path_at(p->task, p->plan, v, &path, NULL) != 0)
            continue;
        atoll_buffer_printf(out, "%s%s took paths[%zu]", any ? ", " : "; of the plan ", v->name, path);
        any = 1;
    }
}

static int64_t largest_of(const struct atoll_task *task, const struct atoll_plan_cover *cover, size_t dim,
                          enum atoll_variant_kind kind)
{
    int64_t largest = 0;
    for (size_t i = 0; i < task->variant_count + cover->count; i++) {
        const struct atoll_variant *v =
            i < task->variant_count ? &task->variants[i] : &cover->variants[i - task->variant_count];
        if (v->kind == kind && v->dims[dim] > largest)
            largest = v->dims[dim];
    }
    return largest;
}

/* Extents that are far from those that are timed: loops over them went round so seldom that later turns of a ring, or the other
 * parity of a barrier, may never have come. */
static void put_reach(const struct atoll_prepared *p, struct atoll_buffer *out)
{
    int any = 0;
    for (size_t d = 0; p && d < p->task->dim_count; d++) {
        int64_t checked = largest_of(p->task, &p->cover, d, ATOLL_VARIANT_CHECK),
                timed = largest_of(p->task, &p->cover, d, ATOLL_VARIANT_BENCH);
        if (!checked || timed / FAR < checked)
            continue;
        atoll_buffer_printf(out, "%s%s up to %lld (timed: %lld)", any ? ", " : "; checked were ",
                            p->task->dims[d], (long long)checked, (long long)timed);
        any = 1;
    }
    if (any)
        atoll_buffer_printf(out,
                            ": what a loop does in later turns (rings of stages, parities) is not shown");
}

enum atoll_tool_status atoll_tool_report_verdict(enum atoll_tool tool,
                                                 const struct atoll_evaluation *evaluation,
                                                 const struct atoll_prepared *prepared,
                                                 struct atoll_buffer *out)
{
    const char *name = atoll_verdict_name(evaluation->verdict);
    if (evaluation->verdict == ATOLL_V_INFRASTRUCTURE) {
        atoll_buffer_printf(out, "this could not be done, and says nothing of the source: %s",
                            evaluation->detail);
        return ATOLL_TOOL_ERROR;
    }
    if (evaluation->verdict == ATOLL_V_CORRECT) {
        atoll_buffer_printf(
            out,
            "it is right at all check variants: %u runs, every output compared in full, the largest "
            "error %.3g of the tolerance; no time was measured",
            evaluation->draw_count, evaluation->worst_error);
        put_paths(prepared, out);
        put_reach(prepared, out);
    } else {
        atoll_buffer_printf(out, "%s%s: %s", tool == ATOLL_TOOL_CHECK ? "it is refused: " : "", name,
                            evaluation->detail);
    }
    return ATOLL_TOOL_OK;
}
