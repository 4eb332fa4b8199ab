/* prompt_kernel.c - the sections about kernels: the parent with what was measured of it, elites of other cells, the last
 * failures, and the diagnosis (core/diagnosis.h): of a wrong parent the class of its error, of a correct one what limits it,
 * with what to do next. */
#include "evolution/prompt/prompt_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/candidate.h"
#include "core/diagnosis.h"
#include "core/fitness.h"
#include "evolution/reply/reply.h"

#define PLAN_ARENA_BYTES ((size_t)4 << 20)
#define FAILURE_SOURCE   2400 /* bytes of a failed source that are shown */
#define FAILURE_DETAIL   900
#define NEAR_FLOOR       1.15 /* time over floor: little is left */

static void put_timings(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                        const struct atoll_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->timing_count && i < ATOLL_TASK_VARIANT_LIMIT; i++) {
        const struct atoll_timing *m = &evaluation->timings[i];
        char median[32], low[32], high[32], floor_text[32];
        if (m->variant >= input->task->variant_count ||
            input->task->variants[m->variant].kind == ATOLL_VARIANT_HIDDEN) {
            continue;
        }
        atoll_prompt_put(t, "- %s: median %s, 95 %% interval %s to %s, %zu samples",
                         input->task->variants[m->variant].name,
                         atoll_duration_text(m->summary.median, median, sizeof(median)),
                         atoll_duration_text(m->summary.lo95, low, sizeof(low)),
                         atoll_duration_text(m->summary.hi95, high, sizeof(high)), m->summary.count);
        double floor_ns = atoll_floor_trusted_ns(m->floor_ns, m->summary.median);
        if (floor_ns > 0 && m->summary.median > 0) {
            atoll_prompt_put(t, "; floor %s (%.0f %% of it reached)",
                             atoll_duration_text(floor_ns, floor_text, sizeof(floor_text)),
                             100 * floor_ns / m->summary.median);
        }
        atoll_prompt_put(t, "%s\n",
                         m->flags & ATOLL_TIMING_DROPPED_EARLY ? "; dropped early: clearly slower" : "");
    }
}

static void put_resources(struct atoll_prompt_text *t, const struct atoll_resources *r)
{
    int any = 0;
    if (!r->kernel_count)
        return;
    atoll_prompt_put(t,
                     "Resources: %u registers per thread, %u bytes of static and %u of dynamic shared memory",
                     r->registers, r->static_shared_bytes, r->dynamic_shared_bytes);
    if (r->spill_store_bytes || r->spill_load_bytes) {
        atoll_prompt_put(t, ", %u bytes spilled and %u loaded again per thread", r->spill_store_bytes,
                         r->spill_load_bytes);
    }
    if (r->stack_bytes)
        atoll_prompt_put(t, ", %u bytes of stack", r->stack_bytes);
    if (r->occupancy > 0)
        atoll_prompt_put(t, ", theoretical occupancy %.0f %%", 100 * r->occupancy);
    atoll_prompt_put(t, ".\n");
    for (unsigned i = 0; i < ATOLL_MIX_COUNT; i++) {
        if (r->mix[i]) {
            atoll_prompt_put(t, "%s%s %u",
                             any ? ", " : "Instructions in the binary: ", atoll_mix_name((enum atoll_mix)i),
                             r->mix[i]);
            any = 1;
        }
    }
    atoll_prompt_put(t, any ? ".\n" : "");
}

static void put_profile(struct atoll_prompt_text *t, const struct atoll_profile *profile)
{
    int any = 0;
    for (unsigned i = 0; i < ATOLL_COUNTER_COUNT; i++) {
        char text[32];
        const char *unit = atoll_counter_unit((enum atoll_counter)i);
        if (isnan(profile->counters[i]) || i == ATOLL_COUNTER_TIME_NS)
            continue;
        atoll_prompt_put(t, "%s%s %s%s", any ? ", " : "Counters: ", atoll_counter_name((enum atoll_counter)i),
                         atoll_count_text(profile->counters[i], text, sizeof(text)),
                         unit[0] == '%'   ? " %"
                         : unit[0] == 'b' ? "B"
                                          : "");
        any = 1;
    }
    atoll_prompt_put(t, any ? ".\n" : "");
    if (profile->intensity_flops_per_byte > 0) {
        atoll_prompt_put(t, "Useful operations per byte of memory traffic: %.3g.\n",
                         profile->intensity_flops_per_byte);
    }
    put_resources(t, &profile->resources);
}

int atoll_prompt_is_correct(const struct atoll_prompt_kernel *kernel)
{
    return kernel->evaluation && kernel->evaluation->verdict == ATOLL_V_CORRECT;
}

/* "TM=64 TN=32" when the kernel has a choice that fits its plan, else "".  No memory is the section's failure. */
static void choice_text(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                        const struct atoll_prompt_kernel *kernel, char *ret_text, size_t bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body = NULL;
    ret_text[0] = 0;
    if (!kernel->choice || !kernel->choice->count)
        return;
    struct atoll_arena *arena = atoll_arena_create(PLAN_ARENA_BYTES, &err);
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, input->task, input->language, kernel->source, &body, &err) : NULL;
    if (plan && plan->param_count == kernel->choice->count)
        atoll_choice_text(plan, kernel->choice, ret_text, bytes);
    if (err.code == ATOLL_E_MEMORY)
        t->text.failed = ATOLL_E_MEMORY;
    atoll_arena_destroy(arena);
}

static void put_detail(struct atoll_prompt_text *t, const struct atoll_evaluation *evaluation, size_t cap)
{
    if (!evaluation->detail[0])
        return;
    const char *detail = evaluation->detail;
    if (strstr(detail, "variant hidden") || strstr(detail, "variant 'hidden") ||
        strstr(detail, "hidden variant")) {
        atoll_prompt_put(t, "It happened at a shape that is not listed.\n");
    } else {
        atoll_prompt_put_quote(t, evaluation->detail, cap);
    }
}

static void put_cell(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                     const struct atoll_behaviour *b)
{
    const unsigned levels[] = {b->memory, b->algorithm, b->coordination};
    for (unsigned d = 0; d < 3; d++) {
        atoll_prompt_put(t, "%s%s: %s", d ? "; " : "How it works: ", atoll_behaviour_dimension_name(d),
                         atoll_behaviour_level_text_of(input->language, d, levels[d]));
    }
    atoll_prompt_put(t, ".\n");
}

static void put_speed(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel)
{
    char time[32];
    if (!(kernel->time_ns > 0))
        return;
    atoll_prompt_put(t, "Time %s (weighted over the timed shapes)",
                     atoll_duration_text(kernel->time_ns, time, sizeof(time)));
    if (kernel->speedup > 0)
        atoll_prompt_put(t, ", %.3g times the baseline's speed", kernel->speedup);
    atoll_prompt_put(t, ".\n");
}

static void put_choice(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                       const struct atoll_prompt_kernel *kernel)
{
    char choice[512];
    choice_text(input, t, kernel, choice, sizeof(choice));
    if (choice[0]) {
        atoll_prompt_put(t,
                         "It is a template; measured with %s. A template of yours with these params should "
                         "try these values first.\n",
                         choice);
    }
}

void atoll_prompt_write_parent(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!parent) {
        atoll_prompt_put(t, "There is none: write a first kernel from scratch, correct above all.\n");
        return;
    }
    atoll_prompt_put_code(t, input->language, parent->source, 0);
    atoll_prompt_put(t, "\n");
    if (!parent->evaluation) {
        atoll_prompt_put(t, "It was not measured yet.\n");
        return;
    }
    atoll_prompt_put(t, "Verdict: %s.\n", atoll_verdict_name(parent->evaluation->verdict));
    put_choice(input, t, parent);
    if (atoll_prompt_is_correct(parent)) {
        put_speed(t, parent);
        put_cell(input, t, &parent->evaluation->behaviour);
        put_timings(input, t, parent->evaluation);
        put_profile(t, &parent->evaluation->profile);
    }
}

void atoll_prompt_write_inspiration(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->inspiration_count || !input->inspirations)
        return;
    atoll_prompt_put(t, "Correct kernels for this task that work in other ways. Take ideas from them where "
                        "they are better; do not return one of them.\n");
    for (size_t i = 0; i < input->inspiration_count && i < ATOLL_ASK_INSPIRATION_LIMIT; i++) {
        const struct atoll_prompt_kernel *k = &input->inspirations[i];
        atoll_prompt_put(t, "\n## Kernel %zu\n\n", i + 1);
        put_speed(t, k);
        put_choice(input, t, k);
        if (k->evaluation)
            put_cell(input, t, &k->evaluation->behaviour);
        atoll_prompt_put(t, "\n");
        atoll_prompt_put_code(t, input->language, k->source, 0);
    }
}

/* The complaint of an answer that could not be read stands in its comment. */
static int put_unusable(struct atoll_prompt_text *t, const char *source)
{
    char why[512];
    size_t prefix = strlen(ATOLL_REPLY_UNUSABLE);
    const char *end = strncmp(source, ATOLL_REPLY_UNUSABLE, prefix) == 0 ? strstr(source, " */") : NULL;
    if (!end)
        return 0;
    snprintf(why, sizeof(why), "%.*s",
             (int)(end - source - (long)prefix < 500 ? end - source - (long)prefix : 500), source + prefix);
    atoll_prompt_put(t, "The answer could not be used:\n\n");
    atoll_prompt_put_quote(t, why, 0);
    atoll_prompt_put(t, "\nIt began:\n\n");
    atoll_prompt_put_quote(t, end + 3 + (end[3] == '\n'), 600);
    return 1;
}

void atoll_prompt_write_failures(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->failure_count || !input->failures)
        return;
    atoll_prompt_put(t, "What was tried lately and did not work. Do not repeat these mistakes.\n");
    for (size_t i = 0; i < input->failure_count && i < ATOLL_ASK_FAILURE_LIMIT; i++) {
        const struct atoll_prompt_kernel *k = &input->failures[i];
        atoll_prompt_put(t, "\n## Failure %zu%s%s\n\n", i + 1, k->evaluation ? ": " : "",
                         k->evaluation ? atoll_verdict_name(k->evaluation->verdict) : "");
        if (put_unusable(t, k->source))
            continue;
        put_choice(input, t, k);
        if (k->evaluation)
            put_detail(t, k->evaluation, FAILURE_DETAIL);
        atoll_prompt_put(t, "\n");
        atoll_prompt_put_code(t, input->language, k->source, FAILURE_SOURCE);
    }
}

/* The diagnosis in words, and what to do about it. */
static void put_diagnosis(struct atoll_prompt_text *t, const struct atoll_diagnosis *d)
{
    char text[ATOLL_DIAGNOSIS_BYTES];
    const char *advice = atoll_diagnosis_advice(d);
    atoll_prompt_put(t, "%s%s%s\n", atoll_diagnosis_text(d, text, sizeof(text)), *advice ? " " : "", advice);
}

static void put_error(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *parent,
                      struct atoll_diagnosis *d)
{
    const struct atoll_evaluation *e = parent->evaluation;
    int unusable = strncmp(parent->source, ATOLL_REPLY_UNUSABLE, strlen(ATOLL_REPLY_UNUSABLE)) == 0;
    if (unusable)
        d->error = ATOLL_ERROR_ANSWER;
    atoll_prompt_put(t, "The parent is not correct: %s. First make it correct, then fast.\n",
                     atoll_verdict_name(e->verdict));
    put_diagnosis(t, d);
    if (unusable) {
        atoll_prompt_put(t, "Its first line says why.\n");
    } else if (e->detail[0]) {
        atoll_prompt_put(t, "\nWhat was reported:\n\n");
        put_detail(t, e, 0);
    }
}

static void put_gap(struct atoll_prompt_text *t, double time_ns, double floor_ns)
{
    if (!(floor_ns > 0) || !(time_ns > 0))
        return;
    if (time_ns < NEAR_FLOOR * floor_ns) {
        atoll_prompt_put(t, "It runs at %.0f %% of the floor's speed: what is left to gain is small.\n",
                         100 * floor_ns / time_ns);
    } else {
        atoll_prompt_put(t, "The floor says that the same work could take 1/%.3g of its time.\n",
                         time_ns / floor_ns);
    }
}

static void put_spills(struct atoll_prompt_text *t, const struct atoll_resources *r)
{
    if (r->kernel_count && r->spill_load_bytes + r->spill_store_bytes > 0)
        atoll_prompt_put(t, "Registers spill to memory: use fewer per thread, or allow more of them.\n");
    if (r->kernel_count && r->mix[ATOLL_MIX_FP64] > 0 && r->mix[ATOLL_MIX_FP32] > 0) {
        atoll_prompt_put(t,
                         "The binary has %u double-precision instructions beside the single-precision ones: "
                         "check that no constant lacks its f.\n",
                         r->mix[ATOLL_MIX_FP64]);
    }
}

void atoll_prompt_write_diagnosis(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!parent || !parent->evaluation)
        return;
    const struct atoll_evaluation *e = parent->evaluation;
    struct atoll_diagnosis d;
    atoll_diagnose_evaluation(e, input->task, input->device, &d);
    if (!atoll_prompt_is_correct(parent)) {
        put_error(t, parent, &d);
        return;
    }
    double floor_ns = atoll_evaluation_floor_ns(e, input->task);
    double time_ns = parent->time_ns > 0 ? parent->time_ns : atoll_evaluation_time_ns(e, input->task);
    floor_ns = atoll_floor_trusted_ns(floor_ns > 0 ? floor_ns : input->floor_ns, time_ns);
    atoll_prompt_put(t, "The parent is correct. ");
    put_diagnosis(t, &d);
    put_gap(t, time_ns, floor_ns);
    put_spills(t, &e->profile.resources);
    if (e->worst_error > 0.5 && e->worst_error < 1) {
        atoll_prompt_put(
            t, "Its worst error is %.2g of the tolerance: there is no room for less exact arithmetic.\n",
            e->worst_error);
    } else if (e->worst_error > 0 && e->worst_error < 0.05) {
        atoll_prompt_put(
            t, "Its worst error is only %.2g of the tolerance: less exact and cheaper arithmetic may do.\n",
            e->worst_error);
    }
}
