/* tool.h - what a language model may do before it answers an ask: the tools, their arguments, and how two of them travel to an
 * evaluator and back (docs/spec/wire.md).
 * Layer: core, pure.  Arguments are a model's words and answers an evaluator's: both are hostile. */
#ifndef ATOLL_CORE_TOOL_H
#define ATOLL_CORE_TOOL_H

#include "base/arena.h"
#include "base/buffer.h"
#include "core/tool_turn.h"

enum atoll_tool {
    ATOLL_TOOL_COMPILE,          /* a source: diagnostics, or what came out */
    ATOLL_TOOL_CHECK,            /* a source at the check variants: its verdict, no times */
    ATOLL_TOOL_SEARCH_KNOWLEDGE, /* the texts of knowledge/ */
    ATOLL_TOOL_SEARCH_ARCHIVE,   /* the kernels of this campaign */
    ATOLL_TOOL_READ_FILE,        /* a text of knowledge/ */
    ATOLL_TOOL_COUNT
};

/* "compile", "check", "search_knowledge", "search_archive", "read_file". */
const char *atoll_tool_name(enum atoll_tool tool);
/* Of this name; ATOLL_TOOL_COUNT: none. */
enum atoll_tool atoll_tool_find(const char *name);
/* For models: what it does for who writes in a language, and the JSON schema of its arguments. */
const char *atoll_tool_description(enum atoll_tool tool, const char *language);
const char *atoll_tool_schema(enum atoll_tool tool);

/* "" where an argument is not there. */
struct atoll_tool_arguments {
    const char *source;  /* compile, check */
    const char *words;   /* search_* */
    const char *pattern; /* search_*, compile (lines of the listing): base/pattern.h */
    const char *name;    /* read_file */
    uint32_t line;       /* read_file: from here on; at least 1 */
};
/* Reads the JSON of a call; members that no tool has are passed over.  Texts lie in arena.  Errors: INPUT, fit to be told to
 * the model; MEMORY, LIMIT. */
int atoll_tool_arguments_read(enum atoll_tool tool, const char *json, struct atoll_arena *arena,
                              struct atoll_tool_arguments *ret_arguments, struct atoll_err *err);

/* What an evaluator is to do.  Texts are borrowed from the arena of the decoder or from the sender. */
struct atoll_tool_order {
    uint64_t call;
    uint32_t task;
    enum atoll_tool tool; /* COMPILE, CHECK */
    const char *language, *source, *pattern;
};
void atoll_tool_order_encode(const struct atoll_tool_order *order, struct atoll_buffer *out);
int atoll_tool_order_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                            struct atoll_tool_order *ret_order, struct atoll_err *err);

/* What it says. */
struct atoll_tool_answer {
    uint64_t call;
    enum atoll_tool_status status;
    const char *text; /* at most ATOLL_TOOL_RESULT_LIMIT */
};
void atoll_tool_answer_encode(const struct atoll_tool_answer *answer, struct atoll_buffer *out);
int atoll_tool_answer_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                             struct atoll_tool_answer *ret_answer, struct atoll_err *err);

/* Makes any bytes a result: a text that is UTF-8 without control characters but line ends and tabs; of one that is too long the
 * beginning and the end, and between them how much is left out.  ret_text: ATOLL_TOOL_RESULT_LIMIT + 1 bytes. */
void atoll_tool_result_cut(const char *text, size_t length, char *ret_text);
/* The same within limit bytes, of which ret_text has one more; ATOLL_TOOL_CUT_LEAST..ATOLL_TOOL_RESULT_LIMIT. */
#define ATOLL_TOOL_CUT_LEAST ((size_t)512)
void atoll_tool_text_cut(const char *text, size_t length, size_t limit, char *ret_text);

#endif
