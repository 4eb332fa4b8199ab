/* device_models.c - a task is begun on every model that is known, and on one that appears later. */
#include "evolution/population/device_models.h"

#include <stdio.h>
#include <string.h>

#include "evolution/engine/decide.h"
#include "evolution/population/duel.h"
#include "evolution/population/final.h"
#include "evolution/population/rival.h"
#include "evolution/engine/propose.h"

#define GRACE_NS INT64_C(60000000000) /* as long as the coordinator waits for its last evaluator */

static int is_ours(const struct atoll_engine *e, const char *language)
{
    return atoll_language_takes(e->search.language, language);
}

/* The first baseline is measured first (a task lists baselines before seeds), without one in this language the first
 * seed; the others are queued in the task's order. */
static int add_seeds(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    int any = 1; /* no baseline is in the language that is evolved */
    for (size_t i = 0; i < t->task->seed_count; i++)
        any &= !(t->task->seeds[i].is_baseline && is_ours(e, t->task->seeds[i].language));
    for (size_t i = 0; i < t->task->seed_count; i++) {
        const struct atoll_seed *seed = &t->task->seeds[i];
        int first = (seed->is_baseline || any) && t->baseline_source == ATOLL_NONE;
        if (!is_ours(e, seed->language))
            continue;
        if (atoll_propose_source(e, t, seed->language, seed->source, ATOLL_OPERATOR_SEED, ATOLL_NONE, first,
                                 err)) {
            return -1;
        }
    }
    return 0;
}

static int add(struct atoll_engine *e, uint32_t number, uint32_t model, const void *bytes, size_t length,
               struct atoll_err *err)
{
    if (atoll_array_reserve(&e->tasks, &e->task_capacity, e->task_count + 1, sizeof(*e->tasks), err))
        return -1;
    struct atoll_task *task = atoll_task_decode(bytes, length, err);
    struct atoll_task_state *t = &e->tasks[e->task_count];
    if (!task || atoll_task_state_init(t, e, task, bytes, length, err))
        return -1;
    t->number = number;
    t->model = model;
    e->task_count++;
    e->open_count++;
    if (add_seeds(e, t, err))
        return -1;
    if (t->baseline_source == ATOLL_NONE && t->task->rival_count)
        t->stage = ATOLL_STAGE_RIVAL;
    else if (t->baseline_source == ATOLL_NONE)
        atoll_decide_task_done(e, t, ATOLL_REASON_NO_BASELINE);
    return 0;
}

int atoll_models_add_task(struct atoll_engine *e, uint32_t number, const void *bytes, size_t length,
                          struct atoll_err *err)
{
    if (number != e->number_count)
        return 1;
    for (uint32_t model = 0; model < (e->model_count ? e->model_count : 1); model++)
        if (add(e, number, model, bytes, length, err))
            return -1;
    e->number_count++;
    return 0;
}

/* Every task of the first model once more. */
static int add_model(struct atoll_engine *e, const char *name, struct atoll_err *err)
{
    uint32_t model = e->model_count++, count = e->task_count;
    snprintf(e->models[model].name, sizeof(e->models[model].name), "%s", name);
    for (uint32_t i = 0; i < count && model > 0 && !e->finishing; i++) {
        if (e->tasks[i].model == 0 &&
            add(e, e->tasks[i].number, model, e->tasks[i].bytes, e->tasks[i].length, err)) {
            return -1;
        }
    }
    return 0;
}

static struct atoll_model_state *find(struct atoll_engine *e, const char *name)
{
    for (uint32_t i = 0; i < e->model_count; i++)
        if (strcmp(e->models[i].name, name) == 0)
            return &e->models[i];
    return NULL;
}

void atoll_models_forget_slots(struct atoll_engine *e)
{
    e->slots = 0;
    for (uint32_t i = 0; i < e->model_count; i++) {
        if (e->models[i].slots)
            e->models[i].seen_ns = e->campaign_ns;
        e->models[i].slots = e->models[i].torch_slots = 0;
    }
}

static void add_slots(uint32_t *slots, uint32_t more)
{
    *slots += more < UINT32_MAX - *slots ? more : UINT32_MAX - *slots;
}

/* Slots of models that are too many are none; the sum is of those that count. */
int atoll_models_set_capacity(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    atoll_models_forget_slots(e);
    if (!event->model_count)
        e->slots = event->slots;
    for (uint32_t i = 0; i < event->model_count; i++) {
        const struct atoll_capacity *c = &event->models[i];
        int is_new = !find(e, c->model);
        if (is_new && e->model_count == ATOLL_MODEL_LIMIT)
            continue;
        if (is_new && add_model(e, c->model, err))
            return -1;
        add_slots(&find(e, c->model)->slots, c->slots);
        if (!atoll_device_shape_is_known(&find(e, c->model)->shape))
            find(e, c->model)->shape = c->shape;
        add_slots(&find(e, c->model)->torch_slots, c->torch_slots);
        add_slots(&e->slots, c->slots);
    }
    return 0;
}

/* Where no model has a name all are alike. */
int atoll_models_has_slots(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return e->model_count ? e->models[t->model].slots > 0 : e->slots > 0;
}

void atoll_models_abandon(struct atoll_engine *e, const struct atoll_task_state *only)
{
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        struct atoll_proposal *p = &e->proposals.items[i];
        struct atoll_task_state *t = &e->tasks[p->task];
        if (!p->decision.type || (only && t != only))
            continue;
        atoll_decide_abandon(e, p);
        t->under_way--;
        atoll_rival_drop(e, p);
        atoll_duel_close(e, p, NULL);
        atoll_proposals_remove(&e->proposals, p);
    }
}

int atoll_models_give_up(struct atoll_engine *e)
{
    int waits = 0;
    if (e->model_count < 2 || !e->slots)
        return 0;
    for (uint32_t i = 0; i < e->task_count; i++)
        if (atoll_models_has_slots(e, &e->tasks[i]) && e->tasks[i].final != ATOLL_FINAL_OVER)
            return 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        struct atoll_task_state *t = &e->tasks[i];
        if (atoll_models_has_slots(e, t) || t->final == ATOLL_FINAL_OVER)
            continue;
        if (e->campaign_ns - e->models[t->model].seen_ns < GRACE_NS) { /* it may be started again */
            waits = 1;
            continue;
        }
        atoll_models_abandon(e, t);
        if (!t->done)
            atoll_decide_task_done(e, t, ATOLL_REASON_NO_DEVICE);
        atoll_final_conclude(e, t);
    }
    return !waits;
}
