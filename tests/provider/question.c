#include "tests/provider/question.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The last text in it: a text, the last of an array, or content, text, input or messages of an object. */
static const char *last_text(const json_t *value, int depth)
{
    static const char *const members[] = {"text", "content", "messages", "input"};
    if (depth > 8)
        return "";
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_array(value) && json_array_size(value) > 0)
        return last_text(json_array_get(value, json_array_size(value) - 1), depth + 1);
    for (size_t i = 0; json_is_object(value) && i < sizeof(members) / sizeof(members[0]); i++) {
        const json_t *member = json_object_get(value, members[i]);
        /* Responses has an object named text, which says the format. */
        if (member && !json_is_object(member))
            return last_text(member, depth + 1);
    }
    return "";
}

static void id_read(const char *text, char *ret_id)
{
    const char *last = NULL;
    for (const char *at = strstr(text, "id="); at; at = strstr(at + 1, "id="))
        last = at + 3;
    size_t length = 0;
    while (last && length < TALLY_ID_BYTES - 1 && last[length] &&
           (isalnum((unsigned char)last[length]) || strchr("._-", last[length])))
        length++;
    snprintf(ret_id, TALLY_ID_BYTES, "%.*s", length ? (int)length : 1, length ? last : "-");
}

/* ---- tools: whether results stand where the dialects want them, and thoughts came back with the calls ---- */

static const char *type_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The calls of one message or item that have no result yet; -1: a result without a call. */
static void walk_chat(const json_t *message, int *open, struct question *q)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    int is_result = strcmp(type_of(message, "role"), "tool") == 0;
    q->result_count += (unsigned)is_result;
    if (is_result && (*open == 0 || !*type_of(message, "tool_call_id")))
        q->fault = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'";
    else if (!is_result && *open > 0)
        q->fault = "an assistant message with 'tool_calls' must be followed by tool messages";
    else if (json_array_size(calls) && !json_is_string(json_object_get(message, "reasoning_content")))
        q->fault = "the reasoning_content of a turn that called tools must be passed back";
    *open += is_result ? -1 : (int)json_array_size(calls);
}

static void walk_responses(const json_t *item, int *open, struct question *q)
{
    const char *type = type_of(item, "type");
    if (strcmp(type, "function_call_output") == 0) {
        q->result_count++;
        q->fault = *open > 0 ? q->fault : "No tool call found for function call output";
        --*open;
    } else if (strcmp(type, "function_call") == 0) {
        ++*open;
    } else if (*open > 0) {
        q->fault = "No tool output found for function call";
    }
}

static void walk_anthropic(const json_t *message, int is_thinking, int *open, struct question *q)
{
    size_t i;
    json_t *block;
    const json_t *content = json_object_get(message, "content");
    int calls = 0, results = 0;
    json_array_foreach(content, i, block)
    {
        const char *type = type_of(block, "type");
        calls += strcmp(type, "tool_use") == 0 && json_is_object(json_object_get(block, "input"));
        results += strcmp(type, "tool_result") == 0;
    }
    const json_t *first = json_array_get(content, 0);
    if (results != *open)
        q->fault = "tool_use ids were found without tool_result blocks immediately after";
    if (calls && is_thinking &&
        (strcmp(type_of(first, "type"), "thinking") != 0 || !*type_of(first, "signature")))
        q->fault = "Expected thinking, but found tool_use";
    q->result_count += (unsigned)results;
    *open = calls;
}

static void tools_read(const json_t *body, struct question *q)
{
    size_t i;
    json_t *one;
    int open = 0, is_thinking = json_is_object(json_object_get(body, "thinking"));
    const json_t *messages = json_object_get(body, "messages"), *input = json_object_get(body, "input");
    const json_t *tool = json_array_get(json_object_get(body, "tools"), 0);
    const json_t *choice = json_object_get(body, "tool_choice");
    int is_anthropic = json_is_object(json_object_get(tool, "input_schema"));
    int is_free = strcmp(type_of(choice, "type"), "none") == 0 ||
                  (json_is_string(choice) && strcmp(json_string_value(choice), "none") == 0);
    const char *name = json_string_value(json_object_get(tool, "name"));
    if (!name)
        name = json_string_value(json_object_get(json_object_get(tool, "function"), "name"));
    q->tool_name = is_free ? NULL : name;
    json_array_foreach(messages, i, one)
    {
        if (is_anthropic)
            walk_anthropic(one, is_thinking, &open, q);
        else
            walk_chat(one, &open, q);
    }
    json_array_foreach(messages ? NULL : input, i, one)
    {
        walk_responses(one, &open, q);
    }
    if (open > 0)
        q->fault = "a call without a result";
    if (q->result_count && !tool)
        q->fault = "Requests which include calls of tools must define tools";
}

static void parameters_read(const json_t *body, struct question *q)
{
    static const char *const limits[] = {"max_completion_tokens", "max_output_tokens", "max_tokens"};
    const json_t *effort = json_object_get(body, "reasoning_effort");
    const json_t *temperature = json_object_get(body, "temperature"), *top_p = json_object_get(body, "top_p");
    int used = 0;
    for (size_t i = 0; i < 3 && !used; i++)
        if (json_object_get(body, limits[i]))
            used = snprintf(q->parameters, sizeof(q->parameters), "max %lld",
                            (long long)json_integer_value(json_object_get(body, limits[i])));
    if (!effort)
        effort = json_object_get(json_object_get(body, "reasoning"), "effort");
    if (!effort)
        effort = json_object_get(json_object_get(body, "output_config"), "effort");
    if (temperature)
        used += snprintf(q->parameters + used, sizeof(q->parameters) - (size_t)used, " t %g",
                         json_number_value(temperature));
    if (top_p)
        used += snprintf(q->parameters + used, sizeof(q->parameters) - (size_t)used, " p %g",
                         json_number_value(top_p));
    if (json_is_string(effort))
        snprintf(q->parameters + used, sizeof(q->parameters) - (size_t)used, " e %.16s",
                 json_string_value(effort));
}

int question_read(const json_t *body, struct question *ret_question)
{
    const char *model = json_string_value(json_object_get(body, "model"));
    if (!model || strlen(model) > 256)
        return -1;
    *ret_question = (struct question){.model = model};
    ret_question->text = last_text(body, 0);
    ret_question->is_streamed = json_is_true(json_object_get(body, "stream"));
    ret_question->has_usage_in_stream =
        json_is_true(json_object_get(json_object_get(body, "stream_options"), "include_usage"));
    tools_read(body, ret_question);
    parameters_read(body, ret_question);
    id_read(ret_question->text, ret_question->id);
    return 0;
}
