/* source_token.h - the tokens of a C-family source, as a compiler's phases 1 to 3 see them: lines spliced,
 * comments gone, directives marked.  Shared by rules and behaviour; anything a compiler might read
 * differently is reported, not guessed.
 * Layer: core.  Lifetime: create/destroy; token texts point into the list's own copy.  Hostile input. */
#ifndef ATOLL_CORE_SOURCE_SOURCE_TOKEN_H
#define ATOLL_CORE_SOURCE_SOURCE_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum atoll_token_kind {
    ATOLL_TOKEN_NAME,
    ATOLL_TOKEN_NUMBER,
    ATOLL_TOKEN_STRING,
    ATOLL_TOKEN_CHARACTER,
    ATOLL_TOKEN_MARK, /* operators and punctuation, longest match */
    /* a byte no token of C starts with: backslash, '$', '@', '`', what is no UTF-8; an open quote with the rest of its
     * line */
    ATOLL_TOKEN_ODD
};

struct atoll_token {
    enum atoll_token_kind kind;
    const char *text; /* not terminated */
    uint32_t length;
    uint32_t line;     /* where its logical line begins in the original text, from 1 */
    uint8_t directive; /* 1: belongs to a preprocessor directive */
    uint8_t first;     /* 1: first of its line */
    uint8_t dead;      /* 1: "#if 0" leaves it out */
};

struct atoll_token_list {
    size_t count;
    struct atoll_token *tokens; /* owned */
    char *text;                 /* owned: the spliced copy */
    uint32_t odd_line;          /* of an open comment, 0 = none */
};

/* 0, or -1 with MEMORY or LIMIT (over 1 MiB) in err. */
int atoll_token_list_init(struct atoll_token_list *list, const char *source, struct atoll_err *err);
void atoll_token_list_fini(struct atoll_token_list *list);
/* equal as text, whatever the kind */
int atoll_token_is(const struct atoll_token *token, const char *text);
int atoll_token_starts(const struct atoll_token *token, const char *prefix);

#endif
