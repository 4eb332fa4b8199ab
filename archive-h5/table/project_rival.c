/* project_rival.c - what was measured of rivals into rows, and which of them a task's kernels are compared with: at every bench
 * variant the fastest, combined by weight, as the engine has it (core/rival.h). */
#include "archive-h5/table/project_state.h"

#include <stdio.h>
#include <string.h>

#define NAMES_BYTES 512

/* Names of the rivals that were taken at the bench variants, where they were measured, and their modes. */
static int put_names(struct atoll_projection *p, const struct atoll_task *task,
                     const struct atoll_rival_times *times, const uint8_t *numbers, uint32_t *ret_names,
                     uint32_t *ret_modes, struct atoll_err *err)
{
    char names[NAMES_BYTES] = "", modes[NAMES_BYTES] = "";
    unsigned seen = 0;
    for (uint32_t v = 0; v < task->variant_count; v++) {
        uint8_t number = numbers[v];
        if (number >= task->rival_count || !(times->ns[number][v] > 0) || seen & 1u << number)
            continue;
        const struct atoll_rival_spec *spec = &task->rivals[number];
        const char *between = seen ? ", " : "";
        size_t at = strlen(names);
        snprintf(names + at, sizeof(names) - at, "%s%s", between, spec->name);
        at = strlen(modes);
        snprintf(modes + at, sizeof(modes) - at, "%s%s", between, atoll_torch_mode_name(spec->mode));
        seen |= 1u << number;
    }
    return atoll_projection_put_text(p, names, ret_names, err) != 0 ||
                   atoll_projection_put_text(p, modes, ret_modes, err) != 0
               ? -1
               : 0;
}

int atoll_projection_put_rival_names(struct atoll_projection *p,
                                     const struct atoll_projection_dispatch *order,
                                     struct atoll_row_duel *row, struct atoll_err *err)
{
    const struct atoll_projection_task *t = atoll_projection_find_task(p, order->task);
    uint32_t number = t && order->model < ATOLL_MODEL_LIMIT ? t->rivals[order->model] : 0, modes;
    if (!number)
        return 0;
    const struct atoll_projection_rivals *known = p->rivals.items;
    return put_names(p, t->task, &known[number - 1].times, order->rivals, &row->rival, &modes, err);
}

/* Combined by weight over the bench variants, of each what the fastest rival there has. */
static double combine(const double ns[ATOLL_TASK_RIVAL_LIMIT][ATOLL_TASK_VARIANT_LIMIT],
                      const struct atoll_fastest_rival *fastest, const struct atoll_rival_times *times,
                      const struct atoll_task *task)
{
    struct atoll_timing timings[ATOLL_TASK_VARIANT_LIMIT];
    size_t count = 0;
    memset(timings, 0, sizeof(timings));
    for (uint32_t v = 0; v < task->variant_count && v < ATOLL_TASK_VARIANT_LIMIT; v++) {
        uint8_t number = fastest->numbers[v];
        if (number >= ATOLL_TASK_RIVAL_LIMIT || !(times->ns[number][v] > 0))
            continue;
        timings[count].variant = v;
        timings[count++].summary.median = ns[number][v];
    }
    return atoll_timings_mean_ns(timings, count, task, ATOLL_TIMING_MEDIAN);
}

static double eager_ns(const struct atoll_rival_times *times, const struct atoll_task *task)
{
    struct atoll_rival_times eager = {.ns = {{0}}};
    for (size_t n = 0; n < task->rival_count; n++)
        if (task->rivals[n].mode == ATOLL_TORCH_EAGER)
            memcpy(eager.ns[n], times->ns[n], sizeof(eager.ns[n]));
    return atoll_rival_times_fastest(&eager, task).time_ns;
}

static struct atoll_projection_rivals *find_rivals(struct atoll_projection *p,
                                                   struct atoll_projection_task *t, uint32_t model,
                                                   struct atoll_err *err)
{
    if (!t->rivals[model]) {
        if (!atoll_projection_list_add(&p->rivals, sizeof(struct atoll_projection_rivals), err))
            return NULL;
        t->rivals[model] = (uint32_t)p->rivals.count;
    }
    return &((struct atoll_projection_rivals *)p->rivals.items)[t->rivals[model] - 1];
}

/* The rival of a task on a model, after one more was measured. */
static int choose_fastest(struct atoll_projection *p, const struct atoll_rival *r,
                          const struct atoll_projection_dispatch *order, uint64_t task_row,
                          struct atoll_err *err)
{
    struct atoll_row_task row;
    struct atoll_projection_task *t = atoll_projection_find_task(p, order->task);
    if (r->verdict != ATOLL_V_CORRECT || r->number >= ATOLL_TASK_RIVAL_LIMIT || !t || !t->task)
        return 0;
    struct atoll_projection_rivals *known = find_rivals(p, t, order->model, err);
    if (!known)
        return -1;
    atoll_rival_times_add(&known->times, r);
    for (size_t i = 0; i < r->timing_count; i++) {
        const struct atoll_timing *timing = &r->timings[i];
        if (timing->variant >= ATOLL_TASK_VARIANT_LIMIT)
            continue;
        known->host[r->number][timing->variant] = r->host_ns[i];
    }
    struct atoll_fastest_rival fastest = atoll_rival_times_fastest(&known->times, t->task);
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    row.rival_ns = fastest.time_ns;
    row.rival_lo_ns = fastest.lo_ns;
    row.rival_hi_ns = fastest.hi_ns;
    row.rival_host_ns = combine(known->host, &fastest, &known->times, t->task);
    row.eager_ns = eager_ns(&known->times, t->task);
    if (put_names(p, t->task, &known->times, fastest.numbers, &row.rival, &row.rival_mode, err) != 0)
        return -1;
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    return 0;
}

static int add_timing(struct atoll_projection *p, const struct atoll_rival *r, size_t index,
                      const struct atoll_task *task, struct atoll_err *err)
{
    const struct atoll_timing *t = &r->timings[index];
    const struct atoll_summary *s = &t->summary;
    struct atoll_row_rival_timing row = {.event = p->event,
                                         .evaluation = r->evaluation,
                                         .variant = t->variant,
                                         .flags = t->flags,
                                         .sample_count = (uint32_t)t->sample_count,
                                         .discarded_count = t->discarded_count,
                                         .min_ns = s->min,
                                         .p10_ns = s->p10,
                                         .median_ns = s->median,
                                         .p90_ns = s->p90,
                                         .max_ns = s->max,
                                         .lo95_ns = s->lo95,
                                         .hi95_ns = s->hi95,
                                         .relative_half_width = s->relative_half_width,
                                         .resolution_ns = t->resolution_ns,
                                         .host_ns = r->host_ns[index]};
    struct atoll_row_sample sample = {.event = p->event, .evaluation = r->evaluation, .variant = t->variant};
    const char *name = task && t->variant < task->variant_count ? task->variants[t->variant].name : "";
    if (atoll_projection_put_text(p, name, &row.variant_name, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_RIVAL_TIMINGS, &row, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < t->sample_count; i++) {
        sample.number = (uint32_t)i;
        sample.time_ns = t->samples_ns[i];
        if (atoll_tables_append(p->tables, ATOLL_TABLE_RIVAL_SAMPLES, &sample, err) != 0)
            return -1;
    }
    return 0;
}

/* What the task says of the rival, and its times. */
static int describe(struct atoll_projection *p, const struct atoll_rival *r, const struct atoll_task *task,
                    struct atoll_row_rival *row, struct atoll_err *err)
{
    const struct atoll_rival_spec *spec =
        task && r->number < task->rival_count ? &task->rivals[r->number] : NULL;
    struct atoll_timing host[ATOLL_TASK_VARIANT_LIMIT];
    memset(host, 0, sizeof(host));
    for (size_t i = 0; i < r->timing_count; i++) {
        host[i].variant = r->timings[i].variant;
        host[i].summary.median = r->host_ns[i];
    }
    if (task) {
        row->time_ns = atoll_rival_time_ns(r, task);
        row->time_lo_ns = atoll_timings_mean_ns(r->timings, r->timing_count, task, ATOLL_TIMING_LO95);
        row->time_hi_ns = atoll_timings_mean_ns(r->timings, r->timing_count, task, ATOLL_TIMING_HI95);
        row->host_ns = atoll_timings_mean_ns(host, r->timing_count, task, ATOLL_TIMING_MEDIAN);
    }
    row->mode = spec ? (uint8_t)spec->mode : 0;
    return atoll_projection_put_text(p, spec ? spec->name : "", &row->name, err) != 0 ||
                   atoll_projection_put_text(p, spec ? spec->expression : "", &row->expression, err) != 0 ||
                   atoll_projection_put_text(p, r->versions, &row->versions, err) != 0 ||
                   atoll_projection_put_text(p, r->detail, &row->detail, err) != 0
               ? -1
               : 0;
}

int atoll_projection_add_rival(struct atoll_projection *p, const struct atoll_rival *r, struct atoll_err *err)
{
    struct atoll_projection_dispatch *order = atoll_projection_find_dispatch(p, r->evaluation);
    uint64_t task_row;
    if (!order || order->answered)
        return 0; /* never ordered, or answered already: the engine ignores it too */
    int known = atoll_projection_task_row(p, order->task, order->model, &task_row, err);
    if (known != 1)
        return known;
    const struct atoll_projection_task *t = atoll_projection_find_task(p, order->task);
    struct atoll_row_rival row = {.event = p->event,
                                  .evaluation = r->evaluation,
                                  .task = order->task,
                                  .number = r->number,
                                  .model = order->model,
                                  .verdict = (uint8_t)r->verdict,
                                  .device = r->device,
                                  .started_unix_ns = r->started_unix_ns,
                                  .campaign_ns = p->campaign_ns,
                                  .worst_error = r->worst_error,
                                  .compile_ns = r->compile_ns,
                                  .occupied_ns = r->occupied_ns};
    order->answered = r->verdict != ATOLL_V_INFRASTRUCTURE;
    if (describe(p, r, t->task, &row, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_RIVALS, &row, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < r->timing_count; i++)
        if (add_timing(p, r, i, t->task, err) != 0)
            return -1;
    return choose_fastest(p, r, order, task_row, err);
}

void atoll_projection_put_rival_final(struct atoll_row_task *row, const struct atoll_row_duel *d)
{
    int carried_out = d->verdict == ATOLL_V_CORRECT && d->pair_count > 0;
    row->final_rival_ratio = carried_out ? d->ratio : 0;
    row->final_rival_p = d->p_value;
    row->final_rival_pairs = d->pair_count;
    row->final_rival_verdict = d->verdict;
    row->final_rival_lo = d->ratio_lo;
    row->final_rival_hi = d->ratio_hi;
    row->final_rival_ns = d->elite_ns;
    row->final_rival_lo_ns = d->elite_lo_ns;
    row->final_rival_hi_ns = d->elite_hi_ns;
    row->final_rival_best_ns = d->challenger_ns;
    row->final_rival_best_lo_ns = d->challenger_lo_ns;
    row->final_rival_best_hi_ns = d->challenger_hi_ns;
}

int atoll_projection_put_task_words(struct atoll_projection *p, const struct atoll_task *task,
                                    struct atoll_row_task *row, struct atoll_err *err)
{
    char tags[ATOLL_TASK_TAG_LIMIT * 64] = "";
    for (size_t i = 0, at = 0; i < task->tag_count && at < sizeof(tags); i++)
        at += (size_t)snprintf(tags + at, sizeof(tags) - at, "%s%s", i ? " " : "", task->tags[i]);
    const struct {
        const char *text;
        uint32_t *number;
    } texts[] = {{task->category, &row->category},
                 {tags, &row->tags},
                 {task->instructions, &row->instructions},
                 {task->origin.suite, &row->origin_suite},
                 {task->origin.problem, &row->origin_problem},
                 {task->origin.hash, &row->origin_hash}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (atoll_projection_put_text(p, texts[i].text, texts[i].number, err) != 0)
            return -1;
    row->level = (uint8_t)task->level;
    row->reference_kind = task->torch ? (task->torch->is_function ? 2 : 1) : 0;
    return 0;
}
