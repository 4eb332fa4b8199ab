#include "core/tool.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "core/plan/plan.h"

#define WORDS_LIMIT    1024
#define NAME_LIMIT     256
#define LANGUAGE_LIMIT 15
#define VALUE_LIMIT    64                /* in the arguments of a call */
#define END_BYTES      ((size_t)2 << 10) /* of the end of a text that is too long */

#define SOURCE_SCHEMA                                                                                        \
    "\"source\":{\"type\":\"string\",\"description\":\"The whole source, with its launch plan, as an "       \
    "answer "                                                                                                \
    "would have it.\"}"
#define WORDS_SCHEMA "\"words\":{\"type\":\"string\",\"description\":\"Words to look for.\"}"
#define PATTERN_SCHEMA                                                                                       \
    "\"pattern\":{\"type\":\"string\",\"description\":\"A regular expression that a line must match; "       \
    "letters match in either case.\"}"
#define OBJECT(properties, required)                                                                         \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],"                      \
    "\"additionalProperties\":false}"

enum { SOURCE = 1, WORDS = 2, PATTERN = 4, NAME = 8, LINE = 16 };

static const struct {
    const char *name, *description, *schema;
    unsigned takes;
    const char *of_c; /* description where sources are C; NULL: the same */
} tools[ATOLL_TOOL_COUNT] = {
    [ATOLL_TOOL_COMPILE] =
        {"compile",
         "Compiles a source with the compiler and the flags of an evaluation, and costs none. Gives the "
         "diagnostics with the lines they name, or, where it compiles, registers, spills, shared memory and "
         "the "
         "mix of machine instructions; with a pattern also the lines of the instruction listing around those "
         "that match it. Of a template the first legal combination is compiled.",
         OBJECT(SOURCE_SCHEMA "," PATTERN_SCHEMA, "\"source\""), SOURCE | PATTERN,
         "Compiles a source with the compiler and the flags of an evaluation, and costs none. Gives the "
         "diagnostics with the lines they name, or, where it compiles, the mix of machine instructions and "
         "the innermost loop with the most arithmetic on floats as the compiler wrote it: operands on the "
         "stack (%rsp) are registers that did not suffice; with a pattern also the lines of that loop around "
         "those that match it. Of a template the first legal combination is compiled."},
    [ATOLL_TOOL_CHECK] =
        {"check",
         "Compiles a source and runs it at the small check variants on the device: whether its results are "
         "right, and if not what is wrong with them. No time is measured.",
         OBJECT(SOURCE_SCHEMA, "\"source\""), SOURCE, NULL},
    [ATOLL_TOOL_SEARCH_KNOWLEDGE] = {"search_knowledge",
                                     "Finds texts on hardware, languages and optimizations by words or by a "
                                     "pattern, and shows the lines that fit. read_file gives a whole text.",
                                     OBJECT(WORDS_SCHEMA "," PATTERN_SCHEMA, ""), WORDS | PATTERN, NULL},
    [ATOLL_TOOL_SEARCH_ARCHIVE] = {"search_archive",
                                   "Finds kernels that this search has tried, by words or by a pattern, and "
                                   "shows their times or verdicts and the lines that fit.",
                                   OBJECT(WORDS_SCHEMA "," PATTERN_SCHEMA, ""), WORDS | PATTERN, NULL},
    [ATOLL_TOOL_READ_FILE] =
        {"read_file", "Gives a text of knowledge by the name that search_knowledge shows.",
         OBJECT("\"name\":{\"type\":\"string\"},\"line\":{\"type\":\"integer\",\"description\":\"The first "
                "line that is wanted; 1 where it is left out.\"}",
                "\"name\""),
         NAME | LINE, NULL},
};

const char *atoll_tool_name(enum atoll_tool tool)
{
    return tools[tool].name;
}

const char *atoll_tool_description(enum atoll_tool tool, const char *language)
{
    return tools[tool].of_c && strcmp(language, "c") == 0 ? tools[tool].of_c : tools[tool].description;
}

const char *atoll_tool_schema(enum atoll_tool tool)
{
    return tools[tool].schema;
}

enum atoll_tool atoll_tool_find(const char *name)
{
    int tool = 0;
    while (tool < ATOLL_TOOL_COUNT && strcmp(tools[tool].name, name) != 0)
        tool++;
    return (enum atoll_tool)tool;
}

/* ---- arguments ---- */

/* A member that is a text of at most so many bytes, else "". */
static int read_text(const json_t *object, const char *key, size_t limit, struct atoll_arena *arena,
                     const char **ret_text, struct atoll_err *err)
{
    const json_t *value = json_object_get(object, key);
    *ret_text = "";
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return atoll_err_set(err, ATOLL_E_INPUT, "\"%s\" must be a string", key);
    size_t length = json_string_length(value);
    if (length > limit)
        return atoll_err_set(err, ATOLL_E_INPUT, "\"%s\" has %zu bytes; at most %zu are taken", key, length,
                             limit);
    *ret_text = atoll_arena_text(arena, json_string_value(value), length, err);
    return *ret_text ? 0 : -1;
}

static int read_line(const json_t *object, uint32_t *ret_line, struct atoll_err *err)
{
    const json_t *value = json_object_get(object, "line");
    *ret_line = 1;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > UINT32_MAX)
        return atoll_err_set(err, ATOLL_E_INPUT, "\"line\" must be a whole number from 1 on");
    *ret_line = (uint32_t)json_integer_value(value);
    return 0;
}

static int read_members(unsigned takes, const json_t *object, struct atoll_arena *arena,
                        struct atoll_tool_arguments *a, struct atoll_err *err)
{
    struct atoll_pattern pattern;
    a->source = a->words = a->pattern = a->name = "";
    a->line = 1;
    if (takes & SOURCE && read_text(object, "source", ATOLL_SOURCE_LIMIT, arena, &a->source, err) != 0)
        return -1;
    if (takes & WORDS && read_text(object, "words", WORDS_LIMIT, arena, &a->words, err) != 0)
        return -1;
    if (takes & PATTERN && read_text(object, "pattern", ATOLL_PATTERN_LIMIT, arena, &a->pattern, err) != 0)
        return -1;
    if (takes & NAME && read_text(object, "name", NAME_LIMIT, arena, &a->name, err) != 0)
        return -1;
    if (takes & LINE && read_line(object, &a->line, err) != 0)
        return -1;
    if (takes & SOURCE && !*a->source)
        return atoll_err_set(err, ATOLL_E_INPUT, "\"source\" is missing: the whole source is wanted");
    if (takes & NAME && !*a->name)
        return atoll_err_set(err, ATOLL_E_INPUT, "\"name\" is missing");
    if (takes & WORDS && !*a->words && !*a->pattern)
        return atoll_err_set(err, ATOLL_E_INPUT, "\"words\" or \"pattern\" is wanted");
    return *a->pattern ? atoll_pattern_parse(a->pattern, &pattern, err) : 0;
}

int atoll_tool_arguments_read(enum atoll_tool tool, const char *json, struct atoll_arena *arena,
                              struct atoll_tool_arguments *ret_arguments, struct atoll_err *err)
{
    struct atoll_tool_arguments arguments;
    struct atoll_err why = ATOLL_ERR_INIT;
    size_t length = strlen(json);
    if (length > ATOLL_TOOL_ARGUMENTS_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "the arguments have %zu bytes; at most %u are taken", length,
                             ATOLL_TOOL_ARGUMENTS_LIMIT);
    json_t *object = atoll_json_load(length ? json : "{}", length ? length : 2, VALUE_LIMIT, 0, &why);
    int rc = object ? 0
                    : atoll_err_set(err, why.code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_INPUT,
                                    "the arguments are no JSON: %s", why.text);
    if (rc == 0 && !json_is_object(object))
        rc = atoll_err_set(err, ATOLL_E_INPUT, "the arguments are no JSON object");
    if (rc == 0)
        rc = read_members(tools[tool].takes, object, arena, &arguments, err);
    json_decref(object);
    if (rc == 0)
        *ret_arguments = arguments;
    return rc;
}

/* ---- the wire ---- */

static const char *read_bounded(struct atoll_reader *r, struct atoll_arena *arena, size_t limit)
{
    const char *text = atoll_reader_text(r, arena);
    if (strlen(text) > limit)
        r->failed = ATOLL_E_PROTOCOL;
    return text;
}

void atoll_tool_order_encode(const struct atoll_tool_order *order, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, order->call);
    atoll_buffer_put_u32(out, order->task);
    atoll_buffer_put_u32(out, order->tool);
    atoll_buffer_put_text(out, order->language);
    atoll_buffer_put_text(out, order->source);
    atoll_buffer_put_text(out, order->pattern);
}

int atoll_tool_order_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                            struct atoll_tool_order *ret_order, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_tool_order o;
    atoll_reader_init(&r, bytes, length);
    o.call = atoll_reader_u64(&r);
    o.task = atoll_reader_u32(&r);
    o.tool = (enum atoll_tool)atoll_reader_u32_in(&r, ATOLL_TOOL_COMPILE, ATOLL_TOOL_CHECK);
    o.language = read_bounded(&r, arena, LANGUAGE_LIMIT);
    o.source = read_bounded(&r, arena, ATOLL_SOURCE_LIMIT);
    o.pattern = read_bounded(&r, arena, ATOLL_PATTERN_LIMIT);
    if (atoll_reader_finish(&r, "tool order", err) != 0)
        return -1;
    *ret_order = o;
    return 0;
}

void atoll_tool_answer_encode(const struct atoll_tool_answer *answer, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, answer->call);
    atoll_buffer_put_u32(out, answer->status);
    atoll_buffer_put_text(out, answer->text);
}

int atoll_tool_answer_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                             struct atoll_tool_answer *ret_answer, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_tool_answer a;
    atoll_reader_init(&r, bytes, length);
    a.call = atoll_reader_u64(&r);
    a.status = (enum atoll_tool_status)atoll_reader_u32_in(&r, 0, ATOLL_TOOL_STATUS_COUNT - 1);
    a.text = read_bounded(&r, arena, ATOLL_TOOL_RESULT_LIMIT);
    if (atoll_reader_finish(&r, "tool answer", err) != 0)
        return -1;
    *ret_answer = a;
    return 0;
}

/* ---- results ---- */

/* Appends bytes as printable text as long as whole characters find room; returns how much of ret_text is used then. */
static size_t put_printable(const char *text, size_t length, char *ret_text, size_t used, size_t limit)
{
    for (size_t at = 0; at < length;) {
        size_t bytes = atoll_utf8_character_bytes(text + at, length - at);
        unsigned char first = (unsigned char)text[at];
        int is_control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f ||
                         (bytes == 2 && first == 0xc2 && (unsigned char)text[at + 1] < 0xa0);
        size_t put = bytes && !is_control ? bytes : 1;
        if (used + put > limit)
            return used;
        if (bytes && !is_control)
            memcpy(ret_text + used, text + at, bytes);
        else
            ret_text[used] = bytes ? ' ' : '?';
        used += put;
        at += bytes ? bytes : 1;
    }
    return used;
}

void atoll_tool_result_cut(const char *text, size_t length, char *ret_text)
{
    atoll_tool_text_cut(text, length, ATOLL_TOOL_RESULT_LIMIT, ret_text);
}

void atoll_tool_text_cut(const char *text, size_t length, size_t limit, char *ret_text)
{
    if (length <= limit) {
        ret_text[put_printable(text, length, ret_text, 0, limit)] = '\0';
        return;
    }
    char note[64];
    size_t tail = END_BYTES < limit / 4 ? END_BYTES : limit / 4;
    size_t begin = limit - tail - sizeof(note), end = length - tail;
    while (end < length && ((unsigned char)text[end] & 0xc0) == 0x80)
        end++;
    size_t used = put_printable(text, begin, ret_text, 0, begin);
    int n = snprintf(note, sizeof(note), "\n[... %zu bytes are left out ...]\n", end - begin);
    memcpy(ret_text + used, note, (size_t)n);
    used = put_printable(text + end, length - end, ret_text, used + (size_t)n, limit);
    ret_text[used] = '\0';
}
