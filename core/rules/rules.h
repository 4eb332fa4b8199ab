/* rules.h - static rules over a source (MEASUREMENT.md 1, level 2): cheap, clear, no containment (that is
 * the worker's).
 * Layer: core, pure. */
#ifndef ATOLL_CORE_RULES_RULES_H
#define ATOLL_CORE_RULES_RULES_H

#include "base/err.h"

/* Checks body (the source after its plan, which begins at first_line of its file) for one language, by a table of rows
 * (id, why, pattern): what may be included, which pragmas, attributes and builtins there are, which names of the system
 * are refused, and what makes a compiler read another text than a person.  docs/spec/rules.md lists the rows.
 * 0, or -1 with ATOLL_E_INPUT "rule <id>, line <n of the file>: <why>". */
int atoll_rules_check(const char *language, const char *body, unsigned first_line, struct atoll_err *err);

/* A translation unit as the harness writes it. */
struct atoll_rules_unit {
    const char *file, *other_name; /* how line markers call the candidate's own text */
    const char *
        end_name; /* the file that the harness's part says it is, behind the candidate's; NULL: no such part */
};

/* Checks what a preprocessor (gcc or clang -E) made of a unit: the candidate's own lines, macros expanded, by the same
 * rows, and that it entered no header but those it may include.  This is what the compiler compiles, so it decides;
 * atoll_rules_check is the fence before it.  Errors as there. */
int atoll_rules_check_preprocessed(const char *language, const char *text,
                                   const struct atoll_rules_unit *unit, struct atoll_err *err);

/* Checks PTX that a compiler made of a CUDA source, comments aside: clocks, lines that stay in caches, dependent and device
 * launches, printing, allocation.  0, or -1 with ATOLL_E_INPUT "rule <id>, in the PTX ...", or MEMORY. */
int atoll_rules_check_ptx(const char *ptx, struct atoll_err *err);

/* Row access for docs and prompts. */
unsigned atoll_rules_count(const char *language);
const char *atoll_rules_id(const char *language, unsigned index);
const char *atoll_rules_why(const char *language, unsigned index);

#endif
