/* rules_scope.h - what a CUDA source declares at file scope, as far as brackets and keywords tell.
 * Layer: core, private to rules*.c.  Pure.  Hostile input: odd nesting finds too much or too little, nothing else. */
#ifndef ATOLL_CORE_RULES_RULES_SCOPE_H
#define ATOLL_CORE_RULES_RULES_SCOPE_H

#include "core/source/source_token.h"

/* All return the index of the first token that breaks the rule, count when none does. */
/* A variable of file or namespace scope that a kernel could write. */
size_t atoll_scope_mutable_global(const struct atoll_token *tokens, size_t count);
/* A static variable inside of a function or class that a kernel could write. */
size_t atoll_scope_mutable_static(const struct atoll_token *tokens, size_t count);
/* A __global__ function without extern "C". */
size_t atoll_scope_unlinked_kernel(const struct atoll_token *tokens, size_t count);

#endif
