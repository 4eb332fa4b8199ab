/* What people and the coordinator ask of an engine. */
#include <string.h>

#include "evolution/engine/state.h"

static const struct atoll_engine_task *find(const struct atoll_engine *engine, uint32_t task, uint32_t model)
{
    for (uint32_t i = 0; i < engine->task_count; i++)
        if (engine->tasks[i].number == task && engine->tasks[i].model == model)
            return &engine->tasks[i];
    return NULL;
}

const struct atoll_task *atoll_engine_task(const struct atoll_engine *engine, uint32_t task)
{
    const struct atoll_engine_task *t = find(engine, task, 0);
    return t ? t->task : NULL;
}

uint32_t atoll_engine_task_count(const struct atoll_engine *engine)
{
    return engine->number_count;
}

uint32_t atoll_engine_model_count(const struct atoll_engine *engine)
{
    return engine->model_count;
}

const char *atoll_engine_model(const struct atoll_engine *engine, uint32_t model)
{
    return model < engine->model_count ? engine->models[model].name : NULL;
}

int atoll_engine_source(const struct atoll_engine *engine, const struct atoll_id *source,
                        const char **ret_language, const char **ret_text)
{
    uint32_t at = atoll_sources_find(&engine->sources, source, ATOLL_NONE);
    if (at == ATOLL_NONE)
        return -1;
    *ret_language = engine->sources.items[at].language;
    *ret_text = engine->sources.items[at].text;
    return 0;
}

int atoll_engine_candidate(const struct atoll_engine *engine, uint32_t task, const struct atoll_id *candidate,
                           struct atoll_id *ret_source, struct atoll_choice *ret_choice)
{
    for (uint32_t i = 0; i < engine->task_count; i++) {
        uint32_t at = engine->tasks[i].number == task
                          ? atoll_individuals_find(&engine->individuals, i, candidate)
                          : ATOLL_NONE;
        if (at == ATOLL_NONE)
            continue;
        *ret_source = engine->sources.items[engine->individuals.items[at].source].id;
        *ret_choice = engine->individuals.items[at].choice;
        return 0;
    }
    return -1;
}

int atoll_engine_task_status(const struct atoll_engine *engine, uint32_t task, uint32_t model,
                             struct atoll_task_status *ret_status)
{
    const struct atoll_engine_task *t = find(engine, task, model);
    if (!t)
        return -1;
    struct atoll_task_status s = {
        .evaluated = t->evaluated,
        .correct = t->correct,
        .under_way = t->under_way,
        .challenges = t->challenges,
        .promotions = t->promotions,
        .noop_challenges = t->noop_challenges,
        .noop_promotions = t->noop_promotions,
        .baseline_ns = t->baseline_ns,
        .floor_ns = t->floor_ns,
        .final_ratio = t->final_ratio,
        .done = t->done,
        .reason = (enum atoll_reason)t->reason,
    };
    if (t->baseline != ATOLL_NONE)
        s.baseline = engine->individuals.items[t->baseline].id;
    if (t->best != ATOLL_NONE) {
        const struct atoll_individual *best = &engine->individuals.items[t->best];
        s.best = best->id;
        s.best_ns = best->time_ns;
        s.best_fitness = best->fitness;
    }
    *ret_status = s;
    return 0;
}

void atoll_engine_status(const struct atoll_engine *engine, struct atoll_engine_status *ret_status)
{
    *ret_status = (struct atoll_engine_status){
        .evaluated = engine->evaluated,
        .under_way = engine->proposals.alive,
        .ignored = engine->ignored,
        .device_ns = engine->device_ns,
        .finishing = engine->finishing,
        .stopped = engine->stopped,
        .reason = (enum atoll_reason)engine->reason,
    };
}
