/* text_index.h - which texts are about some words: an index ranked by BM25 (Robertson, Zaragoza, "The Probabilistic Relevance
 * Framework: BM25 and Beyond", 2009, section 3.3).
 * Layer: base, pure.  Lifetime: create/destroy.  Single owner.
 *
 * A word is letters, digits and _, in either case; one with _ is there in its parts as well, so that "fence" finds
 * wgmma_fence.  Words are kept as 64-bit hashes: two that share one count as one. */
#ifndef ATOLL_BASE_TEXT_INDEX_H
#define ATOLL_BASE_TEXT_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_TEXT_QUERY_LIMIT 32 /* words of a query that count */

/* The different words of a query. */
struct atoll_text_query {
    size_t count;
    uint64_t words[ATOLL_TEXT_QUERY_LIMIT];
};
void atoll_text_query_init(struct atoll_text_query *query, const char *words, size_t length);
/* How many of them a text has. */
size_t atoll_text_query_count(const struct atoll_text_query *query, const char *text, size_t length);

struct atoll_text_index;

/* entry_limit: words at texts that it may hold, 12 bytes each. */
struct atoll_text_index *atoll_text_index_create(uint32_t entry_limit, struct atoll_err *err);
void atoll_text_index_destroy(struct atoll_text_index *index); /* NULL is fine */
/* Texts are numbered from 0 in the order in which they are added; none is kept.  -1 (MEMORY, LIMIT): it has its number all the
 * same and is found by a part of its words, but where count says that it has none. */
int atoll_text_index_add(struct atoll_text_index *index, const char *text, size_t length,
                         struct atoll_err *err);
uint32_t atoll_text_index_count(const struct atoll_text_index *index);

struct atoll_text_hit {
    uint32_t text;
    double score;
};
/* The best texts with at least one of the words, best first, of equal ones the one added first.  Returns how many; 0 as well
 * where there is no memory. */
size_t atoll_text_index_find(const struct atoll_text_index *index, const struct atoll_text_query *query,
                             struct atoll_text_hit *ret_hits, size_t limit);

#endif
