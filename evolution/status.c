/* What people and the coordinator ask of an engine. */
#include <string.h>

#include "evolution/state.h"

const struct atoll_task *atoll_engine_task(const struct atoll_engine *engine, uint32_t task)
{
    return task < engine->task_count ? engine->tasks[task].task : NULL;
}

uint32_t atoll_engine_task_count(const struct atoll_engine *engine)
{
    return engine->task_count;
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
    uint32_t at = atoll_individuals_find(&engine->individuals, task, candidate);
    if (at == ATOLL_NONE)
        return -1;
    *ret_source = engine->sources.items[engine->individuals.items[at].source].id;
    *ret_choice = engine->individuals.items[at].choice;
    return 0;
}

int atoll_engine_task_status(const struct atoll_engine *engine, uint32_t task,
                             struct atoll_task_status *ret_status)
{
    if (task >= engine->task_count)
        return -1;
    const struct atoll_engine_task *t = &engine->tasks[task];
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
