/* ask_history.h - what was asked of language models and what they answered beside sources: plans, issues, thoughts, the briefing of
 * an ask and its turns with tools, as they were journaled.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner.  What it says of an answered ask never changes. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_ASK_HISTORY_H
#define ATOLL_MPI_EVAL_OPERATOR_ASK_HISTORY_H

#include "core/event.h"

/* A thought that is told back in a refine loop is cut to this. */
#define ATOLL_ASK_HISTORY_THOUGHT_BYTES ((size_t)4 << 10)

struct atoll_ask_turn {
    struct atoll_ask_turn *next;
    struct atoll_tool_turn turn;
};

/* Borrowed from the history. */
struct atoll_ask_record {
    struct atoll_ask ask;
    int is_answered;
    /* from its REPLY */
    enum atoll_reply_status status;
    uint32_t item_count;
    const struct atoll_reply_item *items;
    uint32_t order_count;
    uint8_t order[ATOLL_STAGE_LIMIT];
    const char *thought; /* cut; "" */
    /* until then */
    const struct atoll_briefing *briefing; /* NULL: it has none yet */
    const struct atoll_ask_turn *turns;    /* the first first */
    uint32_t turn_count, call_count;
};

struct atoll_ask_history;
struct atoll_ask_history *atoll_ask_history_create(struct atoll_err *err);
void atoll_ask_history_destroy(struct atoll_ask_history *history);

/* An ask that was decided; known ones are left as they are. */
int atoll_ask_history_add(struct atoll_ask_history *history, const struct atoll_ask *ask,
                          struct atoll_err *err);
/* Keeps what BRIEFING, TOOL and REPLY say of a known ask that is not answered; the first briefing and each turn once, in
 * order.  Other events are ignored.  Errors: MEMORY, LIMIT. */
int atoll_ask_history_add_event(struct atoll_ask_history *history, const struct atoll_event *event,
                                struct atoll_err *err);

/* NULL: nothing is known of it. */
const struct atoll_ask_record *atoll_ask_history_find(const struct atoll_ask_history *history, uint64_t ask);
/* The plan that an ask carries out; NULL: it has none, or nobody told it. */
const struct atoll_reply_item *atoll_ask_history_step(const struct atoll_ask_history *history,
                                                      const struct atoll_ask *ask);
/* The analysis that an ask rests on, or the plan that it carries out; NULL: there is none in words. */
const struct atoll_ask_record *atoll_ask_history_analysis(const struct atoll_ask_history *history,
                                                          const struct atoll_ask *ask);
/* The answered asks for plans of the ask's parent that came before it, the newest first, at most limit; how many. */
size_t atoll_ask_history_plans(const struct atoll_ask_history *history, const struct atoll_ask *ask,
                               const struct atoll_ask_record **ret_plans, size_t limit);
/* The rounds of an ask's stage that came before it, the oldest first, the last `limit` of them; how many. */
size_t atoll_ask_history_rounds(const struct atoll_ask_history *history, const struct atoll_ask *ask,
                                const struct atoll_ask_record **ret_rounds, size_t limit);

#endif
