/* knowledge.h - the texts of a pack of knowledge and the entries in them, searched by words and patterns, and given by their names.  A name is looked up
 * in the pack, so none leads anywhere else.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_MPI_EVAL_TOOL_KNOWLEDGE_H
#define ATOLL_MPI_EVAL_TOOL_KNOWLEDGE_H

#include "core/knowledge/pack.h"
#include "core/tool.h"

struct atoll_knowledge_tool;

/* pack: borrowed, as is except: families of operators ("gemm,attention") of which no example is shown; NULL none.  Left out are
 * prompts/ (models are told that anyway), kernels/, and examples that are not proven. */
struct atoll_knowledge_tool *atoll_knowledge_tool_create(const struct atoll_knowledge_pack *pack,
                                                         const char *except, struct atoll_err *err);
void atoll_knowledge_tool_destroy(struct atoll_knowledge_tool *knowledge); /* NULL is fine */
/* Who searches: entries and hints of other languages, of other families of devices and for features that are not there are not found.
 * NULL any; device "" too. */
struct atoll_knowledge_reader {
    const char *language, *device;
    const char *const *features;
};
/* Appends the result of a call.  -1 with INPUT: what the model is told instead. */
int atoll_knowledge_tool_search(struct atoll_knowledge_tool *knowledge,
                                const struct atoll_knowledge_reader *reader,
                                const struct atoll_tool_arguments *arguments, struct atoll_buffer *out,
                                struct atoll_err *err);
int atoll_knowledge_tool_read(const struct atoll_knowledge_tool *knowledge,
                              const struct atoll_tool_arguments *arguments, struct atoll_buffer *out,
                              struct atoll_err *err);

#endif
