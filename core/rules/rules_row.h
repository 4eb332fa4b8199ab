/* rules_row.h - what a rule is made of, and the checks that several languages or tables share.
 * Layer: core, private to rules*.c.  Pure. */
#ifndef ATOLL_CORE_RULES_RULES_ROW_H
#define ATOLL_CORE_RULES_RULES_ROW_H

#include "core/source/source_token.h"

struct atoll_rule_site {
    const struct atoll_token *tokens;
    size_t count, at;
};

struct atoll_rule {
    const char *id, *why;
    /* Words, each with a blank before and after it; NULL: none. */
    const char *names;                              /* refused wherever they stand */
    const char *prefixes;                           /* of such names */
    const char *calls;                              /* ordinary words as well: refused before a "(" */
    int (*broken)(const struct atoll_rule_site *s); /* 1 when the token at s->at breaks the rule */
    /* looks at all tokens once; index of the one that breaks the rule, count when none does */
    size_t (*find)(const struct atoll_token *tokens, size_t count);
    /* looks at the text before it is cut into tokens, and at what was odd in cutting it; line (from 1) or 0 */
    unsigned (*raw)(const char *body, const struct atoll_token_list *list);
    int of_text; /* 1: about how a text is written; says nothing of what a preprocessor made of it */
};

#define ATOLL_RULE_COUNT(array) (sizeof(array) / sizeof(*(array)))

const struct atoll_token *atoll_rule_token(const struct atoll_rule_site *s, size_t offset);
int atoll_rule_is(const struct atoll_rule_site *s, size_t offset, const char *text);
/* words: one text, a blank before and after each word. */
int atoll_rule_any(const struct atoll_token *t, const char *words);
int atoll_rule_starts(const struct atoll_token *t, const char *prefixes);
int atoll_rule_is_name(const struct atoll_rule_site *s);
/* The name of a directive stands right after the '#' that opens its line. */
int atoll_rule_is_directive(const struct atoll_rule_site *s);
/* Whether the header named by an #include is one of the words or starts with one of some folders; any path that
 * climbs or holds odd characters is not. */
int atoll_rule_includes(const struct atoll_rule_site *s, const char *headers, const char *const *folders,
                        size_t folder_count);

/* Rows that every language has begin with these. */
#define ATOLL_RULES_OF_TEXTS                                                                                 \
    {"control-byte",                                                                                         \
     "control bytes end lines for one compiler and not for another; tabs and line ends are allowed",         \
     .raw = atoll_rule_control_byte, .of_text = 1},                                                          \
        {"splice",                                                                                           \
         "a backslash that joins lines stands right before the line's end, with no blank between and a "     \
         "line "                                                                                             \
         "behind it",                                                                                        \
         .raw = atoll_rule_splice, .of_text = 1},                                                            \
        {"trigraph", "trigraphs hide what is compiled; break the question marks apart",                      \
         .raw = atoll_rule_trigraph, .of_text = 1},                                                          \
        {"comment", "this comment never ends", .raw = atoll_rule_open_comment, .of_text = 1},                \
        {"digraph",                                                                                          \
         "digraphs hide what is compiled; write the plain sign, and a blank between '<' and '::'",           \
         .broken = atoll_rule_digraph, .of_text = 1},                                                        \
        {"raw-string", "raw strings hide text; write an ordinary text", .broken = atoll_rule_raw_string,     \
         .of_text = 1},                                                                                      \
        {"directive",                                                                                        \
         "only define, undef, if, ifdef, ifndef, elif, else, endif, include, pragma, error and warning are " \
         "allowed",                                                                                          \
         .broken = atoll_rule_directive_known, .of_text = 1},                                                \
    {                                                                                                        \
        "define",                                                                                            \
            "keywords, words of attributes and names that start with _ and a capital or __ may not be "      \
            "macros or "                                                                                     \
            "their parameters; choose another name",                                                         \
            .broken = atoll_rule_define, .of_text = 1                                                        \
    }

/* Words of the rows that every language has. */
#define ATOLL_RULE_PROBES                                                                                    \
    " __has_include __has_include__ __has_include_next __has_include_next__ __has_embed "
#define ATOLL_RULE_STAMPS    " __DATE__ __TIME__ __TIMESTAMP__ __FILE__ __FILE_NAME__ __BASE_FILE__ "
#define ATOLL_RULE_OPERATORS " _Pragma __pragma "
#define ATOLL_RULE_HARNESS   " atoll_ ATOLL_ "

unsigned atoll_rule_control_byte(const char *body, const struct atoll_token_list *list);
unsigned atoll_rule_splice(const char *body, const struct atoll_token_list *list);
unsigned atoll_rule_trigraph(const char *body, const struct atoll_token_list *list);
unsigned atoll_rule_open_comment(const char *body, const struct atoll_token_list *list);
/* #define and #undef of a keyword, of a word of attributes, or of a reserved name, and parameters of macros that are. */
int atoll_rule_define(const struct atoll_rule_site *s);
int atoll_rule_odd_byte(const struct atoll_rule_site *s);
int atoll_rule_digraph(const struct atoll_rule_site *s);
int atoll_rule_pasting(const struct atoll_rule_site *s);
int atoll_rule_raw_string(const struct atoll_rule_site *s);
int atoll_rule_directive_known(const struct atoll_rule_site *s);
int atoll_rule_attribute_forbidden(const struct atoll_rule_site *s);
/* standard: names that [[...]] may hold besides those of __attribute__. */
int atoll_rule_brackets_forbidden(const struct atoll_rule_site *s, const char *standard);
int atoll_rule_label_address(const struct atoll_rule_site *s);
int atoll_rule_builtin_forbidden(const struct atoll_rule_site *s);

/* ---- what a CUDA source declares at file scope (rules_scope.c), as far as brackets and keywords tell.  Odd nesting finds too
 * much or too little, nothing else. ---- */
/* All return the index of the first token that breaks the rule, count when none does. */
/* A variable of file or namespace scope that a kernel could write. */
size_t atoll_scope_mutable_global(const struct atoll_token *tokens, size_t count);
/* A static variable inside of a function or class that a kernel could write. */
size_t atoll_scope_mutable_static(const struct atoll_token *tokens, size_t count);
/* A __global__ function without extern "C". */
size_t atoll_scope_unlinked_kernel(const struct atoll_token *tokens, size_t count);

/* ---- what the texts of inline assembly may say (rules_ptx.c) ---- */
/* All return the index of the first token that breaks the rule, count when none does.  Neighbouring texts are read as
 * one, in any case. */
/* Clocks, timers and performance counters. */
size_t atoll_ptx_clock(const struct atoll_token *tokens, size_t count);
/* Registers that tell a launch from another one, or where the system keeps its own. */
size_t atoll_ptx_system(const struct atoll_token *tokens, size_t count);
/* Directives, calls, traps and dependent launches. */
size_t atoll_ptx_forbidden(const struct atoll_token *tokens, size_t count);
/* Lines that stay in the L2 cache beyond the launch. */
size_t atoll_ptx_persisting(const struct atoll_token *tokens, size_t count);
/* A text put together by macros or escapes, or in asm something that is no text. */
size_t atoll_ptx_hidden(const struct atoll_token *tokens, size_t count);

/* What docs/spec/rules.md lists beside the rows: words of attributes and builtins (their names, beginnings of names, and
 * beginnings of those that are refused all the same), each with a blank before and after it. */
extern const char atoll_rule_attributes[], atoll_rule_builtins[], atoll_rule_builtin_prefixes[],
    atoll_rule_builtins_refused[];

/* The tables, one file each. */
extern const struct atoll_rule atoll_rules_c[];
extern const size_t atoll_rules_c_count;
extern const char atoll_rules_c_headers[];
extern const struct atoll_rule atoll_rules_cuda[];
extern const size_t atoll_rules_cuda_count;
extern const struct atoll_rule atoll_rules_triton[];
extern const size_t atoll_rules_triton_count;

#endif
