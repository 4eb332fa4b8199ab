/* ask.h - asks that are under way, and making them (core/ask.h).
 * Layer: evolution.
 * Operators outside the engine answer by a REPLY event.  Where there are none (search.ask_share is 0, or what they may
 * spend is spent) the built-in operator answers at once: the tuner, on the templates that are there (builtin.h). */
#ifndef ATOLL_EVOLUTION_STRATEGY_ASK_H
#define ATOLL_EVOLUTION_STRATEGY_ASK_H

#include "evolution/engine/state.h"

/* 1 when replies to asks of this kind are texts alone, and no strategy waits for them. */
static inline int atoll_ask_is_lesson(enum atoll_ask_kind kind)
{
    return kind == ATOLL_ASK_SUMMARISE || kind == ATOLL_ASK_DISTIL || kind == ATOLL_ASK_META ||
           kind == ATOLL_ASK_JUDGE;
}
/* 1 when asks of the task go to operators outside. */
int atoll_ask_is_outside(const struct atoll_engine *e, const struct atoll_task_state *t);
/* 1 when the task may have one more under way. */
int atoll_ask_allowed(const struct atoll_engine *e, const struct atoll_task_state *t);
/* An ask about a parent (individual, ATOLL_NONE: none) for an island: number, place, generation, role and parent are
 * filled in, the rest is zero. */
struct atoll_asked atoll_ask_about(const struct atoll_engine *e, const struct atoll_task_state *t,
                                   enum atoll_ask_kind kind, enum atoll_operator op, uint32_t island,
                                   uint32_t parent);
/* Makes it, under the number it has (e->next_ask). */
int atoll_ask_make(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   struct atoll_err *err);
/* The same, answered by the built-in operator whoever else is there. */
int atoll_ask_make_here(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                        struct atoll_err *err);
/* Whether the next one is for the built-in operator although others are there: search.ask_share of them are not.  Never
 * where it has no template. */
int atoll_ask_stays_here(const struct atoll_engine *e, struct atoll_task_state *t);
/* 0 used, 1 ignored (nothing of this number is under way), -1 error. */
int atoll_ask_answered(struct atoll_engine *e, const struct atoll_reply *reply, struct atoll_err *err);
/* A turn that called tools is paid for, whoever asked. */
void atoll_ask_turned(struct atoll_engine *e, const struct atoll_tool_turn *turn);
/* All of them once more, as decisions, after a resume. */
void atoll_ask_repeat(struct atoll_engine *e);

void atoll_asks_fini(struct atoll_asks *asks);
int atoll_asks_codec(struct atoll_engine *e, struct atoll_codec *codec, struct atoll_err *err);

#endif
