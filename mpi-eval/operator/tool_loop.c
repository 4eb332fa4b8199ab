#include "mpi-eval/operator/tool_loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/operator/prompt_io.h"

#define SAID_BYTES    ((size_t)64 << 10)
#define THOUGHT_BYTES ((size_t)256 << 10)

static int begin_call(struct atoll_tool_loop *loop, struct atoll_tools *tools,
                      const struct atoll_tool_scene *scene, const struct atoll_llm_tool_call *from,
                      unsigned limit, unsigned used, struct atoll_arena *arena, double now_ns,
                      struct atoll_err *err)
{
    uint32_t at = loop->turn.call_count++;
    struct atoll_tool_call *call = &loop->turn.calls[at];
    call->id = atoll_prompt_io_keep(arena, from->id, strlen(from->id), ATOLL_TOOL_NAME_LIMIT, err);
    call->name = atoll_prompt_io_keep(arena, from->name, strlen(from->name), ATOLL_TOOL_NAME_LIMIT, err);
    call->arguments = atoll_prompt_io_keep(arena, from->arguments, strlen(from->arguments),
                                           ATOLL_TOOL_ARGUMENTS_LIMIT, err);
    if (!call->id || !call->name || !call->arguments)
        return -1;
    if (used + at < limit) {
        loop->open++;
        return atoll_tools_start(tools, scene, call->name, call->arguments, now_ns, &loop->numbers[at], err);
    }
    char why[128];
    int length =
        snprintf(why, sizeof(why),
                 "refused: all %u calls that may be made are used up; answer now, without calling", limit);
    call->status = ATOLL_TOOL_REFUSED;
    call->result = atoll_arena_text(arena, why, (size_t)length, err);
    return call->result ? 0 : -1;
}

int atoll_tool_loop_begin(struct atoll_tool_loop *loop, struct atoll_tools *tools,
                          const struct atoll_tool_scene *scene, const struct atoll_ask_record *record,
                          unsigned limit, const struct atoll_llm_outcome *outcome, struct atoll_arena *arena,
                          double now_ns, struct atoll_err *err)
{
    memset(loop, 0, sizeof(*loop));
    struct atoll_tool_turn *turn = &loop->turn;
    turn->ask = record->ask.number;
    turn->turn = record->turn_count;
    turn->request = outcome->request;
    turn->said = atoll_prompt_io_keep(arena, outcome->text.data, outcome->text.length, SAID_BYTES, err);
    turn->thought =
        atoll_prompt_io_keep(arena, outcome->reasoning.data, outcome->reasoning.length, THOUGHT_BYTES, err);
    turn->tokens_in = outcome->usage.input;
    turn->tokens_out = outcome->usage.output;
    turn->cost_usd = outcome->cost_usd >= 0 && isfinite(outcome->cost_usd) ? outcome->cost_usd : 0;
    if (!turn->said || !turn->thought)
        return -1;
    for (size_t i = 0; i < outcome->tool_call_count && i < ATOLL_TOOL_CALL_LIMIT; i++)
        if (begin_call(loop, tools, scene, &outcome->tool_calls[i], limit, record->call_count, arena, now_ns,
                       err) != 0)
            return -1;
    return 0;
}

int atoll_tool_loop_take(struct atoll_tool_loop *loop, const struct atoll_tool_result *result,
                         struct atoll_arena *arena, struct atoll_err *err)
{
    uint32_t at = 0;
    while (at < loop->turn.call_count && (!loop->numbers[at] || loop->numbers[at] != result->call))
        at++;
    if (at == loop->turn.call_count)
        return 0;
    struct atoll_tool_call *call = &loop->turn.calls[at];
    call->result =
        atoll_prompt_io_keep(arena, result->text, strlen(result->text), ATOLL_TOOL_RESULT_LIMIT, err);
    call->status = result->status;
    call->elapsed_s = result->elapsed_s;
    loop->numbers[at] = 0;
    loop->open--;
    return call->result ? 1 : -1;
}

void atoll_tool_loop_cancel(struct atoll_tool_loop *loop, struct atoll_tools *tools)
{
    for (uint32_t at = 0; at < loop->turn.call_count; at++) {
        if (loop->numbers[at])
            atoll_tools_cancel(tools, loop->numbers[at]);
        loop->numbers[at] = 0;
    }
    loop->open = 0;
}
