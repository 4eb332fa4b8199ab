/* prompt_task.c - the sections that say what is to be computed, on what, and what is wanted: task, reference, device, where
 * the search stands, directions.  Hidden variants and seeds of draws stay out; names of dims and
 * tensors are identifiers (core/task/task_check.c), the rest of a task is quoted. */
#include <string.h>

#include "base/units.h"
#include "core/facts.h"
#include "core/fitness.h"
#include "evolution/population/advice.h"
#include "evolution/prompt/prompt_form.h"
#include "evolution/prompt/prompt_kernel.h"

#define SEGMENT_LINES 64

static void put_values(struct atoll_prompt_text *t, const struct atoll_init *init)
{
    const char *bound = init->bound ? atoll_expression_text(init->bound) : NULL;
    switch (init->kind) {
    case ATOLL_INIT_NORMAL: atoll_prompt_put(t, "normal, mean %g, deviation %g", init->a, init->b); break;
    case ATOLL_INIT_UNIFORM: atoll_prompt_put(t, "uniform in [%g, %g]", init->a, init->b); break;
    case ATOLL_INIT_INTEGER:
        if (bound)
            atoll_prompt_put(t, "integers from %g to below %.200s", init->a, bound);
        else
            atoll_prompt_put(t, "integers from %g to below %g", init->a, init->b);
        break;
    case ATOLL_INIT_INDEX: atoll_prompt_put(t, "each its own flat index"); break;
    case ATOLL_INIT_PERMUTATION:
        atoll_prompt_put(t, "a permutation of 0 to the last extent - 1 in every row");
        break;
    case ATOLL_INIT_RAGGED:
        atoll_prompt_put(t, "ascending offsets from 0 to %.200s, segments may be empty",
                         bound ? bound : "the end");
        break;
    case ATOLL_INIT_CONSTANT: atoll_prompt_put(t, "all %g", init->a); break;
    case ATOLL_INIT_SEGMENTS:
        atoll_prompt_put(t, "several weights, one after the other without padding");
        break;
    }
}

/* Where each weight of a packed tensor lies: its first element is the sum of the counts before it. */
static void put_segments(struct atoll_prompt_text *t, const struct atoll_tensor *tensor)
{
    for (size_t i = 0; i < tensor->segment_count && i < SEGMENT_LINES; i++) {
        const struct atoll_segment *s = &tensor->segments[i];
        atoll_prompt_put(t, "  - %.200s elements", atoll_expression_text(s->count));
        if (s->parameter)
            atoll_prompt_put(t, " of `%s`", s->parameter);
        atoll_prompt_put(t, "; values: ");
        put_values(t, &s->init);
        atoll_prompt_put(t, "\n");
    }
    if (tensor->segment_count > SEGMENT_LINES)
        atoll_prompt_put(t, "  - and %zu more\n", tensor->segment_count - SEGMENT_LINES);
}

/* What a tensor is to a module of PyTorch. */
static void put_module_role(struct atoll_prompt_text *t, const struct atoll_tensor *tensor)
{
    if (tensor->parameter)
        atoll_prompt_put(t, "; the module's `%s`", tensor->parameter);
    if (tensor->of && tensor->role == ATOLL_ROLE_OUT)
        atoll_prompt_put(t, "; the gradient with respect to `%s`", tensor->of);
    else if (tensor->of)
        atoll_prompt_put(t, "; the gradient that flows into result %s", tensor->of);
}

static void put_tensor(struct atoll_prompt_text *t, const struct atoll_tensor *tensor)
{
    static const char *const tensor_roles[] = {"input, never written",
                                               "output, every element must be written",
                                               "input and output in place", "input (weights), never written"};
    int reads = tensor->role == ATOLL_ROLE_IN || tensor->role == ATOLL_ROLE_CONSTANT;
    atoll_prompt_put(t, "- `%s`: %s ", tensor->name, atoll_dtype_name(tensor->dtype));
    for (size_t i = 0; i < tensor->rank; i++)
        atoll_prompt_put(t, "%s%.200s", i ? ", " : "[", atoll_expression_text(tensor->shape[i]));
    atoll_prompt_put(t, "%s]", tensor->rank ? "" : "[");
    atoll_prompt_put(t, ", %s; as an argument `%s%s *`", tensor_roles[tensor->role], reads ? "const " : "",
                     atoll_dtype_c_type(tensor->dtype));
    if (tensor->role != ATOLL_ROLE_OUT) {
        atoll_prompt_put(t, "; values: ");
        put_values(t, &tensor->init);
    }
    put_module_role(t, tensor);
    atoll_prompt_put(t, "\n");
    put_segments(t, tensor);
}

static void put_distributions(struct atoll_prompt_text *t, unsigned set)
{
    static const char *const texts[] = {NULL, "scaled by 1/16 to 4", "with many ties",
                                        "with half of the elements zero", "with one sign per row"};
    int any = 0;
    for (unsigned i = 1; i < 5; i++) {
        if (set & (1u << i)) {
            atoll_prompt_put(t, "%s%s", any ? ", " : "Normal and uniform values are in some draws ",
                             texts[i]);
            any = 1;
        }
    }
    atoll_prompt_put(t, any ? "; results must be right in all of them.\n" : "");
}

static void put_tolerance(struct atoll_prompt_text *t, const struct atoll_tolerance *o)
{
    atoll_prompt_put(t,
                     "Tolerance: an element y with reference r is right when |y - r| <= %g + %g * max(|r|, "
                     "s), s being the scale that the reference gives, else 0.",
                     o->atol, o->rtol);
    if (o->norm > 0)
        atoll_prompt_put(t, " Also ||y - r|| <= %g * ||r||.", o->norm);
    if (o->cosine > 0)
        atoll_prompt_put(t, " Also cos(y, r) >= %g.", o->cosine);
    if (o->wrong_share > 0)
        atoll_prompt_put(t, " At most %g of the elements may be wrong.", o->wrong_share);
    else
        atoll_prompt_put(t, " No element may be wrong.");
    atoll_prompt_put(t, "\n");
}

static void put_precisions(struct atoll_prompt_text *t, unsigned set)
{
    int any = 0;
    for (unsigned i = 0; i <= ATOLL_DTYPE_COUNT; i++) {
        if (set & (1u << i)) {
            atoll_prompt_put(t, "%s%s", any ? ", " : "Arithmetic that is allowed inside: ",
                             i == ATOLL_DTYPE_COUNT ? "tf32" : atoll_dtype_name((enum atoll_dtype)i));
            any = 1;
        }
    }
    atoll_prompt_put(t, any ? " (wider is always allowed).\n" : "");
}

static void put_variants(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_task *task = input->task;
    atoll_prompt_put(t, "Shapes:\n");
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (v->kind == ATOLL_VARIANT_HIDDEN || (v->backend && strcmp(v->backend, input->backend) != 0))
            continue;
        atoll_prompt_put(t, "- %s (%s):", v->name,
                         v->kind == ATOLL_VARIANT_BENCH ? "timed and checked" : "checked only");
        for (size_t d = 0; d < task->dim_count; d++)
            atoll_prompt_put(t, " %s=%lld", task->dims[d], (long long)v->dims[d]);
        if (v->kind == ATOLL_VARIANT_BENCH) {
            struct atoll_work work;
            char flops[32], reads[32], writes[32];
            if (atoll_task_work(task, v, &work, NULL) == 0) {
                atoll_count_text(work.flops + work.matrix_flops, flops, sizeof(flops));
                atoll_prompt_put(t, "; %s useful operations, at least %sB read and %sB written",
                                 task->flops ? flops : "an unknown number of",
                                 atoll_count_text(work.read_bytes, reads, sizeof(reads)),
                                 atoll_count_text(work.write_bytes, writes, sizeof(writes)));
            }
            if (v->weight < 1 || v->weight > 1)
                atoll_prompt_put(t, "; weight %g", v->weight);
        }
        atoll_prompt_put(t, "\n");
    }
    atoll_prompt_put(t, "Finalists are also checked on shapes that are not listed: every shape must be "
                        "computed correctly, and any tail of any extent.\n");
}

/* What kind of task it is: words of [a-z0-9_-], as task.yaml has them. */
static void put_kind(struct atoll_prompt_text *t, const struct atoll_task *task)
{
    if (!task->category && !task->tag_count)
        return;
    atoll_prompt_put(t, "\nKind: %s", task->category ? task->category : "");
    for (size_t i = 0; i < task->tag_count; i++)
        atoll_prompt_put(t, "%s%s", i || task->category ? ", " : "", task->tags[i]);
    atoll_prompt_put(t, "\n");
}

void atoll_prompt_write_task(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_task *task = input->task;
    const char *what = input->ask->kind == ATOLL_ASK_JUDGE       ? "A kernel in language"
                       : input->ask->kind == ATOLL_ASK_SUMMARISE ? "Two kernels to compare, in language"
                                                                 : "Write a kernel in language";
    atoll_prompt_put(t, "%s `%s` for the task `%s`:\n\n", what, input->language, task->name);
    atoll_prompt_put_quote(t, task->summary ? task->summary : "", 1024);
    put_kind(t, task);
    atoll_prompt_put(t, "\nDims (the names that expressions of the plan may use):");
    for (size_t i = 0; i < task->dim_count; i++)
        atoll_prompt_put(t, "%s `%s`", i ? "," : "", task->dims[i]);
    atoll_prompt_put(t, "\n\nTensors (dense, row-major, the last axis is contiguous):\n");
    for (size_t i = 0; i < task->tensor_count; i++)
        put_tensor(t, &task->tensors[i]);
    atoll_prompt_put(t, "\n");
    put_distributions(t, task->distributions);
    put_tolerance(t, &task->tolerance);
    put_precisions(t, task->precisions);
    atoll_prompt_put(t, "\n");
    put_variants(input, t);
}

void atoll_prompt_write_instructions(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    if (!input->task->instructions)
        return;
    atoll_prompt_put(t, "The user who set this task says, to be followed wherever the rules allow it:\n\n");
    atoll_prompt_put_quote(t, input->task->instructions, 4096);
}

/* What a kernel is compared with where a Python with torch is at hand. */
static void write_rivals(const struct atoll_task *task, struct atoll_prompt_text *t)
{
    const char *shown = NULL;
    for (size_t i = 0; i < task->rival_count; i++) {
        const char *expression = task->rivals[i].expression;
        if (!expression || (shown && strcmp(shown, expression) == 0))
            continue;
        atoll_prompt_put(t, shown
                                ? "\nOr:\n\n"
                                : "\nA user of PyTorch would run this instead, on tensors of these names, as "
                                  "it is or through torch.compile; the kernel has to be faster:\n\n");
        atoll_prompt_put_code(t, "python", expression, 1024);
        if (shown)
            break;
        shown = expression;
    }
}

static void write_module(const struct atoll_torch_reference *torch, struct atoll_prompt_text *t)
{
    atoll_prompt_put(
        t,
        "The definition of correct, executed by PyTorch in double precision: %s `%s` of this text%s. "
        "Top-level constants named like dims have the dims' values. The kernel gets the tensors that "
        "are listed above and nothing of Python.\n\n",
        torch->is_function ? "function" : "class", torch->entry,
        torch->is_backward ? ", and autograd's gradients of it" : "");
    atoll_prompt_put_code(t, "python", torch->source, 0);
}

static void write_source(const struct atoll_task *task, struct atoll_prompt_text *t)
{
    atoll_prompt_put(t,
                     "The definition of correct, in double precision; one call computes unit `unit` of "
                     "`%.200s`. `dim_D`, `get_x`, `put_y`, `scale_y` and `atoll_*` are the harness's: a "
                     "kernel has the plan's arguments instead.\n\n",
                     task->units ? atoll_expression_text(task->units) : "?");
    atoll_prompt_put_code(t, "c", task->reference_source ? task->reference_source : "", 0);
}

void atoll_prompt_write_reference(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_task *task = input->task;
    if (task->torch)
        write_module(task->torch, t);
    else
        write_source(task, t);
    write_rivals(task, t);
}

void atoll_prompt_write_device(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    char facts[ATOLL_FACTS_BYTES];
    if (!input->device && !input->threads)
        return;
    if (input->device) {
        atoll_prompt_put_quote(t, atoll_device_facts(input->device, facts, sizeof(facts)), 0);
        if (input->device->toolchain[0]) {
            atoll_prompt_put(t, "\nCompiled by:\n\n");
            atoll_prompt_put_quote(t, input->device->toolchain, 256);
        }
    }
    if (input->threads) {
        atoll_prompt_put(t, "%sA candidate runs on %u thread%s.\n", input->device ? "\n" : "", input->threads,
                         input->threads == 1 ? "" : "s");
    }
}

static const char *wanted(const struct atoll_prompt_input *input)
{
    static const char *const by_form[ATOLL_FORM_COUNT] = {
        [ATOLL_FORM_EXECUTE] = "Wanted: the parent with the step below carried out, correct and faster.",
        [ATOLL_FORM_REFINE] =
            "Wanted: a kernel that is correct and faster than the stage's kernel, by work on the "
            "stage's issues alone. It counts when it is at least 1 % faster and the intervals of both times "
            "lie apart.",
        [ATOLL_FORM_EXTRACT] =
            "Wanted: the one kernel that the attempts below support most: correct, and faster than the "
            "stage's kernel.",
        [ATOLL_FORM_TEMPLATE] =
            "Wanted: the parent as a template, with the sizes that matter (tiles, unrolling, vector "
            "widths, stages) as params of the plan.",
        [ATOLL_FORM_TRANSLATE] =
            "Wanted: the kernel below, written anew in this language and for this device: correct, and "
            "faster than the best so far.",
        [ATOLL_FORM_ANALYSE] = "Wanted: what keeps the parent from being faster.",
        [ATOLL_FORM_ORDER] = "Wanted: the order in which the stages work on the parent.",
    };
    enum atoll_prompt_form form = atoll_prompt_form_of(input);
    const struct atoll_prompt_kernel *parent = input->parent;
    int is_wrong = parent && parent->evaluation && !atoll_prompt_is_correct(parent);
    if (form == ATOLL_FORM_PLAN) {
        return is_wrong
                   ? "Wanted: a step that makes the parent correct."
                   : "Wanted: a step that makes the parent faster, better still faster than the best so far.";
    }
    if (by_form[form] && !is_wrong)
        return by_form[form];
    if (!parent)
        return "Wanted: a first kernel that is correct at every shape, and as fast as you can make it.";
    if (is_wrong)
        return "Wanted: a correct kernel. Repair the parent, or replace it where its approach is at fault.";
    return "Wanted: a kernel that is faster than the parent, better still than the best so far: improve the "
           "parent, or replace it by a better approach. It counts when it is at least 1 % faster in a direct "
           "comparison.";
}

static void put_time(struct atoll_prompt_text *t, const char *what, double ns, double baseline_ns)
{
    char time[32];
    if (!(ns > 0))
        return;
    atoll_prompt_put(t, "- %s: %s", what, atoll_duration_text(ns, time, sizeof(time)));
    if (baseline_ns > 0)
        atoll_prompt_put(t, " (%.3g times the baseline's speed)", baseline_ns / ns);
    atoll_prompt_put(t, "\n");
}

/* Where the floor is about what an empty launch takes. */
static void put_launch(const struct atoll_prompt_input *input, struct atoll_prompt_text *t, double floor_ns)
{
    double empty_ns = input->device ? input->device->empty_launch_ns : 0;
    char time[32];
    if (floor_ns > 0 && empty_ns > 0 && floor_ns < 1.5 * empty_ns)
        atoll_prompt_put(t, "- an empty launch alone takes %s, so no kernel comes below that\n",
                         atoll_duration_text(empty_ns, time, sizeof(time)));
}

void atoll_prompt_write_state(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    double parent_ns = parent && !input->parent_device ? parent->time_ns : 0;
    /* the best of a task has won its comparisons; what is faster by its own time has yet to */
    int is_ahead = parent_ns > 0 && parent_ns < input->best_ns;
    put_time(t, "baseline", input->baseline_ns, 0);
    put_time(t, is_ahead ? "best that a comparison confirmed" : "best so far", input->best_ns,
             input->baseline_ns);
    put_time(t, is_ahead ? "the parent, faster but not confirmed yet" : "the parent", parent_ns,
             input->baseline_ns);
    double floor_ns =
        parent && parent_ns > 0 &&
                parent->evaluation /* of the parent's own round, as it stands beside its times */
            ? atoll_evaluation_floor_ns(parent->evaluation, input->task)
            : 0;
    double fastest_ns = input->best_ns > 0 ? input->best_ns : input->baseline_ns;
    floor_ns = atoll_floor_trusted_ns(floor_ns > 0 ? floor_ns : input->floor_ns, fastest_ns);
    put_time(
        t,
        input->task->flops
            ? "floor (nothing can be faster than bandwidth, for what cannot stay in the last-level cache, "
              "and peak arithmetic allow)"
            : "floor of memory (nothing can be faster than bandwidth allows for what cannot stay in the "
              "last-level cache)",
        floor_ns, input->baseline_ns);
    put_launch(input, t, floor_ns);
    atoll_prompt_put(t, "%s%s\n", t->piece_count ? "\n" : "", wanted(input));
}

static unsigned level_of(const struct atoll_behaviour *b, unsigned dimension)
{
    return dimension == 0 ? b->memory : dimension == 1 ? b->algorithm : b->coordination;
}

/* A direction is learnt of the cell, not of this kernel.  One down is none for a parent that has just won by going up; threads that
 * share an output are none where each has a sum of its own for a whole tile. */
static int contradicts(const struct atoll_prompt_input *input, const struct atoll_advice *advice)
{
    static const char *const of_tiles[] = {"convolution", "matmul", "attention"};
    const struct atoll_prompt_kernel *parent = input->parent,
                                     *before = input->ancestors && input->ancestor_count
                                                   ? &input->ancestors[input->ancestor_count - 1]
                                                   : NULL;
    const char *category = input->task->category;
    for (size_t i = 0; category && i < sizeof(of_tiles) / sizeof(*of_tiles); i++)
        if (advice->dimension == 2 && advice->sign > 0 && advice->level == 0 &&
            strcmp(category, of_tiles[i]) == 0)
            return 1;
    if (advice->sign > 0 || !parent || !before || !parent->evaluation || !before->evaluation)
        return 0;
    return parent->time_ns > 0 && parent->time_ns < before->time_ns &&
           level_of(&parent->evaluation->behaviour, advice->dimension) >
               level_of(&before->evaluation->behaviour, advice->dimension);
}

void atoll_prompt_write_advice(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_ask *ask = input->ask;
    int any = 0;
    for (size_t i = 0; i < ask->advice_count && i < ATOLL_ASK_ADVICE_LIMIT; i++) {
        const char *sentence = atoll_advice_text(input->language, &ask->advice[i]);
        if (!sentence || contradicts(input, &ask->advice[i]))
            continue;
        if (!any) {
            atoll_prompt_put(
                t, "Steps in these directions paid off from kernels like the parent, the strongest first:\n");
        }
        atoll_prompt_put(t, "- %s\n", sentence);
        any = 1;
    }
}
