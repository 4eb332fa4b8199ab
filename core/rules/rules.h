/* rules.h - static rules over a source (MEASUREMENT.md 1, level 2): cheap, clear, no containment (that is
 * the worker's).
 * Layer: core, pure. */
#ifndef ATOLL_CORE_RULES_RULES_H
#define ATOLL_CORE_RULES_RULES_H

#include "base/err.h"

/* Checks body (the source after its plan) for one language, by a table of rows (id, pattern, why).  Both: include
 * allow-list, pragmas of a short list, no #line, no _Pragma, no token pasting, no trigraphs, no attributes that place or
 * export.  "c": no inline assembly, no functions of the system, of threads, files, clocks or allocators.  "cuda": no
 * mutable variables of file scope or static ones, kernels are extern "C", no runtime or driver functions, launches,
 * allocation, printing, traps or clocks, and inline PTX without directives, calls, clocks or persisting lines.
 * 0, or -1 with ATOLL_E_INPUT "rule <id>, line <n>: <why>". */
int atoll_rules_check(const char *language, const char *body, struct atoll_err *err);

/* Row access for docs and prompts. */
unsigned atoll_rules_count(const char *language);
const char *atoll_rules_id(const char *language, unsigned index);
const char *atoll_rules_why(const char *language, unsigned index);

#endif
