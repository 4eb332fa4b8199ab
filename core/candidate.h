/* candidate.h - what is compiled and measured: one source with one choice of its parameters (DESIGN.md 5).
 * Layer: core.  Plain values; texts are borrowed from whoever owns the source. */
#ifndef ATOLL_CORE_CANDIDATE_H
#define ATOLL_CORE_CANDIDATE_H

#include "base/buffer.h"
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

/* The source of a null control, another text than its original's, another identity, the same program: appends to out the
 * original's text with a comment at its end, as the language has them, that names the original (id: of the candidate), and a
 * NUL.  One candidate has one null control. */
void atoll_null_control_source(const char *language, const char *source, const struct atoll_id *original,
                               struct atoll_buffer *out);

#endif
