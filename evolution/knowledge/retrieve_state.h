/* retrieve_state.h - the inside of a retrieval, shared by retrieve*.c only.
 * Layer: evolution, private. */
#ifndef ATOLL_EVOLUTION_KNOWLEDGE_RETRIEVE_STATE_H
#define ATOLL_EVOLUTION_KNOWLEDGE_RETRIEVE_STATE_H

#include "base/text_index.h"
#include "evolution/knowledge/retrieve.h"

#define ATOLL_RETRIEVE_WORDS_BYTES 4096 /* of a query */

/* When an entry is called for, beside what its lists say. */
struct atoll_retrieval_triggers {
    struct atoll_trigger *items; /* in the arena */
    size_t count;
};

struct atoll_retrieval {
    const struct atoll_knowledge_base *base;
    const char *except; /* in the arena */
    struct atoll_arena *arena;
    struct atoll_retrieval_triggers *triggers; /* one per entry */
    struct atoll_text_index *entries;          /* as the base has them */
    struct atoll_kernel_text *kernels;
    struct atoll_id *kernel_sources; /* of the texts: equal ones are one */
    uint32_t kernel_count, kernel_capacity, source_capacity;
    struct atoll_text_index *heads, *sources; /* of kernels: what is said of them, and they themselves */
    struct atoll_hint_ledger ledger;          /* accounts of the entries, then of the kernels */
    const float *kernel_vectors, *task_vector;
    size_t vector_length;
};

/* Scores of the texts of an index for some words, the best 1; all 0 where none has any.  ret_scores: one per text. */
void atoll_retrieval_score(const struct atoll_text_index *index, const char *words, double *ret_scores);
/* The same of a long text, which has more words than a query: of one piece after the other, added. */
void atoll_retrieval_score_text(const struct atoll_text_index *index, const char *text, double *ret_scores);
/* Name, category, tags and summary of a task, into text. */
void atoll_retrieval_put_task(const struct atoll_task *task, char *text, size_t bytes);
/* Whether a family of devices is one of a list, NULL: any. */
int atoll_retrieval_is_for(const char *const *devices, const char *family);

#endif
