/* null_control.c - a copy of a winner under another identity. */
#include "evolution/population/null_control.h"

#include <string.h>

#include "core/candidate.h"
#include "evolution/population/duel.h"
#include "evolution/engine/propose.h"

#define COMMENT_LIMIT 256 /* what a mutant's text has more than its original's */

int atoll_null_control_inject(struct atoll_engine *e, struct atoll_task_state *t, uint32_t original,
                              struct atoll_err *err)
{
    const struct atoll_individual *r = &e->individuals.items[original];
    const struct atoll_source *s = &e->sources.items[r->source];
    struct atoll_pending pending = {.island = r->island,
                                    .parent = original,
                                    .op = ATOLL_OPERATOR_NULL_CONTROL,
                                    .has_choice = 1,
                                    .choice = r->choice};
    struct atoll_buffer text;
    atoll_buffer_init(&text, strlen(s->text) + COMMENT_LIMIT);
    atoll_null_control_source(s->language, s->text, &r->id, &text);
    /* what evaluators would not take is no mutant; the text ends with a zero */
    int fits = text.length <= (size_t)ATOLL_SOURCE_LIMIT + 1;
    int failed = atoll_buffer_check(&text, err) ||
                 (fits && atoll_propose_text(e, t, s->language, (const char *)text.data, &pending, err) < 0);
    atoll_buffer_fini(&text);
    return failed ? -1 : 0;
}

int atoll_null_control_evaluated(struct atoll_engine *e, struct atoll_task_state *t, uint32_t mutant,
                                 struct atoll_err *err)
{
    const struct atoll_individual *r = &e->individuals.items[mutant];
    t->correct += r->state == ATOLL_V_CORRECT;
    if (t->done || r->state != ATOLL_V_CORRECT || r->parent == ATOLL_NONE ||
        e->individuals.items[r->parent].state != ATOLL_V_CORRECT) {
        return 0;
    }
    return atoll_duel_null_control(e, t, mutant, err);
}
