/* state.c - the state of a task, made and released. */
#include "evolution/engine/state.h"

#include "evolution/population/final.h"
#include "evolution/population/judge.h"
#include "evolution/strategy/lesson.h"
#include "evolution/strategy/prompts.h"
#include "evolution/strategy/strategy.h"

#include <stdlib.h>
#include <string.h>

#define PLAN_ARENA_BYTES ((size_t)1 << 30) /* all plans of one task */

/* Independent samples must not learn from each other. */
static struct atoll_tune_settings tuners_of(const struct atoll_search *search)
{
    struct atoll_tune_settings settings = atoll_tune_settings_default();
    settings.strategies = search->tuners;
    if (!search->racing)
        settings.racing = 0;
    if (search->strategy == ATOLL_STRATEGY_REPEATED)
        settings = (struct atoll_tune_settings){.strategies = 1u << ATOLL_TUNE_RANDOM};
    return settings;
}

int atoll_task_state_init(struct atoll_task_state *t, struct atoll_engine *e, struct atoll_task *task,
                          const void *bytes, size_t length, struct atoll_err *err)
{
    memset(t, 0, sizeof(*t));
    t->task = task;
    e->sources.tuners = tuners_of(&e->search);
    t->baseline_source = t->baseline = t->best = t->best_waiting = t->best_refused = t->finalist =
        t->rivals.finalist = t->lessons.distil = t->lessons.distilled = t->phase.best = t->translated =
            t->unstable.individual = t->analysed = t->lead = ATOLL_NONE;
    t->final_alpha = atoll_final_alpha(e, t);
    t->random = (struct atoll_random){atoll_random_at(e->search.seed, 1 + e->task_count), 0};
    const struct atoll_strategy *strategy = atoll_strategy_of(e);
    t->bytes = malloc(length ? length : 1);
    t->islands = calloc(e->search.islands, sizeof(*t->islands));
    if (!t->bytes || !t->islands) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for task %s", t->task->name);
        goto failed;
    }
    memcpy(t->bytes, bytes, length);
    t->length = length;
    t->arena = atoll_arena_create(PLAN_ARENA_BYTES, err);
    if (!t->arena || (strategy->create && strategy->create(e, t, err)))
        goto failed;
    for (uint32_t i = 0; i < e->search.islands; i++)
        atoll_island_init(&t->islands[i]);
    return 0;
failed:
    atoll_task_state_fini(e, t);
    return -1;
}

void atoll_task_state_fini(const struct atoll_engine *e, struct atoll_task_state *t)
{
    struct atoll_task *task;
    if (t->strategy)
        atoll_strategy_of(e)->destroy(t->strategy);
    memcpy(&task, &t->task, sizeof(task));
    atoll_task_destroy(task);
    atoll_lessons_fini(&t->lessons);
    atoll_judging_fini(&t->judging);
    atoll_prompts_fini(&t->prompts);
    atoll_arena_destroy(t->arena);
    free(t->bytes);
    free(t->pending);
    free(t->templates);
    free(t->islands);
    memset(t, 0, sizeof(*t));
}
