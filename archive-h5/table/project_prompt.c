/* project_prompt.c - versions of prompt texts: the same archives as the search's (core/prompt_archive.h), from the same events; a
 * version's text from the pack and the edits of the answers that led to it. */
#include "archive-h5/table/project_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/knowledge/region.h"

/* Of a task on a device model, or of all tasks on it; per language. */
struct pool {
    uint32_t task, model, language; /* language: text */
    struct atoll_prompt_archive archive;
};

struct level {
    uint32_t task, model, language;
    struct atoll_prompt_level level;
};

void atoll_projection_prompts_init(struct atoll_projection_prompts *prompts,
                                   const struct atoll_search *search)
{
    prompts->is_on = search->prompt_evolution && search->strategy != ATOLL_STRATEGY_REPEATED;
    prompts->is_shared = search->prompt_share == ATOLL_PROMPT_SHARED;
    prompts->limit = search->prompt_archive;
    prompts->language = search->language;
}

void atoll_projection_prompts_fini(struct atoll_projection_prompts *prompts)
{
    free(prompts->pools.items);
    free(prompts->levels.items);
}

static struct pool *pool_of(struct atoll_projection *p, uint32_t task, uint32_t model, uint32_t language,
                            struct atoll_err *err)
{
    struct atoll_projection_list *list = &p->prompts.pools;
    uint32_t owner = p->prompts.is_shared ? ATOLL_NONE : task;
    for (size_t i = 0; i < list->count; i++) {
        struct pool *pool = &((struct pool *)list->items)[i];
        if (pool->task == owner && pool->model == model && pool->language == language)
            return pool;
    }
    struct pool *made = atoll_projection_list_add(list, sizeof(*made), err);
    if (made)
        *made = (struct pool){.task = owner, .model = model, .language = language};
    return made;
}

static struct level *level_of(struct atoll_projection *p, uint32_t task, uint32_t model, uint32_t language,
                              struct atoll_err *err)
{
    struct atoll_projection_list *list = &p->prompts.levels;
    for (size_t i = 0; i < list->count; i++) {
        struct level *level = &((struct level *)list->items)[i];
        if (level->task == task && level->model == model && level->language == language)
            return level;
    }
    struct level *made = atoll_projection_list_add(list, sizeof(*made), err);
    if (made)
        *made = (struct level){.task = task, .model = model, .language = language};
    return made;
}

/* ---- rows ---- */

/* Row of a version; 0: there is none. */
static int find_row(const struct atoll_projection *p, const struct pool *pool, uint32_t version,
                    uint64_t *ret_at, struct atoll_row_prompt *ret_row)
{
    for (uint64_t i = 0; i < atoll_tables_count(p->tables, ATOLL_TABLE_PROMPTS); i++) {
        atoll_tables_get(p->tables, ATOLL_TABLE_PROMPTS, i, ret_row);
        if (ret_row->task == pool->task && ret_row->model == pool->model &&
            ret_row->language == pool->language && ret_row->version == version) {
            *ret_at = i;
            return 1;
        }
    }
    return 0;
}

/* The text of the pack that the campaign names; "" where it names none. */
static const char *text_of_pack(const struct atoll_projection *p, const char *language)
{
    char path[64];
    snprintf(path, sizeof(path), "prompts/%.32s.md", language);
    for (uint64_t i = 0; i < atoll_tables_count(p->tables, ATOLL_TABLE_KNOWLEDGE); i++) {
        struct atoll_row_knowledge row;
        atoll_tables_get(p->tables, ATOLL_TABLE_KNOWLEDGE, i, &row);
        if (strcmp(atoll_tables_text(p->tables, row.path), path) == 0)
            return atoll_tables_text(p->tables, row.text);
    }
    return "";
}

static int put_version(struct atoll_projection *p, const struct pool *pool, uint32_t version, uint32_t parent,
                       const char *text, struct atoll_err *err)
{
    struct atoll_row_prompt row = {.task = pool->task,
                                   .model = pool->model,
                                   .language = pool->language,
                                   .version = version,
                                   .parent = parent,
                                   .fitness = 1,
                                   .best = 1};
    return atoll_projection_put_text(p, text, &row.text, err) != 0 ||
                   atoll_tables_append(p->tables, ATOLL_TABLE_PROMPTS, &row, err) != 0
               ? -1
               : 0;
}

/* The row of version 0 comes with the first ask. */
static int begin_pool(struct atoll_projection *p, const struct pool *pool, struct atoll_err *err)
{
    struct atoll_row_prompt row;
    uint64_t at;
    return find_row(p, pool, 0, &at, &row)
               ? 0
               : put_version(p, pool, 0, 0, text_of_pack(p, atoll_tables_text(p->tables, pool->language)),
                             err);
}

/* All rows of the pool as its archive stands; what is not in it any more keeps its figures. */
static void update_rows(struct atoll_projection *p, const struct pool *pool)
{
    for (uint64_t i = 0; i < atoll_tables_count(p->tables, ATOLL_TABLE_PROMPTS); i++) {
        struct atoll_row_prompt row;
        atoll_tables_get(p->tables, ATOLL_TABLE_PROMPTS, i, &row);
        if (row.task != pool->task || row.model != pool->model || row.language != pool->language)
            continue;
        const struct atoll_prompt_version *v = atoll_prompt_archive_find(&pool->archive, row.version);
        row.dropped = !v && pool->archive.count > 0;
        if (v) {
            row.uses = v->uses;
            row.answers = v->answers;
            row.fitness = exp(v->fitness);
            row.best = exp(v->best);
        }
        atoll_tables_set(p->tables, ATOLL_TABLE_PROMPTS, i, &row);
    }
}

/* ---- events ---- */

static const char *language_of_candidate(const struct atoll_projection *p, const struct atoll_id *candidate)
{
    int64_t row = atoll_id_is_zero(candidate) ? -1 : atoll_projection_find_candidate(p, candidate);
    struct atoll_row_candidate found;
    if (row < 0)
        return NULL;
    atoll_tables_get(p->tables, ATOLL_TABLE_CANDIDATES, (uint64_t)row, &found);
    return atoll_tables_text(p->tables, found.language);
}

int atoll_projection_prompt_asked(struct atoll_projection *p, const struct atoll_ask *ask,
                                  struct atoll_err *err)
{
    const char *name =
        atoll_language_of_ask(p->prompts.language, language_of_candidate(p, &ask->parent), ask->number);
    uint32_t language;
    int is_worded =
        ask->kind == ATOLL_ASK_WRITE || ask->kind == ATOLL_ASK_PLAN || ask->kind == ATOLL_ASK_ANALYSE;
    if (!p->prompts.is_on || !is_worded)
        return 0;
    struct pool *pool = atoll_projection_put_text(p, name, &language, err) == 0
                            ? pool_of(p, ask->task, ask->model, language, err)
                            : NULL;
    if (!pool || begin_pool(p, pool, err) != 0)
        return -1;
    atoll_prompt_archive_use(&pool->archive, ask->prompt);
    update_rows(p, pool);
    return 0;
}

int atoll_projection_prompt_edited(struct atoll_projection *p, const struct atoll_row_ask *ask,
                                   const struct atoll_reply *reply, struct atoll_err *err)
{
    struct atoll_row_prompt parent;
    struct atoll_buffer text;
    uint32_t language, edits = 0;
    uint64_t at;
    const char *name =
        atoll_language_of_ask(p->prompts.language, language_of_candidate(p, &ask->parent), ask->number);
    for (uint32_t i = 0; i < reply->item_count; i++)
        edits += reply->items[i].kind == ATOLL_ITEM_EDIT;
    if (!p->prompts.is_on || ask->kind != ATOLL_ASK_META || reply->status != ATOLL_REPLY_OK || !edits)
        return 0;
    struct pool *pool = atoll_projection_put_text(p, name, &language, err) == 0
                            ? pool_of(p, ask->task, ask->model, language, err)
                            : NULL;
    if (!pool || begin_pool(p, pool, err) != 0)
        return -1;
    const char *from =
        find_row(p, pool, ask->version, &at, &parent) ? atoll_tables_text(p->tables, parent.text) : "";
    atoll_buffer_init(&text, strlen(from) + (size_t)ATOLL_REGION_COUNT * ATOLL_REGION_LIMIT + 1);
    int rc = atoll_regions_apply(from, reply->items, reply->item_count, &text, NULL, err) < 0 ? -1 : 0;
    if (rc == 0)
        rc = put_version(p, pool, (uint32_t)ask->number, ask->version, (const char *)text.data, err);
    atoll_buffer_fini(&text);
    if (rc == 0) {
        atoll_prompt_archive_add(&pool->archive, (uint32_t)ask->number, ask->version, p->prompts.limit);
        update_rows(p, pool);
    }
    return rc;
}

int atoll_projection_prompt_credit(struct atoll_projection *p, const struct atoll_row_ask *ask,
                                   const struct atoll_row_evaluation *e, double parent_ns, double best_ns,
                                   struct atoll_err *err)
{
    const char *name = language_of_candidate(p, &e->candidate);
    uint32_t language;
    if (!p->prompts.is_on || ask->kind != ATOLL_ASK_WRITE || !name)
        return 0;
    struct pool *pool = atoll_projection_put_text(p, name, &language, err) == 0
                            ? pool_of(p, ask->task, ask->model, language, err)
                            : NULL;
    struct level *level = pool ? level_of(p, ask->task, ask->model, language, err) : NULL;
    if (!level || begin_pool(p, pool, err) != 0)
        return -1;
    struct atoll_prompt_outcome outcome = {.is_correct = e->verdict == ATOLL_V_CORRECT && e->time_ns > 0,
                                           .time_ns = e->time_ns,
                                           .from_ns = parent_ns,
                                           .best_ns = best_ns};
    atoll_prompt_archive_credit(&pool->archive, &level->level, ask->version, &outcome);
    update_rows(p, pool);
    return 0;
}
