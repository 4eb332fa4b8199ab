/* prompt_version.h - the text of a version of a language's prompt: the pack's text and the edits of the answers that led to it.
 * Layer: mpi-eval, pure: follows from the frozen pack and what was journaled. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_PROMPT_VERSION_H
#define ATOLL_MPI_EVAL_OPERATOR_PROMPT_VERSION_H

#include "core/knowledge/pack.h"
#include "mpi-eval/operator/ask_history.h"

/* version: the META ask whose answer made it, 0: as it came.  ret_text: in arena, or the pack's own; NULL: the pack has no text with
 * regions for the language.  Errors: INTERNAL (no such answer is known), MEMORY, LIMIT. */
int atoll_prompt_version_text(const struct atoll_knowledge_pack *pack, const struct atoll_ask_history *asks,
                              const char *language, uint32_t version, struct atoll_arena *arena,
                              const char **ret_text, struct atoll_err *err);
/* Leaves those items of a META reply that fit the version the ask names, in order: what is journaled is what was applied.  Without any it
 * is EMPTY. */
int atoll_prompt_version_judge(const struct atoll_knowledge_pack *pack, const struct atoll_ask_history *asks,
                               const char *language, const struct atoll_ask *ask, struct atoll_arena *arena,
                               struct atoll_reply *reply, struct atoll_err *err);

#endif
