/* rules.h - static rules over a source (MEASUREMENT.md 1, level 2): cheap, clear, no containment (that is
 * the worker's).
 * Layer: core, pure. */
#ifndef ATOLL_CORE_RULES_H
#define ATOLL_CORE_RULES_H

#include "core/err.h"

/* Checks body (the source after its plan) for one language: include allow-list, no inline assembly, no
 * constructors or ifuncs or section attributes, no #pragma other than a short list, no #line, no _Pragma
 * tricks, no token pasting into forbidden names, no system-call or thread or file functions, trigraphs, and
 * so on: a table of rows (id, pattern, why). 0, or -1 with ATOLL_E_INPUT "rule <id>, line <n>: <why>". */
int atoll_rules_check(const char *language, const char *body, struct atoll_err *err);

/* Row access for docs and prompts. */
unsigned atoll_rules_count(const char *language);
const char *atoll_rules_id(const char *language, unsigned index);
const char *atoll_rules_why(const char *language, unsigned index);

#endif
