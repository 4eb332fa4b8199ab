/* project.c - the state is the tables plus what is needed to fill them: sources by id, dispatches by number,
 * tasks decoded. */
#include "archive-h5/table/project_state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/table/copy_rows.h"
#include "base/file.h"

#define ARENA_LIMIT_BYTES    ((size_t)64 << 20)
#define PLANS_LIMIT_BYTES    ((size_t)64 << 20)
#define SETTINGS_LIMIT_BYTES ((size_t)4 << 20)

/* A line `name: value` for each setting of the search, and for each option of the run. */
static void put_settings(const struct atoll_config *c, struct atoll_buffer *search,
                         struct atoll_buffer *options)
{
    size_t count;
    const struct atoll_search_field *fields = atoll_search_fields(&count);
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_printf(search, "%s: ", fields[i].name);
        atoll_search_print(&c->search, &fields[i], search);
        atoll_buffer_printf(search, "\n");
    }
    for (size_t i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].key, ATOLL_CONFIG_SUITE) != 0 &&
            strcmp(c->options[i].key, ATOLL_CONFIG_COMMAND_LINE) != 0) {
            atoll_buffer_printf(options, "%s: %s\n", c->options[i].key, c->options[i].value);
        }
}

static int add_campaign_texts(struct atoll_projection *p, const struct atoll_config *c,
                              struct atoll_row_campaign *row, struct atoll_err *err)
{
    struct atoll_buffer search, options;
    int failed = atoll_projection_put_text(p, c->atoll_version, &row->atoll_version, err);
    atoll_buffer_init(&search, SETTINGS_LIMIT_BYTES);
    atoll_buffer_init(&options, SETTINGS_LIMIT_BYTES);
    put_settings(c, &search, &options);
    if (!failed)
        failed =
            atoll_buffer_check(&search, err) || atoll_buffer_check(&options, err) ||
            atoll_tables_add_text(p->tables, (const char *)search.data, search.length, &row->settings, err) ||
            atoll_tables_add_text(p->tables, (const char *)options.data, options.length, &row->options, err);
    for (size_t i = 0; !failed && i < c->option_count; i++)
        if (!strcmp(c->options[i].key, ATOLL_CONFIG_SUITE))
            failed = atoll_projection_put_text(p, c->options[i].value, &row->suite, err);
        else if (!strcmp(c->options[i].key, ATOLL_CONFIG_COMMAND_LINE))
            failed = atoll_projection_put_text(p, c->options[i].value, &row->command_line, err);
    atoll_buffer_fini(&search);
    atoll_buffer_fini(&options);
    return failed ? -1 : 0;
}

static int add_campaign(struct atoll_projection *p, const struct atoll_config *c, struct atoll_err *err)
{
    struct atoll_row_campaign row = {.id = c->id,
                                     .engine_version = c->engine_version,
                                     .created_unix_ns = c->created_unix_ns,
                                     .seed = c->search.seed,
                                     .islands = c->search.islands,
                                     .generation_size = c->search.generation_size,
                                     .migration_interval = c->search.migration_interval,
                                     .alpha = c->search.alpha,
                                     .margin = c->search.margin,
                                     .evaluation_budget = c->search.evaluation_budget,
                                     .device_budget_ns = c->search.device_budget_ns,
                                     .wall_budget_ns = c->search.wall_budget_ns,
                                     .token_budget = c->search.token_budget,
                                     .money_budget_usd = c->search.money_budget_usd,
                                     .strategy = (uint8_t)c->search.strategy,
                                     .timing = 0};
    for (size_t i = 0; i < c->option_count; i++) /* one way of timing holds for a whole campaign */
        if (!strcmp(c->options[i].key, "timing"))
            row.timing = !strcmp(c->options[i].value, "warm");
    p->form = c->search.fitness_form;
    p->judge_limit = c->search.judge_limit;
    atoll_projection_prompts_init(&p->prompts, &c->search);
    if (add_campaign_texts(p, c, &row, err) != 0)
        return -1;
    return atoll_tables_append(p->tables, ATOLL_TABLE_CAMPAIGN, &row, err);
}

struct atoll_projection *atoll_projection_create(const struct atoll_config *config, struct atoll_err *err)
{
    struct atoll_projection *p = calloc(1, sizeof(*p));
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a projection");
        return NULL;
    }
    p->plan_round = 1;
    p->books[ATOLL_PROJECTION_HINTS] =
        (struct atoll_projection_books){.rows = ATOLL_TABLE_HINTS, .uses = ATOLL_TABLE_HINT_USES};
    p->books[ATOLL_PROJECTION_KNOWLEDGE] =
        (struct atoll_projection_books){.rows = ATOLL_TABLE_KNOWLEDGE_ENTRIES,
                                        .uses = ATOLL_TABLE_KNOWLEDGE_USES,
                                        .ledger = {.kinds = ATOLL_BRIEFS_OF_KNOWLEDGE}};
    if (!(p->tables = atoll_tables_create(ATOLL_TABLES_LIMIT_BYTES, err)) ||
        !(p->arena = atoll_arena_create(ARENA_LIMIT_BYTES, err)) ||
        !(p->plans = atoll_arena_create(PLANS_LIMIT_BYTES, err)) || add_campaign(p, config, err) != 0) {
        atoll_projection_destroy(p);
        return NULL;
    }
    return p;
}

void atoll_projection_destroy(struct atoll_projection *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->tasks.count; i++)
        atoll_task_destroy(((struct atoll_projection_task *)p->tasks.items)[i].task);
    free(p->tasks.items);
    free(p->sources.items);
    free(p->dispatches.items);
    free(p->floors.items);
    free(p->rivals.items);
    free(p->devices.items);
    free(p->told.items);
    atoll_projection_prompts_fini(&p->prompts);
    for (size_t i = 0; i < ATOLL_PROJECTION_BOOK_COUNT; i++)
        atoll_hint_ledger_fini(&p->books[i].ledger);
    atoll_index_fini(&p->ask_index);
    atoll_index_fini(&p->device_time_index);
    atoll_index_fini(&p->source_index);
    atoll_index_fini(&p->dispatch_index);
    atoll_index_fini(&p->candidate_index);
    atoll_arena_destroy(p->arena);
    atoll_arena_destroy(p->plans);
    atoll_tables_destroy(p->tables);
    free(p);
}

const struct atoll_tables *atoll_projection_tables(const struct atoll_projection *p)
{
    return p->tables;
}

static int put_limits(struct atoll_projection *p, const struct atoll_device_limits *l,
                      struct atoll_row_device *row, struct atoll_err *err)
{
    row->compute_capability = l->compute_capability;
    row->multiprocessors = l->multiprocessors;
    row->warp_size = l->warp_size;
    row->threads_per_block = l->threads_per_block;
    row->threads_per_multiprocessor = l->threads_per_multiprocessor;
    row->blocks_per_multiprocessor = l->blocks_per_multiprocessor;
    row->registers_per_multiprocessor = l->registers_per_multiprocessor;
    row->registers_per_block = l->registers_per_block;
    row->shared_bytes_per_block = l->shared_bytes_per_block;
    row->shared_bytes_per_multiprocessor = l->shared_bytes_per_multiprocessor;
    row->cluster_blocks = l->cluster_blocks;
    row->cooperative = l->cooperative;
    row->host_memory = l->host_memory;
    row->memory_bytes = l->memory_bytes;
    row->clock_hz = l->clock_hz;
    row->memory_clock_hz = l->memory_clock_hz;
    row->tensor_f64_flops = l->tensor_flops[ATOLL_F64];
    row->tensor_tf32_flops = l->tensor_flops[ATOLL_DTYPE_COUNT];
    row->tensor_f16_flops = l->tensor_flops[ATOLL_F16];
    row->tensor_bf16_flops = l->tensor_flops[ATOLL_BF16];
    row->tensor_f8_flops = l->tensor_flops[ATOLL_F8E4M3];
    row->tensor_i8_flops = l->tensor_flops[ATOLL_I8];
    return atoll_projection_put_text(p, l->driver, &row->driver, err) != 0 ||
                   atoll_projection_put_text(p, l->target, &row->target, err) != 0 ||
                   atoll_projection_put_text(p, l->counters, &row->counters, err) != 0
               ? -1
               : 0;
}

/* What diagnoses need of it. */
static int keep_device(struct atoll_projection *p, const struct atoll_device_info *d, struct atoll_err *err)
{
    struct atoll_device_info *known = p->devices.items;
    size_t i = 0;
    while (i < p->devices.count && known[i].key != d->key)
        i++;
    if (i == p->devices.count && !atoll_projection_list_add(&p->devices, sizeof(*known), err))
        return -1;
    ((struct atoll_device_info *)p->devices.items)[i] = *d;
    return 0;
}

int atoll_projection_device(struct atoll_projection *p, const struct atoll_device_info *d,
                            struct atoll_err *err)
{
    struct atoll_row_device row, old;
    if (keep_device(p, d, err) != 0)
        return -1;
    memset(&row, 0, sizeof(row));
    row.key = d->key;
    row.threads = d->threads;
    row.bandwidth_bytes_per_s = d->bandwidth_bytes_per_s;
    row.peak_f64_flops = d->peak_flops[ATOLL_F64];
    row.peak_f32_flops = d->peak_flops[ATOLL_F32];
    row.peak_f16_flops = d->peak_flops[ATOLL_F16];
    row.peak_bf16_flops = d->peak_flops[ATOLL_BF16];
    row.empty_launch_ns = d->empty_launch_ns;
    row.clock_resolution_ns = d->clock_resolution_ns;
    row.last_level_cache_bytes = d->last_level_cache_bytes;
    if (atoll_projection_put_text(p, d->backend, &row.backend, err) != 0 ||
        atoll_projection_put_text(p, d->model, &row.model, err) != 0 ||
        atoll_projection_put_text(p, d->uuid, &row.uuid, err) != 0 ||
        atoll_projection_put_text(p, d->node, &row.node, err) != 0 ||
        atoll_projection_put_text(p, d->toolchain, &row.toolchain, err) != 0 ||
        atoll_projection_put_text(p, d->isolation, &row.isolation, err) != 0 ||
        put_limits(p, &d->limits, &row, err) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < atoll_tables_count(p->tables, ATOLL_TABLE_DEVICES); i++) {
        atoll_tables_get(p->tables, ATOLL_TABLE_DEVICES, i, &old);
        if (old.key == row.key) {
            atoll_tables_set(p->tables, ATOLL_TABLE_DEVICES, i, &row);
            return 0;
        }
    }
    return atoll_tables_append(p->tables, ATOLL_TABLE_DEVICES, &row, err);
}

int atoll_projection_definition(struct atoll_projection *p, uint32_t task, const char *yaml, size_t length,
                                struct atoll_err *err)
{
    struct atoll_row_task row;
    uint32_t definition;
    const struct atoll_projection_task *t = atoll_projection_find_task(p, task);
    if (!t)
        return 0;
    if (atoll_tables_add_text(p->tables, yaml, strnlen(yaml, length), &definition, err) != 0)
        return -1;
    for (uint32_t model = 0; model < ATOLL_MODEL_LIMIT; model++) {
        if (t->rows[model] == ATOLL_PROJECTION_NONE)
            continue;
        atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, t->rows[model], &row);
        row.definition = definition;
        atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, t->rows[model], &row);
    }
    return 0;
}

static int begin_attempt(struct atoll_projection *p, const struct atoll_journal_header *header,
                         struct atoll_err *err)
{
    p->attempt = header->attempt;
    p->began_unix_ns = header->created_unix_ns;
    return atoll_projection_put_text(p, header->name, &p->job, err);
}

int atoll_projection_record(struct atoll_projection *p, const struct atoll_record *record,
                            struct atoll_err *err)
{
    struct atoll_decision d;
    struct atoll_event e;
    size_t cursor = 0;
    int got;
    switch (record->type) {
    case ATOLL_RECORD_EVENT:
        atoll_arena_reset(p->arena);
        atoll_event_init(&e, ATOLL_EVENT_TICK);
        if (atoll_event_decode(record->bytes, record->length, p->arena, &e, err) != 0)
            return -1;
        got = atoll_projection_event(p, record->event, &e, err);
        atoll_event_fini(&e);
        return got;
    case ATOLL_RECORD_HEADER: return begin_attempt(p, &record->header, err);
    case ATOLL_RECORD_DEVICE: return atoll_projection_device(p, &record->device, err);
    case ATOLL_RECORD_DECISIONS:
        while ((got = atoll_record_decision(record, &cursor, &d, err)) == 1)
            if (atoll_projection_decision(p, record->event, &d, err) != 0)
                return -1;
        return got;
    default: return 0;
    }
}

struct atoll_tables *atoll_projection_cut(struct atoll_projection *p, struct atoll_err *err)
{
    struct atoll_row_copier copier;
    union atoll_any_row row;
    struct atoll_tables *cut = atoll_tables_create(ATOLL_TABLES_LIMIT_BYTES, err);
    if (!cut || atoll_row_copier_init(&copier, cut, p->tables, err) != 0) {
        atoll_tables_destroy(cut);
        return NULL;
    }
    int failed = 0;
    for (size_t t = 0; !failed && t < ATOLL_TABLE_COUNT; t++) {
        /* of these, rows change */
        int is_whole = t <= ATOLL_TABLE_ASKS || t == ATOLL_TABLE_DEVICE_TIME || t == ATOLL_TABLE_HINTS ||
                       t == ATOLL_TABLE_HINT_USES || t == ATOLL_TABLE_KNOWLEDGE_ENTRIES ||
                       t == ATOLL_TABLE_KNOWLEDGE_USES;
        uint64_t begin = is_whole ? 0 : p->marks[t], end = atoll_tables_count(p->tables, (enum atoll_table)t);
        for (uint64_t i = begin; !failed && i < end; i++) {
            failed = atoll_row_copier_get(&copier, (enum atoll_table)t, i, &row, err) != 0 ||
                     atoll_tables_append(cut, (enum atoll_table)t, &row, err) != 0;
        }
    }
    atoll_row_copier_fini(&copier);
    if (failed) {
        atoll_tables_destroy(cut);
        return NULL;
    }
    atoll_projection_mark(p);
    return cut;
}

void atoll_projection_mark(struct atoll_projection *p)
{
    for (size_t t = 0; t < ATOLL_TABLE_COUNT; t++)
        p->marks[t] = atoll_tables_count(p->tables, (enum atoll_table)t);
    p->is_marked = 1;
}

int atoll_projection_is_whole(const struct atoll_projection *p)
{
    return !p->is_marked;
}

int atoll_projection_visit(struct atoll_projection *p, const struct atoll_attempt *attempt,
                           const struct atoll_record *record, struct atoll_err *err)
{
    if (atoll_projection_record(p, record, err) != 0) {
        return atoll_err_add(err, "in jobs/%s at offset %llu", attempt->name,
                             (unsigned long long)record->offset);
    }
    return 0;
}

static int project_visit(void *context, const struct atoll_attempt *attempt,
                         const struct atoll_record *record, struct atoll_err *err)
{
    return atoll_projection_visit(context, attempt, record, err);
}

int atoll_projection_definitions(struct atoll_projection *p, const struct atoll_config *config,
                                 struct atoll_err *err)
{
    for (size_t i = 0; i < config->task_count; i++) {
        char path[PATH_MAX];
        size_t length;
        if ((size_t)snprintf(path, sizeof(path), "%s/task.yaml", config->tasks[i].dir) >= sizeof(path))
            continue;
        char *yaml = atoll_file_read(path, ATOLL_TASK_FILE_LIMIT, &length, NULL);
        int failed = yaml ? atoll_projection_definition(p, (uint32_t)i, yaml, length, err) : 0;
        free(yaml);
        if (failed)
            return -1;
    }
    return 0;
}

struct atoll_projection *atoll_projection_of_campaign(const struct atoll_campaign *campaign,
                                                      struct atoll_replay_report *ret_report,
                                                      struct atoll_err *err)
{
    const struct atoll_config *config = atoll_campaign_config(campaign);
    struct atoll_projection *p = atoll_projection_create(config, err);
    if (p && (atoll_projection_knowledge(p, campaign, err) != 0 ||
              atoll_campaign_replay(campaign, project_visit, p, ret_report, err) != 0 ||
              atoll_projection_definitions(p, config, err) != 0)) {
        atoll_projection_destroy(p);
        return NULL;
    }
    return p;
}
