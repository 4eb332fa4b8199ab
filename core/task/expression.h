/* expression.h - the integer expressions of tasks and plans (DESIGN.md 4): names, integers, + - * / %
 * (truncating, as in C), unary -, parentheses, < <= > >= == != && || !, min(a,b) max(a,b) cdiv(a,b)
 * ilog2(a).  Nothing else, no side effects, no recursion beyond 64 levels, 4 KiB of text.  Overflow,
 * division by zero and ilog2 of less than 1 are errors.
 * Layer: core.  Lifetime: parsed into an arena; immutable after. */
#ifndef ATOLL_CORE_TASK_EXPRESSION_H
#define ATOLL_CORE_TASK_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct atoll_expression;

/* A named integer: a dim or a parameter. */
struct atoll_binding {
    const char *name;
    int64_t value;
};

/* Errors: ATOLL_E_INPUT with the column and what was expected. */
const struct atoll_expression *atoll_expression_parse(struct atoll_arena *arena, const char *text,
                                                      struct atoll_err *err);
/* Names it uses, in order of first use, for checking against what is known. */
size_t atoll_expression_name_count(const struct atoll_expression *e);
const char *atoll_expression_name(const struct atoll_expression *e, size_t index);
const char *atoll_expression_text(const struct atoll_expression *e);
int atoll_expression_eval(const struct atoll_expression *e, const struct atoll_binding *bindings,
                          size_t binding_count, int64_t *ret_value, struct atoll_err *err);

#endif
