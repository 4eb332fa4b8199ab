/* prompt_task.c - the sections that say what is to be computed and on what: task, reference, device.  Hidden variants and
 * seeds of draws stay out; names of dims and tensors are identifiers (core/task/task_check.c), the rest of a task is quoted. */
#include <string.h>

#include "core/facts.h"
#include "base/units.h"
#include "evolution/prompt/prompt_section.h"

static int concerns(const struct atoll_prompt_input *input, const struct atoll_variant *v)
{
    return v->kind != ATOLL_VARIANT_HIDDEN && (!v->backend || strcmp(v->backend, input->backend) == 0);
}

static void put_shape(struct atoll_prompt_text *t, const struct atoll_tensor *tensor)
{
    atoll_prompt_put(t, "[");
    for (size_t i = 0; i < tensor->rank; i++)
        atoll_prompt_put(t, "%s%.200s", i ? ", " : "", atoll_expression_text(tensor->shape[i]));
    atoll_prompt_put(t, "]");
}

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
    }
}

static void put_tensor(struct atoll_prompt_text *t, const struct atoll_tensor *tensor)
{
    static const char *const roles[] = {"input, never written", "output, every element must be written",
                                        "input and output in place", "input (weights), never written"};
    int reads = tensor->role == ATOLL_ROLE_IN || tensor->role == ATOLL_ROLE_CONSTANT;
    atoll_prompt_put(t, "- `%s`: %s ", tensor->name, atoll_dtype_name(tensor->dtype));
    put_shape(t, tensor);
    atoll_prompt_put(t, ", %s; as an argument `%s%s *`", roles[tensor->role], reads ? "const " : "",
                     atoll_dtype_c_type(tensor->dtype));
    if (tensor->role != ATOLL_ROLE_OUT) {
        atoll_prompt_put(t, "; values: ");
        put_values(t, &tensor->init);
    }
    atoll_prompt_put(t, "\n");
}

static void put_distributions(struct atoll_prompt_text *t, unsigned set)
{
    static const char *const texts[] = {NULL, "scaled by 1/16 to 4", "with many ties",
                                        "with half of the elements zero", "with one sign per row"};
    int any = 0;
    for (unsigned i = 1; i < 5; i++)
        if (set & (1u << i)) {
            atoll_prompt_put(t, "%s%s", any ? ", " : "Normal and uniform values are in some draws ",
                             texts[i]);
            any = 1;
        }
    atoll_prompt_put(t, any ? "; results must be right in all of them.\n" : "");
}

static void put_tolerance(struct atoll_prompt_text *t, const struct atoll_tolerance *o)
{
    atoll_prompt_put(
        t,
        "Tolerance: an element y with reference r is right when |y - r| <= %g + %g * max(|r|, s), s being "
        "the scale that the reference gives, else 0.",
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
    for (unsigned i = 0; i <= ATOLL_DTYPE_COUNT; i++)
        if (set & (1u << i)) {
            atoll_prompt_put(t, "%s%s", any ? ", " : "Arithmetic that is allowed inside: ",
                             i == ATOLL_DTYPE_COUNT ? "tf32" : atoll_dtype_name((enum atoll_dtype)i));
            any = 1;
        }
    atoll_prompt_put(t, any ? " (wider is always allowed).\n" : "");
}

static void put_work(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                     const struct atoll_variant *v)
{
    struct atoll_work work;
    char flops[32], reads[32], writes[32];
    if (atoll_task_work(input->task, v, &work, NULL))
        return;
    atoll_prompt_put(t, "; %s useful operations, at least %sB read and %sB written",
                     atoll_count_text(work.flops, flops, sizeof flops),
                     atoll_count_text(work.read_bytes, reads, sizeof reads),
                     atoll_count_text(work.write_bytes, writes, sizeof writes));
}

static void put_variants(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_task *task = input->task;
    atoll_prompt_put(t, "Shapes:\n");
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (!concerns(input, v))
            continue;
        atoll_prompt_put(t, "- %s (%s):", v->name,
                         v->kind == ATOLL_VARIANT_BENCH ? "timed and checked" : "checked only");
        for (size_t d = 0; d < task->dim_count; d++)
            atoll_prompt_put(t, " %s=%lld", task->dims[d], (long long)v->dims[d]);
        if (v->kind == ATOLL_VARIANT_BENCH) {
            put_work(input, t, v);
            if (v->weight < 1 || v->weight > 1)
                atoll_prompt_put(t, "; weight %g", v->weight);
        }
        atoll_prompt_put(t, "\n");
    }
    atoll_prompt_put(t,
                     "Finalists are also checked on shapes that are not listed: every shape must be computed "
                     "correctly, and any tail of any extent.\n");
}

void atoll_prompt_write_task(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_task *task = input->task;
    atoll_prompt_put(t, "Write a kernel in language `%s` for the task `%s`:\n\n", input->language,
                     task->name);
    atoll_prompt_put_quote(t, task->summary ? task->summary : "", 1024);
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

void atoll_prompt_write_reference(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_task *task = input->task;
    atoll_prompt_put(
        t,
        "The definition of correct, in double precision; one call computes unit `unit` of `%.200s`. "
        "`dim_D`, `get_x`, `put_y`, `scale_y` and `atoll_*` are the harness's: a kernel has the plan's "
        "arguments instead.\n\n",
        task->units ? atoll_expression_text(task->units) : "?");
    atoll_prompt_put_code(t, "c", task->reference_source ? task->reference_source : "", 0);
}

void atoll_prompt_write_device(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    char facts[ATOLL_FACTS_BYTES];
    if (!input->device && !input->threads)
        return;
    if (input->device) {
        atoll_prompt_put_quote(t, atoll_device_facts(input->device, facts, sizeof facts), 0);
        if (input->device->toolchain[0]) {
            atoll_prompt_put(t, "\nCompiled by:\n\n");
            atoll_prompt_put_quote(t, input->device->toolchain, 256);
        }
    }
    if (input->threads)
        atoll_prompt_put(t, "%sA candidate runs on %u thread%s.\n", input->device ? "\n" : "", input->threads,
                         input->threads == 1 ? "" : "s");
}
