/* knowledge.h - the texts of knowledge/, read once: searched by words and patterns, and given by their names.  A name is looked up
 * in the list of what was read, so none leads anywhere else.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_MPI_EVAL_TOOL_KNOWLEDGE_H
#define ATOLL_MPI_EVAL_TOOL_KNOWLEDGE_H

#include "core/tool.h"

struct atoll_knowledge;

/* folder: NULL = what was installed with the program.  Its folder prompts/ is left out: models are told that anyway.  One that is not there, and files beyond the bounds, are no error: less
 * is known. */
struct atoll_knowledge *atoll_knowledge_create(const char *folder, struct atoll_err *err);
void atoll_knowledge_destroy(struct atoll_knowledge *knowledge); /* NULL is fine */
/* Appends the result of a call.  -1 with INPUT: what the model is told instead. */
int atoll_knowledge_search(struct atoll_knowledge *knowledge, const struct atoll_tool_arguments *arguments,
                           struct atoll_buffer *out, struct atoll_err *err);
int atoll_knowledge_read(const struct atoll_knowledge *knowledge,
                         const struct atoll_tool_arguments *arguments, struct atoll_buffer *out,
                         struct atoll_err *err);

#endif
