#include "llm-gateway/request/tool_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char *move(const char *text, char **room)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*room, text, bytes);
    *room += bytes;
    return copy;
}

struct atoll_llm_tool_call *atoll_llm_tool_calls_copy(const struct atoll_llm_tool_call *calls, size_t count,
                                                      struct atoll_err *err)
{
    size_t bytes = count * sizeof(*calls);
    for (size_t i = 0; i < count; i++)
        bytes += strlen(calls[i].id) + strlen(calls[i].name) + strlen(calls[i].arguments) + 3;
    struct atoll_llm_tool_call *copy = malloc(bytes);
    if (!copy) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu calls of tools", count);
        return NULL;
    }
    char *room = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        copy[i].id = move(calls[i].id, &room);
        copy[i].name = move(calls[i].name, &room);
        copy[i].arguments = move(calls[i].arguments, &room);
    }
    return copy;
}

int atoll_llm_tool_name_is_valid(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strspn(name, letters);
    return length && length < ATOLL_LLM_TOOL_NAME_BYTES && !name[length];
}

json_t *atoll_llm_schema_load(const char *schema, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *document =
        atoll_json_load(schema, strlen(schema), ATOLL_LLM_REQUEST_VALUES, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(document))
        return document;
    json_decref(document);
    atoll_err_set(err, document || why.code == ATOLL_E_LIMIT ? ATOLL_E_INPUT : why.code, "%s",
                  document ? "an object is expected" : why.text);
    return NULL;
}

json_t *atoll_llm_tool_calls_json(const struct atoll_llm_tool_call *calls, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(list, json_pack("{s:s,s:s,s:{s:s,s:s}}", "id", calls[i].id, "type",
                                                  "function", "function", "name", calls[i].name, "arguments",
                                                  calls[i].arguments))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *atoll_llm_tools_json(const struct atoll_llm_tool *tools, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *schema = atoll_llm_schema_load(tools[i].schema, NULL);
        json_t *function = schema ? json_pack("{s:s,s:s,s:o}", "name", tools[i].name, "description",
                                              tools[i].description, "parameters", schema)
                                  : NULL;
        json_t *one = function ? json_pack("{s:s,s:o}", "type", "function", "function", function) : NULL;
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
