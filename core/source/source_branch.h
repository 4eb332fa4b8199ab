/* source_branch.h - which branches of #if over parameters a choice leaves in a source.  A branch that is
 * certainly false is left out; what cannot be decided stays in.
 * Layer: core, pure.  Hostile input: odd nesting keeps too much or too little, nothing else. */
#ifndef ATOLL_CORE_SOURCE_SOURCE_BRANCH_H
#define ATOLL_CORE_SOURCE_SOURCE_BRANCH_H

#include "core/plan/plan.h"
#include "core/source/source_token.h"

/* Copies the code, pragmas and macro bodies of active branches into ret_tokens, which has room for count;
 * returns how many.  plan and choice may be NULL: then no name is a parameter. */
size_t atoll_source_branch_keep(const struct atoll_token *tokens, size_t count, const struct atoll_plan *plan,
                                const struct atoll_choice *choice, struct atoll_token *ret_tokens);

#endif
