/* project_rows.c - events and decisions into rows: tasks, device models as CAPACITY names them, asks and what their replies
 * brought, evaluations with timings, samples and profiles, duels; candidates, elites, migrations, and the state of tasks and
 * campaign. */
#include "archive-h5/table/project_state.h"

#include <string.h>

#include "base/random.h"
#include "core/model_role.h"

/* As the engine counts them: a name that was not there is the next model. */
static int name_models(struct atoll_projection *p, const struct atoll_event *e, struct atoll_err *err)
{
    for (uint32_t i = 0; i < e->model_count; i++) {
        uint32_t name, model = 0;
        if (atoll_projection_put_text(p, e->models[i].model, &name, err) != 0)
            return -1;
        while (model < p->model_count && p->models[model] != name)
            model++;
        if (model == ATOLL_MODEL_LIMIT)
            return 0;
        if (model < p->model_count)
            continue;
        p->models[p->model_count++] = name;
        for (size_t t = 0; t < p->tasks.count; t++) { /* rows that were made before the model had a name */
            uint64_t at = ((const struct atoll_projection_task *)p->tasks.items)[t].rows[model];
            struct atoll_row_task row;
            if (at == ATOLL_PROJECTION_NONE)
                continue;
            atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, at, &row);
            row.model_name = name;
            atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, at, &row);
        }
    }
    return 0;
}

/* Asked again after a resume it is the same ask. */
static int add_ask(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    const struct atoll_ask *ask = &d->ask;
    uint32_t known;
    struct atoll_row_ask row = {.number = ask->number,
                                .event = p->event,
                                .campaign_ns = p->campaign_ns,
                                .kind = (uint8_t)ask->kind,
                                .operator_ = (uint8_t)ask->op,
                                .task = ask->task,
                                .model = ask->model,
                                .island = ask->island,
                                .generation = ask->generation,
                                .parent = ask->parent,
                                .stage = ask->stage,
                                .round = ask->round,
                                .count = ask->count,
                                .issues = ask->issues,
                                .version = ask->prompt,
                                .role = (uint8_t)atoll_model_role_of_ask(ask)};
    if (atoll_projection_find_ask(p, ask->number, &known))
        return 0;
    if (atoll_projection_add_told(p, ask, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_ASKS, &row, err) != 0) {
        return -1;
    }
    return atoll_index_add(&p->ask_index, ask->number,
                           (uint32_t)atoll_tables_count(p->tables, ATOLL_TABLE_ASKS) - 1, err) != 0 ||
                   atoll_projection_prompt_asked(p, ask, err) != 0
               ? -1
               : 0;
}

static void count_accepted(struct atoll_projection *p, uint64_t ask)
{
    struct atoll_row_ask row;
    uint32_t at;
    if (!ask || !atoll_projection_find_ask(p, ask, &at))
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &row);
    row.accepted++;
    atoll_tables_set(p->tables, ATOLL_TABLE_ASKS, at, &row);
}

static int put_dialogue(struct atoll_projection *p, const struct atoll_dialogue *d, struct atoll_row_ask *row,
                        struct atoll_err *err)
{
    const struct {
        const char *text;
        uint32_t *number;
    } texts[] = {{d->system, &row->system},
                 {d->prompt, &row->prompt},
                 {d->answer, &row->answer},
                 {d->thought, &row->thought},
                 {d->detail, &row->detail}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].text && atoll_projection_put_text(p, texts[i].text, texts[i].number, err) != 0)
            return -1;
    row->request = d->request;
    row->input_tokens = d->input_tokens;
    row->cached_tokens = d->cached_tokens;
    row->output_tokens = d->output_tokens;
    row->reasoning_tokens = d->reasoning_tokens;
    row->elapsed_s = d->elapsed_s;
    row->from_store = (uint8_t)d->is_from_store;
    return 0;
}

/* One that nobody waits for is ignored, as the engine does. */
static int take_reply(struct atoll_projection *p, const struct atoll_reply *reply, struct atoll_err *err)
{
    struct atoll_row_ask row;
    uint32_t at;
    if (!atoll_projection_find_ask(p, reply->ask, &at))
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &row);
    if (row.status)
        return 0;
    row.status = (uint8_t)(1 + (unsigned)reply->status);
    row.answered_ns = p->campaign_ns;
    row.tokens = reply->tokens;
    row.cost_usd = reply->cost_usd;
    row.sources = reply->source_count;
    row.items = reply->item_count;
    if (atoll_projection_put_text(p, reply->origin, &row.origin, err) != 0 ||
        (reply->dialogue.model &&
         atoll_projection_put_text(p, reply->dialogue.model, &row.asked, err) != 0) ||
        put_dialogue(p, &reply->dialogue, &row, err) != 0) {
        return -1;
    }
    atoll_tables_set(p->tables, ATOLL_TABLE_ASKS, at, &row);
    struct atoll_row_campaign campaign;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    campaign.tokens += reply->tokens;
    campaign.cost_usd += reply->cost_usd;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    if (atoll_projection_put_items(p, reply, err) != 0 ||
        atoll_projection_put_judgement(p, &row, reply, err) != 0 ||
        atoll_projection_put_learned(p, at, reply, err) != 0 ||
        atoll_projection_prompt_edited(p, &row, reply, err) != 0)
        return -1;
    for (uint32_t i = 0; i < reply->source_count; i++) {
        if (atoll_projection_add_source(p, reply->sources[i].language, reply->sources[i].text, reply->origin,
                                        err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_task_texts(struct atoll_projection *p, const struct atoll_task *task,
                          struct atoll_row_task *row, struct atoll_err *err)
{
    if (atoll_projection_put_text(p, task->name, &row->name, err) != 0 ||
        atoll_projection_put_text(p, task->summary, &row->summary, err) != 0 ||
        atoll_projection_put_text(p, task->torch ? task->torch->source : task->reference_source,
                                  &row->reference, err) != 0 ||
        atoll_projection_put_text(p, task->device_source ? task->device_source : "", &row->reference_device,
                                  err) != 0 ||
        atoll_projection_put_task_words(p, task, row, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < task->seed_count; i++) {
        if (atoll_projection_add_source(p, task->seeds[i].language, task->seeds[i].source,
                                        task->seeds[i].name, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Numbers are dense; a task that comes twice (a resume) is known already. */
static int add_task(struct atoll_projection *p, const struct atoll_event *e, struct atoll_err *err)
{
    struct atoll_row_task row;
    if (e->task != p->tasks.count)
        return 0;
    struct atoll_projection_task *t = atoll_projection_list_add(&p->tasks, sizeof(*t), err);
    if (!t)
        return -1;
    for (size_t i = 0; i < ATOLL_MODEL_LIMIT; i++)
        t->rows[i] = ATOLL_PROJECTION_NONE;
    t->rows[0] = atoll_tables_count(p->tables, ATOLL_TABLE_TASKS);
    memset(&row, 0, sizeof(row));
    row.task = e->task;
    if (!(t->task = atoll_task_decode(e->task_bytes, e->task_length, err)))
        return -1;
    row.id = t->task->id;
    row.model_name = p->model_count ? p->models[0] : 0;
    if (add_task_texts(p, t->task, &row, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_TASKS, &row, err);
}

static int add_timing(struct atoll_projection *p, const struct atoll_evaluation *e,
                      const struct atoll_timing *t, uint32_t number, const struct atoll_task *task,
                      struct atoll_err *err)
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
                                   .floor_model = (uint8_t)atoll_timing_floor_model(t),
                                   .resolution_ns = t->resolution_ns};
    const char *name = task && t->variant < task->variant_count ? task->variants[t->variant].name : "";
    if (atoll_projection_path(p, &e->candidate, number, t->variant, &row.path, err) != 0 ||
        atoll_projection_put_text(p, name, &row.variant_name, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_TIMINGS, &row, err) != 0) {
        return -1;
    }
    struct atoll_row_sample sample = {.event = p->event, .evaluation = e->evaluation, .variant = t->variant};
    for (size_t i = 0; i < t->sample_count; i++) {
        sample.number = (uint32_t)i;
        sample.time_ns = t->samples_ns[i];
        if (atoll_tables_append(p->tables, ATOLL_TABLE_SAMPLES, &sample, err) != 0)
            return -1;
    }
    return 0;
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
                                    .theoretical_occupancy = r->occupancy,
                                    .blocks = r->blocks,
                                    .threads_per_block = r->threads_per_block,
                                    .resident_blocks = r->resident_blocks,
                                    .cluster_blocks = r->cluster_blocks,
                                    .occupancy_by = (uint8_t)r->occupancy_by};
    if (from->tier == ATOLL_TIER_TIMES && from->limiter == ATOLL_LIMITER_UNKNOWN)
        return 0;
    memcpy(row.counters, from->counters, sizeof(row.counters));
    memcpy(row.mix, r->mix, sizeof(row.mix));
    if (atoll_projection_put_text(p, from->reason, &row.reason, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_PROFILES, &row, err);
}

static void count_evaluation(struct atoll_projection *p, uint64_t task_row,
                             const struct atoll_row_evaluation *e)
{
    struct atoll_row_task row;
    int64_t candidate = atoll_projection_find_candidate(p, &e->candidate);
    if (candidate >= 0 && e->time_ns > 0 && e->model < ATOLL_MODEL_LIMIT) {
        struct atoll_projection_floor *floor = &((struct atoll_projection_floor *)p->floors.items)[candidate];
        floor->ns[e->model] = e->floor_ns;
        floor->model[e->model] = e->floor_model;
        floor->beyond = e->beyond_precisions;
    }
    if (task_row == ATOLL_PROJECTION_NONE || e->verdict == ATOLL_V_INFRASTRUCTURE)
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    row.evaluated++;
    row.correct += e->verdict == ATOLL_V_CORRECT;
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
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
        atoll_evaluation_interval_ns(e, t->task, &row.time_lo_ns, &row.time_hi_ns);
        row.floor_model = (uint8_t)atoll_evaluation_floor_model(e);
        row.beyond_precisions = atoll_mix_beyond(e->profile.resources.mix, t->task);
        struct atoll_row_task task = {.baseline_ns = 0};
        if (task_row != ATOLL_PROJECTION_NONE)
            atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &task);
        row.fitness = atoll_fitness(p->form, e->verdict, row.time_ns, task.baseline_ns, row.floor_ns);
    }
    struct atoll_diagnosis diagnosis;
    atoll_diagnose_evaluation(e, t ? t->task : NULL, atoll_projection_find_device(p, e->device), &diagnosis);
    atoll_row_diagnosis_put(&row, &diagnosis);
    order->answered = e->verdict != ATOLL_V_INFRASTRUCTURE;
    if (atoll_projection_put_text(p, e->detail, &row.detail, err) != 0 ||
        atoll_tables_append(p->tables, ATOLL_TABLE_EVALUATIONS, &row, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < e->timing_count; i++)
        if (add_timing(p, e, &e->timings[i], order->task, t ? t->task : NULL, err) != 0)
            return -1;
    count_evaluation(p, task_row, &row);
    if (atoll_projection_credit(p, order->ask, &row, err) != 0)
        return -1;
    return add_profile(p, &e->profile, &row, err);
}

static void put_final(struct atoll_row_task *row, const struct atoll_row_duel *d)
{
    row->final_ratio = d->verdict == ATOLL_V_CORRECT ? d->ratio : 0;
    row->final_p = d->p_value;
    row->final_baseline_ns = d->elite_ns;
    row->final_best_ns = d->challenger_ns;
    row->final_pairs = d->pair_count;
    row->final_verdict = d->verdict;
    row->final_lo = d->ratio_lo;
    row->final_hi = d->ratio_hi;
    row->final_baseline_lo_ns = d->elite_lo_ns;
    row->final_baseline_hi_ns = d->elite_hi_ns;
    row->final_best_lo_ns = d->challenger_lo_ns;
    row->final_best_hi_ns = d->challenger_hi_ns;
}

/* Promotions, null controls and finals leave their traces in tasks and campaign. */
static void count_duel(struct atoll_projection *p, const struct atoll_row_duel *d, uint64_t task_row)
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
    } else if (d->purpose == ATOLL_DUEL_RIVAL) {
        atoll_projection_put_rival_final(&row, d);
    } else {
        put_final(&row, d);
        if (!d->pair_count)
            row.final_ratio = 0;
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
                                 .campaign_ns = p->campaign_ns,
                                 .ratio_lo = d->ratio_lo,
                                 .ratio_hi = d->ratio_hi,
                                 .elite_lo_ns = d->elite_lo_ns,
                                 .elite_hi_ns = d->elite_hi_ns,
                                 .challenger_lo_ns = d->challenger_lo_ns,
                                 .challenger_hi_ns = d->challenger_hi_ns};
    order->answered = d->verdict != ATOLL_V_INFRASTRUCTURE;
    if (atoll_projection_put_text(p, d->detail, &row.detail, err) != 0 ||
        (d->purpose == ATOLL_DUEL_RIVAL && atoll_projection_put_rival_names(p, order, &row, err) != 0)) {
        return -1;
    }
    count_duel(p, &row, task_row);
    return atoll_tables_append(p->tables, ATOLL_TABLE_DUELS, &row, err);
}

/* What the campaign had come to when it was extended does not hold any more: no task is done, no final is the last. */
static void reopen(struct atoll_projection *p, const struct atoll_extension *by)
{
    struct atoll_row_campaign campaign;
    struct atoll_row_task row;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    campaign.stop_reason = ATOLL_REASON_NONE;
    campaign.extensions++;
    campaign.extended_evaluations += by->evaluations;
    campaign.extended_device_ns += by->device_ns;
    campaign.extended_wall_ns += by->wall_ns;
    campaign.extended_tokens += by->tokens;
    campaign.extended_money_usd += by->money_usd;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
    for (uint64_t i = 0; i < atoll_tables_count(p->tables, ATOLL_TABLE_TASKS); i++) {
        atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, i, &row);
        row.done = 0;
        row.reason = ATOLL_REASON_NONE;
        row.final_ratio = row.final_p = row.final_baseline_ns = row.final_best_ns = 0;
        row.final_lo = row.final_hi = row.final_baseline_lo_ns = row.final_baseline_hi_ns = 0;
        row.final_best_lo_ns = row.final_best_hi_ns = 0;
        row.final_pairs = 0;
        row.final_verdict = 0;
        atoll_projection_put_rival_final(&row, &(struct atoll_row_duel){.ratio = 0});
        atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, i, &row);
    }
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
    case ATOLL_EVENT_CAPACITY: return name_models(p, e, err);
    case ATOLL_EVENT_REPLY: return take_reply(p, &e->reply, err);
    case ATOLL_EVENT_BRIEFING: return atoll_projection_put_briefing(p, &e->briefing, err);
    case ATOLL_EVENT_TOOL: return atoll_projection_put_tool_turn(p, &e->tool_turn, err);
    case ATOLL_EVENT_SOURCE: return atoll_projection_add_source(p, e->language, e->source, e->origin, err);
    case ATOLL_EVENT_EVALUATED: return add_evaluation(p, &e->evaluation, err);
    case ATOLL_EVENT_DUELLED: return add_duel(p, &e->duel, err);
    case ATOLL_EVENT_RIVAL: return atoll_projection_add_rival(p, &e->rival, err);
    case ATOLL_EVENT_EXTEND: reopen(p, &e->extension); return 0;
    case ATOLL_EVENT_DEVICE_TIME:
        return atoll_projection_put_device_times(p, e->unix_ns, &e->device_times, err);
    default: return 0;
    }
}

static int add_elite(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_elite row = {.event = p->event,
                                  .ordinal = p->ordinal,
                                  .task = d->task,
                                  .island = d->island,
                                  .memory = d->cell.memory,
                                  .algorithm = d->cell.algorithm,
                                  .coordination = d->cell.coordination,
                                  .candidate = d->candidate,
                                  .replaced = d->elite,
                                  .time_ns = d->time_ns,
                                  .fitness = d->fitness,
                                  .campaign_ns = p->campaign_ns,
                                  .model = d->model};
    return atoll_tables_append(p->tables, ATOLL_TABLE_ELITES, &row, err);
}

static int add_migration(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_migration row = {.event = p->event,
                                      .ordinal = p->ordinal,
                                      .task = d->task,
                                      .from_island = d->island,
                                      .to_island = d->other_island,
                                      .candidate = d->candidate,
                                      .campaign_ns = p->campaign_ns,
                                      .model = d->model};
    return atoll_tables_append(p->tables, ATOLL_TABLE_MIGRATIONS, &row, err);
}

static int add_decision(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_decision row = {.event = p->event,
                                     .ordinal = p->ordinal,
                                     .type = (uint8_t)d->type,
                                     .task = d->task,
                                     .evaluation = d->evaluation,
                                     .candidate = d->candidate,
                                     .time_ns = d->time_ns,
                                     .reason = (uint8_t)d->reason,
                                     .campaign_ns = p->campaign_ns,
                                     .model = d->model};
    return atoll_tables_append(p->tables, ATOLL_TABLE_DECISIONS, &row, err);
}

/* The last comparison of this purpose in which the best candidate stood; zero where there is none. */
static struct atoll_row_duel find_final(const struct atoll_projection *p, const struct atoll_row_task *row,
                                        enum atoll_duel_purpose purpose)
{
    struct atoll_row_duel found;
    for (uint64_t i = atoll_tables_count(p->tables, ATOLL_TABLE_DUELS); i-- > 0;) {
        atoll_tables_get(p->tables, ATOLL_TABLE_DUELS, i, &found);
        if (found.task == row->task && found.model == row->model && found.purpose == purpose &&
            atoll_id_equal(&found.challenger, &row->best)) {
            return found;
        }
    }
    return (struct atoll_row_duel){.ratio = 0};
}

/* The last BEST of a done task concludes its finals: the row is about the finals of that candidate, not of the
 * one that came last.  Where nobody is confirmed the baseline is the best, with a ratio of 1. */
static void conclude_finals(const struct atoll_projection *p, struct atoll_row_task *row)
{
    struct atoll_row_duel duel = find_final(p, row, ATOLL_DUEL_FINAL),
                          rival = find_final(p, row, ATOLL_DUEL_RIVAL);
    if (atoll_id_equal(&row->best, &row->baseline)) {
        duel = (struct atoll_row_duel){
            .ratio = 1, .p_value = 1, .elite_ns = row->baseline_ns, .challenger_ns = row->best_ns};
    }
    put_final(row, &duel);
    atoll_projection_put_rival_final(row, &rival);
}

/* BASELINE, BEST, TASK_DONE. */
static int update_task(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_task row;
    uint64_t task_row;
    int known = atoll_projection_task_row(p, d->task, d->model, &task_row, err);
    if (known != 1)
        return known;
    atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    int64_t candidate = atoll_projection_find_candidate(p, &d->candidate);
    if (d->type == ATOLL_DECIDE_TASK_DONE) {
        row.done = 1;
        row.reason = (uint8_t)d->reason;
    } else if (d->type == ATOLL_DECIDE_BASELINE) {
        row.baseline = d->candidate;
        row.baseline_ns = d->time_ns;
    } else {
        if (candidate >= 0)
            atoll_projection_credit_ask(p, (uint64_t)candidate, row.best_ns, d->time_ns);
        row.best = d->candidate;
        row.best_ns = d->time_ns;
        row.best_fitness = d->fitness;
        const struct atoll_projection_floor *floors = p->floors.items;
        row.floor_ns = candidate >= 0 ? floors[candidate].ns[d->model] : 0;
        row.floor_model = candidate >= 0 ? floors[candidate].model[d->model] : (uint8_t)ATOLL_FLOOR_UNTOLD;
        row.best_beyond_precisions = candidate >= 0 ? floors[candidate].beyond : 0;
        if (row.done)
            conclude_finals(p, &row);
    }
    atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, task_row, &row);
    return 0;
}

static int project_decision(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    struct atoll_row_campaign campaign;
    switch (d->type) {
    case ATOLL_DECIDE_EVALUATE:
        count_accepted(p, d->answers_ask);
        return atoll_projection_add_dispatch(p, d, err) != 0 ? -1 : atoll_projection_add_candidate(p, d, err);
    case ATOLL_DECIDE_DUEL:
    case ATOLL_DECIDE_RIVAL: return atoll_projection_add_dispatch(p, d, err);
    case ATOLL_DECIDE_ELITE: return add_elite(p, d, err);
    case ATOLL_DECIDE_MIGRATE: return add_migration(p, d, err);
    case ATOLL_DECIDE_BASELINE:
    case ATOLL_DECIDE_BEST:
    case ATOLL_DECIDE_TASK_DONE: return update_task(p, d, err);
    case ATOLL_DECIDE_ASK: return add_ask(p, d, err);
    case ATOLL_DECIDE_DISCARD: return atoll_projection_discard(p, d, err);
    case ATOLL_DECIDE_STOP:
        atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
        campaign.stop_reason = (uint8_t)d->reason;
        atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
        return 0;
    default: return 0;
    }
}

int atoll_projection_decision(struct atoll_projection *p, uint64_t event, const struct atoll_decision *d,
                              struct atoll_err *err)
{
    p->event = event;
    if (project_decision(p, d, err) != 0 || add_decision(p, d, err) != 0)
        return -1;
    p->ordinal++;
    return 0;
}
