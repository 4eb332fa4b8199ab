/* rules_ptx.h - what the texts of inline assembly may say.
 * Layer: core, private to rules*.c.  Pure. */
#ifndef ATOLL_CORE_RULES_RULES_PTX_H
#define ATOLL_CORE_RULES_RULES_PTX_H

#include "core/source/source_token.h"

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

#endif
