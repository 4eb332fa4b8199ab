/* wording.h - which version of its language's prompt text an ask is worded with (prompts.h).
 * Layer: evolution, pure.  State in struct atoll_task_state. */
#ifndef ATOLL_EVOLUTION_STRATEGY_WORDING_H
#define ATOLL_EVOLUTION_STRATEGY_WORDING_H

#include "evolution/engine/state.h"

#define ATOLL_WORDING_AUTHORS 256 /* plans and analyses of a task whose versions are remembered, the newest */

/* Whether texts evolve: never where samples are independent of each other. */
int atoll_wording_is_on(const struct atoll_engine *e);
/* By name; ATOLL_PROMPT_LANGUAGES: it has no text that evolves. */
enum atoll_language atoll_wording_language(const char *name);
/* What an ask, which has its number, is to be written in. */
enum atoll_language atoll_wording_language_of_ask(const struct atoll_engine *e,
                                                  const struct atoll_asked *asked);
/* Whose archives the task's asks draw from: its own, or those of its model's first task. */
struct atoll_prompts *atoll_wording_pool(const struct atoll_engine *e, const struct atoll_task_state *t);

/* The version that an ask, which has its number and goes outside, is worded with: into ask->prompt. */
int atoll_wording_choose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_asked *asked,
                         struct atoll_err *err);
/* What struct atoll_pending and struct atoll_individual keep of the ask they answer: its version plus 1; 0: it has none. */
uint32_t atoll_wording_mark(const struct atoll_engine *e, const struct atoll_ask *ask);

#endif
