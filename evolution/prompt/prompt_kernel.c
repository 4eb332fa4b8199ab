/* prompt_kernel.c - the sections about kernels: the parent with what was measured of it, elites of other cells, the last
 * failures, and the diagnosis (papers/001 3.3.2): of a wrong parent the class of its error with what to do next, of a
 * correct one what limits it.  Classes are found in the verdict and in the words of the referee's own details; a detail
 * that no row knows gets its verdict's row. */
#include "evolution/prompt/prompt_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/candidate.h"
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

struct error_class {
    enum atoll_verdict verdict;
    const char *part; /* of the detail; NULL: any */
    const char *name, *advice;
};

static const struct error_class classes[] = {
    {ATOLL_V_BAD_PLAN, "not valid JSON", "plan",
     "The plan's comment is not valid JSON: check quotes, commas and braces, and write no comments inside of "
     "it."},
    {ATOLL_V_BAD_PLAN, "requirements", "plan",
     "The first value of every param is the default combination: it has to meet all of require."},
    {ATOLL_V_BAD_PLAN, "widen its condition", "plan: path",
     "A path's condition fits next to nothing but a timed shape, so it cannot be checked elsewhere. Say what "
     "the "
     "path's code needs of the dims, not which shape it is for."},
    {ATOLL_V_BAD_PLAN, NULL, "plan",
     "The launch plan was refused before anything was compiled. Repair the field that the message names; the "
     "form is in the plan's description above."},
    {ATOLL_V_FORBIDDEN, "include", "forbidden",
     "Include only the headers on the list, in angle brackets; copy what else is needed into the source."},
    {ATOLL_V_FORBIDDEN, NULL, "forbidden",
     "A static rule refused the source. Keep the idea and write it without the construct that the message "
     "names."},
    {ATOLL_V_COMPILE_ERROR, "undeclared", "compile: unknown name",
     "A name is not declared: include its header if it is on the list, define it, or pass it as an argument. "
     "Only params are macros; dims and tensors are known to the plan alone."},
    {ATOLL_V_COMPILE_ERROR, "implicit declaration", "compile: unknown function",
     "A function is not declared: include its header if it is on the list, or write it."},
    {ATOLL_V_COMPILE_ERROR, "undefined", "compile: unknown name",
     "A name is not defined: include its header if it is on the list, define it, or pass it as an argument. "
     "Only params are macros; dims and tensors are known to the plan alone."},
    {ATOLL_V_COMPILE_ERROR, "inlining failed", "compile: instruction set",
     "An intrinsic needs an instruction set that this processor lacks: guard it by #ifdef, or use the "
     "compiler's vector types."},
    {ATOLL_V_COMPILE_ERROR, "too few arguments", "compile: arguments",
     "The plan's args and the function's parameters do not agree: same number, same order, same types, "
     "behind unit_begin and unit_end where the language is c."},
    {ATOLL_V_COMPILE_ERROR, "too many arguments", "compile: arguments",
     "The plan's args and the function's parameters do not agree: same number, same order, same types, "
     "behind unit_begin and unit_end where the language is c."},
    {ATOLL_V_COMPILE_ERROR, "plan.launch", "compile: launch",
     "The call that the harness makes from the plan does not compile: the plan's function, args and the "
     "source's signature must agree."},
    {ATOLL_V_COMPILE_ERROR, "plan.paths", "compile: launch",
     "The call that the harness makes from the plan does not compile: the path's function, args and the "
     "source's signature must agree."},
    {ATOLL_V_COMPILE_ERROR, "writable data", "compile: state",
     "Global and static variables that can be written are not allowed: keep state in arguments, locals and "
     "the plan's scratch."},
    {ATOLL_V_COMPILE_ERROR, NULL, "compile",
     "The source does not compile. Repair the first error first; later ones often follow from it."},
    {ATOLL_V_LAUNCH_ERROR, "resources", "launch",
     "The launch asks for more than the device has: fewer threads, registers (__launch_bounds__) or shared "
     "bytes."},
    {ATOLL_V_LAUNCH_ERROR, NULL, "launch",
     "The plan could not be launched. Compare grid, block, shared_bytes and arguments with the device's "
     "limits and with every listed shape, the small ones too."},
    {ATOLL_V_CRASH, NULL, "memory fault",
     "The kernel accessed memory that is not its own. Check every index at the smallest shapes and at the "
     "last, partial tile; check the size of scratch and the alignment that vector accesses assume."},
    {ATOLL_V_TIMEOUT, NULL, "timeout",
     "The kernel did not finish. Look for a loop that never ends at small shapes, a barrier that not all "
     "threads reach, waiting for another block or unit, or far too much work in one place."},
    {ATOLL_V_WRONG, "out of bounds", "memory fault",
     "The kernel wrote beyond a tensor. Guard the stores of the last, partial tile."},
    {ATOLL_V_WRONG, "changed the input", "memory fault",
     "An input was written. Inputs are read-only; use scratch for what has to be changed."},
    {ATOLL_V_WRONG, "never written", "tail",
     "Elements of the output were never written. Check that units or grid cover every element at every "
     "shape, and the remainder of every loop."},
    {ATOLL_V_WRONG, "missing tail", "tail",
     "The end of the data is wrong. Handle extents that are no multiple of the tile or vector: finish them "
     "by a scalar loop or a mask."},
    {ATOLL_V_WRONG, "prefix", "tail",
     "Only the beginning is computed. Let units or grid cover the whole extent."},
    {ATOLL_V_WRONG, "transposed", "shape",
     "Rows and columns are exchanged. Check strides and the order of indices."},
    {ATOLL_V_WRONG, "off by", "shape", "Results stand at wrong places. Check the arithmetic of offsets."},
    {ATOLL_V_WRONG, "constant factor", "numerics",
     "All results are off by one factor. Check scales and divisors."},
    {ATOLL_V_WRONG, "constant offset", "numerics",
     "All results are off by one constant. Check initial values of sums."},
    {ATOLL_V_WRONG, "NaN or Inf", "numerics",
     "There is NaN or Inf where the reference is finite. Check empty ranges, division by zero, overflow of "
     "exp (subtract the maximum), and uninitialised scratch."},
    {ATOLL_V_WRONG, "precision", "numerics",
     "The results are nearly right: accumulate in wider types or in several partial sums, use a longer "
     "polynomial, or a more exact function."},
    {ATOLL_V_WRONG, "race", "race",
     "Few scattered elements are wrong, which is typical of a race: put a barrier between writing and "
     "reading shared data, let no two units write the same element, and remember that launches alone are "
     "ordered."},
    {ATOLL_V_WRONG, NULL, "numerics or indexing",
     "The output is wrong. Follow the worst element that the message names through the code, at that shape."},
    {ATOLL_V_UNSTABLE, NULL, "unstable",
     "It was correct, but its times could not be measured on a disturbed device. Nothing in the kernel needs "
     "to change for that."},
    {ATOLL_V_IMPOSSIBLE, NULL, "impossible",
     "It was faster than the hardware can move the data, so it does not do the work. Compute every output "
     "from the inputs, in every call."},
    {ATOLL_V_INFRASTRUCTURE, NULL, "infrastructure",
     "The measurement failed for reasons outside of the kernel."},
};

static const char *const limiters[ATOLL_LIMITER_COUNT] = {
    [ATOLL_LIMITER_MEMORY] = "It is limited by memory: bandwidth is nearly used up. Only moving fewer bytes "
                             "helps: fuse passes, keep what is used again in registers or near memory, read "
                             "each input once, and write each output once.",
    [ATOLL_LIMITER_INSTRUCTION] = "It is limited by instructions: a pipe or the issue slots are nearly full. "
                                  "Do less per element: wider vectors, cheaper formulas, less index "
                                  "arithmetic, matrix instructions where the precisions allow them.",
    [ATOLL_LIMITER_LATENCY] =
        "It is limited by latency: neither memory nor arithmetic is busy, so it waits. Keep more work in "
        "flight: several independent accumulators, more outputs per thread, prefetching or asynchronous "
        "copies, more resident threads, fewer barriers.",
    [ATOLL_LIMITER_LAUNCH] = "It is limited by launches: its time is close to that of an empty one. Use "
                             "fewer launches and less set-up; there is little else to gain.",
};

static void put_error(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *parent)
{
    const struct atoll_evaluation *e = parent->evaluation;
    const struct error_class *c = NULL;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes) && !c; i++)
        if (classes[i].verdict == e->verdict && (!classes[i].part || strstr(e->detail, classes[i].part)))
            c = &classes[i];
    int unusable = strncmp(parent->source, ATOLL_REPLY_UNUSABLE, strlen(ATOLL_REPLY_UNUSABLE)) == 0;
    atoll_prompt_put(t, "The parent is not correct: %s. First make it correct, then fast.\n",
                     atoll_verdict_name(parent->evaluation->verdict));
    if (unusable) {
        atoll_prompt_put(
            t, "It is an answer in which no kernel was found; its first line says why. Write a whole one.\n");
    } else if (c) {
        atoll_prompt_put(t, "Class of the error: %s. %s\n", c->name, c->advice);
    }
    if (parent->evaluation->detail[0] && !unusable) {
        atoll_prompt_put(t, "\nWhat was reported:\n\n");
        put_detail(t, parent->evaluation, 0);
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

/* Without counters: what time, floor and an empty launch say. */
static const char *guess(const struct atoll_prompt_input *input, double time_ns, double floor_ns)
{
    if (input->device && input->device->empty_launch_ns > 0 && time_ns > 0 &&
        time_ns < 3 * input->device->empty_launch_ns) {
        return limiters[ATOLL_LIMITER_LAUNCH];
    }
    if (floor_ns > 0 && time_ns > 0 && time_ns < NEAR_FLOOR * floor_ns)
        return "It is at the floor of bandwidth and peak arithmetic.";
    return "No counters were measured that would say what limits it. Compare useful operations and bytes "
           "with the device's peaks: work out which of the two it should be limited by, and what in the "
           "kernel keeps it away from there.";
}

void atoll_prompt_write_diagnosis(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!parent || !parent->evaluation)
        return;
    const struct atoll_evaluation *e = parent->evaluation;
    if (!atoll_prompt_is_correct(parent)) {
        put_error(t, parent);
        return;
    }
    double floor_ns = atoll_evaluation_floor_ns(e, input->task);
    double time_ns = parent->time_ns > 0 ? parent->time_ns : atoll_evaluation_time_ns(e, input->task);
    floor_ns = atoll_floor_trusted_ns(floor_ns > 0 ? floor_ns : input->floor_ns, time_ns);
    const char *limiter =
        (unsigned)e->profile.limiter < ATOLL_LIMITER_COUNT ? limiters[e->profile.limiter] : NULL;
    atoll_prompt_put(t, "The parent is correct. %s\n", limiter ? limiter : guess(input, time_ns, floor_ns));
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
