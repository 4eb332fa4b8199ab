#include "core/tool_turn.h"

#include "core/text_limit.h"

const char *atoll_tool_status_name(enum atoll_tool_status status)
{
    static const char *const names[ATOLL_TOOL_STATUS_COUNT] = {
        [ATOLL_TOOL_OK] = "ok", [ATOLL_TOOL_ERROR] = "error", [ATOLL_TOOL_REFUSED] = "refused"};
    return (unsigned)status < ATOLL_TOOL_STATUS_COUNT ? names[status] : "unknown";
}

void atoll_tool_turn_encode(const struct atoll_tool_turn *turn, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, turn->ask);
    atoll_buffer_put_u32(out, turn->turn);
    atoll_buffer_put_bytes(out, turn->request.bytes, sizeof(turn->request.bytes));
    atoll_buffer_put_text(out, turn->said);
    atoll_buffer_put_text(out, turn->thought);
    atoll_buffer_put_u64(out, turn->tokens_in);
    atoll_buffer_put_u64(out, turn->tokens_out);
    atoll_buffer_put_f64(out, turn->cost_usd);
    atoll_buffer_put_u32(out, turn->call_count);
    for (uint32_t i = 0; i < turn->call_count; i++) {
        const struct atoll_tool_call *c = &turn->calls[i];
        atoll_text_put(out, c->id, ATOLL_TOOL_NAME_LIMIT);
        atoll_text_put(out, c->name, ATOLL_TOOL_NAME_LIMIT);
        atoll_text_put(out, c->arguments, ATOLL_TOOL_ARGUMENTS_LIMIT);
        atoll_text_put(out, c->result, ATOLL_TOOL_RESULT_LIMIT);
        atoll_buffer_put_u8(out, (uint8_t)c->status);
        atoll_buffer_put_f64(out, c->elapsed_s);
    }
}

void atoll_tool_turn_decode(struct atoll_reader *reader, struct atoll_arena *arena,
                            struct atoll_tool_turn *ret_turn)
{
    struct atoll_tool_turn turn = {.ask = atoll_reader_u64(reader), .turn = atoll_reader_u32(reader)};
    atoll_reader_bytes(reader, turn.request.bytes, sizeof(turn.request.bytes));
    turn.said = atoll_reader_text(reader, arena);
    turn.thought = atoll_reader_text(reader, arena);
    turn.tokens_in = atoll_reader_u64(reader);
    turn.tokens_out = atoll_reader_u64(reader);
    turn.cost_usd = atoll_reader_f64_in(reader, 0, 1e12);
    uint32_t count = atoll_reader_u32_in(reader, 0, ATOLL_TOOL_CALL_LIMIT);
    for (uint32_t i = 0; i < count && !reader->failed; i++) {
        struct atoll_tool_call *c = &turn.calls[i];
        c->id = atoll_text_take(reader, arena, ATOLL_TOOL_NAME_LIMIT);
        c->name = atoll_text_take(reader, arena, ATOLL_TOOL_NAME_LIMIT);
        c->arguments = atoll_text_take(reader, arena, ATOLL_TOOL_ARGUMENTS_LIMIT);
        c->result = atoll_text_take(reader, arena, ATOLL_TOOL_RESULT_LIMIT);
        unsigned status = atoll_reader_u8(reader);
        if (status >= ATOLL_TOOL_STATUS_COUNT)
            reader->failed = ATOLL_E_PROTOCOL;
        c->status = reader->failed ? ATOLL_TOOL_OK : (enum atoll_tool_status)status;
        c->elapsed_s = atoll_reader_f64_in(reader, 0, 1e12);
    }
    turn.call_count = reader->failed ? 0 : count;
    *ret_turn = turn;
}
