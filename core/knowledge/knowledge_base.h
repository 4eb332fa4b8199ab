/* knowledge_base.h - all entries that a pack of knowledge holds, and the words they are filed under.
 * Layer: core.  Lifetime: parse/destroy; immutable between.  Texts are in its own arena, those of kernels and passages too, so the
 * pack may go.  Packs are from elsewhere: everything is checked. */
#ifndef ATOLL_CORE_KNOWLEDGE_KNOWLEDGE_BASE_H
#define ATOLL_CORE_KNOWLEDGE_KNOWLEDGE_BASE_H

#include "core/knowledge/entry.h"
#include "core/knowledge/index.h"
#include "core/knowledge/pack.h"

#define ATOLL_KNOWLEDGE_ENTRY_LIMIT 4096

struct atoll_knowledge_base {
    struct atoll_arena *arena;
    struct atoll_knowledge_index index;
    struct atoll_knowledge_entry *entries; /* by kind, then by path and line */
    size_t count;
};

/* Called for everything that is wrong; reading goes on behind it. */
typedef void atoll_knowledge_problem(void *context, const struct atoll_err *problem);

/* problem NULL: the first thing that is wrong is the error; else what is wrong
 * is told and left out, and only LIMIT and MEMORY are errors.  INPUT: "path:line: what; remedy". */
struct atoll_knowledge_base *atoll_knowledge_base_parse(const struct atoll_knowledge_pack *pack,
                                                        atoll_knowledge_problem *problem, void *context,
                                                        struct atoll_err *err);
void atoll_knowledge_base_destroy(struct atoll_knowledge_base *base); /* NULL is fine */
/* By id; NULL when there is none. */
const struct atoll_knowledge_entry *atoll_knowledge_base_find(const struct atoll_knowledge_base *base,
                                                              const char *id);

#endif
