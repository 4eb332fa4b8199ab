/* prompt_kernel.c - the sections about the parent: its source with what was measured of it, and the diagnosis
 * (core/diagnosis.h): of a wrong parent the class of its error, of a correct one what limits it, with what to do next. */
#include "evolution/prompt/prompt_kernel.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"
#include "core/candidate.h"
#include "core/diagnosis.h"
#include "core/fitness.h"
#include "evolution/prompt/prompt_excerpt.h"
#include "evolution/prompt/prompt_form.h"
#include "evolution/reply/reply.h"

#define PLAN_ARENA_BYTES ((size_t)4 << 20)
#define SOURCE_LIMIT     ((size_t)4 << 20)
#define NEAR_FLOOR       1.15               /* time over floor: little is left */
#define SAME             1.05               /* as two figures of the same thing may differ */
#define BUDGET           ((size_t)48 << 10) /* for which caps are given */
#define FACT_LIMIT       (ATOLL_COUNTER_COUNT + ATOLL_MIX_COUNT + 8)
#define FACT_BYTES       80
#define WHERE_BYTES      128

/* Which of the two roofs a floor is, and what stands in it: a floor of bandwidth leaves out what may stay in the last cache. */
static void put_roof(const struct atoll_prompt_input *input, struct atoll_prompt_text *t, uint32_t variant,
                     double floor_ns)
{
    struct atoll_work work;
    const struct atoll_device_info *device = input->device;
    if (!device || !(device->bandwidth_bytes_per_s > 0) ||
        atoll_task_work(input->task, &input->task->variants[variant], &work, NULL) != 0)
        return;
    char counted[32], stays[32];
    double all = work.read_bytes + work.write_bytes,
           moved = work.read_bytes + fmax(0, work.write_bytes - device->last_level_cache_bytes);
    if (floor_ns <
        1e9 * moved / device->bandwidth_bytes_per_s / SAME) /* of warm caches, or another calibration */
        return;
    if (floor_ns <= device->empty_launch_ns * SAME)
        atoll_prompt_put(t, ", by the launch alone");
    else if (floor_ns > 1e9 * moved / device->bandwidth_bytes_per_s * SAME &&
             work.flops + work.matrix_flops > 0)
        atoll_prompt_put(t, ", by peak arithmetic");
    else if (moved < all)
        atoll_prompt_put(t, ", by bandwidth for %sB; %sB of writes may stay in the last-level cache",
                         atoll_count_text(moved, counted, sizeof(counted)),
                         atoll_count_text(all - moved, stays, sizeof(stays)));
    else
        atoll_prompt_put(t, ", by bandwidth for %sB", atoll_count_text(moved, counted, sizeof(counted)));
}

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
            atoll_prompt_put(t, "; floor %s (%.0f %% of it reached",
                             atoll_duration_text(floor_ns, floor_text, sizeof(floor_text)),
                             100 * floor_ns / m->summary.median);
            put_roof(input, t, m->variant, floor_ns);
            atoll_prompt_put(t, ")");
        }
        atoll_prompt_put(t, "%s\n",
                         m->flags & ATOLL_TIMING_DROPPED_EARLY ? "; dropped early: clearly slower" : "");
    }
}

/* What was counted, as a list of facts: a planner gets it in another order with each sample (papers/004 A.4). */
struct facts {
    size_t count;
    char texts[FACT_LIMIT][FACT_BYTES];
};

static void add_fact(struct facts *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_fact(struct facts *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (f->count < FACT_LIMIT)
        vsnprintf(f->texts[f->count++], FACT_BYTES, format, args);
    va_end(args);
}

static void put_facts(struct atoll_prompt_text *t, const struct facts *f, size_t begin, size_t end,
                      const char *title)
{
    for (size_t i = begin; i < end; i++)
        atoll_prompt_put(t, "%s%s%s", i > begin ? ", " : title, f->texts[i], i + 1 < end ? "" : ".\n");
}

/* What counters speak of, in the order in which they are told. */
#define GROUPS         3
#define GROUP_COUNTERS 16
static const struct group {
    const char *title;
    size_t count;
    enum atoll_counter counters[GROUP_COUNTERS];
} groups[GROUPS] = {
    {"Counters of memory: ",
     10,
     {ATOLL_COUNTER_DRAM_THROUGHPUT, ATOLL_COUNTER_DRAM_READ_BYTES, ATOLL_COUNTER_DRAM_WRITE_BYTES,
      ATOLL_COUNTER_L2_THROUGHPUT, ATOLL_COUNTER_L2_HIT, ATOLL_COUNTER_L1_THROUGHPUT, ATOLL_COUNTER_L1_HIT,
      ATOLL_COUNTER_LSU, ATOLL_COUNTER_SHARED_ACCESSES, ATOLL_COUNTER_BANK_CONFLICTS}},
    {"Counters of computing: ",
     7,
     {ATOLL_COUNTER_SM_THROUGHPUT, ATOLL_COUNTER_TENSOR, ATOLL_COUNTER_FMA, ATOLL_COUNTER_ALU,
      ATOLL_COUNTER_FP64, ATOLL_COUNTER_XU, ATOLL_COUNTER_INSTRUCTIONS}},
    {"Counters of waiting: ",
     11,
     {ATOLL_COUNTER_OCCUPANCY, ATOLL_COUNTER_ISSUE_ACTIVE, ATOLL_COUNTER_STALL_LONG_SCOREBOARD,
      ATOLL_COUNTER_STALL_LG, ATOLL_COUNTER_STALL_SHORT_SCOREBOARD, ATOLL_COUNTER_STALL_MIO,
      ATOLL_COUNTER_STALL_BARRIER, ATOLL_COUNTER_STALL_TENSOR, ATOLL_COUNTER_STALL_MATH,
      ATOLL_COUNTER_STALL_WAIT, ATOLL_COUNTER_STALL_NOT_SELECTED}},
};

static void add_counters(struct facts *f, const struct atoll_profile *profile, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        char text[32];
        enum atoll_counter counter = group->counters[i];
        const char *unit = atoll_counter_unit(counter);
        if (isnan(profile->counters[counter]))
            continue;
        add_fact(f, "%s %s%s", atoll_counter_name(counter),
                 atoll_count_text(profile->counters[counter], text, sizeof(text)),
                 unit[0] == '%'   ? " %"
                 : unit[0] == 'b' ? "B"
                                  : "");
    }
}

static void add_resources(struct facts *f, const struct atoll_resources *r)
{
    if (!r->kernel_count)
        return;
    if (r->registers) { /* a device: a processor's binary tells of neither */
        add_fact(f, "%u registers per thread", r->registers);
        add_fact(f, "%u bytes of static and %u of dynamic shared memory", r->static_shared_bytes,
                 r->dynamic_shared_bytes);
    }
    if (r->spill_store_bytes || r->spill_load_bytes)
        add_fact(f, "%u bytes spilled and %u loaded again per thread", r->spill_store_bytes,
                 r->spill_load_bytes);
    if (r->stack_bytes) {
        int is_spilled = r->spill_store_bytes || r->spill_load_bytes;
        add_fact(f, "%u bytes of stack%s", r->stack_bytes,
                 is_spilled ? "" : " (local memory without a spill: arrays that are indexed, or calls)");
    }
    if (r->occupancy > 0)
        add_fact(f, "theoretical occupancy %.0f %%", 100 * r->occupancy);
}

static void add_mix(struct facts *f, const struct atoll_resources *r, const char *where)
{
    for (unsigned i = 0; r->kernel_count && i < ATOLL_MIX_COUNT; i++)
        if (r->mix[i])
            add_fact(f, "%s%s %u", atoll_mix_name((enum atoll_mix)i), where, r->mix[i]);
}

/* By exchange (Fisher and Yates), the key being the ask's number. */
static void shuffle(struct facts *f, uint64_t key)
{
    for (size_t i = f->count; i > 1; i--) {
        size_t k = (size_t)atoll_random_below(atoll_random_at(key, i), i);
        char text[FACT_BYTES];
        memcpy(text, f->texts[k], FACT_BYTES);
        memcpy(f->texts[k], f->texts[i - 1], FACT_BYTES);
        memcpy(f->texts[i - 1], text, FACT_BYTES);
    }
}

static int is_timed(const struct atoll_prompt_input *input, const struct atoll_variant *v)
{
    return v->kind == ATOLL_VARIANT_BENCH && (!v->backend || strcmp(v->backend, input->backend) == 0);
}

/* The first timed shape of the prompt's backend, which counters and resources are of; NULL: there is none. */
static const struct atoll_variant *first_timed(const struct atoll_prompt_input *input, size_t *ret_count)
{
    const struct atoll_variant *first = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < input->task->variant_count; i++) {
        const struct atoll_variant *v = &input->task->variants[i];
        if (!is_timed(input, v))
            continue;
        first = first ? first : v;
        (*ret_count)++;
    }
    return first;
}

/* "bench.decode, path 1 of 2": what counters and resources are of, where a kernel has more than that; else "". */
static const char *where_text(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                              const char *source, char ret_text[WHERE_BYTES])
{
    size_t shapes = 0, path = 0;
    const struct atoll_variant *v = first_timed(input, &shapes);
    struct atoll_arena *arena = atoll_arena_create(PLAN_ARENA_BYTES, NULL);
    if (!arena)
        t->text.failed = ATOLL_E_MEMORY;
    const struct atoll_plan *plan = arena ? atoll_prompt_plan(input, t, source, arena) : NULL;
    ret_text[0] = 0;
    if (v && plan && plan->path_count > 1 && atoll_plan_path_at(input->task, plan, v, &path, NULL) == 0)
        snprintf(ret_text, WHERE_BYTES, "%.64s, path %zu of %zu", v->name, path + 1, plan->path_count);
    else if (v && shapes > 1)
        snprintf(ret_text, WHERE_BYTES, "%.64s", v->name);
    atoll_arena_destroy(arena);
    return ret_text;
}

void atoll_prompt_put_profile(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                              const struct atoll_prompt_kernel *kernel)
{
    struct facts f = {.count = 0};
    char where[WHERE_BYTES];
    const struct atoll_profile *profile = &kernel->evaluation->profile;
    double intensity = profile->intensity_flops_per_byte;
    size_t ends[GROUPS];
    for (size_t g = 0; g < GROUPS; g++) {
        add_counters(&f, profile, &groups[g]);
        ends[g] = f.count;
    }
    if (input->ask->kind == ATOLL_ASK_PLAN) {
        if (intensity > 0)
            add_fact(&f, "%.3g useful operations per byte of memory traffic", intensity);
        add_resources(&f, &profile->resources);
        add_mix(&f, &profile->resources,
                profile->resources.kernel_count > 1 ? " in all launches" : " in the binary");
    }
    if ((f.count || profile->resources.kernel_count) && where_text(input, t, kernel->source, where)[0])
        atoll_prompt_put(t, "Of %s alone:\n", where);
    if (input->ask->kind == ATOLL_ASK_PLAN) {
        shuffle(&f, input->ask->number);
        put_facts(t, &f, 0, f.count, "Profile, in no order: ");
        return;
    }
    for (size_t g = 0; g < GROUPS; g++)
        put_facts(t, &f, g ? ends[g - 1] : 0, ends[g], groups[g].title);
    if (intensity > 0)
        atoll_prompt_put(t, "Useful operations per byte of memory traffic: %.3g.\n", intensity);
    size_t begin = f.count;
    add_resources(&f, &profile->resources);
    put_facts(t, &f, begin, f.count, "Resources: ");
    begin = f.count;
    add_mix(&f, &profile->resources, "");
    put_facts(t, &f, begin, f.count,
              profile->resources.kernel_count > 1 ? "Instructions in the binary, of all launches together: "
                                                  : "Instructions in the binary: ");
}

int atoll_prompt_is_correct(const struct atoll_prompt_kernel *kernel)
{
    return kernel->evaluation && kernel->evaluation->verdict == ATOLL_V_CORRECT;
}

int atoll_prompt_is_unusable(const struct atoll_prompt_kernel *kernel)
{
    return strncmp(kernel->source, ATOLL_REPLY_UNUSABLE, strlen(ATOLL_REPLY_UNUSABLE)) == 0;
}

size_t atoll_prompt_cap(const struct atoll_prompt_input *input, size_t bytes)
{
    size_t times = input->user_limit_bytes / BUDGET;
    return bytes * (times < 1 ? 1 : times > 8 ? 8 : times);
}

const struct atoll_plan *atoll_prompt_plan(const struct atoll_prompt_input *input,
                                           struct atoll_prompt_text *t, const char *source,
                                           struct atoll_arena *arena)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body = NULL;
    const struct atoll_plan *plan =
        atoll_plan_parse(arena, input->task, input->language, source, &body, &err);
    if (err.code == ATOLL_E_MEMORY)
        t->text.failed = ATOLL_E_MEMORY;
    return plan;
}

/* "TM=64 TN=32" when the choice fits the kernel's plan, else "".  No memory is the section's failure. */
static void choice_text(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                        const struct atoll_prompt_kernel *kernel, const struct atoll_choice *choice,
                        char *ret_text, size_t bytes)
{
    ret_text[0] = 0;
    if (!choice || !choice->count)
        return;
    struct atoll_arena *arena = atoll_arena_create(PLAN_ARENA_BYTES, NULL);
    if (!arena)
        t->text.failed = ATOLL_E_MEMORY;
    const struct atoll_plan *plan = arena ? atoll_prompt_plan(input, t, kernel->source, arena) : NULL;
    if (plan && plan->param_count == choice->count)
        atoll_choice_text(plan, choice, ret_text, bytes);
    atoll_arena_destroy(arena);
}

void atoll_prompt_put_detail(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel,
                             size_t cap)
{
    const char *detail = kernel->evaluation ? kernel->evaluation->detail : "";
    if (!detail[0])
        return;
    if (strstr(detail, "variant hidden") || strstr(detail, "variant 'hidden") ||
        strstr(detail, "hidden variant")) {
        atoll_prompt_put(t, "It happened at a shape that is not listed.\n");
    } else {
        atoll_prompt_put_quote(t, detail, cap);
    }
}

void atoll_prompt_put_cell(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                           const struct atoll_prompt_kernel *kernel)
{
    if (!kernel->evaluation)
        return;
    const struct atoll_behaviour *b = &kernel->evaluation->behaviour;
    const unsigned levels[] = {b->memory, b->algorithm, b->coordination};
    for (unsigned d = 0; d < 3; d++) {
        atoll_prompt_put(t, "%s%s: %s", d ? "; " : "How it works: ", atoll_behaviour_dimension_name(d),
                         atoll_behaviour_level_text_of(input->language, d, levels[d]));
    }
    atoll_prompt_put(t, ".\n");
}

void atoll_prompt_put_speed(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel)
{
    char time[32];
    if (!(kernel->time_ns > 0))
        return;
    atoll_prompt_put(t, "Time %s (the weighted geometric mean over the timed shapes)",
                     atoll_duration_text(kernel->time_ns, time, sizeof(time)));
    if (kernel->speedup > 0)
        atoll_prompt_put(t, ", %.3g times the baseline's speed", kernel->speedup);
    atoll_prompt_put(t, ".\n");
}

/* The fastest combination of the parent's table; its own where none was timed. */
static const struct atoll_choice *best_choice(const struct atoll_prompt_input *input)
{
    const struct atoll_prompt_combination *best = NULL;
    for (size_t i = 0; input->table && i < input->combination_count; i++) {
        const struct atoll_prompt_combination *c = &input->table[i];
        if (c->choice && c->verdict == ATOLL_V_CORRECT && c->time_ns > 0 &&
            (!best || c->time_ns < best->time_ns))
            best = c;
    }
    return best ? best->choice : input->parent->choice;
}

void atoll_prompt_put_choice(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                             const struct atoll_prompt_kernel *kernel)
{
    char choice[512], best[512];
    choice_text(input, t, kernel, kernel->choice, choice, sizeof(choice));
    if (choice[0] && kernel == input->parent && atoll_prompt_form_row(atoll_prompt_form_of(input))->writes) {
        choice_text(input, t, kernel, best_choice(input), best, sizeof(best));
        int is_other = best[0] && strcmp(best, choice) != 0;
        atoll_prompt_put(t, "It is a template; measured with %s.", choice);
        if (is_other)
            atoll_prompt_put(t, " The fastest of its combinations was %s.", best);
        atoll_prompt_put(t, " A template of yours with these params should try %s values first.\n",
                         is_other ? "the fastest one's" : "these");
    } else if (choice[0]) {
        atoll_prompt_put(t, "It is a template; measured with %s.\n", choice);
    }
}

void atoll_prompt_put_line(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                           const struct atoll_prompt_kernel *kernel, const char *other, double other_ns)
{
    char text[512];
    struct atoll_diagnosis d;
    if (kernel->time_ns > 0) {
        atoll_prompt_put(t, "%s", atoll_duration_text(kernel->time_ns, text, sizeof(text)));
        if (other_ns > 0)
            atoll_prompt_put(t, ", %.3g times %s speed", other_ns / kernel->time_ns, other);
    } else {
        atoll_prompt_put(t, "%s",
                         atoll_prompt_is_unusable(kernel) ? "no kernel in the answer"
                         : kernel->evaluation             ? atoll_verdict_name(kernel->evaluation->verdict)
                                                          : "not measured");
    }
    if (kernel->evaluation && !atoll_prompt_is_unusable(kernel)) {
        atoll_diagnose_evaluation(kernel->evaluation, input->task, input->device, &d);
        if (atoll_diagnosis_label(&d, text, sizeof(text))[0])
            atoll_prompt_put(t, "; %s", text);
    }
    choice_text(input, t, kernel, kernel->choice, text, sizeof(text));
    if (text[0])
        atoll_prompt_put(t, "; %s", text);
}

/* "812 us (1.2 TFLOP/s)"; of work without operations its bytes. */
static void put_rate(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                     const struct atoll_timing *m)
{
    char time[32], rate[32];
    struct atoll_work work;
    const struct atoll_variant *v = &input->task->variants[m->variant];
    atoll_prompt_put(t, "%s", atoll_duration_text(m->summary.median, time, sizeof(time)));
    if (!(m->summary.median > 0) || atoll_task_work(input->task, v, &work, NULL) != 0)
        return;
    double operations = work.flops + work.matrix_flops, bytes = work.read_bytes + work.write_bytes;
    if (!(operations > 0) && !(bytes > 0))
        return;
    atoll_count_text((operations > 0 ? operations : bytes) / m->summary.median * 1e9, rate, sizeof(rate));
    atoll_prompt_put(t, " (%s%s)", rate, operations > 0 ? "FLOP/s" : "B/s");
}

static const struct atoll_timing *timing_at(const struct atoll_prompt_kernel *kernel, uint32_t variant)
{
    const struct atoll_evaluation *e = kernel->evaluation;
    for (size_t i = 0; e && i < e->timing_count && i < ATOLL_TASK_VARIANT_LIMIT; i++)
        if (e->timings[i].variant == variant)
            return &e->timings[i];
    return NULL;
}

void atoll_prompt_put_rates(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                            const struct atoll_prompt_kernel *kernel, const struct atoll_prompt_kernel *other)
{
    for (uint32_t i = 0; i < input->task->variant_count; i++) {
        const struct atoll_timing *mine = timing_at(kernel, i), *theirs = timing_at(other, i);
        if (!mine || input->task->variants[i].kind == ATOLL_VARIANT_HIDDEN)
            continue;
        atoll_prompt_put(t, "- %s: ", input->task->variants[i].name);
        put_rate(input, t, mine);
        if (theirs) {
            atoll_prompt_put(t, ", against ");
            put_rate(input, t, theirs);
        }
        atoll_prompt_put(t, "\n");
    }
}

/* Names of what the timed shapes launch; 0: not known. */
static size_t launched_names(const struct atoll_prompt_input *input, const struct atoll_plan *plan,
                             const char *ret_names[ATOLL_PLAN_LAUNCH_LIMIT])
{
    size_t count = 0, path = 0;
    unsigned taken = 0;
    for (size_t i = 0; i < input->task->variant_count; i++) {
        const struct atoll_variant *v = &input->task->variants[i];
        if (!is_timed(input, v))
            continue;
        if (atoll_plan_path_at(input->task, plan, v, &path, NULL) != 0)
            return 0;
        taken |= 1u << path;
    }
    for (size_t p = 0; p < plan->path_count; p++)
        for (size_t i = 0; taken >> p & 1 && i < plan->paths[p].count; i++)
            ret_names[count++] = plan->launches[plan->paths[p].first + i].symbol;
    return count;
}

const char *atoll_prompt_timed_source(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                                      const char *source, struct atoll_buffer *out)
{
    const char *names[ATOLL_PLAN_LAUNCH_LIMIT];
    struct atoll_arena *arena = atoll_arena_create(PLAN_ARENA_BYTES, NULL);
    if (!arena)
        t->text.failed = ATOLL_E_MEMORY;
    const struct atoll_plan *plan = arena ? atoll_prompt_plan(input, t, source, arena) : NULL;
    size_t count = plan && plan->path_count > 1 ? launched_names(input, plan, names) : 0, left = 0;
    if (count)
        left = atoll_prompt_excerpt_reached(source, strlen(source), names, count, out);
    if (left)
        atoll_buffer_put_u8(out, 0);
    atoll_arena_destroy(arena);
    t->text.failed = t->text.failed ? t->text.failed : out->failed;
    return left && !out->failed ? (const char *)out->data : source;
}

static const char *no_parent(const struct atoll_prompt_input *input)
{
    return input->ask->kind == ATOLL_ASK_WRITE
               ? "There is none: write a first kernel from scratch, correct above all.\n"
               : "It is not known any more.\n";
}

/* ---- the elite of another language or device that is translated ---- */

static void put_difference(struct atoll_prompt_text *t, const char *what, double there, double here)
{
    if (there > 0 && here > 0 && (there > here || there < here))
        atoll_prompt_put(t, "- %s: %.10g there, %.10g here\n", what, there, here);
}

static void put_other_device(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_device_limits *a = &input->parent_device->limits, *b = &input->device->limits;
    atoll_prompt_put(t, "\nMeasured on another device:\n\n");
    atoll_prompt_put_quote(t, input->parent_device->model, 0);
    atoll_prompt_put(t, "\nWhat differs:\n");
    put_difference(t, "compute capability, tenths", a->compute_capability, b->compute_capability);
    put_difference(t, "multiprocessors", a->multiprocessors, b->multiprocessors);
    put_difference(t, "bytes of shared memory of a block", a->shared_bytes_per_block,
                   b->shared_bytes_per_block);
    put_difference(t, "bytes of shared memory of a multiprocessor", a->shared_bytes_per_multiprocessor,
                   b->shared_bytes_per_multiprocessor);
    put_difference(t, "threads of a multiprocessor", a->threads_per_multiprocessor,
                   b->threads_per_multiprocessor);
    put_difference(t, "registers of a multiprocessor", a->registers_per_multiprocessor,
                   b->registers_per_multiprocessor);
    put_difference(t, "threads of a candidate", input->parent_device->threads, input->device->threads);
    put_difference(t, "bytes of the last cache", input->parent_device->last_level_cache_bytes,
                   input->device->last_level_cache_bytes);
    put_difference(t, "measured copy rate, bytes per second", input->parent_device->bandwidth_bytes_per_s,
                   input->device->bandwidth_bytes_per_s);
}

static void put_elite(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    const char *language = input->parent_language ? input->parent_language : input->language;
    int is_other = strcmp(language, input->language) != 0;
    if (is_other)
        atoll_prompt_put(t, "It is in language `%s`; you write it in `%s`:\n\n", language, input->language);
    atoll_prompt_put_code(t, language, parent->source, 0);
    atoll_prompt_put(t, "\n");
    if (parent->evaluation)
        atoll_prompt_put(t, "Verdict: %s.\n", atoll_verdict_name(parent->evaluation->verdict));
    if (parent->evaluation && atoll_prompt_is_correct(parent))
        atoll_prompt_put_speed(t, parent);
    if (input->parent_device && input->device)
        put_other_device(input, t);
}

void atoll_prompt_write_parent(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    const struct atoll_prompt_kernel *parent = input->parent;
    if (!parent) {
        atoll_prompt_put(t, "%s", no_parent(input));
        return;
    }
    if (atoll_prompt_form_of(input) == ATOLL_FORM_TRANSLATE) {
        put_elite(input, t);
        return;
    }
    struct atoll_buffer taken;
    atoll_buffer_init(&taken, SOURCE_LIMIT);
    const char *source = input->ask->kind == ATOLL_ASK_SUMMARISE
                             ? atoll_prompt_timed_source(input, t, parent->source, &taken)
                             : parent->source;
    atoll_prompt_put_code(t, input->language, source, 0);
    if (source != parent->source)
        atoll_prompt_put(t, "\nFunctions of paths that no timed shape takes are left out.\n");
    atoll_buffer_fini(&taken);
    atoll_prompt_put(t, "\n");
    if (!parent->evaluation) {
        atoll_prompt_put(t, "It was not measured yet.\n");
        return;
    }
    atoll_prompt_put(t, "Verdict: %s.\n", atoll_verdict_name(parent->evaluation->verdict));
    atoll_prompt_put_choice(input, t, parent);
    if (atoll_prompt_is_correct(parent)) {
        atoll_prompt_put_speed(t, parent);
        atoll_prompt_put_cell(input, t, parent);
        put_timings(input, t, parent->evaluation);
        atoll_prompt_put_profile(input, t, parent);
    }
}

/* The complaint of an answer that could not be read stands in its comment. */
void atoll_prompt_put_unusable(struct atoll_prompt_text *t, const struct atoll_prompt_kernel *kernel)
{
    char why[512];
    const char *begin = kernel->source + strlen(ATOLL_REPLY_UNUSABLE), *end = strstr(begin, " */");
    int length = end && end - begin < 500 ? (int)(end - begin) : 500;
    snprintf(why, sizeof(why), "%.*s", length, begin);
    atoll_prompt_put(t, "The answer could not be used:\n\n");
    atoll_prompt_put_quote(t, why, 0);
    if (end) {
        atoll_prompt_put(t, "\nIt began:\n\n");
        atoll_prompt_put_quote(t, end + 3 + (end[3] == '\n'), 600);
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
    int unusable = atoll_prompt_is_unusable(parent);
    if (unusable)
        d->error = ATOLL_ERROR_ANSWER;
    atoll_prompt_put(t, "The parent is not correct: %s. First make it correct, then fast.\n",
                     atoll_verdict_name(e->verdict));
    put_diagnosis(t, d);
    if (unusable) {
        atoll_prompt_put(t, "Its first line says why.\n");
    } else if (e->detail[0]) {
        atoll_prompt_put(t, "\nWhat was reported:\n\n");
        atoll_prompt_put_detail(t, parent, 0);
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

/* Where no limiter is named: what the launch and the image say without counters. */
static void put_launch_shape(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                             const struct atoll_resources *r)
{
    static const char *const by[ATOLL_OCCUPANCY_COUNT] = {
        [ATOLL_OCCUPANCY_BLOCKS] = ", limited by their small size",
        [ATOLL_OCCUPANCY_REGISTERS] = ", limited by registers",
        [ATOLL_OCCUPANCY_SHARED] = ", limited by shared memory"};
    uint32_t processors = input->device ? input->device->limits.multiprocessors : 0;
    char where[WHERE_BYTES];
    if (!r->kernel_count || !r->blocks || !processors)
        return;
    where_text(input, t, input->parent->source, where);
    if (where[0])
        atoll_prompt_put(t, "At %s: ", where);
    if (r->kernel_count > 1)
        atoll_prompt_put(t,
                         "Which of the launches of its %u kernels takes the time was not measured. The one "
                         "with the most blocks",
                         r->kernel_count);
    atoll_prompt_put(t, "%s has %u block%s of %u threads on %u multiprocessors",
                     r->kernel_count > 1 ? "" : "Its launch", r->blocks, r->blocks == 1 ? "" : "s",
                     r->threads_per_block, processors);
    if (r->blocks < processors)
        atoll_prompt_put(t, ": %u of these have nothing to do", processors - r->blocks);
    else if (r->resident_blocks)
        atoll_prompt_put(t, ": %u at a time on each%s, %.2f waves", r->resident_blocks,
                         (unsigned)r->occupancy_by < ATOLL_OCCUPANCY_COUNT && by[r->occupancy_by]
                             ? by[r->occupancy_by]
                             : "",
                         (double)r->blocks / ((double)r->resident_blocks * processors));
    if (r->occupancy > 0)
        atoll_prompt_put(t, "; %.0f %% of a multiprocessor's warps fit", 100 * r->occupancy);
    atoll_prompt_put(t, ".\n");
}

/* The nearest kernel of which a limiter was counted: what limits it is none of the parent's facts, and is said to be so. */
static int put_relative(const struct atoll_prompt_input *input, struct atoll_prompt_text *t,
                        const struct atoll_prompt_kernel *k, const char *what)
{
    char text[ATOLL_DIAGNOSIS_BYTES];
    struct atoll_diagnosis d;
    if (!atoll_prompt_is_correct(k))
        return 0;
    atoll_diagnose_evaluation(k->evaluation, input->task, input->device, &d);
    if (!d.is_counted || d.limiter == ATOLL_LIMITER_UNKNOWN)
        return 0;
    atoll_prompt_put(t, "Counted of %s, not of this one: %s", what,
                     atoll_duration_text(k->time_ns, text, sizeof(text)));
    atoll_prompt_put(t, "; %s.\n", atoll_diagnosis_label(&d, text, sizeof(text)));
    return 1;
}

static void put_relatives(const struct atoll_prompt_input *input, struct atoll_prompt_text *t)
{
    int done = 0;
    for (size_t i = input->ancestors ? input->ancestor_count : 0; i-- > 0 && !done;)
        done = put_relative(input, t, &input->ancestors[i], "the nearest ancestor that was");
    for (size_t i = 0; input->siblings && i < input->sibling_count && !done; i++)
        done = put_relative(input, t, &input->siblings[i], "a kernel made beside it");
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
    if (d.limiter == ATOLL_LIMITER_UNKNOWN) {
        put_launch_shape(input, t, &e->profile.resources);
        if (!d.is_counted)
            put_relatives(input, t);
    }
    put_gap(t, time_ns, floor_ns);
    put_spills(t, &e->profile.resources);
    if (e->worst_error > 0.5 && e->worst_error < 1) {
        atoll_prompt_put(
            t, "Its worst error is %.2g of the tolerance: there is no room for less exact arithmetic.\n",
            e->worst_error);
    } else if (e->worst_error > 0 && e->worst_error < 0.05) {
        atoll_prompt_put(
            t,
            "Its worst error is only %.2g of the tolerance: cheaper arithmetic may do, as far as the allowed "
            "precisions go.\n",
            e->worst_error);
    }
}
