/* candidate.h - what is compiled and measured: one source with one choice of its parameters (DESIGN.md 5).
 * Layer: core.  Plain values; texts are borrowed from whoever owns the source. */
#ifndef ATOLL_CORE_CANDIDATE_H
#define ATOLL_CORE_CANDIDATE_H

#include "base/id.h"
#include "core/plan/plan.h"

/* Identity: BLAKE2b over task id, language, plan without its params and require (canonical), source body
 * and the chosen parameter values by name: equal candidates have equal ids even where their templates
 * differ in what else they allow. */
struct atoll_id atoll_candidate_id(const struct atoll_task *task, const char *language,
                                   const struct atoll_plan *plan, const char *body,
                                   const struct atoll_choice *choice);
/* Identity of a source text (template): BLAKE2b of language and the whole text. */
struct atoll_id atoll_source_id(const char *language, const char *source);

#endif
