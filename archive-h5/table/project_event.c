/* project_event.c - events into rows: tasks, evaluations with timings, samples and profiles, duels. */
#include <string.h>

#include "archive-h5/table/project_state.h"

static int add_task_texts(struct atoll_projection *p, const struct atoll_task *task,
                          struct atoll_row_task *row, struct atoll_err *err)
{
    if (atoll_projection_put_text(p, task->name, &row->name, err) != 0 ||
        atoll_projection_put_text(p, task->summary, &row->summary, err) != 0 ||
        atoll_projection_put_text(p, task->reference_source, &row->reference, err) != 0)
        return -1;
    for (size_t i = 0; i < task->seed_count; i++)
        if (atoll_projection_add_source(p, task->seeds[i].language, task->seeds[i].source,
                                        task->seeds[i].name, err) != 0)
            return -1;
    return 0;
}

/* Numbers are dense; a task that comes twice (a resume) is known already. */
static int add_task(struct atoll_projection *p, const struct atoll_event *e, struct atoll_err *err)
{
    struct atoll_row_task row;
    if (e->task != p->tasks.count)
        return 0;
    struct atoll_projection_task *t = atoll_projection_list_add(&p->tasks, sizeof *t, err);
    if (!t)
        return -1;
    for (size_t i = 0; i < ATOLL_MODEL_LIMIT; i++)
        t->rows[i] = ATOLL_PROJECTION_NONE;
    t->rows[0] = atoll_tables_count(p->tables, ATOLL_TABLE_TASKS);
    memset(&row, 0, sizeof row);
    row.task = e->task;
    if (!(t->task = atoll_task_decode(e->task_bytes, e->task_length, err)))
        return -1;
    row.id = t->task->id;
    row.model_name = p->model_count ? p->models[0] : 0;
    if (add_task_texts(p, t->task, &row, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_TASKS, &row, err);
}

static int add_samples(struct atoll_projection *p, const struct atoll_evaluation *e,
                       const struct atoll_timing *t, struct atoll_err *err)
{
    struct atoll_row_sample row = {.event = p->event, .evaluation = e->evaluation, .variant = t->variant};
    for (size_t i = 0; i < t->sample_count; i++) {
        row.number = (uint32_t)i;
        row.time_ns = t->samples_ns[i];
        if (atoll_tables_append(p->tables, ATOLL_TABLE_SAMPLES, &row, err) != 0)
            return -1;
    }
    return 0;
}

static int add_timing(struct atoll_projection *p, const struct atoll_evaluation *e,
                      const struct atoll_timing *t, const struct atoll_task *task, struct atoll_err *err)
{
    const struct atoll_summary *s = &t->summary;
    struct atoll_row_timing row = {.event = p->event,
                                   .evaluation = e->evaluation,
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
                                   .floor_ns = t->floor_ns,
                                   .resolution_ns = t->resolution_ns};
    const char *name = task && t->variant < task->variant_count ? task->variants[t->variant].name : "";
    if (atoll_projection_put_text(p, name, &row.variant_name, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_TIMINGS, &row, err) != 0)
        return -1;
    return add_samples(p, e, t, err);
}

/* Only what something is known of has a row; that a backend counts nothing is not worth one. */
static int add_profile(struct atoll_projection *p, const struct atoll_profile *from,
                       const struct atoll_row_evaluation *e, struct atoll_err *err)
{
    const struct atoll_resources *r = &from->resources;
    struct atoll_row_profile row = {.event = e->event,
                                    .evaluation = e->evaluation,
                                    .candidate = e->candidate,
                                    .task = e->task,
                                    .device = e->device,
                                    .tier = (uint8_t)from->tier,
                                    .limiter = (uint8_t)from->limiter,
                                    .clock_hz = from->clock_hz,
                                    .throttle_reasons = from->throttle_reasons,
                                    .intensity_flops_per_byte = from->intensity_flops_per_byte,
                                    .wall_ns = from->wall_ns,
                                    .kernel_count = r->kernel_count,
                                    .registers = r->registers,
                                    .static_shared_bytes = r->static_shared_bytes,
                                    .dynamic_shared_bytes = r->dynamic_shared_bytes,
                                    .stack_bytes = r->stack_bytes,
                                    .spill_store_bytes = r->spill_store_bytes,
                                    .spill_load_bytes = r->spill_load_bytes,
                                    .theoretical_occupancy = r->occupancy};
    if (from->tier == ATOLL_TIER_TIMES && from->limiter == ATOLL_LIMITER_UNKNOWN)
        return 0;
    memcpy(row.counters, from->counters, sizeof row.counters);
    memcpy(row.mix, r->mix, sizeof row.mix);
    if (atoll_projection_put_text(p, from->reason, &row.reason, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_PROFILES, &row, err);
}

static void count_evaluation(struct atoll_projection *p, uint64_t task_row,
                             const struct atoll_row_evaluation *e)
{
    struct atoll_row_task row;
    int64_t candidate = atoll_projection_find_candidate(p, &e->candidate);
    if (candidate >= 0 && e->floor_ns > 0 && e->model < ATOLL_MODEL_LIMIT)
        ((struct atoll_projection_floor *)p->floors.items)[candidate].ns[e->model] = e->floor_ns;
    if (task_row == ATOLL_PROJECTION_NONE || e->verdict == ATOLL_V_INFRASTRUCTURE)
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    row.evaluated++;
    row.correct += e->verdict == ATOLL_V_CORRECT;
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
}

static double baseline_of(const struct atoll_projection *p, uint64_t task_row)
{
    struct atoll_row_task row;
    if (task_row == ATOLL_PROJECTION_NONE)
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    return row.baseline_ns;
}

static int add_evaluation(struct atoll_projection *p, const struct atoll_evaluation *e, struct atoll_err *err)
{
    struct atoll_projection_dispatch *order = atoll_projection_find_dispatch(p, e->evaluation);
    if (!order || order->answered)
        return 0; /* never ordered, or answered already: the engine ignores it too */
    uint64_t task_row = ATOLL_PROJECTION_NONE;
    if (atoll_projection_task_row(p, order->task, order->model, &task_row, err) < 0)
        return -1;
    const struct atoll_projection_task *t = atoll_projection_find_task(p, order->task);
    struct atoll_row_evaluation row = {.event = p->event,
                                       .evaluation = e->evaluation,
                                       .candidate = e->candidate,
                                       .task = order->task,
                                       .model = order->model,
                                       .device = e->device,
                                       .verdict = (uint8_t)e->verdict,
                                       .level = (uint8_t)e->level,
                                       .memory = e->behaviour.memory,
                                       .algorithm = e->behaviour.algorithm,
                                       .coordination = e->behaviour.coordination,
                                       .binary = e->binary,
                                       .started_unix_ns = e->started_unix_ns,
                                       .campaign_ns = p->campaign_ns,
                                       .compile_ns = e->compile_ns,
                                       .check_ns = e->check_ns,
                                       .sampling_ns = e->sampling_ns,
                                       .occupied_ns = e->occupied_ns,
                                       .candidate_ns = e->candidate_ns,
                                       .code_bytes = e->code_bytes,
                                       .draw_count = e->draw_count,
                                       .fully_compared_count = e->fully_compared_count,
                                       .worst_error = e->worst_error};
    if (t) {
        row.time_ns = atoll_evaluation_time_ns(e, t->task);
        row.floor_ns = atoll_evaluation_floor_ns(e, t->task);
        row.fitness = atoll_fitness(p->form, e->verdict, row.time_ns, baseline_of(p, task_row), row.floor_ns);
    }
    order->answered = e->verdict != ATOLL_V_INFRASTRUCTURE;
    if (atoll_projection_put_text(p, e->detail, &row.detail, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_EVALUATIONS, &row, err) != 0)
        return -1;
    for (size_t i = 0; i < e->timing_count; i++)
        if (add_timing(p, e, &e->timings[i], t ? t->task : NULL, err) != 0)
            return -1;
    count_evaluation(p, task_row, &row);
    return add_profile(p, &e->profile, &row, err);
}

/* Promotions, null controls and finals leave their traces in tasks and campaign. */
static void count_duel(struct atoll_projection *p, const struct atoll_duel *d, uint64_t task_row)
{
    struct atoll_row_campaign campaign;
    struct atoll_row_task row;
    uint32_t carried_out = d->verdict == ATOLL_V_CORRECT;
    if (d->purpose == ATOLL_DUEL_NULL_CONTROL && carried_out) {
        atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
        campaign.noop_challenges++;
        campaign.noop_promotions += d->better != 0;
        atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    }
    if (task_row == ATOLL_PROJECTION_NONE || d->purpose == ATOLL_DUEL_NULL_CONTROL)
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    if (d->purpose == ATOLL_DUEL_PROMOTION) {
        row.challenges += carried_out;
        row.promotions += d->better ? carried_out : 0;
    } else {
        row.final_ratio = carried_out && d->pair_count ? d->ratio : 0;
        row.final_p = d->p_value;
        row.final_baseline_ns = d->elite_ns;
        row.final_best_ns = d->challenger_ns;
        row.final_pairs = d->pair_count;
        row.final_verdict = (uint8_t)d->verdict;
    }
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
}

static int add_duel(struct atoll_projection *p, const struct atoll_duel *d, struct atoll_err *err)
{
    struct atoll_projection_dispatch *order = atoll_projection_find_dispatch(p, d->evaluation);
    uint64_t task_row = ATOLL_PROJECTION_NONE;
    if (!order || order->answered)
        return 0;
    if (atoll_projection_task_row(p, order->task, order->model, &task_row, err) < 0)
        return -1;
    struct atoll_row_duel row = {.event = p->event,
                                 .evaluation = d->evaluation,
                                 .task = order->task,
                                 .model = order->model,
                                 .island = order->island,
                                 .purpose = (uint8_t)d->purpose,
                                 .verdict = (uint8_t)d->verdict,
                                 .better = d->better != 0,
                                 .challenger = order->candidate,
                                 .elite = order->elite,
                                 .ratio = d->ratio,
                                 .p_value = d->p_value,
                                 .pair_count = d->pair_count,
                                 .elite_ns = d->elite_ns,
                                 .challenger_ns = d->challenger_ns,
                                 .occupied_ns = d->occupied_ns,
                                 .candidate_ns = d->candidate_ns,
                                 .device = d->device,
                                 .campaign_ns = p->campaign_ns};
    order->answered = d->verdict != ATOLL_V_INFRASTRUCTURE;
    if (atoll_projection_put_text(p, d->detail, &row.detail, err) != 0)
        return -1;
    count_duel(p, d, task_row);
    return atoll_tables_append(p->tables, ATOLL_TABLE_DUELS, &row, err);
}

int atoll_projection_event(struct atoll_projection *p, uint64_t number, const struct atoll_event *e,
                           struct atoll_err *err)
{
    struct atoll_row_campaign campaign;
    p->event = number;
    p->campaign_ns = e->campaign_ns;
    p->ordinal = 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    campaign.events = number + 1;
    campaign.campaign_ns = e->campaign_ns;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    switch (e->type) {
    case ATOLL_EVENT_TASK: return add_task(p, e, err);
    case ATOLL_EVENT_CAPACITY: return atoll_projection_capacity(p, e, err);
    case ATOLL_EVENT_REPLY: return atoll_projection_reply(p, &e->reply, err);
    case ATOLL_EVENT_SOURCE: return atoll_projection_add_source(p, e->language, e->source, e->origin, err);
    case ATOLL_EVENT_EVALUATED: return add_evaluation(p, &e->evaluation, err);
    case ATOLL_EVENT_DUELLED: return add_duel(p, &e->duel, err);
    default: return 0;
    }
}
