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
/* Whether the header named by an #include is in a list of names or starts with one of some folders; any path that
 * climbs or holds odd characters is not. */
int atoll_rule_includes(const struct atoll_rule_site *s, const char *const *headers, size_t header_count,
                        const char *const *folders, size_t folder_count);

/* Words of the rows that every language has. */
#define ATOLL_RULE_PROBES    " __has_include __has_include_next __has_embed "
#define ATOLL_RULE_STAMPS    " __DATE__ __TIME__ __TIMESTAMP__ __FILE__ __BASE_FILE__ "
#define ATOLL_RULE_OPERATORS " _Pragma __pragma "
#define ATOLL_RULE_HARNESS   " atoll_ ATOLL_ "

int atoll_rule_odd_byte(const struct atoll_rule_site *s);
int atoll_rule_digraph(const struct atoll_rule_site *s);
int atoll_rule_pasting(const struct atoll_rule_site *s);
int atoll_rule_raw_string(const struct atoll_rule_site *s);
int atoll_rule_directive_known(const struct atoll_rule_site *s);
int atoll_rule_attribute_forbidden(const struct atoll_rule_site *s);
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
/* Directives, calls, traps and dependent launches. */
size_t atoll_ptx_forbidden(const struct atoll_token *tokens, size_t count);
/* Lines that stay in the L2 cache beyond the launch. */
size_t atoll_ptx_persisting(const struct atoll_token *tokens, size_t count);
/* A text put together by macros or escapes, or in asm something that is no text. */
size_t atoll_ptx_hidden(const struct atoll_token *tokens, size_t count);

/* The tables, one file each. */
extern const struct atoll_rule atoll_rules_c[];
extern const size_t atoll_rules_c_count;
extern const struct atoll_rule atoll_rules_cuda[];
extern const size_t atoll_rules_cuda_count;

#endif
