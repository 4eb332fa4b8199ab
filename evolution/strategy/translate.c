#include "evolution/strategy/translate.h"

#include <string.h>

#include "evolution/strategy/ask.h"

#define REACH 1.25 /* so many times slower, and nobody expects it to catch up by small steps */

static double best_time_ns(const struct atoll_engine *e, uint32_t individual)
{
    return individual == ATOLL_NONE ? 0 : e->individuals.items[individual].time_ns;
}

/* The fastest correct candidate of a population in a language. */
static uint32_t best_in(const struct atoll_engine *e, uint32_t task, const char *language)
{
    uint32_t best = ATOLL_NONE;
    for (uint32_t i = 0; i < e->sources.count; i++) {
        const struct atoll_source *s = &e->sources.items[i];
        if (s->task != task || s->best == ATOLL_NONE || s->op == ATOLL_OPERATOR_NULL_CONTROL ||
            strcmp(s->language, language) != 0 || e->individuals.items[s->best].state != ATOLL_V_CORRECT) {
            continue;
        }
        if (best == ATOLL_NONE || best_time_ns(e, s->best) < best_time_ns(e, best))
            best = s->best;
    }
    return best;
}

static uint32_t of_other_language(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (e->search.language != ATOLL_LANGUAGE_CUDA_TRITON)
        return ATOLL_NONE;
    uint32_t cuda = best_in(e, atoll_task_position(e, t), "cuda");
    uint32_t triton = best_in(e, atoll_task_position(e, t), "triton");
    if (cuda == ATOLL_NONE || (triton != ATOLL_NONE && best_time_ns(e, triton) <= best_time_ns(e, cuda)))
        return cuda == ATOLL_NONE || best_time_ns(e, cuda) > REACH * best_time_ns(e, triton) ? triton
                                                                                             : ATOLL_NONE;
    return triton == ATOLL_NONE || best_time_ns(e, triton) > REACH * best_time_ns(e, cuda) ? cuda
                                                                                           : ATOLL_NONE;
}

/* What a population's best gains over its baseline; 0 unknown. */
static double gain_of(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    double best_ns = best_time_ns(e, t->best);
    return best_ns > 0 && t->baseline_ns > 0 ? t->baseline_ns / best_ns : 0;
}

static uint32_t of_other_device(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct atoll_task_state *from = NULL;
    for (uint32_t i = 0; i < e->task_count; i++) {
        const struct atoll_task_state *other = &e->tasks[i];
        if (other->number == t->number && other->model != t->model &&
            gain_of(e, other) > REACH * gain_of(e, t) && (!from || gain_of(e, other) > gain_of(e, from))) {
            from = other;
        }
    }
    if (!from || !(t->baseline_ns > 0))
        return ATOLL_NONE;
    const struct atoll_source *s = &e->sources.items[e->individuals.items[from->best].source];
    int is_known = atoll_sources_find(&e->sources, &s->id, atoll_task_position(e, t)) != ATOLL_NONE;
    return is_known ? ATOLL_NONE : from->best;
}

uint32_t atoll_translate_elite(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (!e->search.translate || t->evaluated < t->translated_at + e->search.generation_size)
        return ATOLL_NONE;
    uint32_t elite = of_other_language(e, t);
    if (elite == ATOLL_NONE || elite == t->translated)
        elite = of_other_device(e, t);
    return elite == t->translated ? ATOLL_NONE : elite;
}

struct atoll_asked atoll_translate_ask(const struct atoll_engine *e, struct atoll_task_state *t,
                                       uint32_t elite, uint32_t island)
{
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_WRITE, ATOLL_OPERATOR_TRANSLATE, island, ATOLL_NONE);
    asked.ask.parent = e->individuals.items[elite].id;
    t->translated = elite;
    t->translated_at = t->evaluated;
    return asked;
}
