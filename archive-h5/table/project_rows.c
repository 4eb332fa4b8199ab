/* project_ask.c - device models as CAPACITY names them; asks, and what their replies brought. */
#include <string.h>

#include "archive-h5/table/project_state.h"
#include "base/random.h"

/* The rows of a model that decided something before it had a name. */
static void name_rows(struct atoll_projection *p, uint32_t model)
{
    for (size_t i = 0; i < p->tasks.count; i++) {
        uint64_t at = ((const struct atoll_projection_task *)p->tasks.items)[i].rows[model];
        struct atoll_row_task row;
        if (at == ATOLL_PROJECTION_NONE)
            continue;
        atoll_tables_get(p->tables, ATOLL_TABLE_TASKS, at, &row);
        row.model_name = p->models[model];
        atoll_tables_set(p->tables, ATOLL_TABLE_TASKS, at, &row);
    }
}

/* As the engine counts them: a name that was not there is the next model. */
int atoll_projection_capacity(struct atoll_projection *p, const struct atoll_event *e, struct atoll_err *err)
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
        name_rows(p, model);
    }
    return 0;
}

struct ask_key {
    const uint64_t *numbers;
    uint64_t number;
};

static int ask_matches(const void *context, uint64_t row)
{
    const struct ask_key *key = context;
    return key->numbers[row] == key->number;
}

/* 1 and its row. */
static int find_ask(const struct atoll_projection *p, uint64_t number, uint64_t *ret_row)
{
    struct ask_key key = {atoll_tables_column(p->tables, ATOLL_TABLE_ASKS, 1), number};
    return atoll_row_index_find(&p->ask_index, atoll_mix64(number), ask_matches, &key, ret_row);
}

/* Asked again after a resume it is the same ask. */
int atoll_projection_ask(struct atoll_projection *p, const struct atoll_decision *d, struct atoll_err *err)
{
    const struct atoll_ask *ask = &d->ask;
    uint64_t known;
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
                                .issues = ask->issues};
    if (find_ask(p, ask->number, &known))
        return 0;
    if (atoll_tables_append(p->tables, ATOLL_TABLE_ASKS, &row, err) != 0)
        return -1;
    return atoll_row_index_add(&p->ask_index, atoll_mix64(ask->number),
                               atoll_tables_count(p->tables, ATOLL_TABLE_ASKS) - 1, err);
}

void atoll_projection_accept(struct atoll_projection *p, uint64_t ask)
{
    struct atoll_row_ask row;
    uint64_t at;
    if (!ask || !find_ask(p, ask, &at))
        return;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &row);
    row.accepted++;
    atoll_tables_set(p->tables, ATOLL_TABLE_ASKS, at, &row);
}

static void count_cost(struct atoll_projection *p, const struct atoll_reply *reply)
{
    struct atoll_row_campaign row;
    atoll_tables_get(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
    row.tokens += reply->tokens;
    row.cost_usd += reply->cost_usd;
    atoll_tables_set(p->tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
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
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
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
int atoll_projection_reply(struct atoll_projection *p, const struct atoll_reply *reply, struct atoll_err *err)
{
    struct atoll_row_ask row;
    uint64_t at;
    if (!find_ask(p, reply->ask, &at))
        return 0;
    atoll_tables_get(p->tables, ATOLL_TABLE_ASKS, at, &row);
    if (row.status)
        return 0;
    row.status = (uint8_t)(1 + (unsigned)reply->status);
    row.answered_ns = p->campaign_ns;
    row.tokens = reply->tokens;
    row.cost_usd = reply->cost_usd;
    row.sources = reply->source_count;
    if (atoll_projection_put_text(p, reply->origin, &row.origin, err) != 0 ||
        put_dialogue(p, &reply->dialogue, &row, err) != 0)
        return -1;
    atoll_tables_set(p->tables, ATOLL_TABLE_ASKS, at, &row);
    count_cost(p, reply);
    for (uint32_t i = 0; i < reply->source_count; i++)
        if (atoll_projection_add_source(p, reply->sources[i].language, reply->sources[i].text, reply->origin,
                                        err) != 0)
            return -1;
    return 0;
}
