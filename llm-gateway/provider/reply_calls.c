/* reply_calls.c - calls of tools out of a reply's pieces.  Providers give ids of any form, some give none, and models invent
 * names: what comes out is what every provider takes back. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "llm-gateway/provider/provider_row.h"

#define STATE_LIMIT 256 /* blocks of a reply */

struct atoll_reply_call *atoll_reply_call_at(struct atoll_reply_parts *parts, long index)
{
    for (size_t i = 0; i < parts->call_count; i++)
        if (parts->calls[i].index == index)
            return &parts->calls[i];
    if (parts->call_count == ATOLL_LLM_TOOL_CALL_LIMIT) {
        parts->lost_call_count++;
        return NULL;
    }
    struct atoll_reply_call *call = &parts->calls[parts->call_count++];
    *call = (struct atoll_reply_call){.index = index};
    atoll_buffer_init(&call->arguments, ATOLL_LLM_ARGUMENT_BYTES + 1);
    return call;
}

void atoll_reply_call_name(struct atoll_reply_call *call, const json_t *id, const json_t *name)
{
    atoll_reply_name(call->id, sizeof(call->id), json_is_string(id) ? id : NULL);
    atoll_reply_name(call->name, sizeof(call->name), json_is_string(name) ? name : NULL);
}

void atoll_reply_call_add(struct atoll_reply_call *call, const json_t *arguments)
{
    struct atoll_buffer text;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!json_is_object(arguments)) {
        atoll_reply_add(&call->arguments, arguments);
        return;
    }
    if (!json_object_size(arguments)) /* a beginning, or none at all */
        return;
    atoll_buffer_init(&text, call->arguments.limit_bytes);
    if (atoll_json_put(&text, arguments, &why) == 0)
        atoll_outcome_text_put(&call->arguments, text.data, text.length);
    else if (!call->arguments.failed)
        call->arguments.failed = (int)why.code;
    atoll_buffer_fini(&text);
}

void atoll_reply_keep_state(struct atoll_reply_parts *parts, json_t *value)
{
    if (!parts->state)
        parts->state = json_array();
    if (!value || !parts->state) {
        parts->has_no_memory = 1;
        json_decref(value);
        return;
    }
    if (json_array_size(parts->state) == STATE_LIMIT) { /* half of it would be wrong: then none */
        parts->is_state_lost = 1;
        json_decref(value);
        return;
    }
    parts->has_no_memory |= json_array_append_new(parts->state, value) != 0;
}

/* ---- the end ---- */

static void make_name(const struct atoll_reply_call *call, char ret_name[ATOLL_LLM_TOOL_NAME_BYTES])
{
    snprintf(ret_name, ATOLL_LLM_TOOL_NAME_BYTES, "%s", *call->name ? call->name : "unnamed");
    for (char *c = ret_name; *c; c++) {
        const char one[2] = {*c, '\0'};
        *c = atoll_llm_tool_name_is_valid(one) ? *c : '_';
    }
}

static int is_taken(const struct atoll_llm_tool_call *calls, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(calls[i].id, id) == 0)
            return 1;
    return 0;
}

/* The provider's own, or where it gave none or one twice, one that nobody has. */
static void make_id(const struct atoll_reply_parts *parts, size_t at,
                    const struct atoll_llm_tool_call *before, char ret_id[ATOLL_LLM_CALL_ID_BYTES])
{
    snprintf(ret_id, ATOLL_LLM_CALL_ID_BYTES, "%s", parts->calls[at].id);
    for (size_t n = at; !*ret_id || is_taken(before, at, ret_id); n += ATOLL_LLM_TOOL_CALL_LIMIT)
        snprintf(ret_id, ATOLL_LLM_CALL_ID_BYTES, "call_%zu", n);
}

/* A list: what was kept, what goes back with single calls, and the reasoning where it has to come back by its name. */
static void give_state(struct atoll_reply_parts *parts, struct atoll_llm_outcome *outcome)
{
    struct atoll_buffer text;
    for (size_t i = 0; i < parts->call_count; i++)
        if (parts->calls[i].extra)
            atoll_reply_keep_state(
                parts, json_pack("{s:I,s:O}", "call", (json_int_t)i, "extra_content", parts->calls[i].extra));
    if (parts->reasoning_member && outcome->reasoning.length)
        atoll_reply_keep_state(parts,
                               json_pack("{s:s%}", parts->reasoning_member,
                                         (const char *)outcome->reasoning.data, outcome->reasoning.length));
    if (!parts->state || parts->is_state_lost)
        return;
    struct atoll_err why = ATOLL_ERR_INIT;
    atoll_buffer_init(&text, ATOLL_LLM_STATE_BYTES);
    if (json_array_size(parts->state) && atoll_json_put(&text, parts->state, &why) == 0)
        atoll_outcome_text_put(&outcome->provider_state, text.data, text.length);
    atoll_buffer_fini(&text); /* too much of it: the model goes on without */
    parts->has_no_memory |= why.code == ATOLL_E_MEMORY || outcome->provider_state.failed == ATOLL_E_MEMORY;
}

void atoll_reply_give_calls(struct atoll_reply_parts *parts, struct atoll_llm_outcome *outcome)
{
    struct atoll_llm_tool_call calls[ATOLL_LLM_TOOL_CALL_LIMIT];
    char names[ATOLL_LLM_TOOL_CALL_LIMIT][ATOLL_LLM_TOOL_NAME_BYTES];
    char ids[ATOLL_LLM_TOOL_CALL_LIMIT][ATOLL_LLM_CALL_ID_BYTES];
    if (outcome->status != ATOLL_LLM_TOOL_CALLS)
        return;
    for (size_t i = 0; i < parts->call_count; i++) {
        const struct atoll_buffer *arguments = &parts->calls[i].arguments;
        make_name(&parts->calls[i], names[i]);
        make_id(parts, i, calls, ids[i]);
        calls[i] = (struct atoll_llm_tool_call){ids[i], names[i],
                                                arguments->length ? (const char *)arguments->data : "{}"};
    }
    parts->has_no_memory |= atoll_llm_outcome_set_calls(outcome, calls, parts->call_count, NULL) != 0;
    if (parts->lost_call_count)
        atoll_llm_outcome_set(outcome, ATOLL_LLM_TOOL_CALLS,
                              "more calls of tools than %d at once: the first are kept",
                              ATOLL_LLM_TOOL_CALL_LIMIT);
    give_state(parts, outcome);
    if (parts->has_no_memory) {
        atoll_llm_outcome_set_calls(outcome, NULL, 0, NULL);
        atoll_buffer_fini(&outcome->provider_state);
        atoll_llm_outcome_set(outcome, ATOLL_LLM_PROTOCOL, "no memory to read the calls of tools");
    }
}
