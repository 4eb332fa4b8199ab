/* prompt_io.h - the operator `universal` (ALGORITHMS.md 7): from an ask to a request for a language model, and from its
 * outcome to a reply for the engine.
 * Layer: mpi-eval, pure: a prompt follows from the ask, the engine's sources the texts and the prompt context alone, so `atoll replay`
 * derives it again. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_PROMPT_IO_H
#define ATOLL_MPI_EVAL_OPERATOR_PROMPT_IO_H

#include "evolution/engine/engine.h"
#include "llm-gateway/request/outcome.h"
#include "llm-gateway/request/request.h"
#include "mpi-eval/operator/prompt_context.h"
#include "mpi-eval/operator/roles.h"

/* Room for the texts of one ask and its answer, with 20 turns of tools at their bounds: of each a prompt (2 MiB), a state of the
 * provider's (1 MiB), what it said and thought; of 39 calls arguments (256 KiB) and results; the reply: some 90 MiB. */
#define ATOLL_PROMPT_IO_ARENA_BYTES ((size_t)128 << 20)

/* What is sent, and what its prompt is made of. */
struct atoll_prompt_question {
    struct atoll_llm_request request;
    uint32_t section_count;
    struct atoll_dialogue_section sections[ATOLL_DIALOGUE_SECTION_LIMIT]; /* that the prompt has */
    uint32_t brief_cut_bytes[ATOLL_BRIEF_LIMIT]; /* of the briefs that are told as texts, in their order */
    int is_short_of_room; /* a result was cut, or no more calls are wanted, because the model's context is full */
};

/* All borrowed. */
struct atoll_prompt_io {
    const struct atoll_engine *engine;
    const struct atoll_prompt_context *context;
    const struct atoll_knowledge_pack *texts; /* of the campaign */
    const char *campaign;                     /* its identity: part of the requests' keys */
    const struct atoll_roles *roles;          /* models and their parameters */
    const char *backend;
    int has_trajectory;  /* ancestors are told */
    unsigned tool_limit; /* calls of tools that an ask may make; 0: none are told */
    double deadline_s;   /* of a request */
    const char *account; /* whose limits of money hold; NULL: the campaign's own */
};

/* A copy without NULs, which a text in a journal cannot hold; at most limit bytes, whole characters. */
const char *atoll_prompt_io_keep(struct atoll_arena *arena, const void *bytes, size_t length, size_t limit,
                                 struct atoll_err *err);
/* Calls that this ask may make. */
unsigned atoll_prompt_io_tool_limit(const struct atoll_prompt_io *io, const struct atoll_ask *ask);
/* What an ask is written in: "c", "cuda" ... */
const char *atoll_prompt_io_language(const struct atoll_engine *engine, const char *backend,
                                     const struct atoll_ask *ask);
/* An ask whose briefing is durable, with its turns so far; any time later in the same campaign.  Texts lie in arena, those of
 * turns in the history.
 * Errors: INPUT (a language without prompts), MEMORY, LIMIT. */
int atoll_prompt_io_request(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                            struct atoll_arena *arena, struct atoll_prompt_question *ret_question,
                            struct atoll_err *err);
/* What of a briefing the ask's first prompt has no room for, into its cut_bytes; where no prompt can be written, all of it.  The arena is
 * the ask's: what is written there is not needed any more. */
void atoll_prompt_io_count_cuts(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                                struct atoll_briefing *briefing, struct atoll_arena *arena);
/* The reply for the engine; question: what was asked.  An outcome that is no answer gives a reply without sources and items, an
 * answer to anything but an ask for candidates that says nothing is EMPTY. */
int atoll_prompt_io_reply(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                          const struct atoll_prompt_question *question,
                          const struct atoll_llm_outcome *outcome, struct atoll_arena *arena,
                          struct atoll_reply *ret_reply, struct atoll_err *err);

#endif
