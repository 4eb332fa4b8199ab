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

int question_read(const json_t *body, struct question *ret_question)
{
    const char *model = json_string_value(json_object_get(body, "model"));
    if (!model || strlen(model) > 256)
        return -1;
    ret_question->model = model;
    ret_question->text = last_text(body, 0);
    ret_question->is_streamed = json_is_true(json_object_get(body, "stream"));
    ret_question->has_usage_in_stream =
        json_is_true(json_object_get(json_object_get(body, "stream_options"), "include_usage"));
    id_read(ret_question->text, ret_question->id);
    return 0;
}
