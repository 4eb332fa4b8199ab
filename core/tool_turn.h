/* tool_turn.h - one turn of an ask that called tools: what the model said, what it called, what that gave.
 * Layer: core.  Plain value, texts borrowed; encode/decode for the journal (docs/spec/events.md). */
#ifndef ATOLL_CORE_TOOL_TURN_H
#define ATOLL_CORE_TOOL_TURN_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/id.h"

#define ATOLL_TOOL_CALL_LIMIT      20          /* of one turn, and of one ask */
#define ATOLL_TOOL_RESULT_LIMIT    (16u << 10) /* bytes; what is longer is cut when it is encoded */
#define ATOLL_TOOL_ARGUMENTS_LIMIT (1u << 20)  /* bytes: a source as JSON text */
#define ATOLL_TOOL_NAME_LIMIT      256u        /* bytes of a call's id and name */

/* The order is the order in journals and archives: new ones go before COUNT. */
enum atoll_tool_status {
    ATOLL_TOOL_OK,
    ATOLL_TOOL_ERROR,   /* it was carried out, or was no call that can be; the result says why */
    ATOLL_TOOL_REFUSED, /* beyond what an ask may call */
    ATOLL_TOOL_STATUS_COUNT
};
const char *atoll_tool_status_name(enum atoll_tool_status status); /* "ok" ... */

struct atoll_tool_call {
    const char *id, *name; /* as the model said them; NULL reads back as "" */
    const char *arguments; /* JSON text */
    const char *result;
    enum atoll_tool_status status;
    double elapsed_s;
};

/* Its tokens and its price are of this turn alone: the reply that ends the ask does not count them again. */
struct atoll_tool_turn {
    uint64_t ask;
    uint32_t turn;              /* from 0 */
    struct atoll_id request;    /* identity of the turn's request at the gateway; zero: there was none */
    const char *said, *thought; /* beside the calls */
    uint64_t tokens_in, tokens_out;
    double cost_usd;
    uint32_t call_count;
    struct atoll_tool_call calls[ATOLL_TOOL_CALL_LIMIT];
};

void atoll_tool_turn_encode(const struct atoll_tool_turn *turn, struct atoll_buffer *out);
/* Hostile input; texts are copied into arena. */
void atoll_tool_turn_decode(struct atoll_reader *reader, struct atoll_arena *arena,
                            struct atoll_tool_turn *ret_turn);

#endif
