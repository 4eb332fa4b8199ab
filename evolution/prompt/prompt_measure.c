/* prompt_measure.c - what was measured of a kernel, as lines: times per variant, counters, resources of the binary. */
#include <math.h>

#include "base/units.h"
#include "evolution/prompt/prompt_section.h"

void atoll_prompt_put_timings(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                              const struct atoll_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->timing_count && i < ATOLL_TASK_VARIANT_LIMIT; i++) {
        const struct atoll_timing *m = &evaluation->timings[i];
        char median[32], low[32], high[32], floor_text[32];
        if (m->variant >= input->task->variant_count ||
            input->task->variants[m->variant].kind == ATOLL_VARIANT_HIDDEN)
            continue;
        atoll_prompt_put(t, "- %s: median %s, 95 %% interval %s to %s, %zu samples",
                         input->task->variants[m->variant].name,
                         atoll_duration_text(m->summary.median, median, sizeof median),
                         atoll_duration_text(m->summary.lo95, low, sizeof low),
                         atoll_duration_text(m->summary.hi95, high, sizeof high), m->summary.count);
        if (m->floor_ns > 0 && m->summary.median > 0)
            atoll_prompt_put(t, "; floor %s (%.0f %% of it reached)",
                             atoll_duration_text(m->floor_ns, floor_text, sizeof floor_text),
                             100 * m->floor_ns / m->summary.median);
        atoll_prompt_put(t, "%s\n",
                         m->flags & ATOLL_TIMING_DROPPED_EARLY ? "; dropped early: clearly slower" : "");
    }
}

static void put_counter(struct atoll_prompt_text *t, enum atoll_counter counter, double value, int *any)
{
    char text[32];
    const char *unit = atoll_counter_unit(counter);
    if (isnan(value) || counter == ATOLL_COUNTER_TIME_NS)
        return;
    atoll_prompt_put(t, "%s%s %s", *any ? ", " : "Counters: ", atoll_counter_name(counter),
                     atoll_count_text(value, text, sizeof text));
    if (unit[0] == '%')
        atoll_prompt_put(t, " %%");
    else if (unit[0] == 'b')
        atoll_prompt_put(t, "B");
    *any = 1;
}

static void put_resources(struct atoll_prompt_text *t, const struct atoll_resources *r)
{
    int any = 0;
    if (!r->kernel_count)
        return;
    atoll_prompt_put(t,
                     "Resources: %u registers per thread, %u bytes of static and %u of dynamic shared memory",
                     r->registers, r->static_shared_bytes, r->dynamic_shared_bytes);
    if (r->spill_store_bytes || r->spill_load_bytes)
        atoll_prompt_put(t, ", %u bytes spilled and %u loaded again per thread", r->spill_store_bytes,
                         r->spill_load_bytes);
    if (r->stack_bytes)
        atoll_prompt_put(t, ", %u bytes of stack", r->stack_bytes);
    if (r->occupancy > 0)
        atoll_prompt_put(t, ", theoretical occupancy %.0f %%", 100 * r->occupancy);
    atoll_prompt_put(t, ".\n");
    for (unsigned i = 0; i < ATOLL_MIX_COUNT; i++)
        if (r->mix[i]) {
            atoll_prompt_put(t, "%s%s %u",
                             any ? ", " : "Instructions in the binary: ", atoll_mix_name((enum atoll_mix)i),
                             r->mix[i]);
            any = 1;
        }
    atoll_prompt_put(t, any ? ".\n" : "");
}

void atoll_prompt_put_counters(struct atoll_prompt_text *t, const struct atoll_profile *profile)
{
    int any = 0;
    for (unsigned i = 0; i < ATOLL_COUNTER_COUNT; i++)
        put_counter(t, (enum atoll_counter)i, profile->counters[i], &any);
    atoll_prompt_put(t, any ? ".\n" : "");
    if (profile->intensity_flops_per_byte > 0)
        atoll_prompt_put(t, "Useful operations per byte of memory traffic: %.3g.\n",
                         profile->intensity_flops_per_byte);
    put_resources(t, &profile->resources);
}
