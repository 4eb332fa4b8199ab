/* A step is: time, one handler by event type, then settle (schedule.h).  After a failed step the state is
 * half changed; the owner destroys the engine. */
#include "evolution/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "evolution/strategy/ask.h"
#include "evolution/engine/decide.h"
#include "evolution/population/device_models.h"
#include "evolution/engine/propose.h"
#include "evolution/engine/result.h"
#include "evolution/engine/schedule.h"
#include "evolution/engine/state.h"

#define IGNORED 1

struct atoll_engine *atoll_engine_create(struct atoll_err *err)
{
    struct atoll_engine *e = calloc(1, sizeof *e);
    if (!e) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the search");
        return NULL;
    }
    e->next_evaluation = e->next_ask = 1;
    return e;
}

void atoll_engine_destroy(struct atoll_engine *engine)
{
    if (!engine)
        return;
    atoll_sources_fini(&engine->sources);
    for (uint32_t i = 0; i < engine->task_count; i++)
        atoll_engine_task_fini(engine, &engine->tasks[i]);
    free(engine->tasks);
    atoll_individuals_fini(&engine->individuals);
    atoll_proposals_fini(&engine->proposals);
    atoll_asks_fini(&engine->asks);
    free(engine);
}

static int on_start(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    if (e->started || event->search.islands < 1 || event->search.islands > ATOLL_ISLAND_LIMIT ||
        !event->search.generation_size)
        return IGNORED;
    e->search = event->search;
    atoll_error_init(&e->error, e->search.error_control, e->search.alpha);
    e->started = 1;
    return 0;
}

static int is_ours(const struct atoll_engine *e, const char *language)
{
    return strcmp(language, atoll_language_name(e->search.language)) == 0;
}

static int on_task(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    if (e->finishing)
        return IGNORED;
    return atoll_models_add_task(e, event->task, event->task_bytes, event->task_length, err);
}

static int on_capacity(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return atoll_models_set_capacity(e, event, err);
}

static int on_evaluated(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return atoll_result_evaluated(e, &event->evaluation, err);
}

static int on_duelled(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return atoll_result_duelled(e, &event->duel, err);
}

/* Every model tries it for itself. */
static int on_source(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    int used = 0;
    if (!event->source || !event->language || !is_ours(e, event->language) ||
        strlen(event->source) > ATOLL_SOURCE_LIMIT)
        return IGNORED;
    uint32_t island = event->island % e->search.islands;
    for (uint32_t i = 0; i < e->task_count; i++) {
        struct atoll_engine_task *t = &e->tasks[i];
        if (t->number != event->task || t->done)
            continue;
        used = 1;
        if (atoll_propose_source(e, t, event->language, event->source, ATOLL_OPERATOR_IMPORT, island, 0, err))
            return -1;
    }
    return used ? 0 : IGNORED;
}

static int on_hint(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    int used = 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        uint32_t at = atoll_sources_find(&e->sources, &event->hint.source, i);
        if (e->tasks[i].number != event->task || at == ATOLL_NONE || !e->sources.items[at].tune)
            continue;
        used = 1;
        struct atoll_tune_outcome outcome = {.kind = event->hint.time_ns > 0 ? ATOLL_TUNE_CORRECT
                                                                             : ATOLL_TUNE_FAILED,
                                             .time_ns = event->hint.time_ns};
        if (atoll_tune_hint(e->sources.items[at].tune, &event->hint.choice, &outcome, err))
            return -1;
    }
    return used ? 0 : IGNORED;
}

static int on_tick(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return 0;
}

static int on_finish(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    atoll_schedule_finish(e, ATOLL_REASON_ASKED);
    return 0;
}

/* The evaluators are new: what the old ones had is sent again, uncharged; CAPACITY says how many there are.
 */
static int on_resume(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    atoll_models_forget_slots(e);
    for (uint32_t i = 0; i < e->proposals.count; i++)
        if (e->proposals.items[i].decision.type)
            atoll_decide_redispatch(e, &e->proposals.items[i]);
    atoll_ask_repeat(e);
    return 0;
}

static int on_reply(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return atoll_ask_answered(e, &event->reply, err);
}

typedef int handler(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err);

static handler *const handlers[ATOLL_EVENT_TYPE_COUNT] = {
    [ATOLL_EVENT_START] = on_start,       [ATOLL_EVENT_TASK] = on_task,
    [ATOLL_EVENT_CAPACITY] = on_capacity, [ATOLL_EVENT_EVALUATED] = on_evaluated,
    [ATOLL_EVENT_DUELLED] = on_duelled,   [ATOLL_EVENT_SOURCE] = on_source,
    [ATOLL_EVENT_TICK] = on_tick,         [ATOLL_EVENT_FINISH] = on_finish,
    [ATOLL_EVENT_RESUME] = on_resume,     [ATOLL_EVENT_REPLY] = on_reply,
    [ATOLL_EVENT_HINT] = on_hint,
};

static int fits(const struct atoll_engine *e, const struct atoll_event *event)
{
    return (unsigned)event->type < ATOLL_EVENT_TYPE_COUNT && handlers[event->type] && !e->stopped &&
           (e->started || event->type == ATOLL_EVENT_START);
}

int atoll_engine_step(struct atoll_engine *engine, const struct atoll_event *event, atoll_decision_sink *sink,
                      void *context, struct atoll_err *err)
{
    if (!fits(engine, event)) {
        engine->ignored++;
        return 0;
    }
    engine->sink = sink;
    engine->context = context;
    if (event->campaign_ns > engine->campaign_ns)
        engine->campaign_ns = event->campaign_ns;
    int result = handlers[event->type](engine, event, err);
    engine->ignored += result == IGNORED;
    if (result >= 0)
        result = atoll_schedule_settle(engine, err);
    engine->sink = NULL;
    engine->context = NULL;
    return result < 0 ? -1 : 0;
}

void atoll_engine_under_way(const struct atoll_engine *engine, atoll_decision_sink *sink, void *context)
{
    for (uint32_t i = 0; i < engine->proposals.count; i++)
        if (engine->proposals.items[i].decision.type)
            sink(context, &engine->proposals.items[i].decision);
}
