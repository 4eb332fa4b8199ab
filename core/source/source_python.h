/* source_python.h - the tokens of a Python source, in the list that source_token.h has for C: comments gone, texts whole
 * (with their prefix and quotes), marks of one character.  For rules and behaviour; indentation is not kept.
 * Layer: core.  Hostile input. */
#ifndef ATOLL_CORE_SOURCE_SOURCE_PYTHON_H
#define ATOLL_CORE_SOURCE_SOURCE_PYTHON_H

#include "core/source/source_token.h"

/* 0, or -1 with MEMORY or LIMIT (over 1 MiB) in err.  odd_line: of a text that never ends.  Freed by
 * atoll_token_list_fini. */
int atoll_python_token_list_init(struct atoll_token_list *list, const char *source, struct atoll_err *err);

#endif
