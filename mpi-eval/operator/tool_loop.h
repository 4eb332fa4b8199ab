/* tool_loop.h - the calls of tools that one answer of a model made, on their way to being an event.
 * Layer: mpi-eval.  Plain value, zero-initialised; texts lie in the arena of its ask.
 *
 * A model that answers with calls is asked again with what they gave, until it answers without, or has used up what an ask may
 * call: then it is told so, and calls that come all the same are no answer. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_TOOL_LOOP_H
#define ATOLL_MPI_EVAL_OPERATOR_TOOL_LOOP_H

#include "llm-gateway/request/outcome.h"
#include "mpi-eval/operator/ask_history.h"
#include "mpi-eval/tool/tools.h"

struct atoll_tool_loop {
    struct atoll_tool_turn turn;             /* whole when open is 0 */
    uint64_t numbers[ATOLL_TOOL_CALL_LIMIT]; /* of calls that are under way, 0: it is not */
    unsigned open;
};

/* Begins the calls of an outcome of status TOOL_CALLS.  record: the ask's, with the turns before; limit: calls of one ask: those
 * beyond it are refused.  Errors: MEMORY, LIMIT of arena. */
int atoll_tool_loop_begin(struct atoll_tool_loop *loop, struct atoll_tools *tools,
                          const struct atoll_tool_scene *scene, const struct atoll_ask_record *record,
                          unsigned limit, const struct atoll_llm_outcome *outcome, struct atoll_arena *arena,
                          double now_ns, struct atoll_err *err);
/* 1: the result is of one of its calls; 0: of another's; -1. */
int atoll_tool_loop_take(struct atoll_tool_loop *loop, const struct atoll_tool_result *result,
                         struct atoll_arena *arena, struct atoll_err *err);
/* Nobody waits for its calls any more. */
void atoll_tool_loop_cancel(struct atoll_tool_loop *loop, struct atoll_tools *tools);

#endif
